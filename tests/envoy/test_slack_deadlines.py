"""A default is taken when nobody answered in time, and never over an answer that was."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from kingdom.store.paths import BaseDir
from tests.support.envoy import Life, publish, question
from tests.support.kingdom import MovableClock
from tests.support.slack_life import ENVIRONMENT, configure, texts
from tests.support.slack_scene import Scene
from tests.support.slack_server import FakeSlack, Fault

OPTIONS: dict[str, Any] = {"options": ["main", "next"], "default": "next"}


def pass_time(scene: Scene, clock: MovableClock, seconds: float) -> None:
    """For Slack and for the envoy alike."""
    clock.advance(seconds)
    scene.server._clock = max(scene.server._clock, int(clock.now().timestamp() * 1_000_000))


def test_an_answer_just_before_the_deadline_counts_also_between_two_looks(
    polled: Scene, clock: MovableClock
) -> None:
    pass_time(polled, clock, 0)
    thread = polled.ask(**OPTIONS, expires_at=clock.now() + timedelta(seconds=45))
    pass_time(polled, clock, 30)
    polled.life.go()
    pass_time(polled, clock, 5)
    polled.server.said("C0KINGDOM", "main", thread_ts=thread)
    for _ in range(6):
        pass_time(polled, clock, 5)
        polled.life.go()
    assert polled.answers() == [("main", "ada")]
    assert polled.notices() == []


@pytest.mark.parametrize("seconds", [10, 60], ids=["the other ends first", "both have ended"])
@pytest.mark.parametrize("looks", [True, False])
def test_an_answer_counts_also_if_another_task_asked_after_it_in_the_same_thread(
    polled: Scene, clock: MovableClock, looks: bool, seconds: float
) -> None:
    pass_time(polled, clock, 0)
    until = clock.now() + timedelta(seconds=60)
    thread = polled.ask(**OPTIONS, expires_at=until)
    pass_time(polled, clock, 5)
    polled.server.said("C0KINGDOM", "main", thread_ts=thread)
    pass_time(polled, clock, 5)
    sooner = {"expires_at": until - timedelta(seconds=40), "default": "later"}
    where = {"channel": "C0KINGDOM", "thread_ts": thread, "task_id": "task-20260207-002"}
    publish(polled.base, question(3, **where, **sooner))
    polled.life.go()
    if not looks:
        limit = Fault("conversations.history", status=429, headers={"Retry-After": "9999"})
        polled.server.faults.append(limit)
    pass_time(polled, clock, seconds)
    polled.life.go()
    pass_time(polled, clock, 60)
    polled.life.go()
    assert set(polled.answers()) == {("main", "ada"), ("later", "default")}


def test_without_an_answer_the_default_is_taken_right_at_its_deadline(
    polled: Scene, clock: MovableClock
) -> None:
    polled.ask(**OPTIONS, expires_at=clock.now() + timedelta(seconds=45))
    pass_time(polled, clock, 44)
    assert polled.life.go() == pytest.approx(1), "it wakes up for it"
    assert polled.answers() == []
    pass_time(polled, clock, 1)
    polled.life.go()
    assert polled.answers() == [("next", "default")]
    assert "Nobody answered in time, so it is: next" in texts(polled.server)[1]


@pytest.mark.parametrize("listens", ["heard", "polled"])
def test_an_answer_given_during_an_outage_wins_over_the_default(
    request: pytest.FixtureRequest, clock: MovableClock, listens: str
) -> None:
    scene: Scene = request.getfixturevalue(listens)
    pass_time(scene, clock, 0)
    thread = scene.ask(**OPTIONS, expires_at=clock.now() + timedelta(hours=5))
    outage = Fault(".*", status=503, left=1_000_000)
    scene.server.faults.append(outage)
    scene.server.lines.drop()
    pass_time(scene, clock, 60)
    scene.server.said("C0KINGDOM", "main", thread_ts=thread)
    for _ in range(12):
        pass_time(scene, clock, 1800)
        assert scene.life.go() > 0, "it does not spin meanwhile"
    assert scene.answers() == []
    outage.left = 0
    pass_time(scene, clock, 300)
    scene.until(scene.events, "it is heard")
    assert scene.answers() == [("main", "ada")]


def test_a_default_that_waits_is_said_once_and_in_the_standing(
    polled: Scene, clock: MovableClock
) -> None:
    polled.ask(**OPTIONS, expires_at=clock.now() + timedelta(minutes=1))
    outage = Fault("conversations.*", status=503, left=1_000_000)
    polled.server.faults.append(outage)
    for _ in range(20):
        clock.advance(60)
        polled.life.go()
    trouble = polled.life.envoy._transport.trouble()
    assert trouble is not None
    assert str(trouble).startswith("A default waits until its thread can be read. Slack has")
    log = Path(polled.base.system_log).read_text()
    assert log.count("question.default_waits") == 1
    outage.left = 0
    for _ in range(3):
        clock.advance(120)
        polled.life.go()
    assert polled.answers() == [("next", "default")]
    assert polled.life.envoy._transport.trouble() is None


@pytest.mark.parametrize("error", ["thread_not_found", "channel_not_found"])
def test_where_nobody_can_answer_any_more_the_default_is_taken(
    polled: Scene, clock: MovableClock, error: str
) -> None:
    polled.ask(**OPTIONS, expires_at=clock.now() + timedelta(seconds=5))
    polled.server.faults.append(Fault("conversations.*", error=error, left=1_000))
    clock.advance(5)
    polled.life.go()
    assert polled.answers() == [("next", "default")]


def test_a_thread_that_slack_does_not_show_keeps_no_other_default(
    polled: Scene, clock: MovableClock
) -> None:
    """The first has no scope to be read with; it is asked for again, and not all the time."""
    until = clock.now() + timedelta(seconds=5)
    for number, channel in enumerate(("C0DEV", "C0KINGDOM"), 1):
        task = f"task-20260207-00{number}"
        publish(
            polled.base,
            question(number, task_id=task, channel=channel, expires_at=until, **OPTIONS),
        )
        polled.life.go()
    polled.server.channels["C0DEV"].is_member = False
    before = len(polled.server.asked)
    for _ in range(5):
        clock.advance(5)
        polled.life.go()
    assert len(polled.events()) == 1
    dev = [one for _, one in polled.server.asked[before:] if one.get("channel") == "C0DEV"]
    assert len(dev) <= 3
    polled.server.channels["C0DEV"].is_member = True
    clock.advance(60)
    polled.life.go()
    assert len(polled.events()) == 2


def test_very_many_that_expire_together_are_spread_over_steps(
    base: BaseDir, server: FakeSlack, live: Callable[..., Life], clock: MovableClock
) -> None:
    count = 120
    configure(base, server)
    scene = Scene(base, server, lambda: live(environment=ENVIRONMENT), listens=False)
    scene.begin()
    until = clock.now() + timedelta(seconds=20)
    asked = [
        question(n, id=f"msg-20260207-{n:04d}", task_id=f"task-20260207-{n:04d}",
                 expires_at=until, **OPTIONS)
        for n in range(1, count + 1)
    ]  # fmt: skip
    publish(base, *asked)
    scene.life.go(steps=2 * count)
    clock.advance(20)
    most, steps = 0, 0
    while len(scene.events()) < count:
        before = len(server.calls("conversations.replies"))
        taken = len(scene.events())
        seconds = scene.life.envoy.step()
        steps += 1
        most = max(most, len(scene.events()) - taken)
        assert len(server.calls("conversations.replies")) - before <= 40, "and closings"
        assert seconds == 0 or len(scene.events()) == count, "it goes on at once"
        assert steps < count
    assert most <= 20
