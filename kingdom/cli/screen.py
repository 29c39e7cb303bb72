"""Lines with the time they came at and, on a terminal, a sign below them that something goes on."""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Mapping

from kingdom.cli.output import harmless, terminal_width
from kingdom.clock import SystemClock

FRAMES, PLAIN_FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏", "|/-\\"
_CLEAR, _DIM, _BOLD, _NORMAL = "\r\x1b[K", "\x1b[2m", "\x1b[1m", "\x1b[0m"


class Screen:
    """On anything but a terminal it prints plain lines and nothing else."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.live = sys.stdout.isatty() and environment.get("TERM", "dumb") != "dumb"
        self._colored = self.live and not environment.get("NO_COLOR")
        utf8 = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
        self._frames = FRAMES if utf8 else PLAIN_FRAMES
        self._clock = SystemClock()
        self._began = self._clock.monotonic()
        self._spinning = False
        self._turn = 0

    @property
    def is_watched(self) -> bool:
        """Whether someone can be asked."""
        return self.live and sys.stdin.isatty()

    def say(self, text: str) -> None:
        self._line(f"{self._seconds():5.1f}s  {self._in(_BOLD, harmless(text, keep=''))}")

    def detail(self, text: str) -> None:
        self._line(f"        {self._in(_DIM, harmless(text, keep=''))}")

    def plain(self, text: str) -> None:
        self._line(f"        {harmless(text, keep='')}")

    def spin(self, text: str) -> None:
        """Shows that something goes on; the next line takes its place."""
        if not self.live:
            return
        self._turn = (self._turn + 1) % len(self._frames)
        line = f"{self._seconds():5.1f}s  {self._frames[self._turn]} {text}"
        sys.stdout.write(f"{_CLEAR}{line[: (terminal_width() or 80) - 1]}")
        sys.stdout.flush()
        self._spinning = True

    def ask(self, text: str, seconds: float) -> str:
        """The line that is typed; empty if it is, or none comes in time.

        Read from the terminal itself: what a buffer holds no `select` would tell of.
        """
        self.clear()
        print(f"        {text} > ", end="", flush=True)
        if not select.select([0], [], [], seconds)[0]:
            print(flush=True)
            return ""
        return os.read(0, 4096).decode("utf-8", "replace").strip()

    def clear(self) -> None:
        if self._spinning:
            sys.stdout.write(_CLEAR)
            self._spinning = False
        sys.stdout.flush()

    def _line(self, text: str) -> None:
        self.clear()
        print(text, flush=True)

    def _seconds(self) -> float:
        return self._clock.monotonic() - self._began

    def _in(self, style: str, text: str) -> str:
        return f"{style}{text}{_NORMAL}" if self._colored else text
