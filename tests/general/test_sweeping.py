"""What tasks leave in a workspace goes when its time is over, and nothing that is still needed."""

from __future__ import annotations

import json
import random
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from kingdom.bus.files.bus import FileBus
from kingdom.bus.files.places import HANDLED
from kingdom.bus.opening import open_bus
from kingdom.bus.port import Move
from kingdom.general.grounds import Grounds
from kingdom.general.spec import SoldierFiles
from kingdom.general.sweeping.sweeper import Sweeper
from kingdom.runtime.config import LiveConfig
from kingdom.runtime.internal_log import InternalLog
from kingdom.runtime.logging import configure, get_logger
from kingdom.runtime.role import Setting
from kingdom.store import leftovers
from tests.support.barracks import NAME, Barracks, Life, environment
from tests.support.calls import CHANGE_NOTHING, Killer, in_child, observed
from tests.support.git_remotes import BareRemote, git, kept_files
from tests.support.kingdom import EagerClock, ShiftedClock
from tests.support.soldiers import REPORT, report

DAYS = 86_400.0
SEED = 20261101
WORK = """
echo committed > a.txt; git add -A; git commit -qm work
echo left > b.txt
"""
ASK = report({"status": "needs_human", "summary": "?", "question": "Blue?"})


class Wanderer(ShiftedClock):
    """Whose wall clock can be moved alone."""

    moved = timedelta()

    def now(self) -> datetime:
        return super().now() + self.moved


class Estate:
    """A barracks whose soldiers work in a repository."""

    def __init__(self, barracks: Barracks, place: Path) -> None:
        self.barracks = barracks
        self.clock = barracks.clock = Wanderer()
        self.remote = BareRemote(place / "remotes" / "acme" / "shop.git", {"a.txt": "one\n"})
        self._url = f"{place}/remotes/{{repo}}.git"
        barracks.package()

    def script(self, text: str) -> None:
        self.barracks.command(text, git={"url": self._url, "use_gh": False})

    def place(self, task_id: str) -> Path:
        return self.barracks.workspace(task_id)

    @property
    def clones(self) -> list[Path]:
        return sorted(Path(self.barracks.base.workspace, NAME, ".clones").glob("*.git"))

    def private(self) -> list[str]:
        (clone,) = self.clones
        return git(clone, "for-each-ref", "--format=%(refname)", "refs/kingdom").split()

    def done(self, life: Life, script: str = WORK + REPORT, **fields: Any) -> str:
        """A task from its beginning to its end."""
        self.script(script)
        (id_,) = self.barracks.publish(repo="acme/shop", **fields)
        life.result_of(id_)
        life.until(lambda: not self.barracks.leftovers(), "its soldier is gone")
        return id_

    def pass_by(self, days: float) -> None:
        self.clock.shift(days * DAYS)

    def swept(self, life: Life) -> None:
        """A whole round, from its beginning to its end; whatever comes of it."""
        self.clock.shift(3601.0)
        life.turn()
        life.until(lambda: not life.role._sweeper._is_busy, "the round is over")

    def answer(self, task_id: str) -> None:
        """As the king does it, but for the task that goes on."""
        bus = FileBus(self.barracks.base, durable=False, clock=self.clock)
        for fields in ({}, {"answered_by": "evt-slack-response-1"}):
            (claim,) = bus.claim("results", "king", ids=[task_id])
            bus.commit([Move(claim, HANDLED, fields=fields)])
        bus.close()

    def sweep(self) -> None:
        """One round of a general that has just been started."""
        leftovers.clear(self.barracks.base)
        with self._sweeper() as (sweeper, config):
            sweeper.sweep(config.current)

    @contextmanager
    def _sweeper(self) -> Iterator[tuple[Sweeper, LiveConfig]]:
        base, env = self.barracks.base, environment()
        configure(NAME, base, environment=env, stream=StringIO())
        config = LiveConfig(base, env, EagerClock())
        bus = open_bus(base, config.current.settings, general=NAME, clock=self.clock)
        internal = InternalLog(base, NAME, self.clock)
        setting = Setting(NAME, base, env, bus, config, self.clock, get_logger(), internal)
        try:
            grounds = Grounds(setting)
            yield Sweeper(setting, SoldierFiles(base), grounds.repositories), config
        finally:
            bus.close()


@pytest.fixture
def estate(barracks: Barracks, scratch: Path) -> Estate:
    return Estate(barracks, scratch)


