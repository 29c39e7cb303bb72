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
    places = [_place(base), environment.get("PATH") or os.defpath]
    return {**environment, "PATH": os.pathsep.join(places)}


def _place(base: BaseDir) -> str:
    return base.path("state", "bin")


def _write(base: BaseDir) -> None:
    path, text = path_of(base), _text().encode()
    if disk.head(path, _LARGEST) == text and os.access(path, os.X_OK):
        return
    disk.make_directory(_place(base))
    disk.replace(path, text)
    disk.set_mode(path, 0o700)


def argv() -> list[str]:
    """What it runs."""
    root = os.path.dirname(os.path.dirname(os.path.abspath(kingdom.__file__)))
    return [sys.executable, "-I", "-c", _START.format(root=root)]


def _text() -> str:
    return f'#!/bin/sh\nexec {shlex.join(argv())} "$@"\n'
