"""One watcher at its post: when it looks, in a thread of its own, and how it fares.

What goes wrong is told once and tried again after pauses that grow; one watcher's trouble is
nobody else's.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Self

from kingdom.clients.waits import LONGEST_LIMIT
from kingdom.clock import isoformat
from kingdom.errors import KingdomError, NeverWorks, TryLater
from kingdom.limits import limit_in
from kingdom.models.fields import read_timestamp
from kingdom.runtime.errands import Errands
from kingdom.runtime.role import Setting
from kingdom.sentinel.rounds import Looked, Rounds
from kingdom.sentinel.watcher import Watcher

OK, OFF, TROUBLE = "ok", "off", "trouble"
CRASHED = "watcher_crashed"
_FIRST_PAUSE, _LONGEST_PAUSE = 10.0, 900.0  # what may pass by itself
_LONGEST_REFUSAL = 3600.0  # what a person has to see to
_LONGEST_OF_ALL = 31_536_000.0  # whoever asks for it
_OFF_LOOK = 300.0
_ALARMING_AFTER = 3600.0  # of trouble, whatever its code


class WatcherOff(NeverWorks):
    """It is configured, and something that it needs is not there."""

    code = "watcher_off"


@dataclass(frozen=True)
class Standing:
    """How a watcher fares, as `state/sentinel/watchers.json` has it."""

    state: str
    since: datetime
    code: str = ""
    sentence: str = ""
    remedy: str = ""
    last_look: datetime | None = None
    next_look: datetime | None = None
    emitted: int = 0
    is_alarming: bool = False  # a person should know

    def spelled(self) -> dict[str, Any]:
        moments = {name: getattr(self, name) for name in ("since", "last_look", "next_look")}
        return {
            "state": self.state,
            **{name: moment and isoformat(moment) for name, moment in moments.items()},
            "code": self.code or None,
            "sentence": self.sentence or None,
            "remedy": self.remedy or None,
            "emitted": self.emitted,
            "alarming": self.is_alarming,
        }

    @classmethod
    def kept(cls, spelled: Any, now: datetime) -> Self:
        """As a life before this one left it. Trouble lasts until a look succeeds; what was well, or
        cannot be read, is for the first look to tell."""
        try:
            if spelled["state"] == TROUBLE:
                return cls(
                    TROUBLE,
                    since=min(read_timestamp(spelled["since"]), now),
                    last_look=read_timestamp(spelled["last_look"]),
                    is_alarming=spelled["alarming"] is True,
                    code=str(spelled["code"] or ""),
                    sentence=str(spelled["sentence"] or ""),
                    remedy=str(spelled["remedy"] or ""),
                )
        except (LookupError, TypeError, ValueError):
            pass
        return cls(OK, now)


class Post:
    def __init__(
        self,
        name: str,
        interval: float,
        make: Callable[[], Watcher],
        setting: Setting,
        before: Any = None,
    ) -> None:
        """`before`: how it stood in a former life, as that one spelled it."""
        self.name = name
        self._interval = interval
        self._make = make
        self._setting = setting
        self._clock = setting.clock
        self._errands = Errands(f"watch-{name}")
        self._watcher: Watcher | None = None
        self._rounds: Rounds | None = None
        self._is_looking = False
        self._is_outdated = False
        self.is_manned = True
        self._due_at = self._clock.monotonic()
        self._failures = 0
        now = self._clock.now()
        self.standing = Standing.kept(before, now)
        self._trouble_from = self._due_at - (now - self.standing.since).total_seconds()

    def fileno(self) -> int:
        return self._errands.fileno()

    def seconds_left(self) -> float:
        """Until it looks again; while it looks, its descriptor tells."""
        if self._is_looking or not self.is_manned:
            return float("inf")
        return max(self._due_at - self._clock.monotonic(), 0.0)

    def hurry(self) -> None:
        """Something came: look as soon as nobody does."""
        self._due_at = self._clock.monotonic()

    def step(self) -> bool:
        """Whether its standing changed."""
        before = self.standing
        for answer in self._errands.answers():
            self._is_looking = False
            self._hear(answer.value, answer.failure)
        if not self._is_looking and self.seconds_left() == 0.0:
            self._is_looking = True
            self._due_at = float("inf")
            self._errands.ask(self.name, self._look)
        return self.standing != before

    def change(self, interval: float, make: Callable[[], Watcher]) -> None:
        """Other settings: the next look is by another watcher; one under way ends first."""
        self._interval, self._make = interval, make
        self._is_outdated = True
        self.is_manned = True
        self.hurry()

    def leave(self) -> None:
        """It is configured no more."""
        self.is_manned = False
        self._is_outdated = True

    def close(self) -> None:
        self._errands.close()
        if self._watcher is not None and not self._is_looking:
            self._watcher.close()

    def _look(self) -> Looked:
        if self._is_outdated and self._watcher is not None:
            self._watcher.close()
        if self._is_outdated or self._rounds is None:
            self._is_outdated, self._rounds = False, None
            self._watcher = self._make()
            self._rounds = Rounds(self._watcher, self._setting)
        return self._rounds.look()

    def _hear(self, looked: Looked | None, failure: Exception | None) -> None:
        now = self._clock.now()
        if failure is None:
            assert looked is not None
            pause = looked.finish.pause(self._interval)
            self._failures = 0
            self._stand(OK, now, None, emitted=self.standing.emitted + looked.emitted)
        elif isinstance(failure, WatcherOff):
            pause = _OFF_LOOK
            self._stand(OFF, now, failure)
        else:
            self._failures += 1
            error = self._as_ours(failure)
            at_least = 0.0 if self._rounds is None else self._rounds.at_least
            pause = max(self._pause_after(error, now), at_least)
            self._stand(TROUBLE, now, error)
        pause = min(pause, _LONGEST_OF_ALL)
        self._due_at = min(self._due_at, self._clock.monotonic() + pause)
        self.standing = replace(
            self.standing, last_look=now, next_look=now + timedelta(seconds=pause)
        )

    def _as_ours(self, failure: Exception) -> KingdomError:
        known = limit_in(failure) or failure
        if isinstance(known, KingdomError):
            return known
        self._setting.log.error("watcher.crashed", watcher=self.name, exc_info=failure)
        return TryLater(
            f"The {self.name} watcher failed: {type(failure).__name__}.",
            remedy="The log of the sentinel has more: kingdom logs sentinel",
            code=CRASHED,
        )

    def _pause_after(self, error: KingdomError, now: datetime) -> float:
        not_before = getattr(error, "not_before", None)
        if isinstance(not_before, datetime):
            wait = min(not_before - now, LONGEST_LIMIT)  # the clock may have been set meanwhile
            return max(wait.total_seconds(), 1.0)
        first, longest = _FIRST_PAUSE, _LONGEST_PAUSE
        if isinstance(error, NeverWorks):
            first, longest = self._interval, _LONGEST_REFUSAL
        pause = min(min(first, self._interval) * 2.0 ** min(self._failures - 1, 30), longest)
        return pause * random.uniform(0.9, 1.1)

    def _stand(
        self, state: str, now: datetime, error: KingdomError | None, emitted: int | None = None
    ) -> None:
        before = self.standing
        code = error.code if error else ""
        since = before.since if (before.state, before.code) == (state, code) else now
        if before.state != TROUBLE:
            self._trouble_from = self._clock.monotonic()
        is_old = self._clock.monotonic() - self._trouble_from >= _ALARMING_AFTER
        if (before.state, before.code) != (state, code):
            self._tell(state, error)
        self.standing = replace(
            before,
            state=state,
            since=since,
            code=code,
            sentence=error.sentence if error else "",
            remedy=error.remedy if error else "",
            emitted=before.emitted if emitted is None else emitted,
            is_alarming=state == TROUBLE and (isinstance(error, NeverWorks) or is_old),
        )

    def _tell(self, state: str, error: KingdomError | None) -> None:
        log = self._setting.log
        if state == OK:
            log.info("watcher.ok", watcher=self.name)
        elif error is not None:
            tell = log.info if state == OFF else log.warning
            tell(f"watcher.{state}", watcher=self.name, error=str(error), code=error.code)
