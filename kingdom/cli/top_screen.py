"""The screen of `kingdom top`. However it is left, the terminal is as it was before.

Curses writes only what has changed, so nothing flickers; it also notices when the window changes
its size.
"""

from __future__ import annotations

import curses
import locale
import os
import select
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from datetime import tzinfo
from types import FrameType
from typing import Any

from kingdom.cli.top_page import HEADING, PLAIN, WRONG, Line, page
from kingdom.clock import SystemClock
from kingdom.errors import EXIT_DONE
from kingdom.words.columns import cut, padded

Look = Callable[[], dict[str, Any]]
LEAVE = (ord("q"), ord("Q"))
FOOT = "q leaves"
_STYLES = {PLAIN: curses.A_NORMAL, HEADING: curses.A_REVERSE, WRONG: curses.A_BOLD}
_ENDINGS = (signal.SIGTERM, signal.SIGHUP)
_BY_SIGNAL = 128  # added to its number, as shells do


def watch(look: Look, every: float, zone: tzinfo | None) -> int:
    """Until someone leaves; answers the exit code. Without a zone the system's is shown."""
    locale.setlocale(locale.LC_ALL, "")
    for name in ("LINES", "COLUMNS"):  # curses would believe them, and the window knows better
        os.environ.pop(name, None)
    for number in _ENDINGS:
        signal.signal(number, _end)
    window = curses.initscr()
    try:
        curses.noecho()
        curses.cbreak()
        window.keypad(True)
        Screen(window, look, every, zone).run()
    except KeyboardInterrupt:
        pass
    finally:
        _restore(window)
    return EXIT_DONE


def _restore(window: curses.window) -> None:
    """Each by itself: a terminal that is gone refuses, and that is no news."""
    undoings: tuple[Callable[[], object], ...] = (
        lambda: window.keypad(False),
        curses.echo,
        curses.nocbreak,
        curses.endwin,
    )
    for undo in undoings:
        with suppress(curses.error):
            undo()


def _end(number: int, frame: FrameType | None) -> None:
    """Unwinds, which restores the terminal; a second one must not interrupt that."""
    for one in _ENDINGS:
        signal.signal(one, signal.SIG_IGN)
    sys.exit(_BY_SIGNAL + number)


class Screen:
    def __init__(
        self, window: curses.window, look: Look, every: float, zone: tzinfo | None
    ) -> None:
        self._window = window
        self._look = look
        self._every = every
        self._zone = zone
        self._clock = SystemClock()
        self._poller = select.poll()
        self._poller.register(sys.stdin.fileno(), select.POLLIN)
        with suppress(curses.error):  # a terminal that cannot hide it
            curses.curs_set(0)

    def run(self) -> None:
        found = self._look()
        due = self._clock.monotonic() + self._every
        while True:
            self._draw(found)
            left = due - self._clock.monotonic()
            self._window.timeout(max(int(left * 1000), 0))
            key = self._window.getch()
            if key in LEAVE or (key < 0 and self._is_gone()):
                return
            if self._clock.monotonic() >= due:
                found = self._look()
                due = self._clock.monotonic() + self._every

    def _is_gone(self) -> bool:
        """Whether nobody is there any more: then no key ever comes, and no wait lasts."""
        lost = select.POLLHUP | select.POLLERR | select.POLLNVAL
        return any(what & lost for _, what in self._poller.poll(0))

    def _draw(self, found: dict[str, Any]) -> None:
        rows, columns = self._window.getmaxyx()
        lines = page(found, columns - 1, max(rows - 1, 1))
        self._window.erase()
        for number, line in enumerate(lines):
            self._put(number, line, columns)
        self._put(rows - 1, Line(f"{FOOT}   {self._time()}"), columns)
        self._window.refresh()

    def _time(self) -> str:
        return f"{self._clock.now().astimezone(self._zone):%H:%M:%S}"

    def _put(self, number: int, line: Line, columns: int) -> None:
        text = self._speakable(line.text)
        if line.kind == HEADING:
            text = padded(text, columns - 1)
        with suppress(curses.error):  # the window has just become smaller
            self._window.addstr(number, 0, cut(text, columns - 1), _STYLES[line.kind])

    def _speakable(self, text: str) -> str:
        """What this terminal's encoding lacks is spelled."""
        return text.encode(self._window.encoding, "backslashreplace").decode(self._window.encoding)
