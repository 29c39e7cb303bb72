"""Each line of the events log counts once, whatever becomes of its files and of whoever reads."""

from __future__ import annotations

import json
import os
import random
import shutil
import tracemalloc
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from kingdom.chamberlain import reading
from kingdom.chamberlain.duty import Office
from kingdom.chamberlain.reading import ReadEvents
from kingdom.store.paths import BaseDir
from tests.support.calls import CHANGE_NOTHING, Killer, in_child, observed
from tests.support.event_lines import append, completed, failed, line
from tests.support.household import office_in
from tests.support.kingdom import START, MovableClock


def read_all(office: Office) -> ReadEvents:
    """By a chamberlain that just began."""
    duty = ReadEvents(office)
    duty.start()
    while duty.step() == 0.0:
        pass
    return duty


def ledger(base: BaseDir) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path(base.path("state/chamberlain/ledger.json")).read_text())
    return found


def analysis(base: BaseDir, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path(base.path("logs/analysis", name)).read_text())
    return found


def lines_read(base: BaseDir) -> int:
    return int(ledger(base)["lines"])


def test_totals_durations_and_days(base: BaseDir, office: Office) -> None:
    for number in range(100):
        append(base, completed("gen-pr", seconds=number + 1.0))
    append(base, completed("gen-jira", START - timedelta(days=1), 7.0), failed("gen-jira"))
    read_all(office)
    stats = analysis(base, "stats.json")
    assert stats["totals"] == {"task.completed": 101, "task.failed": 1}
    found = stats["generals"]["gen-pr"]["duration_seconds"]
    assert (found["count"], found["mean"], found["max"]) == (100, 50.5, 100.0)
    assert found["p50"] == pytest.approx(50, rel=0.03)
    assert found["p95"] == pytest.approx(95, rel=0.03)
    assert stats["generals"]["gen-jira"]["tasks"]["failed"] == 1
    assert stats["days"]["2026-02-06"]["totals"] == {"task.completed": 1}
    assert stats["days"]["2026-02-07"]["generals"]["gen-pr"]["tasks"]["completed"] == 100


def test_failures_come_by_class(base: BaseDir, office: Office) -> None:
    lost = "The soldier ended without writing a result. Exit code 3."
    append(base, failed("gen-pr", 1, lost), failed("gen-jira", 2, lost), failed("gen-pr", 3))
    append(base, line("task.retried", at=4, task_id="task-1", error=lost, retry_count=1))
    read_all(office)
    first, second = analysis(base, "failures.json")["classes"]
    assert (first["code"], first["failed"], first["retried"]) == ("no_result", 2, 1)
    assert first["sentence"] == "The soldier ended without writing a result."
    assert first["generals"] == {"gen-pr": 2, "gen-jira": 1}
    assert first["last_seen"] == "2026-02-07T10:00:04.000Z"
    assert (second["code"], second["last_error"]) == ("reported_failure", "It broke.")


def test_half_a_line_waits_for_its_other_half(base: BaseDir, office: Office) -> None:
    whole = completed()
    append(base, whole, whole[:40])
    duty = read_all(office)
    assert (lines_read(base), ledger(base)["damaged"]) == (1, 0)
    append(base, whole[40:])
    duty.step()
    assert (lines_read(base), ledger(base)["damaged"]) == (2, 0)


@pytest.mark.parametrize(
    "damage",
    [
        b"{",
        b"\xff\xfe\x00",
        b"[]",
        b'"text"',
        b"{}",
        b'{"ts": "2026-02-07T10:00:00Z", "type": "task.started"}',
        b'{"ts": 3, "type": "task.started", "actor": "king"}',
        b'{"ts": "soonZ", "type": "task.started", "actor": "king"}',
        b'{"ts": "", "type": "task.started", "actor": "king"}',
        b'{"ts": "2026-02-07T10:00:00Z", "type": ["a"], "actor": "king"}',
        b'{"ts": "2026-02-07T10:00:00Z", "type": "task.completed", "actor": "king", "data": 1}',
        b"[" * 100_000,
    ],
)
def test_a_damaged_line_is_counted_and_passed_over(
    base: BaseDir, office: Office, damage: bytes
) -> None:
    append(base, completed(), damage + b"\n", b"\n", completed())
    read_all(office)
    assert (lines_read(base), ledger(base)["damaged"]) == (2, 1)


