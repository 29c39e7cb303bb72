"""No more processes or threads may be started: nothing is counted against a task, nothing that a
soldier did is dropped, and work goes on when the limit is lifted."""

from __future__ import annotations

import json
import os
import resource
import select
import time
from pathlib import Path
from typing import Any, cast

import pytest

from kingdom.clients import programs, tmux
from kingdom.engines import wrapper
from kingdom.engines.port import Verdict
from kingdom.general import verdicts
from kingdom.general.attempt import Attempt
from kingdom.general.grounds import AFTER, Grounds, Heard
from kingdom.general.reporting import Reporter
from kingdom.general.spec import Ended
from kingdom.general.verdicts import Raw
from kingdom.general.winding_up import WindingUp
from kingdom.limits import LimitReached, limit_in, no_more_processes
from kingdom.runtime.errands import Answer, Errands
from kingdom.store.paths import BaseDir
from tests.general.test_decisions import SPEC
from tests.support.envoy import setting
from tests.support.few_processes import as_user, limit, owned
from tests.support.kingdom import MovableClock, task

TASK = "task-20260207-001"


def answered(errands: Errands) -> Answer:
    assert select.select([errands], [], [], 30)[0]
    (answer,) = errands.answers()
    return answer


def test_an_errand_without_a_thread_fails_and_the_next_one_is_done() -> None:
    def work() -> None:
        errands = Errands("test", hands=2)
        errands.ask("one", int)
        answer = answered(errands)
        assert isinstance(answer.failure, LimitReached)
        limit()
        errands.ask("two", lambda: 2)
        assert answered(errands).value == 2

    assert as_user(work, 1) == 0


def test_programs_that_cannot_be_started_say_which_limit_it_is(base: BaseDir) -> None:
    Path(base.root).chmod(0o755)
    environment = {"PATH": os.environ["PATH"]}

    def work() -> None:
        with pytest.raises(LimitReached, match="No more processes"):
            programs.Run(("true",), environment, timeout=5)
        code, said = programs.ask(("true",), environment)
        assert (code, said[:17]) == (None, "No more processes")
        with pytest.raises(LimitReached, match="No more processes"):
            tmux._asked(lambda one: one.sessions(), tmux.Tmux(base, environment))

    assert as_user(work, 1) == 0


def test_a_wrapper_that_can_start_nothing_costs_no_attempt(scratch: Path) -> None:
    spec: dict[str, Any] = {"soldier_id": "soldier-1-1", "task_id": TASK, "argv": ["true"]}
    spec |= {name: str(scratch / name) for name in ("stdin", "stdout", "stderr", "result_path")}
    spec |= {"environment": {}, "cwd": "/", "deadline": time.time() + 60, "verify": []}
    (scratch / "stdin").touch()
    (scratch / "spec.json").write_text(json.dumps(spec))
    owned(scratch)
    assert as_user(lambda: wrapper.main(str(scratch / "spec.json")), 1) == 0
    ended = Ended(**json.loads((scratch / "spec.exit").read_text()))
    words = (scratch / "stderr").read_text()
    found = verdicts.judge(
        SPEC, ended, Raw(failure="no_result"), Verdict(), condemned="", last_words=words
    )
    assert found.failure is not None
    assert (found.failure.code, found.failure.fate) == ("few_processes", "wait")
    assert "No more processes or threads can be started" in found.error


def test_what_a_soldier_left_is_seen_to_when_it_can_be(base: BaseDir, clock: MovableClock) -> None:
    given = setting(base, clock)
    given.bus.publish("tasks", task(1))
    (claim,) = given.bus.claim("tasks", "gen-pr", 1)
    attempt, grounds = Attempt(claim, 0.0), Grounds(given)
    winding_up = WindingUp(given, grounds, cast(Reporter, None))
    winding_up.hear(attempt, Heard(AFTER, claim.id, None, no_more_processes()))
    assert attempt.aftermath is not None
    assert attempt.aftermath.later is not None
    assert attempt.aftermath.notes == ()
    assert winding_up.rests_for(attempt) == pytest.approx(30)
    winding_up.hear(attempt, Heard(AFTER, claim.id, None, ValueError("a fault of ours")))
    assert attempt.aftermath.later is None
    assert attempt.aftermath.notes
    grounds.close()
    given.bus.close()


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (OSError(24, "Too many open files"), "few_files"),
        (OSError(23, "Too many open files in system"), "few_files"),
        (RuntimeError("can't start new thread"), "few_processes"),
        (MemoryError(), "little_memory"),
        (OSError(12, "Cannot allocate memory"), "little_memory"),
        (ImportError("x.so: failed to map segment from shared object"), "little_memory"),
        (RuntimeError("another"), ""),
        (BlockingIOError(11, "Resource temporarily unavailable"), ""),
        (OSError(28, "No space left on device"), ""),
        (OSError(27, "File too large"), ""),
    ],
    ids=str,
)
def test_which_limit_it_was(error: Exception, code: str) -> None:
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY
    found = limit_in(error)
    assert (found.code if found else "") == code
    assert found is None or found.remedy
