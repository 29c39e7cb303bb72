"""The marks of what was seen on GitHub go when they are old, and nothing comes twice for that."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from kingdom.clients.github_faults import GitHubLater
from tests.support.calls import observed
from tests.support.github_scene import Scene
from tests.support.kingdom import MovableClock
from tests.support.lookout import detected, forget, work_off
from tests.support.loopback import Fault
from tests.support.notifications import BEGAN, Notifying

SEEN_DAYS = 30


class Days:
    """A kingdom in which days pass: events are worked off and go, and so do marks of thirty days.
    The disk's clock is the real one, so marks made now get the time that is played."""

    def __init__(self, scene: Scene, hub: Notifying, clock: MovableClock) -> None:
        self.scene, self.hub, self.clock = scene, hub, clock
        self.seen = Path(scene.base.path("state", "sentinel", "seen"))
        self._known: dict[str, float] = {}

    def come_to(self, moment: datetime) -> None:
        self.clock.set_wall(moment)
        self.hub.date = moment

    def look(self) -> int:
        emitted = self.scene.look()
        work_off(self.scene.lookout.setting)
        forget(self.scene.base)
        return emitted

    def fail(self) -> None:
        self.hub.faults.append(Fault("GET", status=502))
        with pytest.raises(GitHubLater):
            self.scene.look()

    def clean(self) -> None:
        now = self.clock.now().timestamp()
        for path in list(self.seen.iterdir()):
            if self._known.get(path.name) != path.stat().st_mtime:
                os.utime(path, (now, now))
                self._known[path.name] = path.stat().st_mtime
            if now - path.stat().st_mtime > SEEN_DAYS * 86_400:
                path.unlink()


@pytest.fixture
def days(scene: Scene, hub: Notifying, clock: MovableClock) -> Days:
    return Days(scene, hub, clock)


def test_a_thread_with_news_every_day_is_one_event_a_day_for_months(
    days: Days, hub: Notifying
) -> None:
    for day in range(65):
        now = BEGAN + timedelta(days=day)
        days.come_to(now)
        hub.notify(1, thread="55", updated=now, reason="comment")
        assert days.look() == 1
        days.clean()
        hub.notify(1000 + day, updated=now + timedelta(minutes=5))
        assert days.look() == 1
        days.clean()
    assert len(detected(days.scene.base)) == len(set(detected(days.scene.base))) == 130


def test_a_later_update_is_known_when_the_thread_s_own_mark_is_gone(
    days: Days, hub: Notifying
) -> None:
    hub.notify(1, thread="55")
    assert days.look() == 1
    hub.notify(1, thread="55", reason="comment")
    assert days.look() == 1
    for path in days.seen.iterdir():
        if not path.name.startswith("evt-github-55-"):
            path.unlink()
    hub.notify(2)
    assert days.look() == 1
    assert detected(days.scene.base)[-1] == "evt-github-1002"
    assert Path(days.seen, "evt-github-55").exists()


def test_also_when_only_the_queue_knows_it(scene: Scene, hub: Notifying) -> None:
    hub.notify(1, thread="55")
    scene.look()
    work_off(scene.lookout.setting)
    forget(scene.base)
    hub.notify(1, thread="55", reason="comment")
    scene.look()
    for path in Path(scene.base.path("state", "sentinel", "seen")).iterdir():
        path.unlink()
    hub.notify(2)
    assert scene.look() == 1


@pytest.mark.parametrize("in_vain", [False, True])
def test_a_quiet_month_or_one_of_trouble_and_then_news_are_one_event(
    days: Days, hub: Notifying, in_vain: bool
) -> None:
    hub.notify(1, thread="55", updated=BEGAN - timedelta(minutes=1))
    hub.notify(3, updated=BEGAN - timedelta(minutes=1))
    assert days.look() == 2
    hub.notify(1, thread="55", updated=BEGAN)
    assert days.look() == 1
    for day in range(1, 70):
        days.clean()
        days.come_to(BEGAN + timedelta(days=day))
        for _ in range(2):
            days.fail() if in_vain else days.look()
    if not in_vain:
        assert all(one["same"] for one in hub.listings[-100:])
    days.clean()
    hub.notify(2, updated=days.clock.now())
    assert days.look() == 1
    assert detected(days.scene.base)[-1] == "evt-github-1002"


def test_marks_of_what_no_listing_shows_any_more_grow_old(days: Days, hub: Notifying) -> None:
    days.come_to(BEGAN)
    hub.notify(1, updated=BEGAN)
    days.look()
    hub.notify(2, updated=BEGAN + timedelta(hours=5))
    for day in range(40):
        days.come_to(BEGAN + timedelta(days=day, hours=6))
        days.look()
        days.clean()
    assert {path.name.partition(":")[0] for path in days.seen.iterdir()} == {"evt-github-1002"}


def as_formerly(scene: Scene, first: dict[str, str]) -> None:
    """Notes as they were before there were second marks."""
    path = Path(scene.base.path("state", "sentinel", "github-state.json"))
    state = scene.state
    del state["unmarked"], state["limited_until"]
    path.write_text(json.dumps(state | {"first": first}))
    for mark in Path(scene.base.path("state", "sentinel", "seen")).glob("*:*"):
        mark.unlink()


@pytest.mark.parametrize("first", [{"1001": "2026-11-15T08:00:01.000Z"}, {}])
def test_notes_of_the_former_form_are_understood(
    days: Days, scene: Scene, hub: Notifying, first: dict[str, str]
) -> None:
    days.come_to(BEGAN + timedelta(seconds=2))
    hub.notify(1)
    hub.notify(9)
    assert (days.look(), days.look()) == (2, 0)
    as_formerly(scene, first | {"1009": "2026-11-15T08:00:02.000Z"})
    scene.reborn()
    hub.faults.append(Fault("GET", status=429, headers={"Retry-After": "1"}))
    hub.read(hub.notify(2))  # before we look: only the cursor tells of it
    with pytest.raises(GitHubLater):
        scene.look()  # which writes down until when
    scene.reborn()
    days.clock.advance(2)
    assert days.look() == 1
    assert detected(scene.base)[-1] == "evt-github-1002"
    assert "first" not in scene.state
    for number in (1, 9):
        hub.notify(number)  # which has news
        scene.reborn()
        assert days.look() == 1
    assert detected(scene.base)[-1].startswith("evt-github-1009-")


def test_which_update_it_was_is_durable_before_the_event_is(scene: Scene, hub: Notifying) -> None:
    """Its second mark is made, then its directory is synced, then the event is written."""
    hub.notify(1, thread="55")
    opened: dict[int, str] = {}
    told: list[str] = []

    def note(name: str, arguments: tuple[Any, ...], call: Callable[[], Any]) -> Any:
        result = call()
        if name == "open":
            opened[result] = arguments[0]
        named = [opened.get(one, "") if isinstance(one, int) else str(one) for one in arguments]
        told.append(f"{name} {' '.join(named)}")
        return result

    with observed(note):
        assert scene.look() == 1
    begun = [one for one in told if one.startswith(("open ", "fsync ", "write "))]
    made = next(i for i, one in enumerate(begun) if "seen/evt-github-55:" in one)
    synced = begun.index(next(one for one in begun[made:] if one.endswith("/sentinel/seen")))
    written = next(i for i, one in enumerate(begun) if "github.pr.review_requested" in one)
    assert made < synced < written
