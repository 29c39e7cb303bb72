"""A kingdom whose sentinel watches one GitHub, round by round."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from kingdom.clients.github import GitHub
from kingdom.runtime.role import Setting
from kingdom.sentinel.watchers.github import GitHubWatcher
from kingdom.settings.sentinel import GithubWatcher
from kingdom.store.paths import BaseDir
from tests.support.kingdom import MovableClock
from tests.support.lookout import Lookout, events
from tests.support.notifications import Notifying


class Scene:
    """A kingdom and its GitHub; `look` is one round of a watcher that goes on living."""

    def __init__(self, base: BaseDir, hub: Notifying, clock: MovableClock) -> None:
        self.base, self.hub, self.clock = base, hub, clock
        trust_in(base, organisations=["acme"])
        self.options: dict[str, Any] = {}
        self._lookout: Lookout | None = None

    @property
    def lookout(self) -> Lookout:
        if self._lookout is None:
            self._lookout = Lookout(self.base, self.clock, self._watcher)
        return self._lookout

    def _watcher(self, setting: Setting) -> GitHubWatcher:
        settings = GithubWatcher(api_url=self.hub.url, **self.options)
        client = GitHub(self.hub.token, self.hub.url, clock=self.clock, pace=(0, 0), timeout=5)
        return GitHubWatcher(settings, setting, client)

    def look(self) -> int:
        return self.lookout.look()

    def reborn(self, **options: Any) -> None:
        self.close()
        self.options |= options

    def events(self) -> dict[str, dict[str, Any]]:
        return events(self.base)

    def only(self) -> dict[str, Any]:
        (one,) = self.events().values()
        return one

    @property
    def state(self) -> dict[str, Any]:
        path = Path(self.base.path("state", "sentinel", "github-state.json"))
        return dict(json.loads(path.read_text()))

    def close(self) -> None:
        if self._lookout is not None:
            self._lookout.close()
            self._lookout = None


def trust_in(base: BaseDir, **listed: list[str]) -> None:
    """Whom the sentinel's settings call members on GitHub."""
    path = Path(base.path("config", "sentinel.yaml"))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"trust": listed}))
