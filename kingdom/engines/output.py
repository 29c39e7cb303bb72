"""What a soldier's program prints: shown to whoever attaches, and cut if it is a flood."""

from __future__ import annotations

import os

from kingdom.store import disk

_KEPT_OF_FLOOD = 1024 * 1024  # bytes of each file


class Echo:
    """Shows on the terminal what the program writes to its files."""

    def __init__(self, title: str, *paths: str) -> None:
        self._files = [os.fdopen(disk.open_to_read(path), "rb", buffering=0) for path in paths]
        os.set_blocking(1, False)  # a terminal that takes nothing must not hold us up
        self._show(f"{title}\n".encode())

    def go_on(self) -> None:
        for file in self._files:
            data = file.read(65536)
            if data:
                self._show(data)

    @staticmethod
    def _show(data: bytes) -> None:
        try:
            os.write(1, data)
        except OSError:
            return


def cut(*files: int) -> None:
    """What shows how it began is enough, and the disk may be full of the rest."""
    for file in files:
        size = disk.size_of(file)
        if size > _KEPT_OF_FLOOD:
            disk.cut(file, _KEPT_OF_FLOOD)
            disk.write_at(file, f"\n[{size:,} bytes in all]\n".encode(), _KEPT_OF_FLOOD)
