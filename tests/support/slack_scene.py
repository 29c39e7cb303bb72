"""An envoy that listens in Slack, a question of its, and what became of what people said."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kingdom.store.paths import BaseDir
from tests.support.envoy import Life, publish, question, start
from tests.support.slack_life import configure
from tests.support.slack_server import FakeSlack
from tests.support.slack_workspace import OWNER
from tests.support.waiting import eventually

STRANGER = "U0STRANGER"


class Scene:
    """An envoy that listens, and a question of its that is asked in `#kingdom`."""

    def __init__(
        self, base: BaseDir, server: FakeSlack, life: Callable[[], Life], *, listens: bool
    ) -> None:
        self.base, self.server, self._life, self.listens = base, server, life, listens
        server.users[STRANGER] = {"id": STRANGER, "name": "eve", "is_bot": False}
        server.open({"users": OWNER})
        server.open({"users": STRANGER})

    def begin(self, *, allowed: tuple[str, ...] = ()) -> None:
        """A life after the one before, if there was one."""
        if allowed:
            configure(self.base, self.server, allowed=allowed)
        made = self.server.lines.made
        self.life = self._life()
        self.life.go()
        if self.listens:
            self.until(lambda: self.server.lines.made > made, "it listens")
            self.life.go()

    def ask(self, **fields: Any) -> str:
        """Answers the thread."""
        publish(self.base, start(1), question(2, **fields))
        self.life.go()
        return str(self.server.in_channel()[0]["ts"])

    @property
    def question(self) -> dict[str, Any]:
        return self.server.in_channel()[1]

    def until(self, condition: Callable[[], Any], what: str) -> None:
        def holds() -> Any:
            self.life.go()
            return condition()

        eventually(holds, what)

    def hears(self, envelope: str) -> None:
        """It was acknowledged, so it is safe or ignored."""
        self.until(lambda: envelope in self.server.lines.acknowledged, f"{envelope} is taken")
        self.life.go()

    def events(self) -> list[dict[str, Any]]:
        directory = Path(self.base.path("queue/events/pending"))
        found = [json.loads(path.read_text()) for path in directory.glob("*.json")]
        return sorted(found, key=lambda one: str(one["id"]))

    def answers(self) -> list[tuple[str, str]]:
        """Each with whose it is."""
        found = [one["payload"] for one in self.events() if "task_id" in one["payload"]]
        return [(one["text"], one["answered_by"]) for one in found]

    def comes(self) -> None:
        """By the line, and nobody has looked at it yet."""
        transport: Any = self.life.envoy._transport
        eventually(lambda: transport._ear._socket._came, "something came by the line")

    def notices(self, channel: str = "C0KINGDOM") -> list[str]:
        """What was said besides messages."""
        said = self.server.in_channel(channel)
        kinds = [(one, one.get("metadata", {}).get("event_type")) for one in said]
        return [one["text"] for one, kind in kinds if kind == "kingdom_notice"]
