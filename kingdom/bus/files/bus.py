"""`FileBus`: the port of `kingdom.bus.port` on plain files.

Reads and writes `queue/`, `state/results/`, `state/king/*-seq`; keeps `state/bus/`.

A commit is one record in this process's journal, synced; the files follow without a sync. A claim
syncs nothing: what it replaced stays in the attic until the next checkpoint, because after a power
loss the name of the new file may be there and its content not. A crash leaves at most one record
whose files are missing, one claim in two directories, or a temporary; `recover` and the next look
at the directory finish, undo or remove them.

Four rules make it safe between processes. Looking and then moving happens under the stream's
lock. Only a leased message moves, and only its holder moves it. A lease is taken from a living
holder only with that one's commit lock in hand, and from a dead one only after its journal was
replayed. And a file is never replaced by another message's.
"""

from __future__ import annotations

import os
import random
import select
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from datetime import datetime, timedelta
from threading import RLock
from types import TracebackType
from typing import Any
from zoneinfo import ZoneInfo

from kingdom.bus.backoff import Policy
from kingdom.bus.files.index import Index, Item
from kingdom.bus.files.intake import Intake, reason_path
from kingdom.bus.files.journal import CAPACITY, Entry
from kingdom.bus.files.ledger import Change, Ledger, Version
from kingdom.bus.files.places import HANDLED, SUFFIX, Places, id_in
from kingdom.bus.files.sequence import Sequence as IdSequence
from kingdom.bus.files.view import WORKING, View, active_states
from kingdom.bus.lease import Holder
from kingdom.bus.port import Claim, Move, New, Problem, Recovered, StreamStats
from kingdom.clock import Clock, SystemClock
from kingdom.errors import InvalidFile, LeaseLost, TryLater
from kingdom.models.base import Record
from kingdom.models.ids import check_id
from kingdom.store import disk
from kingdom.store.paths import REASON_SUFFIX, BaseDir
from kingdom.topology import DEAD, PENDING, STREAMS

_DONE = {"events": "completed", "tasks": "completed", "messages": "sent", "results": HANDLED}
_ALIVE_FOR = 1.0  # seconds for which a holder seen alive is not asked for again
_LATE_HOLDER_PAUSE = 1.0  # seconds until a late holder in the middle of a commit is asked again
_PRUNE_AT_ONCE = 200


class _Guard:
    """One verb at a time, whatever the thread; and the disk's own errors said in our words."""

    def __init__(self) -> None:
        self._lock = RLock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._lock.release()
        if isinstance(error, OSError):
            what = error.strerror or str(error)
            where = f" ({error.filename})" if error.filename else ""
            raise TryLater(
                f"The disk refused: {what}{where}.",
                remedy="Nothing was changed; mend that and try again.",
                code="disk_refused",
            ) from error


