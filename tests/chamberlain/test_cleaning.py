"""What has had its time goes, exactly by the table, and nothing that somebody still needs."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from kingdom.bus.files.places import HANDLED
from kingdom.bus.port import Move, Problem
from kingdom.chamberlain.cleaning.duty import Clean
from kingdom.chamberlain.cleaning.finds import Tally
from kingdom.chamberlain.cleaning.kinds import Dead, Files, kinds
from kingdom.chamberlain.cleaning.notices import NOT_TOLD, Notices
from kingdom.chamberlain.cleaning.round import LOCK, Round
from kingdom.chamberlain.duty import Office
from kingdom.clock import isoformat
from kingdom.errors import KingdomError, TryLater
from kingdom.models.base import Record
from kingdom.models.result import NeedsHuman
from kingdom.pids import started
from kingdom.runtime.timekeeping import confirm
from kingdom.settings.loading import load_settings
from kingdom.store import disk
from kingdom.store.locks import Lock
from kingdom.store.paths import BaseDir
from kingdom.topology import STREAMS
from tests.support.calls import observed
from tests.support.full_disk import Refusing
from tests.support.household import date_files, internal_events, office_in, said, write
from tests.support.kingdom import MovableClock, counts, event, files, message, result, task

MINUTE, DAY = timedelta(minutes=1), timedelta(days=1)
END = {"events": "completed", "tasks": "completed", "messages": "sent", "results": HANDLED}
LONGEST = 40.0  # days until everything has had its time


def tidy(office: Office, *, dry: bool = False) -> dict[str, Tally]:
    """One round to its end."""
    retention = office.config.settings.chamberlain.retention
    notices = Notices(office.base, office.now())
    made = Round(office.base, office.bus, retention, office.now(), notices, dry=dry)
    for _ in made.work():
        pass
    if not dry:
        notices.tell(office)
    return made.tallies


def end(office: Office, stream: str, record: Record, **fields: Any) -> None:
    """It has come to its end."""
    office.bus.publish(stream, record)
    (claim,) = office.bus.claim(stream, "someone", ids=[record.id])
    status = fields.pop("status", "")
    office.bus.commit([Move(claim, END[stream], status, fields)])
    date_files(office.base, office.now())


def ask(office: Office, number: int = 1, **fields: Any) -> None:
    """A task that ended with a question, which the king has told people."""
    asked = task(number, **fields)
    end(office, "tasks", asked, status="needs_human")
    end(office, "results", NeedsHuman(task_id=asked.id, summary="?", question="Which?"))


# The table.


@pytest.mark.parametrize(
    ("path", "days"),
    [
        ("state/prompts/task-20260207-001.md", 3),
        ("logs/sessions/soldier-1-101.json", 7),
        ("logs/sessions/soldier-1-101.err", 7),
        ("logs/system.log.old", 7),
        ("logs/system.log.old.2", 7),
        ("logs/console.log.old", 7),
        ("logs/events-20260207.log", 7),
        ("logs/events-20260207-2.log", 7),
        ("state/results/task-20260207-001-raw.json", 7),
        ("state/results/task-20260207-001-raw-soldier-1-101/result.json", 7),
        ("state/results/task-20260207-001-soldier-id", 7),
        ("state/results/task-20260207-001-session-id", 7),
        ("state/results/task-20260207-001-checkpoint.json", 7),
        ("state/results/task-20260207-001-heartbeat", 7),
        ("state/results/task-20260207-001-actions.json", 7),
        ("state/soldiers/soldier-1-101.exit", 7),
        ("state/engines/claude/gen-pr/projects/-a-b/5f.jsonl", 7),
        ("state/sentinel/seen/evt-github-1", 30),
        ("logs/analysis/20260207.json", 400),
        ("state/spending/20260207.json", 400),
    ],
)
def test_a_file_goes_after_its_days_and_not_before(
    office: Office, base: BaseDir, clock: MovableClock, path: str, days: int
) -> None:
    made = write(base, path, clock.now())
    clock.advance((days * DAY - MINUTE).total_seconds())
    tidy(office)
    assert made.exists()
    clock.advance(120)
    tidy(office)
    assert not made.exists()


@pytest.mark.parametrize(
    ("watcher", "stays"),
    [
        ({"state": "ok", "last_look": "2026-02-07T10:00:00.000Z"}, True),  # off since, as a whole
        ({"state": "ok", "last_look": None}, True),
        ({"state": "trouble", "since": "2026-02-07T10:00:00.000Z", "last_look": "NOW"}, True),
        ({"state": "trouble", "since": "NOW", "last_look": "NOW"}, False),
        ({"state": "ok", "last_look": "NOW"}, False),
        ({"state": "off", "last_look": None}, False),
        ("damaged", False),
    ],
)
def test_marks_of_what_was_seen_stay_until_it_was_looked_again(
    office: Office, base: BaseDir, clock: MovableClock, watcher: Any, stays: bool
) -> None:
    mark = write(base, "state/sentinel/seen/evt-github-1", clock.now())
    clock.advance(40 * 86_400)
    told = json.dumps({"github": watcher}).replace("NOW", isoformat(clock.now()))
    write(base, "state/sentinel/watchers.json", clock.now()).write_text(told, "utf-8")
    tidy(office)
    assert mark.exists() is stays


@pytest.mark.parametrize(
    "path",
    [
        "logs/system.log",
        "logs/events.log",
        "logs/warden.log",
        "memory/shared/a.md",
        "state/king/task-seq",
        "state/chamberlain/alerts.json",
        "state/results/notes.txt",
        "state/results/.tmp-1-1-x",
        "state/engines/claude/gen-pr/settings.json",
        "state/engines/claude.json",
        "state/removed/gen-x/manifest.yaml",
        "queue/inbox/e.json",
        "workspace/gen-pr/task-20260207-001/repo/a",
    ],
)
def test_what_is_in_no_row_of_the_table_stays(
    office: Office, base: BaseDir, clock: MovableClock, path: str
) -> None:
    made = write(base, path, clock.now())
    clock.advance(1000 * 86_400)
    tidy(office)
    assert made.exists()


@pytest.mark.parametrize(
    ("stream", "record"),
    [("events", event()), ("tasks", task()), ("messages", message()), ("results", result())],
)
def test_what_ended_goes_after_seven_days(
    office: Office, base: BaseDir, clock: MovableClock, stream: str, record: Record
) -> None:
    end(office, stream, record)
    clock.advance((7 * DAY - MINUTE).total_seconds())
    tidy(office)
    assert sum(counts(base).values()) == 1
    clock.advance(120)
    tidy(office)
    assert counts(base) == {}


def test_what_has_not_ended_stays(office: Office, base: BaseDir, clock: MovableClock) -> None:
    for stream, record in (("events", event()), ("tasks", task()), ("messages", message())):
        office.bus.publish(stream, record)
    office.bus.publish("results", result(7))
    date_files(base, clock.now())
    clock.advance(400 * 86_400)
    tidy(office)
    assert sum(counts(base).values()) == 4


def test_all_of_a_task_s_results_go_together(
    office: Office, base: BaseDir, clock: MovableClock
) -> None:
    beside = write(base, "state/results/task-20260207-001-soldier-id", clock.now() - 20 * DAY)
    end(office, "results", result(1))
    clock.advance(6 * 86_400)
    tidy(office)
    assert beside.exists(), "the result is young"
    clock.advance(2 * 86_400)
    tally = tidy(office)["results"]
    assert (tally.count, os.listdir(base.results)) == (2, ["dead"])


# What somebody needs.


def of_task(office: Office, number: int, session: str = "5f-ab") -> list[Path]:
    """All that a task leaves, of now."""
    base, id_, now = office.base, f"task-20260207-{number:03d}", office.now()
    soldier = f"soldier-{number}-101"
    return [
        write(base, f"state/results/{id_}-checkpoint.json", now, f'{{"session_id": "{session}"}}'),
        write(base, f"state/results/{id_}-soldier-id", now, soldier),
        write(base, f"state/prompts/{id_}.md", now),
        write(base, f"logs/sessions/{soldier}.json", now),
        write(base, f"logs/sessions/{soldier}.err", now),
        write(base, f"state/engines/claude/gen-pr/projects/-w/{session}.jsonl", now),
    ]


def test_an_open_question_keeps_all_that_its_answer_needs(
    office: Office, base: BaseDir, clock: MovableClock
) -> None:
    """Its task, its result, its messages and its event, and those of the tasks it continues."""
    kept = of_task(office, 1, "5f-aa") + of_task(office, 2, "5f-bb")
    end(office, "events", event("1"), task_id="task-20260207-001")
    end(office, "tasks", task(1))
    end(office, "results", result(1))
    ask(office, 2, original_task_id="task-20260207-001", event_id="evt-test-2")
    end(office, "messages", message(1, task_id="task-20260207-002"))
    gone = of_task(office, 3, "5f-cc")
    end(office, "tasks", task(3))
    end(office, "results", result(3))
    clock.advance(LONGEST * 86_400)
    tallies = tidy(office)
    assert not [path for path in gone if path.exists()]
    assert all(path.exists() for path in kept)
    assert files(base) == {
        "events/completed": ["evt-test-1"],
        "messages/sent": ["msg-20260207-001"],
        "results": ["task-20260207-001", "task-20260207-002"],
        "tasks/completed": ["task-20260207-001", "task-20260207-002"],
    }
    assert set(tallies["tasks"].kept) == {"The question of task-20260207-002 is open."}
    (claim,) = office.bus.claim("results", "king", ids=["task-20260207-002"])
    office.bus.commit([Move(claim, HANDLED, fields={"answered_by": "evt-slack-response-1"})])
    date_files(base, clock.now())
    clock.advance(8 * 86_400)
    tidy(office)
    assert files(base) == {}
    assert not [path for path in kept if path.exists()]


def test_a_task_under_way_keeps_what_it_continues(
    office: Office, base: BaseDir, clock: MovableClock
) -> None:
    kept = of_task(office, 1)
    end(office, "events", event("1"))
    end(office, "tasks", task(1))
    end(office, "results", result(1))
    clock.advance(LONGEST * 86_400)
    office.bus.publish("tasks", task(2, original_task_id="task-20260207-001"))
    tidy(office)
    assert all(path.exists() for path in kept)
    assert counts(base)["tasks/completed"] == counts(base)["results"] == 1
    assert counts(base)["events/completed"] == 1


def test_one_that_begins_while_a_round_is_under_way_is_seen(
    office: Office, base: BaseDir, clock: MovableClock
) -> None:
    end(office, "tasks", task(1))
    end(office, "results", result(1))
    clock.advance(LONGEST * 86_400)
    notices = Notices(base, clock.now())
    retention = office.config.settings.chamberlain.retention
    work = Round(base, office.bus, retention, clock.now(), notices).work()
    next(work)
    next(work)
    office.bus.publish("tasks", task(2, original_task_id="task-20260207-001"))
    for _ in work:
        pass
    assert counts(base) == {"tasks/pending": 1, "tasks/completed": 1, "results": 1}


@pytest.mark.parametrize("fields", [{"task_id": "task-20260207-001"}, {"payload": "task_id"}])
def test_an_event_that_is_not_done_keeps_the_task_it_is_about(
    office: Office, base: BaseDir, clock: MovableClock, fields: dict[str, Any]
) -> None:
    if "payload" in fields:
        fields = {"payload": {"task_id": "task-20260207-001"}}
    end(office, "tasks", task(1, event_id="evt-test-9"))
    end(office, "results", result(1))
    office.bus.publish("events", event("2", **fields))
    clock.advance(LONGEST * 86_400)
    tidy(office)
    assert counts(base) == {"events/pending": 1, "tasks/completed": 1, "results": 1}


def test_a_result_that_the_king_has_not_handled_keeps_its_task(
    office: Office, base: BaseDir, clock: MovableClock
) -> None:
    kept = of_task(office, 1)
    end(office, "tasks", task(1))
    office.bus.publish("results", result(1))
    date_files(base, clock.now())
    clock.advance(LONGEST * 86_400)
    tidy(office)
    assert counts(base) == {"tasks/completed": 1, "results": 1}
    assert all(path.exists() for path in kept)


def test_a_soldier_that_lives_keeps_its_files(
    office: Office, base: BaseDir, clock: MovableClock
) -> None:
    claim = f"run {os.getpid()} {started(os.getpid())}"
    living = write(base, "state/soldiers/soldier-1-101.claim", clock.now(), claim)
    dead = write(base, "state/soldiers/soldier-2-101.claim", clock.now(), "run 1 3")
    clock.advance(LONGEST * 86_400)
    tidy(office)
    assert living.exists()
    assert not dead.exists()


# What lies in dead/.


def bury(office: Office, number: int) -> None:
    office.bus.publish("tasks", task(number))
    (claim,) = office.bus.claim("tasks", "gen-pr", ids=[task(number).id])
    office.bus.bury(claim, Problem("crashed", "It crashed."))
    date_files(office.base, office.now())


def test_people_are_told_of_dead_ones_three_days_before_they_go(
    office: Office, base: BaseDir, clock: MovableClock
) -> None:
    bury(office, 1)
    clock.advance(26.5 * 86_400)
    tidy(office)
    assert said(base) == []
    clock.advance(86_400)
    for _ in range(3):
        tidy(office)
        clock.advance(86_400)
    assert said(base) == [
        "1 more in dead/ will be removed after 2026-03-09. "
        "See them with: kingdom queue ls --state dead"
    ]
    assert counts(base)["tasks/dead"] == 1
    tidy(office)
    assert "tasks/dead" not in counts(base)


def test_a_full_disk_keeps_nobody_from_being_told_of_dead_ones(
    office: Office, base: BaseDir, clock: MovableClock
) -> None:
    bury(office, 1)
    clock.advance(28 * 86_400)
    notices, point = Notices(base, clock.now()), 0
    notices.objection("tasks", task(1).id)
    while not said(base):
        point += 1
        with observed(Refusing(point)), suppress(OSError, TryLater):
            notices.tell(office)
    notices.tell(office)
    assert len(said(base)) == 1
    assert point > 1, "each write was refused once"


def test_after_a_long_rest_dead_ones_wait_until_people_had_time(
    office: Office, base: BaseDir, clock: MovableClock
) -> None:
    bury(office, 1)
    bury(office, 2)
    clock.advance(300 * 86_400)
    assert tidy(office)["dead"].kept == {NOT_TOLD: 2}
    assert said(base)[0].startswith("2 more in dead/")
    clock.advance(2 * 86_400)
    bury(office, 3)
    tidy(office)
    assert counts(base)["tasks/dead"] == 3
    clock.advance(86_400)
    tidy(office)
    assert files(base)["tasks/dead"] == ["task-20260207-003"]
    assert len(said(base)) == 1


def test_a_notice_that_was_written_and_not_published_comes_at_the_next_start(
    base: BaseDir, clock: MovableClock
) -> None:
    with office_in(base, clock) as office:
        bury(office, 1)
        clock.advance(28 * 86_400)
        publish, office.bus.publish = office.bus.publish, None  # type: ignore[method-assign,assignment]
        with pytest.raises(TypeError):
            tidy(office)
        office.bus.publish = publish  # type: ignore[method-assign]
    for _ in range(2):
        with office_in(base, clock) as office:
            duty = Clean(office)
            duty.start()
            duty.stop()
    assert len(said(base)) == 1


# Once a day.


@contextmanager
def trusted(base: BaseDir, clock: MovableClock) -> Iterator[tuple[Office, Clean]]:
    """A chamberlain whose clock somebody vouched for."""
    with office_in(base, clock) as office:
        confirm(base, clock.now())
        duty = Clean(office)
        duty.start()
        duty.step()
        yield office, duty
        duty.stop()


def run(duty: Clean, clock: MovableClock, days: float) -> None:
    until = clock.now() + timedelta(days=days)
    while clock.now() < until:
        clock.advance(max(duty.step(), 60.0))


def cleanings(base: BaseDir) -> list[tuple[str, int]]:
    told = internal_events(base, "recovery.files_cleaned")
    return [(one["ts"][:16], one["data"]["deleted_count"]) for one in told]


@pytest.mark.provokes("recovery.files_cleaned")
def test_a_day_is_cleaned_once_at_three(base: BaseDir, clock: MovableClock) -> None:
    write(base, "state/prompts/a.md", clock.now() - 2.5 * DAY)
    with trusted(base, clock) as (_, duty):
        run(duty, clock, 3.0)
    found = [("2026-02-08T03:0", 1), ("2026-02-09T03:0", 0), ("2026-02-10T03:0", 0)]
    assert [(at[:-1], count) for at, count in cleanings(base)] == found


def test_missed_days_are_made_up_for_once(base: BaseDir, clock: MovableClock) -> None:
    with trusted(base, clock) as (_, duty):
        run(duty, clock, 1.0)
    clock.advance(3.5 * 86_400)
    for _ in range(3):
        with trusted(base, clock) as (_, duty):
            run(duty, clock, 0.05)
    assert len(cleanings(base)) == 2


def test_one_that_died_in_the_middle_begins_again(base: BaseDir, clock: MovableClock) -> None:
    for number in range(500):
        write(base, f"logs/sessions/soldier-{number}-101.err", clock.now() - 8 * DAY)
    with trusted(base, clock) as (_, duty):
        clock.advance(86_400)
        duty.step()
        left = len(os.listdir(base.session_logs))
        assert 0 < left < 500
    with trusted(base, clock) as (_, duty):
        run(duty, clock, 0.05)
    assert os.listdir(base.session_logs) == []
    ((_, count),) = cleanings(base)
    assert count == left


def test_a_person_s_round_and_the_chamberlain_s_do_not_meet(
    base: BaseDir, clock: MovableClock
) -> None:
    made = write(base, "state/prompts/a.md", clock.now() - 5 * DAY)
    with trusted(base, clock) as (_, duty):
        clock.advance(86_400)
        lock = Lock(base.path(*LOCK))
        assert lock.try_acquire()
        duty.step()
        assert made.exists()
        lock.close()
        duty.step()
        assert not made.exists()


# Clocks.


@pytest.mark.parametrize("days", [-365, 365])
def test_nothing_goes_by_a_clock_that_leapt(base: BaseDir, clock: MovableClock, days: int) -> None:
    made = write(base, "state/prompts/a.md", clock.now())
    with trusted(base, clock) as (_, duty):
        run(duty, clock, 1.5)
        clock.set_wall(clock.now() + timedelta(days=days))
        run(duty, clock, 0.9)
        assert made.exists()
        clock.set_wall(clock.now() - timedelta(days=days))
        run(duty, clock, 0.9)
        assert made.exists()
        run(duty, clock, 1.2)
        assert not made.exists(), "it is older than three days now, by a clock that can be believed"


@pytest.mark.parametrize("days", [-365, 365])
def test_nothing_goes_by_a_clock_that_leapt_while_nobody_looked(
    base: BaseDir, clock: MovableClock, days: int
) -> None:
    made = write(base, "state/prompts/a.md", clock.now())
    with trusted(base, clock) as (_, duty):
        run(duty, clock, 0.5)
    clock.set_wall(clock.now() + timedelta(days=days))
    for _ in range(4):
        with office_in(base, clock) as office:
            duty = Clean(office)
            duty.start()
            run(duty, clock, 0.2)
            duty.stop()
    assert made.exists()
    with office_in(base, clock) as office:
        duty = Clean(office)
        duty.start()
        run(duty, clock, 1.3)
        duty.stop()
    assert made.exists() is (days < 0), "it has run for a day without another leap"


# Bad input.


def test_a_link_in_the_way_is_not_followed(
    office: Office, base: BaseDir, clock: MovableClock, scratch: Path
) -> None:
    outside = scratch.with_name(f"{scratch.name}-outside")
    mine = write(BaseDir(outside), "a.md", clock.now() - 9 * DAY)
    try:
        Path(base.state).mkdir(exist_ok=True)
        Path(base.prompts).symlink_to(outside)
        linked = Path(base.path("logs/sessions/soldier-1-101.err"))
        linked.parent.mkdir(parents=True, exist_ok=True)
        linked.symlink_to(mine)
        clock.advance(LONGEST * 86_400)
        tallies = tidy(office)
        assert mine.exists()
        assert linked.is_symlink()
        assert tallies["prompts"].trouble == "state/prompts leads elsewhere; it is left alone."
    finally:
        mine.unlink()
        outside.rmdir()


def test_what_cannot_be_removed_keeps_nothing_else(
    office: Office, base: BaseDir, clock: MovableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    stubborn = write(base, "state/prompts/a.md", clock.now())
    gone = [
        write(base, "state/prompts/b.md", clock.now()),
        write(base, "logs/x.log.old", clock.now()),
    ]
    remove = disk.remove

    def refuses(path: str) -> bool:
        if path == str(stubborn):
            raise PermissionError(13, "Permission denied", path)
        return remove(path)

    monkeypatch.setattr(disk, "remove", refuses)
    clock.advance(LONGEST * 86_400)
    tallies = tidy(office)
    assert stubborn.exists()
    assert not [path for path in gone if path.exists()]
    assert "Permission denied" in tallies["prompts"].trouble


def test_a_directory_where_a_file_should_be_is_left_alone(
    office: Office, base: BaseDir, clock: MovableClock
) -> None:
    place = Path(base.path("state/prompts/a.md"))
    place.mkdir(parents=True)
    os.utime(place, (clock.now().timestamp(),) * 2)
    clock.advance(LONGEST * 86_400)
    tidy(office)
    assert place.is_dir()


def test_a_file_that_is_written_meanwhile_stays(base: BaseDir, clock: MovableClock) -> None:
    made = write(base, "logs/sessions/soldier-1-101.json", clock.now())
    clock.advance(LONGEST * 86_400)
    (find,) = filter(None, Files(base, "session logs", "logs/sessions", 7).find(clock.now(), None))
    made.write_text("more")
    assert find.remove() == 0
    assert made.exists()


def test_a_dry_round_changes_nothing_and_says_what_would_go(
    office: Office, base: BaseDir, clock: MovableClock
) -> None:
    write(base, "state/prompts/a.md", clock.now(), "12345")
    write(base, "state/prompts/b.md", clock.now() + DAY, "12345")
    ask(office)
    bury(office, 2)
    clock.advance(LONGEST * 86_400)
    before = sorted(str(path) for path in Path(base.root).rglob("*"))
    tallies = tidy(office, dry=True)
    assert sorted(str(path) for path in Path(base.root).rglob("*")) == before
    prompts = tallies["prompts"]
    oldest = clock.now().timestamp() - LONGEST * 86_400
    assert (prompts.count, prompts.size, prompts.oldest) == (2, 10, oldest)
    assert sum(tallies["tasks"].kept.values()) == 1
    assert {name: one.count for name, one in tidy(office).items()} == {
        name: one.count for name, one in tallies.items()
    }


def test_every_stream_of_the_bus_has_its_dead_cleaned(office: Office) -> None:
    retention = office.config.settings.chamberlain.retention
    made = kinds(office.base, office.bus, retention, Notices(office.base, office.now()))
    assert [one.stream for one in made if isinstance(one, Dead)] == list(STREAMS)


def test_its_hour_is_the_one_in_the_configuration(base: BaseDir, clock: MovableClock) -> None:
    Path(base.config).mkdir()
    Path(base.config, "system.yaml").write_text("timezone: Asia/Seoul\n")
    Path(base.config, "chamberlain.yaml").write_text('cleanup: {at: "23:30"}\n')
    with trusted(base, clock) as (_, duty):
        run(duty, clock, 1.0)
    ((at, _),) = cleanings(base)
    assert at.startswith("2026-02-07T14:3")


@pytest.mark.parametrize("written", ["23:30", "3", "3:00", "0.5"])
def test_a_number_is_no_hour(base: BaseDir, written: str) -> None:
    """YAML reads 23:30 as 1410; nobody can tell it from a number."""
    Path(base.config).mkdir()
    Path(base.config, "chamberlain.yaml").write_text(f"cleanup: {{at: {written}}}\n")
    with pytest.raises(KingdomError, match=r'cleanup.at.* in quotes, such as "03:00"'):
        load_settings(base.config, {})


def test_measurements_are_made_before_they_count_as_old(base: BaseDir) -> None:
    Path(base.config).mkdir()
    Path(base.config, "chamberlain.yaml").write_text("polling: {interval_seconds: 120}\n")
    with pytest.raises(KingdomError, match=r"must be below thresholds.stale_seconds"):
        load_settings(base.config, {})
