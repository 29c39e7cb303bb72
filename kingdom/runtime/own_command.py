"""The command `kingdom` for soldiers that may ask it something: this program, wherever it lies.

`state/bin/kingdom` is written by every general that starts, and again when program or interpreter
lie elsewhere than before. A crash leaves one that is not executable, until the next start.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping
from contextlib import suppress

import kingdom
from kingdom.ownership import others_may_write
from kingdom.store import disk
from kingdom.store.paths import BaseDir

NAME = "kingdom"
_START = (
    "import sys; sys.path.append({root!r}); sys.dont_write_bytecode = True; "
    "from kingdom.__main__ import main; sys.exit(main())"
)
_LARGEST = 64 * 1024


def path_of(base: BaseDir) -> str:
    return os.path.join(_place(base), NAME)


def on_path(base: BaseDir, environment: Mapping[str, str]) -> dict[str, str]:
    """The environment in which it is found first. Nothing else lies in its directory."""
    with suppress(OSError):  # those who need it say so; the others go on without
        _write(base)
    if _is_open(_place(base)) or _is_open(path_of(base)):  # soldiers would run another's program
        return dict(environment)
    places = [_place(base), environment.get("PATH") or os.defpath]
    return {**environment, "PATH": os.pathsep.join(places)}


def _place(base: BaseDir) -> str:
    return base.path("state", "bin")


def _write(base: BaseDir) -> None:
    path, text = path_of(base), _text().encode()
    disk.make_directory(_place(base))
    disk.keep_private(_place(base))
    is_ready = disk.head(path, _LARGEST) == text and os.access(path, os.X_OK)
    if is_ready and not _is_open(path):
        return
    disk.replace(path, text)
    disk.set_mode(path, 0o700)


def _is_open(path: str) -> bool:
    """Whether other users may write it; not so what is missing."""
    try:
        return others_may_write(path, os.stat(path)) is not None
    except OSError:
        return False


def argv() -> list[str]:
    """What it runs."""
    root = os.path.dirname(os.path.dirname(os.path.abspath(kingdom.__file__)))
    return [sys.executable, "-I", "-c", _START.format(root=root)]


def _text() -> str:
    return f'#!/bin/sh\nexec {shlex.join(argv())} "$@"\n'
