"""Hostile files in every place of a kingdom that runs, and of one that starts: each costs itself.

What cannot be read ends in `dead/` with its reason and is told of once; what is only odd is
handled; and no role falls over.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kingdom.ops.init import init
from kingdom.ops.stopping import end_soldiers
from kingdom.store.paths import BaseDir
from kingdom.topology import DEAD
from tests.support.cli import environment, kingdom
from tests.support.hostile import REFUSED, TAKEN, Spoil
from tests.support.kingdom import drop, event, files, message, result, task
from tests.support.puppets import ended_afterwards
from tests.support.waiting import eventually

MANIFEST = "name: gen-trial\ndescription: Tries.\nsubscribes: [trial.*]\n"
NEVER = "2026-01-01T00:00:00Z"
# There a delivery is left out, and the name need not be the id.
NO_MATTER_IN_INBOX = ("many-writes", "below-zero", "another-id")


@pytest.fixture
def realm(base: BaseDir) -> Iterator[BaseDir]:
    init(base)
    for path in sorted(Path(base.path("config", "generals")).rglob("*"), reverse=True):
        path.unlink() if path.is_file() else path.rmdir()
    package = Path(base.path("config", "generals", "gen-trial"))
    package.mkdir(parents=True)
    (package / "prompt.md").write_text("Do {{TASK_TYPE}}: {{payload.title}}\n")
    (package / "manifest.yaml").write_text(MANIFEST)
    local = Path(base.path("config", "local"))
    (local / "system.yaml").write_text("timezone: Asia/Seoul\nruntime: {engine: rehearsal}\n")
    (local / "king.yaml").write_text(
        "concurrency: {max_soldiers: 12}\npolling: {interval_seconds: 1}\n"
    )
    with ended_afterwards(base):
        yield base
    end_soldiers(base, environment())


class Batch:
    """Files put everywhere at one time; numbers tell those of one batch from the next."""

    def __init__(self, base: BaseDir, number: int) -> None:
        self._base = base
        self._number = number
        self.dead: list[tuple[str, str]] = []  # stream, id
        self.ends: list[tuple[str, str]] = []  # where it ends, id

    def put_everywhere(self) -> None:
        for name, spoil in REFUSED.items():
            for place in ("events/pending", "events/dispatched", "inbox"):
                if place != "inbox" or name not in NO_MATTER_IN_INBOX:
                    self._put(place, "events", f"evt-{name}-{place.replace('/', '-')}", spoil)
            for place in ("tasks/pending", "tasks/in_progress"):
                self._put(place, "tasks", f"trial-{name}-{place.partition('/')[2]}", spoil)
            self._put("messages/pending", "messages", f"msg-{name}", spoil)
        for number, spoil in enumerate(REFUSED.values(), 100):
            self._put("results", "results", f"task-2026010{self._number}-{number}", spoil)
        for name, spoil in TAKEN.items():
            self._put("events/pending", "events", f"evt-{name}", spoil, "events/completed")
            self._put("inbox", "events", f"evt-in-{name}", spoil, "events/completed")
            self._put("messages/pending", "messages", f"msg-{name}", spoil, "messages/sent")
        self._put_what_is_no_file()
        self._put_wishes()

    def _put(self, place: str, stream: str, name: str, spoil: Spoil, end: str = "") -> None:
        id_ = name if stream == "results" else f"{name}-{self._number}"
        content = spoil(RECORDS[stream](id_))
        if place == "inbox":
            part = Path(self._base.path("queue", f"{id_}.part"))
            part.write_bytes(content)
            part.rename(self._base.path("queue", "inbox", f"{id_}.json"))
        else:
            drop(self._base, place, f"{id_}.json", content)
        self._expect(stream, id_, end)

    def _expect(self, stream: str, id_: str, end: str = "") -> None:
        (self.ends if end else self.dead).append((end or stream, id_))

    def _put_what_is_no_file(self) -> None:
        for stream in ("events", "tasks", "messages"):
            place = Path(self._base.path("queue", stream, "pending"))
            names = {kind: f"{kind} {stream} {self._number}\n\x1b" for kind in ("a", "b", "c")}
            os.mkfifo(place / f"{names['a']}.json")
            os.mkdir(place / f"{names['b']}.json")
            os.symlink("/nowhere", place / f"{names['c']}.json")
            for name in names.values():
                self._expect(stream, name)

    def _put_wishes(self) -> None:
        control = Path(self._base.control)
        control.mkdir(exist_ok=True)
        Path(control, f"task-none-{self._number}.cancel").write_bytes(b"\xff")
        Path(control, f"\udcff {self._number}.freeze").write_bytes(b"")

    def left(self) -> dict[str, str]:
        """What has not come to its end, and where it lies."""
        found = files(self._base)
        found["results/dead"] = [path.stem for path in Path(self._base.results, DEAD).iterdir()]
        lying = {id_: place for place, ids in found.items() for id_ in ids}
        wanted = [*((f"{stream}/dead", id_) for stream, id_ in self.dead), *self.ends]
        return {id_: lying.get(id_, "") for place, id_ in wanted if lying.get(id_) != place}


def record_of_event(id_: str) -> dict[str, Any]:
    return dict(json.loads(event(id=id_, type="trial.work", repo="acme/web").to_json()))


def record_of_task(id_: str) -> dict[str, Any]:
    return dict(json.loads(task(id=id_, target_general="gen-trial").to_json()))


def record_of_message(id_: str) -> dict[str, Any]:
    return dict(json.loads(message(id=id_).to_json()))


def record_of_result(id_: str) -> dict[str, Any]:
    return dict(json.loads(result(task_id=id_).to_json())) | {"created_at": NEVER}


RECORDS = {
    "events": record_of_event,
    "tasks": record_of_task,
    "messages": record_of_message,
    "results": record_of_result,
}


def told_of(base: BaseDir) -> Counter[tuple[str, str]]:
    lines = [json.loads(line) for line in Path(base.events_log).read_text().splitlines() if line]
    buried = (one["data"] for one in lines if one["type"] == "queue.buried")
    return Counter((one["stream"], one["id"]) for one in buried)


def reason_beside(base: BaseDir, stream: str, id_: str) -> dict[str, Any]:
    root = "state/results" if stream == "results" else f"queue/{stream}"
    text = Path(base.path(root, "dead", f"{id_}.json.reason.json")).read_text("utf-8")
    return dict(json.loads(text))


def test_each_costs_itself_and_is_told_of_once(realm: BaseDir) -> None:
    before, later = batches = [Batch(realm, number) for number in (1, 2)]
    before.put_everywhere()
    assert kingdom("start", base=realm).code == 0
    later.put_everywhere()
    for batch in batches:
        eventually(lambda: not batch.left(), "each ends", told=lambda: str(batch.left()))  # noqa: B023
    expected = Counter(one for batch in batches for one in batch.dead)
    eventually(lambda: not expected - told_of(realm), "each is told of")
    assert told_of(realm) == expected
    found = json.loads(kingdom("status", "--json", base=realm).out)
    assert {(one["state"], one["restarts"]) for one in found["roles"]} == {("up", 0)}
    assert [one["waits"] for one in found["roles"] if one["waits"]] == []
    assert (found["failed"], found["broken_duties"]) == ([], {})
    assert kingdom("stop", base=realm).code == 0
    for stream, id_ in expected:
        told = reason_beside(realm, stream, id_)
        assert told["code"], told["reason"]
    assert "handling.failed" not in Path(realm.system_log).read_text("utf-8")
    assert kingdom("fsck", base=realm).code == 0
