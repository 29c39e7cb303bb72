"""What one stream holds, in memory: who is next, who waits, who is held. It reads no file.

Each message is an `Item`; a changed message is a new item, and the old one is passed over when a
heap brings it up. Finding the next costs the same with ten waiting or a hundred thousand.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from kingdom.bus.port import Accept
from kingdom.clock import SET_BACK
from kingdom.models.base import Record
from kingdom.models.ids import sequence_number
from kingdom.store.disk import Stamp

_RANKS = {"urgent": 0, "high": 1, "normal": 2, "low": 3}

Order = tuple[int, float, int, str]  # rank, age, number, id
Group = tuple[str, str]  # type, priority: what a worker accepts or not
Subject = tuple[str, str]  # type, and what the message is about


class Moment(NamedTuple):
    """By both clocks, in seconds: messages are due by the wall clock, leases end by our own."""

    wall: float
    ticks: float


@dataclass(slots=True, eq=False)
class Item:
    id: str
    state: str
    order: Order
    group: Group
    subject: Subject | None
    thread: str | None
    due: float
    written: float  # by the wall clock of that time
    held_until: float  # by our own clock; 0 when nobody holds it
    holder: str
    stamp: Stamp
    record: Record | None = None  # as read, while there are few; a long queue is read again

    @property
    def age(self) -> tuple[float, int, str]:
        return self.order[1:]


def item_of(
    record: Record, state: str, stamp: Stamp, due: datetime | None = None, held_until: float = 0.0
) -> Item:
    delivery, values = record.delivery, record.__dict__
    urgency = values.get("urgency")
    group = (values.get("type", ""), urgency or values.get("priority", "normal"))
    subject = getattr(record, "subject", None)
    created = record.created_at or delivery.created_at
    return Item(
        id=record.id,
        state=state,
        order=(
            _RANKS[group[1]],
            _seconds(created),
            sequence_number(record.id),
            record.id,
        ),
        group=group,
        subject=(group[0], subject) if subject else None,
        thread=values.get("task_id") if urgency else None,  # only messages have an urgency
        due=_seconds(due),
        written=_seconds(delivery.updated_at or created),
        held_until=held_until,
        holder=delivery.locked_by or "",
        stamp=stamp,
    )


def _seconds(moment: datetime | None) -> float:
    return moment.timestamp() if moment else 0.0


def _waits(item: Item, now: float) -> bool:
    """What was written by a clock that has been set back since is not waited for."""
    return now < item.due and item.written <= now + SET_BACK.total_seconds()


class Index:
    def __init__(self) -> None:
        self._items: dict[str, Item] = {}
        self._held: dict[str, dict[str, Item]] = {}  # by holder, by id
        self._leases: list[tuple[float, int, Item]] = []
        self._ready: dict[Group, list[tuple[Order, int, Item]]] = {}
        self._subjects: dict[Subject, set[str]] = {}
        self._later: list[tuple[float, int, Item]] = []
        self._threads: dict[str, list[tuple[tuple[float, int, str], int, Item]]] = {}
        self._oldest: list[tuple[float, int, Item]] = []
        self._count = 0  # breaks ties between a message's old and new item
        self._latest = 0.0  # that the wall clock showed

    def __len__(self) -> int:
        return len(self._items)

    def get(self, id_: str) -> Item | None:
        return self._items.get(id_)

    def put(self, item: Item) -> None:
        """A message as it is now, in place of what was known of it."""
        self.discard(item.id)
        self._count += 1
        self._items[item.id] = item
        heapq.heappush(self._oldest, (item.order[1], self._count, item))
        if item.subject is not None:
            self._subjects.setdefault(item.subject, set()).add(item.id)
        if item.thread is not None:
            line = self._threads.setdefault(item.thread, [])
            heapq.heappush(line, (item.age, self._count, item))
        if item.held_until:
            self._held.setdefault(item.holder, {})[item.id] = item
            heapq.heappush(self._leases, (item.held_until, self._count, item))
        elif item.due:
            self._latest = max(
                self._latest, item.written
            )  # it may be set back before the next look
            heapq.heappush(self._later, (item.due, self._count, item))
        else:
            self._make_ready(item)

    def _make_ready(self, item: Item) -> None:
        self._count += 1
        heapq.heappush(self._ready.setdefault(item.group, []), (item.order, self._count, item))

    def discard(self, id_: str) -> None:
        item = self._items.pop(id_, None)
        if item is None:
            return
        self._let_go(item)
        if item.subject is not None:
            self._leave_subject(item.id, item.subject)
        if item.thread is not None:
            self._next_in_line(item.thread)

    def _leave_subject(self, id_: str, subject: Subject) -> None:
        alike = self._subjects[subject]
        alike.discard(id_)
        if not alike:
            del self._subjects[subject]

    def alike(self, id_: str, subject: Subject) -> list[str]:
        """Others about the same, whether due or not, that nobody holds."""
        found = (self._items[one] for one in self._subjects.get(subject, ()) if one != id_)
        return [item.id for item in found if not item.held_until]

    def _let_go(self, item: Item) -> None:
        of_holder = self._held.get(item.holder, {})
        of_holder.pop(item.id, None)
        if not of_holder:
            self._held.pop(item.holder, None)

    def _next_in_line(self, thread: str) -> None:
        """The first of a thread left: the one behind it may go."""
        head = self._head(thread)
        if head is None:
            del self._threads[thread]
        elif not head.held_until:
            self._make_ready(head)

    def _head(self, thread: str) -> Item | None:
        line = self._threads[thread]
        while line and not self._is_current(line[0][2]):
            heapq.heappop(line)
        return line[0][2] if line else None

    def _is_current(self, item: Item) -> bool:
        return self._items.get(item.id) is item

    def take(
        self,
        limit: int,
        now: Moment,
        is_gone: Callable[[str], bool],
        accept: Accept | None = None,
    ) -> list[Item]:
        """The next due, at most so many. Each must be put or given back afterwards."""
        self._release_lost(now.ticks, is_gone)
        self._ripen(now.wall)
        groups = [group for group in self._ready if accept is None or accept(*group)]
        taken: dict[str, Item] = {}
        while len(taken) < limit and groups:
            item = self._first_of(groups)
            if self._may_go(item, now.wall):
                taken[item.id] = item
            elif _waits(item, now.wall) and self._is_current(item):  # the clock was put back
                self._count += 1
                heapq.heappush(self._later, (item.due, self._count, item))
        return list(taken.values())

    def _first_of(self, groups: list[Group]) -> Item:
        """Taken out of the group whose turn it is; one that is empty then is struck off."""
        group = groups[0] if len(groups) == 1 else min(groups, key=lambda one: self._ready[one][0])
        heap = self._ready[group]
        item = heapq.heappop(heap)[2]
        if not heap:
            del self._ready[group]
            groups.remove(group)
        return item

    def held_back(self, now: float, accept: Accept) -> Iterator[Item]:
        """What is due and not accepted."""
        for group, heap in self._ready.items():
            if not accept(*group):
                found = {item.id: item for _, _, item in heap if self._may_go(item, now)}
                yield from found.values()

    def give_back(self, item: Item) -> None:
        if self._is_current(item):
            self._make_ready(item)

    def _release_lost(self, ticks: float, is_gone: Callable[[str], bool]) -> None:
        lost = [
            item
            for holder in filter(is_gone, list(self._held))
            for item in self._held[holder].values()
        ]
        while self._leases and self._leases[0][0] <= ticks:
            item = heapq.heappop(self._leases)[2]
            if self._is_current(item) and item.held_until:
                lost.append(item)
        for item in lost:
            self._let_go(item)
            item.held_until = 0.0
            self._make_ready(item)

    def _ripen(self, now: float) -> None:
        if now < self._latest:
            self._release_early(now)
        self._latest = now
        while self._later and self._later[0][0] <= now:
            self._make_ready(heapq.heappop(self._later)[2])

    def _release_early(self, now: float) -> None:
        """The clock was set back: what it wrote while it was ahead is not waited for."""
        for _, _, item in self._later:
            if not _waits(item, now):
                item.due = 0.0
        self._later = [(item.due, number, item) for _, number, item in self._later]
        heapq.heapify(self._later)

    def _may_go(self, item: Item, now: float) -> bool:
        if not self._is_current(item) or item.held_until or _waits(item, now):
            return False
        return item.thread is None or self._head(item.thread) is item

    def has_ready(
        self, now: Moment, is_gone: Callable[[str], bool], accept: Accept | None = None
    ) -> bool:
        for item in self.take(1, now, is_gone, accept):
            self.give_back(item)
            return True
        return False

    def next_in(self, now: Moment) -> float:
        """Seconds until something held or waiting next changes by itself."""
        due, lease = self._first(self._later), self._first(self._leases)
        return min(
            float("inf") if due is None else due - now.wall,
            float("inf") if lease is None else lease - now.ticks,
        )

    def _first(self, heap: list[tuple[float, int, Item]]) -> float | None:
        while heap and not self._is_current(heap[0][2]):
            heapq.heappop(heap)
        return heap[0][0] if heap else None

    def oldest_pending(self) -> float | None:
        """When the oldest message that nobody holds was made."""
        put_back = []
        while self._oldest and (
            self._oldest[0][2].held_until or not self._is_current(self._oldest[0][2])
        ):
            entry = heapq.heappop(self._oldest)
            if self._is_current(entry[2]):
                put_back.append(entry)
        found = self._oldest[0][0] if self._oldest else None
        for entry in put_back:
            heapq.heappush(self._oldest, entry)
        return found

    @property
    def held(self) -> dict[str, int]:
        """How many each holder holds."""
        return {holder: len(items) for holder, items in self._held.items()}
