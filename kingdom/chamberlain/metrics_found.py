"""What there is to tell: from `state/metrics/`, `state/resources.json`, seats, and the queues.

Every file is another process's, and may be missing, old or damaged: then its series are missing.
Nothing here costs more the more there is in `completed/`.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from itertools import islice
from typing import Any

from kingdom import __version__
from kingdom.bus.tally import BOUNDS
from kingdom.chamberlain.metrics_text import Family
from kingdom.clock import Clock
from kingdom.models.resources import read_resources
from kingdom.runtime import held_actions
from kingdom.runtime.processes import Seat
from kingdom.store import disk
from kingdom.store.paths import REASON_SUFFIX, TEMPORARY_PREFIX, BaseDir
from kingdom.store.state import read_json
from kingdom.topology import DEAD, HELD, PENDING, STREAMS

HEALTH = ("green", "yellow", "orange", "red")
TOKENS = ("ok", "warning", "critical")
_WORKED_ON = "in_progress"
_LOOKED_AT = 1000  # files whose age is asked for, when nobody told the oldest


class Found:
    """One look. `roles` are those that should be there."""

    def __init__(self, base: BaseDir, clock: Clock, roles: Iterable[str]) -> None:
        self._base = base
        self._clock = clock
        self._now = clock.now().timestamp()
        self._roles = list(roles)
        self._told = _told(base)
        self._names: dict[str, list[str]] = {}

    def families(self) -> list[Family]:
        parts = (self._depths, self._processed, self._durations, self._seats, self._machine)
        return [
            *(family for part in parts for family in part()),
            _single("kingdom_build_info", "Always 1.", 1, version=__version__),
        ]

    # Queues

    def _depths(self) -> list[Family]:
        pending = Family("kingdom_queue_pending", "gauge", "Messages that wait.")
        processing = Family("kingdom_queue_processing", "gauge", "Messages that someone works on.")
        dead = Family("kingdom_queue_dead", "gauge", "Messages that could not be handled.")
        held = Family("kingdom_outbound_held", "gauge", "What waits for a person to let it pass.")
        held.add(len(self._lying("messages", HELD)), {"what": "messages"})
        held.add(len(held_actions.stopped_tasks(self._base)), {"what": "actions"})
        oldest = Family(
            "kingdom_queue_oldest_pending_seconds", "gauge", "Age of the oldest that waits."
        )
        for stream in STREAMS:
            waiting, taken = self._waiting(stream)
            pending.add(waiting, {"stream": stream})
            processing.add(taken, {"stream": stream})
            dead.add(self._dead(stream), {"stream": stream})
            oldest.add(self._oldest(stream) if waiting else 0.0, {"stream": stream})
        return [pending, processing, dead, held, oldest]

    def _waiting(self, stream: str) -> tuple[int, int]:
        """The directory is the truth, also while its consumer is down; who holds what of it, only
        the consumer knows, and a flat stream's handled files lie among the others."""
        told = self._depths_told(stream)
        held = sum(int(one["processing"]) for one in told)
        if STREAMS[stream].flat:
            return sum(int(one["pending"]) for one in told), held
        there = len(self._lying(stream, PENDING))
        if any(state.directory == _WORKED_ON for state in STREAMS[stream].states):
            return there, len(self._lying(stream, _WORKED_ON))
        held = min(held, there)
        return there - held, held

    def _oldest(self, stream: str) -> float:
        """What was oldest when its consumer went down still is."""
        told = [one.get("oldest_pending_at") for one in self._depths_told(stream)]
        moments = [float(one) for one in told if isinstance(one, int | float)]
        if not moments and not STREAMS[stream].flat:
            place = self._directory(stream, PENDING)
            moments = _moments(f"{place}/{name}" for name in self._lying(stream, PENDING))
        return max(self._now - min(moments), 0.0) if moments else 0.0

    def _depths_told(self, stream: str) -> list[dict[str, Any]]:
        found = [one["streams"].get(stream) for one in self._told]
        return [one for one in found if isinstance(one, dict)]

    def _dead(self, stream: str) -> int:
        return sum(not name.endswith(REASON_SUFFIX) for name in self._lying(stream, DEAD))

    def _lying(self, stream: str, state: str) -> list[str]:
        place = self._directory(stream, state)
        if place not in self._names:
            self._names[place] = _messages(place)
        return self._names[place]

    def _directory(self, stream: str, state: str) -> str:
        return self._base.path(STREAMS[stream].root, state)

    # What roles counted

    def _processed(self) -> list[Family]:
        family = Family(
            "kingdom_queue_processed_total", "counter", "Messages handled, by what became of them."
        )
        # What alerts ask for is there before the first: nothing increases that was not.
        counts = Counter({(stream, "dead"): 0 for stream in STREAMS} | {("tasks", "failed"): 0})
        for one in self._told:
            for stream, result, count in one["processed"]:
                counts[str(stream), str(result)] += int(count)
        for (stream, result), count in sorted(counts.items()):
            family.add(count, {"stream": stream, "result": result})
        return [family]

    def _durations(self) -> list[Family]:
        family = Family(
            "kingdom_handler_duration_seconds", "histogram", "From taking a message to its end."
        )
        sums: dict[tuple[str, str], tuple[list[int], float]] = {}
        for one in (entry for told in self._told for entry in told["durations"]):
            key = (str(one["stream"]), str(one["type"]))
            counts, total = sums.get(key, ([0] * (len(BOUNDS) + 1), 0.0))
            added = [a + int(b) for a, b in zip(counts, one["counts"], strict=True)]
            sums[key] = (added, total + float(one["seconds"]))
        for (stream, type_), (counts, total) in sorted(sums.items()):
            family.add_histogram(BOUNDS, counts, total, {"stream": stream, "type": type_})
        return [family]

    # Processes and the machine

    def _seats(self) -> list[Family]:
        up = Family("kingdom_role_up", "gauge", "1 while the role runs.")
        beat = Family("kingdom_role_heartbeat_age_seconds", "gauge", "Since its last sign of life.")
        for name in self._roles:
            seat = Seat(self._base, name)
            is_taken, silence = seat.is_taken(), seat.silence(self._clock)
            up.add(int(is_taken), {"role": name})
            if is_taken and silence is not None:
                beat.add(silence, {"role": name})
        return [up, beat]

    def _machine(self) -> list[Family]:
        found = read_resources(read_json(self._base.resources_file))
        if found is None:
            return []
        age = max(self._now - found.updated_at.timestamp(), 0.0)
        tokens, soldiers = found.tokens, found.soldiers
        health = HEALTH.index(found.health)
        status = TOKENS.index(tokens.status) if tokens.status in TOKENS else None
        return [
            _single("kingdom_health", "0 green, 1 yellow, 2 orange, 3 red.", health),
            _single("kingdom_resources_age_seconds", "Since the last measurement.", age),
            _single("kingdom_cpu_percent", "Of the whole machine.", found.cpu_percent),
            _single("kingdom_memory_percent", "Of the whole machine.", found.memory_percent),
            _single("kingdom_disk_percent", "Of the base directory's disk.", found.disk_percent),
            _single("kingdom_load", "Of the last minute.", found.load),
            _single("kingdom_soldiers_active", "Soldiers at work.", soldiers.active),
            _single("kingdom_soldiers_max", "How many there may be.", soldiers.max),
            _single("kingdom_cost_today_usd", "Spent today.", _money(tokens.daily_cost_usd)),
            _single("kingdom_budget_status", "0 ok, 1 warning, 2 critical.", status),
        ]  # fmt: skip


