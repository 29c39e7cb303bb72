"""One thing that cannot be handled is set aside and told, and a role goes on."""

from __future__ import annotations

import errno
import io
import shutil
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from kingdom.bus.port import Problem
from kingdom.cli.status import facts
from kingdom.errors import LeaseLost, NeverWorks, TryLater
from kingdom.ops.doctor import place
from kingdom.ops.doctor.finding import Patient
from kingdom.ops.init import init
from kingdom.ops.status import status
from kingdom.runtime.faults import Faults
from kingdom.runtime.logging import configure, get_logger
from kingdom.runtime.processes import WARDEN, Seat, roles_file
from kingdom.runtime.role import may_pass
from kingdom.settings.loading import Settings
from kingdom.store.paths import BaseDir
from kingdom.store.state import write_json
from tests.support.kingdom import MovableClock

pytestmark = pytest.mark.breaks


@pytest.fixture
def faults(base: BaseDir, clock: MovableClock) -> Faults:
    init(base)
    configure("king", base, environment={}, stream=io.StringIO(), clock=clock)
    made = Faults(base, "king", clock, get_logger(), may_pass)
    with made.contained("something"):
        raise ValueError
    return made


def logged(base: BaseDir) -> int:
    return Path(base.system_log).read_text().count("handling.failed")


@pytest.mark.parametrize(
    "error", [ValueError("\ud800"), NeverWorks("No."), OSError(errno.EISDIR, "x"), RecursionError()]
)
def test_whatever_would_come_again_is_contained_and_logged_once(
    base: BaseDir, faults: Faults, error: Exception
) -> None:
    before = logged(base)
    aside: list[Problem] = []
    for _ in range(3):
        with faults.contained("events/evt-1", aside.append):
            raise error
    assert {one.code for one in aside} == {"handling_failed"}
    assert "kingdom logs king" in aside[0].message
    assert logged(base) == before + 1


@pytest.mark.parametrize("error", [TryLater("Later."), OSError(errno.ENOSPC, "x"), LeaseLost("x")])
def test_what_may_pass_is_left_to_the_loop(faults: Faults, error: Exception) -> None:
    with pytest.raises(type(error)), faults.contained("events/evt-1"):
        raise error


def test_what_cannot_be_set_aside_stays_and_stops_nobody(base: BaseDir, faults: Faults) -> None:
    def refuse(problem: Problem) -> None:
        raise KeyError

    def is_gone(problem: Problem) -> None:
        raise LeaseLost("It has moved on.")

    for set_aside in (refuse, is_gone):
        with faults.contained("events/evt-1", set_aside):
            raise ValueError
    with suppress(TryLater), faults.contained("events/evt-2", set_aside_later):
        raise ValueError
    assert "setting aside events/evt-1" in Path(base.system_log).read_text()


def set_aside_later(problem: Problem) -> None:
    raise TryLater("The disk is full.")


def test_a_file_that_cannot_be_written_stops_nobody(base: BaseDir, faults: Faults) -> None:
    shutil.rmtree(base.path("state", "king"))
    with faults.contained("events/evt-1"):
        raise ValueError


def found_by_doctor(base: BaseDir) -> list[tuple[str, str, str]]:
    findings = place.roles(Patient({}, base, Settings()))
    return [(one.state, one.what, one.sentence) for one in findings]


def test_status_and_doctor_say_it_while_the_role_runs(
    base: BaseDir, clock: MovableClock, faults: Faults
) -> None:
    for number in range(30):
        with faults.contained(f"events/evt-{number}\n"):
            raise ValueError
    with closing(Seat(base, "king").take()):
        found = status(base, {}, clock)
        assert len(found["failed"]) == 20
        lines = [one for one in facts(found) if one.startswith("failed")]
        assert lines[4] == (
            r"failed     king could not handle events/evt-29\u000a (ValueError): kingdom logs king"
        )
        assert lines[5] == "failed     15 more; see: kingdom doctor"
        said = found_by_doctor(base)
        assert said[0][:2] == ("warning", "king")
        assert "(ValueError, 2026-02-07T10:00:00.000Z)" in said[0][2]
        assert len(said) == 20
    assert status(base, {}, clock)["failed"] == [], "it is down"
    faults.begin()
    assert not Path(base.path("state", "king", "faults.json")).exists()


def test_doctor_says_which_roles_are_down(base: BaseDir, faults: Faults) -> None:
    kept: dict[str, Any] = {"pid": None, "crash_loop": True, "last_end": "exit code 1"}
    with closing(Seat(base, WARDEN).take()):
        assert found_by_doctor(base)[0][0] == "ok"
        roles = {"king": kept, "envoy": kept | {"crash_loop": False}, "odd": 5}
        write_json(roles_file(base), {"only": [], "roles": roles})
        assert found_by_doctor(base) == [
            ("problem", "king", "It dies again and again (exit code 1)."),
            ("warning", "envoy", "It is down: exit code 1."),
        ]
