"""What of a workspace goes, and when a general looks: decided without a disk, but for one file."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from kingdom.general.checkouts.holdings import AsideFacts, CloneFacts, PrivateRef, Survey
from kingdom.general.sweeping.retention import DAY, Due, Found, Place, due, ref_key
from kingdom.general.sweeping.rounds import Rounds
from kingdom.runtime.timekeeping import confirm
from kingdom.settings.chamberlain import Retention
from kingdom.store.paths import BaseDir
from tests.support.kingdom import MovableClock

NOW = 1_800_000_000.0
HOME = "/base/workspace/gen-pr"
RETENTION = Retention()


def days_ago(days: float) -> float:
    return NOW - days * DAY


REF = PrivateRef("refs/kingdom/task-1/head", "task-1", "a" * 40, days_ago(31))
CLONE = CloneFacts(f"{HOME}/.clones/shop.git", "url", 1, days_ago(31), (), (), False)
ASIDE = AsideFacts(f"{HOME}/task-2/repo.kept-1", 1, days_ago(31))


def found(
    *places: Place, clones: tuple[CloneFacts, ...] = (), aside: tuple[AsideFacts, ...] = ()
) -> Found:
    """All of it seen at once, when it came to be."""
    seen = {one.path: one.since for one in aside}
    seen |= {ref_key(one.path, ref): ref.made for one in clones for ref in one.kept}
    return Found(places, Survey(clones, aside), seen)


def going(what: Found) -> list[tuple[str, str]]:
    return [(one.kind, one.path.removeprefix(HOME)) for one in due(what, NOW, RETENTION)]


@pytest.mark.parametrize(("age", "goes"), [(6.9, False), (7.1, True), (-400.0, False)])
def test_a_workspace_goes_after_its_days(age: float, goes: bool) -> None:
    place = Place(f"{HOME}/task-1", days_ago(age))
    assert going(found(place)) == ([("workspace", "/task-1")] if goes else [])
    assert going(found(replace(place, needed="A question is open."))) == []


def test_reasons_are_told() -> None:
    (one,) = due(found(Place(f"{HOME}/task-1", days_ago(9))), NOW, RETENTION)
    assert one == Due("workspace", f"{HOME}/task-1", "It was last worked in 9 days ago.")


def test_a_clone_goes_when_nothing_is_in_it_and_nobody_used_it() -> None:
    assert going(found(clones=(CLONE,))) == [("clone", "/.clones/shop.git")]
    assert going(found(clones=(replace(CLONE, last_used=days_ago(29)),))) == []
    assert going(found(clones=(replace(CLONE, worktrees=(f"{HOME}/task-1/repo",)),))) == []


def test_a_private_ref_goes_before_its_clone_and_after_its_workspace() -> None:
    clone = replace(CLONE, kept=(REF,))
    assert going(found(clones=(clone,))) == [("ref", "/.clones/shop.git")]
    place = Place(f"{HOME}/task-1", days_ago(40))
    assert going(found(place, clones=(clone,))) == [("workspace", "/task-1")]
    needed = replace(place, needed="A question is open.")
    assert going(found(needed, clones=(clone,))) == []


def test_an_id_is_spelled_otherwise_in_a_ref() -> None:
    clone = replace(CLONE, kept=(replace(REF, task="my__task_.1"),))
    place = Place(f"{HOME}/my_task:1", days_ago(40), needed="A question is open.")
    assert going(found(place, clones=(clone,))) == []


def test_a_ref_is_as_old_as_it_is_known_not_as_its_commit() -> None:
    what = found(clones=(replace(CLONE, kept=(REF,)),))
    key = ref_key(CLONE.path, REF)
    assert going(replace(what, seen={key: days_ago(2)})) == []
    assert going(replace(what, seen={})) == []


def test_what_was_moved_aside_goes_first_and_its_workspace_with_it() -> None:
    place = Place(f"{HOME}/task-2", days_ago(31))
    both = [("aside", "/task-2/repo.kept-1"), ("workspace", "/task-2")]
    assert going(found(place, aside=(ASIDE,))) == both
    assert going(found(replace(place, needed="Live."), aside=(ASIDE,))) == []


def test_what_was_moved_aside_outlives_the_worktree() -> None:
    place, aside = Place(f"{HOME}/task-2", days_ago(8)), replace(ASIDE, since=days_ago(8))
    assert going(found(place, aside=(aside,))) == []
    clone = replace(CLONE, worktrees=(f"{HOME}/task-2/repo",))
    (one,) = due(found(place, clones=(clone,), aside=(aside,)), NOW, RETENTION)
    assert (one.kind, one.whole) == ("workspace", False)
    borrows = replace(CLONE, worktrees=(f"{aside.path}/vendor/lib", aside.path))
    assert going(found(place, clones=(borrows,), aside=(aside,))) == []


class Watch:
    """Rounds by a clock that stands still unless moved."""

    def __init__(self, base: BaseDir) -> None:
        self.base = base
        self.clock = MovableClock()
        self.rounds = self.restarted()

    def restarted(self) -> Rounds:
        self.rounds = Rounds(self.base, "gen-pr", self.clock)
        return self.rounds

    def after(self, **time: float) -> bool:
        self.clock.advance(timedelta(**time).total_seconds())
        return self.rounds.is_due()


@pytest.fixture
def watch(base: BaseDir) -> Watch:
    made = Watch(base)
    for _ in range(24):
        assert not made.after(hours=1), "nobody knows yet whether the clock is right"
    return made


def test_a_round_is_every_hour(watch: Watch) -> None:
    assert [watch.after(minutes=20) for _ in range(6)] == [False, False, True] * 2


def test_a_restart_does_not_make_a_round(watch: Watch) -> None:
    assert watch.after(hours=1)
    rounds = []
    for _ in range(8):
        watch.restarted()
        rounds.append(watch.after(minutes=20))
    assert rounds.count(True) == 2
    watch.restarted()
    assert not watch.after(minutes=1)
    assert watch.after(minutes=59), "the hour began before the restart"


def test_a_start_within_a_day_makes_one_at_once(watch: Watch) -> None:
    watch.restarted()
    assert watch.after(hours=5)


@pytest.mark.parametrize("days", [-400.0, -1.1, 1.1, 400.0])
def test_no_round_follows_a_clock_that_was_moved(watch: Watch, days: float) -> None:
    assert watch.after(hours=1)
    watch.clock.wall += timedelta(days=days)
    assert not watch.after(hours=1)
    assert watch.rounds.clock_moved
    hours = [watch.after(hours=1) for _ in range(24)]
    assert hours == [False] * 23 + [True], "it has run for a day without another leap"


def test_a_person_may_say_that_the_clock_is_right(watch: Watch) -> None:
    watch.clock.wall += timedelta(days=400)
    assert not watch.after(hours=1)
    confirm(watch.base, watch.clock.now())
    assert watch.after(hours=1)
    watch.clock.wall += timedelta(days=400)
    assert not watch.after(hours=1), "that was said of another time"


@pytest.mark.parametrize("days", [-400.0, -1.1, 1.1, 400.0])
def test_no_round_follows_a_clock_that_was_moved_while_nobody_looked(
    watch: Watch, days: float
) -> None:
    watch.restarted()
    watch.clock.wall += timedelta(days=days)
    assert not watch.rounds.is_due()
    watch.restarted()
    assert not watch.after(hours=23)
    assert watch.after(hours=1)


def test_what_is_seen_is_remembered_while_it_is_there(watch: Watch) -> None:
    began = watch.clock.now().timestamp()
    watch.rounds.remember(["a", "b"], watch.clock.now())
    watch.clock.advance(DAY)
    seen = watch.restarted().remember(["b", "c"], watch.clock.now())
    assert seen == {"b": began, "c": began + DAY}
    watch.clock.advance(-10 * DAY)
    earlier = watch.clock.now()
    assert watch.rounds.remember(["b"], earlier) == {"b": earlier.timestamp()}
