"""Days of a kingdom's life in a moment: a clock that is moved, a real bus, the real chamberlain.

King, generals and envoy are played: they do with the bus and the disk what those do. What they
leave is noted, so that afterwards each file is either rightly there or rightly gone. The disk's own
times cannot be moved, so each file is dated as soon as it is written.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from random import Random

from kingdom.bus.files.bus import FileBus
from kingdom.bus.files.places import HANDLED
from kingdom.bus.port import Move, New
from kingdom.chamberlain.daemon import Chamberlain
from kingdom.chamberlain.duties import DUTIES
from kingdom.models.base import Record
from kingdom.models.result import NeedsHuman
from kingdom.runtime.internal_log import InternalLog
from kingdom.store.paths import BaseDir
from tests.support.household import BEGAN, office_in
from tests.support.kingdom import MovableClock, event, message, result, task

TICK = 900.0  # seconds between two steps of a chamberlain that has nothing to do
DAYS = {"queue": 7, "results": 7, "prompts": 3, "session_logs": 7, "seen": 30, "logs": 7}


@dataclass
class Left:
    """A file, and until when it may be there."""

    kind: str
    at: datetime
    needed: bool = False


@dataclass
class Life:
    base: BaseDir
    clock: MovableClock
    random: Random
    days: dict[str, int] = field(default_factory=lambda: dict(DAYS))
    left: dict[str, Left] = field(default_factory=dict)
    emitted: list[tuple[datetime, str]] = field(default_factory=list)
    restarts: int = 0
    looks: list[datetime] = field(default_factory=list)  # when the chamberlain went round
    _number: int = 0

    def configure(self, zone: str) -> None:
        kept = ", ".join(f"{kind}_days: {days}" for kind, days in self.days.items())
        for name, text in (
            ("system", f"timezone: {zone}\ndurability: fast\n"),
            ("chamberlain", f"retention: {{{kept}}}\n"),
        ):
            path = Path(self.base.config, f"{name}.yaml")
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        for place in ("logs", "state/prompts", "logs/sessions", "state/sentinel/seen"):
            os.makedirs(self.base.path(place), exist_ok=True)

    # What happens

    def live(self, days: int, events_a_day: int, at_once: int, restarts_a_day: float) -> None:
        """Events at random moments, a chamberlain that is killed now and then and stays away."""
        bus = FileBus(self.base, clock=self.clock, durable=False)
        end = self.clock.now() + timedelta(days=days)
        groups = days * events_a_day // at_once
        moments = sorted(self.random.random() * days * 86_400 for _ in range(groups))
        start = self.clock.now()
        coming = [start + timedelta(seconds=round(one, 3)) for one in moments]
        while self.clock.now() < end:
            length = self.random.expovariate(restarts_a_day) if restarts_a_day else days
            until = min(self.clock.now() + timedelta(days=length), end)
            self._reign(bus, coming, until, at_once)
            away = min(self.clock.now() + timedelta(hours=self.random.random() * 20), end)
            self._pass(bus, coming, away, at_once)
            self.restarts += 1
        self._pass(bus, coming, end + timedelta(seconds=1), at_once)
        bus.close()

    def _reign(self, bus: FileBus, coming: list[datetime], until: datetime, at_once: int) -> None:
        """One chamberlain's; it ends without a word."""
        with office_in(self.base, self.clock) as office:
            role = Chamberlain(office.setting, DUTIES)
            while self.clock.now() < until:
                self.looks.append(self.clock.now())
                wait = role.step()
                self.date_logs()
                # Between two looks some time passes, however little is asked for.
                step = timedelta(seconds=max(wait, 0.01) if wait < 1.0 else max(wait, TICK))
                self._pass(bus, coming, self.clock.now() + step, at_once)

    def _pass(self, bus: FileBus, coming: list[datetime], until: datetime, at_once: int) -> None:
        while coming and coming[0] <= until:
            self._go_to(coming.pop(0))
            self.work(bus, at_once)
        self._go_to(until)

    def _go_to(self, moment: datetime) -> None:
        self.clock.advance(max((moment - self.clock.now()).total_seconds(), 0.0))

    # What is left

    def work(self, bus: FileBus, count: int) -> None:
        """So many events from the sentinel to the envoy; a few tasks ask and get no answer."""
        numbers = range(self._number + 1, self._number + count + 1)
        self._number += count
        asks = {f"task-20260207-{n:03d}" for n in numbers if n % 10 == 0}
        bus.publish("events", *(event(str(n)) for n in numbers))
        self._told([f"evt-test-{n}" for n in numbers])
        born = [New("tasks", task(n, event_id=f"evt-test-{n}")) for n in numbers]
        born += [
            New("messages", message(n, task_id=one.message.id))
            for n, one in zip(numbers, born, strict=True)
        ]
        events = bus.claim("events", "king", limit=count)
        named = {f"evt-test-{n}": f"task-20260207-{n:03d}" for n in numbers}
        bus.commit([Move(c, "completed", fields={"task_id": named[c.id]}) for c in events], born)
        tasks = bus.claim("tasks", "gen-pr", limit=count)
        ends = [Move(c, "completed", "needs_human" if c.id in asks else "") for c in tasks]
        bus.commit(ends, [New("results", _result(n, asks=n % 10 == 0)) for n in numbers])
        bus.commit([Move(c, HANDLED) for c in bus.claim("results", "king", limit=count)])
        sent = [
            f"msg-20260207-{n:03d}" for n in numbers
        ]  # the chamberlain's own stay where they are
        bus.commit([Move(c, "sent") for c in bus.claim("messages", "envoy", ids=sent)])
        for number in numbers:
            self._note(number, needed=number % 10 == 0)

    def _told(self, ids: list[str]) -> None:
        log = InternalLog(self.base, "sentinel", self.clock)
        for id_ in ids:
            data = {"event_id": id_, "source": "github", "event_type": "github.pr.comment"}
            log.emit("event.detected", data)
            self.emitted.append((self.clock.now(), id_))

    def _note(self, number: int, *, needed: bool) -> None:
        id_, soldier = f"task-20260207-{number:03d}", f"soldier-{number}-101"
        written = {f"state/results/{id_}-soldier-id": soldier, f"state/prompts/{id_}.md": "Do it."}
        written |= {
            f"logs/sessions/{soldier}.json": "{}",
            f"state/sentinel/seen/evt-test-{number}": "",
        }
        place = f"state/results/{id_}-raw-{soldier}"
        os.mkdir(self.base.path(place))
        written[f"{place}/result.json"] = "{}"  # that nobody accepted
        for path, text in written.items():
            Path(self.base.path(path)).write_text(text)
        kinds = {
            f"queue/events/completed/evt-test-{number}.json": "queue",
            f"queue/tasks/completed/{id_}.json": "queue",
            f"queue/messages/sent/msg-20260207-{number:03d}.json": "queue",
            f"state/results/{id_}.json": "results",
            f"state/results/{id_}-soldier-id": "results",
            f"{place}/result.json": "results",
            f"state/prompts/{id_}.md": "prompts",
            f"logs/sessions/{soldier}.json": "session_logs",
            f"state/sentinel/seen/evt-test-{number}": "seen",
        }
        now = self.clock.now()
        os.utime(self.base.path(place), (now.timestamp(),) * 2)
        for path, kind in kinds.items():
            os.utime(self.base.path(path), (now.timestamp(),) * 2)
            self.left[path] = Left(kind, now, needed)

    def date_logs(self) -> None:
        """Of those that were put away since the last look."""
        for name in os.listdir(self.base.logs):
            path = self.base.path("logs", name)
            if os.path.isfile(path) and os.stat(path).st_mtime >= BEGAN:
                os.utime(path, (self.clock.now().timestamp(),) * 2)

    # What should be there

    def allowed(self, now: datetime) -> set[str]:
        """The files that the table allows after a round at this moment."""
        return {
            path
            for path, one in self.left.items()
            if one.needed or one.at >= now - timedelta(days=self.days[one.kind])
        }

    def there(self) -> set[str]:
        places = ("queue", "state/results", "state/prompts", "logs/sessions", "state/sentinel/seen")
        return {
            os.path.relpath(os.path.join(directory, name), self.base.root)
            for place in places
            for directory, _, names in os.walk(self.base.path(place))
            for name in names
            if not name.startswith("msg-") or name.startswith("msg-20260207-")
        }


def _result(number: int, *, asks: bool) -> Record:
    made = result(number)
    if not asks:
        return made
    return NeedsHuman(task_id=made.task_id, summary="?", question="Which?")
