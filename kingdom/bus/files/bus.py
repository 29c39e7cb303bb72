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

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any

from kingdom.bus.backoff import Policy
from kingdom.bus.due import DEFERRED
from kingdom.bus.files.arrivals import Arrivals
from kingdom.bus.files.changes import Change
from kingdom.bus.files.claims import Claims
from kingdom.bus.files.guard import Guard, refused
from kingdom.bus.files.intake import Intake
from kingdom.bus.files.journal import CAPACITY, Entry
from kingdom.bus.files.ledger import Ledger
from kingdom.bus.files.looking import Looking
from kingdom.bus.files.neighbours import Neighbours
from kingdom.bus.files.places import HANDLED, SUFFIX, Places, id_in
from kingdom.bus.files.pruning import Ended, Pruning
from kingdom.bus.files.sequence import Sequence as IdSequence
from kingdom.bus.files.view import View
from kingdom.bus.port import (
    Accept,
    Claim,
    Depth,
    Judge,
    Move,
    New,
    Problem,
    Recovered,
    StreamStats,
)
from kingdom.bus.tally import Tally
from kingdom.clock import Clock, SystemClock
from kingdom.errors import TryLater
from kingdom.models.base import Record
from kingdom.models.ids import check_id
from kingdom.store import disk
from kingdom.store.paths import REASON_SUFFIX, BaseDir
from kingdom.topology import DEAD, HELD, PENDING, STREAMS

_DONE = {"events": "completed", "tasks": "completed", "messages": "sent", "results": HANDLED}


