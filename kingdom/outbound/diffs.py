"""What commits bring that was not there before, read from `git log -p`. Pure.

Added lines are looked at, file by file, and the names of files. Lines that were there before, and
those that go, say which strings are not new.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from kingdom.outbound.scan import Text

_HUNK = re.compile(r"^(@@@*) (?:-\d+(?:,\d+)? )+\+(\d+)(?:,\d+)? \1")
_NAMES = ("+++ ", "rename to ", "copy to ")
_GIT = re.compile(r'^"?b/')
_LOCK_FILES = re.compile(
    r"(?i)(?:^|/)(?:[\w.-]*[.-]lock(?:\.\w+)?|[\w.-]*lockfile|package-lock\.json|go\.(?:work\.)?sum|"
    r"npm-shrinkwrap\.json|pnpm-lock\.ya?ml|bun\.lockb?|packages\.lock\.json|\.terraform\.lock\.hcl|"
    r"Package\.resolved|checksums?(?:\.\w+)?|SHA\d*SUMS?(?:\.\w+)?|MODULE\.bazel\.lock)$"
)


def is_lock_file(name: str) -> bool:
    return _LOCK_FILES.search(name) is not None


@dataclass
class _File:
    name: str
    lines: list[str] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    removed: int = 0


class Diff:
    """`added` is what is new, `names` of files too; `old` is what stood there before."""

    def __init__(self, log: str) -> None:
        self._files: list[_File] = []
        self._names: dict[str, None] = {}
        self._old: list[str] = []
        self._columns = self._number = 0
        for line in log.split("\n"):
            self._read(line)

    @property
    def texts(self) -> list[Text]:
        found = [
            Text(
                one.name,
                "\n".join(one.lines),
                tuple(one.numbers),
                judges_random=not is_lock_file(one.name),
            )
            for one in self._files
            if one.lines
        ]
        names = "\n".join(self._names)
        return [*found, Text("the names of files", names)] if names else found

    @property
    def stat(self) -> list[str]:
        """How many lines each file gains and loses."""
        found: dict[str, tuple[int, int]] = {}
        for one in self._files:
            added, removed = found.get(one.name, (0, 0))
            found[one.name] = added + len(one.lines), removed + one.removed
        return [f"{name} +{added} -{removed}" for name, (added, removed) in found.items()]

    @property
    def old(self) -> str:
        return "\n".join(self._old)

    def _read(self, line: str) -> None:
        if self._columns and line[:1] in (" ", "+", "-", "\\"):
            self._read_content(line)
            return
        self._columns = 0
        hunk = _HUNK.match(line)
        if hunk and self._files:
            self._columns, self._number = len(hunk[1]) - 1, int(hunk[2])
        elif line.startswith("diff --"):
            self._begin(line)
        elif line.startswith(_NAMES) and not line.startswith("+++ /dev/null"):
            name = next(line.removeprefix(one) for one in _NAMES if line.startswith(one))
            self._name(_GIT.sub("", name.rstrip("\t")).rstrip('"'))

    def _begin(self, line: str) -> None:
        """The name, as far as it can be told; a later line says it better."""
        self._files.append(_File(""))
        _, found, name = line.rpartition(" b/")
        self._name(name if found else line.split(" ", 2)[-1])

    def _name(self, name: str) -> None:
        if self._files:
            self._files[-1].name = name
        self._names[name] = None

    def _read_content(self, line: str) -> None:
        marks, content = line[: self._columns], line[self._columns :]
        if "\\" in marks:  # no newline at the end of the file
            return
        if "-" in marks:
            self._old.append(content)
            self._files[-1].removed += 1
            return
        if "+" in marks:
            self._files[-1].lines.append(content)
            self._files[-1].numbers.append(self._number)
        else:
            self._old.append(content)
        self._number += 1
