"""The bus that `config/` asks for."""

from __future__ import annotations

from datetime import timedelta

from kingdom.bus.backoff import Backoff, Policy
from kingdom.bus.files.bus import FileBus
from kingdom.bus.files.guard import refused
from kingdom.clock import Clock
from kingdom.errors import ConfigurationError
from kingdom.settings.loading import Settings
from kingdom.settings.system import StreamDelivery
from kingdom.store.paths import BaseDir
from kingdom.topology import STREAMS

FILES = "files"


def open_bus(
    base: BaseDir, settings: Settings, *, general: str | None = None, clock: Clock | None = None
) -> FileBus:
    """Opened for this process; whoever asked for it closes it."""
    system = settings.system
    if system.bus != FILES:
        raise ConfigurationError(
            "system.bus names a PostgreSQL server, and this version has the file bus only.",
            remedy="Set it to files, or leave it out; kingdom config system.bus shows its source.",
        )
    try:
        return FileBus(
            base,
            general=general,
            clock=clock,
            durable=system.durability == "full",
            zone=system.zone,
            policies={name: _policy(system.delivery.of(name)) for name in STREAMS},
        )
    except OSError as error:
        raise refused(error) from error


def _policy(limits: StreamDelivery) -> Policy:
    backoff = limits.backoff
    return Policy(
        max_attempts=limits.max_attempts,
        max_crashes=limits.max_crashes,
        lease=timedelta(seconds=limits.lease_seconds),
        backoff=Backoff(
            backoff.base_seconds, backoff.max_seconds, backoff.multiplier, backoff.jitter
        ),
    )
