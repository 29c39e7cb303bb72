"""A base directory whose soldiers are a small shell script, and the processes that belong to it."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path

from kingdom.clients.tmux import socket_name
from kingdom.runtime.processes import START_NOW, send_signal
from kingdom.store.paths import BaseDir
from tests.support.cli import COMMAND, Said, kingdom
from tests.support.processes import is_alive, told
from tests.support.waiting import eventually

GENERALS = ("gen-gale", "gen-storm")
KINDS = ("plain",) * 7 + ("kind-ask", "kind-skip", "kind-fail")

# Notes when it begins and ends, and if another works on its task; what it does the prompt says.
# It waits for room on a full disk.
SOLDIER = """\
#!/bin/sh
said=$(cat)
exec 9> "{runs}.$KINGDOM_TASK_ID"
flock -n 9 || echo "twice $KINGDOM_TASK_ID $$" >> "{runs}"
echo "begin $KINGDOM_TASK_ID $$" >> "{runs}"
sleep 0.0$(( $$ % 10 )) 9>&-
case $said in
*kind-long*) sleep 2 9>&- ;;
esac
case $said in
*"{answer}"*) answer='"status": "success", "summary": "done as told"' ;;
*kind-secret*) answer='"status": "success", "summary": "found {secret}"' ;;
*kind-ask*) answer='"status": "needs_human", "summary": "unsure", "question": "Which one?"' ;;
*kind-skip*) answer='"status": "skipped", "summary": "not mine", "reason": "nothing to do"' ;;
*kind-fail*) answer='"status": "failed", "summary": "no", "error": "it is broken"' ;;
*) answer='"status": "success", "summary": "done"' ;;
esac
part=$KINGDOM_RESULT_PATH.part
until printf '{{"task_id": "%s", %s}}\\n' "$KINGDOM_TASK_ID" "$answer" > "$part" && [ -s "$part" ]
do sleep 0.2 9>&-; done
echo "end $KINGDOM_TASK_ID $$" >> "{runs}"
mv "$part" "$KINGDOM_RESULT_PATH"
"""
ANSWER = "the first one"
SECRET = "ghp_" + "NotASecret" * 4  # in the form of one: the outbound gate holds it
MANIFEST = """\
name: {name}
description: Weathers a storm.
timeout_seconds: 60
subscribes: [{kind}.work]
retry: {{max_attempts: 2, backoff_seconds: 0.1}}
"""


class Land:
    """The kingdom under test. Its processes are ended by `clear`, whatever happened."""

    def __init__(
        self,
        directory: Path,
        *,
        soldiers: int,
        disk: Path | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """`disk` has the base directory, and nothing else; `environment` is told to everybody."""
        self.base = BaseDir((disk or directory) / "land")
        self.runs = directory / "runs.log"
        self.runs.touch()
        self._environment = dict(environment or {})
        self.say("init", self.base.root)
        script = directory / "soldier.sh"
        script.write_text(SOLDIER.format(runs=self.runs, secret=SECRET, answer=ANSWER))
        script.chmod(0o755)
        local = Path(self.base.path("config", "local"))
        (local / "system.yaml").write_text(
            f"runtime:\n  engine: command\n  isolation: off\n  command:\n    argv: [{script}]\n"
        )
        (local / "king.yaml").write_text(f"concurrency:\n  max_soldiers: {soldiers}\n")
        self._install_generals()

    def _install_generals(self) -> None:
        packages = Path(self.base.path("config", "generals"))
        for shipped in packages.iterdir():
            shipped.rename(packages.parent / "local" / f"unused-{shipped.name}")
        for name in GENERALS:
            package = packages / name
            package.mkdir()
            kind = name.removeprefix("gen-")
            (package / "manifest.yaml").write_text(MANIFEST.format(name=name, kind=kind))
            (package / "prompt.md").write_text("Do this: {{payload.kind}}\n")

    def say(self, *words: str, check: bool = True, command: Sequence[str] = ()) -> Said:
        """One command, as a person types it."""
        told = {} if words[0] == "init" else {"KINGDOM_BASE_DIR": self.base.root}
        said = kingdom(*words, env=self._environment | told, command=command)
        assert said.code == 0 or not check, f"kingdom {' '.join(words)}: {said.out}{said.err}"
        return said

    def start(self) -> None:
        said = self.try_to_start()
        assert said.code == 0, said

    def try_to_start(self) -> Said:
        """In a process of its own: what comes of it is found by what that was called with.

        Roles hide their environment from everybody but root, their command line from nobody.
        """
        return kingdom("start", base=self.base, command=COMMAND, env=self._environment)

    def hurry(self) -> None:
        """Whatever waits to be started again is started now."""
        pid = self.pid_of("warden")
        if pid is not None:
            send_signal(pid, START_NOW)

    def roles(self) -> list[str]:
        return ["envoy", "king", *GENERALS]

    def all_roles(self) -> list[str]:
        return [*self.roles(), "chamberlain", "sentinel"]

    def pid_of(self, role: str) -> int | None:
        """Of the living process; None if there is none just now."""
        try:
            pid = int(Path(self.base.path("state", role, "pid")).read_text())
        except (FileNotFoundError, ValueError):
            return None
        return pid if self._owns(pid) else None

    def kill(self, role: str) -> bool:
        pid = self.pid_of(role)
        if pid is None:
            return False
        return send_signal(pid, signal.SIGKILL)

    def processes(self) -> list[int]:
        """Everything alive that was started for this base directory, this process excepted."""
        pids = [int(name) for name in os.listdir("/proc") if name.isdecimal()]
        return [pid for pid in pids if pid != os.getpid() and self._owns(pid)]

    def _owns(self, pid: int) -> bool:
        """By what it was called with or what it was told: each names the kingdom."""
        names = (self.base.root.encode(), socket_name(self.base).encode())
        said = told(pid)
        return any(name in said for name in names) and is_alive(pid)

    def kill_all(self) -> int:
        """As a machine goes down: everything at once, the tmux server and the soldiers too."""
        killed = 0
        while found := self.processes():
            killed += sum(send_signal(pid, signal.SIGKILL) for pid in found)
            eventually(
                lambda found=found: not set(found) & set(self.processes()), "all killed are gone"
            )
        return killed

    def clear(self) -> None:
        self.kill_all()
