"""An envoy that speaks in Slack, to step by hand, and what people see there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from kingdom.store.paths import BaseDir
from tests.support.envoy import Life
from tests.support.kingdom import MovableClock
from tests.support.slack_blocks import shown_in
from tests.support.slack_server import FakeSlack
from tests.support.slack_workspace import APP_TOKEN, OWNER, TOKEN

ENVIRONMENT = {"SLACK_BOT_TOKEN": TOKEN}
WITH_SOCKET = ENVIRONMENT | {"SLACK_APP_TOKEN": APP_TOKEN}


def configure(
    base: BaseDir, server: FakeSlack, *, channel: str = "#kingdom", allowed: tuple[str, ...] = ()
) -> None:
    path = Path(base.config, "envoy.yaml")
    path.parent.mkdir(parents=True, exist_ok=True)
    Path(base.config, "system.yaml").touch()
    path.write_text(
        "transport: slack\n"
        f"slack: {{api_url: '{server.url}', default_channel: '{channel}', owner: {OWNER},\n"
        f"  allowed_users: {json.dumps(allowed)}}}\n"
    )


def one_life(base: BaseDir, clock: MovableClock | None = None) -> None:
    life = Life(base, clock or MovableClock(), environment=ENVIRONMENT)
    life.go(steps=1000)
    life.end()


def ids(server: FakeSlack, channel: str = "C0KINGDOM") -> list[tuple[str, int]]:
    """Id and part of each message of ours, as they stand there."""
    found = (one.get("metadata", {}).get("event_payload") for one in server.in_channel(channel))
    return [(one["id"], one["part"]) for one in found if one]


def texts(server: FakeSlack, channel: str = "C0KINGDOM") -> list[str]:
    return [shown_in(one) for one in server.in_channel(channel)]


def blocks(server: FakeSlack, kind: str, channel: str = "C0KINGDOM") -> list[dict[str, Any]]:
    """Those of this kind, of all messages."""
    every = (block for one in server.in_channel(channel) for block in one.get("blocks", []))
    return [block for block in every if block["type"] == kind]
