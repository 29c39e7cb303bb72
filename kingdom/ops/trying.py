"""One round of a watcher that only looks: which events it would emit, and what it leaves alone.

Nothing is published, remembered, marked or acknowledged; what is asked outside is only read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from kingdom.bus.opening import open_bus
from kingdom.clock import SystemClock
from kingdom.errors import KingdomError, UsageError
from kingdom.runtime.config import Config, LiveConfig
from kingdom.runtime.internal_log import InternalLog
from kingdom.runtime.logging import get_logger
from kingdom.runtime.role import Setting
from kingdom.sentinel.places import make_watcher, watched
from kingdom.sentinel.rounds import parsed
from kingdom.sentinel.seen import Seen
from kingdom.sentinel.watcher import Sighting, Watcher
from kingdom.settings.loading import Settings
from kingdom.store.paths import BaseDir

EMIT, KNOWN, LEFT = "would emit", "known", "left alone"


class Tried(NamedTuple):
    """One thing that a watcher saw."""

    watcher: str
    verdict: str
    about: str
    reason: str = ""
    event: dict[str, Any] | None = None


def watchers_to_try(settings: Settings, named: str) -> list[str]:
    """Those that are configured, or the one that was named."""
    configured = list(watched(settings.sentinel))
    if not named:
        return configured
    if named not in configured:
        raise UsageError(
            f"The {named} watcher is off: sentinel.yaml does not name it.",
            remedy=f"Add polling.{named} to config/local/sentinel.yaml.",
        )
    return [named]


def attempt(
    base: BaseDir, environment: Mapping[str, str], settings: Settings, name: str
) -> Iterator[Tried]:
    """What this watcher sees now."""
    clock = SystemClock()
    config = LiveConfig(base, environment, clock, Config(settings))
    bus = open_bus(base, settings, clock=clock)
    internal = InternalLog(base, "sentinel", clock)
    setting = Setting("sentinel", base, environment, bus, config, clock, get_logger(), internal)
    try:
        watcher = make_watcher(name, watched(settings.sentinel)[name], setting)
        try:
            yield from _looked(watcher, Seen(base, bus, clock))
        finally:
            watcher.close()
    finally:
        bus.close()


def _looked(watcher: Watcher, seen: Seen) -> Iterator[Tried]:
    for page in watcher.fetch(afresh=True):
        for raw in page:
            yield _verdict(watcher, parsed(watcher, raw), seen)


def _verdict(watcher: Watcher, one: Sighting, seen: Seen) -> Tried:
    if one.event is None:
        return Tried(watcher.name, LEFT, one.about, one.reason)
    if seen.is_duplicate(one.event.id, keep_fresh=False):
        return Tried(watcher.name, KNOWN, one.about, f"{one.event.id} was emitted already.")
    try:
        one = watcher.complete(one)
    except KingdomError as error:
        reason = f"Its details cannot be had just now: {error.sentence}"
        return Tried(watcher.name, EMIT, one.about, reason, _plain(one))
    if one.event is None:
        return Tried(watcher.name, LEFT, one.about, one.reason)
    return Tried(watcher.name, EMIT, one.about, event=_plain(one))


def _plain(one: Sighting) -> dict[str, Any]:
    assert one.event is not None
    return one.event.model_dump(mode="json", exclude_none=True, exclude={"delivery"})
