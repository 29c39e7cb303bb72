"""A disk that fills up under a general, and a general killed at any of its calls to the disk."""

from __future__ import annotations

import errno
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kingdom.errors import TryLater
from kingdom.store.paths import BaseDir
from tests.support.barracks import Barracks
from tests.support.calls import CHANGE_NOTHING, Killer, in_child, observed
from tests.support.kingdom import counts
from tests.support.soldiers import ALONE, REPORT, WAIT_FOR_GO, check_run_alone, go, ran
from tests.support.waiting import eventually

WRITES = {"write", "pwrite", "mkdir", "link", "rename", "replace", "ftruncate"}


class FullDisk:
    """Refuses whatever needs room, while it is full."""

    def __init__(self) -> None:
        self.is_full = True
        self.refused = 0

    def __call__(self, name: str, arguments: tuple[Any, ...], call: Callable[[], Any]) -> Any:
        makes = name == "open" and arguments[1] & os.O_CREAT
        if self.is_full and (name in WRITES or makes):
            self.refused += 1
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), arguments[0])
        return call()


@pytest.mark.parametrize("moment", ["before it begins", "while it runs"])
def test_a_full_disk_costs_time_and_nothing_else(barracks: Barracks, moment: str) -> None:
    barracks.command(ALONE + WAIT_FOR_GO)
    barracks.package()
    (id_,) = barracks.publish()
    disk = FullDisk()
    with barracks.general() as life:
        if moment == "while it runs":
            life.until(lambda: ran(barracks, id_) and barracks.sessions(), "a soldier")
        go(barracks)
        with observed(disk):
            eventually(
                lambda: disk.refused > 3, "the disk refused", meanwhile=_patiently(life.turn)
            )
            assert barracks.result(id_) is None
            disk.is_full = False
        result = life.result_of(id_)
        life.until(lambda: barracks.sessions() == [], "nobody is registered")
    assert (result["status"], result["metrics"]["attempts"]) == ("success", 1)
    assert ran(barracks, id_) == [result["metrics"]["soldier_id"]]


def _patiently(turn: Callable[[], None]) -> Callable[[float], None]:
    """As the loop of a role does it: what may work another time is tried another time."""

    def patient(_: float) -> None:
        try:
            turn()
        except TryLater:
            return
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise

    return patient


def live_until_killed(barracks: Barracks, id_: str, point: int) -> int:
    """One life that ends at its n-th call to the disk; 0 if it came to its end."""

    def life() -> None:
        killer = Killer(point, after=False, passing_over=CHANGE_NOTHING)
        with observed(killer), barracks.general() as one:
            one.until(lambda: barracks.result(id_) and not barracks.sessions(), "all is done")

    return in_child(life)


def check_crash_at(base: BaseDir, point: int) -> bool:
    """Whether there was such a call."""
    barracks = Barracks(base)
    try:
        barracks.command(f"{ALONE}{REPORT}")
        barracks.package(verify=["true"])
        (id_,) = barracks.publish()
        killed = live_until_killed(barracks, id_, point) != 0
        with barracks.general() as life:
            result = life.result_of(id_)
            life.until(lambda: barracks.sessions() == [], "nobody is registered")
            life.until(lambda: barracks.leftovers() == [], "nothing is left")
        assert (result["status"], result["metrics"]["attempts"]) == ("success", 1), point
        assert ran(barracks, id_) == [result["metrics"]["soldier_id"]], point
        assert counts(base) == {"tasks/completed": 1, "results": 1}, point
        assert Path(base.results, f"{id_}-raw.json").exists(), point
        check_run_alone(barracks, id_)
        return killed
    finally:
        barracks.close()


def test_killed_at_some_calls_it_ends_in_one_result(scratch: Path) -> None:
    for number, point in enumerate(sorted(random.Random(5).sample(range(1, 75), 8))):
        check_crash_at(BaseDir(scratch / str(number)), point)


@pytest.mark.long
def test_killed_at_every_call_it_ends_in_one_result(scratch: Path) -> None:
    point = 1
    while check_crash_at(BaseDir(scratch / str(point)), point):
        point += 1
    assert point > 50
