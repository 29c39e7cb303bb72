"""The general is killed at its errands, in a whole kingdom: the end is one push and one review.

Its soldiers run a shell script: what is tried here begins before them and after them.
"""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path

import pytest

from tests.support.git_remotes import git_server
from tests.support.github_server import TOKEN, FakeGitHub
from tests.support.processes import descendants, is_alive
from tests.support.siege import GENERAL, REPORT, WORK, Siege
from tests.support.waiting import PATIENCE, eventually

ERRANDS = ("fetch", "read-tree", "push")
# Its git was about to begin; is at work; has ended.
MOMENTS = ("before", "meanwhile", "after")
_GIT = """\
#!/bin/sh
wanted=$(cat "{orders}/errand" 2>/dev/null)
case " $* " in
*" ${{wanted:-nothing}} "*)
    moment=$(cat "{orders}/moment")
    if mv "{orders}/errand" "{orders}/done.$$" 2>/dev/null; then
        [ "$moment" = after ] && "{git}" "$@"
        kill -9 $(cat "{seat}")
        [ "$moment" = meanwhile ] || exit 1
    fi ;;
esac
exec "{git}" "$@"
"""


class Orders:
    """At which of its errands the general is to be killed next, by the git that it runs."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory / "orders"
        programs = directory / "programs"
        for place in (self._directory, programs):
            place.mkdir()
        shim = programs / "git"
        seat = directory / "land" / "state" / GENERAL / "pid"
        git = shutil.which("git")
        shim.write_text(_GIT.format(orders=self._directory, git=git, seat=seat))
        shim.chmod(0o755)
        self.path = f"{programs}:{os.environ['PATH']}"

    def give(self, errand: str, moment: str) -> None:
        (self._directory / "moment").write_text(moment)
        part = self._directory / "part"
        part.write_text(errand)
        part.rename(self._directory / "errand")

    def is_done(self) -> bool:
        return not (self._directory / "errand").exists()


@contextmanager
def besieged(directory: Path, url: str = "") -> Iterator[tuple[Siege, Orders]]:
    script = directory / "soldier.sh"
    script.write_text(f"#!/bin/sh\n{WORK}{REPORT}")
    script.chmod(0o755)
    runtime = {"engine": "command", "isolation": "off", "command": {"argv": [str(script)]}}
    orders = Orders(directory)
    with FakeGitHub() as hub:
        siege = Siege(directory, hub, runtime, {"PATH": orders.path}, url)
        try:
            siege.start()
            yield siege, orders
        finally:
            siege.clear()


@pytest.mark.parametrize(
    "moments",
    [
        tuple(zip(ERRANDS, MOMENTS, strict=True)),
        pytest.param(tuple(product(ERRANDS, MOMENTS)), marks=pytest.mark.long),
    ],
    ids=["some", "all"],
)
def test_killed_around_a_run_of_git(scratch: Path, moments: tuple[tuple[str, str], ...]) -> None:
    with besieged(scratch) as (siege, orders):
        for errand, moment in moments:
            orders.give(errand, moment)
            siege.send()
            eventually(orders.is_done, f"killed at {errand}, {moment}")
            siege.revive()
            # Or another one's review could be under way at the next kill, which takes its time.
            eventually(lambda: not siege.open_events(), "it has ended all the same")
        siege.check()


@pytest.mark.long
def test_killed_around_each_request_about_a_review(scratch: Path) -> None:
    """Long, because what may be under way is given time to arrive."""
    wanted = [(s, v) for v in ("GET", "POST") for s in ("received", "done", "answered")]
    with besieged(scratch) as (siege, _):
        left = dict(enumerate(wanted, 1))

        def kill(stage: str, verb: str, path: str) -> None:
            for number, one in list(left.items()):
                if one == (stage, verb) and f"/pulls/{number}/reviews" in path:
                    del left[number]
                    for pid in siege.generals():
                        siege.strike(pid)

        siege.hub.hook = kill
        for _ in wanted:
            siege.send()

        def all_killed() -> bool:
            siege.revive()
            return not left

        eventually(all_killed, "killed at each", told=lambda: str(left))
        siege.check()


@pytest.mark.parametrize(
    ("service", "way"),
    [
        ("git-upload-pack", "killed"),
        pytest.param("git-upload-pack", "stopped", marks=pytest.mark.long),
        pytest.param("git-receive-pack", "killed", marks=pytest.mark.long),
        ("git-receive-pack", "stopped"),
    ],
)
def test_a_git_that_waits_for_its_remote_does_not_outlive_its_general(
    scratch: Path, service: str, way: str
) -> None:
    goes_on, arrived = threading.Event(), threading.Event()

    def hold(path: str) -> None:
        if path.endswith(f"/{service}"):
            arrived.set()
            goes_on.wait()

    with git_server(scratch / "remotes", TOKEN) as server:
        server.hook = hold
        with besieged(scratch, server.url) as (siege, _):
            try:
                siege.send()
                assert arrived.wait(PATIENCE)
                (general,) = siege.generals()
                below = descendants(general)
                assert below
                siege.strike(general) if way == "killed" else siege.say("stop", "--soldiers")
                eventually(lambda: not any(map(is_alive, below)), "its git is gone")
            finally:
                goes_on.set()
            siege.revive() if way == "killed" else siege.start()
            siege.check()
