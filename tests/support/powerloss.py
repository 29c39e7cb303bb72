"""A disk that forgets: calls are recorded, and what a power loss would leave of them is laid out.

The model is stricter than real file systems. Content is safe after a sync of its file, a name after
a sync of its directory, everything after a sync of the file system; of the rest, each call may have
reached the disk or not, whatever came before or after it. Only a single call is never half done,
except that a write may be cut anywhere.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kingdom.bus.lease import boot
from kingdom.store.paths import BaseDir
from tests.support.calls import CHANGE_NOTHING

Tree = dict[str, bytes]


@dataclass(eq=False)
class Inode:
    """A file's content as first seen, and what was written since."""

    first: bytes
    writes: list[tuple[int, bytes | None, int]] = field(default_factory=list)  # offset, data, call
    synced: int = 0  # call number up to which content is safe


@dataclass
class NameChange:
    """One call that changed names, as {name: inode or None}, all at once."""

    call: int
    sets: dict[str, Inode | None]
    needs: dict[str, Inode]  # what these names must mean for the call to have happened
    directories: set[str]


@dataclass
class Mark:
    """Something the tested code said between calls, such as `returned`."""

    call: int
    text: str


class Recorder:
    """Watches the calls of one process on one tree, and keeps all that is needed to undo them."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.count = 0
        self.names: dict[str, Inode] = {}
        self.directories = {root}
        self.changes: list[NameChange] = []
        self.syncs: list[tuple[int, str | None]] = []  # call, directory or None for everything
        self.inode_syncs: list[tuple[int, Inode]] = []
        self.made: list[tuple[int, str]] = []
        self.marks: list[Mark] = []
        self._open: dict[int, tuple[str, Inode | None, int]] = {}
        for path, _, files in os.walk(root):
            self.directories.add(path)
            for name in files:
                full = os.path.join(path, name)
                self.names[full] = Inode(Path(full).read_bytes())
        self.at_first = dict(self.names)

    def __call__(self, name: str, arguments: tuple[Any, ...], call: Callable[[], Any]) -> Any:
        answer = call()
        self.count += name not in CHANGE_NOTHING
        handler = getattr(self, f"on_{name}", None)
        if handler is not None:
            handler(answer, *arguments)
        elif name not in CHANGE_NOTHING:
            raise NotImplementedError(f"the model of the disk does not know {name} yet")
        return answer

    def relative_directories(self) -> set[str]:
        return {os.path.relpath(path, self.root) for path in self.directories}

    def mark(self, text: str) -> None:
        self.marks.append(Mark(self.count, text))

    def on_open(self, answer: int, path: str, flags: int, *_: Any) -> None:
        if flags & os.O_DIRECTORY or path in self.directories:
            self._open[answer] = (path, None, 0)
            return
        if path not in self.names:
            self.names[path] = Inode(b"")
            self._change({path: self.names[path]}, {}, path)
        self._open[answer] = (path, self.names[path], 0)

    def _change(self, sets: dict[str, Inode | None], needs: dict[str, Inode], *paths: str) -> None:
        around = {os.path.dirname(path) for path in paths}
        self.changes.append(NameChange(self.count, sets, needs, around))

    def on_write(self, answer: int, descriptor: int, data: bytes) -> None:
        path, inode, offset = self._open[descriptor]
        if inode is not None:
            inode.writes.append((offset, bytes(data[:answer]), self.count))
            self._open[descriptor] = (path, inode, offset + answer)

    def on_pwrite(self, answer: int, descriptor: int, data: bytes, offset: int) -> None:
        inode = self._open[descriptor][1]
        assert inode is not None
        inode.writes.append((offset, bytes(data[:answer]), self.count))

    def on_ftruncate(self, _: None, descriptor: int, size: int) -> None:
        inode = self._open[descriptor][1]
        assert inode is not None
        inode.writes.append((size, None, self.count))

    def on_posix_fallocate(self, _: None, descriptor: int, offset: int, size: int) -> None:
        """Only ever of whole files that are never longer than that."""
        self.on_ftruncate(None, descriptor, offset + size)

    def on_fsync(self, _: None, descriptor: int) -> None:
        path, inode, _at = self._open[descriptor]
        if inode is None:
            self.syncs.append((self.count, path))
        else:
            self.inode_syncs.append((self.count, inode))

    on_fdatasync = on_fsync

    def on_syncfs(self, _: int, descriptor: int) -> None:
        self.syncs.append((self.count, None))

    def on_close(self, _: None, descriptor: int) -> None:
        self._open.pop(descriptor, None)

    def on_unlink(self, _: None, path: str) -> None:
        inode = self.names.pop(path)
        self._change({path: None}, {path: inode}, path)

    def on_link(self, _: None, source: str, target: str) -> None:
        self.names[target] = self.names[source]
        needs = {source: self.names[source]}
        self._change({target: self.names[source]}, needs, target)

    def on_mkdir(self, _: None, path: str, *_mode: Any) -> None:
        self.directories.add(path)

    def on_renameat2(
        self, answer: int, _f: int, source: bytes, _t: int, target: bytes, flags: int
    ) -> None:
        if answer != 0:
            return
        one, other = os.fsdecode(source), os.fsdecode(target)
        if flags == 2:
            self.names[one], self.names[other] = self.names[other], self.names[one]
            needs = {one: self.names[other], other: self.names[one]}
            self._change({one: self.names[one], other: self.names[other]}, needs, one, other)
        else:
            inode = self.names.pop(one)
            self.names[other] = inode
            self._change({one: None, other: inode}, {one: inode}, one, other)


class Aftermath:
    """What a power loss after so many calls may leave."""

    def __init__(self, recorder: Recorder, calls: int) -> None:
        self._recorder = recorder
        self._calls = calls
        everything = [n for n, place in recorder.syncs if place is None and n <= calls]
        self._all_safe_until = max(everything, default=0)

    def returned(self) -> set[str]:
        return {mark.text for mark in self._recorder.marks if mark.call <= self._calls}

    def tree(self, kept: Callable[[str], bool]) -> Tree:
        """What is found; `kept` decides for each unsafe thing, which is a "name" or "data"."""
        contents: dict[int, bytes] = {}
        found = {}
        for path, inode in self._names(kept).items():
            if id(inode) not in contents:
                contents[id(inode)] = self._content(inode, kept)
            found[os.path.relpath(path, self._recorder.root)] = contents[id(inode)]
        return found

    def _names(self, kept: Callable[[str], bool]) -> dict[str, Inode]:
        names = dict(self._recorder.at_first)
        for change in self._recorder.changes:
            if change.call > self._calls:
                break
            possible = all(names.get(name) is inode for name, inode in change.needs.items())
            # A synced directory holds the name, also if the one it had before never reached disk.
            if self._is_name_safe(change) or (kept("name") and possible):
                for name, inode in change.sets.items():
                    if inode is None:
                        names.pop(name, None)
                    else:
                        names[name] = inode
        return names

    def _is_name_safe(self, change: NameChange) -> bool:
        return change.call <= self._all_safe_until or any(
            change.call <= call <= self._calls and place in change.directories
            for call, place in self._recorder.syncs
        )

    def _content(self, inode: Inode, kept: Callable[[str], bool]) -> bytes:
        own = [n for n, one in self._recorder.inode_syncs if one is inode and n <= self._calls]
        safe_until = max([*own, self._all_safe_until])
        content = bytearray(inode.first)
        for offset, data, call in inode.writes:
            if call > self._calls:
                break
            if call <= safe_until or kept("data"):
                content[len(content) : offset] = bytes(max(0, offset - len(content)))
                if data is None:
                    del content[offset:]
                else:
                    content[offset : offset + len(data)] = data
        return bytes(content)


def lay_out(tree: Tree, directories: set[str], target: Path) -> None:
    for directory in directories:
        (target / directory).mkdir(parents=True, exist_ok=True)
    for name, content in tree.items():
        (target / name).write_bytes(content)


def ways(seed: int, chances: int) -> list[tuple[str, Callable[[str], bool]]]:
    """How the unsafe part may fare: all gone, names without content, all there, and by chance."""
    luck = random.Random(seed)
    return [
        ("nothing unsafe survived", lambda kind: False),
        ("names outran their content", lambda kind: kind == "name"),
        ("everything survived", lambda kind: True),
        *((f"chance {n}", lambda kind: luck.random() < 0.5) for n in range(chances)),
    ]


def as_of_another_boot(base: BaseDir) -> None:
    """The machine has booted again: what the journals say of this boot must not be believed."""
    for journal in Path(base.path("state/bus/journal")).glob("*.journal"):
        data = journal.read_bytes()
        other = boot().translate(str.maketrans("0123456789abcdef", "123456789abcdef0"))
        journal.write_bytes(data[:512].replace(boot().encode(), other.encode()) + data[512:])
