"""What is wrong according to the events log, by windows that slide over the events' own time. Pure.

Three failures in a row of one general, five soldiers out of time within an hour, an event that
nobody took up for half an hour. The windows live in the ledger, so a restart changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from kingdom.clock import isoformat

FAILURES_IN_A_ROW = 3
TIMEOUTS, TIMEOUTS_WITHIN = 5, 3600.0
UNDISPATCHED_AFTER = 1800.0
TOLERANCE = 60.0  # seconds that clocks of processes on one machine may be apart
MOST_WAITING, MOST_GENERALS, MOST_KEPT = 20_000, 200, 200
_LONGEST_REASON = 300

FAILURES, TIMED_OUT, UNDISPATCHED, DEFERRED = "failures", "timeouts", "undispatched", "deferred"
KINDS = (FAILURES, TIMED_OUT, UNDISPATCHED, DEFERRED)


@dataclass(frozen=True)
class Condition:
    """Something that is wrong now."""

    kind: str
    subject: str = ""  # a general
    count: int = 0
    example: str = ""  # an event, or what was said last
    reason: str = ""

    @property
    def name(self) -> str:
        return f"{self.kind}:{self.subject}" if self.subject else self.kind


def empty() -> dict[str, Any]:
    return {"streaks": {}, "timeouts": [], "waiting": {}, "unwatched": 0, "found": []}


class Windows:
    """Over a part of the ledger, which it changes in place. Moments are seconds since the epoch."""

    def __init__(self, kept: dict[str, Any]) -> None:
        self._kept = kept
        self.has_news = False  # of what was found, beside what was read

    # What the log tells

    def failed(self, general: str, moment: float, error: str) -> None:
        streaks = self._kept["streaks"]
        if general not in streaks and len(streaks) >= MOST_GENERALS:
            return
        streak = streaks.setdefault(general, {"count": 0, "since": moment})
        streak["count"] += 1
        streak["error"] = error[:_LONGEST_REASON]
        if streak["count"] == FAILURES_IN_A_ROW:
            self._begin(FAILURES, general, moment)

    def has_failed(self, general: str) -> bool:
        return general in self._kept["streaks"]

    def completed(self, general: str, moment: float) -> None:
        streak = self._kept["streaks"].pop(general, None)
        if streak is not None and streak["count"] >= FAILURES_IN_A_ROW:
            self._end(FAILURES, general, moment)

    def timed_out(self, moment: float) -> None:
        moments = self._kept["timeouts"]
        self._close_window(moment)
        moments.append(moment)
        moments.sort()
        del moments[:-TIMEOUTS]
        if self._times_out(moment):
            self._begin(TIMED_OUT, "", moment)

    def detected(self, event: str, at: str) -> None:
        """The moment as it is written: most are settled before anyone asks."""
        waiting = self._kept["waiting"]
        if len(waiting) < MOST_WAITING:
            waiting.setdefault(event, [at, ""])
        else:
            self._kept["unwatched"] += 1

    def deferred(self, event: str, reason: str) -> None:
        if event in self._kept["waiting"]:
            self._kept["waiting"][event][1] = str(reason)[:_LONGEST_REASON] or "?"

    def settled(self, event: str) -> None:
        self._kept["waiting"].pop(event, None)

    # What is wrong now

    def conditions(self, now: float, is_pending: Callable[[str], bool]) -> list[Condition]:
        """`is_pending` tells whether an event still waits: not all that is done with one is in the
        log, and two who write to it may come in either order."""
        self._forget_future(now)
        self._close_window(now)
        streaks = self._kept["streaks"].items()
        found = [
            Condition(FAILURES, general, streak["count"], streak.get("error", ""))
            for general, streak in streaks
            if streak["count"] >= FAILURES_IN_A_ROW
        ]
        if self._times_out(now):
            found.append(Condition(TIMED_OUT, count=TIMEOUTS))
        found += self._late(now, is_pending)
        self._note_late({one.kind for one in found}, now)
        return found

    def _forget_future(self, now: float) -> None:
        """What a clock that was ahead has noted: it would be young for as long as that was."""
        moments = self._kept["timeouts"]
        past = [one for one in moments if one <= now + TOLERANCE]
        if past != moments:
            moments[:] = past
            self.has_news = True
            if len(past) < TIMEOUTS:
                self._end(TIMED_OUT, "", now)

    def _late(self, now: float, is_pending: Callable[[str], bool]) -> list[Condition]:
        waiting = self._kept["waiting"]
        latest = datetime.fromtimestamp(now - UNDISPATCHED_AFTER, UTC)
        ahead = datetime.fromtimestamp(now + TOLERANCE, UTC)
        late = []
        for event, entry in waiting.items():
            moment = datetime.fromisoformat(entry[0])
            if moment <= latest:
                late.append(event)
            elif moment > ahead:  # by a clock that has come back; it waits since now at least
                entry[0] = isoformat(datetime.fromtimestamp(now, UTC))
                self.has_news = True
        for event in [one for one in late if not is_pending(one)]:
            del waiting[event]
            self.has_news = True
        late.sort(key=lambda event: waiting.get(event, [""])[0])
        found = []
        for kind in (UNDISPATCHED, DEFERRED):
            events = [
                one
                for one in late
                if one in waiting and bool(waiting[one][1]) == (kind == DEFERRED)
            ]
            if events:
                reason = waiting[events[0]][1]
                found.append(Condition(kind, "", len(events), events[0], reason))
        return found

    def _note_late(self, kinds: set[str], now: float) -> None:
        for kind in (UNDISPATCHED, DEFERRED):
            if kind in kinds:
                self._begin(kind, "", now)
            else:
                self._end(kind, "", now)

    def _times_out(self, moment: float) -> bool:
        moments = self._kept["timeouts"]
        return len(moments) >= TIMEOUTS and moment - moments[-TIMEOUTS] <= TIMEOUTS_WITHIN

    def _close_window(self, moment: float) -> None:
        if not self._times_out(moment) and self._kept["timeouts"]:
            self._end(TIMED_OUT, "", self._kept["timeouts"][0] + TIMEOUTS_WITHIN)

    # What was found, for reports

    def _open_one(self, kind: str, subject: str) -> dict[str, Any] | None:
        for one in reversed(self._kept["found"]):
            if (one["kind"], one["subject"]) == (kind, subject):
                return one if one["until"] is None else None
        return None

    def _begin(self, kind: str, subject: str, moment: float) -> None:
        if self._open_one(kind, subject) is None:
            found = self._kept["found"]
            found.append({"kind": kind, "subject": subject, "since": moment, "until": None})
            del found[:-MOST_KEPT]
            self.has_news = True

    def _end(self, kind: str, subject: str, moment: float) -> None:
        one = self._open_one(kind, subject)
        if one is not None:
            one["until"] = moment
            self.has_news = True
