"""kill -9 at random moments between event and message: each event still ends once, and well."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.github_server import FakeGitHub
from tests.support.programs import new_claude
from tests.support.scripted_model import ScriptedModel, say, use
from tests.support.siege import REPORT, WORK, Siege
from tests.support.waiting import eventually, let_pass

TARGETS: dict[str, Callable[[Siege], list[int]]] = {
    "program": Siege.programs,
    "wrapper": Siege.wrappers,
    "tmux": Siege.tmux_servers,
    "general": Siege.generals,
}
_AT_ONCE = 2  # events under way
_LONGEST_PAUSE = 0.3  # seconds


@dataclass(frozen=True)
class Plan:
    seed: int
    rounds: int  # in each, every target is killed once


def weather(directory: Path, plan: Plan) -> Counter[str]:
    """Runs it to the end and checks everything; answers how often whom was killed."""
    turns = [
        use("Bash", command=WORK, description="work"),
        use("Bash", command=REPORT, description="report"),
        say("Bye."),
    ]
    # A session that was cut off anywhere goes on with the next of them.
    with FakeGitHub() as hub, ScriptedModel(*turns * 40) as model:
        claude = {"command": new_claude(), "max_retries": 0}
        runtime = {"engine": "claude", "claude": claude}
        siege = Siege(directory, hub, runtime, model.environment)
        try:
            siege.start()
            killed = _storm(siege, model, plan)
            siege.check()
            return killed
        finally:
            siege.clear()


def _storm(siege: Siege, model: ScriptedModel, plan: Plan) -> Counter[str]:
    chance = random.Random(plan.seed)
    signs: tuple[Callable[[], object], ...] = (  # of things that go on
        lambda: len(model.requests),
        lambda: len(siege.hub.asked),
        siege.wrappers,
        time.monotonic,
    )
    killed: Counter[str] = Counter()
    for _ in range(plan.rounds):
        for name in chance.sample(list(TARGETS), len(TARGETS)):
            while siege.open_events() < _AT_ONCE:
                siege.send()
            _await_change(siege, chance.choice(signs))
            let_pass(chance.uniform(0.0, _LONGEST_PAUSE))
            _strike(siege, name, chance)
            killed[name] += 1
            siege.revive()
        # Or those that were hit often would wait ever longer.
        eventually(lambda: siege.open_events() < _AT_ONCE, "one has got through")
    return killed


def _await_change(siege: Siege, sign: Callable[[], object]) -> None:
    before = sign()
    eventually(lambda: sign() != before or not siege.open_events(), "things go on")


def _strike(siege: Siege, name: str, chance: random.Random) -> None:
    """Whoever is there first, should nobody be there just now."""

    def struck() -> bool:
        if not siege.open_events():
            siege.send()
        found = TARGETS[name](siege)
        return bool(found) and siege.strike(chance.choice(found))

    eventually(struck, f"a {name} to kill")


def test_every_event_ends_once_whoever_is_killed(scratch: Path) -> None:
    weather(scratch, Plan(seed=1, rounds=1))


@pytest.mark.long
@pytest.mark.parametrize("seed", range(11, 15))
def test_the_same_with_forty_kills(scratch: Path, seed: int) -> None:
    assert weather(scratch, Plan(seed, rounds=10)).total() == 40