class FileBus:
    def __init__(
        self,
        base: BaseDir,
        *,
        general: str | None = None,
        clock: Clock | None = None,
        durable: bool = True,
        zone: tzinfo = UTC,
        policies: Mapping[str, Policy] | None = None,
        journal_bytes: int = CAPACITY,
    ) -> None:
        self.base = base
        self._clock = clock or SystemClock()
        self._zone = zone
        self._policies = {name: Policy() for name in STREAMS} | dict(policies or {})
        self._durable = durable
        self._places = Places(base)
        self._places.make()
        intake = Intake(self._places, self._clock)
        self._ledger = Ledger(self._places, intake, sync=durable, capacity=journal_bytes)
        self._view = View(
            self._places, intake, self._clock, self._ledger.locked, self._policies, general
        )
        self._neighbours = Neighbours(self._places, self._ledger, sync=durable)
        self._claims = Claims(
            self._places, intake, self._ledger, self._neighbours, self._view, self._clock
        )
        self._pruning = Pruning(self._places, intake, self._ledger, self._neighbours)
        self._looking = Looking(self._places, intake, general)
        self._sequences: dict[str, IdSequence] = {}
        self._guard = Guard()
        self._arrivals = Arrivals(self._ledger, self._view, self._claims, self._clock, self._guard)
        self.tally = Tally(self._clock)
        self._closed = False

    # Publish and commit

    def publish(self, stream: str, *messages: Record) -> list[bool]:
        if len(messages) == 1 and not self._view.follows(stream):
            return [self._publish_one(stream, messages[0])]
        with self._guard:
            now = self._clock.now()
            follows = self._ledger.note_stamps = self._view.follows(stream)
            entries = [self._born(stream, one, now) for one in messages]
            answers = self._ledger.commit(list(map(Change, entries)))
            if not follows:
                return answers
            for message, fresh in zip(messages, answers, strict=True):
                stamp = self._ledger.stamps.pop((stream, message.id), None)
                if fresh and stamp is not None:
                    self._view.notice(stream, self._as_born(stream, message, now), stamp)
            self._ledger.note_stamps = False
            return answers

    def _publish_one(self, stream: str, message: Record) -> bool:
        """What most callers do most often, with nothing that costs time between two syncs."""
        with self._guard.lock:
            try:
                return self._ledger.add(self._born(stream, message, self._clock.now()))
            except OSError as error:
                raise refused(error) from error

    def commit(self, moves: Iterable[Move], publish: Iterable[New] = ()) -> list[bool]:
        with self._guard:
            self._ledger.note_stamps = False
            moves = list(moves)
            moved = [self._moved(move) for move in moves]
            now = self._clock.now()
            born = [Change(self._born(stream, message, now)) for stream, message in publish]
            answers = self._ledger.commit(moved + born)
            for move in moves:
                self._claims.forget(move.claim.stream, move.claim.id)
                self.tally.ended(move.claim, move.status or move.to)
            return answers[len(moved) :]

    def _as_born(self, stream: str, message: Record, now: datetime) -> Record:
        attempts = message.delivery.max_attempts or self._policies[stream].max_attempts
        delivery = message.delivery.revised(
            revision=1, max_attempts=attempts, created_at=now, updated_at=now
        )
        if STREAMS[stream].flat:
            return message.revised(delivery=delivery)
        return message.revised(delivery=delivery, status=PENDING)

    def _born(self, stream: str, message: Record, now: datetime) -> Entry:
        """What `_as_born` writes, without the detour over a record: most publishers need none."""
        delivery = message.delivery.first_written(self._policies[stream].max_attempts, now)
        if STREAMS[stream].flat:
            content = message.to_json(delivery=delivery)
        else:
            content = message.to_json(delivery=delivery, status=PENDING)
        return Entry(stream, message.id, PENDING, 1, content)

    def _moved(self, move: Move, **delivery: Any) -> Change:
        claim, now = move.claim, self._clock.now()
        message = claim.message
        revision = message.delivery.revision + 1
        update = dict(move.fields)
        if update and (unknown := update.keys() - type(message).model_fields.keys()):
            raise ValueError(f"{claim.stream} have no field {', '.join(sorted(unknown))}")
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
        return Change(entry, self._claims.version_of(claim))

    @staticmethod
    def _status(stream: str, move: Move) -> str:
        words = STREAMS[stream].state(move.to).statuses
        status = move.status or words[0]
        if status not in words:
            raise ValueError(f"{stream}/{move.to} knows {', '.join(words)}, not {status}")
        return status

    # Claim and extend

    def claim(
        self,
        stream: str,
        worker: str,
        limit: int = 1,
        *,
        ids: Sequence[str] | None = None,
        lease: timedelta | None = None,
        accept: Accept | None = None,
        judge: Judge | None = None,
    ) -> list[Claim]:
        with self._guard:
            length = lease or self._policies[stream].lease
            if ids is not None:
                named = list(map(check_id, ids))
                found = self._claims.named(stream, named, worker, length, judge)
            else:
                found = self._claims.due(stream, worker, limit, length, accept, self._is_poison)
            self.tally.taken(found)
            return found

    def _is_poison(self, claim: Claim) -> bool:
        """A message whose handlers die every time is buried; being killed is not its fault, so
        the limit is high."""
        crashes = claim.message.delivery.crash_count
        if crashes <= self._policies[claim.stream].max_crashes:
            return False
        self.bury(
            claim, Problem("crashed_too_often", f"Its worker died {crashes} times handling it.")
        )
        return True

    def extend(self, claim: Claim, lease: timedelta) -> Claim:
        with self._guard:
            return self._claims.extend(claim, lease)

    # Back, later, or dead

    def retry(self, claim: Claim, problem: Problem) -> str:
        policy = self._policies[claim.stream]
        before, now = claim.message.delivery, self._clock.now()
        attempts = before.attempt_count + 1
        to = DEAD if attempts >= (before.max_attempts or policy.max_attempts) else PENDING
        due = now + policy.backoff.delay(attempts, random.random) if to == PENDING else None
        self._send_back(claim, to, problem, attempt_count=attempts, next_retry_at=due)
        self.tally.ended(claim, "retried" if to == PENDING else DEAD)
        return to

    def defer(self, claim: Claim, not_before: datetime, reason: str) -> None:
        self._send_back(claim, PENDING, Problem(DEFERRED, reason), next_retry_at=not_before)
        self.tally.ended(claim, "deferred")

    def bury(self, claim: Claim, problem: Problem) -> None:
        self._send_back(claim, DEAD, problem)
        self.tally.ended(claim, DEAD)

    def hold(self, claim: Claim, problem: Problem) -> None:
        self._send_back(claim, HELD, problem)
        self.tally.ended(claim, HELD)

    def _send_back(self, claim: Claim, to: str, problem: Problem, **delivery: Any) -> None:
        error = {"last_error_code": problem.code, "last_error_message": problem.message}
        with self._guard:
            change = self._moved(Move(claim, to), **error, **delivery)
            self._ledger.commit([change])
            self._claims.forget(claim.stream, claim.id)

    # The rest

    def recover(self) -> Recovered:
        with self._guard:
            found = self._claims.recover()
            lost = sum(
                count
                for name in filter(self._view.follows, STREAMS)  # who only publishes needs none
                for holder, count in self._view.index(name).held.items()
                if self._claims.is_gone(holder)
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
            return self._pruning.prune(stream, state or _DONE[stream], before)

    def old_names(self, stream: str, before: datetime, *, state: str = "") -> Iterator[str]:
        """For who prunes bit by bit: names of what may have ended before then, and an empty word
        for each other one. It begins with `try_settle`, once for all streams."""
        return self._pruning.old_names(stream, state or _DONE[stream], before)

    def ended(self, stream: str, name: str, before: datetime, *, state: str = "") -> Ended | None:
        with self._guard:
            return self._pruning.ended(stream, state or _DONE[stream], name, before)

    def forget(self, stream: str, those: Sequence[Ended], *, state: str = "") -> int:
        with self._guard:
            return self._pruning.forget(stream, state or _DONE[stream], those)

    # Only looking

    def alike(self, claim: Claim) -> list[str]:
        subject = getattr(claim.message, "subject", None)
        if not subject:
            return []
        with self._guard:
            kind = claim.message.__dict__["type"]
            return self._view.index(claim.stream).alike(claim.id, (kind, subject))

    def held_back(self, stream: str, accept: Accept) -> list[tuple[str, str, str]]:
        with self._guard:
            now = self._clock.now().timestamp()
            found = self._view.index(stream).held_back(now, accept)
            return [(item.id, *item.group) for item in found]

    def look(self, stream: str, id_: str) -> tuple[str, Record] | None:
        with self._guard:
            return self._looking.look(stream, check_id(id_))

    def waiting(self, stream: str) -> list[Record]:
        with self._guard:
            return self._looking.waiting(stream)

    def wait(
        self,
        streams: Sequence[str],
        timeout: float,
        *,
        accepts: Mapping[str, Accept] | None = None,
        also: Sequence[int] = (),
    ) -> set[str]:
        return self._arrivals.wait(streams, timeout, accepts or {}, also)

    def wake(self) -> None:
        self._arrivals.wake()

    def stats(self) -> dict[str, StreamStats]:
        with self._guard:
            return {name: self._stats(name) for name in STREAMS}

    def depths(self) -> dict[str, Depth]:
        """Of the streams that this process consumes; what it costs does not grow with them."""
        with self._guard:
            indexes = {name: self._view.index(name) for name in STREAMS if self._view.follows(name)}
            held = {name: sum(index.held.values()) for name, index in indexes.items()}
            return {
                name: Depth(len(index) - held[name], held[name], index.oldest_pending())
                for name, index in indexes.items()
            }

    def _stats(self, stream: str) -> StreamStats:
        index = self._view.index(stream)
        oldest, held = index.oldest_pending(), sum(index.held.values())
        now = self._clock.now().timestamp()
        dead = [n for n in disk.names(self._places.directory(stream, DEAD)) if id_in(n)]
        return StreamStats(
            pending=len(index) - held,
            processing=held,
            dead=sum(not name.endswith(SUFFIX + REASON_SUFFIX) for name in dead),
            oldest_pending_seconds=max(now - oldest, 0.0) if oldest is not None else 0.0,
        )

    def checkpoint(self) -> None:
        """For idle moments: make all safe now, so that the next commit need not."""
        with self._guard:
            self._ledger.checkpoint()

    def quiet(self, unreadable: list[str] | None = None) -> AbstractContextManager[None]:
        """Nobody commits meanwhile, and the files show all that was committed. Journals that this
        user may not write to are an error, or come into the list."""
        return self._neighbours.quiet(unreadable=unreadable)

    def try_settle(self) -> bool:
        """Whether the files show all that was committed so far, and no journal has it any more;
        not while somebody commits, be it one who hangs."""
        try:
            with self._guard, self._neighbours.quiet(wait=False):
                return True
        except TryLater as busy:
            if busy.code != "bus_busy":
                raise
            return False

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._ledger.close()
        self._view.close()
        for sequence in self._sequences.values():
            sequence.close()
        self._arrivals.close()
