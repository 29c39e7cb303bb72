"""Files and directories of a kingdom that its user cannot work with, and the command that mends
each: rights, owners, what is no file, and state that is damaged.

The quick look is for `kingdom status`: every file there is one of, but none of those that grow in
number with the work. `everything` is for who has time.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from typing import NamedTuple

from kingdom.ownership import user_name
from kingdom.store import disk
from kingdom.store.paths import PLACES, TEMPORARY_PREFIX, BaseDir
from kingdom.store.room import is_read_only
from kingdom.topology import INBOX, STREAMS

# Where files grow in number with the work: the quick look sees the directory alone.
_MANY = (
    "queue", "workspace", "memory/repos", "logs/sessions", "state/results", "state/prompts",
    "state/soldiers", "state/sentinel/seen", "state/control", "state/bus/attic", "state/bus/tmp",
)  # fmt: skip
_ONLY_FILES = (
    "state/bin", "state/bus/journal", "state/bus/lock", "state/control", "state/metrics",
    "state/prompts", "state/sentinel/seen", "state/spending", "logs/sessions",
)  # fmt: skip
_OF_ROLES = ("lock", "pid", "heartbeat", "events-offset", "task-seq", "msg-seq")
_ENDINGS = (".json", ".jsonl", ".log", ".lock", ".yaml", ".md", disk.ASIDE)
_ONLY_READ = ("config",)
_OF_THE_BUS = ("queue/", "state/results/")
_OTHERS = ("workspace",)  # soldiers make what they like there
_DEEPEST = 4
_ENDS = 16  # bytes


class Unusable(NamedTuple):
    """`path` is relative to the base directory; `remedy` is a command."""

    path: str
    sentence: str
    remedy: str
    fix: str = ""  # what can be done without a risk: `rights` or `aside`

    @property
    def is_aside(self) -> bool:
        """It is in nobody's way any more."""
        return disk.ASIDE in os.path.basename(self.path)


def unusable(base: BaseDir, *, everything: bool = False) -> list[Unusable]:
    found: list[Unusable] = []
    for place in PLACES:
        found += _below(base, place, everything)
    for stream in STREAMS.values():
        for directory in (stream.root, *stream.directories):
            if not everything:
                found += _directory(base, directory)
    if not everything:
        found += _directory(base, INBOX)
    if not disk.exists(base.path("config", "system.yaml")) and os.access(base.config, os.X_OK):
        remedy = f"kingdom init {_quoted(base.root)}"
        found.append(Unusable("config/system.yaml", "It is missing.", remedy))
    return sorted(dict.fromkeys(found), key=lambda one: one.is_aside)


def _below(
    base: BaseDir, path: str, everything: bool, above: tuple[tuple[int, int], ...] = ()
) -> Iterator[Unusable]:
    """Of this directory, and of what is in it; a link to one above it is followed no further."""
    wrong = _directory(base, path)
    yield from wrong
    is_passed_over = path in _OTHERS or (path in _MANY and not everything)
    if is_passed_over or (not everything and path.count("/") >= _DEEPEST):
        return
    try:
        facts = os.stat(base.path(path))
        entries = sorted(disk.entries(base.path(path)), key=lambda one: one.name)
    except OSError:
        return  # said of the directory
    own = (facts.st_dev, facts.st_ino)
    for entry in entries if own not in above else ():
        inner = f"{path}/{entry.name}"
        if entry.is_dir() and not _should_be_file(inner):
            yield from _below(base, inner, everything, (*above, own))
        elif not _is_fine(entry, inner):
            yield from _file(base, inner)


def _is_fine(entry: os.DirEntry[str], path: str) -> bool:
    """Most are: a look that costs one call."""
    if entry.name.startswith(TEMPORARY_PREFIX):
        return True
    wanted = os.R_OK | (0 if path.startswith(_ONLY_READ) else os.W_OK)
    is_file = entry.is_file(follow_symlinks=False) and disk.ASIDE not in entry.name
    return is_file and os.access(entry.path, wanted) and not _is_state(path)


