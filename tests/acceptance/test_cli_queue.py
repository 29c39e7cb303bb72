"""`kingdom queue`: what lies where, in claim order, and the operator's two verbs."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from kingdom.bus.files.bus import FileBus
from kingdom.bus.port import Move, New, Problem
from kingdom.clock import SystemClock
from kingdom.ops.init import init
from kingdom.store.paths import BaseDir
from tests.support.cli import claim_and_die, kingdom, one_sentence
from tests.support.envoy import internal
from tests.support.kingdom import MovableClock, counts, drop, event, load, message, result, task

FAULT = Problem("network", "The line went dead.")
OpenBus = Callable[..., FileBus]


@pytest.fixture(autouse=True)
def kingdom_here(base: BaseDir) -> None:
    init(base)


@pytest.fixture
def filled(base: BaseDir, bus: FileBus) -> FileBus:
    """A few messages in every state there is."""
    bus.publish(
        "events", event("low", priority="low"), event("high", priority="high"), event("done")
    )
    bus.publish("tasks", task(2), task(3))
    bus.publish("messages", message(1), message(2))
    bus.publish("results", result(1), result(2))
    (done,) = bus.claim("events", "king", ids=["evt-test-done"])
    bus.commit([Move(done, "completed")])
    bus.bury(bus.claim("tasks", "gen-pr", ids=["task-20260207-003"])[0], FAULT)
    bus.claim("tasks", "gen-pr")
    bus.publish("tasks", task(1))
    bus.retry(bus.claim("messages", "envoy")[0], FAULT)
    (handled,) = bus.claim("results", "king", ids=["task-20260207-002"])
    bus.commit([Move(handled, "handled")])
    return bus


def listed(base: BaseDir, *words: str) -> list[tuple[str, str]]:
    found = json.loads(kingdom("queue", "ls", *words, "--json", base=base).out)
    return [(one["id"], f"{one['stream']}/{one['state']}") for one in found["messages"]]


def test_it_lists_what_is_not_over_in_claim_order(base: BaseDir, filled: FileBus) -> None:
    assert listed(base) == [
        ("evt-test-high", "events/pending"),
        ("evt-test-low", "events/pending"),
        ("task-20260207-001", "tasks/pending"),
        ("task-20260207-002", "tasks/in_progress"),
        ("task-20260207-003", "tasks/dead"),
        ("msg-20260207-001", "messages/pending"),
        ("msg-20260207-002", "messages/pending"),
        ("task-20260207-001", "results/pending"),
    ]


def test_the_table_says_who_holds_it_and_what_went_wrong(base: BaseDir, filled: FileBus) -> None:
    said = kingdom("queue", "ls", base=base)
    rows = {line.split()[0]: line for line in said.lines[1:-1]}
    assert said.lines[0].split() == ["ID", "WHERE", "TYPE", "PRIORITY", "AGE", "TRIES", "NOTE"]
    assert rows["task-20260207-003"].endswith("network: The line went dead.")
    assert f"held by gen-pr (pid {os.getpid()})" in said.out
    assert " 1      network: The line went dead." in rows["msg-20260207-001"]
    assert said.lines[-1] == "Not listed: 1 event completed, 1 result handled."


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["tasks", "--state", "dead"], [("task-20260207-003", "tasks/dead")]),
        (["--state", "completed"], [("evt-test-done", "events/completed")]),
        (["results", "--state", "handled"], [("task-20260207-002", "results/handled")]),
        (["messages", "--state", "dead"], []),
    ],
    ids=str,
)
def test_it_lists_only_what_is_asked_for(
    base: BaseDir, filled: FileBus, words: list[str], expected: list[tuple[str, str]]
) -> None:
    assert listed(base, *words) == expected


def test_all_means_those_that_have_ended_too(base: BaseDir, filled: FileBus) -> None:
    everything = listed(base, "--all")
    assert len(everything) == 10
    assert ("evt-test-done", "events/completed") in everything
    assert "Not listed" not in kingdom("queue", "ls", "--all", base=base).out


def test_empty_queues_say_so(base: BaseDir) -> None:
    assert kingdom("queue", "ls", base=base).out == "The queues are empty.\n"
    assert listed(base) == []


def test_damaged_files_are_listed_with_what_is_wrong(base: BaseDir) -> None:
    drop(base, "events/pending", "evt-1.json", "{")
    drop(base, "events/pending", "evt-2.json", '{"id": "evt-3", "type": ["a"], "priority": 5}')
    drop(base, "events/pending", "no id.json", '{"id": "no id", "delivery": [1]}')
    drop(base, "events/pending", "evt-4.json", "[]")
    drop(base, "events/pending", "evt-5.json", b"\xff\xfe{\x00}\x00")
    os.symlink("/etc/passwd", base.path("queue/events/pending/evt-6.json"))
    os.mkfifo(base.path("queue/events/pending/evt-7.json"))
    os.mkdir(base.path("queue/events/pending/evt-8.json"))
    Path(base.path("queue/events/pending/.tmp-evt-9.json")).touch()
    found = json.loads(kingdom("queue", "ls", "--json", base=base).out)["messages"]
    assert {one["id"]: one["damaged"] for one in found} == {
        "evt-1": "not JSON",
        "evt-2": "the id inside is evt-3",
        "no id": "its name is not an id",
        "evt-4": "not a JSON object",
        "evt-5": "not JSON",
        "evt-6": "a symbolic link",
        "evt-7": "not a regular file",
        "evt-8": "not a regular file",
    }
    assert kingdom("queue", "ls", base=base).out.count("damaged: ") == 8


def test_show_finds_it_in_any_stream(base: BaseDir, filled: FileBus) -> None:
    said = kingdom("queue", "show", "evt-test-done", base=base)
    path = base.path("queue/events/completed/evt-test-done.json")
    assert said.out == f"{path}\n{Path(path).read_text()}"
    both = kingdom("queue", "show", "task-20260207-001", base=base)
    assert both.out.count("task-20260207-001.json\n") == 2, "the task and its result"
    one = json.loads(kingdom("queue", "show", "results/task-20260207-001", "--json", base=base).out)
    assert [(found["stream"], found["content"]["summary"]) for found in one] == [
        ("results", "done")
    ]


def test_show_tells_the_reason_beside_a_dead_file(base: BaseDir) -> None:
    drop(base, "events/dead", "evt-1.json", "{")
    Path(base.path("queue/events/dead/evt-1.json.reason.json")).write_text(
        '{"code": "not_json", "reason": "It is cut short."}'
    )
    said = kingdom("queue", "show", "evt-1", base=base)
    assert "not_json: It is cut short." in said.lines[1]
    assert said.lines[-4:] == ["{", '  "code": "not_json",', '  "reason": "It is cut short."', "}"]
    assert listed(base, "--state", "dead") == [("evt-1", "events/dead")]


@pytest.mark.parametrize(
    ("typed", "sentence"),
    [
        ("evt-test", "There is no message evt-test. Did you mean: evt-test-"),
        ("evt-tset-low", "There is no message evt-tset-low. Did you mean: evt-test-low"),
        ("nothing-like-it", "There is no message nothing-like-it. All of them: kingdom queue ls"),
        ("event/evt-test-low", "'event' is not a stream. There are: events,"),
        ("../../config/system", "'../../config' is not a stream."),
        ("", "There is no message ."),
    ],
)
def test_an_unknown_id_gets_a_suggestion(
    base: BaseDir, filled: FileBus, typed: str, sentence: str
) -> None:
    for verb in ("show", "retry", "drop"):
        said = kingdom("queue", verb, typed, base=base)
        assert one_sentence(said, said.code).startswith(sentence)
        assert said.code in (1, 2)


def test_retry_puts_a_dead_message_back_with_clean_counts(
    base: BaseDir, open_bus: OpenBus, clock: MovableClock
) -> None:
    bus = open_bus()
    bus.publish("tasks", task(1, custom="kept"))
    for _ in range(5):
        bus.retry(bus.claim("tasks", "gen-pr")[0], FAULT)
        clock.advance(400)
    assert counts(base) == {"tasks/dead": 1}
    said = kingdom("queue", "retry", "task-20260207-001", base=base)
    assert (said.code, said.out) == (0, "task-20260207-001 is pending again.\n")
    found = load(base, "tasks/pending", "task-20260207-001")
    assert (found["status"], found["custom"]) == ("pending", "kept")
    delivery = found["delivery"]
    assert (delivery["attempt_count"], delivery["crash_count"]) == (0, 0)
    assert not {"locked_by", "next_retry_at", "last_error_code", "processed_at"} & set(delivery)
    assert len(open_bus().claim("tasks", "gen-pr")) == 1, "it is due at once"


def test_only_dead_messages_are_retried(base: BaseDir, filled: FileBus) -> None:
    done = one_sentence(kingdom("queue", "retry", "evt-test-done", base=base), 1)
    assert done.startswith("evt-test-done is not dead, it lies in events/completed.")
    waiting = one_sentence(kingdom("queue", "retry", "evt-test-low", base=base), 1)
    assert waiting.startswith("evt-test-low is not dead, it lies in events/pending.")


def dead_file(base: BaseDir, name: str, content: str) -> Path:
    path = drop(base, "events/dead", name, content)
    Path(f"{path}.reason.json").write_text('{"code": "not_json", "reason": "It was bad."}')
    return path


def valid(id_: str) -> str:
    fields = {"id": id_, "type": "a.b", "source": "cli", "created_at": "2026-02-07T10:00:00Z"}
    return json.dumps(fields)


def test_an_invalid_file_is_retried_once_it_was_mended(base: BaseDir) -> None:
    path = dead_file(base, "evt-1.json", "{")
    refused = one_sentence(kingdom("queue", "retry", "evt-1", base=base), 1)
    assert f"{path}: it is not JSON" in refused
    assert refused.endswith("Mend the file where it lies, then: kingdom queue retry evt-1")
    path.write_text(valid("evt-1"))
    assert kingdom("queue", "retry", "evt-1", base=base).code == 0
    assert os.listdir(path.parent) == []
    assert load(base, "events/pending", "evt-1")["status"] == "pending"


def test_a_misnamed_file_is_retried_under_the_id_inside(base: BaseDir) -> None:
    path = dead_file(base, "my event.json", valid("evt-1"))
    said = kingdom("queue", "retry", "my event", base=base)
    assert said.out == "evt-1 is pending again.\n"
    assert counts(base) == {"events/pending": 1}
    assert os.listdir(path.parent) == []


def test_a_copy_is_not_retried_while_the_other_is_known(base: BaseDir, bus: FileBus) -> None:
    bus.publish("events", event("1"))
    dead_file(base, "evt-test-1~2.json", valid("evt-test-1"))
    refused = one_sentence(kingdom("queue", "retry", "evt-test-1~2", base=base), 1)
    assert refused.startswith("The id inside evt-test-1~2.json, evt-test-1, is known already.")
    assert len(os.listdir(base.path("queue/events/dead"))) == 2


def test_a_copy_that_kept_its_name_is_not_retried_either(base: BaseDir, bus: FileBus) -> None:
    bus.publish("events", event("1"))
    dead_file(base, "evt-test-1.json", valid("evt-test-1"))
    before = load(base, "events/pending", "evt-test-1")
    refused = one_sentence(kingdom("queue", "retry", "evt-test-1", base=base), 1)
    assert refused.startswith("The id inside evt-test-1.json, evt-test-1, is known already.")
    assert load(base, "events/pending", "evt-test-1") == before


def test_a_wrong_file_of_another_role_does_not_keep_anybody_from_it(
    base: BaseDir, filled: FileBus
) -> None:
    local = Path(base.path("config", "local"))
    local.mkdir(parents=True, exist_ok=True)
    (local / "chamberlain.yaml").write_text("thresholds: [\n")
    said = kingdom("queue", "drop", "evt-test-low", base=base)
    assert (said.code, said.err.count("\n")) == (0, 1)
    assert "config/local/chamberlain.yaml" in said.err
    (local / "system.yaml").write_text("timezone: [\n")
    assert "system.yaml" in one_sentence(kingdom("queue", "retry", "evt-test-low", base=base), 2)


def test_drop_moves_to_dead_and_retry_brings_back(base: BaseDir, filled: FileBus) -> None:
    said = kingdom("queue", "drop", "evt-test-low", base=base)
    assert (said.code, said.out) == (0, "evt-test-low lies in events/dead now.\n")
    found = load(base, "events/dead", "evt-test-low")
    assert (found["status"], found["delivery"]["last_error_code"]) == ("dead", "dropped")
    again = one_sentence(kingdom("queue", "drop", "evt-test-low", base=base), 1)
    assert again.startswith("evt-test-low lies in events/dead: nobody will handle it any more.")
    assert kingdom("queue", "retry", "evt-test-low", base=base).code == 0


def dispatched(bus: FileBus) -> None:
    bus.publish("events", event("1"))
    (claim,) = bus.claim("events", "king")
    made = {"task_id": "task-20260207-001"}
    bus.commit([Move(claim, "dispatched", fields=made)], [New("tasks", task(1))])


def test_drop_refuses_an_event_whose_task_has_not_ended(base: BaseDir, bus: FileBus) -> None:
    dispatched(bus)
    refused = kingdom("queue", "drop", "evt-test-1", base=base)
    assert one_sentence(refused, 1) == (
        "evt-test-1 became task-20260207-001, which has not ended. "
        "End that instead: kingdom cancel task-20260207-001"
    )
    (claim,) = bus.claim("tasks", "gen-pr")
    assert kingdom("queue", "drop", "evt-test-1", base=base) == refused, "it is at work"
    assert counts(base) == {"events/dispatched": 1, "tasks/in_progress": 1}
    bus.commit([Move(claim, "completed")])
    assert kingdom("queue", "drop", "evt-test-1", base=base).code == 0
    assert counts(base) == {"events/dead": 1, "tasks/completed": 1}


def test_what_was_dropped_is_told_to_whoever_asks(base: BaseDir, bus: FileBus) -> None:
    bus.publish("events", event("1", trace_id="a" * 32))
    drop(base, "events/pending", "evt-2.json", "{")
    for id_, trace_id in (("evt-test-1", "a" * 32), ("evt-2", None)):
        assert kingdom("queue", "drop", id_, base=base).code == 0
        told = internal(base, "queue.buried")[-1]
        assert (told["actor"], told.get("trace_id")) == ("operator", trace_id)
        assert told["data"] == {
            "stream": "events",
            "id": id_,
            "code": "dropped",
            "reason": "An operator dropped it.",
        }
        said = kingdom("trace", id_, base=base)
        assert "buried: An operator dropped it." in said.out
        assert "operator" in said.out


def test_a_log_that_cannot_be_written_does_not_keep_it_from_being_dropped(
    base: BaseDir, bus: FileBus
) -> None:
    bus.publish("events", event("1"))
    os.makedirs(base.events_log)
    said = kingdom("queue", "drop", "evt-test-1", base=base)
    assert (said.code, said.err) == (0, "")
    assert counts(base) == {"events/dead": 1}


def test_drop_refuses_what_a_living_worker_holds(base: BaseDir, open_bus: OpenBus) -> None:
    bus = open_bus(clock=SystemClock())
    bus.publish("tasks", task(1))
    (claim,) = bus.claim("tasks", "gen-pr")
    refused = one_sentence(kingdom("queue", "drop", "task-20260207-001", base=base), 1)
    holder = f"gen-pr (pid {os.getpid()} on {os.uname().nodename})"
    assert refused.startswith(f"task-20260207-001 is in the hands of {holder} until 20")
    bus.commit([Move(claim, "completed")])  # it was not disturbed


def test_drop_takes_from_the_dead(base: BaseDir, open_bus: OpenBus) -> None:
    open_bus().publish("tasks", task(1))
    claim_and_die(base, "tasks", "gen-pr", "task-20260207-001")
    assert "was held by gen-pr" in kingdom("queue", "ls", base=base).out
    assert kingdom("queue", "drop", "task-20260207-001", base=base).code == 0
    assert counts(base) == {"tasks/dead": 1}


def test_a_damaged_file_can_be_dropped(base: BaseDir) -> None:
    drop(base, "events/pending", "evt-1.json", "{")
    drop(base, "events/pending", "no id.json", "{}")
    for name in ("evt-1", "no id"):
        assert kingdom("queue", "drop", name, base=base).code == 0
        reason = base.path("queue/events/dead", f"{name}.json.reason.json")
        assert json.loads(Path(reason).read_text())["code"] == "dropped"


def test_an_id_in_two_places_is_settled_first(base: BaseDir) -> None:
    drop(base, "events/pending", "evt-1.json", valid("evt-1"))
    drop(base, "events/dead", "evt-1.json", valid("evt-1"))
    refused = one_sentence(kingdom("queue", "retry", "evt-1", base=base), 1)
    assert refused == "evt-1 lies in two places of one stream. Settle it with: kingdom fsck --fix"


def test_a_task_and_its_result_are_told_apart_by_the_stream(base: BaseDir, bus: FileBus) -> None:
    bus.publish("tasks", task(1))
    bus.publish("results", result(1))
    refused = one_sentence(kingdom("queue", "drop", "task-20260207-001", base=base), 2)
    assert "kingdom queue drop tasks/task-20260207-001 or kingdom queue drop results/" in refused
    assert kingdom("queue", "drop", "results/task-20260207-001", base=base).code == 0
    assert listed(base) == [
        ("task-20260207-001", "tasks/pending"),
        ("task-20260207-001", "results/dead"),
    ]
    assert kingdom("queue", "retry", "task-20260207-001", base=base).code == 0
    assert ("task-20260207-001", "results/pending") in listed(base)


def test_a_deferred_message_says_when_it_is_due(base: BaseDir, bus: FileBus) -> None:
    bus.publish("tasks", task(1, not_before=SystemClock().now() + timedelta(hours=2, seconds=30)))
    assert "due in 2h" in kingdom("queue", "ls", base=base).out
