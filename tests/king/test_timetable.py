"""Schedules fire each slot once, whatever happens to the king in between."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from kingdom.errors import TryLater
from kingdom.models.result import Failed
from tests.support.calls import observed
from tests.support.court import Court
from tests.support.full_disk import Refusing
from tests.support.kingdom import counts, event, result

HOURLY = """\
schedules:
  - {name: hourly, cron: 0 * * * *, task_type: test.missing, repo: acme/api, payload: {depth: 2}}
"""


def schedule(court: Court, more: str = HOURLY) -> None:
    court.general("gen-test", more=more)


def slots(court: Court) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(
        Path(court.base.path("state/king/schedule-sent.json")).read_text()
    )
    return loaded


@pytest.fixture
def hourly(court: Court) -> Court:
    court.soldiers(50)
    schedule(court)
    return court


def test_a_schedule_makes_a_task_when_its_time_comes(hourly: Court) -> None:
    king = hourly.king()
    king.step()
    assert hourly.all("tasks") == [], "a slot from before it was first seen"
    hourly.clock.advance(3599)
    assert king.step() == 1.0
    assert hourly.all("tasks") == []
    hourly.clock.advance(1)
    king.step()
    (task,) = hourly.all("tasks")
    assert (task["event_id"], task["type"]) == ("schedule-hourly", "test.missing")
    assert (task["target_general"], task["repo"]) == ("gen-test", "acme/api")
    assert (task["payload"], task["trust"]) == ({"depth": 2}, "member")
    assert task["trace_id"]
    (start,) = hourly.all("messages")
    assert (start["type"], start["task_id"], start["trace_id"]) == (
        "thread_start",
        task["id"],
        task["trace_id"],
    )
    assert slots(hourly)["hourly"]["slot"] == "2026-02-07T11:00:00.000Z"
    assert slots(hourly)["hourly"]["task_id"] == task["id"]
    assert hourly.told("task.created")[0]["data"]["event_type"] == "test.missing"


def test_each_slot_once_across_restarts(hourly: Court) -> None:
    for _ in range(3):
        king = hourly.king()
        for _ in range(4):
            king.step()
            hourly.clock.advance(900)
        king.step()
        king.step()
    assert len(hourly.all("tasks")) == 3


def test_a_schedule_that_keeps_failing_runs_once_a_day_until_it_works(hourly: Court) -> None:
    king, made = hourly.king(), list[tuple[int, str]]()
    for hour in range(48):
        hourly.clock.advance(3600)
        if hour == 10:
            king = hourly.king()
        king.step()
        for id_ in sorted({one["id"] for one in hourly.all("tasks")} - {one for _, one in made}):
            made.append((hour, id_))
            hourly.report(Failed(task_id=id_, summary="", error="no", error_code="no_result"))
            king.step()
    assert [hour for hour, _ in made] == [0, 1, 2, 22, 42]
    told = [one for one in hourly.all("messages") if one["id"].startswith("msg-limit-")]
    assert len(told) <= 3, "once a day"
    assert told[0]["content"].startswith("gen-test has failed ")
    assert "times in a row on schedule-hourly, so it runs once a day" in told[0]["content"]
    retry = {"command": "retry", "task_id": made[-1][1]}
    hourly.send(event(type="kingdom.command", source="cli", payload=retry))
    king.step()
    hourly.report(result(task_id=hourly.all("tasks")[-1]["id"]))
    king.step()
    before = len(hourly.all("tasks"))
    hourly.clock.advance(3600)
    king.step()
    assert len(hourly.all("tasks")) == before + 1


def test_its_result_has_no_event_to_end(hourly: Court) -> None:
    king = hourly.king()
    hourly.clock.advance(3600)
    king.step()
    hourly.report(result(1))
    king.step()
    assert counts(hourly.base) == {"tasks/completed": 1, "messages/pending": 2, "results": 1}


def test_slots_missed_in_downtime_are_caught_up_once(hourly: Court) -> None:
    hourly.king().step()
    hourly.clock.advance(3 * 3600 + 60)
    king = hourly.king()
    for _ in range(3):
        king.step()
    assert len(hourly.all("tasks")) == 3
    hourly.king().step()
    assert len(hourly.all("tasks")) == 3


def test_no_more_than_ten_and_none_older_than_a_day_and_the_log_says_so(hourly: Court) -> None:
    hourly.king().step()
    hourly.clock.advance(100 * 3600)
    king = hourly.king()
    king.step()
    king.step()
    assert len(hourly.all("tasks")) == 10
    assert slots(hourly)["hourly"]["slot"] == "2026-02-11T14:00:00.000Z"
    log = Path(hourly.base.system_log).read_text()
    assert log.count("schedule.slots_left_out") == 1
    hourly.clock.advance(3600)
    king.step()
    assert len(hourly.all("tasks")) == 11


def test_it_follows_the_zone_of_the_kingdom(court: Court) -> None:
    court.configure(
        system="timezone: Europe/Berlin\nruntime: {engine: command, command: {argv: [agent]}}\n"
    )
    court.soldiers(50)
    schedule(court, "schedules: [{name: night, cron: 30 2 * * *, task_type: night}]\n")
    court.clock.set_wall(datetime(2026, 3, 28, 12, tzinfo=UTC))
    court.king().step()
    court.clock.set_wall(datetime(2026, 3, 29, 0, 59, tzinfo=UTC))
    king = court.king()
    king.step()
    assert court.all("tasks") == []
    court.clock.set_wall(datetime(2026, 3, 29, 1, 0, tzinfo=UTC))  # 2:30 did not exist
    king.step()
    assert len(court.all("tasks")) == 1
    court.clock.set_wall(datetime(2026, 10, 25, 0, 0, tzinfo=UTC))
    king = court.king()
    king.step()
    before = len(court.all("tasks"))
    for hour, minute in ((0, 30), (1, 30), (1, 59)):  # 2:30 twice
        court.clock.set_wall(datetime(2026, 10, 25, hour, minute, tzinfo=UTC))
        king.step()
    assert len(court.all("tasks")) == before + 1


def test_a_clock_put_back_fires_nothing_twice(hourly: Court) -> None:
    king = hourly.king()
    hourly.clock.advance(3600)
    king.step()
    hourly.clock.set_wall(datetime(2026, 2, 7, 10, 30, tzinfo=UTC))
    hourly.king().step()
    hourly.clock.set_wall(datetime(2026, 2, 7, 11, 0, tzinfo=UTC))
    king = hourly.king()
    king.step()
    assert len(hourly.all("tasks")) == 1
    hourly.clock.advance(3600)
    king.step()
    assert len(hourly.all("tasks")) == 2


@pytest.mark.parametrize("anew", [False, True])
@pytest.mark.parametrize(
    ("cron", "ahead", "first", "is_fired"),  # hours from now on: a slot served early, and the next
    [
        ("* * * * *", 1 / 60, 1 / 60, False),
        ("* * * * *", 1 / 6, 1 / 60, True),
        ("* * * * *", 24 * 365, 1 / 60, True),
        ("0 * * * *", 1, 1, False),
        ("0 * * * *", 3, 1, True),
        ("0 12 * * *", 2, 2, False),
        ("0 14 * * *", 4, 4, True),
        ("0 14 * * *", 24 * 365 * 10 + 4, 4, True),
    ],
)
def test_a_slot_served_by_a_clock_that_was_ahead_counts_only_if_it_is_the_next_and_soon(
    court: Court, cron: str, ahead: float, first: float, is_fired: bool, anew: bool
) -> None:
    court.soldiers(50)
    schedule(court, f"schedules:\n  - {{name: one, cron: '{cron}', task_type: test.missing}}\n")
    king = court.king()
    king.step()
    court.clock.set_wall(court.start + timedelta(hours=ahead))
    king.step()
    before = len(court.all("tasks"))
    assert before >= 1
    court.clock.set_wall(court.start)
    king = court.king() if anew else king
    king.step()
    court.clock.set_wall(court.start + timedelta(hours=first))
    king.step()
    assert len(court.all("tasks")) - before == is_fired


def test_work_that_is_not_let_in_waits_with_its_slot(hourly: Court) -> None:
    hourly.soldiers(1)
    king = hourly.king()
    hourly.clock.advance(2 * 3600)
    king.step()
    king.step()
    assert len(hourly.all("tasks")) == 1
    assert king.step() == 10.0, "no busy waiting for the gate"
    hourly.report(result(1))
    king.step()
    assert len(hourly.all("tasks")) == 2
    log = Path(hourly.base.system_log).read_text()
    assert log.count("schedule.deferred") == 1


def test_a_schedule_that_is_new_or_changed_begins_with_its_next_slot(hourly: Court) -> None:
    king = hourly.king()
    hourly.clock.advance(1800)
    schedule(hourly, HOURLY.replace("0 * * * *", "'*/10 * * * *'"))
    king.step()
    assert hourly.all("tasks") == []
    hourly.clock.advance(600)
    king.step()
    assert len(hourly.all("tasks")) == 1
    schedule(hourly, "")
    hourly.clock.advance(7200)
    king.step()
    assert slots(hourly) == {}
    schedule(hourly)
    hourly.clock.advance(60)
    king.step()
    assert len(hourly.all("tasks")) == 1


@pytest.mark.parametrize(
    "content",
    ["", "[]", '{"hourly": 3}', '{"hourly": {"cron": "0 * * * *", "slot": "soon"}}',
     '{"hourly": {"cron": "0 * * * *", "slot": "2026-02-07T09:00:00"}}',
     '{"hourly": {"slot": 7, "cron": 8}}',
     '{"hourly": {"cron": "0 * * * *", "slot": "2026-02-07T10:00:00Z", "published": false}}'],
)  # fmt: skip
def test_a_damaged_record_is_a_schedule_seen_for_the_first_time(
    hourly: Court, content: str
) -> None:
    os.makedirs(hourly.base.path("state/king"), exist_ok=True)
    Path(hourly.base.path("state/king/schedule-sent.json")).write_text(content)
    king = hourly.king()
    king.step()
    assert hourly.all("tasks") == []
    hourly.clock.advance(3600)
    king.step()
    assert len(hourly.all("tasks")) == 1


def test_a_full_disk_between_record_and_task_loses_no_slot(hourly: Court) -> None:
    """Each write of the step fails once; afterwards every slot was served once."""
    king = hourly.king()
    failed = 0
    for turn in range(1, 40):
        hourly.clock.advance(3600)
        with observed(Refusing(turn)):
            try:
                king.step()
            except (TryLater, OSError):
                failed += 1
        king.step()
        assert len(hourly.all("tasks")) == turn, f"after call {turn}"
        assert len(hourly.all("messages")) == turn
    assert failed > 5
