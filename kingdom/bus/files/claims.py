"""Taking messages: the next due ones or named ones, for a time, also from holders that are lost.

A claim syncs nothing. What it knows of each held message is the file it wrote, so that a later
commit can tell at a glance whether the message is still this process's.

Nothing stays taken that the caller did not get. If the disk refuses half-way, those due that were
taken before are the answer, as with a read that is cut short, and the refusal comes with the next
claim; that costs no further write, and they can be worked on. Of those named, all are given back:
who names messages takes one that is missing from the answer for another worker's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext, suppress
from datetime import timedelta
from typing import Any

from kingdom.bus.due import LONGEST_LEASE, lease_length
from kingdom.bus.files.changes import Change, Version
from kingdom.bus.files.index import Item
from kingdom.bus.files.intake import Intake
from kingdom.bus.files.journal import Entry
from kingdom.bus.files.ledger import Ledger
from kingdom.bus.files.looking import state_of
from kingdom.bus.files.neighbours import Neighbours
from kingdom.bus.files.places import SUFFIX, Places
from kingdom.bus.files.view import WORKING, View, active_states
from kingdom.bus.lease import Holder
from kingdom.bus.port import Accept, Claim, Judge, Recovered
from kingdom.clock import Clock, still_waits
from kingdom.errors import InvalidFile, KingdomError, LeaseLost, TryLater
from kingdom.models.base import Record
from kingdom.topology import STREAMS

_ALIVE_FOR = 1.0  # seconds for which a holder seen alive is not asked for again
_PAUSE = 1.0  # seconds until what could not be taken is looked at again


class Claims:
    def __init__(
        self,
        places: Places,
        intake: Intake,
        ledger: Ledger,
        neighbours: Neighbours,
        view: View,
        clock: Clock,
    ) -> None:
        self._places = places
        self._intake = intake
        self._ledger = ledger
        self._attic = ledger.attic
        self._neighbours = neighbours
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
        found = self._neighbours.recover()
        self._gone = dict.fromkeys(self._gone, True)
        return found

    def due(
        self,
        stream: str,
        worker: str,
        limit: int,
        lease: timedelta,
        accept: Accept | None,
        is_poison: Callable[[Claim], bool],
    ) -> list[Claim]:
        """The next due, at most so many; what is poison is taken, and is not for the caller."""
        holder = str(Holder.of_this_process(worker))
        claims: list[Claim] = []
        refused: set[str] = set()
        left: list[Item] = []
        try:
            self._ledger.finish_own()
            while len(claims) < limit:
                left += reversed(self._take(stream, limit - len(claims), accept))
                if not left:
                    break
                while left:
                    claim = self._claim_item(stream, left[-1], holder, lease)
                    item = left.pop()
                    if claim is None:
                        self._note_refusal(stream, item.id, refused)
                    elif not claim.taken_over or not self._see_to_poison(claim, item, is_poison):
                        claims.append(claim)
        except (OSError, TryLater):
            if not claims:
                raise
        finally:
            for item in left:
                self._view.give_back(stream, item)
        return claims

    def _see_to_poison(self, claim: Claim, item: Item, is_poison: Callable[[Claim], bool]) -> bool:
        try:
            return is_poison(claim)
        except (OSError, TryLater):
            path = self._places.path(claim.stream, item.state, item.id)
            revision = claim.message.delivery.revision - 1
            self._give_back(claim, Version(item.state, path, item.stamp, revision))
            raise

    def _note_refusal(self, stream: str, id_: str, refused: set[str]) -> None:
        """What cannot be taken twice in a row is left for a while."""
        if id_ in refused:
            self.recover()  # a commit that nobody finished may be in the way
            self._view.park(stream, id_, self._clock.now().timestamp() + _PAUSE)
        refused.add(id_)

    def _take(self, stream: str, limit: int, accept: Accept | None) -> list[Item]:
        """The next due. A holder found dead has its journal replayed before anything is taken
        from it: its last commit may lie there, not yet shown."""
        index = self._view.index(stream)
        taken = index.take(limit, self._view.moment(), self.is_gone, accept)
        if not all(self._gone.values()):
            for item in taken:
                index.give_back(item)
            self.recover()
            now = self._view.moment()
            taken = self._view.index(stream).take(limit, now, self.is_gone, accept)
        return taken

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
            self._view.look_again(stream, item, _PAUSE)
        return claim

    def _read_again(self, stream: str, item: Item) -> Record | None:
        """None if it is no longer what the index knows, or cannot be read: the next look judges
        which, and the ones behind it go on."""
        try:
            record, stamp = self._intake.read(stream, item.state, f"{item.id}{SUFFIX}")
        except (OSError, InvalidFile):
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
        return self._neighbours.late_holder(holder.process)

    def _replace(
        self, stream: str, held: Record, to: str, version: Version, *, mine: bool = False
    ) -> Version | None:
        entry = Entry(stream, held.id, to, held.delivery.revision, held.to_json())
        new = self._attic.take(Change(entry, version), mine=mine)
        if new is not None:
            self._versions[stream, held.id] = new
            if to in active_states(stream):
                self._view.put(stream, held, to, new.stamp)
        return new

    def named(
        self,
        stream: str,
        ids: Iterable[str],
        worker: str,
        lease: timedelta,
        judge: Judge | None = None,
    ) -> list[Claim]:
        """Those of these that nobody holds, wherever they lie. What `judge` sees is what is taken:
        the very version that was read, or nothing."""
        holder = str(Holder.of_this_process(worker))
        self._ledger.finish_own()
        taken: list[tuple[Claim, Version]] = []
        try:
            for id_ in ids:
                free = self._free(stream, id_)
                if free is None:
                    continue
                record, version = free
                if judge is not None:
                    judge(state_of(stream, version.state, record), record)
                claim = self._hold(stream, record, version, version.state, holder, lease)
                if claim is not None:
                    taken.append((claim, version))
        except (OSError, KingdomError):
            for claim, version in taken:
                self._give_back(claim, version)
            raise
        return [claim for claim, _ in taken]

    def _free(self, stream: str, id_: str) -> tuple[Record, Version] | None:
        """The message as it lies there; None if it is held, or nowhere."""
        for state in self._places.lying_in(stream, id_):
            path = self._places.path(stream, state, id_)
            try:
                record, stamp = self._intake.read(stream, state, f"{id_}{SUFFIX}")
            except FileNotFoundError:
                continue  # it has moved on
            if self._is_held(record):
                return None
            return record, Version(state, path, stamp, record.delivery.revision)
        return None

    def _give_back(self, claim: Claim, before: Version) -> None:
        version = self._versions.pop((claim.stream, claim.id))
        self._view.forget(claim.stream, claim.id)
        with suppress(OSError):  # should it refuse this too, the lease will end by itself
            self._attic.give_back(claim.stream, claim.id, before, version)

    def _is_held(self, record: Record) -> bool:
        delivery = record.delivery
        if delivery.locked_by is None or delivery.locked_until is None:
            return False
        holder = Holder.parse(delivery.locked_by)
        if holder is not None and holder.is_gone():
            self._neighbours.recover()
            self._gone[holder.process] = True
            return False
        if holder is not None and holder.process != self._process and holder.is_alive():
            return True  # whatever the wall clock says: it may have been set, or we slept
        longest = lease_length(delivery, LONGEST_LEASE)
        return still_waits(delivery.locked_until, self._clock.now(), longest, delivery.updated_at)

    def extend(self, claim: Claim, lease: timedelta) -> Claim:
        self._ledger.finish_own()
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
