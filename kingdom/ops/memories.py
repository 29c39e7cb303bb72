"""The memory as people look at it and change it: `kingdom memory show`, `edit` and `forget`."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from kingdom.errors import ConfigurationError, InvalidFile, KingdomError, NotFound, UsageError
from kingdom.general.brief import lessons, memory
from kingdom.general.brief.lessons import Line
from kingdom.general.brief.memory import Scope
from kingdom.store import disk
from kingdom.store.paths import BaseDir
from kingdom.store.trees import remove_tree

_ALLOWED = "\n\t\r"
_SHOWN = 60


@dataclass(frozen=True)
class Owner:
    """Whose memory is meant, as it is typed and as it is stored."""

    typed: str  # `gen-pr`, `--shared`, `--repo acme/web`
    scope: Scope


@dataclass(frozen=True)
class Entry:
    """One line that says something, and its number among those of its owner."""

    owner: Owner
    number: int
    path: str
    line: Line


def owner_of(base: BaseDir, general: str | None, shared: bool, repo: str | None) -> Owner | None:
    """The one that was typed; None if none was."""
    named = [one for one in (general, shared, repo) if one]
    if len(named) > 1:
        raise UsageError(
            "memory: it is of one general, or --shared, or of one --repo.",
            remedy="Name one of them.",
        )
    if shared:
        return Owner("--shared", memory.of_all(base))
    if repo:
        return Owner(f"--repo {shlex.quote(repo)}", memory.of_repo(base, repo))
    return _general(base, general) if general else None


def _general(base: BaseDir, name: str) -> Owner:
    known = generals(base)
    if name in known:
        return Owner(name, memory.of_general(base, name))
    import difflib

    near = difflib.get_close_matches(name, known, n=1)
    hint = f"Did you mean: {near[0]}" if near else f"There are: {', '.join(known) or 'none'}."
    raise NotFound(f"There is no general {name!r}, and no memory of one.", remedy=hint)


def generals(base: BaseDir) -> list[str]:
    """Those that are configured, and those that were and left something behind."""
    from kingdom.ops.suite import role_names
    from kingdom.topology import GENERAL_PREFIX

    kept = _names(os.path.join(base.memory, "generals"))
    return sorted(name for name in {*role_names(base), *kept} if name.startswith(GENERAL_PREFIX))


def owners(base: BaseDir) -> Iterator[Owner]:
    """Everyone who has a memory."""
    yield Owner("--shared", memory.of_all(base))
    for name in sorted(_names(os.path.join(base.memory, "generals"))):
        yield Owner(name, memory.of_general(base, name))
    repos = os.path.join(base.memory, "repos")
    for name in sorted(one for one in _names(repos) if one.endswith(".md")):
        # The file's name stands for the repository's: `+` is no part of one.
        repo = name.removesuffix(".md").replace("+", "/")
        yield Owner(f"--repo {shlex.quote(repo)}", Scope(repos, name, alone=True))


def _names(directory: str) -> list[str]:
    return [name for name in disk.names(directory) if not name.startswith(".")]


def entries(owner: Owner) -> list[Entry]:
    found: list[Entry] = []
    for path in owner.scope.files():
        for line in lessons.read(memory.content(path)):
            if _says_something(line):
                found.append(Entry(owner, len(found) + 1, path, line))
    return found


def _says_something(line: Line) -> bool:
    return bool(line.text) and not line.text.startswith("#")


# Forgetting


def forget(base: BaseDir, chosen: Sequence[Owner], typed: str) -> Entry:
    """Take out the one line that is meant by its number or by a part of its text."""
    found = [entry for owner in chosen for entry in entries(owner)]
    entry = _meant(found, typed)
    gone = []

    def without(lines: list[Line]) -> list[Line]:
        places = [place for place, line in enumerate(lines) if line.raw == entry.line.raw]
        gone.extend(places[:1])
        return [line for place, line in enumerate(lines) if place not in gone]

    memory.change(base, entry.path, without)
    if not gone:
        raise NotFound("That line was changed just now.", remedy="Look again: kingdom memory show")
    return entry


def _meant(found: Sequence[Entry], typed: str) -> Entry:
    if typed.isdecimal():
        return _numbered(found, int(typed))
    wanted = _folded(typed)
    if not wanted:
        raise UsageError(
            "memory forget: it does not say what.", remedy="Name a number, or a part of the line."
        )
    fitting = [entry for entry in found if wanted in _folded(entry.line.raw)]
    exact = [entry for entry in fitting if wanted in (_folded(entry.line.text), entry.line.raw)]
    if len(fitting) == 1 or len(exact) == 1:
        return (exact if len(exact) == 1 else fitting)[0]
    if fitting:
        shown = "; ".join(_named(entry) for entry in fitting[:3])
        more = f"; and {len(fitting) - 3} more" if len(fitting) > 3 else ""
        raise UsageError(
            f"{len(fitting)} lines have {typed!r}: {shown}{more}.",
            remedy="Type more of it, or its number.",
        )
    raise NotFound(f"No line has {typed!r}.", remedy="All of them: kingdom memory show")


def _numbered(found: Sequence[Entry], number: int) -> Entry:
    whose = {entry.owner.typed for entry in found}
    if len(whose) > 1:
        raise UsageError(
            f"Number {number} is not unique: each memory has numbers of its own.",
            remedy=f"Say whose, for example: kingdom memory forget {sorted(whose)[-1]} {number}",
        )
    for entry in found:
        if entry.number == number:
            return entry
    raise NotFound(
        f"There is no line {number}; there are {len(found)}.",
        remedy="All of them: kingdom memory show",
    )


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold()


def _named(entry: Entry) -> str:
    text = entry.line.text
    shown = text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
    return f"{entry.owner.typed} {entry.number} ({shown})"


# Editing


class Refused(KingdomError):
    """What came out of the editor cannot be kept; the copy that was edited is."""

    code = "memory_refused"


def file_meant(owner: Owner, name: str | None) -> str:
    """The one that `edit` is about."""
    if name is not None:
        if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._+-]*\.md", name):
            raise UsageError(
                f"{name!r} is not the name of a memory file.", remedy="Such as: style.md"
            )
        if owner.scope.alone:
            raise UsageError("A repository has one memory file.", remedy="Leave out --file.")
        return os.path.join(owner.scope.directory, name)
    there = owner.scope.files()
    if owner.scope.path in there or not there:
        return owner.scope.path
    if len(there) > 1:
        names = ", ".join(map(os.path.basename, there))
        raise UsageError(f"There are several files: {names}.", remedy="Say which: --file NAME")
    return there[0]


def edit(base: BaseDir, path: str, open_editor: Callable[[str], None], copies: str) -> bool:
    """Have a copy edited, then put it in place together with what was learned meanwhile; whether
    anything changed. `copies` is a directory for the copy."""
    before = memory.content(path)
    place = os.path.join(copies, f"kingdom-memory-{os.getpid()}-{os.urandom(4).hex()}")
    disk.make_private_directory(place)
    copy = os.path.join(place, os.path.basename(path))
    disk.create(copy, before.encode())
    keep = False
    try:
        open_editor(copy)
        try:
            mine = _edited(copy)
        except InvalidFile as fault:
            keep = True
            raise Refused(fault.sentence, remedy=f"Your version is kept: {copy}") from None
        return mine != before and _put_in_place(base, path, before, mine)
    finally:
        if not keep:
            remove_tree(place)


def _edited(copy: str) -> str:
    try:
        text = memory.content(os.path.realpath(copy))
    except memory.MemoryUnreadable as fault:
        raise InvalidFile(f"The memory is as it was: {fault.sentence}") from None
    strange = next((c for c in text if not c.isprintable() and c not in _ALLOWED), None)
    if strange is not None:
        line = text[: text.index(strange)].count("\n") + 1
        raise InvalidFile(f"The memory is as it was: line {line} has the character {strange!a}.")
    return text


def _put_in_place(base: BaseDir, path: str, before: str, mine: str) -> bool:
    def merge(now: list[Line]) -> list[Line]:
        was, wanted = lessons.read(before), lessons.read(mine)
        return wanted if now == was else lessons.merged(was, wanted, now)

    memory.change(base, path, merge)
    return True


def editor_for(environment: Mapping[str, str]) -> list[str]:
    named = environment.get("VISUAL") or environment.get("EDITOR") or ""
    try:
        words = shlex.split(named)
    except ValueError:
        words = []
    if not words:
        raise ConfigurationError(
            "Neither VISUAL nor EDITOR names an editor.",
            remedy="For example: EDITOR=nano kingdom memory edit ...",
        )
    return words


def run_editor(words: Sequence[str], copy: str) -> None:
    try:
        code = subprocess.run([*words, copy], check=False).returncode
    except OSError as error:
        raise ConfigurationError(
            f"The editor {words[0]!r} cannot be started: {error.strerror}.",
            remedy="Set VISUAL or EDITOR to one that can.",
        ) from None
    if code:
        raise Refused(f"The editor ended with {code}, so the memory is as it was.")
