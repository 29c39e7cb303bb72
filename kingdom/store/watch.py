"""The file system's own notification (inotify), without a thread: a descriptor to wait on.

Names come with it, so that a consumer of a long queue learns of one new file without listing the
others. Where the kernel has none to give (another system, limits reached), `available` is False and
callers look for themselves at their polling interval.
"""

from __future__ import annotations

import ctypes
import os
import struct

_CREATE, _DELETE, _MOVED_FROM, _MOVED_TO = 0x100, 0x200, 0x40, 0x80
_CLOSE_WRITE, _ATTRIB, _ONLYDIR = 0x8, 0x4, 0x01000000
_OVERFLOW, _IGNORED = 0x4000, 0x8000
_WANTED = _CREATE | _DELETE | _MOVED_FROM | _MOVED_TO | _CLOSE_WRITE | _ATTRIB | _ONLYDIR
_HEAD = struct.Struct("iIII")
_BUFFER = 256 * 1024

_libc = ctypes.CDLL(None, use_errno=True)


Change = tuple[str, str]  # directory, name


class Watch:
    def __init__(self) -> None:
        self._descriptor = self._open()
        self._directories: dict[int, str] = {}

    @staticmethod
    def _open() -> int:
        if not hasattr(_libc, "inotify_init1"):
            return -1
        return int(_libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))

    @property
    def available(self) -> bool:
        return self._descriptor >= 0

    def fileno(self) -> int:
        return self._descriptor

    def add(self, directory: str) -> None:
        """Watch it; without a kernel that can, give up on notification altogether."""
        if not self.available:
            return
        number = _libc.inotify_add_watch(self._descriptor, os.fsencode(directory), _WANTED)
        if number < 0:
            self.close()
        else:
            self._directories[number] = directory

    def changes(self) -> list[Change] | None:
        """Names that came, went or changed since the last call; None when some were lost.

        A swap of two names tells of the arrival first and the departure last, so the order says
        nothing: whoever asks looks at what is there.
        """
        found: dict[Change, None] = {}
        whole = True
        while self.available:
            try:
                data = os.read(self._descriptor, _BUFFER)
            except BlockingIOError:
                break
            whole = self._decode(data, found) and whole
            if len(data) < _BUFFER // 2:
                break
        return list(found) if whole else None

    def _decode(self, data: bytes, found: dict[Change, None]) -> bool:
        offset, whole = 0, True
        while offset < len(data):
            number, mask, _, length = _HEAD.unpack_from(data, offset)
            offset += _HEAD.size
            name = data[offset : offset + length].rstrip(b"\0")
            offset += length
            directory = self._directories.get(number)
            if mask & (_OVERFLOW | _IGNORED) or directory is None:
                whole = False
            elif name:
                found[directory, os.fsdecode(name)] = None
        return whole

    def close(self) -> None:
        if self.available:
            os.close(self._descriptor)
            self._descriptor = -1