def _told(base: BaseDir) -> list[dict[str, Any]]:
    """What roles wrote, if all of it can be read."""
    names = [name for name in disk.names(base.metrics) if not name.startswith(TEMPORARY_PREFIX)]
    found = [read_json(os.path.join(base.metrics, name)) for name in names]
    return [one for one in found if isinstance(one, dict) and _is_whole(one)]


def _is_whole(told: dict[str, Any]) -> bool:
    try:
        depths = [one for one in told["streams"].values() if isinstance(one, dict)]
        _ = [int(one["pending"]) + int(one["processing"]) for one in depths]
        _ = [int(count) for _, _, count in told["processed"]]
        lengths = [len([*map(int, one["counts"])]) for one in told["durations"]]
        _ = [float(one["seconds"]) + len(one["stream"] + one["type"]) for one in told["durations"]]
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError):
        return False
    return all(length == len(BOUNDS) + 1 for length in lengths)


def _messages(directory: str) -> list[str]:
    """Names of those that lie there. A long queue makes this the dearest line of all."""
    return [name for name in disk.names(directory) if name[0] != "."]


def _moments(paths: Iterable[str]) -> list[float]:
    facts = map(disk.facts_of, islice(paths, _LOOKED_AT))
    return [one.st_mtime for one in facts if one is not None]


def _money(text: str | None) -> float | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        return None


def _single(name: str, help_: str, value: float | None, **labels: str) -> Family:
    family = Family(name, "gauge", help_)
    if value is not None:
        family.add(value, labels)
    return family
