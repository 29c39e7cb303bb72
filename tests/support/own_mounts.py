"""Mounts that nobody else sees, and that are gone with the process which made them."""

from __future__ import annotations

import ctypes
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.calls import in_child

_NEW_MOUNTS, _NEW_USER = 0x20000, 0x10000000
_CANNOT = 77


def in_own_mounts(work: Callable[[], None]) -> None:
    """Runs it in a process that may mount; what it asserts counts."""
    code = in_child(lambda: _run(work))
    if code == _CANNOT:
        pytest.skip("needs the right to mount, for root or in a namespace of one's own")
    assert code == 0


def _run(work: Callable[[], None]) -> None:
    if not enter_own_mounts():
        os._exit(_CANNOT)
    work()


def enter_own_mounts() -> bool:
    """This process and what it starts may mount from now on; False if that is not allowed."""
    user, group = os.geteuid(), os.getegid()
    kinds = _NEW_MOUNTS if user == 0 else _NEW_MOUNTS | _NEW_USER
    if ctypes.CDLL(None).unshare(kinds) != 0:
        return False
    try:
        if user != 0:
            Path("/proc/self/setgroups").write_text("deny")
            Path("/proc/self/uid_map").write_text(f"0 {user} 1")
            Path("/proc/self/gid_map").write_text(f"0 {group} 1")
        mount("--make-rprivate", "/")
    except (OSError, subprocess.CalledProcessError):
        return False
    return True


def mount(*words: str) -> None:
    subprocess.run(["mount", *words], check=True, capture_output=True)