def _should_be_file(path: str) -> bool:
    """Whether this name is never a directory's."""
    parent, name = os.path.split(path)
    if parent in _ONLY_FILES or path == "state/format":
        return True
    if parent.count("/") == 1 and parent.startswith("state/") and parent != "state/bus":
        return name in _OF_ROLES or name.endswith(_ENDINGS)
    return path.startswith(("state/", "logs/", "config/")) and name.endswith(_ENDINGS)


def _directory(base: BaseDir, path: str) -> list[Unusable]:
    whole = base.path(path)
    facts = _facts(whole)
    if facts is None:
        return []
    if not os.path.isdir(whole):
        sentence = "It should be a directory."
        return [Unusable(path, sentence, f"{_aside(whole)} && kingdom doctor --fix")]
    return [] if _may_use(whole, path, os.X_OK) else [_forbidden(base, path, facts, "rwx")]


def _may_use(whole: str, path: str, more: int = 0) -> bool:
    """A disk that nobody can write to is not a matter of rights, and is told as such."""
    if os.access(whole, os.R_OK | os.W_OK | more):
        return True
    is_only_read = path.startswith(_ONLY_READ) or is_read_only(whole)
    return is_only_read and os.access(whole, os.R_OK | more)


def _file(base: BaseDir, path: str) -> Iterator[Unusable]:
    whole = base.path(path)
    facts = _facts(whole)
    if facts is None:
        return
    if Unusable(path, "", "").is_aside:
        sentence = "It was in the way or could not be read, and was set aside."
        yield Unusable(path, sentence, f"look at it, then: rm -r {_quoted(whole)}")
    elif path.startswith(_OF_THE_BUS) and not stat.S_ISREG(facts.st_mode):
        return  # the bus and fsck put it into dead/, with a reason
    elif stat.S_ISLNK(facts.st_mode) and not os.path.exists(whole):
        yield Unusable(path, "It is a link to nothing.", f"rm {_quoted(whole)}", "aside")
    elif not os.path.isfile(whole):
        yield Unusable(path, "It should be a file.", _aside(whole), "aside")
    elif not _may_use(whole, path):
        yield _forbidden(base, path, facts, "rw")
    elif _is_state(path) and not _is_whole(whole):
        yield Unusable(path, "It is damaged, and is begun anew.", _aside(whole), "aside")


def _is_state(path: str) -> bool:
    return path.startswith("state/") and path.endswith(".json") and not path.startswith(_MANY)


def _is_whole(path: str) -> bool:
    """Whether it begins and ends as JSON does; to read all of it would take too long."""
    try:
        start, end = disk.ends(path, _ENDS)
    except OSError:
        return True
    start, end = start.lstrip(), end.rstrip()
    return (start[:1] + end[-1:]) in (b"{}", b"[]") or end == b"null"


def _forbidden(base: BaseDir, path: str, facts: os.stat_result, letters: str) -> Unusable:
    whole = _quoted(base.path(path))
    if facts.st_uid == os.geteuid():
        sentence = "This user may not read and write it."
        return Unusable(path, sentence, f"chmod u+{letters} {whole}", "rights")
    sentence = f"It belongs to {user_name(facts.st_uid)}."
    return Unusable(path, sentence, f"sudo chown -R {user_name(os.geteuid())} {_quoted(base.root)}")


def _quoted(path: str) -> str:
    import shlex

    return shlex.quote(path)


def _aside(path: str) -> str:
    return f"mv {_quoted(path)} {_quoted(path + disk.ASIDE)}"


def _facts(path: str) -> os.stat_result | None:
    return disk.facts_in_foreign(path)


def mend(base: BaseDir, one: Unusable) -> str:
    """What was done about it."""
    path = base.path(one.path)
    if one.fix == "aside":
        return f"It is {os.path.basename(disk.set_aside(path))} now."
    facts = _facts(path)
    if facts is None:
        return "It is gone."
    wanted = stat.S_IRWXU if stat.S_ISDIR(facts.st_mode) else stat.S_IRUSR | stat.S_IWUSR
    disk.set_mode(path, stat.S_IMODE(facts.st_mode) | wanted)
    return "This user may read and write it now."
