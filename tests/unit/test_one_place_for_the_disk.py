"""Only modules that the crash tests observe change the disk; otherwise these would miss a call."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import kingdom
from kingdom.store import disk, locks
from tests.support import calls

PACKAGE = Path(kingdom.__file__).parent
OBSERVED = {Path(str(module.__file__)) for module in calls.MODULES}
CHANGES_THE_DISK = {
    "os": {
        "chmod", "chown", "copy_file_range", "fchmod", "fchown", "fdatasync", "fsync", "ftruncate",
        "lchown", "link", "makedirs", "mkdir", "mkfifo", "mknod", "open", "posix_fallocate",
        "pwrite", "pwritev", "remove", "removedirs", "rename", "renames", "replace", "rmdir",
        "sendfile", "setxattr", "symlink", "sync", "truncate", "unlink", "utime", "writev",
    },
    "shutil": {"copy", "copy2", "copyfile", "copytree", "move", "rmtree"},
    "tempfile": {"NamedTemporaryFile", "TemporaryDirectory", "mkdtemp", "mkstemp"},
    "fcntl": {"flock", "lockf"},
    "_libc": {
        "linkat", "open", "openat", "rename", "renameat2", "sync", "syncfs", "unlinkat", "write",
    },
}  # fmt: skip
METHODS = {"write_text", "write_bytes", "touch", "unlink", "rmdir", "symlink_to", "hardlink_to"}


def offences(source: str) -> list[str]:
    found = disguises(source)
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        function = node.func
        if isinstance(function, ast.Name) and function.id == "open" and _opens_to_write(node):
            found.append(f"line {node.lineno}: open")
        if isinstance(function, ast.Attribute):
            owner = _owner(function.value)
            method = function.attr in METHODS and owner != "disk"
            if function.attr in CHANGES_THE_DISK.get(owner, ()) or method:
                found.append(f"line {node.lineno}: {owner}.{function.attr}")
    return found


def disguises(source: str) -> list[str]:
    """Calls under another name than their own, which neither this search nor an observer sees."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module in CHANGES_THE_DISK:
            names = {alias.name for alias in node.names}
            if names & {*CHANGES_THE_DISK[node.module], "*"}:
                found.append(f"line {node.lineno}: from {node.module}")
        if isinstance(node, ast.Import):
            found += [
                f"line {node.lineno}: {alias.name} as {alias.asname}"
                for alias in node.names
                if alias.asname and alias.name in CHANGES_THE_DISK
            ]
    return found


def _owner(value: ast.expr) -> str:
    """The last name before the dot: `_libc` of `self._libc.syncfs`."""
    if isinstance(value, ast.Attribute):
        return value.attr
    return value.id if isinstance(value, ast.Name) else ""


def _opens_to_write(call: ast.Call) -> bool:
    mode = call.args[1] if len(call.args) > 1 else None
    mode = next((word.value for word in call.keywords if word.arg == "mode"), mode)
    if mode is None:
        return False
    return not isinstance(mode, ast.Constant) or set(str(mode.value)) & set("wax+") != set()


MODULES = sorted(PACKAGE.rglob("*.py"))


each = pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))


@each
def test_a_module_that_nobody_observes_changes_nothing_on_the_disk(path: Path) -> None:
    if path not in OBSERVED:
        assert offences(path.read_text("utf-8")) == []


@pytest.mark.parametrize("path", sorted(OBSERVED), ids=lambda path: path.name)
def test_an_observed_module_makes_its_calls_where_they_are_seen(path: Path) -> None:
    source = path.read_text("utf-8")
    assert disguises(source) == []
    made = {line.rpartition(" ")[2].partition(".")[0] for line in offences(source)}
    assert made <= set(calls.NAMES)


def test_each_call_of_an_observed_module_reaches_the_observer(tmp_path: Path) -> None:
    seen: set[str] = set()

    def note(name: str, arguments: tuple[Any, ...], call: Callable[[], Any]) -> Any:
        seen.add(name)
        return call()

    with calls.observed(note):
        disk.create(str(tmp_path / "a"), b"x")
        disk.move(str(tmp_path / "a"), str(tmp_path / "b"))
        disk.sync_filesystem(str(tmp_path))
        with locks.Lock(str(tmp_path / "lock")):
            locks.SharedPage(str(tmp_path / "page")).close()
    assert {"open", "write", "close", "renameat2", "syncfs", "flock", "posix_fallocate"} <= seen
    seen.clear()
    disk.remove(str(tmp_path / "b"))
    assert not seen, "an observer stayed behind"


@pytest.mark.parametrize(
    "source",
    [
        "os.rename(a, b)",
        "open(p, 'w')",
        "open(p, mode=m)",
        "path.write_text('x')",
        "_libc.syncfs(1)",
        "self._libc.renameat2(a)",
        "from os import rename",
        "from shutil import *",
        "import os as o",
    ],
)
def test_the_search_itself_finds_what_it_looks_for(source: str) -> None:
    assert offences(source)
