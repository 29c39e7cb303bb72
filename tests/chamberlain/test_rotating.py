"""Logs are put away at midnight and when they are large, and no line is lost by it."""

from __future__ import annotations

import json
import os
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from kingdom.chamberlain.duty import Office
from kingdom.chamberlain.rotating import BY_SIZE, EVERY, MEGABYTE, Rotate
from kingdom.ops.logs import Follower, Source
from kingdom.ops.relations import _event_logs
from kingdom.runtime.internal_log import InternalLog
from kingdom.store import log_files
from kingdom.store.paths import BaseDir
from tests.support.calls import observed
from tests.support.full_disk import Refusing
from tests.support.household import internal_events, office_in
from tests.support.kingdom import MovableClock

EVENING = datetime(2026, 2, 7, 14, 59, 50, tzinfo=UTC)  # ten seconds before midnight in Seoul


@pytest.fixture
def seoul(base: BaseDir, clock: MovableClock) -> MovableClock:
    configure(base, "system", "timezone: Asia/Seoul\n")
    clock.set_wall(EVENING)
    return clock


def configure(base: BaseDir, name: str, text: str) -> None:
    Path(base.config).mkdir(exist_ok=True)
    Path(base.config, f"{name}.yaml").write_text(text)
    Path(base.logs).mkdir(exist_ok=True)


def rotate(office: Office) -> Rotate:
    made = Rotate(office)
    made.start()
    made.step()
    return made


def note(base: BaseDir, clock: MovableClock, name: str = "1") -> None:
    data = {"event_id": name, "source": "github", "event_type": "github.pr.comment"}
    InternalLog(base, "sentinel", clock).emit("event.detected", data)


def logs(base: BaseDir) -> list[str]:
    return sorted(name for name in os.listdir(base.logs) if name != "system.log")


def ids(path: str | Path) -> list[str]:
    told = [json.loads(line) for line in Path(path).read_text().splitlines() if line]
    return [one["data"]["event_id"] for one in told if one["type"] == "event.detected"]


@pytest.mark.provokes("recovery.log_rotated")
def test_events_are_split_at_midnight_of_the_kingdom(base: BaseDir, seoul: MovableClock) -> None:
    with office_in(base, seoul) as office:
        note(base, seoul, "before")
        duty = rotate(office)
        assert logs(base) == ["events.log"]
        seoul.advance(duty.step())
        assert seoul.now() == EVENING + timedelta(seconds=10), "it is punctual"
        duty.step()
        note(base, seoul, "after")
        assert logs(base) == ["events-20260207.log", "events.log"]
        assert ids(base.path("logs", "events-20260207.log")) == ["before"]
        assert ids(base.events_log) == ["after"]
        (told,) = internal_events(base, "recovery.log_rotated")
        assert told["data"] == {"file": "events.log", "size_mb": 0.0}
        for _ in range(10):
            seoul.advance(duty.step())
        assert len(internal_events(base, "recovery.log_rotated")) == 1


def test_a_line_that_comes_late_splits_no_day_again(base: BaseDir, seoul: MovableClock) -> None:
    """Its writer looked at the clock before midnight, and opened the log afterwards."""
    with office_in(base, seoul) as office:
        note(base, seoul, "before")
        duty = rotate(office)
        seoul.advance(60)
        duty.step()
        late = MovableClock(EVENING)
        Path(base.events_log).unlink()
        note(base, late, "late")
        duty.step()
    assert logs(base) == ["events-20260207.log", "events.log"]


def test_a_day_is_split_once_also_by_the_next_chamberlain(
    base: BaseDir, seoul: MovableClock
) -> None:
    note(base, seoul, "before")
    seoul.advance(60)
    for _ in range(3):
        with office_in(base, seoul) as office:
            rotate(office)
            note(base, seoul, "after")
    assert logs(base) == ["events-20260207.log", "events.log"]
    assert ids(base.events_log) == ["after"] * 3


def test_one_that_died_between_rename_and_note_split_it_all_the_same(
    base: BaseDir, seoul: MovableClock
) -> None:
    note(base, seoul, "before")
    with office_in(base, seoul) as office:
        rotate(office)
        seoul.advance(60)
        os.rename(base.events_log, base.path("logs", "events-20260207.log"))
        note(base, seoul, "after")
    with office_in(base, seoul) as office:
        rotate(office)
    assert logs(base) == ["events-20260207.log", "events.log"]


def test_after_days_of_rest_the_log_is_of_the_day_it_was_begun(
    base: BaseDir, seoul: MovableClock
) -> None:
    note(base, seoul)
    seoul.advance(5 * 86_400)
    with office_in(base, seoul) as office:
        rotate(office)
    assert logs(base) == ["events-20260207.log", "events.log"]


@pytest.mark.parametrize("days", [-365, 365])
def test_a_clock_that_leaps_costs_no_line(base: BaseDir, seoul: MovableClock, days: int) -> None:
    with office_in(base, seoul) as office:
        duty = rotate(office)
        for name in ("a", "b", "c"):
            note(base, seoul, name)
            seoul.set_wall(seoul.now() + timedelta(days=days))
            days = -days
            duty.step()
            duty.step()
        assert sorted(one for path in _event_logs(base) for one in ids(path)) == ["a", "b", "c"]


