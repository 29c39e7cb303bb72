"""What a writer that was killed between writing and renaming leaves, and who clears it."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kingdom.general import workspace
from kingdom.general.brief import memory
from kingdom.pids import started
from kingdom.runtime.processes import Seat
from kingdom.store import disk
from kingdom.store.paths import BaseDir
from kingdom.store.state import write_json
from tests.support.calls import observed


def killed_before_its_rename(write: Callable[[], object]) -> int:
    """Runs it in a child that dies with the temporary written; not yet waited for, as a zombie."""

    def die(name: str, arguments: tuple[Any, ...], call: Callable[[], Any]) -> Any:
        if name in ("replace", "link"):
            os.kill(os.getpid(), signal.SIGKILL)
        return call()

    child = os.fork()
    if child == 0:
        with observed(die):
            write()
        os._exit(1)
    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
    return child


def temporaries(base: BaseDir) -> list[Path]:
    return sorted(Path(base.root).rglob(".tmp-*"))


WRITERS: dict[str, Callable[[BaseDir], object]] = {
    "state": lambda base: write_json(base.sessions_file, []),
    "of a role": lambda base: write_json(base.path("state", "king", "told.json"), {}),
    "claim": lambda base: disk.create_whole(base.path("state", "soldiers", "s.claim"), b"x"),
    "memory": lambda base: memory.put(memory.of_general(base, "gen-pr").path, "measure twice\n"),
    "memory of a repository": lambda base: memory.put(memory.of_repo(base, "a/b").path, "brief\n"),
}


@pytest.mark.parametrize("writer", WRITERS)
def test_the_next_role_to_start_clears_what_a_killed_writer_left(
    base: BaseDir, writer: str
) -> None:
    for name in ("king", "soldiers"):
        disk.make_directory(base.path("state", name))
    child = killed_before_its_rename(lambda: WRITERS[writer](base))
    assert len(temporaries(base)) == 1
    try:
        Seat(base, "envoy").take().close()
        assert temporaries(base) == []
    finally:
        os.waitpid(child, 0)


def test_what_a_living_writer_has_under_way_stays(base: BaseDir) -> None:
    disk.make_directory(base.state)
    me, since = os.getpid(), started(os.getpid())
    theirs = [
        Path(base.state) / f".tmp-{writer}-sessions.json" for writer in (f"{me}", f"{me}-{since}")
    ]
    for one in theirs:
        one.write_text("[]")
    Seat(base, "envoy").take().close()
    assert temporaries(base) == sorted(theirs)


def test_a_pid_that_came_again_is_not_the_writer(base: BaseDir) -> None:
    disk.make_directory(base.state)
    (Path(base.state) / f".tmp-{os.getpid()}-1-sessions.json").write_text("[]")
    Seat(base, "envoy").take().close()
    assert temporaries(base) == []


def test_a_workspace_is_cleared_when_it_is_prepared_again(base: BaseDir) -> None:
    place = base.path("workspace", "gen-pr", "task-1")
    child = killed_before_its_rename(lambda: workspace.prepare(place, {}, ""))
    assert len(temporaries(base)) == 1
    try:
        workspace.prepare(place, {}, "")
        assert temporaries(base) == []
    finally:
        os.waitpid(child, 0)
