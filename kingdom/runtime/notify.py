"""What a service manager wants to hear of a process it started: ready, alive, stopping.

It is told over the datagram socket that `NOTIFY_SOCKET` names; without one, nobody is told.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping
from contextlib import suppress

from kingdom.clock import Clock

READY, ALIVE, STOPPING = b"READY=1", b"WATCHDOG=1", b"STOPPING=1"
_PAUSE = 1.0  # seconds between two signs of life; a busy loop comes round a thousand times in one


class Notifier:
    def __init__(self, environment: Mapping[str, str], clock: Clock) -> None:
        name = environment.get("NOTIFY_SOCKET", "")
        self._address = f"\0{name[1:]}" if name.startswith("@") else name
        self._clock = clock
        self._next = float("-inf")

    def ready(self) -> None:
        self._send(READY)

    def alive(self) -> None:
        if self._address and self._clock.monotonic() >= self._next:
            self._next = self._clock.monotonic() + _PAUSE
            self._send(ALIVE)

    def stopping(self) -> None:
        self._send(STOPPING)

    def _send(self, message: bytes) -> None:
        if not self._address:
            return
        # A manager that is gone, or too busy to listen, is no reason to stop working or to wait.
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as way:
            way.setblocking(False)
            way.sendto(message, self._address)
