"""What the chamberlain's keeping of files costs: a look between two nights, and a night's round."""

from __future__ import annotations

import json
import os
from pathlib import Path
from time import process_time

from kingdom.chamberlain.cleaning.duty import EVERY, Clean
from kingdom.chamberlain.duty import Duty, Office
from kingdom.chamberlain.rotating import Rotate
from kingdom.runtime.timekeeping import confirm
from kingdom.store.paths import BaseDir
from tests.bench.figures import Figure, at_most, middle_half
from tests.bench.place import own_place
from tests.bench.report import Rate
from tests.support.household import office_in
from tests.support.kingdom import ShiftedClock

FEW = 1_000
_LOOKS = 200
_DAY = 86_400.0
# Of ten files that a kingdom keeps, so many of each kind.
_MIX = {
    "queue/events/completed/evt-{}.json": 2,
    "queue/tasks/completed/task-20260207-{}.json": 2,
    "queue/messages/sent/msg-20260207-{}.json": 2,
    "state/results/task-20260207-{}.json": 2,
    "state/sentinel/seen/evt-{}": 1,
    "logs/sessions/soldier-{}-101.json": 1,
}


def keeping(directory: str, rounds: int, files: int) -> tuple[list[Figure], list[Rate]]:
    few, many = _Household(directory, FEW), _Household(directory, files)
    ratios = [many.looks() / few.looks() for _ in range(rounds)]
    share, seconds = many.night()
    over_day = seconds / _DAY + many.looks() / EVERY
    middle = sorted(ratios)[len(ratios) // 2]
    return [
        Figure(
            f"chamberlain: a look, {files} files to {FEW}",
            middle,
            at_most(1.5),
            middle_half(ratios),
        ),
        Figure(f"chamberlain: share of one core, cleaning {files} files", share, at_most(0.02)),
        Figure(
            f"chamberlain: share of one core over a day, {files} files", over_day, at_most(0.02)
        ),
    ], [
        Rate("chamberlain: a look", many.looks() * 1e6, "µs of processor"),
        Rate(f"chamberlain: a night over {files} files", seconds, "s of processor"),
        Rate(f"chamberlain: a night over {FEW} files", few.night()[1], "s of processor"),
        Rate("chamberlain: the longest slice", many.longest * 1e3, "ms"),
    ]


class _Household:
    def __init__(self, directory: str, files: int) -> None:
        self.base = BaseDir(own_place(directory))
        self.clock = ShiftedClock()
        self.longest = 0.0
        _fill(self.base, files)

    def looks(self) -> float:
        """Seconds of processor for one, when nothing is due."""
        with office_in(self.base, self.clock) as office:
            duties = self._started(office)
            began = process_time()
            for _ in range(_LOOKS):
                for duty in duties:
                    duty.step()
            return (process_time() - began) / _LOOKS

    def night(self) -> tuple[float, float]:
        """The share of a core while it goes on, rests included, and seconds of processor."""
        with office_in(self.base, self.clock) as office:
            _, clean = self._started(office)
            self.clock.shift(_DAY)
            began, beginning, rests = process_time(), self.clock.monotonic(), 0.0
            while True:
                before = self.clock.monotonic()
                wait = clean.step()
                self.longest = max(self.longest, self.clock.monotonic() - before)
                rests += wait
                if wait == EVERY:
                    break
            seconds = process_time() - began
            return seconds / (self.clock.monotonic() - beginning + rests), seconds

    def _started(self, office: Office) -> list[Duty]:
        confirm(self.base, self.clock.now())
        duties: list[Duty] = [Rotate(office), Clean(office)]
        for duty in duties:
            duty.start()
            duty.step()
        return duties


def _fill(base: BaseDir, files: int) -> None:
    """All of it young, so nothing goes."""
    delivery = {"revision": 3, "processed_at": "2026-02-07T10:00:00.000Z"}
    content = json.dumps({"status": "completed", "summary": "x" * 800, "delivery": delivery})
    for form in _MIX:
        os.makedirs(os.path.dirname(base.path(form)), exist_ok=True)
    for number in range(files // sum(_MIX.values())):
        for form, count in _MIX.items():
            for one in range(count):
                Path(base.path(form.format(number * 10 + one + 100))).write_text(content)