def test_a_line_of_ten_megabytes_is_passed_over_in_little_memory(
    base: BaseDir, office: Office
) -> None:
    append(base, completed(), b'{"ts": "', b"9" * 10_000_000, b'"}\n', completed())
    tracemalloc.start()
    try:
        read_all(office)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (lines_read(base), ledger(base)["too_long"]) == (2, 1)
    assert most < 5_000_000


def test_a_long_line_still_being_written_is_passed_over_across_a_restart(
    base: BaseDir, clock: MovableClock
) -> None:
    append(base, completed(), b"x" * 3_000_000)
    with office_in(base, clock) as office:
        read_all(office)
    append(base, b"x" * 3_000_000 + b"\n", completed())
    with office_in(base, clock) as office:
        read_all(office)
    found = ledger(base)
    assert (found["lines"], found["too_long"], found["damaged"]) == (2, 1, 0)


@pytest.mark.parametrize("name", ["events-20260206.log", "events.log.old", "events-20260206-2.log"])
def test_what_was_left_of_a_rotated_file_is_read_first(
    base: BaseDir, office: Office, name: str
) -> None:
    append(base, completed(), failed())
    duty = read_all(office)
    append(base, failed())
    os.rename(base.events_log, base.path("logs", name))
    append(base, failed(), completed())
    duty.step()
    assert analysis(base, "stats.json")["totals"] == {"task.completed": 2, "task.failed": 3}
    assert ledger(base)["windows"]["found"][0]["kind"] == "failures"  # three came in their order


def test_several_rotations_while_nobody_read(base: BaseDir, clock: MovableClock) -> None:
    with office_in(base, clock) as office:
        append(base, completed())
        read_all(office)
        for day in range(5):
            append(base, *[completed(at=day)] * 7)
            os.rename(base.events_log, base.path("logs", f"events-2026020{day}.log"))
        append(base, completed(at=9))
    with office_in(base, clock) as office:
        read_all(office)
        assert lines_read(base) == 1 + 5 * 7 + 1
        with Path(base.path("logs/events-20260204.log")).open("ab") as late:
            late.write(completed(at=10))
        read_all(office)
        assert lines_read(base) == 1 + 5 * 7 + 2


def test_a_log_that_was_cut_begins_anew(base: BaseDir, office: Office) -> None:
    append(base, *[completed()] * 5)
    duty = read_all(office)
    os.truncate(base.events_log, 0)
    append(base, failed())
    duty.step()
    assert (lines_read(base), ledger(base)["restarted"]) == (6, 1)


def test_a_log_that_was_cut_and_has_grown_longer_since_begins_anew(
    base: BaseDir, office: Office
) -> None:
    append(base, *[completed()] * 5)
    duty = read_all(office)
    os.truncate(base.events_log, 0)
    append(base, *[failed(at=1)] * 20)
    duty.step()
    assert lines_read(base) == 25


def test_copied_and_cut_loses_nothing(base: BaseDir, office: Office) -> None:
    append(base, *[completed(at=number) for number in range(50)])
    duty = read_all(office)
    append(base, *[completed(at=number) for number in range(50, 60)])
    shutil.copy(base.events_log, base.path("logs/events.log.1"))
    os.truncate(base.events_log, 0)
    append(base, failed(at=99))
    duty.step()
    assert lines_read(base) == 61


def test_a_copy_is_not_read_twice(base: BaseDir, office: Office) -> None:
    append(base, *[completed(at=number) for number in range(50)])
    duty = read_all(office)
    append(base, *[completed(at=number) for number in range(50, 60)])
    shutil.copy(base.events_log, base.path("logs/events-backup.log"))
    duty.step()
    assert (lines_read(base), ledger(base)["copies"]) == (60, 1)


