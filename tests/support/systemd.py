"""A real systemd, as the first process of namespaces of its own, that knows no units but ours."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from kingdom.store.paths import BaseDir
from tests.support.cli import ROOT, Said, environment
from tests.support.processes import children, is_alive
from tests.support.waiting import eventually

PROGRAM = "/lib/systemd/systemd"
UNITS = "/etc/systemd/system"
# What default dependencies of services name, and what the machine's own would pull in.
STUBS = ("sysinit", "basic", "shutdown", "umount", "multi-user", "network-online", "default")
BOOT = f"""
set -e
mount -t tmpfs tmpfs /run
mount -t tmpfs tmpfs {UNITS}
mount -t cgroup2 none /sys/fs/cgroup
for name in {" ".join(STUBS)}; do
    printf '[Unit]\\nDefaultDependencies=no\\n' > {UNITS}/$name.target
done
export SYSTEMD_UNIT_PATH={UNITS} container=unshare
exec {PROGRAM} --system --log-target=console --log-level=warning
"""


def why_not() -> str:
    """Why it cannot be run here; empty if it can."""
    if os.geteuid() != 0:
        return "a systemd of our own needs root"
    if not os.access(PROGRAM, os.X_OK) or shutil.which("unshare") is None:
        return "systemd and unshare are not installed"
    if _cgroups() is None:
        return "this machine has no cgroup2"
    probe = ["unshare", "-pfmCu", "--mount-proc", "mount", "-t", "tmpfs", "tmpfs", "/run"]
    said = subprocess.run(probe, capture_output=True, text=True, timeout=60, check=False)
    return f"namespaces are refused: {said.stderr.strip()}" if said.returncode else ""


def _cgroups() -> Path | None:
    mounts = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
    return next((Path(place) for _, place, kind, *_ in mounts if kind == "cgroup2"), None)


_REASON = why_not()
NEEDED = [
    pytest.mark.long,
    pytest.mark.skipif(bool(_REASON), reason=f"no systemd can be run here: {_REASON}"),
]
ROLES = ["sentinel", "envoy", "king", "gen-a"]


class Systemd:
    """Its first process, by the pid that it has outside."""

    def __init__(self, pid: int) -> None:
        self._pid = pid

    def run(self, *argv: str, env: Mapping[str, str] | None = None) -> Said:
        """Something inside."""
        lead = ["nsenter", "-t", str(self._pid), "-p", "-m", "-C", "-u", "--"]
        done = subprocess.run(
            [*lead, *argv], capture_output=True, text=True, env=environment(**(env or {})), cwd="/",
            timeout=300, stdin=subprocess.DEVNULL, check=False,
        )  # fmt: skip
        return Said(done.returncode, done.stdout, done.stderr)

    def kingdom(self, *words: str, base: BaseDir, env: Mapping[str, str] | None = None) -> Said:
        lead = (sys.executable, "-P", "-m", "kingdom", "--base-dir", base.root)
        return self.run(*lead, *words, env={"PYTHONPATH": str(ROOT), **(env or {})})

    def ctl(self, *words: str) -> str:
        return self.run("systemctl", *words).out.strip()

    def shown(self, unit: str, name: str) -> str:
        return self.ctl("show", "--value", "-p", name, unit)


@contextmanager
def systemd() -> Iterator[Systemd]:
    """Afterwards nothing of it runs, and its cgroups are gone."""
    root = _cgroups()
    assert root is not None
    place = root / f"kingdom-test-{os.getpid()}"
    place.mkdir()
    enter = (
        f"echo $$ > {place}/cgroup.procs; exec unshare -pfmCu --mount-proc --kill-child bash -c "
    )
    outer = subprocess.Popen(["bash", "-c", f'{enter} "$0"', BOOT], stdin=subprocess.DEVNULL)
    try:
        eventually(lambda: children(outer.pid), "the namespaces are made")
        made = Systemd(children(outer.pid)[0])
        eventually(lambda: made.ctl("is-system-running") in ("running", "degraded"), "it is up")
        yield made
    finally:
        inner = children(outer.pid)
        outer.kill()
        outer.wait()
        # Whatever ran in its namespaces is gone then: the kernel lets the first of them go last.
        eventually(lambda: not any(is_alive(pid) for pid in inner), "its processes are gone")
        eventually(lambda: _removed(place), "its cgroups are empty")


def _removed(place: Path) -> bool:
    for directory, _, _ in os.walk(place, topdown=False):
        with suppress(OSError):
            os.rmdir(directory)
    return not place.exists()
