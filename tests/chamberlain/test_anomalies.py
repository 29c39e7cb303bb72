"""What the events log shows to be wrong: told once, and once when it is over."""

from __future__ import annotations

import json
import os
from datetime import timedelta
from pathlib import Path

import pytest

from kingdom.chamberlain.duty import Office
from kingdom.chamberlain.reading import ReadEvents
from kingdom.store.paths import BaseDir
from tests.support.event_lines import append, completed, detected, failed, line, timeout
from tests.support.household import office_in, said
from tests.support.kingdom import MovableClock

MINUTE = 60.0


class Life:
    """A chamberlain that can be restarted between two looks."""

    def __init__(self, base: BaseDir, clock: MovableClock, restarts: bool) -> None:
        self.base, self.clock, self.restarts = base, clock, restarts
        self.burdens: dict[str, object] = {}
        self._duty: ReadEvents | None = None
        self._began: Office | None = None

    def look(self, office: Office | None = None) -> list[str]:
        if self.restarts:
            with office_in(self.base, self.clock) as fresh:
                self._step(ReadEvents(fresh), fresh, begins=True)
        else:
            if self._duty is None:
                assert office is not None
                self._duty, self._began = ReadEvents(office), office
                self._duty.start()
            assert self._began is not None
            self._step(self._duty, self._began, begins=False)
        return said(self.base)

    def _step(self, duty: ReadEvents, office: Office, *, begins: bool) -> None:
        if begins:
            duty.start()
        duty.step()
        self.burdens = dict(office.board.burdens)


@pytest.fixture(params=[False, True], ids=["in one life", "restarted each time"])
def life(
    base: BaseDir, clock: MovableClock, office: Office, request: pytest.FixtureRequest
) -> Life:
    made = Life(base, clock, request.param)
    if not request.param:
        made.look(office)
    return made


def test_three_failures_in_a_row_of_one_general(
    base: BaseDir, clock: MovableClock, life: Life
) -> None:
    append(base, failed("gen-pr"), failed("gen-jira"), failed("gen-pr"))
    assert life.look() == []
    append(base, failed("gen-pr", error="No such branch."))
    (told,) = life.look()
    assert told.startswith(
        "gen-pr has failed 3 times in a row. The last time: No such branch. See:"
    )
    append(base, failed("gen-pr"), completed("gen-jira"))
    assert life.look() == [told]
    append(base, completed("gen-pr"))
    assert life.look() == [told, "gen-pr has completed a task again."]
    append(base, failed("gen-pr"), failed("gen-pr"))
    assert len(life.look()) == 2


def test_a_success_in_between_is_no_row(base: BaseDir, clock: MovableClock, life: Life) -> None:
    append(base, failed(), failed(), completed(), failed(), failed())
    assert life.look() == []


def test_what_came_and_went_between_two_looks_is_only_reported(
    base: BaseDir, clock: MovableClock, life: Life
) -> None:
    append(base, failed(at=1), failed(at=2), failed(at=3), completed(at=4))
    assert life.look() == []
    kept = json.loads(Path(base.path("state/chamberlain/ledger.json")).read_text())
    (found,) = kept["windows"]["found"]
    assert found["kind"] == "failures"
    assert found["until"] is not None


def test_five_timeouts_in_an_hour_weigh_on_health_while_they_last(
    base: BaseDir, clock: MovableClock, life: Life
) -> None:
    for _ in range(4):
        append(base, timeout(clock.now()))
        assert life.look() == []
        clock.advance(10 * MINUTE)
    append(base, timeout(clock.now()))
    (told,) = life.look()
    assert "5 soldiers ran out of time within an hour" in told
    assert life.burdens == {"timeouts": ("yellow", "soldier.timeout: 5")}
    clock.advance(19 * MINUTE)
    assert life.look() == [told]
    assert life.burdens
    clock.advance(2 * MINUTE)
    assert life.look() == [told, "Soldiers have stopped running out of time."]
    assert life.burdens == {}


def test_timeouts_further_apart_are_none_of_our_business(
    base: BaseDir, clock: MovableClock, life: Life
) -> None:
    for _ in range(8):
        append(base, timeout(clock.now()))
        assert life.look() == []
        clock.advance(16 * MINUTE)


