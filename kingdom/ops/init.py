"""Makes a base directory, or completes one. What is there already is never touched."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

from kingdom.bus.files.places import Places
from kingdom.errors import ConfigurationError
from kingdom.ops.shipped import shipped_files
from kingdom.store import disk
from kingdom.store.formats import FORMAT, format_of, write_format
from kingdom.store.paths import PLACES, TEMPORARY_PREFIX, BaseDir
from kingdom.topology import INBOX

# The repository's own places hold the same files; a test compares them.
READMES = {
    "queue": """\
What waits, is under way and is done: one JSON file per event, task and message, in a directory that
says which. Read them with `cat`, list them with `ls` or `kingdom queue ls`.
""",
    "state": """\
What the roles remember between two starts: results, heartbeats, sequences, sessions. Only the roles
write here; `kingdom fsck` checks it.
""",
    "logs": """\
What happened: `events.log` has one JSON line per internal event, `system.log` is for people. The
chamberlain rotates both.
""",
    "workspace": """\
Where soldiers work: a clone per repository and a git worktree per task. What is not needed any more
is removed by the chamberlain.
""",
    "memory": """\
What was learned and is told to soldiers again: `shared/` for all generals, `generals/NAME/` for
one. Plain Markdown, yours to edit.
""",
    "config/local": """\
Your own settings: a file here overrides the one of the same name in `config/`, key by key, and a
general's package in `generals/` is used instead of the shipped one. Git ignores all of it, so that
pulling never meets local edits.
""",
}


@dataclass
class Outcome:
    """Paths relative to the base directory."""

    made: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    format: int = FORMAT


@cache
def contents() -> Mapping[str, str]:
    """Every file a new base directory has, and what is in it."""
    readmes = {f"{place}/README.md": text for place, text in READMES.items()}
    return {f"config/{name}": text for name, text in shipped_files().items()} | readmes


def init(base: BaseDir) -> Outcome:
    _refuse_file(base.root)
    outcome = Outcome()
    for directory in directories(base):
        _refuse_file(directory)
        _make(directory)
    for name, text in contents().items():
        path = base.path(name)
        disk.make_directory(os.path.dirname(path))
        (outcome.made if write_new(path, text.encode()) else outcome.kept).append(name)
    outcome.format = format_of(base)
    # Files of an older version are told apart by the missing file: it may not be made for them.
    if outcome.format == FORMAT:
        (outcome.made if write_format(base) else outcome.kept).append("state/format")
    return outcome


def directories(base: BaseDir) -> list[str]:
    """Every directory that a whole kingdom has."""
    return [
        *(base.path(place) for place in PLACES),
        base.path("config", "local"),
        base.path(INBOX),
        *Places(base).own_directories(),
    ]


def _make(directory: str) -> None:
    try:
        disk.make_directory(directory)
    except FileNotFoundError:  # its parent is there, and takes no directories
        raise ConfigurationError(
            f"{directory} cannot be made there.", remedy="Choose another place."
        ) from None


def _refuse_file(path: str) -> None:
    if disk.exists(path) and not os.path.isdir(path):
        raise ConfigurationError(
            f"{path} is not a directory.", remedy="Move it aside, or choose another place."
        )


def write_new(path: str, data: bytes) -> bool:
    """A whole file or none, and only where nothing is; answers whether it was written."""
    if disk.exists(path):
        return False
    directory, name = os.path.split(path)
    temporary = os.path.join(directory, f"{TEMPORARY_PREFIX}{os.getpid()}-{name}")
    disk.remove(temporary)
    disk.create(temporary, data)
    try:
        disk.move(temporary, path)
    except FileExistsError:
        disk.remove(temporary)
        return False
    return True
