"""Slow things done beside a role's loop."""

from __future__ import annotations

import os
import select
import threading
from collections.abc import Iterator
from contextlib import suppress

import pytest

from kingdom.runtime.errands import Answer, Errands
from tests.support.waiting import eventually


@pytest.fixture
def errands() -> Iterator[Errands]:
    made = Errands("test", hands=2)
    yield made
    made.close()


def heard(errands: Errands, count: int) -> list[Answer]:
    found: list[Answer] = []
    while len(found) < count:
        assert select.select([errands], [], [], 10)[0], "no errand was answered within 10 s"
        found += errands.answers()
    return found


def test_whoever_asked_hears_what_came_of_it(errands: Errands) -> None:
    errands.ask("sum", lambda: 1 + 1)
    assert heard(errands, 1) == [Answer("sum", 2)]
    assert errands.answers() == []
    assert not select.select([errands], [], [], 0)[0]


def test_a_failure_is_the_askers_and_the_next_errand_is_done(errands: Errands) -> None:
    errands.ask("bad", lambda: 1 // 0)
    errands.ask("good", lambda: "done")
    answers = {one.key: one for one in heard(errands, 2)}
    assert isinstance(answers["bad"].failure, ZeroDivisionError)
    assert answers["good"].value == "done"


def test_a_slow_errand_does_not_hold_up_another(errands: Errands) -> None:
    gate = threading.Event()
    errands.ask("slow", lambda: gate.wait(10))
    errands.ask("quick", lambda: "done")
    assert heard(errands, 1) == [Answer("quick", "done")]
    gate.set()
    assert heard(errands, 1) == [Answer("slow", True)]


def test_more_errands_than_the_pipe_holds_bytes_are_all_answered(errands: Errands) -> None:
    count = 70_000
    for number in range(count):
        errands.ask(str(number), int)
    assert len(heard(errands, count)) == count


def held_open() -> set[str]:
    """What this process has open, by the kernel's own name for it, and by no number used again."""
    found = set()
    for number in os.listdir("/proc/self/fd"):
        with suppress(FileNotFoundError):  # the listing's own, and what others close meanwhile
            found.add(os.readlink(f"/proc/self/fd/{number}"))
    return found


def test_nothing_stays_open_after_its_end() -> None:
    pipes = set()
    for asked in range(8):
        errands = Errands("test", hands=2)
        pipe = os.readlink(f"/proc/self/fd/{errands.fileno()}")
        assert pipe in held_open()
        pipes.add(pipe)
        for one in range(asked % 3):
            errands.ask(str(one), lambda: None)
        errands.close()
    eventually(lambda: not pipes & held_open(), "all pipes are closed")
