"""What soldiers learn and the next ones are told.

    memory/shared/*.md                       for all generals; only people write here
    memory/generals/{general}/*.md           for one; lessons go to learned-patterns.md
    memory/repos/{repository}.md             for all who work on it; lessons that begin with `repo:`

Every file is people's to edit. Writers hold `state/memory.lock` while they read, change and rename:
a crash leaves the old file or the new one, and at most a temporary that the next writer clears.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date

from kingdom.errors import NeverWorks, TryLater
from kingdom.general.brief import lessons
from kingdom.general.brief.lessons import LARGEST as LARGEST
from kingdom.general.brief.lessons import Line
from kingdom.models.fields import Trust
from kingdom.store import disk, leftovers
from kingdom.store.locks import Lock
from kingdom.store.paths import BaseDir

LEARNED = "learned-patterns.md"
MEMBER = "member"
LARGEST_FILE = 128 * 1024
LOCK = "memory.lock"
_REPO_LESSON = re.compile(r"\s*repo:\s*", re.IGNORECASE)
_PLAIN_REPO = re.compile(r"[a-z0-9_-][a-z0-9._-]*(?:/[a-z0-9_-][a-z0-9._-]*)*\Z")
_LONGEST_NAME = 100
_PATIENCE, _PAUSE = 5.0, 0.01

Change = Callable[[list[Line]], Sequence[Line]]


class MemoryBusy(TryLater):
    """Someone holds the memory and does not let go."""

    code = "memory_busy"


class MemoryUnreadable(NeverWorks):
    """A memory file is not a file of text that could be added to."""

    code = "memory_unreadable"


@dataclass(frozen=True)
class Scope:
    """Whose memory: a general's, a repository's, or everyone's."""

    directory: str
    main: str  # the file that lessons and `kingdom memory edit` mean
    alone: bool = False  # the directory holds other scopes' files as well

    @property
    def path(self) -> str:
        return os.path.join(self.directory, self.main)

    def files(self) -> list[str]:
        """Those that are there, the main one last: it is the one that grows."""
        names = [one for one in disk.names(self.directory) if _is_note(one)]
        mine = [one for one in names if one == self.main or not self.alone]
        ordered = sorted(mine, key=lambda one: (one == self.main, one))
        return [os.path.join(self.directory, name) for name in ordered]


def of_all(base: BaseDir) -> Scope:
    return Scope(os.path.join(base.memory, "shared"), "notes.md")


def of_general(base: BaseDir, general: str) -> Scope:
    return Scope(os.path.join(base.memory, "generals", general), LEARNED)


def of_repo(base: BaseDir, repo: str) -> Scope:
    return Scope(os.path.join(base.memory, "repos"), f"{slug(repo)}.md", alone=True)


def slug(repo: str) -> str:
    """`acme/web` is `acme+web`; a name that no host would have gets a number that tells it from
    others. Hosts do not tell case apart."""
    name = repo.lower()
    parts = (re.sub(r"[^a-z0-9._-]", "-", part) for part in name.split("/"))
    plain = "+".join(parts)
    if _PLAIN_REPO.match(name) and len(plain) <= _LONGEST_NAME:
        return plain
    number = hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:8]
    return f"{plain[:_LONGEST_NAME].lstrip('.')}+{number}"


def _is_note(name: str) -> bool:
    return name.endswith(".md") and not name.startswith(".")


# Writing


def learn(
    base: BaseDir,
    general: str,
    told: Iterable[str],
    *,
    repo: str | None,
    trust: Trust | None,
    today: date,
    from_untrusted: bool = False,
) -> None:
    """Keep what a task taught. Missing trust is an outsider's; `from_untrusted` off keeps none of
    theirs. Raises `MemoryBusy`, `MemoryUnreadable`, OSError; calling it again does no harm."""
    trusted = trust == MEMBER
    if not trusted and not from_untrusted:
        return
    about_repo, own = _sorted(told, repo)
    for scope, new in ((of_general(base, general), own), (of_repo(base, repo or ""), about_repo)):
        if new:
            change(base, scope.path, _adding(new, today, trusted))


