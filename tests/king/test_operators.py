"""Operators act on messages while a king moves them: what counts is where a message lies in the
moment it is taken, not where it was listed."""

from __future__ import annotations

import fcntl
import os
import random
import signal
from collections import Counter
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from kingdom.bus.files.bus import FileBus
from kingdom.bus.files.caretaker import Caretaker
from kingdom.bus.port import Move, New, Problem
from kingdom.cli.queue_change import LIVE
from kingdom.clock import Clock, SystemClock
from kingdom.errors import KingdomError
from kingdom.king.daemon import make
from kingdom.ops.choosing import find_one
from kingdom.ops.fsck.examine import examine
from kingdom.ops.listing import Listed
from kingdom.ops.steering import drop, retry
from kingdom.store.formats import write_format
from kingdom.store.paths import BaseDir
from kingdom.topology import DEAD, STREAMS
from tests.support.calls import in_child, observed
from tests.support.court import Court, court_in
from tests.support.kingdom import drop as put
from tests.support.kingdom import event, files, result
from tests.support.processes import forked_role
from tests.support.waiting import eventually

EVENT, TASK = "evt-test-1", "task-20260207-001"
FAULT = Problem("failed_too_often", "It cannot be.")
VERBS: dict[str, Callable[..., Any]] = {"drop": drop, "retry": retry}


def listed(base: BaseDir, verb: str, typed: str) -> Listed:
    found = find_one(base, typed, {DEAD} if verb == "retry" else LIVE, verb)
    assert found is not None
    return found


def act(base: BaseDir, clock: Clock, verb: str, typed: str) -> None:
    """An operator, from look to act; it may come too late."""
    with suppress(KingdomError), closing(FileBus(base, clock=clock)) as bus:
        entry = find_one(base, typed, {DEAD} if verb == "retry" else LIVE, verb)
        if entry is not None:
            VERBS[verb](bus, Caretaker(base, clock), entry)


def reign(court: Court) -> None:
    """A king comes, does what is to be done, and is gone."""
    king = court.king()
    for _ in range(2):
        king.step()


def bury(court: Court, stream: str, id_: str) -> None:
    (claim,) = court.bus.claim(stream, "worker", ids=[id_])
    court.bus.bury(claim, FAULT)


# What is there, what an operator wants of it, and what comes between its look and its act.


def waiting(court: Court) -> None:
    court.send(event("1"))


def unwanted(court: Court) -> None:
    court.send(event("1", type="not.wanted"))


def buried(court: Court) -> None:
    waiting(court)
    bury(court, "events", EVENT)


def set_aside(court: Court) -> None:
    path = put(court.base, "events/dead", f"{EVENT}.json", event("1").to_json())
    Path(f"{path}.reason.json").write_text('{"code": "not_json", "reason": "It was bad."}')


def damaged(court: Court) -> None:
    put(court.base, "events/pending", f"{EVENT}.json", "{half")


def dead_task(court: Court) -> None:
    waiting(court)
    reign(court)
    bury(court, "tasks", TASK)
    command = {"command": "retry", "task_id": TASK}
    court.send(event("again", type="kingdom.command", payload=command, priority="high"))


def reported(court: Court) -> None:
    waiting(court)
    reign(court)
    court.report(result(1))


def retried_by_another(court: Court) -> None:
    act(court.base, court.clock, "retry", EVENT)
    reign(court)


def mended(court: Court) -> None:
    put(court.base, "events/pending", f"{EVENT}.json", event("1").to_json())
    reign(court)


@dataclass(frozen=True)
class Race:
    prepare: Callable[[Court], None]
    verb: str
    typed: str
    between: Callable[[Court], None]
    refusal: str


RACES = {
    "dispatched": Race(waiting, "drop", EVENT, reign, f"{EVENT} became {TASK}, which has not"),
    "discarded": Race(unwanted, "drop", EVENT, reign, "lies in events/completed: nobody will"),
    "retried twice": Race(buried, "retry", EVENT, retried_by_another, "lies in events/dispatched"),
    "put back twice": Race(
        set_aside, "retry", EVENT, retried_by_another, "lies in events/dispatched"
    ),
    "mended": Race(damaged, "drop", EVENT, mended, f"{EVENT} became {TASK}, which has not"),
    "tried again": Race(dead_task, "retry", TASK, reign, f"does the work of {TASK} already"),
    "handled": Race(reported, "drop", f"results/{TASK}", reign, "lies in results/handled: nobody"),
}


def open_tasks(court: Court) -> Counter[str]:
    """How many are at work for each event."""
    return Counter(
        one["event_id"] for one in court.all("tasks") if one["status"] in ("pending", "in_progress")
    )


def judge(court: Court) -> None:
    """Nothing is lost, and no event was taken up twice."""
    reign(court)
    roots = Counter(one["event_id"] for one in court.all("tasks") if "original_task_id" not in one)
    assert not [one for one, many in (roots | open_tasks(court)).items() if many > 1]
    places = [place for place, names in files(court.base).items() if EVENT in names]
    if Path(court.base.path("queue/events/dead", f"{EVENT}.json.reason.json")).exists():
        places.remove("events/dead")  # set aside, it stands for no message
    assert len(places) <= 1, places
    assert EVENT in str(files(court.base)), "it is lost"
    if places == ["events/dead"]:
        assert not open_tasks(court)[EVENT]
    assert found_wrong(court) == []


def found_wrong(court: Court) -> list[str]:
    """By fsck; what was never made is not wrong."""
    write_format(court.base)
    found = [one for one in examine(court.base) if not one.note and one.check != "directories"]
    return [f"{one.path}: {one.sentence}" for one in found]


