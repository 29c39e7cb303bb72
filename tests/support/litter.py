"""What a soldier may leave behind: children that go to some length not to be found again.

Each is a `sleep` for a number of seconds that nobody else sleeps for, and is found by that in the
process table: by other means than those of the code under test.
"""

from __future__ import annotations

import itertools
import os
from pathlib import Path

from tests.support.processes import is_alive
from tests.support.waiting import eventually

_numbers = itertools.count(1)
_AWAY = "</dev/null >/dev/null 2>&1"
# Kind: how it is started. `exec` leaves no shell that would be found in its place.
KINDS = {
    "a child": f"sleep {{seconds}} {_AWAY} &",
    "in a session of its own": f"setsid nohup sleep {{seconds}} {_AWAY} &",
    "an orphan": f"(setsid sleep {{seconds}} {_AWAY} &)",
    "without an environment": f"env -i sleep {{seconds}} {_AWAY} &",
    "a daemon": f"(cd / && setsid env -i sh -c 'sleep {{seconds}} & exit' {_AWAY} &)",
}


class Litter:
    """That of one soldier, or of several that run the same script."""

    def __init__(self) -> None:
        self._seconds = {kind: f"{10_000_000 + os.getpid()}.{next(_numbers):06d}" for kind in KINDS}

    @property
    def script(self) -> str:
        """For a shell."""
        lines = (line.format(seconds=self._seconds[kind]) for kind, line in KINDS.items())
        return "\n".join(lines) + "\n"

    @property
    def line(self) -> str:
        """The same where only one line is to be had."""
        return " ".join(f"{{ {one} }};" for one in self.script.splitlines())

    def left(self) -> dict[str, list[int]]:
        """Those alive, by their kind."""
        kinds = {seconds: kind for kind, seconds in self._seconds.items()}
        found: dict[str, list[int]] = {}
        for pid in map(int, filter(str.isdecimal, os.listdir("/proc"))):
            seconds = _slept_for(pid)
            if seconds in kinds and is_alive(pid):
                found.setdefault(kinds[seconds], []).append(pid)
        return found

    def is_all_there(self, times: int = 1) -> bool:
        found = self.left()
        return all(len(found.get(kind, ())) >= times for kind in KINDS)

    def until_there(self, times: int = 1) -> None:
        eventually(
            lambda: self.is_all_there(times), "all of them run", told=lambda: str(self.left())
        )

    def end(self) -> None:
        """After a test, whatever it found."""
        for pid in (pid for pids in self.left().values() for pid in pids):
            os.kill(pid, 9)


def _slept_for(pid: int) -> str:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return ""
    return words[1].decode("ascii", "replace") if len(words) == 3 and words[0] == b"sleep" else ""
