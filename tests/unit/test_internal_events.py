"""Internal events: only what the catalogue allows, one line each, none lost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from kingdom.errors import KingdomError, TryLater
from kingdom.models.catalogue import CATALOGUE, FLAG, LIST, NUMBER, WHOLE, Entry
from kingdom.models.internal_event import InternalEvent, NotInCatalogue, check
from kingdom.models.schemas import schema_for
from kingdom.runtime.internal_log import InternalLog
from kingdom.store.paths import BaseDir
from kingdom.topology import OTHER_ACTORS, ROLES

SEED = {
    "event.detected": "event_id source event_type",
    "event.dispatched": "event_id task_id target_general",
    "event.discarded": "event_id event_type reason",
    "task.created": "task_id event_type target_general priority",
    "task.started": "task_id",
    "task.completed": "task_id status duration_seconds",
    "task.failed": "task_id error retry_count",
    "task.needs_human": "task_id question",
    "task.resumed": "task_id original_task_id",
    "soldier.spawned": "task_id soldier_id",
    "soldier.completed": "task_id soldier_id status",
    "soldier.timeout": "task_id soldier_id timeout_seconds",
    "soldier.killed": "soldier_id reason",
    "system.health_changed": "from to reason",
    "system.heartbeat_missed": "target last_seen threshold_seconds",
    "system.session_orphaned": "soldier_id task_id",
    "system.resource_warning": "metric value threshold",
    "system.token_status_changed": "from to daily_cost_usd",
    "system.token_budget_reset": "date previous_cost",
    "system.startup": "version",
    "system.shutdown": "reason",
    "recovery.session_restarted": "target pid",
    "recovery.session_killed": "soldier_id reason",
    "recovery.log_rotated": "file size_mb",
    "recovery.files_cleaned": "deleted_count",
    "recovery.sessions_cleaned": "removed_count",
    "message.sent": "msg_id task_id channel",
    "message.human_response": "task_id thread_ts",
}
ADDED = {
    "event.deferred",
    "event.superseded",
    "task.retried",
    "task.cancelled",
    "message.failed",
    "queue.buried",
    "system.engine_changed",
}
NOW = datetime(2026, 2, 7, 10, tzinfo=UTC)


class FixedClock:
    def now(self) -> datetime:
        return NOW

    def monotonic(self) -> float:
        return 0.0


@pytest.fixture
def base(tmp_path: Path) -> BaseDir:
    (tmp_path / "logs").mkdir()
    return BaseDir(tmp_path)


def log_of(base: BaseDir, actor: str = "gen-pr") -> InternalLog:
    return InternalLog(base, actor, FixedClock())


def sample(entry: Entry) -> dict[str, Any]:
    values = {WHOLE: 1, NUMBER: 1.5, FLAG: True, LIST: ["a"]}
    return {name: values.get(kinds, "text") for name, kinds in entry.data.items()}


def lines(path: str) -> list[bytes]:
    """As readers of a log do: empty lines are passed over."""
    return [line for line in Path(path).read_bytes().splitlines() if line]


# The catalogue


@pytest.mark.parametrize("type_", SEED)
def test_the_catalogue_holds_the_seed_with_its_fields(type_: str) -> None:
    assert list(CATALOGUE[type_].data) == SEED[type_].split()


def test_the_catalogue_holds_the_additions_and_the_workflow_events() -> None:
    assert set(CATALOGUE) >= ADDED
    workflow = {"workflow", "work", "agent", "step", "query", "report", "checkpoint", "worktree"}
    assert {entry.category for entry in CATALOGUE.values()} >= workflow | {"git", "mcp", "template"}
    assert len(SEED) == 28


def test_every_actor_in_the_catalogue_is_known() -> None:
    known = {*ROLES, *OTHER_ACTORS}
    for entry in CATALOGUE.values():
        assert set(entry.actors) <= known


@pytest.mark.parametrize("entry", CATALOGUE.values(), ids=lambda entry: entry.type)
def test_every_entry_can_be_emitted_by_its_actors_and_matches_the_schema(
    entry: Entry, base: BaseDir
) -> None:
    for actor in entry.actors:
        name = "gen-jira" if actor == "general" else actor
        log_of(base, name).emit(entry.type, sample(entry), trace_id="t-1")
    validator = jsonschema.Draft202012Validator(schema_for("internal-event"))
    written = [json.loads(line) for line in lines(base.events_log)]
    assert len(written) == len(entry.actors)
    for event in written:
        validator.validate(event)


# What is a programming error


@pytest.mark.parametrize(
    ("type_", "actor", "data", "complaint"),
    [
        ("task.exploded", "king", {}, "task.exploded is not in the catalogue"),
        ("", "king", {}, "not in the catalogue"),
        ("task.started", "king", {"task_id": "t"}, "not for king, only for general"),
        ("task.created", "gen-pr", {}, "not for gen-pr, only for king"),
        ("system.startup", "warden", {"version": "1"}, "only for system"),
        ("task.started", "gen-pr", {}, "data lacks task_id"),
        ("task.started", "gen-pr", {"task_id": "t", "mood": "good"}, "data has mood"),
        ("task.started", "gen-pr", {"task_id": 1}, "data.task_id must be str, not int"),
        ("task.started", "gen-pr", {"task_id": None}, "data.task_id must be str, not NoneType"),
        (
            "task.failed",
            "gen-pr",
            {"task_id": "t", "error": "e", "retry_count": True},
            "data.retry_count must be int, not bool",
        ),
        (
            "task.completed",
            "gen-pr",
            {"task_id": "t", "status": "success", "duration_seconds": "180"},
            "data.duration_seconds must be int or float, not str",
        ),
    ],
)
def test_what_the_catalogue_does_not_allow_is_a_bug_and_writes_nothing(
    base: BaseDir, type_: str, actor: str, data: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(NotInCatalogue, match=complaint) as caught:
        log_of(base, actor).emit(type_, data)
    assert not isinstance(caught.value, KingdomError)
    assert not os.path.exists(base.events_log)


def test_an_internal_event_cannot_be_built_around_the_check() -> None:
    with pytest.raises(NotInCatalogue):
        InternalEvent(ts=NOW, type="no.such", actor="king", data={})
    check("task.started", "gen-anything", {"task_id": "t"})


# The line


def test_an_event_is_one_line_in_the_form_of_the_seed(base: BaseDir) -> None:
    log_of(base).emit("task.needs_human", {"task_id": "t", "question": "줄\n바꿈\u2028?"}, "tr")
    (line,) = Path(base.events_log).read_text("utf-8").split("\n")[:-1]
    assert line.startswith('{"ts":"2026-02-07T10:00:00.000Z","type":"task.needs_human",')
    assert json.loads(line) == {
        "ts": "2026-02-07T10:00:00.000Z",
        "type": "task.needs_human",
        "actor": "gen-pr",
        "data": {"task_id": "t", "question": "줄\n바꿈\u2028?"},
        "trace_id": "tr",
    }


def test_without_a_trace_there_is_no_key_for_it(base: BaseDir) -> None:
    log_of(base).emit("task.started", {"task_id": "t"})
    assert "trace_id" not in json.loads(lines(base.events_log)[0])


def test_a_missing_logs_directory_is_made(tmp_path: Path) -> None:
    base = BaseDir(tmp_path)
    log_of(base).emit("task.started", {"task_id": "t"})
    assert len(lines(base.events_log)) == 1


def test_a_log_that_cannot_be_written_is_said_in_a_sentence(base: BaseDir) -> None:
    os.mkdir(base.events_log)
    with pytest.raises(TryLater, match="cannot be written: Is a directory") as caught:
        log_of(base).emit("task.started", {"task_id": "t"})
    assert caught.value.code == "log_unwritable"


# Many writers, rotation


WRITER = """
import sys
from kingdom.clock import SystemClock
from kingdom.runtime.internal_log import InternalLog
from kingdom.store.paths import BaseDir
log = InternalLog(BaseDir(sys.argv[1]), "gen-" + sys.argv[2], SystemClock())
print("ready", flush=True)
sys.stdin.readline()
for number in range(int(sys.argv[3])):
    question = str(number) + " " + "x" * (number % 97) * 90
    log.emit("task.needs_human", {"task_id": "t", "question": question})
