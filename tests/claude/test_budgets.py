"""The budget of a task: what its attempts cost, also those that were ended by force."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from kingdom.general.spec import SoldierFiles, Spec
from kingdom.store.paths import BaseDir
from tests.claude.test_in_a_kingdom import MANIFEST, ended, model, realm, reports, send
from tests.support.processes import children
from tests.support.scripted_model import ScriptedModel, say, use
from tests.support.waiting import eventually

__all__ = ["model"]  # the fixture
LIMITED = MANIFEST + "limits: {budget_usd: 1.0}\n"
WAITS = use("Bash", command="touch begun; sleep 300", description="wait")


def at_work(base: BaseDir, attempt: int) -> tuple[Spec, int]:
    """The soldier at the only task, once the model has answered it, and its wrapper's pid."""
    files = SoldierFiles(base)

    def found() -> list[tuple[Spec, int]]:
        listed = [files.read(one) for one in files.all_ids()]
        specs = [one for one in listed if one and one.attempt == attempt]
        runners = [(one, files.runner_of(one.soldier_id)) for one in specs]
        return [(s, r.pid) for s, r in runners if r and Path(s.cwd, "begun").exists()]

    eventually(found, f"attempt {attempt} is at work")
    ((spec, wrapper),) = found()
    Path(spec.cwd, "begun").unlink()
    return spec, wrapper


def kill_wrapper(wrapper: int) -> None:
    os.kill(wrapper, signal.SIGKILL)


def kill_program(wrapper: int) -> None:
    for pid in children(wrapper):
        with suppress(ProcessLookupError):  # it went along with the one before
            os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize(
    ("kill", "code"),
    [
        (kill_program, "soldier_killed"),
        pytest.param(kill_wrapper, "soldier_lost", marks=pytest.mark.long),
    ],
)
def test_who_is_ended_by_force_leaves_the_next_half_of_what_it_had(
    scratch: Path, model: ScriptedModel, kill: Callable[[int], None], code: str
) -> None:
    model.says(WAITS, to="spend")
    with realm(model, scratch, LIMITED) as base:
        event = send(base, "spend")
        given = []
        for attempt in (1, 2):
            spec, wrapper = at_work(base, attempt)
            given.append(_budget(spec))
            kill(wrapper)
        result = ended(base, event)
        left = _checkpoint(base, result["task_id"])
    assert given == [1.0, 0.5]
    assert result["error_code"] == code
    assert result["metrics"]["cost_unknown"] is True
    assert result["metrics"]["tokens"]["input"] > 0
    assert "cost_usd" not in result["metrics"]
    assert left["spent_usd"] == pytest.approx(0.75)


@pytest.mark.long
def test_what_is_known_counts_as_it_is(scratch: Path, model: ScriptedModel) -> None:
    model.says(reports("failed", error="No."), say("Bye."), WAITS, to="fail")
    with realm(model, scratch, LIMITED) as base:
        event = send(base, "fail")
        spec, wrapper = at_work(base, 2)
        first = 1.0 - _budget(spec)
        kill_program(wrapper)
        result = ended(base, event)
    assert 0 < first < 0.1
    assert spec.spent_usd == pytest.approx(first, abs=1e-5)
    assert result["metrics"]["cost_unknown"] is True


def _budget(spec: Spec) -> float:
    return float(spec.argv[spec.argv.index("--max-budget-usd") + 1])


def _checkpoint(base: BaseDir, task_id: str) -> dict[str, Any]:
    path = Path(base.results, f"{task_id}-checkpoint.json")
    return dict(json.loads(path.read_text()))
