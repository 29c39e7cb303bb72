"""THE table of what is removed by its age: where it lies, how long it stays, whose it is.

Each kind is looked through bit by bit: what is not old enough costs a look at its time, and what
may go is judged only after the listing, so that nothing is removed while a directory is read.
Only names that the kingdom gives are looked at; a link is never followed.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Protocol

from kingdom.bus.files.bus import FileBus
from kingdom.bus.files.pruning import Ended
from kingdom.chamberlain.cleaning.finds import Find
from kingdom.chamberlain.cleaning.names import task_in
from kingdom.chamberlain.cleaning.notices import Notices
from kingdom.chamberlain.cleaning.old import Old, old_ones
from kingdom.chamberlain.cleaning.watching import objection
from kingdom.engines import tree
from kingdom.models.event import Event
from kingdom.models.message import MessageBase
from kingdom.settings.chamberlain import Retention
from kingdom.store import disk
from kingdom.store.log_files import is_put_away
from kingdom.store.paths import BaseDir
from kingdom.store.state import read_json
from kingdom.topology import DEAD, HELD, MESSAGES, RESULTS, STREAMS

AT_ONCE = 20_000  # of one kind are judged before its directory is listed anew

_OF_SOLDIER = re.compile(r"(?P<id>soldier-[0-9-]+)\.(?P<what>json|claim|exit|settings|schema)")


class Kind(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def place(self) -> str:
        """Relative to the base directory."""

    @property
    def days(self) -> int: ...

    def find(self, before: datetime, most: int | None) -> Iterator[Find | None]:
        """What may go; nothing for each that may not."""


@dataclass(frozen=True)
class Queue:
    """What ended in one directory of the bus."""

    bus: FileBus
    name: str
    stream: str
    place: str
    days: int
    state: str = ""  # that in which messages of the stream usually end

    def find(self, before: datetime, most: int | None) -> Iterator[Find | None]:
        old: list[str] = []
        for name in self.bus.old_names(self.stream, before, state=self.state):
            if name:
                old.append(name)
            if len(old) == most:
                break
            yield None
        for name in old:
            one = self.bus.ended(self.stream, name, before, state=self.state)
            yield None if one is None else self._find(one)

    def _find(self, one: Ended) -> Find:
        forget = partial(self.bus.forget, self.stream, [one], state=self.state)
        return Find(one.at, one.size, 1, _owners(one), forget)


def _owners(one: Ended) -> frozenset[str]:
    record = one.record
    also = record.task_id if isinstance(record, Event | MessageBase) else None
    return frozenset(filter(None, (one.id, also)))


@dataclass(frozen=True)
class Dead:
    """What could not be processed; it goes some days after people were told."""

    bus: FileBus
    stream: str
    days: int
    notices: Notices
    name: str = "dead"

    @property
    def place(self) -> str:
        return f"{STREAMS[self.stream].root}/{DEAD}"

    def find(self, before: datetime, most: int | None) -> Iterator[Find | None]:
        names = []
        for name in self.bus.old_names(self.stream, self.notices.told_before(before), state=DEAD):
            if name:
                names.append(name)
            yield None
        for name in names:
            early = self.bus.ended(self.stream, name, self.notices.told_before(before), state=DEAD)
            if early is None:
                yield None
                continue
            objection = self.notices.objection(self.stream, name)
            if early.at >= before.timestamp():
                yield None
            else:
                forget = partial(self.bus.forget, self.stream, [early], state=DEAD)
                yield Find(early.at, early.size, 1, _owners(early), forget, objection)


@dataclass(frozen=True)
class Results:
    """All that lies in `state/results/` of one task goes together, by its final result."""

    base: BaseDir
    bus: FileBus
    days: int
    name: str = "results"
    place: str = "state/results"

    def find(self, before: datetime, most: int | None) -> Iterator[Find | None]:
        tasks: dict[str, list[Old]] = {}
        for one in old_ones(self.base.results, task_in, before, with_places=True):
            if one is not None:
                tasks.setdefault(task_in(one.name), []).append(one)
            if len(tasks) == most:
                break
            yield None
        for task, files in tasks.items():
            yield self._of(task, files, before)

    def _of(self, task: str, files: list[Old], before: datetime) -> Find | None:
        final = f"{task}.json"
        beside = [one for one in files if one.name != final]
        main: Ended | None = None
        if disk.exists(os.path.join(self.base.results, final)):
            main = self.bus.ended("results", final, before)
            if main is None:
                return None
        at = max([one.at for one in beside], default=0.0)
        size = sum(one.size for one in beside) + (main.size if main else 0)
        return Find(
            at=main.at if main else at,
            size=size,
            files=sum(one.files for one in beside) + (main is not None),
            owners=frozenset({task}),
            remove=partial(self._remove, beside, main),
        )

    def _remove(self, beside: list[Old], main: Ended | None) -> int:
        """The final result last: while it is there, the rest is known to be its."""
        count = sum(one.remove() for one in beside)
        return count + (self.bus.forget("results", [main]) if main else 0)


@dataclass(frozen=True)
class Files:
    """Files of one directory that go by their time on disk."""

    base: BaseDir
    name: str
    place: str
    days: int
    is_ours: Callable[[str], object] = field(default=lambda name: not name.startswith("."))
    below: int = 0  # how many directories deep

    def find(self, before: datetime, most: int | None) -> Iterator[Find | None]:
        for directory in _deep(self.base.path(self.place), self.below):
            old: list[Old] = []
            for one in old_ones(directory, self.is_ours, before):
                if one is not None:
                    old.append(one)
                if len(old) == most:
                    break
                yield None
            for one in old:
                owners = frozenset({one.name, one.name.partition(".")[0]})
                yield Find(one.at, one.size, 1, owners, one.remove)


@dataclass(frozen=True)
class Marks(Files):
    """Of events that were seen; they stay while nobody looks whether these are still listed."""

    def find(self, before: datetime, most: int | None) -> Iterator[Find | None]:
        why = objection(self.base, before + timedelta(days=self.days))
        for one in super().find(before, most):
            yield None if one is None else replace(one, objection=why)


@dataclass(frozen=True)
class Undecided(Files):
    """Actions that are held; they keep their task, and nothing keeps them."""

    def find(self, before: datetime, most: int | None) -> Iterator[Find | None]:
        for one in super().find(before, most):
            yield None if one is None else replace(one, owners=frozenset())


@dataclass(frozen=True)
class Soldiers:
    """What attempts left whose general is gone: all files of one go together."""

    base: BaseDir
    days: int
    name: str = "soldiers"
    place: str = "state/soldiers"

    def find(self, before: datetime, most: int | None) -> Iterator[Find | None]:
        found: dict[str, list[Old]] = {}
        for one in old_ones(self.base.soldiers, _OF_SOLDIER.fullmatch, before):
            if one is not None and (match := _OF_SOLDIER.fullmatch(one.name)):
                found.setdefault(match["id"], []).append(one)
            yield None
        for soldier, files in found.items():
            yield self._of(soldier, files)

    def _of(self, soldier: str, files: list[Old]) -> Find:
        stem = os.path.join(self.base.soldiers, soldier)
        spec = read_json(f"{stem}.json", {})
        task = spec.get("task_id") if isinstance(spec, dict) else None
        # The spec goes first: a wrapper that comes late then finds nothing to run.
        files.sort(key=lambda one: not one.name.endswith(".json"))
        return Find(
            at=max(one.at for one in files),
            size=sum(one.size for one in files),
            files=len(files),
            owners=frozenset({task} if isinstance(task, str) else ()),
            remove=lambda: sum(one.remove() for one in files),
            objection=f"{soldier} lives." if _lives(f"{stem}.claim") else "",
        )


def _lives(claim: str) -> bool:
    words = disk.head(claim, 64).split()
    if len(words) != 3 or not (words[1].isdigit() and words[2].isdigit()):
        return False
    return tree.is_alive(int(words[1]), int(words[2]))


def _deep(directory: str, below: int) -> Iterator[str]:
    if below == 0:
        yield directory
        return
    for name in disk.names(directory):
        path = os.path.join(directory, name)
        facts = disk.facts_of(path)
        if facts is not None and stat.S_ISDIR(facts.st_mode):
            yield from _deep(path, below - 1)


def kinds(base: BaseDir, bus: FileBus, retention: Retention, notices: Notices) -> list[Kind]:
    files = partial(Files, base)
    queues = ("events", "completed"), ("tasks", "completed"), ("messages", "sent")
    return [
        *(
            Queue(bus, name, name, f"{STREAMS[name].root}/{state}", retention.queue_days)
            for name, state in queues
        ),
        *(Dead(bus, stream, retention.dead_days, notices) for stream in STREAMS),
        Queue(bus, "held", "messages", f"{MESSAGES.root}/{HELD}", retention.held_days, HELD),
        Undecided(base, "held actions", f"{RESULTS.root}/{HELD}", retention.held_days),
        Results(base, bus, retention.results_days),
        files("prompts", "state/prompts", retention.prompts_days),
        files("session logs", "logs/sessions", retention.session_logs_days),
        Soldiers(base, retention.session_logs_days),
        files("transcripts", "state/engines", retention.session_logs_days, _is_transcript, 4),
        Marks(base, "seen", "state/sentinel/seen", retention.seen_days),
        files("logs", "logs", retention.logs_days, is_put_away),
        files("analysis", "logs/analysis", retention.history_days),
        files("spending", "state/spending", retention.history_days),
    ]


def _is_transcript(name: str) -> bool:
    """Of an engine's session: `{engine}/{general}/projects/{directory}/{session}.jsonl`."""
    return name.endswith(".jsonl")
