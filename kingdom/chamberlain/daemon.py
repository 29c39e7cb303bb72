"""The chamberlain's process: duties, each with a rhythm and a trouble of its own.

Reads `state/`, `queue/`, `logs/events.log` and what the machine says. Writes messages through the
bus, `state/resources.json`, `state/chamberlain/` and logs; removes what has had its time.

A crash leaves a duty cut off; the next chamberlain goes on from what that duty wrote down.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kingdom.bus.port import Accept
from kingdom.chamberlain.duty import Duty, MakeDuty, Office
from kingdom.errors import KingdomError
from kingdom.runtime.role import Setting

FIRST_PAUSE, LONGEST_PAUSE = 5.0, 300.0  # seconds after a step that failed


class _Round:
    """One duty, when it is wanted next, and how patient to be with it."""

    def __init__(self, duty: Duty) -> None:
        self.duty = duty
        self.started = False
        self.due = float("-inf")
        self.pause = 0.0
        self.said = ""


class Chamberlain:
    name = "chamberlain"
    streams: tuple[str, ...] = ()

    def __init__(self, setting: Setting, duties: Sequence[MakeDuty]) -> None:
        self._office = Office(setting)
        self._rounds = [_Round(make(self._office)) for make in duties]
        self._problem = ""

    def start(self) -> None:
        """Each duty starts with its first step, so that one that cannot keeps nobody waiting."""

    def step(self) -> float:
        self._reload()
        for one in self._rounds:
            if one.due <= self._office.clock.monotonic():
                self._do(one)
        now = self._office.clock.monotonic()
        return max(min((one.due for one in self._rounds), default=now) - now, 0.0)

    def accepts(self) -> Mapping[str, Accept]:
        return {}

    def descriptors(self) -> Sequence[int]:
        return ()

    def stop(self) -> None:
        for one in self._rounds:
            one.duty.stop()

    def _do(self, one: _Round) -> None:
        try:
            if not one.started:
                one.duty.start()
                one.started = True
            seconds = one.duty.step()
        except (KingdomError, OSError) as error:
            self._excuse(one, str(error))
        else:
            one.due, one.pause, one.said = self._office.clock.monotonic() + seconds, 0.0, ""

    def _excuse(self, one: _Round, sentence: str) -> None:
        """Said once, until it works or fails in another way."""
        one.pause = min(one.pause * 2, LONGEST_PAUSE) or FIRST_PAUSE
        one.due = self._office.clock.monotonic() + one.pause
        if sentence != one.said:
            one.said = sentence
            self._office.log.warning("duty.failed", duty=one.duty.name, error=sentence)

    def _reload(self) -> None:
        self._office.setting.config.refresh()
        problem = str(self._office.setting.config.problem or "")
        if problem and problem != self._problem:
            self._office.log.error("config.refused", error=problem)
        self._problem = problem


def make(setting: Setting) -> Chamberlain:
    from kingdom.chamberlain.duties import DUTIES

    return Chamberlain(setting, DUTIES)
