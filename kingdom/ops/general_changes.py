"""Making, installing and removing general packages, each in one rename.

People's own lie in `config/local/generals/`. A package is written beside its place under a name
that no role reads, checked there, and renamed; a crash leaves nothing but that, and the next one
clears it. A removed package is moved to `state/removed/`, never deleted.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

from kingdom.clock import SystemClock
from kingdom.errors import ConfigurationError, InvalidFile, KingdomError, UsageError
from kingdom.ops.general_sources import Source
from kingdom.ops.generals import (
    Package,
    examine,
    named,
    own_root,
    packages,
    rivalries,
    roots,
)
from kingdom.ops.shipped import PACKAGES
from kingdom.pids import started
from kingdom.runtime.config import MANIFEST
from kingdom.settings.yaml_file import read_document
from kingdom.store import disk
from kingdom.store.locks import Lock
from kingdom.store.paths import TEMPORARY_PREFIX, BaseDir
from kingdom.store.trees import remove_tree

SKELETON = os.path.join(PACKAGES, "skeleton")
_NAME = re.compile(r"gen-[a-z0-9]+(?:-[a-z0-9]+)*\Z")
_LONGEST_NAME = 64
_LARGEST = 1_000_000


Agrees = Callable[[Package], bool]


def _always(package: Package) -> bool:
    return True


class Exists(KingdomError):
    """A general of that name is there already."""

    code = "general_exists"


def new(base: BaseDir, name: str) -> Package:
    """A package that works at once, for a person to make it their own."""
    check_name(name)
    part = name.removeprefix("gen-")
    event_type = f"{part if part[0].isalpha() else f'x-{part}'}.requested"
    files = {
        one: disk.read(os.path.join(SKELETON, one), _LARGEST)[0]
        .replace(b"GENERAL_NAME", name.encode())
        .replace(b"EVENT_TYPE", event_type.encode())
        for one in sorted(disk.names(SKELETON))
    }
    made = _place(base, name, Source("", files))
    assert made is not None
    return made


def install(
    base: BaseDir, source: Source, as_name: str | None = None, agrees: Agrees = _always
) -> Package | None:
    """The package of this source, under its own name or another; None if the person who was shown
    it does not agree."""
    manifest = source.files.get(MANIFEST)
    if manifest is None:
        raise InvalidFile(
            f"{source.shown} is not a general package: it has no {MANIFEST}.",
            remedy="Name the directory that has it; in a repository: URL#DIR",
        )
    shown = os.path.join(source.shown, MANIFEST)
    document = read_document(manifest, shown)
    name = as_name or document.content.get("name")
    if not isinstance(name, str):
        raise InvalidFile(f"{shown}: `name` is missing.", remedy="Give it one, or use --as NAME.")
    check_name(name)
    if as_name:
        source.files[MANIFEST] = _renamed(manifest, document.lines.get(("name",)), name)
    return _place(base, name, source, agrees)


def check_name(name: str) -> None:
    if _NAME.match(name) and len(name) <= _LONGEST_NAME:
        return
    plain = re.sub(r"[^a-z0-9]+", "-", name.lower().removeprefix("gen-")).strip("-")
    better = f"gen-{plain}"[:_LONGEST_NAME].rstrip("-")
    raise UsageError(
        f"{name!r} is not a general's name.",
        remedy=f"Such as: {better if plain else 'gen-docs'}",
    )


def _renamed(manifest: bytes, line: int | None, name: str) -> bytes:
    lines = manifest.decode("utf-8-sig").splitlines()
    if line is None:
        lines.insert(0, f"name: {name}")
    else:
        lines[line - 1] = f"name: {name}"
    return ("\n".join(lines) + "\n").encode()


def _place(base: BaseDir, name: str, source: Source, agrees: Agrees = _always) -> Package | None:
    with _held(base):
        _refuse_existing(base, name)
        root = own_root(base)
        disk.make_directory(root)
        _clear(root)
        stage = os.path.join(root, f"{TEMPORARY_PREFIX}{os.getpid()}-{name}")
        target = os.path.join(root, name)
        try:
            _write(stage, source.files)
            _check(base, name, stage, source.shown or target)
            if not agrees(examine(name, stage)):
                return None
            disk.move_anything(stage, target)
        finally:
            remove_tree(stage)
        disk.sync_directory(root)
    return named(base, name)


def _refuse_existing(base: BaseDir, name: str) -> None:
    for root in roots(base):
        path = os.path.join(root, name)
        if disk.exists(path):
            raise Exists(
                f"There is a general {name} already: {path}.",
                remedy=f"Choose another name, or remove it first: kingdom general remove {name}",
            )


def _write(stage: str, files: Mapping[str, bytes]) -> None:
    disk.make_directory(stage)
    for name, data in files.items():
        disk.create(os.path.join(stage, name), data, sync=True)
    disk.sync_directory(stage)


def _check(base: BaseDir, name: str, stage: str, shown: str) -> None:
    package = replace(examine(name, stage, shown=shown), directory=shown)
    faults = [*package.faults, *rivalries(package, packages(base))]
    if faults:
        more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
        all_of_it = f" All of it: kingdom general validate {shlex.quote(shown)}"
        remedy = f"Nothing was changed.{all_of_it if os.path.isdir(shown) else ''}"
        raise ConfigurationError(f"{faults[0]}{more}", remedy=remedy)


def _clear(root: str) -> None:
    """What a process that was killed left behind."""
    for name in disk.names(root):
        pid = name.removeprefix(TEMPORARY_PREFIX).partition("-")[0]
        if name.startswith(TEMPORARY_PREFIX) and pid.isdecimal() and started(int(pid)) is None:
            remove_tree(os.path.join(root, name))


@contextmanager
def _held(base: BaseDir) -> Iterator[None]:
    """Of two who install what cannot go together, the second one sees the first."""
    disk.make_directory(base.state)
    lock = Lock(base.path("state", "generals.lock"))
    try:
        lock.acquire()
        yield
    finally:
        lock.close()


# Removing


@dataclass(frozen=True)
class Removed:
    package: Package
    kept: str  # where it lies now
    undo: str  # the command that brings it back
    again: str = ""  # the directory of the package that is in force instead


def remove(base: BaseDir, name: str) -> Removed:
    """Out of the configuration, and kept. One that hid another brings that one back."""
    with _held(base):
        package = named(base, name)
        moment = SystemClock().now().strftime("%Y%m%d-%H%M%S")
        kept = base.path("state", "removed", f"{name}-{moment}-{os.urandom(2).hex()}")
        disk.make_directory(os.path.dirname(kept))
        disk.move_anything(package.directory, kept)
        disk.sync_directory(os.path.dirname(package.directory))
        disk.sync_directory(os.path.dirname(kept))
    undo = f"mv {shlex.quote(kept)} {shlex.quote(package.directory)}"
    return Removed(package, kept, undo, package.hides)
