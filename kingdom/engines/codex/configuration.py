"""The program's settings, as `-c KEY=VALUE` arguments: nothing is written into anybody's home.

Its own names are looked up by the program's newest settings; what an older version does not know it
names in a warning and passes over.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kingdom.engines.hooks import heartbeat, question
from kingdom.engines.port import Order

GUIDE = "AGENTS.md"
# What the program uses to log in, if it does not find a login of the user's on this machine. They
# are for a manifest's permissions.env; none is passed on by itself, nor to what a soldier runs.
CREDENTIALS = ("CODEX_API_KEY", "CODEX_ACCESS_TOKEN", "OPENAI_API_KEY")
_ADDRESS = "OPENAI_BASE_URL"  # the program itself has come to pass it over
_LARGEST_GUIDE = 256 * 1024  # the program's own limit cuts it off after 32 KB, and says nothing
_ONLINE_TOOLS = ("WebSearch", "WebFetch")
_NOT_WANTED = (
    "plugins",  # these two look up outside hosts at every start
    "apps",
    "unbounded_connection_retries",  # without a network it would wait until its deadline
    "shell_snapshot",  # writes the environment, and whatever secrets are in it, to a file
    "memories",  # would carry what one task said into the next
)
_ALONE = {
    "approval_policy": "never",  # nobody would answer
    "allow_login_shell": False,  # profiles of the user's could bring credentials back
    "analytics.enabled": False,
    "check_for_update_on_startup": False,
    "shell_environment_policy.exclude": CREDENTIALS,
    "project_doc_max_bytes": _LARGEST_GUIDE,
    **{f"features.{name}": False for name in _NOT_WANTED},
}


def common(order: Order) -> dict[str, Any]:
    """What holds for every soldier, whatever it may write."""
    address = order.environment.get(_ADDRESS)
    return {
        **_ALONE,
        **({"openai_base_url": address} if address else {}),
        "project_root_markers": [_marker(order.guides or order.workspace)],
        "web_search": "live" if _may_search(order) else "disabled",
    }


def _marker(guides: str) -> str:
    """Makes the program look for AGENTS.md from this directory on, and in the repository below it.

    It begins outside of the directory that is looked at, so that nothing in a repository can pass
    for it and hide the guide.
    """
    return os.path.join("..", os.path.basename(os.path.realpath(guides)), GUIDE)


def _may_search(order: Order) -> bool:
    return order.tools is not None and any(tool in _ONLINE_TOOLS for tool in order.tools)


def hooks(order: Order, *, asks: bool) -> dict[str, Any]:
    """Signs of life after each tool, and the question for a missing result."""
    wanted = {"PostToolUse": [heartbeat(order.heartbeat_path)]}
    if asks:
        wanted["Stop"] = [question(order.result_path)]
    return {"hooks": wanted}


def arguments(settings: Mapping[str, Any]) -> Iterator[str]:
    for key, value in settings.items():
        yield from ("-c", f"{key}={toml(value)}")


def toml(value: Any) -> str:
    """A value on one line."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{toml(k)} = {toml(v)}" for k, v in value.items()) + "}"
    if isinstance(value, str):  # spelled as in JSON, but for what only TOML wants spelled out
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, Sequence):
        return "[" + ", ".join(toml(one) for one in value) + "]"
    return json.dumps(value)
