"""Only `kingdom/store/disk.py` changes the disk; otherwise the crash tests would miss a call."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import kingdom

PACKAGE = Path(kingdom.__file__).parent
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
}  # fmt: skip
METHODS = {"write_text", "write_bytes", "touch", "unlink", "rmdir", "symlink_to", "hardlink_to"}


def offences(source: str) -> list[str]:
    found = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        function = node.func
        if isinstance(function, ast.Name) and function.id == "open" and _opens_to_write(node):
            found.append(f"line {node.lineno}: open")
        if isinstance(function, ast.Attribute):
            owner = function.value.id if isinstance(function.value, ast.Name) else ""
            method = function.attr in METHODS and owner != "disk"
            if function.attr in CHANGES_THE_DISK.get(owner, ()) or method:
                found.append(f"line {node.lineno}: {owner}.{function.attr}")
    return found


def _opens_to_write(call: ast.Call) -> bool:
    mode = call.args[1] if len(call.args) > 1 else None
    mode = next((word.value for word in call.keywords if word.arg == "mode"), mode)
    if mode is None:
        return False
    return not isinstance(mode, ast.Constant) or set(str(mode.value)) & set("wax+") != set()


MODULES = sorted(PACKAGE.rglob("*.py"))


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_module_other_than_the_disk_s_own_changes_nothing_on_it(path: Path) -> None:
    if path != PACKAGE / "store" / "disk.py":
        assert offences(path.read_text("utf-8")) == []


@pytest.mark.parametrize(
    "source", ["os.rename(a, b)", "open(p, 'w')", "open(p, mode=m)", "path.write_text('x')"]
)
def test_the_search_itself_finds_what_it_looks_for(source: str) -> None:
    assert offences(source)
