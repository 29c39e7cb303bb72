"""Taking messages: the next due ones or named ones, for a time, also from holders that are lost.

A claim syncs nothing. What it knows of each held message is the file it wrote, so that a later
commit can tell at a glance whether the message is still this process's.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from datetime import timedelta
from typing import Any

from kingdom.bus.files.index import Item
from kingdom.bus.files.intake import Intake
from kingdom.bus.files.journal import Entry
from kingdom.bus.files.ledger import Change, Ledger, Version
from kingdom.bus.files.places import SUFFIX, Places
from kingdom.bus.files.view import WORKING, View, active_states
from kingdom.bus.lease import Holder
from kingdom.bus.port import Accept, Claim, Recovered
from kingdom.clock import Clock
from kingdom.errors import InvalidFile, LeaseLost
from kingdom.models.base import Record
from kingdom.topology import STREAMS

_ALIVE_FOR = 1.0  # seconds for which a holder seen alive is not asked for again
_PAUSE = 1.0  # seconds until what could not be taken is looked at again


class Claims:
    def __init__(
        self, places: Places, intake: Intake, ledger: Ledger, view: View, clock: Clock
    ) -> None:
        self._places = places
        self._intake = intake
        self._ledger = ledger
        self._view = view
        self._clock = clock
        self._versions: dict[tuple[str, str], Version] = {}
        self._process = Holder.of_this_process("").process
        self._seen_alive: dict[str, float] = {}
        self._gone: dict[str, bool] = {}  # lost holders; True once their journal was replayed

    def version_of(self, claim: Claim) -> Version:
        version = self._versions.get((claim.stream, claim.id))
        if version is None or version.revision != claim.message.delivery.revision:
            raise LeaseLost(
                f"{claim.stream} {claim.id} is no longer held by this claim.",
                remedy="Use the claim that the last extend returned, or claim it again.",
            )
        return version

    def forget(self, stream: str, id_: str) -> None:
        """It has moved on."""
        self._versions.pop((stream, id_), None)
        self._view.forget(stream, id_)

    def recover(self) -> Recovered:
        found = self._ledger.recover()
        self._gone = dict.fromkeys(self._gone, True)
        return found

    def due(
        self, stream: str, worker: str, limit: int, lease: timedelta, accept: Accept | None
    ) -> list[Claim]:
        holder = str(Holder.of_this_process(worker))
        claims: list[Claim] = []
        refused: set[str] = set()
        while len(claims) < limit:
            taken = self._take(stream, limit - len(claims), accept)
            if not taken:
                break
            for position, item in enumerate(taken):
                try:
                    claim = self._claim_item(stream, item, holder, lease)
                except BaseException:
                    for other in taken[position:]:
                        self._view.index(stream).give_back(other)
                    raise
                if claim is not None:
                    claims.append(claim)
                elif item.id in refused:
                    self.recover()  # a commit that nobody finished may be in the way
                    self._view.park(stream, item.id, self._now() + _PAUSE)
                refused.add(item.id)
        return claims

    def _take(self, stream: str, limit: int, accept: Accept | None) -> list[Item]:
        """The next due. A holder found dead has its journal replayed before anything is taken
        from it: its last commit may lie there, not yet shown."""
        index = self._view.index(stream)
        taken = index.take(limit, self._now(), self.is_gone, accept)
        if not all(self._gone.values()):
            for item in taken:
                index.give_back(item)
            self.recover()
            taken = self._view.index(stream).take(limit, self._now(), self.is_gone, accept)
        return taken

    def _now(self) -> float:
        return self._clock.now().timestamp()

    def is_gone(self, locked_by: str) -> bool:
        """Whether this holder's process on this host is dead; a living one is asked rarely."""
        holder = Holder.parse(locked_by)
        if holder is None or holder.process == self._process:
            return False
        process, moment = holder.process, self._clock.monotonic()
        if process in self._gone:
            return True
        if moment - self._seen_alive.get(process, float("-inf")) < _ALIVE_FOR:
            return False
        if holder.is_gone():
            self._gone[process] = False
            return True
        self._seen_alive[process] = moment
        return False

    def _claim_item(self, stream: str, item: Item, holder: str, lease: timedelta) -> Claim | None:
        record = item.record or self._read_again(stream, item)
        claim = None
        if record is not None:
            to = WORKING.get(stream, item.state)
            path = self._places.path(stream, item.state, item.id)
            version = Version(item.state, path, item.stamp, record.delivery.revision)
            claim = self._hold(stream, record, version, to, holder, lease)
        if claim is None:
            self._view.look_again(stream, item, self._now() + _PAUSE)
        return claim

    def _read_again(self, stream: str, item: Item) -> Record | None:
        """None if it is no longer what the index knows."""
        try:
            record, stamp = self._intake.read(stream, item.state, f"{item.id}{SUFFIX}")
        except (FileNotFoundError, InvalidFile):
            return None
        return record if stamp == item.stamp else None

    def _hold(
        self,
        stream: str,
        record: Record,
        version: Version,
        to: str,
        holder: str,
        lease: timedelta,
    ) -> Claim | None:
        """Write the lease into the message and put it where held ones lie; None if it changed."""
        now, before = self._clock.now(), record.delivery
        lost = before.locked_by is not None
        changed = {
            "revision": before.revision + 1,
            "crash_count": before.crash_count + lost,
            "locked_by": holder,
            "locked_until": now + lease,
            "last_attempt_at": now,
            "next_retry_at": None,
            "updated_at": now,
        }
        update: dict[str, Any] = {"delivery": before.revised(**changed)}
        if to != version.state:
            update["status"] = STREAMS[stream].state(to).statuses[0]
        held = record.revised(**update)
        with self._taking_from(before.locked_by) as free:
            new = self._replace(stream, held, to, version) if free else None
        return Claim(stream, held, to, taken_over=lost) if new else None

    def _taking_from(self, locked_by: str | None) -> AbstractContextManager[bool]:
        holder = Holder.parse(locked_by or "")
        if holder is None or holder.process == self._process or holder.process in self._gone:
            return nullcontext(True)
        return self._ledger.late_holder(holder.process)

    def _replace(
        self, stream: str, held: Record, to: str, version: Version, *, mine: bool = False
    ) -> Version | None:
        entry = Entry(stream, held.id, to, held.delivery.revision, held.to_json())
        new = self._ledger.take(Change(entry, version), mine=mine)
        if new is not None:
            self._versions[stream, held.id] = new
            if to in active_states(stream):
                self._view.put(stream, held, to, new.stamp)
        return new

    def named(self, stream: str, id_: str, worker: str, lease: timedelta) -> Claim | None:
        holder = str(Holder.of_this_process(worker))
        for state in self._places.lying_in(stream, id_):
            path = self._places.path(stream, state, id_)
            record, stamp = self._intake.read(stream, state, f"{id_}{SUFFIX}")
            if self._is_held(record):
                return None
            version = Version(state, path, stamp, record.delivery.revision)
            return self._hold(stream, record, version, state, holder, lease)
        return None

    def _is_held(self, record: Record) -> bool:
        delivery = record.delivery
        if delivery.locked_by is None or delivery.locked_until is None:
            return False
        holder = Holder.parse(delivery.locked_by)
        if holder is not None and holder.is_gone():
            self._ledger.recover()
            self._gone[holder.process] = True
            return False
        return delivery.locked_until > self._clock.now()

    def extend(self, claim: Claim, lease: timedelta) -> Claim:
        version, now = self.version_of(claim), self._clock.now()
        before = claim.message.delivery
        # Who lives to renew its lease is not being killed by the message.
        delivery = before.revised(
            revision=before.revision + 1,
            crash_count=0,
            locked_until=now + lease,
            updated_at=now,
        )
        held = claim.message.revised(delivery=delivery)
        if self._replace(claim.stream, held, claim.state, version, mine=True) is None:
            self._versions.pop((claim.stream, claim.id), None)
            raise LeaseLost(
                f"{claim.stream} {claim.id} was taken over by another worker.",
                remedy="Whoever holds it now will finish it.",
            )
        return Claim(claim.stream, held, claim.state, claim.taken_over)