def test_everything_goes_in_its_time_and_what_was_not_pushed_last(estate: Estate) -> None:
    with estate.barracks.general() as life:
        id_ = estate.done(life)
        estate.pass_by(6)
        estate.swept(life)
        assert estate.place(id_).exists()
        estate.pass_by(1)
        estate.swept(life)
        assert not estate.place(id_).exists()
        refs = estate.private()
        (clone,) = estate.clones
        assert {"committed", "left"} <= {
            text for ref in refs for text in kept_files(str(clone), ref).values()
        }
        assert list(clone.joinpath("kingdom-checkouts").iterdir()) == []
        log = Path(estate.barracks.base.tasks_log).read_text("utf-8")
        (told,) = [line for line in log.splitlines() if " removed " in line]
        assert id_ in told
        assert all(ref in told for ref in refs)
        estate.pass_by(22)
        estate.swept(life)
        assert estate.private() == refs
        estate.pass_by(8)
        estate.swept(life)
        assert estate.private() == []
        estate.swept(life)
        assert estate.clones == []
        assert life.longest_step < 5.0
    assert not list(Path(estate.barracks.base.workspace, NAME).glob(".work-*"))


def test_a_task_without_a_repository_leaves_nothing_either(estate: Estate) -> None:
    own = estate.place("notes")
    with estate.barracks.general() as life:
        estate.script(f"echo mine > report.txt; {REPORT}")
        (id_,) = estate.barracks.publish()
        life.result_of(id_)
        own.mkdir()
        own.joinpath("mine.txt").write_text("a person's")
        estate.pass_by(8)
        estate.swept(life)
        assert not estate.place(id_).exists()
    assert own.joinpath("mine.txt").exists(), "generals remove what generals made"


def test_a_soldier_at_work_keeps_its_place_however_long_it_is_frozen(estate: Estate) -> None:
    with estate.barracks.general() as life:
        estate.script(f"touch up; while [ ! -e go ]; do sleep 0.02; done; {REPORT}")
        (id_,) = estate.barracks.publish(repo="acme/shop")
        life.until(lambda: estate.place(id_).joinpath("repo", "up").exists(), "it works")
        estate.barracks.ask(f"{id_}.freeze")
        life.until(lambda: estate.barracks.states() == ["frozen"], "it is frozen")
        estate.pass_by(40)
        estate.swept(life)
        assert estate.place(id_).joinpath("repo", "up").exists()


def test_an_open_question_keeps_its_place_and_so_does_who_goes_on_with_it(estate: Estate) -> None:
    with estate.barracks.general() as life:
        asked = estate.done(life, WORK + ASK)
        estate.pass_by(40)
        estate.swept(life)
        assert estate.place(asked).joinpath("repo", "b.txt").exists()
        kept = estate.private()
        estate.answer(asked)
        (resumed,) = estate.barracks.publish(
            repo="acme/shop", type="resume", original_task_id=asked, not_before=later(estate, 20)
        )
        estate.pass_by(15)
        estate.swept(life)
        assert estate.place(asked).joinpath("repo", "b.txt").exists()
        assert set(kept) <= set(estate.private())
        estate.script("cat b.txt > $KINGDOM_WORKSPACE/../../../seen; " + ASK)
        estate.pass_by(6)
        life.result_of(resumed)
        assert Path(estate.barracks.base.workspace, "seen").read_text() == "left\n"
        estate.pass_by(40)
        estate.swept(life)
        assert estate.place(asked).joinpath("repo", "b.txt").exists(), "it asked again"
        estate.answer(resumed)
        estate.pass_by(6)
        estate.swept(life)
        assert estate.place(asked).exists()
        estate.pass_by(2)
        estate.swept(life)
        assert not estate.place(asked).exists()


def later(estate: Estate, days: float) -> datetime:
    return estate.clock.now() + timedelta(days=days)


def test_a_question_stays_open_while_another_goes_on_in_its_place(estate: Estate) -> None:
    """Someone tries the first task again, though the one that continued it has asked."""
    with estate.barracks.general() as life:
        first = estate.done(life, report({"status": "failed", "summary": "", "error": "No."}))
        asks = estate.done(life, ASK, original_task_id=first)
        again = estate.done(life, REPORT, original_task_id=first)
        assert not estate.place(asks).exists()
        assert not estate.place(again).exists()
        estate.pass_by(40)
        estate.swept(life)
        assert estate.place(first).joinpath("repo").exists()


def test_a_task_that_nobody_knows_any_more_leaves_as_well(estate: Estate) -> None:
    with estate.barracks.general() as life:
        id_ = estate.done(life)
        Path(estate.barracks.base.queue, "tasks", "completed", f"{id_}.json").unlink()
        Path(estate.barracks.base.results, f"{id_}.json").unlink()
        estate.pass_by(6)
        estate.swept(life)
        assert estate.place(id_).exists()
        estate.pass_by(2)
        estate.swept(life)
        assert not estate.place(id_).exists()


def test_a_clock_that_jumps_removes_nothing(estate: Estate) -> None:
    with estate.barracks.general() as life:
        id_ = estate.done(life)
        estate.clock.moved = timedelta(days=365)
        estate.swept(life)
        assert estate.place(id_).joinpath("repo", "b.txt").exists()
        assert "sweep.put_off" in life.said.getvalue()
        estate.clock.moved = timedelta()
        estate.swept(life)
        assert estate.place(id_).exists()


