"""The inbox: what scripts drop there, whole, half, twice or wrong."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from kingdom.errors import TryLater
from kingdom.sentinel.watchers.inbox import LARGEST, Inbox
from kingdom.store.paths import BaseDir
from tests.support.calls import CHANGE_NOTHING, Killer, in_child, observed
from tests.support.cli import NOBODY
from tests.support.kingdom import MovableClock
from tests.support.lookout import Lookout, events, forget, work_off

LATER = 10.0
NIGHTLY = {"type": "nightly.chore", "payload": {"what": "tidy"}}


@pytest.fixture
def clock() -> MovableClock:
    return MovableClock(datetime.now(UTC))  # files get their times from the system


@pytest.fixture
def lookout(base: BaseDir, clock: MovableClock) -> Iterator[Lookout]:
    made = Lookout(base, clock, Inbox)
    yield made
    made.close()


def drop(base: BaseDir, content: object, name: str = "one.json") -> Path:
    inbox = Path(base.path("queue", "inbox"))
    inbox.mkdir(parents=True, exist_ok=True)
    ready = inbox / f".{name}"
    ready.write_text(content if isinstance(content, str) else json.dumps(content))
    return ready.rename(inbox / name)


def left(base: BaseDir) -> list[str]:
    return sorted(os.listdir(base.path("queue", "inbox")))


def test_what_is_missing_is_filled_in(base: BaseDir, lookout: Lookout) -> None:
    drop(base, NIGHTLY)
    assert lookout.look() == 1
    (event,) = events(base).values()
    assert event["id"].startswith("evt-inbox-")
    assert (event["source"], event["priority"], event["status"]) == ("inbox", "normal", "pending")
    assert "trust" not in event  # which means: outside
    assert left(base) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_file_of_another_user_is_not_taken(
    base: BaseDir, lookout: Lookout, clock: MovableClock
) -> None:
    os.chown(drop(base, NIGHTLY), NOBODY, NOBODY)
    clock.advance(LATER)
    assert lookout.look() == 0
    (reason,) = Path(base.path("queue/events/dead")).glob("*.reason.json")
    assert json.loads(reason.read_text())["code"] == "foreign_owner"
    assert left(base) == []


def test_half_a_mebibyte_is_taken(base: BaseDir, lookout: Lookout) -> None:
    drop(base, NIGHTLY | {"payload": {"what": "x" * 2**19}})
    assert lookout.look() == 1


def test_what_is_given_is_kept(base: BaseDir, lookout: Lookout) -> None:
    given = NIGHTLY | {"id": "evt-cron-7", "source": "cron", "priority": "high", "trust": "member"}
    drop(base, given)
    lookout.look()
    event = events(base)["evt-cron-7"]
    assert {name: event[name] for name in given} == given


def test_the_same_words_on_another_day_are_another_event(base: BaseDir, lookout: Lookout) -> None:
    for _ in range(3):
        drop(base, NIGHTLY)
        assert lookout.look() == 1
    assert len(events(base)) == 3


def test_an_id_that_is_known_is_done_once(base: BaseDir, lookout: Lookout) -> None:
    drop(base, NIGHTLY | {"id": "evt-cron-7"})
    lookout.look()
    work_off(lookout.setting)
    forget(base)
    drop(base, NIGHTLY | {"id": "evt-cron-7"})
    assert lookout.look() == 0
    assert left(base) == []


@pytest.mark.parametrize(
    ("content", "code"),
    [
        ("no JSON at all", "not_json"),
        ("[]", "not_json"),
        ({"payload": {}}, "invalid_field"),
        (NIGHTLY | {"id": "../escape"}, "bad_id"),
        (NIGHTLY | {"priority": "soonish"}, "invalid_field"),
        (NIGHTLY | {"payload": {"what": "x" * 2**20}}, "too_large"),
        (
            NIGHTLY | {"payload": {"many": [[[0]] * 60_000]}},
            "too_large",
        ),  # when indented
        (f'{{"type": "a.b", "payload": {{"x": {"[" * 400}{"]" * 400}}}}}', "too_deep"),
    ],
)
def test_what_is_no_event_is_set_aside_with_its_reason_once_it_stands_still(
    base: BaseDir, lookout: Lookout, clock: MovableClock, content: object, code: str
) -> None:
    drop(base, content, "odd.json")
    drop(base, NIGHTLY, "good.json")
    assert lookout.look() == 1  # which waits for nobody
    assert left(base) == ["odd.json"]
    assert lookout.rounds.look().finish.pause(600) < 10
    clock.advance(LATER)
    lookout.look()
    assert left(base) == []
    dead = Path(base.path("queue", "events", "dead"))
    reason = json.loads((dead / "odd.json.reason.json").read_text())
    assert reason["code"] == code, reason
    assert "queue/inbox" in reason["found_in"]
    assert lookout.look() == 0


def test_one_that_is_still_being_copied(
    base: BaseDir, lookout: Lookout, clock: MovableClock
) -> None:
    text = json.dumps(NIGHTLY)
    path = drop(base, text[:10])
    assert lookout.look() == 0
    path.write_text(text)
    assert lookout.look() == 1


def test_what_is_hidden_or_no_json_is_none_of_ours(base: BaseDir, lookout: Lookout) -> None:
    drop(base, NIGHTLY, ".hidden.json")
    drop(base, NIGHTLY, "notes.txt")
    assert lookout.look() == 0
    assert len(left(base)) == 2


def test_links_and_directories_lead_nowhere(
    base: BaseDir, lookout: Lookout, clock: MovableClock, tmp_path: Path
) -> None:
    secret = tmp_path / "secret.json"
    secret.write_text(json.dumps(NIGHTLY))
    inbox = drop(base, NIGHTLY).parent
    assert lookout.look() == 1
    (inbox / "link.json").symlink_to(secret)
    (inbox / "place.json").mkdir()
    clock.advance(LATER)
    assert lookout.look() == 0
    assert left(base) == []
    assert secret.exists()


def test_killed_anywhere_each_is_one_event(base: BaseDir) -> None:
    now = MovableClock(datetime.now(UTC))

    def life() -> None:
        lookout = Lookout(base, now, Inbox)
        lookout.setting.bus.recover()
        lookout.look()
        lookout.close()

    def killed(point: int) -> None:
        with observed(Killer(point, after=point % 2 == 0, passing_over=CHANGE_NOTHING)):
            life()

    for point in range(1, 500):
        drop(base, NIGHTLY, f"{point}.json")
        lived = in_child(lambda at=point: killed(at)) == 0  # type: ignore[misc]
        assert in_child(life) == 0
        assert len(events(base)) == point
        assert left(base) == []
        if lived:
            return
    raise AssertionError("it never came to its end")


class Meanwhile:
    """Somebody puts another file under the same name before the n-th call; some calls later the
    process is killed, or never."""

    def __init__(self, base: BaseDir, point: int, killed_after: int | None, dropped: Path) -> None:
        self.base, self.left, self.dropped = base, point, dropped
        self.killer = Killer(killed_after, after=True) if killed_after else None

    def __call__(self, name: str, arguments: tuple[Any, ...], call: Callable[[], Any]) -> Any:
        if name in CHANGE_NOTHING:
            return call()
        self.left -= 1
        if self.left == 0:
            drop(self.base, NIGHTLY | {"id": "evt-second"})
            self.dropped.touch()
        return self.killer(name, arguments, call) if self.killer and self.left <= 0 else call()


@pytest.mark.parametrize("killed_after", [None, 1, 2])
def test_one_that_takes_the_name_of_another_meanwhile_is_not_lost(
    base: BaseDir, lookout: Lookout, killed_after: int | None, tmp_path: Path
) -> None:
    dropped = tmp_path / "dropped"
    now = MovableClock(datetime.now(UTC))

    def life(point: int) -> None:
        lookout = Lookout(base, now, Inbox)
        with observed(Meanwhile(base, point, killed_after, dropped)):
            lookout.look()

    for point in range(1, 100):
        drop(base, NIGHTLY | {"id": f"evt-first-{point}"})
        in_child(lambda at=point: life(at))  # type: ignore[misc]
        lookout.setting.bus.recover()
        lookout.look()
        assert left(base) == []
        if not dropped.exists():
            assert point > 5
            return
        dropped.unlink()
        assert "evt-second" in events(base)
        work_off(lookout.setting)
        forget(base)
        Path(base.path("state", "sentinel", "seen", "evt-second")).unlink()
    raise AssertionError("it never came to its end")


@pytest.mark.parametrize(("room", "taken"), [(1, 0), (1000, 1)])
def test_what_is_filled_in_counts_for_the_limit(
    base: BaseDir, lookout: Lookout, room: int, taken: int
) -> None:
    empty = len(json.dumps(NIGHTLY | {"payload": {"what": ""}}, indent=2))
    drop(base, NIGHTLY | {"payload": {"what": "x" * (LARGEST - empty - room)}})
    assert lookout.look() == taken


def test_a_time_that_no_calendar_has(base: BaseDir, lookout: Lookout, clock: MovableClock) -> None:
    os.utime(drop(base, NIGHTLY, "good.json"), (1e12, 1e12))
    os.utime(drop(base, "no JSON", "odd.json"), (1e12, 1e12))
    assert lookout.look() == 1
    assert left(base) == ["odd.json"]
    clock.advance(LATER)
    lookout.look()
    assert left(base) == []


def test_one_that_changes_in_the_future_is_still_being_written(
    base: BaseDir, lookout: Lookout, clock: MovableClock
) -> None:
    later = clock.now().timestamp() + 3600
    for size in range(3):
        path = drop(base, "{" * size)
        os.utime(path, (later, later + size))
        lookout.look()
        clock.advance(LATER)
        assert left(base) == ["one.json"]


def test_one_that_cannot_be_moved_keeps_no_other(
    base: BaseDir, lookout: Lookout, clock: MovableClock
) -> None:
    def refuse(name: str, arguments: tuple[Any, ...], call: Callable[[], Any]) -> Any:
        about = [os.fsdecode(one) for one in arguments if isinstance(one, str | bytes)]
        if name in ("renameat2", "unlink") and any("stuck.json" in one for one in about):
            raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))
        return call()

    drop(base, NIGHTLY, "good.json")
    drop(base, NIGHTLY, "stuck.json")
    drop(base, NIGHTLY, "well.json")
    with observed(refuse), pytest.raises(TryLater, match="cannot be moved"):
        lookout.look()
    assert left(base) == ["stuck.json"]
    assert len(events(base)) == 3
    assert lookout.look() == 0
    assert left(base) == []


def test_an_inbox_on_another_disk_takes_events_and_says_what_is_none(
    base: BaseDir, lookout: Lookout, clock: MovableClock, tmp_path: Path
) -> None:
    if os.stat(tmp_path).st_dev == os.stat(base.root).st_dev:
        pytest.skip("needs two file systems: /dev/shm and that of TMPDIR are one")
    os.makedirs(base.queue, exist_ok=True)
    os.symlink(tmp_path, base.path("queue", "inbox"))
    drop(base, NIGHTLY, "good.json")
    drop(base, "{", "wrong.json")
    lookout.look()
    clock.advance(LATER)
    with pytest.raises(TryLater) as caught:
        lookout.look()
    assert caught.value.remedy.startswith("It is not an event: remove it from queue/inbox/")
    assert left(base) == ["wrong.json"]
    assert len(events(base)) == 1
    assert os.listdir(base.path("queue/events/dead")) == [], "no reason without its file"
    os.unlink(tmp_path / "wrong.json")
    assert lookout.look() == 0


def test_a_name_as_long_as_names_can_be(base: BaseDir, lookout: Lookout) -> None:
    name = "x" * 250 + ".json"
    ready = drop(base, NIGHTLY, "short.json")
    ready.rename(ready.with_name(name))
    assert lookout.look() == 1
    assert left(base) == []
