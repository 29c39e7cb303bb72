"""What can be watched: each of `topology.WATCHERS` is a section of `config/sentinel.yaml`, and
has a module in `kingdom.sentinel.watchers`."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from kingdom.runtime.role import Setting
from kingdom.sentinel.watcher import Watcher
from kingdom.settings.sentinel import SentinelSettings
from kingdom.topology import WATCHERS

INTERVAL = 60.0


def watched(settings: SentinelSettings) -> dict[str, Any]:
    """The watchers that are configured, and their settings."""
    found = {name: getattr(settings.polling, name) for name in WATCHERS}
    return {name: section for name, section in found.items() if section is not None}


def make_watcher(name: str, settings: Any, setting: Setting) -> Watcher:
    """`WatcherOff` if what it needs is not there. Its libraries are loaded here and not before."""
    module = import_module(f"kingdom.sentinel.watchers.{name}")
    make: Callable[[Any, Setting], Watcher] = module.make
    return make(settings, setting)
