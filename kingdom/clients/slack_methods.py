"""How each of Slack's methods fares: which fail while Slack is well otherwise, and which are to be
left alone for a while.

A method that does not answer costs whoever asks the whole timeout. So it is left alone, for longer
each time; the others are asked as ever.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from kingdom.clients.slack_faults import LONGEST_LIMIT, SlackLater, SlackLimited, SlackRefused
from kingdom.clock import Clock, still_waits
from kingdom.errors import KingdomError

_FIRST_HOLD, _LONGEST_HOLD = timedelta(seconds=5), timedelta(minutes=5)
_TOLD_FOR = timedelta(hours=1)  # a failure of a method that nobody has called since


class SlackMethods:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._held: dict[str, SlackLater] = {}
        self._in_a_row: dict[str, int] = {}  # failures since the last answer
        self._failing: dict[str, tuple[datetime, KingdomError]] = {}

    def check(self, method: str) -> None:
        """Raises while it is left alone."""
        held = self._held.get(method)
        until = held and held.not_before
        if held is not None and until and still_waits(until, self._clock.now(), LONGEST_LIMIT):
            raise held.with_traceback(None)
        self._held.pop(method, None)

    def note(self, method: str, error: SlackLater | SlackRefused | None) -> None:
        """What became of a call; no error is an answer."""
        if isinstance(error, SlackLater) and error.method:
            self._in_a_row[method] = self._in_a_row.get(method, 0) + 1
            if error.not_before is not None:
                self._held[method] = error
            if not isinstance(error, SlackLimited) or self._in_a_row[method] > 1:
                self._failing[method] = self._clock.now(), error  # a single limit is no failure
        elif isinstance(error, SlackRefused) and error.is_of_method:
            self._failing[method] = self._clock.now(), error
        elif not isinstance(error, SlackLater):
            self._in_a_row.pop(method, None)
            self._failing.pop(method, None)

    def leave_alone(self, method: str, sentence: str, remedy: str) -> None:
        """It did not answer."""
        times = min(self._in_a_row.get(method, 0), 10)
        until = self._clock.now() + min(_FIRST_HOLD * 2**times, _LONGEST_HOLD)
        self._held[method] = SlackLater(
            sentence, not_before=until, undone=True, method=method, remedy=remedy
        )

    def failing(self) -> list[KingdomError]:
        now = self._clock.now()
        self._failing = {
            method: one for method, one in self._failing.items() if now - one[0] <= _TOLD_FOR
        }
        return [error for _, error in self._failing.values()]
