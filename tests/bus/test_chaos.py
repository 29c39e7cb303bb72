"""Several producers and consumers, killed at random, thousands of messages: each arrives once."""

from __future__ import annotations

import os
import random
import select
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from kingdom.bus.files.bus import FileBus
from kingdom.bus.port import Move, New
from kingdom.store.paths import BaseDir
from tests.support.kingdom import counts, event, result, task
from tests.support.promises import check_directories, check_nothing_is_left_over

PATIENCE = 120.0  # seconds without any progress after which something is stuck


@dataclass
class Work:
    base: BaseDir
    total: int
    report: int  # a pipe: one byte for each step that was committed

    def open(self) -> FileBus:
        bus = FileBus(self.base, journal_bytes=256 * 1024)
        bus.recover()
        return bus

    def step(self) -> None:
        os.write(self.report, b".")


def produce(work: Work) -> None:
    bus = work.open()
    for start in range(0, work.total, 7):
        stop = min(start + 7, work.total)
        if any(bus.publish("events", *(event(str(n)) for n in range(start, stop)))):
            work.step()


def dispatch(work: Work) -> None:
    """As the king: the event moves on and the task comes to be, in one commit."""
    bus = work.open()
    while True:
        bus.wait(["events"], 5)
        for claim in bus.claim("events", "king", 3):
            number = int(claim.id.removeprefix("evt-test-")) + 1
            bus.commit(
                [Move(claim, "completed", fields={"task_id": f"task-20260207-{number:03d}"})],
                [New("tasks", task(number, event_id=claim.id))],
            )
            work.step()


def execute(work: Work) -> None:
    """As a general: the task is completed and its result comes to be, in one commit."""
    bus = work.open()
    while True:
        bus.wait(["tasks"], 5)
        for claim in bus.claim("tasks", "gen-pr", 3):
            number = int(claim.id.removeprefix("task-20260207-"))
            bus.commit([Move(claim, "completed")], [New("results", result(number))])
            work.step()


class Crowd:
    """Processes that are started again whenever they die."""

    def __init__(self, work: Work, jobs: list[Callable[[Work], None]]) -> None:
        self.work = work
        self.running: dict[int, Callable[[Work], None]] = {}
        for job in jobs:
            self.start(job)

    def start(self, job: Callable[[Work], None]) -> None:
        child = os.fork()
        if child == 0:
            try:
                job(self.work)
            finally:
                os._exit(0)
        self.running[child] = job

    def kill(self, pid: int) -> Callable[[Work], None]:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        return self.running.pop(pid)

    def disperse(self) -> None:
        for pid in list(self.running):
            self.kill(pid)


def progress(descriptor: int) -> int:
    """Wait until something was committed; answers how many steps."""
    ready, _, _ = select.select([descriptor], [], [], PATIENCE)
    assert ready, f"nothing moved for {PATIENCE} seconds"
    return len(os.read(descriptor, 65536))


def run(base: BaseDir, total: int, kills: int, seed: int) -> None:
    luck = random.Random(seed)
    reading, writing = os.pipe()
    work = Work(base, total, writing)
    crowd = Crowd(work, [produce, produce, dispatch, dispatch, execute, execute])
    try:
        for _ in range(kills):
            wanted = luck.randint(1, 40)
            while wanted > 0:
                wanted -= progress(reading)
                if is_done(base, total):
                    return
            crowd.start(crowd.kill(luck.choice(sorted(crowd.running))))
        while not is_done(base, total):
            progress(reading)
    finally:
        crowd.disperse()
        os.close(reading)
        os.close(writing)


def is_done(base: BaseDir, total: int) -> bool:
    return len(os.listdir(base.path("state/results"))) - 1 >= total


def check(base: BaseDir, total: int) -> None:
    bus = FileBus(base)
    bus.recover()
    bus.stats()
    bus.close()
    check_directories(base)
    check_nothing_is_left_over(base)
    whole = {"events/completed": total, "tasks/completed": total, "results": total}
    assert counts(base) == whole


@pytest.mark.parametrize("seed", [1, 2])
def test_killed_at_random_nothing_is_lost_or_doubled(base: BaseDir, seed: int) -> None:
    run(base, total=400, kills=25, seed=seed)
    check(base, 400)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(10, 16))
def test_thousands_of_messages_and_hundreds_of_kills(tmp_path: Path, seed: int) -> None:
    run(BaseDir(tmp_path), total=4000, kills=300, seed=seed)
    check(BaseDir(tmp_path), 4000)
