"""THE table of what can be watched: a section of `config/sentinel.yaml`, and its watcher."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from kingdom.runtime.role import Setting
from kingdom.sentinel.watcher import Watcher
from kingdom.settings.sentinel import SentinelSettings

INTERVAL = 60.0
PLACES = {
    "github": "kingdom.sentinel.watchers.github:make",
    "jira": "kingdom.sentinel.watchers.jira:make",
    "inbox": "kingdom.sentinel.watchers.inbox:make",
}


def watched(settings: SentinelSettings) -> dict[str, Any]:
    """The watchers that are configured, and their settings."""
    found = {name: getattr(settings.polling, name) for name in PLACES}
    return {name: section for name, section in found.items() if section is not None}


def make_watcher(name: str, settings: Any, setting: Setting) -> Watcher:
    """`WatcherOff` if what it needs is not there. Its libraries are loaded here and not before."""
    module, _, function = PLACES[name].partition(":")
    make: Callable[[Any, Setting], Watcher] = getattr(import_module(module), function)
    return make(settings, setting)
