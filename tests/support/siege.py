"""A kingdom that reviews pull requests of a repository on this disk, and who can be killed in it.

Each event wants one review and one push; the server and the remote's own log tell how often each
was really done.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections import Counter
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from kingdom.bus.files.bus import FileBus
from kingdom.clients.tmux import socket_name
from kingdom.clock import SystemClock
from kingdom.general.spec import SoldierFiles
from kingdom.models.event import Event
from kingdom.ops.init import init
from kingdom.runtime.processes import send_signal
from kingdom.store.paths import BaseDir
from tests.storm.kingdom import Land
from tests.storm.reckoning import await_calm, names, nothing_is_left, reckoned
from tests.support.cli import COMMAND, kingdom
from tests.support.git_remotes import BareRemote
from tests.support.github_server import TOKEN, FakeGitHub
from tests.support.processes import children, told
from tests.support.waiting import eventually

GENERAL = "gen-trial"
REPO = "acme/shop"
MANIFEST = f"""
name: {GENERAL}
description: Reviews.
subscribes: [github.pr.*]
timeout_seconds: 120
retry: {{max_attempts: 60, backoff_seconds: 0.02}}
permissions: {{tools: [Read, Edit, Write, Bash], actions: [review, push]}}
verify: ["grep -q three a.txt"]
"""
ACTIONS = [{"do": "review", "event": "COMMENT", "body": "A line was missing."}, {"do": "push"}]
# May be cut off anywhere and done again.
WORK = """\
grep -q three a.txt || echo three >> a.txt
git diff --quiet HEAD -- a.txt || git commit -qam More
"""
_REPORT = json.dumps(
    {"task_id": "$TASK", "status": "success", "summary": "Done.", "actions": ACTIONS}
)
REPORT = f"""\
cat > "$KINGDOM_RESULT_PATH.part" <<END
{_REPORT.replace("$TASK", "$KINGDOM_TASK_ID")}
END
mv "$KINGDOM_RESULT_PATH.part" "$KINGDOM_RESULT_PATH"
"""
_NOTE_PUSHES = '#!/bin/sh\ncat >> "$GIT_DIR/pushes"\n'


class Siege(Land):
    def __init__(
        self,
        directory: Path,
        hub: FakeGitHub,
        runtime: Mapping[str, Any],
        env: Mapping[str, str],
        url: str = "",
    ) -> None:
        self.base = BaseDir(directory / "land")
        self.hub = hub
        self.events: list[str] = []
        self.remote = BareRemote(directory / "remotes" / f"{REPO}.git", {"a.txt": "one\n"})
        note = self.remote.path / "hooks" / "post-receive"
        note.parent.mkdir(exist_ok=True)
        note.write_text(_NOTE_PUSHES)
        note.chmod(0o755)
        home = directory / "home"
        home.mkdir()
        told = {"HOME": str(home), "GH_TOKEN": TOKEN, **env}
        self._environment = {"KINGDOM_BASE_DIR": self.base.root, **told}
        init(self.base)
        shutil.rmtree(self.base.path("config", "generals"))
        local = Path(self.base.path("config", "local"))
        git = {"url": url or f"{directory}/remotes/{{repo}}.git", "use_gh": False}
        system = {"runtime": runtime, "git": git}
        sentinel = {"polling": {"github": {"api_url": hub.url}}}
        for name, content in {"system": system, "sentinel": sentinel}.items():
            (local / f"{name}.yaml").write_text(json.dumps(content))
        package = local / "generals" / GENERAL
        package.mkdir(parents=True)
        (package / "manifest.yaml").write_text(MANIFEST.lstrip())
        (package / "prompt.md").write_text("Mend {{payload.number}}.\n")

    def start(self) -> None:
        said = kingdom("start", base=self.base, env=self._environment, command=COMMAND)
        assert said.code == 0, said.err

    def send(self) -> int:
        """One more pull request to look at; its number."""
        number = len(self.events) + 1
        self.remote.pull_request(number, {"a.txt": f"one\n{number}\n"})
        event = Event(
            id=f"evt-siege-{number:03d}",
            type="github.pr.review_requested",
            source="github",
            repo=REPO,
            payload={"number": number},
            created_at=SystemClock().now(),
            trust="member",
        )
        with closing(FileBus(self.base)) as bus:
            bus.publish("events", event)
        self.events.append(event.id)
        return number

    def open_events(self) -> int:
        return len(self.events) - len(names(self, "queue/events/completed"))

    # Whom to kill

    def wrappers(self) -> list[int]:
        files = SoldierFiles(self.base)
        found = (files.runner_of(one) for one in sorted(files.all_ids()))
        return [one.pid for one in found if one is not None and one.is_alive()]

    def programs(self) -> list[int]:
        """What the wrappers run: the soldiers themselves, or the checks of their work."""
        return [pid for wrapper in self.wrappers() for pid in children(wrapper)]

    def tmux_servers(self) -> list[int]:
        name = socket_name(self.base).encode()
        pids = map(int, filter(str.isdecimal, os.listdir("/proc")))
        called = {pid: told(pid).partition(b"\0")[0] for pid in pids}
        return [pid for pid, word in called.items() if word.endswith(b"tmux") and name in told(pid)]

    def generals(self) -> list[int]:
        pid = self.pid_of(GENERAL)
        return [] if pid is None else [pid]

    def strike(self, pid: int) -> bool:
        return send_signal(pid, signal.SIGKILL)

    def revive(self) -> None:
        """Its warden brings a killed general back; here, at once."""

        def is_back() -> bool:
            self.hurry()  # which is for nothing until the warden has seen its end
            return bool(self.generals())

        eventually(is_back, "the general is back")

    # What must hold

    def check(self, patience: float = 120.0) -> dict[str, dict[str, Any]]:
        """Everything has ended well, once, and nothing of it runs or lies about any more."""
        await_calm(self, len(self.events), patience)
        results = reckoned(self, set(self.events))
        assert {one["status"] for one in results.values()} == {"success"}, results
        numbers = Counter(one["number"] for one in self.hub.reviews)
        assert numbers == Counter(range(1, len(self.events) + 1)), "one review for each"
        assert self.hub.counts()["comments"] == self.hub.counts()["pulls"] == 0
        assert self.pushes() == Counter(f"refs/heads/kingdom/{task}" for task in results)
        self.say("stop", "--soldiers")
        nothing_is_left(self)
        assert os.listdir(self.base.soldiers) == []
        assert self.tmux_servers() == []
        return results

    def pushes(self) -> Counter[str]:
        """How often each ref was really changed at the remote."""
        path = self.remote.path / "pushes"
        lines = path.read_text().splitlines() if path.exists() else []
        return Counter(ref for _, _, ref in map(str.split, lines) if "/kingdom/" in ref)
