"""Calls that the C library has and Python does not: `renameat2`, `syncfs`, `statx` and `prctl`.

The kernel is asked through `_libc` as named here, for the reason that `disk` gives.
"""

from __future__ import annotations

import ctypes
import errno
import os
import sys

NO_REPLACE = 1
EXCHANGE = 2

_AT_FDCWD = -100
_MOUNT_WANTED, _MOUNT_AT, _STATX_SIZE = 0x1000, 0x90, 0x100
_PR_SET_DUMPABLE = 4
_UNSUPPORTED = (errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP)

_libc = ctypes.CDLL(None, use_errno=True)
if hasattr(_libc, "renameat2"):
    # Declared, the call costs a third less.
    _path = ctypes.c_char_p
    _libc.renameat2.argtypes = [ctypes.c_int, _path, ctypes.c_int, _path, ctypes.c_uint]


def rename(source: str, target: str, flags: int) -> bool:
    """renameat2; False where the kernel or the file system does not know the flag."""
    try:
        call = _libc.renameat2
    except AttributeError:  # a C library older than the call
        return False
    if call(_AT_FDCWD, os.fsencode(source), _AT_FDCWD, os.fsencode(target), flags) == 0:
        return True
    code = ctypes.get_errno()
    if code in _UNSUPPORTED:
        return False
    raise OSError(code, os.strerror(code), source, None, target)


def syncfs(descriptor: int, path: str) -> bool:
    """syncfs; False where the C library does not know it."""
    if not hasattr(_libc, "syncfs"):
        return False
    if _libc.syncfs(descriptor) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), path)
    return True


def mount_of(path: str) -> int:
    """The number of the mount that it lies on, links followed; 0 where nobody tells."""
    facts = ctypes.create_string_buffer(_STATX_SIZE)
    asked = (_AT_FDCWD, os.fsencode(path), 0, _MOUNT_WANTED, facts)
    if not hasattr(_libc, "statx") or _libc.statx(*asked) != 0:
        return 0
    return int.from_bytes(facts.raw[_MOUNT_AT : _MOUNT_AT + 8], sys.byteorder)


def keep_memory_private() -> None:
    """No other process of this user (a soldier, say) reads this one's environment or memory from
    `/proc`, nor those of its forks; programs that it starts are as open as any."""
    _libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
