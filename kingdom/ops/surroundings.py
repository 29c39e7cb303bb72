"""How things stand around a message: configuration, gates, who runs. Read from the disk."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from functools import cached_property
from typing import Any

from kingdom.bus.files.places import HANDLED
from kingdom.engines.choice import availability
from kingdom.errors import KingdomError
from kingdom.king.admission import Gates, measured
from kingdom.ops.relations import Found
from kingdom.runtime.config import Config, load_config
from kingdom.runtime.control import EVERYTHING, Control
from kingdom.runtime.processes import Seat
from kingdom.settings.loading import load_some
from kingdom.settings.sentinel import SentinelSettings
from kingdom.store import disk
from kingdom.store.paths import BaseDir
from kingdom.store.state import read_json
from kingdom.topology import DEAD

_OPEN = ("pending", "in_progress")
_DAMAGED = "damaged"


class Surroundings:
    """`everything` is what lies in the queues. Configuration that is wrong leaves `config` empty
    and says so in `problem`."""

    def __init__(
        self,
        base: BaseDir,
        environment: Mapping[str, str],
        now: datetime,
        everything: list[Found],
    ) -> None:
        self.base = base
        self.now = now
        self.control = Control(base)
        self.config: Config | None = None
        self.problem: KingdomError | None = None
        self._environment = environment
        self._everything = everything
        try:
            self.config = load_config(base, environment)
        except KingdomError as error:
            self.problem = error

    @cached_property
    def sentinel(self) -> SentinelSettings | None:
        """What is watched, also while another file is wrong."""
        try:
            found = load_some(["sentinel"], self.base.config, self._environment)
        except KingdomError:
            return None
        return found.sentinel

    def runs(self, role: str) -> bool:
        return Seat(self.base, role).is_taken()

    @property
    def is_frozen(self) -> bool:
        return self.control.is_asked("freeze", EVERYTHING)

    @cached_property
    def gates(self) -> Gates | None:
        """The gate for new work as the king sees it; None without a configuration."""
        if self.config is None:
            return None
        settings, path = self.config.settings, self.base.resources_file
        raw = read_json(path, _DAMAGED) if disk.exists(path) else None
        return Gates(
            engine=availability(settings, self._environment, self.base.root),
            measured=measured(raw, self.now, settings.chamberlain.thresholds.stale_seconds),
            frozen=self.is_frozen,
            max_soldiers=settings.king.concurrency.max_soldiers,
            outstanding=self._outstanding(),
        )

    def _outstanding(self) -> Mapping[str, int]:
        """Tasks that have not ended, and those whose result the king has not taken in yet."""
        tasks = {one.id: one for one in self._everything if one.stream == "tasks"}
        results = (one for one in self._everything if one.stream == "results")
        unhandled = {one.id for one in results if one.state not in (HANDLED, DEAD)}
        return Counter(
            str(task.content.get("target_general"))
            for task in tasks.values()
            if task.state in _OPEN or task.id in unhandled
        )

    def ahead_of(self, one: Found) -> list[Found]:
        """Other waiting messages of its stream."""
        same = (other for other in self._everything if other.stream == one.stream)
        return [other for other in same if other.state == one.state and other.id != one.id]

    def soldiers(self) -> list[dict[str, Any]]:
        found = read_json(self.base.sessions_file, [])
        return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []
