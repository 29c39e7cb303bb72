"""A Slack that takes connections and does not answer: no step of the envoy waits for it twice."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.support.envoy import TASK, publish, question
from tests.support.kingdom import MovableClock, counts, message
from tests.support.slack_life import texts
from tests.support.slack_scene import STRANGER, Scene
from tests.support.slack_server import Fault
from tests.support.slack_workspace import BOT

MOST = (
    2  # requests in a step: the one that was not answered, and the one that asks if Slack is well
)


@pytest.mark.parametrize("silent", [".*", "(?!api.test).*"], ids=["all", "well otherwise"])
def test_a_step_waits_for_slack_no_more_than_once(
    polled: Scene, clock: MovableClock, silent: str
) -> None:
    """There is to be sent, to be shown as closed, to be looked for, and someone to be judged."""
    server, base = polled.server, polled.base
    server.groups["S0TEAM"] = [STRANGER]
    polled.begin(allowed=("S0TEAM",))
    polled.ask(options=["main", "next"], default="next", expires_at=clock.now() + timedelta(60))
    due = clock.now() + timedelta(minutes=1)
    for number in range(3, 8):
        task = f"task-20260207-00{number}"
        publish(base, question(number, task_id=task, default="main", expires_at=due))
        polled.life.go()
    server.faults.append(Fault(silent, lost="before", left=1_000_000))
    server.said("C0KINGDOM", f"<@{BOT}> look", user=STRANGER)
    publish(base, *(message(number, task_id=TASK) for number in range(11, 16)))
    publish(base, message(16, task_id="task-20260207-010", context={"answers": TASK}))
    received: list[str] = []
    server.hook = lambda stage, method: received.append(method) if stage == "received" else None
    for _ in range(20):
        clock.advance(130)
        received.clear()
        polled.life.envoy.step()
        assert len(received) <= MOST, received
    received.clear()
    polled.begin()
    assert len(received) <= 2 * MOST, "also when it starts"
    assert counts(base).get("messages/dead", 0) == 0
    server.faults.clear()
    for _ in range(20):
        clock.advance(400)
        polled.life.go()
    assert counts(base)["messages/sent"] == 13
    assert len(polled.events()) == 6
    assert "Nobody needs to answer this any more." in texts(server)[1]