def test_a_clock_that_was_a_year_ahead_holds_no_window_open(
    base: BaseDir, clock: MovableClock, life: Life
) -> None:
    append(base, *[timeout(365 * 86400.0)] * 5)
    assert len(life.look()) == 1
    clock.advance(61 * MINUTE)
    assert len(life.look()) == 2


def pending(base: BaseDir, event: str) -> Path:
    path = Path(base.path("queue/events/pending", f"{event}.json"))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("{}")
    return path


def beat(base: BaseDir, clock: MovableClock) -> None:
    path = Path(base.path("state/king/heartbeat"))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    os.utime(path, (clock.now().timestamp(),) * 2)


@pytest.mark.parametrize("king", ["alive", "silent", "absent"])
def test_an_event_that_nobody_takes_up_makes_us_look_at_the_king(
    base: BaseDir, clock: MovableClock, life: Life, king: str
) -> None:
    waits = pending(base, "evt-1")
    append(base, detected("evt-1", clock.now()))
    if king == "silent":
        beat(base, clock)
    clock.advance(29 * MINUTE)
    assert life.look() == []
    clock.advance(2 * MINUTE)
    if king == "alive":
        beat(base, clock)
    (told,) = life.look()
    assert {
        "alive": "though it is alive",
        "silent": "shows no sign of life",
        "absent": "no king runs here",
    }[king] in told
    assert "evt-1" in told
    assert life.look() == [told]
    append(base, line("event.dispatched", "king", clock.now(), event_id="evt-1",
                      task_id="task-1", target_general="gen-pr"))  # fmt: skip
    waits.unlink()
    assert life.look() == [told, "No event waits for the king any more."]


@pytest.mark.parametrize("end", ["event.dispatched", "event.discarded", "event.superseded"])
def test_an_event_that_was_seen_to_is_not_waited_for(
    base: BaseDir, clock: MovableClock, life: Life, end: str
) -> None:
    pending(base, "evt-1")
    append(base, detected("evt-1", clock.now()), line(end, "king", event_id="evt-1"))
    clock.advance(60 * MINUTE)
    assert life.look() == []


def test_one_that_is_not_pending_was_seen_to_though_no_line_says_so(
    base: BaseDir, clock: MovableClock, life: Life
) -> None:
    append(base, detected("evt-1", clock.now()), detected("../../x", clock.now()))
    clock.advance(60 * MINUTE)
    assert life.look() == []


def test_one_that_has_to_wait_says_why(base: BaseDir, clock: MovableClock, life: Life) -> None:
    waits = pending(base, "evt-1")
    reason = "All soldiers are at work (3)."
    append(base, detected("evt-1", clock.now()))
    append(base, line("event.deferred", "king", event_id="evt-1", event_type="x", reason=reason))
    clock.advance(31 * MINUTE)
    (told,) = life.look()
    assert told.startswith(f"evt-1 has been waiting for 30 minutes (1 such): {reason}")
    waits.unlink()
    assert life.look()[1:] == ["No event has to wait that long any more."]


def test_what_a_clock_a_year_ahead_has_noted_burdens_nobody_for_a_year(
    life: Life, clock: MovableClock
) -> None:
    right = clock.now()
    clock.set_wall(right + timedelta(days=365))
    append(life.base, *(timeout(clock.now()) for _ in range(5)), detected("evt-1", clock.now()))
    pending(life.base, "evt-1")
    assert len(life.look()) == 1
    assert "timeouts" in life.burdens
    clock.set_wall(right + timedelta(minutes=1))
    assert "timeouts" not in (life.look() and life.burdens)
    assert len(said(life.base)) == 2, "it is over"
    append(life.base, *(timeout(clock.now()) for _ in range(4)))
    life.look()
    assert "timeouts" not in life.burdens, "those of the year ahead are not counted"
    append(life.base, timeout(clock.now()))
    life.look()
    assert "timeouts" in life.burdens
    clock.advance(31 * MINUTE)
    assert any("evt-1" in one for one in life.look()), "it has waited for half an hour by now"
