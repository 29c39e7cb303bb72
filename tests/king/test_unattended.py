"""Tasks that nobody is at: they keep no soldier busy, and end though their general is gone."""

from __future__ import annotations

import shutil
from datetime import timedelta

from kingdom.bus.port import Move
from tests.king.test_petitions import NEXT, TASK, command, ended
from tests.support.court import Court
from tests.support.kingdom import event, files, result

INTERVAL = 11.0  # more than the king's polling interval


def let_rest(court: Court, task_id: str, seconds: float) -> None:
    """As its general does after an attempt that failed."""
    (claim,) = court.bus.claim("tasks", "gen-pr", ids=[task_id])
    later = court.clock.now() + timedelta(seconds=seconds)
    court.bus.commit([Move(claim, "pending", fields={"retry_count": 1, "not_before": later})])


def test_a_task_that_waits_to_be_tried_again_keeps_no_soldier_busy(court: Court) -> None:
    court.soldiers(1)
    king = court.king()
    court.send(event("1"), event("2"))
    king.step()
    assert len(files(court.base)["tasks/pending"]) == 1
    let_rest(court, TASK, 3600)
    court.clock.advance(INTERVAL)
    king.step()
    court.clock.advance(1)
    king.step()
    assert len(files(court.base)["tasks/pending"]) == 2
    court.report(result(2))
    king.step()
    court.clock.advance(3600)
    king.step()  # the first is due again, and counts
    court.send(event("3"))
    king.step()
    assert files(court.base)["events/pending"] == ["evt-test-3"]


def test_a_task_of_a_general_that_is_gone_can_be_cancelled(court: Court) -> None:
    king = court.king()
    court.send(event("1"))
    king.step()
    shutil.rmtree(court.base.path("config", "generals", "gen-pr"))
    court.clock.advance(2)
    court.send(command("cancel", task_id=TASK))
    king.step()
    for _ in range(3):
        court.clock.advance(INTERVAL)
        king.step()
    assert court.event("evt-test-1")["status"] == "failed"
    assert court.state("tasks", TASK) == "completed"
    assert court.all("tasks")[0]["status"] == "cancelled"
    assert court.all("messages")[-1]["context"] == {"final": True}


def test_a_task_is_not_tried_again_while_that_is_done_already(court: Court) -> None:
    king = court.king()
    court.send(event("1"))
    king.step()
    court.report(result())
    court.send(command("retry", "1", task_id=TASK))
    king.step()
    court.send(again := command("retry", "2", task_id=TASK))
    king.step()
    status, reason = ended(court, again)
    assert (status, NEXT in reason) == ("failed", True)
    assert len(court.all("tasks")) == 2
    court.report(result(2))
    king.step()
    court.send(once_more := command("retry", "3", task_id=TASK))
    king.step()
    assert ended(court, once_more)[0] == "completed"
