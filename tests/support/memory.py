"""The memory that is a process's own. Roles are closed to other processes of their user, so only
root can tell."""

from __future__ import annotations

from pathlib import Path


class NeedsRoot(Exception):
    """Whoever measures may not look."""


def private_megabytes(pid: int) -> float:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text("utf-8").splitlines()
    except PermissionError:
        raise NeedsRoot("roles are closed to their own user: measured as root only") from None
    kilobytes = [int(line.split()[1]) for line in lines if line.startswith("Private_")]
    return sum(kilobytes) / 1024
