"""Nothing that the real program's own Bash tool started outlives the soldier, however it ended."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from kingdom.general.spec import SoldierFiles
from kingdom.store.paths import BaseDir
from tests.claude.test_in_a_kingdom import MANIFEST, ended, model, realm, reports, send
from tests.support.cli import kingdom
from tests.support.litter import Litter
from tests.support.processes import children
from tests.support.scripted_model import ScriptedModel, Turn, hangs, say, use

__all__ = ["model"]  # the fixture
LIMITED = MANIFEST.replace("max_attempts: 2", "max_attempts: 1") + "limits: {max_turns: 4}\n"


class Strewn(dict[str, Litter]):
    """By the word that an event brings."""

    def script(self, word: str, *rest: Turn) -> tuple[Turn, ...]:
        self[word] = Litter()
        return (use("Bash", command=self[word].script, description="strew"), *rest)


@contextmanager
def strewn() -> Iterator[Strewn]:
    made = Strewn()
    try:
        yield made
    finally:
        for litter in made.values():
            litter.end()


def soldier_at(base: BaseDir, word: str) -> tuple[str, int]:
    """Its task, and the pid of its wrapper."""
    for entry in json.loads(Path(base.sessions_file).read_text()):
        task = json.loads(
            Path(base.queue, f"tasks/in_progress/{entry['task_id']}.json").read_text()
        )
        if task["payload"]["word"] == word:
            runner = SoldierFiles(base).runner_of(entry["id"])
            assert runner is not None
            return str(entry["task_id"]), runner.pid
    raise AssertionError(f"nobody is at {word}")


def end(base: BaseDir, word: str) -> None:
    task, wrapper = soldier_at(base, word)
    if word == "cancelled":
        assert kingdom("cancel", task, base=base).code == 0
    elif word == "orphaned":
        os.kill(wrapper, signal.SIGKILL)
    elif word in ("finished", "talkative"):
        Path(base.path("workspace", "gen-trial", task, "go")).touch()
    elif word == "killed":
        for pid in children(wrapper):
            os.kill(pid, signal.SIGKILL)


CODES = {
    "finished": "",
    "talkative": "turns_exceeded",
    "cancelled": "cancelled",
    "killed": "soldier_killed",
    "orphaned": "soldier_lost",
}


@pytest.mark.parametrize(
    "words",
    [
        ("finished", "orphaned"),
        pytest.param((*CODES, "stopped"), marks=pytest.mark.long),
    ],
    ids=["two", "all"],
)
def test_nothing_of_it_is_left_however_it_ended(
    scratch: Path, model: ScriptedModel, words: tuple[str, ...]
) -> None:
    waits = use("Bash", command="until [ -e go ]; do sleep 0.1; done", description="wait")
    rest = {"finished": (waits, reports(), say("Bye.")), "talkative": (waits,)}
    with strewn() as litter:
        for word in words:
            model.says(*litter.script(word, *rest.get(word, (hangs(),))), to=word)
        with realm(model, scratch, LIMITED) as base:
            events = {word: send(base, word) for word in words}
            for word in words:
                litter[word].until_there()
                end(base, word)
            found = {word: told(base, events[word]) for word in words if word in CODES}
            assert found == {word: CODES[word] for word in found}
            left = {word: litter[word].left() for word in found}
            assert left == {word: {} for word in found}
            if "stopped" in words:
                assert kingdom("stop", "--soldiers", base=base).code == 0
                assert litter["stopped"].left() == {}


def told(base: BaseDir, event: str) -> Any:
    return ended(base, event).get("error_code", "")