def _adding(new: list[str], today: date, trusted: bool) -> Change:
    return lambda lines: lessons.with_lessons(lines, new, today, trusted=trusted)


def _sorted(told: Iterable[str], repo: str | None) -> tuple[list[str], list[str]]:
    about_repo: list[str] = []
    own: list[str] = []
    for lesson in told:
        found = _REPO_LESSON.match(lesson)
        text = lesson[found.end() :] if found else lesson
        (about_repo if found and repo else own).append(text)
    return about_repo, own


def change(base: BaseDir, path: str, make: Change) -> None:
    """Read, change and write one file while nobody else does. Nothing new is not written."""
    with held(base):
        before = content(path)
        after = lessons.write(make(lessons.read(before)))
        if after != before:
            put(path, after)


def put(path: str, text: str) -> None:
    """For whoever holds the memory: all of it or nothing, also when the power goes."""
    directory = os.path.dirname(path)
    disk.make_directory(directory)
    leftovers.clear_in(directory)
    disk.replace(path, text.encode("utf-8", "replace"))


@contextmanager
def held(base: BaseDir) -> Iterator[None]:
    """Nobody else changes the memory. Held for moments only: a general waits for it."""
    disk.make_directory(base.state)
    lock = Lock(base.path("state", LOCK))
    try:
        _take(lock)
        yield
    finally:
        lock.close()


def _take(lock: Lock) -> None:
    until = time.monotonic() + _PATIENCE
    while not lock.try_acquire():
        if time.monotonic() > until:
            raise MemoryBusy(
                "The memory is held by a process that does not let go.",
                remedy=f"See which: fuser -v {lock.path}",
            )
        time.sleep(_PAUSE)


def content(path: str) -> str:
    """What is in it; nothing if it is missing. What could not be written back is refused."""
    try:
        return disk.read(path, LARGEST_FILE)[0].decode("utf-8")
    except FileNotFoundError:
        return ""
    except UnicodeDecodeError:
        raise _unreadable(path, "it is not UTF-8", "Save it as UTF-8.") from None
    except OSError as error:
        if error.errno == errno.EFBIG:
            what = f"it has more than {LARGEST_FILE:,} bytes"
            raise _unreadable(path, what, "Shorten it, or split it in two.") from None
        what = "it is a link" if error.errno == errno.ELOOP else (error.strerror or "").lower()
        raise _unreadable(path, what, "Make it a file that this user may read.") from None


def _unreadable(path: str, what: str, remedy: str) -> MemoryUnreadable:
    return MemoryUnreadable(f"{path}: {what}.", remedy=remedy)


# Reading


@dataclass(frozen=True)
class Notes:
    """One file, as far as it could be read."""

    title: str
    path: str
    lines: tuple[Line, ...]


def recollect(base: BaseDir, general: str, repo: str | None) -> list[Notes]:
    """What concerns a task of this general about this repository. A file that cannot be read is no
    reason to stop."""
    found = _notes("For every general", of_all(base))
    if repo:
        # A name may come from outside; only what looks like one is put into a heading.
        named = repo if _PLAIN_REPO.match(repo.lower()) else "this repository"
        found += _notes(f"About {named}", of_repo(base, repo))
    return found + _notes(f"Of {general}", of_general(base, general))


def _notes(title: str, scope: Scope) -> list[Notes]:
    found = []
    try:
        paths = scope.files()
    except OSError:
        return []
    for path in paths:
        lines = lessons.read(_as_far_as_readable(path))
        if lines:
            found.append(Notes(title, path, tuple(lines)))
    return found


def _as_far_as_readable(path: str) -> str:
    try:
        data, _ = disk.read(path, LARGEST_FILE)
    except OSError:
        return ""
    return data.decode("utf-8", "replace")
