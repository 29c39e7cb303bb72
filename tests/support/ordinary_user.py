"""Steps down to an ordinary user, where root runs the tests: root may read and write anything.

The user id stays, so that the interpreter and all files can be used as before; but nothing is left
of what lets root pass over rights, here and in every program that is started from here.
"""

from __future__ import annotations

import ctypes
import os

_PR_SET_SECUREBITS = 28
_NO_ROOT = 0b11  # SECBIT_NOROOT, locked: a program that root starts gets no capabilities
_VERSION = 0x20080522


def step_down() -> None:
    if os.geteuid() != 0:
        return
    libc = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(_VERSION, 0)
    nothing = (ctypes.c_uint32 * 6)()
    if libc.prctl(_PR_SET_SECUREBITS, _NO_ROOT, 0, 0, 0) or libc.capset(header, nothing):
        raise OSError(ctypes.get_errno(), "it cannot step down")