@pytest.mark.parametrize("name", RACES)
def test_what_changed_since_it_was_listed_is_refused(court: Court, name: str) -> None:
    race = RACES[name]
    race.prepare(court)
    entry = listed(court.base, race.verb, race.typed)
    race.between(court)
    before = files(court.base)
    with pytest.raises(KingdomError, match=race.refusal):
        VERBS[race.verb](court.bus, Caretaker(court.base, court.clock), entry)
    assert files(court.base) == before
    judge(court)


# Nothing that others do comes between a file that is open and what is done to it.
OF_OPEN_FILES = {"fstat", "close", "read", "pread", "write", "pwrite", "fsync", "fdatasync"}


class Between:
    """Has something happen just before the n-th call that names a file, unless a stream is locked
    then: whoever moves a message would have to wait."""

    def __init__(self, base: BaseDir, point: int, happens: Callable[[], object]) -> None:
        self._locks = [base.path("state/bus/lock", name) for name in STREAMS]
        self._left = point
        self._happens = happens
        self._is_within = False
        self.calls = 0

    def __call__(self, name: str, arguments: tuple[Any, ...], call: Callable[[], Any]) -> Any:
        if not self._is_within and name not in OF_OPEN_FILES:
            self.calls += 1
            if self.calls == self._left and not any(map(_is_locked, self._locks)):
                self._is_within = True
                assert in_child(self._happens) == 0
                self._is_within = False
        return call()


def _is_locked(path: str) -> bool:
    with open(path, "ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def raced(scratch: Path, race: Race, point: int) -> int:
    """Answers how many calls the operator made in all."""
    with court_in(BaseDir(scratch / str(point))) as court:
        race.prepare(court)
        entry = listed(court.base, race.verb, race.typed)
        between = Between(court.base, point, partial(race.between, court))
        with suppress(KingdomError), observed(between):
            VERBS[race.verb](court.bus, Caretaker(court.base, court.clock), entry)
        judge(court)
    return between.calls


@pytest.mark.parametrize(
    ("name", "every"),
    [
        *((name, 6) for name in ("dispatched", "retried twice", "put back twice")),
        *(pytest.param(name, 1, marks=pytest.mark.long) for name in RACES),
    ],
)
def test_whenever_it_changes_the_operator_or_the_king_has_it(
    scratch: Path, name: str, every: int
) -> None:
    calls = raced(scratch, RACES[name], 0)
    assert calls > 10
    for point in range(1, calls + 1, every):
        raced(scratch, RACES[name], point)


# Many at once

EVENTS, SOLDIERS, OPERATORS, ACTIONS, SEED = 40, 2, 3, 60, 11


def operate(base: BaseDir, seed: int) -> None:
    """Drops and retries whatever it happens to see; most of it is refused."""
    chance = random.Random(seed)
    for _ in range(ACTIONS):
        seen = [one for place in files(base).items() for one in named(*place)]
        act(base, SystemClock(), chance.choice(list(VERBS)), chance.choice(seen))


def named(place: str, names: list[str]) -> list[str]:
    stream = place.partition("/")[0]
    return [f"{stream}/{name}" for name in names] if stream in ("events", "tasks") else []


def command_soldiers(court: Court) -> None:
    """As a general would: what waits ends, well or in dead/."""
    for claim in court.bus.claim("tasks", "gen-pr", 3):
        if claim.message.delivery.revision % 4:
            court.bus.commit(
                [Move(claim, "completed")],
                [New("results", result(task_id=claim.id, trace_id=claim.message.trace_id))],
            )
        else:
            court.bus.bury(claim, FAULT)


def has_settled(court: Court) -> bool:
    command_soldiers(court)
    for name in files(court.base).get("events/dead", []):
        act(court.base, court.clock, "retry", f"events/{name}")
    found = files(court.base)
    return not {"events/pending", "events/dispatched", "tasks/pending"} & found.keys()


def test_a_storm_of_operators_doubles_and_loses_nothing(scratch: Path) -> None:
    with court_in(BaseDir(scratch), SystemClock()) as court:
        court.soldiers(SOLDIERS)
        king = forked_role(court.base, "king", make, court.environment)
        try:
            court.send(event("00"))
            operators = [forked(partial(operate, court.base, SEED + n)) for n in range(OPERATORS)]
            for number in range(1, EVENTS):
                court.send(event(f"{number:02}"))
                command_soldiers(court)
            while operators:
                command_soldiers(court)
                operators = [one for one in operators if not has_ended(one)]
            eventually(
                lambda: has_settled(court),
                "everything has ended",
                told=lambda: str(files(court.base)),
            )
        finally:
            os.kill(king, signal.SIGKILL)
            os.waitpid(king, 0)
        roots = [one for one in court.all("tasks") if not one.get("original_task_id")]
        assert {
            one for one, many in Counter(one["event_id"] for one in roots).items() if many > 1
        } == set()
        ids = [
            name
            for place, names in files(court.base).items()
            if place.startswith("events/")
            for name in names
        ]
        assert sorted(ids) == [f"evt-test-{one:02}" for one in range(EVENTS)]
        assert found_wrong(court) == []


def forked(work: Callable[[], object]) -> int:
    pid = os.fork()
    if pid == 0:
        os._exit(in_child(work))
    return pid


def has_ended(pid: int) -> bool:
    ended, status = os.waitpid(pid, os.WNOHANG)
    assert status == 0
    return bool(ended)
