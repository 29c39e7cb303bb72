"""Whatever somebody puts into a queue: that file only, a reason, nothing lost."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from kingdom.bus.files.bus import FileBus
from kingdom.bus.port import Move
from kingdom.store.paths import BaseDir
from tests.support.kingdom import MovableClock, drop, event, files, load

OpenBus = Callable[..., FileBus]
GOOD = json.loads(event("good").to_json())


def judge(bus: FileBus, clock: MovableClock) -> list[str]:
    """Two looks, more than two seconds apart; answers what could be claimed."""
    claimed = bus.claim("events", "king", 50)
    clock.advance(2.1)
    claimed += bus.claim("events", "king", 50)
    bus.commit([Move(claim, "dispatched") for claim in claimed])
    return [claim.id for claim in claimed]


def test_who_is_told_of_nothing_judges_after_two_seconds_as_well(
    bus: FileBus, base: BaseDir, clock: MovableClock
) -> None:
    bus.wait(["events"], 0)
    bus._view.watch.close()
    drop(base, "events/pending", "evt-bad.json", "{half")
    for _ in range(9):  # each time it looks at everything anew
        clock.advance(0.3)
        assert bus.claim("events", "king") == []
    assert files(base)["events/dead"] == ["evt-bad"]


def reason(base: BaseDir, name: str) -> dict[str, str]:
    text = Path(base.path("queue/events/dead", f"{name}.reason.json")).read_text("utf-8")
    found: dict[str, str] = json.loads(text)
    assert found["reason"]
    assert found["remedy"]
    return found


DEEP = '{"id": "evt-bad", "payload": ' + "[" * 100_000 + "]" * 100_000 + "}"

CONTENTS = {
    "empty": (b"", "not_json"),
    "only white space": (b" \n ", "not_json"),
    "truncated": (json.dumps(GOOD | {"id": "evt-bad"})[:60].encode(), "not_json"),
    "not an object": (b'["evt-bad"]', "not_json"),
    "deeply nested": (DEEP.encode(), "too_deep"),
    "another encoding": ('{"id": "évènement"}'.encode("latin-1"), "not_utf8"),
    "sixteen bits": ('{"id": "evt-bad"}'.encode("utf-16"), "not_utf8"),
    "a NUL byte": (b'{"id": "evt-\0bad"}', "not_json"),
    "nothing but NUL bytes": (bytes(300), "not_json"),
    "another id": (json.dumps(GOOD | {"id": "evt-other"}).encode(), "id_mismatch"),
    "a path for an id": (json.dumps(GOOD | {"id": "../evt-bad"}).encode(), "bad_id"),
    "a line break in the id": (json.dumps(GOOD | {"id": "evt-bad\n"}).encode(), "bad_id"),
    "a lookalike in the id": (json.dumps(GOOD | {"id": "еvt-bad"}).encode(), "bad_id"),
    "a number for an id": (json.dumps(GOOD | {"id": 7}).encode(), "invalid_field"),
    "no type": (json.dumps({"id": "evt-bad", "source": "x"}).encode(), "invalid_field"),
    "a time without a zone": (
        json.dumps(GOOD | {"id": "evt-bad", "created_at": "2026-02-07T10:00:00"}).encode(),
        "invalid_field",
    ),
    "a negative count": (
        json.dumps(GOOD | {"id": "evt-bad", "delivery": {"revision": -1}}).encode(),
        "invalid_field",
    ),
    "a newer format": (
        json.dumps(GOOD | {"id": "evt-bad", "schema_version": 99}).encode(),
        "newer_format",
    ),
}


@pytest.mark.parametrize("name", CONTENTS)
def test_bad_content_goes_to_dead_as_it_is_and_the_rest_goes_on(
    name: str, bus: FileBus, base: BaseDir, clock: MovableClock
) -> None:
    content, code = CONTENTS[name]
    drop(base, "events/pending", "evt-bad.json", content)
    bus.publish("events", event("good"))
    assert judge(bus, clock) == ["evt-test-good"]
    assert reason(base, "evt-bad.json")["code"] == code
    assert Path(base.path("queue/events/dead/evt-bad.json")).read_bytes() == content
    assert "events/pending" not in files(base)


@pytest.mark.parametrize(
    "name", ["evt bad.json", "evt\nbad.json", "еvt-bad.json", "..json", "-rf.json", "a..b.json"]
)
def test_a_name_that_is_no_id_goes_to_dead(
    name: str, bus: FileBus, base: BaseDir, clock: MovableClock
) -> None:
    drop(base, "events/pending", name, json.dumps(GOOD))
    bus.publish("events", event("good"))
    assert judge(bus, clock) == ["evt-test-good"]
    if name.startswith("."):
        assert name in os.listdir(base.path("queue/events/pending"))  # hidden: nobody's business
    else:
        assert reason(base, name)["code"] == "bad_id"


def test_a_very_large_file_is_never_read(bus: FileBus, base: BaseDir, clock: MovableClock) -> None:
    path = drop(base, "events/pending", "evt-bad.json", "{")
    os.truncate(path, 100 * 1024 * 1024)
    bus.publish("events", event("good"))
    assert judge(bus, clock) == ["evt-test-good"]
    assert reason(base, "evt-bad.json")["code"] == "too_large"
    assert Path(base.path("queue/events/dead/evt-bad.json")).stat().st_size == 100 * 1024 * 1024


def test_things_that_are_not_files_go_to_dead(
    bus: FileBus, base: BaseDir, clock: MovableClock
) -> None:
    pending = Path(base.path("queue/events/pending"))
    outside = Path(base.path("outside.json"))
    outside.write_text(json.dumps(GOOD | {"id": "evt-link"}))
    (pending / "evt-link.json").symlink_to(outside)
    (pending / "evt-directory.json").mkdir()
    (pending / "evt-directory.json" / "inside").touch()
    os.mkfifo(pending / "evt-pipe.json")
    bus.publish("events", event("good"))
    assert judge(bus, clock) == ["evt-test-good"]
    codes = {n: reason(base, f"evt-{n}.json")["code"] for n in ("link", "directory", "pipe")}
    assert codes == {"link": "symlink", "directory": "not_a_file", "pipe": "not_a_file"}
    assert outside.exists()
    assert Path(base.path("queue/events/dead/evt-directory.json/inside")).exists()


def test_one_still_being_copied_is_waited_for(
    bus: FileBus, base: BaseDir, clock: MovableClock
) -> None:
    text = event("slow").to_json()
    with open(base.path("queue/events/pending/evt-test-slow.json"), "wb") as copy:
        for start in range(0, len(text), 40):
            copy.write(text[start : start + 40])
            copy.flush()
            assert bus.claim("events", "king") == [] or start + 40 >= len(text)
            clock.advance(1.5)  # three such steps are longer than the patience with a still file
    clock.advance(1)
    bus.claim("events", "king")
    assert files(base).get("events/dead") is None
    assert load(base, "events/pending", "evt-test-slow")["delivery"]["locked_by"]


def test_what_was_dropped_by_hand_is_claimed_like_any_other(
    bus: FileBus, base: BaseDir, clock: MovableClock
) -> None:
    assert bus.claim("events", "king") == []
    plain = {
        "id": "evt-by-hand",
        "type": "github.pr.comment",
        "source": "me",
        "created_at": "2026-02-07T19:00:00+09:00",
        "note": {"kept": None},
    }
    drop(base, "events/pending", "evt-by-hand.json", json.dumps(plain))
    assert judge(bus, clock) == ["evt-by-hand"]
    found = load(base, "events/dispatched", "evt-by-hand")
    assert found["note"] == {"kept": None}
    assert found["created_at"] == "2026-02-07T10:00:00.000Z"
    assert found["status"] == "dispatched"


def test_one_moved_back_by_hand_is_handled_again_and_its_status_mended(
    bus: FileBus, base: BaseDir, clock: MovableClock
) -> None:
    bus.publish("events", event("1"))
    judge(bus, clock)
    os.rename(
        base.path("queue/events/dispatched/evt-test-1.json"),
        base.path("queue/events/pending/evt-test-1.json"),
    )
    assert judge(bus, clock) == ["evt-test-1"]
    assert load(base, "events/dispatched", "evt-test-1")["status"] == "dispatched"


def test_a_copy_of_a_known_id_is_a_duplicate(
    bus: FileBus, base: BaseDir, clock: MovableClock
) -> None:
    bus.publish("events", event("1"))
    judge(bus, clock)
    original = Path(base.path("queue/events/dispatched/evt-test-1.json")).read_text()
    drop(base, "events/pending", "evt-test-1.json", original)
    assert judge(bus, clock) == []
    assert reason(base, "evt-test-1.json")["code"] == "duplicate_id"
    assert files(base)["events/dispatched"] == ["evt-test-1"]


def test_a_second_bad_file_of_the_same_name_does_not_replace_the_first(
    bus: FileBus, base: BaseDir, clock: MovableClock
) -> None:
    for content in ("{first", "{second"):
        drop(base, "events/pending", "evt-bad.json", content)
        judge(bus, clock)
    dead = Path(base.path("queue/events/dead"))
    kept = {
        path.name: path.read_text() for path in dead.glob("evt-bad*") if "reason" not in path.name
    }
    assert kept == {"evt-bad.json": "{first", "evt-bad~2.json": "{second"}
    assert len(list(dead.glob("*.reason.json"))) == 2


def test_a_file_in_the_way_of_a_commit_is_moved_aside(bus: FileBus, base: BaseDir) -> None:
    bus.publish("events", event("1"))
    (claim,) = bus.claim("events", "king")
    drop(base, "events/completed", "evt-test-1.json", "somebody's notes")
    bus.commit([Move(claim, "completed")])
    assert load(base, "events/completed", "evt-test-1")["status"] == "completed"
    assert Path(base.path("queue/events/dead/evt-test-1.json")).read_text() == "somebody's notes"


def test_a_clock_that_goes_back_loses_and_repeats_nothing(
    bus: FileBus, base: BaseDir, clock: MovableClock
) -> None:
    from datetime import timedelta

    bus.publish("events", event("1"), event("2"))
    (held,) = bus.claim("events", "king", ids=["evt-test-1"])
    clock.set_wall(clock.now() - timedelta(days=365))
    assert [claim.id for claim in bus.claim("events", "king", 5)] == ["evt-test-2"]
    bus.commit([Move(held, "dispatched")])
    assert files(base)["events/dispatched"] == ["evt-test-1"]


def test_temporary_and_other_names_are_left_alone(
    bus: FileBus, base: BaseDir, clock: MovableClock
) -> None:
    for name in (".tmp-123-evt.json", "evt-1.json.part", "README.md", ".evt-2.json.swp"):
        drop(base, "events/pending", name, "{half")
    assert judge(bus, clock) == []
    assert len(os.listdir(base.path("queue/events/pending"))) == 4


def test_other_files_of_a_task_beside_its_result_are_no_results(
    bus: FileBus, base: BaseDir, clock: MovableClock
) -> None:
    one = "task-20260207-001"
    for name in (f"{one}-raw.json", f"{one}-checkpoint.json", f"{one}-soldier-id"):
        drop(base, "results", name, "whatever")
    assert bus.claim("results", "king", 5) == []
    clock.advance(3)
    assert bus.claim("results", "king", 5) == []
    assert len(os.listdir(base.path("state/results"))) == 4  # and dead/
