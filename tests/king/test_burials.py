"""Whatever comes to lie in a `dead/` is told of once, whoever put it there."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from kingdom.bus.port import Problem
from kingdom.king.daemon import King
from tests.support.calls import in_child
from tests.support.court import Court
from tests.support.kingdom import drop, event, files, message, task

INTERVAL = 11.0
GONE = "king@{host}/0.0/4194304/1"  # a worker of another boot


def buried(court: Court) -> list[dict[str, Any]]:
    return [one["data"] for one in court.told("queue.buried")]


def looks(court: Court, king: King | None, *, lives: int = 2) -> None:
    """This king, then others, one after the other."""
    for number in range(lives + 1):
        one = king if number == 0 else court.king()
        for _ in range(2):
            court.clock.advance(INTERVAL)
            if one is not None:
                one.step()


def bury(court: Court, stream: str, id_: str, code: str = "failed_too_often") -> None:
    (claim,) = court.bus.claim(stream, "worker", ids=[id_])
    court.bus.bury(claim, Problem(code, "It cannot be."))


@pytest.mark.provokes("queue.buried")
def test_an_event_that_kills_every_king_is_told_of(court: Court) -> None:
    """The bus buries it as the next one claims: no king ever has it in hand."""
    court.king()
    content = json.loads(event(trace_id="b" * 32).to_json())
    holder = GONE.format(host=os.uname().nodename)
    content["delivery"] = {"revision": 9, "crash_count": 99, "locked_by": holder,
                           "locked_until": "2026-02-07T10:00:01Z"}  # fmt: skip
    drop(court.base, "events/pending", "evt-test-1.json", json.dumps(content))
    looks(court, None)
    (told,) = court.told("queue.buried")
    assert told["data"]["code"] == "crashed_too_often"
    assert (told["data"]["stream"], told["data"]["id"]) == ("events", "evt-test-1")
    assert (told["actor"], told["trace_id"]) == ("king", "b" * 32)


def test_a_file_that_is_no_message_is_told_of_with_the_reason_beside_it(court: Court) -> None:
    king = court.king()
    drop(court.base, "events/pending", "evt-x.json", "not JSON")
    looks(court, king)
    assert files(court.base)["events/dead"] == ["evt-x"]
    (told,) = buried(court)
    assert (told["stream"], told["id"], told["code"]) == ("events", "evt-x", "not_json")
    assert "not JSON" in told["reason"]


@pytest.mark.parametrize("away", [False, True], ids=["there", "away"])
def test_what_other_roles_bury_is_told_of_once(court: Court, away: bool) -> None:
    king = court.king()
    court.bus.publish("tasks", task(7))
    court.bus.publish("messages", message(1), message(2))
    bury(court, "tasks", "task-20260207-007", "crashed_too_often")
    bury(court, "messages", "msg-20260207-001", "crashed_too_often")
    bury(court, "messages", "msg-20260207-002", "no_such_channel")  # the envoy tells of that one
    looks(court, None if away else king)
    assert [(one["stream"], one["id"]) for one in buried(court)] == [
        ("messages", "msg-20260207-001"),
        ("tasks", "task-20260207-007"),
    ]


def test_what_an_operator_dropped_was_told_of_by_that_one(court: Court) -> None:
    king = court.king()
    court.send(event())
    bury(court, "events", "evt-test-1", "dropped")
    looks(court, king)
    assert buried(court) == []


def test_what_was_there_before_anybody_looked_is_old_news(court: Court) -> None:
    court.send(event())
    bury(court, "events", "evt-test-1")
    looks(court, None)
    assert buried(court) == []


def test_one_put_back_and_buried_again_is_told_of_again(court: Court) -> None:
    king = court.king()
    court.bus.publish("tasks", task(7))
    for _ in range(2):
        bury(court, "tasks", "task-20260207-007")
        looks(court, king, lives=0)
        place = court.base.path("queue/tasks")
        os.rename(f"{place}/dead/task-20260207-007.json", f"{place}/pending/task-20260207-007.json")
        looks(court, king, lives=0)
    assert len(buried(court)) == 2


def test_what_someone_moved_there_and_strange_names_and_contents(court: Court) -> None:
    king = court.king()
    dead = Path(court.base.path("queue/messages/dead"))
    for name in ("empty.json", "list.json", "n\udc80.json"):
        (dead / name).write_text({"list.json": "[1]"}.get(name, ""))
    (dead / "odd.json").write_text('{"delivery": 7, "trace_id": 7}')
    (dead / "odd.json.reason.json").write_text('["x"]')
    (dead / ".tmp-1-1-1").write_text("")
    os.symlink("nowhere", dead / "link.json")
    os.mkdir(dead / "directory.json")
    looks(court, king)
    told = buried(court)
    assert sorted(one["id"] for one in told) == [
        "directory", "empty", "link", "list", "n\\udc80", "odd"
    ]  # fmt: skip
    assert {one["code"] for one in told} == {"unexplained"}


def test_many_at_once_are_told_of_each_once(court: Court) -> None:
    king = court.king()
    dead = Path(court.base.path("queue/tasks/dead"))
    for number in range(250):
        (dead / f"x-{number}.json").write_text("")
    for _ in range(5):  # at one moment: those left over wait for no interval
        king.step()
    assert len({one["id"] for one in buried(court)}) == len(buried(court)) == 250


def test_a_king_killed_while_it_tells_passes_none_over(court: Court) -> None:
    """A line may come twice, for each life that was killed just after it; none is missing."""
    court.king()
    dead = Path(court.base.path("queue/tasks/dead"))
    for number in range(3):
        (dead / f"x-{number}.json").write_text("")

    def dies_telling() -> None:
        king = court.king()
        log = os.path.getsize(court.base.events_log) if os.path.exists(court.base.events_log) else 0
        signal.signal(signal.SIGALRM, lambda *_: grown(log))
        signal.setitimer(signal.ITIMER_REAL, 0.0001, 0.0001)
        king.step()

    def grown(before: int) -> None:
        path = court.base.events_log
        if os.path.exists(path) and os.path.getsize(path) > before:
            os.kill(os.getpid(), signal.SIGKILL)

    in_child(dies_telling)
    looks(court, None)
    assert {one["id"] for one in buried(court)} == {"x-0", "x-1", "x-2"}
    assert len(buried(court)) <= 6
    before = len(buried(court))
    looks(court, None)
    assert len(buried(court)) == before
