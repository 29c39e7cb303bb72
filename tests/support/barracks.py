"""A kingdom with one general and real soldiers: real tmux, real processes, on a socket of its own.

A general is driven in this process, step by step, or lives in a process of its own that can be
killed. Whatever a test leaves running is ended afterwards, also when it failed.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from typing import Any

import yaml

from kingdom.bus.files.bus import FileBus
from kingdom.bus.opening import open_bus
from kingdom.clients.tmux import Tmux, socket_name
from kingdom.engines import tree
from kingdom.general.daemon import General, make
from kingdom.models.task import Task
from kingdom.runtime.config import LiveConfig
from kingdom.runtime.internal_log import InternalLog
from kingdom.runtime.logging import configure, get_logger
from kingdom.runtime.role import Setting
from kingdom.store import leftovers
from kingdom.store.paths import BaseDir
from tests.support.kingdom import EagerClock, ShiftedClock
from tests.support.processes import forked_role, is_alive, told
from tests.support.waiting import PATIENCE, eventually

NAME = "gen-pr"
LONGEST_WAIT = 0.02  # seconds of a general driven here, so that a test soon sees what it waits for


def environment(**more: str) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ}
    return {**kept, "LANG": "C.UTF-8", **more}


class Barracks:
    """One base directory with its generals' packages, its tasks, and who is alive in it."""

    def __init__(self, base: BaseDir) -> None:
        self.base = base
        self.clock = ShiftedClock()
        self._number = 0
        self._children: list[int] = []
        self.configure("system", durability="fast", runtime={"engine": "rehearsal"})
        self.configure("king", concurrency={"max_soldiers": 60})
        self.bus: FileBus | None = None

    # Configuration

    def configure(self, file: str, **values: Any) -> None:
        """Soldiers run without a sandbox, so that a test sees what they do; unless it says so."""
        if "runtime" in values:
            values["runtime"] = {"isolation": "off", **values["runtime"]}
        path = Path(self.base.config, f"{file}.yaml")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(yaml.safe_dump(values), "utf-8")

    def command(self, script: str, **system: Any) -> None:
        """Soldiers run this shell script from now on; `system` is set besides."""
        self._program("act", script)
        runtime = {"engine": "command", "command": {"argv": ["./act"]}}
        self.configure("system", durability="fast", runtime=runtime, **system)

    def claude(self, script: str) -> None:
        """The same, for soldiers that are taken for Claude Code and print what it would."""
        self._program("act", script)
        runtime = {"engine": "claude", "claude": {"command": "./act"}}
        self.configure("system", durability="fast", runtime=runtime)

    def with_tmux(self, script: str) -> dict[str, str]:
        """An environment in which tmux is this shell script."""
        self._program("tmux", script)
        return environment(PATH=f"{self.base.root}:{os.environ['PATH']}")

    def _program(self, name: str, script: str) -> None:
        path = Path(self.base.root, name)
        path.write_text(f"#!/bin/sh\n{script}\n", "utf-8")
        path.chmod(0o755)

    def package(self, name: str = NAME, prompt: str = "Do {{TASK_ID}}.", **manifest: Any) -> None:
        directory = Path(self.base.config, "generals", name)
        directory.mkdir(parents=True, exist_ok=True)
        values = {
            "name": name,
            "description": "For tests",
            "timeout_seconds": 60,
            "retry": {"max_attempts": 1, "backoff_seconds": 0.05},
            **manifest,
        }
        directory.joinpath("manifest.yaml").write_text(yaml.safe_dump(values), "utf-8")
        directory.joinpath("prompt.md").write_text(prompt, "utf-8")

    # Tasks

    def publish(self, count: int = 1, general: str = NAME, **fields: Any) -> list[str]:
        tasks = [self._task(general, **fields) for _ in range(count)]
        with self.outside_bus() as bus:
            assert all(bus.publish("tasks", *tasks))
        return [task.id for task in tasks]

    def _task(self, general: str, **fields: Any) -> Task:
        self._number += 1
        values: dict[str, Any] = {
            "id": f"task-20260207-{self._number:03d}",
            "event_id": f"evt-test-{self._number}",
            "target_general": general,
            "type": "github.pr.review_requested",
            "created_at": self.clock.now(),
            "trace_id": f"trace-{self._number}",
            "trust": "member",
        }
        return Task(**(values | fields))

    @contextmanager
    def outside_bus(self) -> Iterator[FileBus]:
        bus = FileBus(self.base, durable=False)
        try:
            yield bus
        finally:
            bus.close()

    def task(self, id_: str) -> tuple[str, dict[str, Any]]:
        """The directory it lies in, and what its file says."""
        for state in ("completed", "in_progress", "pending", "dead"):
            path = Path(self.base.queue, "tasks", state, f"{id_}.json")
            if path.exists():
                try:
                    return state, json.loads(path.read_text("utf-8"))
                except FileNotFoundError:
                    continue
        raise AssertionError(f"{id_} is nowhere")

    def result(self, id_: str) -> dict[str, Any] | None:
        path = Path(self.base.results, f"{id_}.json")
        loaded: dict[str, Any] = json.loads(path.read_text("utf-8")) if path.exists() else None
        return loaded

    def ask(self, name: str, *, gone: bool = False) -> None:
        """As the king does it: a file in `state/control/`, or its removal."""
        path = Path(self.base.control, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        if gone:
            path.unlink()
        else:
            path.write_text("{}", "utf-8")

    # What is to be seen

    def sessions(self) -> list[dict[str, Any]]:
        path = Path(self.base.sessions_file)
        found: list[dict[str, Any]] = json.loads(path.read_text("utf-8")) if path.exists() else []
        return found

    def states(self) -> list[str]:
        """Of the soldiers that are registered."""
        return [one["state"] for one in self.sessions()]

    def tmux(self) -> Tmux:
        return Tmux(self.base, environment())

    def ask_tmux(self, *words: str) -> str:
        return subprocess.run(
            ["tmux", "-L", socket_name(self.base), *words],
            capture_output=True,
            text=True,
            check=True,
        ).stdout

    def screen(self, task_id: str) -> str:
        """What its session shows."""
        return self.ask_tmux("capture-pane", "-p", "-t", f"={self.soldier(task_id)}:")

    def events(self, *types: str) -> list[dict[str, Any]]:
        path = Path(self.base.events_log)
        lines = path.read_text("utf-8").splitlines() if path.exists() else []
        found = [json.loads(line) for line in lines if line]
        return [one for one in found if not types or one["type"] in types]

    def soldier(self, task_id: str) -> str:
        path = Path(self.base.results, f"{task_id}-soldier-id")
        return path.read_text("ascii") if path.exists() else ""

    def spec(self, task_id: str) -> dict[str, Any]:
        path = Path(self.base.soldiers, f"{self.soldier(task_id)}.json")
        loaded: dict[str, Any] = json.loads(path.read_text("utf-8"))
        return loaded

    def revise(self, task_id: str, **values: Any) -> None:
        """Changes what its wrapper goes by; limits of 0 are over at its next look."""
        path = Path(self.base.soldiers, f"{self.soldier(task_id)}.json")
        part = Path(self.base.root, "spec.part")
        part.write_text(json.dumps(self.spec(task_id) | values), "utf-8")
        part.rename(path)

    def wrapper(self, task_id: str) -> int:
        """The pid of its wrapper; 0 before it has begun."""
        path = Path(self.base.soldiers, f"{self.soldier(task_id)}.claim")
        words = path.read_text("ascii").split() if path.exists() else []
        return int(words[1]) if len(words) == 3 else 0

    def processes(self, soldier_id: str) -> set[int]:
        """All that bear its mark."""
        return set(tree.members(-1, soldier_id))

    def workspace(self, task_id: str, general: str = NAME) -> Path:
        return Path(self.base.workspace, general, task_id)

    def leftovers(self) -> list[str]:
        """Files of soldiers that should be none, and temporaries anywhere."""
        own = [str(path) for path in Path(self.base.soldiers).glob("*")]
        return own + [str(path) for path in Path(self.base.state).rglob(".tmp-*")]

    # Generals

    @contextmanager
    def general(self, name: str = NAME, env: Mapping[str, str] | None = None) -> Iterator[Life]:
        """Driven in this process."""
        given = environment() if env is None else dict(env)
        said = StringIO()
        configure(name, self.base, environment=given, stream=said)
        config = LiveConfig(self.base, given, EagerClock())
        bus = open_bus(self.base, config.current.settings, general=name, clock=self.clock)
        internal = InternalLog(self.base, name, self.clock)
        setting = Setting(name, self.base, given, bus, config, self.clock, get_logger(), internal)
        leftovers.clear(self.base)  # as whoever takes a seat does
        bus.recover()
        role = make(setting)
        role.start()
        try:
            yield Life(self, role, setting, said)
        finally:
            role.stop()
            bus.close()

    def spawn(self, name: str = NAME, env: Mapping[str, str] | None = None) -> int:
        """In a process of its own; its pid."""
        pid = forked_role(self.base, name, make, environment() if env is None else env)
        self._children.append(pid)
        return pid

    def kill(self, pid: int, number: int = signal.SIGKILL) -> int:
        os.kill(pid, number)
        self._children.remove(pid)
        return os.waitpid(pid, 0)[1]

    def ended(self, pid: int) -> int:
        """The wait status of one that ends by itself."""
        eventually(lambda: not is_alive(pid), f"{pid} ends")
        self._children.remove(pid)
        return os.waitpid(pid, 0)[1]

    # The end

    def close(self) -> None:
        for pid in list(self._children):
            self.kill(pid)
        self.tmux().end_server()
        root = os.fsencode(self.base.root)
        eventually(lambda: not self._end_strays(root), "every process of the test has ended")
        subprocess.run(
            ["rm", "-f", f"/tmp/tmux-{os.getuid()}/{socket_name(self.base)}"], check=True
        )

    def _end_strays(self, root: bytes) -> list[int]:
        """Whoever has this base directory in its environment or its command line."""
        pids = map(int, filter(str.isdecimal, os.listdir("/proc")))
        found = [pid for pid in pids if pid != os.getpid() and root in told(pid) and is_alive(pid)]
        tree.send(found, signal.SIGKILL)
        return found


class Life:
    """One life of a general: it steps as its loop would, until something has come true."""

    def __init__(self, barracks: Barracks, role: General, setting: Setting, said: StringIO) -> None:
        self.role = role
        self.setting = setting
        self.bus = setting.bus
        self.said = said
        self.longest_step = 0.0
        self._barracks = barracks

    def until(self, holds: Callable[[], object], what: str, seconds: float = PATIENCE) -> None:
        eventually(holds, what, seconds, meanwhile=lambda _: self.turn(), told=self.said.getvalue)

    def result_of(self, task_id: str) -> dict[str, Any]:
        """Once it is there."""
        self.until(lambda: self._barracks.result(task_id), f"a result of {task_id}")
        return self._barracks.result(task_id) or {}

    def turn(self) -> None:
        began = time.monotonic()
        wanted = self.role.step()
        self.longest_step = max(self.longest_step, time.monotonic() - began)
        self.bus.wait(
            self.role.streams,
            min(wanted, LONGEST_WAIT),
            accepts=self.role.accepts(),
            also=list(self.role.descriptors()),
        )