def test_nobody_begins_in_a_place_that_is_being_removed(estate: Estate) -> None:
    with estate.barracks.general() as life:
        first = estate.done(life)
        place = str(estate.place(first))
        sweeper = life.role._sweeper
        sweeper._at = first
        assert not sweeper.lets_in(place)
        estate.script(REPORT)
        (id_,) = estate.barracks.publish(repo="acme/shop", original_task_id=first)
        life.until(lambda: estate.barracks.task(id_)[0] == "in_progress", "it is taken")
        for _ in range(5):
            life.turn()
        assert estate.barracks.wrapper(id_) == 0
        sweeper._at = ""
        assert life.result_of(id_)["status"] == "success"
        assert first in sweeper._taken


def test_what_could_not_be_kept_is_moved_aside_and_stays_longer(estate: Estate) -> None:
    with estate.barracks.general() as life:
        id_ = estate.done(life)
        shutil.rmtree(estate.clones[0] / "kingdom-checkouts")
        estate.pass_by(8)
        estate.swept(life)
        aside = estate.place(id_).joinpath("repo.kept-1")
        assert aside.joinpath("b.txt").read_text() == "left\n"
        log = Path(estate.barracks.base.tasks_log)
        assert str(aside) in log.read_text("utf-8")
        told = log.read_text("utf-8").count(" removed ")
        estate.swept(life)
        estate.pass_by(29)
        estate.swept(life)
        assert aside.exists()
        assert log.read_text("utf-8").count(" removed ") == told, "said once"
        estate.pass_by(2)
        estate.swept(life)
        assert not estate.place(id_).exists()


def killed_at(estate: Estate, point: int) -> bool:
    def work() -> None:
        with observed(Killer(point, after=True, passing_over=CHANGE_NOTHING)):
            estate.sweep()

    return in_child(work) == -signal.SIGKILL


def check_swept(estate: Estate, id_: str) -> None:
    assert in_child(estate.sweep) == 0
    assert not estate.place(id_).exists()
    (clone,) = estate.clones
    kept = [ref for ref in estate.private() if id_ in ref]
    texts = {text for ref in kept for text in kept_files(str(clone), ref).values()}
    assert {"committed", "left"} <= texts
    git(clone, "fsck", "--connectivity-only")
    assert list(clone.joinpath("kingdom-checkouts").iterdir()) == []
    assert in_child(estate.sweep) == 0
    assert not list(Path(estate.barracks.base.workspace, NAME).glob(".work-*"))


def test_a_general_killed_while_it_sweeps_sweeps_again(estate: Estate) -> None:
    with estate.barracks.general() as life:
        id_ = estate.done(life)
    estate.pass_by(8)
    points = sorted(random.Random(SEED).sample(range(5, 90), 6))
    assert sum(killed_at(estate, point) for point in points)
    check_swept(estate, id_)


@pytest.mark.long
def test_a_general_killed_at_each_call_to_the_disk_while_it_sweeps(estate: Estate) -> None:
    with estate.barracks.general() as life:
        for point in range(1, 400):
            id_ = estate.done(life)
            life.until(lambda: not life.role._sweeper._is_busy, "its own round is over")
            estate.pass_by(8)
            was = killed_at(estate, point)
            check_swept(estate, id_)
            if not was:
                assert point > 30
                return
    pytest.fail("it never ended")


def test_what_a_killed_one_was_about_to_throw_away_is_thrown_away(estate: Estate) -> None:
    left = Path(estate.barracks.base.workspace, NAME, ".work-1-1-1", "task-1", "repo")
    left.mkdir(parents=True)
    estate.sweep()
    assert not left.parent.parent.exists()


def test_a_soldier_that_no_task_knows_of_keeps_its_place_while_it_lives(estate: Estate) -> None:
    with estate.barracks.general() as life:
        id_ = estate.done(life)
    spec = dict.fromkeys(("engine", "cwd", "stdin", "stdout", "stderr", "result_path"), "")
    numbers = {"attempt": 1, "started_at": 0, "timeout_seconds": 1, "deadline": 1}
    lost = {"soldier_id": "soldier-1-1", "task_id": "task-9", "general": NAME, "argv": []}
    more = {"environment": {}, "heartbeat_path": "", "place": str(estate.place(id_))}
    path = Path(estate.barracks.base.soldiers, "soldier-1-1.json")
    path.write_text(json.dumps({**spec, **numbers, **lost, **more}))
    estate.pass_by(8)
    estate.sweep()
    assert estate.place(id_).exists()
    path.unlink()
    estate.sweep()
    assert not estate.place(id_).exists()
