"""Nothing of a soldier outlives it, by whatever way it ended and however its children hid."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from kingdom import pids
from kingdom.engines import tree
from kingdom.ops.stopping import end_soldiers
from tests.support.barracks import Barracks, Life, environment
from tests.support.calls import in_child
from tests.support.cli import NOBODY
from tests.support.litter import KINDS, Litter
from tests.support.soldiers import STAY, WAIT, WAIT_FOR_GO, go, is_up, report
from tests.support.waiting import eventually

FAILS = report({"status": "failed", "summary": "no", "error": "it is broken"})


@pytest.fixture
def litter() -> Iterator[Litter]:
    made = Litter()
    yield made
    made.end()


@contextmanager
def at_work(
    barracks: Barracks, litter: Litter, script: str = STAY, **manifest: Any
) -> Iterator[tuple[Life, str]]:
    """A general, driven here, and its task, whose soldier has strewn its litter."""
    barracks.command(f"{litter.script}touch $KINGDOM_WORKSPACE/up\n{script}")
    barracks.package(**manifest)
    (task_id,) = barracks.publish()
    with barracks.general() as life:
        life.until(lambda: is_up(barracks, task_id), "the program runs")
        litter.until_there()
        yield life, task_id


def _goes(barracks: Barracks, task_id: str) -> None:
    go(barracks)


def _is_too_late(barracks: Barracks, task_id: str) -> None:
    barracks.revise(task_id, timeout_seconds=0)


def _is_cancelled(barracks: Barracks, task_id: str) -> None:
    barracks.ask(f"{task_id}.cancel")


def _loses_its_wrapper(barracks: Barracks, task_id: str) -> None:
    """While that writes how it ended."""
    pid, soldier = barracks.wrapper(task_id), barracks.soldier(task_id)
    part = Path(barracks.base.soldiers, f".tmp-{pid}-{pids.started(pid)}-{soldier}.exit")
    part.touch()
    os.kill(pid, signal.SIGKILL)


def _loses_its_program_and_its_wrapper(barracks: Barracks, task_id: str) -> None:
    for pid in (*barracks.processes(barracks.soldier(task_id)), barracks.wrapper(task_id)):
        os.kill(pid, signal.SIGKILL)


def _loses_its_tmux(barracks: Barracks, task_id: str) -> None:
    os.kill(int(barracks.ask_tmux("display-message", "-p", "#{pid}")), signal.SIGKILL)


def _loses_its_session(barracks: Barracks, task_id: str) -> None:
    barracks.tmux().end(barracks.soldier(task_id))


WAYS = {
    "success": (WAIT_FOR_GO, _goes, ""),
    "failure": (WAIT + FAILS, _goes, "reported_failure"),
    "crash": (WAIT + "exit 3", _goes, "soldier_crashed"),
    "kill": (WAIT + "kill -9 $$", _goes, "soldier_killed"),
    "timeout": (STAY, _is_too_late, "timed_out"),
    "cancel": (STAY, _is_cancelled, "cancelled"),
    "kill of its wrapper": (STAY, _loses_its_wrapper, "soldier_lost"),
    "kill of all that is known": (STAY, _loses_its_program_and_its_wrapper, "soldier_lost"),
    "kill of tmux": (STAY, _loses_its_tmux, "soldier_lost"),
    "kill of its session": (STAY, _loses_its_session, "soldier_lost"),
}


@pytest.mark.parametrize("way", WAYS)
def test_nothing_of_it_is_left_when_its_end_is_told(
    barracks: Barracks, litter: Litter, way: str
) -> None:
    script, end, code = WAYS[way]
    with at_work(barracks, litter, script) as (life, task_id):
        end(barracks, task_id)
        assert life.result_of(task_id).get("error_code", "") == code
        assert litter.left() == {}
    assert barracks.leftovers() == []


def test_nothing_is_left_of_one_that_shows_no_progress(barracks: Barracks, litter: Litter) -> None:
    with at_work(barracks, litter) as (life, task_id):
        barracks.revise(task_id, no_progress_seconds=0)
        assert life.result_of(task_id)["error_code"] == "no_progress"
        assert litter.left() == {}


@pytest.mark.parametrize("wrapper_too", [False, True])
def test_nothing_is_left_when_its_general_was_killed_meanwhile(
    barracks: Barracks, litter: Litter, wrapper_too: bool
) -> None:
    barracks.command(f"{litter.script}touch $KINGDOM_WORKSPACE/up\n{WAIT_FOR_GO}")
    barracks.package()
    (task_id,) = barracks.publish()
    general = barracks.spawn()
    eventually(lambda: is_up(barracks, task_id), "the program runs")
    litter.until_there()
    barracks.kill(general)
    if wrapper_too:
        _loses_its_wrapper(barracks, task_id)
    go(barracks)
    with barracks.general() as life:
        code = life.result_of(task_id).get("error_code", "")
        assert code == ("soldier_lost" if wrapper_too else "")
        assert litter.left() == {}


@pytest.mark.parametrize("lost", [None, _loses_its_wrapper, _loses_its_tmux])
def test_nothing_is_left_when_all_are_told_to_stop(
    barracks: Barracks, litter: Litter, lost: Callable[[Barracks, str], None] | None
) -> None:
    """Also of soldiers whose tmux or wrapper was killed while no general looked."""
    with at_work(barracks, litter) as (_, task_id):
        pass
    if lost is not None:
        lost(barracks, task_id)
    assert end_soldiers(barracks.base, environment()) == [barracks.soldier(task_id)]
    assert litter.left() == {}


@pytest.mark.skipif(os.geteuid() != 0, reason="needs a process of another user's")
def test_nobody_waits_for_a_process_that_runs_as_someone_else(litter: Litter) -> None:
    soldier = f"soldier-1-{os.getpid()}"

    def strew() -> None:
        tree.mark(soldier)
        subprocess.run(["sh", "-c", litter.script], env={"PATH": os.environ["PATH"]}, check=True)

    def look() -> None:
        os.setuid(NOBODY)
        os._exit(len(tree.members(-1, soldier)))

    assert in_child(strew) == 0
    litter.until_there()
    assert len(tree.members(-1, soldier)) == len(KINDS)
    assert in_child(look) == 0
