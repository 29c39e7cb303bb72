"""What this process knows of the streams it consumes: an index, kept true by notifications.

Each file is read when it appears or changes, never again for being there. Files that cannot be read
wait here as suspects; ids that lie in two places are settled here, under the stream's lock.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace

from kingdom.bus.backoff import Policy
from kingdom.bus.due import due_at, lease_left, lease_length, longest_retry
from kingdom.bus.files.copies import Copies
from kingdom.bus.files.index import Index, Item, Moment, item_of
from kingdom.bus.files.intake import (
    PASSING,
    PATIENCE,
    Intake,
    Suspect,
    is_blank,
    refused_by_disk,
    signature_of,
)
from kingdom.bus.files.places import SUFFIX, Places, id_in
from kingdom.bus.lease import Holder
from kingdom.clock import Clock
from kingdom.errors import InvalidFile
from kingdom.models.base import Record
from kingdom.models.ids import TASK_ID
from kingdom.store import disk
from kingdom.store.watch import Change, Watch
from kingdom.topology import PENDING, STREAMS

WORKING = {"tasks": "in_progress"}
RECORDS_KEPT = 64
_POLL_SECONDS = 0.2

Place = tuple[str, str]  # stream, state
Locked = Callable[[set[str]], AbstractContextManager[object]]


class View:
    def __init__(
        self,
        places: Places,
        intake: Intake,
        clock: Clock,
        locked: Locked,
        policies: Mapping[str, Policy],
        general: str | None,
    ) -> None:
        self._places = places
        self._intake = intake
        self._copies = Copies(places, intake)
        self._clock = clock
        self._locked = locked
        self._policies = policies
        self._general = general
        self._process = Holder.of_this_process("").process
        self._indexes: dict[str, Index] = {}
        self._former: dict[str, Index] = {}  # what was known before it was all read again
        self._watched: dict[str, Place] = {}
        self._inodes: dict[str, int] = {}
        self._suspects: dict[str, tuple[Place, Suspect]] = {}
        self._given_up: dict[str, tuple[int, int, int, int]] = {}
        self._doubles: set[tuple[str, str]] = set()
        self._looked_at = float("-inf")
        self._unread: list[Change] = []
        self._not_ours: set[Change] = set()  # tasks of other generals
        self._overflown = False
        self.watch = Watch()

    def index(self, stream: str) -> Index:
        """The stream as it is now."""
        if stream not in self._indexes:
            self._begin(stream)
        self.refresh()
        return self._indexes[stream]

    def _begin(self, stream: str) -> None:
        self._indexes[stream] = Index()
        try:
            for state in active_states(stream):
                self._begin_to_watch(stream, state)
            self._scan(stream)
        except OSError:
            del self._indexes[stream]  # half a look is none
            raise

    def _begin_to_watch(self, stream: str, state: str) -> None:
        directory = self._places.directory(stream, state)
        disk.make_directory(directory)
        facts = disk.facts_of(directory)
        self._inodes[directory] = facts.st_ino if facts else 0
        self._watched[directory] = (stream, state)
        self.watch.add(directory)  # before the first look, so that nothing falls between

    def _scan(self, stream: str) -> None:
        for state in active_states(stream):
            for name in disk.names(self._places.directory(stream, state)):
                self._look((stream, state), name)

    def arrived(self) -> set[str]:
        """Streams in which something changed; what it is will be looked at when it is needed."""
        changes = self.watch.changes()
        if changes is None:
            self._overflown = True
            return set(self._indexes)
        self._unread += changes
        places = (self._watched[directory] for directory, _ in changes)
        return {stream for stream, _ in places}

    def refresh(self) -> None:
        self.arrived()
        unread, overflown = self._unread, self._overflown
        self._unread, self._overflown = [], False
        if not self.watch.available:
            self._poll()
        elif overflown:
            self._start_over()
        else:
            for directory, name in unread:
                try:
                    self._look(self._watched[directory], name)
                except OSError:  # nobody will tell of it again, and the others are to be looked at
                    self._unread.append((directory, name))
        self._judge()
        self._settle_doubles()

    def _poll(self) -> None:
        now = self._clock.monotonic()
        if now - self._looked_at >= _POLL_SECONDS:
            self._looked_at = now
            self._start_over()

    def _start_over(self) -> None:
        """Notifications were lost, or there are none."""
        streams = list(self._indexes)
        if self.watch.available:
            self.watch.close()
            self.watch = Watch()
        self._former, self._indexes = self._indexes, {}
        self._not_ours.clear()
        for stream in streams:
            self._begin(stream)
        self._former = {}

    def _look(self, place: Place, name: str) -> None:
        """Read one file, unless it is known as it is."""
        if not is_message_name(place[0], name):
            return
        stream, state = place
        index, path = self._indexes[stream], f"{self._places.directory(stream, state)}/{name}"
        facts = disk.facts_of(path)
        item = index.get(name[: -len(SUFFIX)])
        if facts is None:
            self._left(index, item, state, path)
        elif item is None or item.state != state or item.stamp != disk.stamp_of(facts):
            self._read(place, name, path, facts)

    def compare(self) -> None:
        """Look for what no notification told of. For idle moments, at the polling interval."""
        for directory, (stream, state) in list(self._watched.items()):
            facts = disk.facts_of(directory)
            if facts is None or facts.st_ino != self._inodes.get(directory):
                self._overflown = True  # another directory has taken its place
                return
            if STREAMS[stream].flat:
                continue  # what was handled stays there: looking at it would grow with history
            index = self._indexes[stream]
            for name in disk.names(directory):
                item = index.get(name.removesuffix(SUFFIX))
                known = item is not None and item.state == state
                if not known and (directory, name) not in self._not_ours:
                    self._unread.append((directory, name))

    def _left(self, index: Index, item: Item | None, state: str, path: str) -> None:
        if item is not None and item.state == state:
            index.discard(item.id)
        if self._suspects or self._given_up or self._not_ours:
            self._suspects.pop(path, None)
            self._given_up.pop(path, None)
            self._not_ours.discard((os.path.dirname(path), os.path.basename(path)))

    def _read(self, place: Place, name: str, path: str, facts: os.stat_result) -> None:
        stream, state = place
        try:
            record, stamp = self._intake.read(stream, state, name)
        except FileNotFoundError:
            self._look(place, name)
        except InvalidFile as fault:
            self._suspect(place, path, facts, fault)
        except OSError as error:
            if error.errno in PASSING:
                self._unread.append((self._places.directory(stream, state), name))
                return
            self._suspect(place, path, facts, refused_by_disk(path, error))
        else:
            self._suspects.pop(path, None)
            self._accept(place, record, stamp)

    def _accept(self, place: Place, record: Record, stamp: disk.Stamp) -> None:
        stream, state = place
        known = self._indexes[stream].get(record.id)
        if known is not None and known.state != state:
            self._doubles.add((stream, record.id))
        elif self._concerns_us(stream, record):
            item, index = self._item(stream, record, state, stamp), self._indexes[stream]
            if len(index) < RECORDS_KEPT:
                item.record = record
            index.put(item)
        else:
            self._indexes[stream].discard(record.id)
            if not STREAMS[stream].flat:
                self._not_ours.add((self._places.directory(stream, state), f"{record.id}{SUFFIX}"))

    def _item(self, stream: str, record: Record, state: str, stamp: disk.Stamp) -> Item:
        due = None
        if record.delivery.next_retry_at or record.__dict__.get("not_before"):
            longest = longest_retry(self._policies[stream].backoff)
            due = due_at(record, self._clock.now(), longest)
        known = self._former[stream].get(record.id) if stream in self._former else None
        if known is not None and known.stamp == stamp:
            return item_of(record, state, stamp, due, known.held_until)
        return item_of(record, state, stamp, due, self._held_until(stream, record))

    def _held_until(self, stream: str, record: Record) -> float:
        """By our own clock. Another process that lives has all of its time from now on; what this
        one or one that cannot be asked has, goes by the wall clock at first sight."""
        delivery, usual = record.delivery, self._policies[stream].lease
        if not delivery.locked_by or delivery.locked_until is None:
            return 0.0
        holder = Holder.parse(delivery.locked_by)
        if holder is not None and holder.process != self._process and holder.is_alive():
            left = lease_length(delivery, usual)
        else:
            left = lease_left(delivery, self._clock.now(), usual)
        return self._clock.monotonic() + left.total_seconds()

    def moment(self) -> Moment:
        return Moment(self._clock.now().timestamp(), self._clock.monotonic())

    def _lies_elsewhere(self, stream: str, state: str, id_: str) -> bool:
        return self._places.lying_in(stream, id_) not in ([state], [])

    def _concerns_us(self, stream: str, record: Record) -> bool:
        if STREAMS[stream].flat and record.delivery.processed_at is not None:
            return False
        target = getattr(record, "target_general", None)
        return self._general is None or target is None or target == self._general

    # Files that cannot be read

    def _suspect(self, place: Place, path: str, facts: os.stat_result, fault: InvalidFile) -> None:
        signature = signature_of(facts)
        self._indexes[place[0]].discard(os.path.basename(path).removesuffix(SUFFIX))
        if self._given_up.get(path) == signature:
            return
        known = self._suspects.get(path)
        if known is None or known[1].signature != signature:  # else it is suspect for longer
            since = self._clock.monotonic()
            self._suspects[path] = (place, Suspect(signature, since, fault))

    def _judge(self) -> None:
        """Those that have not changed for two seconds go to `dead/`."""
        now = self._clock.monotonic()
        for path, (place, suspect) in list(self._suspects.items()):
            if now - suspect.since >= PATIENCE:
                facts = disk.facts_of(path)
                del self._suspects[path]
                if facts is None:
                    continue
                if signature_of(facts) != suspect.signature or self._is_readable(place, path):
                    self._look(place, os.path.basename(path))
                    continue
                self._condemn(place, path, suspect)

    def _is_readable(self, place: Place, path: str) -> bool:
        """After all: the disk may have refused once."""
        try:
            self._intake.read(*place, os.path.basename(path))
        except (OSError, InvalidFile):
            return False
        return True

    def _condemn(self, place: Place, path: str, suspect: Suspect) -> None:
        stream, state = place
        id_ = id_in(os.path.basename(path))
        with self._locked({stream}):
            if id_ and is_blank(path) and self._lies_elsewhere(stream, state, id_):
                disk.remove(path)  # a claim's name that outran its content at a power loss
                return
            try:
                self._intake.condemn(stream, path, suspect.fault)
            except OSError:  # it cannot be moved, so it stays where it is until it changes
                self._given_up[path] = suspect.signature

    # Ids that lie in two places

    def _settle_doubles(self) -> None:
        while self._doubles:
            stream, id_ = self._doubles.pop()
            with self._locked({stream}):
                self._copies.settle(stream, id_)
            for state in active_states(stream):
                self._look((stream, state), f"{id_}{SUFFIX}")

    def next_in(self, streams: list[str]) -> float:
        """Seconds until the next change that no notification will announce."""
        now = self.moment()
        seconds = [self._indexes[stream].next_in(now) for stream in streams]
        for _, suspect in self._suspects.values():
            seconds.append(suspect.since + PATIENCE - now.ticks)
        if not self.watch.available:
            seconds.append(_POLL_SECONDS)
        return min(seconds, default=float("inf"))

    def follows(self, stream: str) -> bool:
        return stream in self._indexes

    def notice(self, stream: str, record: Record, stamp: disk.Stamp) -> None:
        """Published by this very process: known without reading it."""
        self._accept((stream, PENDING), record, stamp)

    def put(self, stream: str, record: Record, state: str, stamp: disk.Stamp) -> None:
        """What this process itself just did, so that its own notification costs no reading."""
        if stream in self._indexes:
            self._indexes[stream].put(self._item(stream, record, state, stamp))

    def forget(self, stream: str, id_: str) -> None:
        if stream in self._indexes:
            self._indexes[stream].discard(id_)

    def park(self, stream: str, id_: str, until: float) -> None:
        """It cannot be taken, and nobody knows why: leave it for a while, and the rest goes on."""
        item = self._indexes[stream].get(id_)
        if item is not None:
            self._indexes[stream].put(replace(item, due=max(item.due, until)))

    def give_back(self, stream: str, item: Item) -> None:
        """Taken out of the index, and not out of the queue."""
        if stream in self._indexes:
            self._indexes[stream].give_back(item)

    def look_again(self, stream: str, item: Item, pause: float) -> None:
        """It could not be taken as it was known. One that is held stays so for a pause at least."""
        index = self._indexes[stream]
        index.discard(item.id)
        try:
            for state in active_states(stream):
                self._look((stream, state), f"{item.id}{SUFFIX}")
        except OSError:
            index.put(item)  # half a look is none
            raise
        found = index.get(item.id)
        if len(self._places.lying_in(stream, item.id)) > 1:
            self._doubles.add((stream, item.id))
        elif found is not None and found.held_until:
            until = self._clock.monotonic() + pause
            index.put(replace(found, held_until=max(found.held_until, until)))

    def close(self) -> None:
        self.watch.close()


def active_states(stream: str) -> list[str]:
    """Those a message may be claimed from."""
    return [PENDING, WORKING[stream]] if stream in WORKING else [PENDING]


def is_message_name(stream: str, name: str) -> bool:
    """Names that claim to be a message. `state/results/` holds other files of a task as well."""
    if name[0] == "." or not name.endswith(SUFFIX):
        return False
    return not STREAMS[stream].flat or bool(TASK_ID.fullmatch(name.removesuffix(SUFFIX)))
