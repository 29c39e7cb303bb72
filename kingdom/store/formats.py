"""`state/format`: the version of the files in `queue/` and `state/`.

Version 0 is what the program's predecessor in bash left: messages, and no such file. A newer
version than the program knows is refused; an older one is upgraded by `kingdom migrate`.
"""

from __future__ import annotations

import os

from kingdom.errors import ConfigurationError
from kingdom.store import disk
from kingdom.store.paths import BaseDir
from kingdom.store.rights import give_back_rights
from kingdom.topology import STREAMS

FORMAT = 1
_LARGEST = 64


def read_format(base: BaseDir) -> int | None:
    """The version named there; None when there is no such file."""
    try:
        give_back_rights(base.format_file)
        data, _ = disk.read(base.format_file, _LARGEST)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _unreadable(base, error.strerror or str(error)) from None
    text = data.decode("ascii", "replace").strip()
    if not text.isdecimal():
        raise _unreadable(base, "it holds no number")
    return int(text)


def _unreadable(base: BaseDir, what: str) -> ConfigurationError:
    return ConfigurationError(
        f"{base.format_file} does not tell the version of the files: {what}.",
        remedy=f"If this program wrote them, put {FORMAT} into it; else restore a backup.",
    )


def format_of(base: BaseDir) -> int:
    """The version in force. Without the file it is 0, or none yet if there are no messages.

    The predecessor had no such file: one that tells nothing is this program's, as are the files of
    a kingdom whose roles have run.
    """
    try:
        named = read_format(base)
    except ConfigurationError:
        return FORMAT
    if named is not None:
        return named
    return 0 if not _has_run(base) and _has_messages(base) else FORMAT


def _has_run(base: BaseDir) -> bool:
    """Whether roles of this program have: they do not start on files of another version."""
    return disk.exists(base.metrics) or disk.exists(base.path("state", "warden", "lock"))


def _has_messages(base: BaseDir) -> bool:
    for stream in STREAMS.values():
        for directory in stream.directories:
            if any(name.endswith(".json") for name in disk.names(base.path(directory))):
                return True
    return False


def check_format(base: BaseDir) -> None:
    """Refuses files of another version than this program's."""
    found = format_of(base)
    if found > FORMAT:
        raise ConfigurationError(
            f"{base.root} has files of format {found}, and this program knows {FORMAT} at most.",
            remedy="Upgrade kingdom on this machine, then try again.",
            code="newer_format",
        )
    if found < FORMAT:
        raise ConfigurationError(
            f"{base.root} has files of format {found}, and this program works with {FORMAT}.",
            remedy="Upgrade them with: kingdom migrate",
            code="older_format",
        )


def write_format(base: BaseDir) -> bool:
    """Name the version, unless one is named; answers whether it was written. What tells none
    gives way."""
    try:
        if read_format(base) is not None:
            return False
    except ConfigurationError:
        disk.set_aside(base.format_file)
    disk.make_directory(os.path.dirname(base.format_file))
    disk.replace(base.format_file, f"{FORMAT}\n".encode())
    return True
