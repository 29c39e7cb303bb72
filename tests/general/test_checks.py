"""Checks of a success: their time is their own, and they are seen while they run."""

from __future__ import annotations

from pathlib import Path

from tests.support.barracks import Barracks
from tests.support.soldiers import REPORT, WAIT, go


def test_a_long_check_costs_the_soldier_nothing(barracks: Barracks) -> None:
    barracks.command(REPORT)
    check = WAIT.strip().replace("\n", " ")
    barracks.package(timeout_seconds=30, limits={"no_progress_seconds": 10}, verify=["true", check])
    (id_,) = barracks.publish()
    with barracks.general() as life:

        def is_shown() -> bool:
            barracks.clock.shift(0.1)  # as far as the general looks again
            return any(str(one.get("doing")).startswith("verify: while") for one in sessions())

        sessions = barracks.sessions
        life.until(is_shown, "which check runs")
        for _ in range(5):
            barracks.clock.shift(100)
            life.turn()
        assert barracks.states() == ["running"]
        go(barracks)
        result = life.result_of(id_)
    assert (result["status"], result.get("error_code")) == ("success", None)
    assert barracks.leftovers() == []


def test_a_check_that_takes_too_long_has_failed_and_is_named(barracks: Barracks) -> None:
    barracks.command(REPORT)
    barracks.package(verify=["echo slowly; sleep 1000"], verify_timeout_seconds=0.3)
    (id_,) = barracks.publish()
    with barracks.general() as life:
        result = life.result_of(id_)
    assert (result["status"], result["error_code"]) == ("failed", "verification_failed")
    first, *quoted = result["error"].split("\n")
    assert "'echo slowly; sleep 1000' had not ended after 0.3 s" in first
    assert "verify_timeout_seconds" in first
    assert {*quoted} <= {"slowly", "Terminated"}  # if it came so far; the other is the shell's
    assert barracks.processes(result["metrics"]["soldier_id"]) == set()


def test_a_wrapper_that_hangs_over_its_checks_is_ended(barracks: Barracks) -> None:
    barracks.command(REPORT)
    barracks.package(verify=["touch up; sleep 1000"], verify_timeout_seconds=100)
    (id_,) = barracks.publish()
    with barracks.general() as life:
        up = Path(barracks.workspace(id_), "up")
        life.until(up.exists, "the check runs")
        barracks.clock.shift(300)  # which its wrapper does not see
        result = life.result_of(id_)
    assert result["error_code"] == "soldier_killed"
    assert barracks.leftovers() == []