"""


@pytest.fixture
def start_writers(base: BaseDir) -> Iterator[Any]:
    started: list[subprocess.Popen[str]] = []

    def start(writers: int, count: int) -> list[subprocess.Popen[str]]:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        for name in range(writers):
            command = [sys.executable, "-c", WRITER, base.root, str(name), str(count)]
            started.append(
                subprocess.Popen(
                    command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                    env=environment,
                )
            )
        for process in started:
            assert process.stdout
            assert process.stdout.readline() == "ready\n"
        for process in started:
            assert process.stdin
            process.stdin.write("go\n")
            process.stdin.flush()
        return started

    yield start
    for process in started:
        process.kill()
        process.communicate()


def test_no_line_is_lost_or_torn_while_many_write_and_the_log_is_rotated(
    base: BaseDir, start_writers: Any
) -> None:
    count = 500
    processes = start_writers(3, count)
    rotations = 0
    while any(process.poll() is None for process in processes):
        if os.path.exists(base.events_log):
            os.rename(base.events_log, f"{base.events_log}.{rotations}")
            rotations += 1
    assert all(process.wait() == 0 for process in processes)
    assert rotations > 3
    seen: dict[str, list[int]] = {}
    for name in sorted(os.listdir(base.logs), key=lambda name: int((name + ".9999").split(".")[2])):
        for line in lines(os.path.join(base.logs, name)):
            event = json.loads(line)
            number = int(event["data"]["question"].split()[0])
            seen.setdefault(event["actor"], []).append(number)
    assert sorted(seen) == ["gen-0", "gen-1", "gen-2"]
    assert all(sorted(numbers) == list(range(count)) for numbers in seen.values())


# A full disk


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[BaseDir]:
    place = tmp_path / "small"
    place.mkdir()
    try:
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(place)], capture_output=True
        )
    except FileNotFoundError:
        pytest.skip("a small disk needs the program mount, which is absent here")
    if done.returncode:
        pytest.skip("a small disk needs the right to mount a tmpfs, which is absent here")
    (place / "logs").mkdir()
    yield BaseDir(place)
    subprocess.run(["umount", str(place)], check=True)


def test_a_disk_that_fills_in_the_middle_of_a_line_does_not_glue_two_lines(
    small_disk: BaseDir,
) -> None:
    log = log_of(small_disk)
    filler = Path(small_disk.root) / "filler"
    filler.write_bytes(b"x" * 20_000)
    written, failed = [], 0
    for number in range(200):
        question = f"{number} " + "x" * 700
        try:
            log.emit("task.needs_human", {"task_id": "t", "question": question})
            written.append(question)
        except TryLater:
            failed += 1
        if failed == 3 and filler.exists():
            filler.unlink()
    assert failed > 3
    assert not filler.exists()
    whole = [json.loads(line) for line in lines(small_disk.events_log) if line.endswith(b"}")]
    assert [event["data"]["question"] for event in whole] == written


def test_a_line_torn_by_a_power_loss_does_not_swallow_the_next(base: BaseDir) -> None:
    Path(base.events_log).write_bytes(b'{"ts":"2026-02-07T10:00:00.000Z","type":"task.st')
    log_of(base).emit("task.started", {"task_id": "t"})
    assert json.loads(lines(base.events_log)[-1])["type"] == "task.started"