class FileBus:
    def __init__(
        self,
        base: BaseDir,
        *,
        general: str | None = None,
        clock: Clock | None = None,
        durable: bool = True,
        zone: ZoneInfo | None = None,
        policies: Mapping[str, Policy] | None = None,
        journal_bytes: int = CAPACITY,
    ) -> None:
        self.base = base
        self._clock = clock or SystemClock()
        self._zone = zone or ZoneInfo("UTC")
        self._policies = {name: Policy() for name in STREAMS} | dict(policies or {})
        self._durable = durable
        self._places = Places(base)
        self._places.make()
        intake = Intake(self._places, self._clock)
        self._intake = intake
        self._ledger = Ledger(self._places, intake, sync=durable, capacity=journal_bytes)
        self._view = View(self._places, intake, self._clock, self._ledger.locked, general)
        self._versions: dict[tuple[str, str], Version] = {}
        self._sequences: dict[str, IdSequence] = {}
        self._process = Holder.of_this_process("").process
        self._seen_alive: dict[str, float] = {}
        self._gone: dict[str, bool] = {}  # lost holders; True once their journal was replayed
        self._guard = _Guard()
        self._closed = False
        self._wake_read, self._wake_write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)

    # Publish and commit

    def publish(self, stream: str, *messages: Record) -> list[bool]:
        return self.commit([], [New(stream, message) for message in messages])

    def commit(self, moves: Iterable[Move], publish: Iterable[New] = ()) -> list[bool]:
        with self._guard:
            moved = [self._moved(move) for move in moves]
            born = [self._born(new) for new in publish]
            answers = self._ledger.commit(moved + born) if moved or born else []
            for change in moved:
                self._versions.pop((change.entry.stream, change.entry.id), None)
                self._view.forget(change.entry.stream, change.entry.id)
            return answers[len(moved) :]

    def _born(self, new: New) -> Change:
        message, now = new.message, self._clock.now()
        attempts = message.delivery.max_attempts or self._policies[new.stream].max_attempts
        delivery = message.delivery.written(
            revision=1, max_attempts=attempts, created_at=now, updated_at=now
        )
        if STREAMS[new.stream].flat:
            content = message.to_json(delivery=delivery)
        else:
            content = message.to_json(delivery=delivery, status=PENDING)
        return Change(Entry(new.stream, message.id, PENDING, 1, content))

    def _moved(self, move: Move, **delivery: Any) -> Change:
        claim, now = move.claim, self._clock.now()
        message = claim.message
        revision = message.delivery.revision + 1
        update = dict(move.fields)
        update["delivery"] = message.delivery.written(
            revision=revision,
            locked_by=None,
            locked_until=None,
            updated_at=now,
            processed_at=None if move.to == PENDING else now,
            **delivery,
        )
        if not STREAMS[claim.stream].flat:
            update["status"] = self._status(claim.stream, move)
        content = message.to_json(**update)
        entry = Entry(claim.stream, claim.id, move.to, revision, content)
        return Change(entry, self._version_of(claim))

    @staticmethod
    def _status(stream: str, move: Move) -> str:
        words = STREAMS[stream].state(move.to).statuses
        status = move.status or words[0]
        if status not in words:
            raise ValueError(f"{stream}/{move.to} knows {', '.join(words)}, not {status}")
        return status

    def _version_of(self, claim: Claim) -> Version:
        version = self._versions.get((claim.stream, claim.id))
        if version is None or version.revision != claim.message.delivery.revision:
            raise LeaseLost(
                f"{claim.stream} {claim.id} is no longer held by this claim.",
                remedy="Use the claim that the last extend returned, or claim it again.",
            )
        return version

    # Claim and extend

    def claim(
        self,
        stream: str,
        worker: str,
        limit: int = 1,
        *,
        ids: Sequence[str] | None = None,
        lease: timedelta | None = None,
    ) -> list[Claim]:
        with self._guard:
            length = lease or self._policies[stream].lease
            holder = str(Holder.of_this_process(worker))
            if ids is not None:
                found = [self._claim_named(stream, check_id(one), holder, length) for one in ids]
                return [claim for claim in found if claim is not None]
            return self._claim_due(stream, holder, limit, length)

    def _claim_due(self, stream: str, holder: str, limit: int, lease: timedelta) -> list[Claim]:
        claims: list[Claim] = []
        while len(claims) < limit:
            taken = self._take(stream, limit - len(claims))
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
        return claims

    def _take(self, stream: str, limit: int) -> list[Item]:
        """The next due. A holder found dead has its journal replayed before anything is taken
        from it: its last commit may lie there, not yet shown."""
        index = self._view.index(stream)
        taken = index.take(limit, self._now(), self._is_gone)
        if not all(self._gone.values()):
            for item in taken:
                index.give_back(item)
            self._ledger.recover()
            self._gone = dict.fromkeys(self._gone, True)
            taken = self._view.index(stream).take(limit, self._now(), self._is_gone)
        return taken

    def _now(self) -> float:
        return self._clock.now().timestamp()

    def _is_gone(self, locked_by: str) -> bool:
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
            self._view.look_again(stream, item, self._now() + _LATE_HOLDER_PAUSE)
            return None
        return None if self._is_poison(claim) else claim

    def _read_again(self, stream: str, item: Item) -> Record | None:
        """None if it is no longer what the index knows."""
        try:
            record, stamp = self._intake.read(stream, item.state, f"{item.id}{SUFFIX}")
        except (FileNotFoundError, InvalidFile):
            return None
        return record if stamp == item.stamp else None

    def _is_poison(self, claim: Claim) -> bool:
        """A message whose handlers die every time is buried; being killed is not its fault, so
        the limit is high."""
        crashes = claim.message.delivery.crash_count
        if not claim.taken_over or crashes <= self._policies[claim.stream].max_crashes:
            return False
        self.bury(
            claim, Problem("crashed_too_often", f"Its worker died {crashes} times handling it.")
        )
        return True

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

    def _replace(self, stream: str, held: Record, to: str, version: Version) -> Version | None:
        entry = Entry(stream, held.id, to, held.delivery.revision, held.to_json())
        new = self._ledger.take(Change(entry, version))
        if new is not None:
            self._versions[stream, held.id] = new
            if to in active_states(stream):
                self._view.put(stream, held, to, new.stamp)
        return new

    def _claim_named(self, stream: str, id_: str, holder: str, lease: timedelta) -> Claim | None:
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
        with self._guard:
            version, now = self._version_of(claim), self._clock.now()
            before = claim.message.delivery
            changed = {
                "revision": before.revision + 1,
                "locked_until": now + lease,
                "updated_at": now,
            }
            delivery = before.revised(**changed)
            held = claim.message.revised(delivery=delivery)
            if self._replace(claim.stream, held, claim.state, version) is None:
                self._versions.pop((claim.stream, claim.id), None)
                raise LeaseLost(f"{claim.stream} {claim.id} was taken over by another worker.")
            return Claim(claim.stream, held, claim.state, claim.taken_over)

    # Back, later, or dead

    def retry(self, claim: Claim, problem: Problem) -> str:
        policy = self._policies[claim.stream]
        before, now = claim.message.delivery, self._clock.now()
        attempts = before.attempt_count + 1
        to = DEAD if attempts >= (before.max_attempts or policy.max_attempts) else PENDING
        due = now + policy.backoff.delay(attempts, random.random) if to == PENDING else None
        self._send_back(claim, to, problem, attempt_count=attempts, next_retry_at=due)
        return to

    def defer(self, claim: Claim, not_before: datetime, reason: str) -> None:
        self._send_back(claim, PENDING, Problem("deferred", reason), next_retry_at=not_before)

    def bury(self, claim: Claim, problem: Problem) -> None:
        self._send_back(claim, DEAD, problem)

    def _send_back(self, claim: Claim, to: str, problem: Problem, **delivery: Any) -> None:
        error = {"last_error_code": problem.code, "last_error_message": problem.message}
        with self._guard:
            change = self._moved(Move(claim, to), **error, **delivery)
            self._ledger.commit([change])
            self._versions.pop((claim.stream, claim.id), None)
            self._view.forget(claim.stream, claim.id)

    # The rest

    def recover(self) -> Recovered:
        with self._guard:
            found = self._ledger.recover()
            self._gone = dict.fromkeys(self._gone, True)
            lost = sum(
                count
                for name in STREAMS
                for holder, count in self._view.index(name).held.items()
                if self._is_gone(holder)
            )
            return Recovered(found.commits, found.restored, found.temporaries, lost)

    def next_id(self, kind: str) -> str:
        return self.next_ids(kind, 1)[0]

    def next_ids(self, kind: str, count: int) -> list[str]:
        """Several at the cost of one."""
        with self._guard:
            if kind not in self._sequences:
                self._sequences[kind] = IdSequence(self._places, kind, sync=self._durable)
            return self._sequences[kind].take(self._clock.now(), self._zone, count)

    def prune(self, stream: str, before: datetime, *, state: str | None = None) -> int:
        """Forget what ended before then: completed and sent ones, or those of another state."""
        with self._guard:
            chosen = state or _DONE[stream]
            with self._ledger.quiet():
                pass  # nothing is pruned while a record about it is not applied and safe
            names = [
                name
                for name in disk.names(self._places.directory(stream, chosen))
                if id_in(name) and not name.endswith(SUFFIX + REASON_SUFFIX)
            ]
            old = [name for name in names if self._ended_before(stream, chosen, name, before)]
            for start in range(0, len(old), _PRUNE_AT_ONCE):
                with self._ledger.locked({stream}):
                    for name in old[start : start + _PRUNE_AT_ONCE]:
                        self._forget(stream, chosen, name)
            return len(old)

    def _ended_before(self, stream: str, state: str, name: str, before: datetime) -> bool:
        path = os.path.join(self._places.directory(stream, state), name)
        facts = disk.facts_of(path)
        if facts is None or facts.st_mtime >= before.timestamp():
            return False
        try:
            record, _ = self._intake.read_path(stream, state, path)
        except InvalidFile:
            return True
        ended = record.delivery.processed_at
        if ended is None:
            return state != PENDING and not STREAMS[stream].flat
        return ended < before

    def _forget(self, stream: str, state: str, name: str) -> None:
        path = os.path.join(self._places.directory(stream, state), name)
        disk.remove(path)
        if state == DEAD:
            disk.remove(reason_path(path))

    def wait(self, streams: Sequence[str], timeout: float) -> set[str]:
        deadline = self._clock.monotonic() + timeout
        while True:
            with self._guard:
                indexes = {name: self._view.index(name) for name in streams}
                ready = {name for name, index in indexes.items() if self._is_ready(index)}
                pause = self._pause(list(streams), deadline)
                watched = [self._view.watch.fileno()] if self._view.watch.available else []
            if ready or self._clock.monotonic() >= deadline:
                return ready
            woken, _, _ = select.select([self._wake_read, *watched], [], [], pause)
            if self._wake_read in woken:
                os.read(self._wake_read, 4096)
                return set()

    def _is_ready(self, index: Index) -> bool:
        return index.has_ready(self._now(), self._is_gone)

    def _pause(self, streams: list[str], deadline: float) -> float:
        left = deadline - self._clock.monotonic()
        moment = self._view.next_moment(streams)
        if moment is not None:
            left = min(left, moment - self._now() + 0.001)
        return max(left, 0.0)

    def wake(self) -> None:
        with suppress(BlockingIOError):  # it is full of wake-ups already
            os.write(self._wake_write, b".")

    def stats(self) -> dict[str, StreamStats]:
        with self._guard:
            return {name: self._stats(name) for name in STREAMS}

    def _stats(self, stream: str) -> StreamStats:
        index = self._view.index(stream)
        oldest, held = index.oldest_pending(), sum(index.held.values())
        dead = [n for n in disk.names(self._places.directory(stream, DEAD)) if id_in(n)]
        return StreamStats(
            pending=len(index) - held,
            processing=held,
            dead=sum(not name.endswith(SUFFIX + REASON_SUFFIX) for name in dead),
            oldest_pending_seconds=max(self._now() - oldest, 0.0) if oldest is not None else 0.0,
        )

    def checkpoint(self) -> None:
        """For idle moments: make all safe now, so that the next commit need not."""
        with self._guard:
            self._ledger.checkpoint()

    def quiet(self) -> AbstractContextManager[None]:
        """Nobody commits meanwhile, and the files show all that was committed."""
        return self._ledger.quiet()

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._ledger.close()
        self._view.close()
        for sequence in self._sequences.values():
            sequence.close()
        os.close(self._wake_read)
        os.close(self._wake_write)
