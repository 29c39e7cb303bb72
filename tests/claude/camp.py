"""Where a soldier runs on the real program: the engine's plan, the real wrapper, a scripted model.

No general and no tmux: what an attempt leaves behind is judged by the engine right away.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any

from kingdom.clock import SystemClock
from kingdom.engines import soldier, tree
from kingdom.engines.claude.engine import ClaudeEngine
from kingdom.engines.port import Evidence, Order, Plan, Verdict
from kingdom.general.spec import SoldierFiles
from kingdom.models.task import Task
from kingdom.store.paths import BaseDir
from tests.support.scripted_model import ScriptedModel, Turn, use
from tests.support.waiting import PATIENCE, eventually

TASK = "task-20260207-001"
RESULT = {"task_id": TASK, "status": "success", "summary": "done"}
_numbers = count(1)


@dataclass(frozen=True)
class Run:
    """One that has ended."""

    order: Order
    plan: Plan
    exit: dict[str, Any]
    evidence: Evidence
    verdict: Verdict

    @property
    def lines(self) -> list[dict[str, Any]]:
        text = Path(self.evidence.stdout_path).read_text("utf-8")
        return [json.loads(line) for line in text.splitlines()]

    @property
    def metrics(self) -> dict[str, Any]:
        return dict(self.verdict.metrics)


class Camp:
    def __init__(self, place: Path, model: ScriptedModel, program: str) -> None:
        self.base = BaseDir(place / "king's base (1)")  # a name that hooks and rules must quote
        self.model = model
        self.home = place / "home"
        self.workspace = Path(self.base.workspace, "gen-pr", TASK, "repo")
        self.engine = ClaudeEngine(program, os.environ, self.base.root, max_retries=1)
        self.program = program
        self._living: list[Soldier] = []
        for path in (
            self.base.soldiers,
            self.base.results,
            self.base.session_logs,
            self.base.prompts,
        ):
            Path(path).mkdir(parents=True)
        for directory in (self.home, self.workspace):
            directory.mkdir(parents=True)

    def engine_with(self, **options: Any) -> None:
        options = {"max_retries": 1, **options}
        self.engine = ClaudeEngine(self.program, os.environ, self.base.root, **options)

    def order(self, prompt: str = "Do it.", **changes: Any) -> Order:
        id_ = f"soldier-{os.getpid()}-{next(_numbers)}"
        prompt_path = Path(self.base.prompts, f"{id_}.md")
        prompt_path.write_text(prompt, "utf-8")
        values: dict[str, Any] = {
            "task": Task(
                id=TASK,
                event_id="evt-test-1",
                target_general="gen-pr",
                type="github.pr.review_requested",
                created_at=SystemClock().now(),
            ),
            "soldier_id": id_,
            "attempt": 1,
            "prompt_path": str(prompt_path),
            "workspace": str(self.workspace),
            "guides": str(self.workspace.parent),
            "result_path": self._place_of_result(id_),
            "heartbeat_path": os.path.join(self.base.results, f"{TASK}-heartbeat"),
            "timeout_seconds": 60.0,
            "environment": {
                "PATH": os.environ["PATH"],
                "HOME": str(self.home),
                **self.model.environment,
            },
        }
        return Order(**(values | changes))

    def _place_of_result(self, id_: str) -> str:
        path = SoldierFiles(self.base).raw_result(TASK, id_)
        Path(path).parent.mkdir()
        return path

    def writes_result(self, order: Order) -> Turn:
        return use("Write", file_path=order.result_path, content=json.dumps(RESULT))

    def start(self, order: Order, *extra: str) -> Soldier:
        begun = Soldier(self, order, *extra)
        self._living.append(begun)
        return begun

    def run(self, order: Order, *extra: str, earlier: dict[str, Any] | None = None) -> Run:
        return self.start(order, *extra).ended(earlier)

    def play(self, *script: Turn | list[Turn], **changes: Any) -> Run:
        """A soldier with this script from its start to its end."""
        order = self.order(**changes)
        self.model.says(*script)
        return self.run(order)

    def close(self) -> None:
        for one in self._living:
            one.close()


class Soldier:
    """One that was started."""

    def __init__(self, camp: Camp, order: Order, *extra: str) -> None:
        self.order = order
        self._camp = camp
        self.plan = camp.engine.plan(order)
        for path, content in self.plan.files.items():
            Path(path).write_text(content, "utf-8")
        self._stem = os.path.join(camp.base.soldiers, order.soldier_id)
        self.stdout = os.path.join(camp.base.session_logs, f"{order.soldier_id}.json")
        self.stderr = os.path.join(camp.base.session_logs, f"{order.soldier_id}.err")
        spec = {
            "soldier_id": order.soldier_id,
            "task_id": TASK,
            "argv": [*self.plan.argv, *extra],
            "environment": {
                **order.environment,
                **self.plan.environment,
                tree.MARK: order.soldier_id,
            },
            "cwd": order.workspace,
            "stdin": order.prompt_path,
            "stdout": self.stdout,
            "stderr": self.stderr,
            "result_path": order.result_path,
            "timeout_seconds": order.timeout_seconds,
            "deadline": time.time() + order.timeout_seconds,
            "linger_seconds": 10,
            "verify": [],
        }
        Path(f"{self._stem}.json").write_text(json.dumps(spec), "utf-8")
        argv = [sys.executable, "-I", "-S", soldier.__file__, f"{self._stem}.json"]
        self.wrapper = subprocess.Popen(argv, stdout=subprocess.DEVNULL)

    def ended(self, earlier: dict[str, Any] | None = None) -> Run:
        """Waits for its end; nothing of it may be left then."""
        assert self.wrapper.wait(PATIENCE) == 0
        assert not self.processes()
        exit_ = json.loads(Path(f"{self._stem}.exit").read_text("utf-8"))
        evidence = Evidence(
            order_task_id=TASK,
            exit_code=exit_["code"],
            signal=exit_["signal"],
            stdout_path=self.stdout,
            stderr_path=self.stderr,
            has_result=os.path.exists(self.order.result_path),
            session_id=self.plan.session_id,
            earlier=earlier or {},
        )
        verdict = self._camp.engine.judge(evidence)
        return Run(self.order, self.plan, exit_, evidence, verdict)

    def progress(self) -> str:
        return self._camp.engine.progress(self.stdout)

    def until_it(self, words: str) -> None:
        eventually(lambda: words in self.progress(), f"progress says {words!r}", told=self.progress)

    def processes(self) -> set[int]:
        return set(tree.members(-1, self.order.soldier_id))

    def program(self) -> int:
        """The pid of the program itself."""
        path = f"/proc/{self.wrapper.pid}/task/{self.wrapper.pid}/children"
        return int(Path(path).read_text("ascii").split()[0])

    def close(self) -> None:
        self.wrapper.kill()
        self.wrapper.wait()
        tree.send(self.processes(), signal.SIGKILL)


@contextmanager
def pitched(place: Path, program: str) -> Iterator[Camp]:
    with ScriptedModel() as model:
        camp = Camp(place, model, program)
        try:
            yield camp
        finally:
            camp.close()


def with_login(order: Order) -> Order:
    """As one whose user has a subscription instead of a key: only then are there usage limits."""
    environment = {k: v for k, v in order.environment.items() if k != "ANTHROPIC_API_KEY"}
    return replace(order, environment={**environment, "CLAUDE_CODE_OAUTH_TOKEN": "sk-ant-oat01-x"})