@pytest.mark.parametrize("name", BY_SIZE)
def test_a_large_log_is_put_away_and_never_over_another(
    base: BaseDir, seoul: MovableClock, name: str
) -> None:
    configure(base, "chamberlain", "retention: {log_max_mb: 1}\n")
    path = Path(base.path("logs", name))
    with office_in(base, seoul) as office:
        duty = rotate(office)
        for number in range(3):
            path.write_bytes(b"%d" % number + b"x" * MEGABYTE)
            duty.step()
        path.write_bytes(b"x" * (MEGABYTE - 1000))
        duty.step()
    kept = [f"{path}.old", f"{path}.old.2", f"{path}.old.3"]
    assert log_files.put_away(str(path)) == kept
    assert [Path(one).read_bytes()[:1] for one in kept] == [b"0", b"1", b"2"]
    assert path.stat().st_size >= MEGABYTE - 1000
    told = internal_events(base, "recovery.log_rotated")
    assert [one["data"] for one in told] == [{"file": name, "size_mb": 1.0}] * 3


def test_events_may_be_put_away_several_times_a_day(base: BaseDir, seoul: MovableClock) -> None:
    configure(base, "chamberlain", "retention: {log_max_mb: 1}\n")
    with office_in(base, seoul) as office:
        duty = rotate(office)
        for number in range(3):
            note(base, seoul, str(number))
            with open(base.events_log, "ab") as file:
                file.write(b"x" * MEGABYTE + b"\n")
            duty.step()
        note(base, seoul, "3")
        seoul.advance(20)
        duty.step()
    days = ["events-20260207.log", *(f"events-20260207-{n}.log" for n in (2, 3, 4))]
    assert log_files.put_away_events(base) == [base.path("logs", name) for name in days]
    for number, name in enumerate(days):
        text = Path(base.path("logs", name)).read_text().split("x")[0]
        assert f'"{number}"' in text


@pytest.mark.parametrize("content", [b"\n\n", b"{torn\n", b"[1]\n", b'{"ts": "never"}\n', b"\xff"])
def test_a_log_that_does_not_tell_its_day_is_of_its_last_change(
    base: BaseDir, seoul: MovableClock, content: bytes
) -> None:
    path = Path(base.events_log)
    path.write_bytes(content)
    yesterday = EVENING.timestamp() - 86_400
    os.utime(path, (yesterday, yesterday))
    with office_in(base, seoul) as office:
        rotate(office)
    assert Path(base.path("logs", "events-20260206.log")).read_bytes() == content


def test_a_link_is_not_followed(base: BaseDir, seoul: MovableClock, scratch: Path) -> None:
    configure(base, "chamberlain", "retention: {log_max_mb: 1}\n")
    elsewhere = scratch / "elsewhere"
    elsewhere.write_bytes(b"x" * 2 * MEGABYTE)
    Path(base.path("logs", "tasks.log")).symlink_to(elsewhere)
    with office_in(base, seoul) as office:
        rotate(office)
    assert logs(base) == ["tasks.log"]
    assert elsewhere.stat().st_size == 2 * MEGABYTE


@pytest.mark.parametrize("point", range(1, 7))
def test_a_full_disk_loses_nothing(base: BaseDir, seoul: MovableClock, point: int) -> None:
    configure(base, "chamberlain", "retention: {log_max_mb: 1}\n")
    tasks = Path(base.path("logs", "tasks.log"))
    tasks.write_bytes(b"x" * MEGABYTE)
    with office_in(base, seoul) as office:
        duty = Rotate(office)
        duty.start()
        note(base, seoul, "before")
        seoul.advance(60)
        with observed(Refusing(point)):
            for _ in range(2):
                try:
                    duty.step()
                except OSError:
                    note(base, seoul, "meanwhile")
        duty.step()
        found = [one for path in _event_logs(base) for one in ids(path)]
        assert found[0] == "before"
        assert set(found) <= {"before", "meanwhile"}
        assert "before" not in ids(base.events_log)
        assert [Path(one).stat().st_size for one in log_files.put_away(str(tasks))] == [MEGABYTE]
        assert not tasks.exists()


def test_no_line_is_lost_while_everybody_writes(base: BaseDir, seoul: MovableClock) -> None:
    """Writers know nothing of the chamberlain, who puts the log away all the time."""
    configure(base, "chamberlain", "retention: {log_max_mb: 1}\n")
    lines, writers = 400, 4
    wanted = sorted(f"{w}-{n}" for w in range(writers) for n in range(lines))
    note(base, seoul, "first")

    def write(writer: int) -> None:
        for number in range(lines):
            note(base, seoul, f"{writer}-{number}")

    with office_in(base, seoul) as office:
        duty = rotate(office)
        threads = [threading.Thread(target=write, args=(one,)) for one in range(writers)]
        for thread in threads:
            thread.start()
        rotations = 0
        while any(thread.is_alive() for thread in threads):
            seoul.advance(86_400)
            duty.step()
            rotations += 1
        for thread in threads:
            thread.join()
    found = sorted(one for path in _event_logs(base) for one in ids(path) if one != "first")
    assert found == wanted
    assert rotations > 2


def test_a_look_is_never_far_away(base: BaseDir, seoul: MovableClock) -> None:
    with office_in(base, seoul) as office:
        duty = rotate(office)
        seoul.advance(60)
        assert duty.step() == EVERY


def test_whoever_follows_a_log_goes_on_in_the_next_one(base: BaseDir, seoul: MovableClock) -> None:
    with office_in(base, seoul) as office:
        duty = rotate(office)
        note(base, seoul, "1")
        follower = Follower(Source(base.events_log, lambda line: "event.detected" in line))
        note(base, seoul, "2")
        seoul.advance(60)
        duty.step()
        with open(base.path("logs", "events-20260207.log"), "a") as late:
            late.write('{"type": "event.detected", "data": {"event_id": "3"}}\n')
        note(base, seoul, "4")
        found = [json.loads(line)["data"]["event_id"] for line in follower.lines()]
        follower.close()
    assert found == ["2", "3", "4"]
