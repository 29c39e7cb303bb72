"""A watcher of a Jira to play with: real files, a real bus, and a clock that can be moved."""

from __future__ import annotations

import json
import os
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from kingdom.bus.files.bus import FileBus
from kingdom.clients.jira import Credentials, Jira
from kingdom.errors import KingdomError
from kingdom.runtime.config import LiveConfig
from kingdom.runtime.internal_log import InternalLog
from kingdom.runtime.logging import configure, get_logger
from kingdom.runtime.role import Setting
from kingdom.sentinel.rounds import Looked, Rounds
from kingdom.sentinel.watchers.jira import TicketWatcher, make
from kingdom.settings.sentinel import JiraScope, JiraWatcher
from kingdom.store.paths import BaseDir
from tests.support.jira_server import EMAIL, TOKEN, FakeJira
from tests.support.kingdom import MovableClock, directories
from tests.support.lookout import Nowhere

KEEP_ALL = "project = SHOP"
MINE = Credentials(EMAIL, TOKEN, "JIRA_USER_EMAIL", "JIRA_API_TOKEN")
JQL = 'updated >= "2026/02/07 00:00" ORDER BY updated ASC, key ASC'
QUICK = (2.0, 2.0)  # seconds


class JiraLookout:
    """One life of the watcher after the other, on one base directory."""

    def __init__(
        self, base: BaseDir, jira: FakeJira, clock: MovableClock | None = None, **settings: Any
    ) -> None:
        self.base, self.jira = base, jira
        self.clock = clock or MovableClock()
        scope = {name: settings.pop(name) for name in ("jql_base", "repos") if name in settings}
        self.settings = JiraWatcher(url=jira.url, scope=JiraScope(**scope), **settings)
        self.environment = {"JIRA_API_TOKEN": TOKEN}
        if jira.cloud:
            self.environment["JIRA_USER_EMAIL"] = EMAIL
        for place in ("config", "logs", "state/sentinel"):
            os.makedirs(base.path(place), exist_ok=True)
        self.bus = FileBus(base, clock=self.clock)
        self._watchers: list[TicketWatcher] = []
        self._rounds: Rounds | None = None

    def setting(self) -> Setting:
        configure("sentinel", self.base, environment={}, stream=Nowhere(), clock=self.clock)
        return Setting(
            name="sentinel",
            base=self.base,
            environment=self.environment,
            bus=self.bus,
            config=LiveConfig(self.base, self.environment, self.clock),
            clock=self.clock,
            log=get_logger(),
            internal=InternalLog(self.base, "sentinel", self.clock),
        )

    def restart(self) -> None:
        self._rounds = None

    def watcher(self) -> TicketWatcher:
        made = make(self.settings, self.setting())
        self._watchers.append(made)
        return made

    def look(self) -> Looked:
        if self._rounds is None:
            self._rounds = Rounds(self.watcher(), self.setting())
        return self._rounds.look()

    def passes(self, seconds: float) -> None:
        self.jira.advance(seconds)
        self.clock.advance(seconds)

    def close(self) -> None:
        for one in self._watchers:
            one.close()
        self.bus.close()

    # What came of it

    def events(self) -> list[dict[str, Any]]:
        """By what was updated when."""
        pending = Path(dict(directories(self.base))["events/pending"])
        found = [json.loads(one.read_text("utf-8")) for one in pending.glob("*.json")]
        return sorted(found, key=lambda one: (one["payload"]["updated_at"], one["id"]))

    def told(self) -> list[str]:
        return [
            f"{one['payload']['key']} {one['type'].rpartition('.')[2]}" for one in self.events()
        ]

    def state(self) -> dict[str, Any]:
        path = Path(self.base.path("state", "sentinel", "jira-state.json"))
        loaded: dict[str, Any] = json.loads(path.read_text("utf-8"))
        return loaded


@contextmanager
def lookout_on(base: BaseDir, jira: FakeJira, **settings: Any) -> Iterator[JiraLookout]:
    made = JiraLookout(base, jira, **settings)
    try:
        yield made
    finally:
        made.close()


def fault_of(client: Jira) -> Any:
    """What a search comes to; that the token is nowhere in it is looked at each time."""
    with pytest.raises(KingdomError) as caught:
        client.search(JQL, ["summary"])
    shown = "".join(traceback.format_exception(caught.value)) + repr(caught.value)
    assert TOKEN not in shown
    seen, one = set(), caught.value
    while one is not None and id(one) not in seen:  # nor in what it was made from
        seen.add(id(one))
        assert type(one).__module__.startswith("kingdom."), one
        one = one.__cause__ or one.__context__  # type: ignore[assignment]
    return caught.value
