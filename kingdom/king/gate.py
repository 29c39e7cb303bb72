"""The gate for new work, as it stands now, and the record of what it held back and why.

Reads `state/resources.json`, `state/control/` and the engine; keeps `state/king/deferred.json`, so
that a reason is told once for each event, also across restarts. After a crash at most the last
few are told again.
"""

from __future__ import annotations

from kingdom.engines.choice import availability
from kingdom.king.admission import Deferral, Gates, closure, deferral, measured, nobody_yet, room
from kingdom.king.desk import Desk
from kingdom.king.outstanding import Outstanding
from kingdom.king.routing import is_own, trace_of
from kingdom.models.event import Event
from kingdom.models.manifest import Manifest
from kingdom.runtime.control import EVERYTHING, Control
from kingdom.store import disk
from kingdom.store.state import read_json, write_json
from kingdom.topology import EVENTS, PENDING

_LOOK_SECONDS = 1.0
_DAMAGED = "damaged"  # a file that is there and says nothing
_TOLD_AT_ONCE = 500  # so that a long queue does not keep the king from its work
_COUNTED_PER_SECOND = 10_000  # of what is held back: a long queue is looked through less often


class Gate:
    def __init__(self, desk: Desk, outstanding: Outstanding, control: Control) -> None:
        self._desk = desk
        self._outstanding = outstanding
        self._control = control
        self._looked_at = float("-inf")
        self.gates = self._look()

    def refresh(self, *, now: bool = False) -> None:
        """Look again; at most once a second unless something is known to have changed."""
        moment = self._desk.monotonic()
        if now or moment - self._looked_at >= _LOOK_SECONDS:
            self._looked_at = moment
            self.gates = self._look()

    def _look(self) -> Gates:
        desk, setting = self._desk, self._desk.setting
        settings = desk.config.settings
        path = setting.base.resources_file
        raw = read_json(path, _DAMAGED) if disk.exists(path) else None
        return Gates(
            engine=availability(settings, setting.environment, setting.base.root, desk.now()),
            measured=measured(raw, desk.now(), settings.chamberlain.thresholds.stale_seconds),
            frozen=self._control.is_asked("freeze", EVERYTHING),
            max_soldiers=settings.king.concurrency.max_soldiers,
            outstanding=self._outstanding.by_general,
            absent=self._outstanding.by_general.keys() - desk.config.generals.keys(),
        )

    def accept(self, event_type: str, priority: str) -> bool:
        """Whether such an event is taken now. One that nobody wants is, to be discarded."""
        return self.deferral(event_type, priority) is None

    def accept_work(self, event_type: str, priority: str) -> bool:
        return not is_own(event_type) and self.accept(event_type, priority)

    def deferral(self, event_type: str, priority: str) -> Deferral | None:
        general = None if is_own(event_type) else self._desk.config.route(event_type)
        if general is None:
            return None if is_own(event_type) else nobody_yet(self._desk.config.unusable)
        return self.deferral_for(general.manifest, priority)

    def deferral_for(self, manifest: Manifest, priority: str) -> Deferral | None:
        return deferral(self.gates, manifest, priority)

    def closure_for(self, manifest: Manifest, priority: str) -> Deferral | None:
        return closure(self.gates, manifest, priority)

    def seconds_left(self) -> float:
        """Until the engine takes work again, if that is known."""
        until = self.gates.engine.until
        if self.gates.engine.available or until is None:
            return float("inf")
        return max((until - self._desk.now()).total_seconds(), _LOOK_SECONDS)

    def room(self, most: int) -> int:
        """How many events may be taken at once without any limit being passed."""
        generals = {one.name: one.manifest for one in self._desk.config.generals.values()}
        # When nothing has room, only what is to be discarded is accepted.
        return min(most, room(self.gates, generals) or most)


class Deferrals:
    """Tells why an event waits: once for each event and reason."""

    def __init__(self, desk: Desk, gate: Gate) -> None:
        self._desk = desk
        self._gate = gate
        self._path = desk.setting.base.path("state", "king", "deferred.json")
        self._told: dict[str, list[str]] = {}
        self._next_look = float("-inf")

    def start(self) -> None:
        """What was told in a former life; what no longer waits is forgotten."""
        kept = read_json(self._path, {})
        waiting = set(disk.names(self._desk.setting.base.path(EVENTS.root, PENDING)))
        if isinstance(kept, dict):
            self._told = {
                id_: [str(code) for code in codes]
                for id_, codes in kept.items()
                if f"{id_}.json" in waiting and isinstance(codes, list)
            }

    def forget(self, event_id: str) -> None:
        self._told.pop(event_id, None)

    def step(self) -> None:
        moment = self._desk.monotonic()
        if moment < self._next_look:
            return
        held = self._desk.bus.held_back("events", self._gate.accept)
        self._next_look = moment + 1.0 + len(held) / _COUNTED_PER_SECOND
        told = 0
        for event_id, event_type, priority in held:
            found = self._gate.deferral(event_type, priority)
            if found is None or found.code in self._told.get(event_id, ()):
                continue
            with self._desk.faults.contained(f"events/{event_id}"):
                self._tell(event_id, event_type, found)
            told += 1
            if told >= _TOLD_AT_ONCE:
                break
        if told:
            write_json(self._path, self._told, sync=False)

    def note(self, event: Event, found: Deferral) -> None:
        """One that was taken, and has to wait for another reason than its type's."""
        if found.code not in self._told.get(event.id, ()):
            self._tell(event.id, event.type, found)
            write_json(self._path, self._told, sync=False)

    def _tell(self, event_id: str, event_type: str, found: Deferral) -> None:
        self._told.setdefault(event_id, []).append(found.code)
        reason = f"{found.code}: {found.reason}"
        seen = self._desk.bus.look("events", event_id)
        trace_id = trace_of(seen[1]) if seen and isinstance(seen[1], Event) else None
        self._desk.tell(
            "event.deferred", trace_id, event_id=event_id, event_type=event_type, reason=reason
        )
        self._desk.log.info(
            "event.deferred",
            event_id=event_id,
            type=event_type,
            reason=reason,
            trace_id=trace_id,
        )
