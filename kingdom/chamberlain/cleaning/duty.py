"""Clean: once a day, at its time or as soon after as the kingdom runs; never by a doubtful clock.

Keeps `state/chamberlain/cleaned.json`: the last day that was cleaned, written when all of it was.
`clean.lock` keeps a person's `kingdom clean` and this apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta

from kingdom.chamberlain.cleaning.notices import Notices
from kingdom.chamberlain.cleaning.round import LOCK, Round
from kingdom.chamberlain.cleaning.slots import latest_slot
from kingdom.chamberlain.duty import Office
from kingdom.runtime.timekeeping import Timekeeping
from kingdom.store.locks import Lock
from kingdom.store.state import read_json, write_json

EVERY = 30.0  # seconds between two looks at the clock
SLICE = 4000  # looks at a file, a few hundredths of a second
PAUSE = 0.05  # seconds between two slices at least
RESTS = 50  # times as long as a slice took: a round takes the fiftieth part of a core


class Clean:
    name = "clean"

    def __init__(self, office: Office) -> None:
        self._office = office
        self._path = office.path("cleaned.json")
        self._time = Timekeeping(office.base, office.path("clock.json"), office.clock)
        self._lock: Lock | None = None
        self._cleaned: date | None = None
        self._day: date | None = None  # that is being cleaned
        self._round: Round | None = None
        self._notices: Notices | None = None
        self._work: Iterator[int] = iter(())
        self._said = ""

    def start(self) -> None:
        self._lock = Lock(self._office.base.path(*LOCK))
        kept = read_json(self._path, {})
        self._cleaned = _day_in(kept.get("day")) if isinstance(kept, dict) else None
        if self._cleaned is None:  # nobody was there whose work could be made up for
            self._note(self._slot())
        Notices(self._office.base, self._office.now()).publish(self._office)

    def step(self) -> float:
        is_believed = self._time.look()
        if self._round is None and not self._is_due():
            return EVERY
        if not is_believed:
            self._drop()
            self._say("clean.put_off", "The clock was moved, or nobody knows; it must run a day.")
            return EVERY
        if self._round is None and not self._begin():
            return EVERY
        began = self._office.clock.monotonic()
        if self._is_through():
            self._finish()
            return EVERY
        return min(max((self._office.clock.monotonic() - began) * RESTS, PAUSE), EVERY)

    def _is_through(self) -> bool:
        """After one more slice."""
        left = SLICE
        for cost in self._work:
            left -= cost
            if left <= 0:
                return False
        return True

    def stop(self) -> None:
        self._time.write()
        if self._lock is not None:
            self._lock.close()

    def _slot(self) -> date:
        settings = self._office.config.settings
        return latest_slot(
            self._office.now(), settings.chamberlain.cleanup.at, settings.system.zone
        )

    def _is_due(self) -> bool:
        """A day before the last one that was cleaned: the clock was wrong then, or is now."""
        slot, cleaned = self._slot(), self._cleaned
        return cleaned is None or cleaned < slot or cleaned - slot > timedelta(days=1)

    def _begin(self) -> bool:
        assert self._lock is not None
        if not self._lock.try_acquire():
            return False  # a person is at it
        office, now = self._office, self._office.now()
        self._day = self._slot()
        self._notices = Notices(office.base, now)
        retention = office.config.settings.chamberlain.retention
        self._round = Round(office.base, office.bus, retention, now, self._notices)
        self._work = self._round.work()
        return True

    def _finish(self) -> None:
        done, notices, day = self._round, self._notices, self._day
        assert done is not None
        assert notices is not None
        assert day is not None
        notices.tell(self._office)
        self._note(day)
        self._drop()
        self._say("", "")
        self._office.tell("recovery.files_cleaned", deleted_count=done.deleted)
        kinds = {one.kind: one.count for one in done.tallies.values() if one.count}
        self._office.log.info("files.cleaned", deleted=done.deleted, **_words(kinds))
        for tally in done.tallies.values():
            if tally.trouble:
                self._office.log.warning("clean.refused", kind=tally.kind, error=tally.trouble)

    def _drop(self) -> None:
        if self._round is not None:
            assert self._lock is not None
            self._lock.release()
        self._round, self._notices, self._work = None, None, iter(())

    def _note(self, day: date) -> None:
        write_json(self._path, {"day": day.isoformat()})
        self._cleaned = day

    def _say(self, event: str, sentence: str) -> None:
        """Once, until there is something else to say."""
        if sentence and sentence != self._said:
            self._office.log.warning(event, error=sentence)
        self._said = sentence


def _words(kinds: dict[str, int]) -> dict[str, int]:
    return {kind.replace(" ", "_"): count for kind, count in kinds.items()}


def _day_in(value: object) -> date | None:
    try:
        return date.fromisoformat(str(value))
    except ValueError:
        return None