@pytest.mark.parametrize("name", ["events.log.bak", "events-copy.log"])
@pytest.mark.parametrize("is_known", [True, False])
def test_a_copy_of_a_few_lines_is_not_read_twice(
    base: BaseDir, office: Office, name: str, is_known: bool
) -> None:
    append(base, *[completed(at=number) for number in range(3)])
    if is_known:
        read_all(office)
    shutil.copy(base.events_log, base.path("logs", name))
    append(base, failed(at=99))
    read_all(office)
    assert (lines_read(base), ledger(base)["copies"]) == (4, 1)


def test_a_restored_log_is_known_again(base: BaseDir, clock: MovableClock) -> None:
    append(base, *[completed(at=number) for number in range(50)])
    with office_in(base, clock) as office:
        read_all(office)
    shutil.copy(base.events_log, base.path("logs/other"))
    os.replace(base.path("logs/other"), base.events_log)
    append(base, failed(at=99))
    with office_in(base, clock) as office:
        read_all(office)
    assert lines_read(base) == 51


@pytest.mark.parametrize("damage", ["", "[]", "{", '{"version": 1}', '{"version": 1, "places": 3}'])
def test_a_damaged_ledger_begins_anew(base: BaseDir, clock: MovableClock, damage: str) -> None:
    append(base, completed(), completed())
    for _ in range(2):
        with office_in(base, clock) as office:
            Path(office.path("ledger.json")).write_text(damage)
            read_all(office)
        assert lines_read(base) == 2


def test_no_place_is_beyond_what_the_figures_hold(base: BaseDir, office: Office) -> None:
    append(base, completed())
    read_all(office)
    (place,) = json.loads(Path(office.path("events-offset")).read_text())
    assert (place["file"], place["offset"]) == ("events.log", len(completed()))


def test_a_line_from_the_future_belongs_to_no_day(base: BaseDir, office: Office) -> None:
    append(base, completed(at=START + timedelta(days=365)), completed())
    read_all(office)
    stats = analysis(base, "stats.json")
    assert stats["totals"] == {"task.completed": 2}
    assert list(stats["days"]) == ["2026-02-07"]


def test_days_are_forgotten_in_time_and_totals_are_not(base: BaseDir, office: Office) -> None:
    append(base, *[completed(at=START - timedelta(days=back)) for back in range(60)])
    read_all(office)
    stats = analysis(base, "stats.json")
    assert stats["totals"] == {"task.completed": 60}
    assert (len(stats["days"]), max(stats["days"])) == (40, "2026-02-07")


def test_a_backlog_is_read_in_slices(
    base: BaseDir, office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "MOST_AT_ONCE", 1000)
    append(base, *[completed()] * 20_000)
    duty = ReadEvents(office)
    duty.start()
    slices = 1
    while duty.step() == 0.0:
        assert not office.board.has_read_all
        slices += 1
    assert office.board.has_read_all
    assert slices > 2
    assert lines_read(base) == 20_000


def test_each_line_counts_once_however_often_the_reader_is_killed(
    base: BaseDir, clock: MovableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed at calls to the disk chosen at random, while the log grows and is rotated."""
    monkeypatch.setattr(reading, "MOST_AT_ONCE", 1)
    monkeypatch.setattr("kingdom.chamberlain.logfiles.CHUNK", 1500)
    chance = random.Random(7)
    written = killed = 0

    def live(point: int, after: bool) -> None:
        killer = Killer(point, after=after, passing_over=CHANGE_NOTHING)
        with office_in(base, clock) as office, observed(killer):
            duty = ReadEvents(office)
            duty.start()
            for _ in range(4):
                duty.step()

    for number in range(40):
        many = chance.randrange(30)
        append(base, *[completed(at=number + one / 100) for one in range(many)])
        written += many
        if chance.random() < 0.15:
            os.rename(base.events_log, base.path("logs", f"events-2026{number:04d}.log"))
        point, after = chance.randrange(1, 90), chance.random() < 0.5
        code = in_child(lambda: live(point, after))  # noqa: B023 - it is called at once
        assert code in (0, -9)
        killed += code == -9
    assert killed > 15
    with office_in(base, clock) as office:
        read_all(office)
    stats = analysis(base, "stats.json")
    assert lines_read(base) == written == stats["totals"]["task.completed"]
    assert stats["generals"]["gen-pr"]["duration_seconds"]["count"] == written
