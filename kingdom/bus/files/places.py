"""Where a message of a stream lies in each of its states, and names for what is on its way.

::

    state/bus/journal/   one journal per process, and the locks of its life and of a commit
    state/bus/attic/     what a claim replaced, until the replacement is safe
    state/bus/tmp/       new files before their rename; names carry their writer
    state/bus/lock/      one lock per stream and per sequence
"""

from __future__ import annotations

import itertools
import os

from kingdom.bus.lease import Holder
from kingdom.models.ids import is_id
from kingdom.store import disk
from kingdom.store.paths import REASON_SUFFIX, TEMPORARY_PREFIX, BaseDir
from kingdom.topology import DEAD, HELD, PENDING, STREAMS, Stream

SUFFIX = ".json"
HANDLED = "handled"


def _states(stream: Stream) -> list[tuple[str, str]]:
    """Each state and its directory. A flat stream's files stay where they are when handled."""
    if stream.flat:
        return [(PENDING, ""), (HANDLED, ""), (DEAD, DEAD)]
    return [(state.directory, state.directory) for state in stream.states]


class Places:
    def __init__(self, base: BaseDir) -> None:
        self.base = base
        self.journals = os.path.join(base.bus, "journal")
        self.attics = os.path.join(base.bus, "attic")
        self.temporaries = os.path.join(base.bus, "tmp")
        self.locks = os.path.join(base.bus, "lock")
        self._directories = {
            (name, state): base.path(stream.root, directory).rstrip("/")
            for name, stream in STREAMS.items()
            for state, directory in _states(stream)
        }
        self._distinct = {name: self._distinct_directories(name) for name in STREAMS}
        self._later = {name: [d for _, d in self._distinct[name][1:]] for name in STREAMS}
        self._numbers = itertools.count()
        writer = Holder.of_this_process("")
        prefix = f"{TEMPORARY_PREFIX}{writer.pid}-{writer.started}-"
        self._new_file = os.path.join(self.temporaries, prefix)

    def make(self) -> None:
        for path in self.own_directories():
            disk.make_directory(path)
        for stream in STREAMS.values():  # what is held has a secret in it, perhaps
            held = self.base.path(stream.root, HELD)
            if disk.exists(held):
                disk.keep_private(held)

    def own_directories(self) -> list[str]:
        king = os.path.dirname(self.base.sequence_file("task"))
        own = [self.journals, self.attics, self.temporaries, self.locks, king]
        return [*dict.fromkeys(self._directories.values()), *own]

    def states(self, stream: str) -> list[str]:
        return [state for state, _ in _states(STREAMS[stream])]

    def _distinct_directories(self, stream: str) -> list[tuple[str, str]]:
        found = {self._directories[stream, state]: state for state in reversed(self.states(stream))}
        return [(state, directory) for directory, state in reversed(found.items())]

    def directory(self, stream: str, state: str) -> str:
        return self._directories[stream, state]

    def path(self, stream: str, state: str, id_: str) -> str:
        return f"{self._directories[stream, state]}/{id_}{SUFFIX}"

    def paths(self, stream: str, id_: str) -> dict[str, str]:
        """The path for each state, where states share a directory only the first."""
        return {s: f"{directory}/{id_}{SUFFIX}" for s, directory in self._distinct[stream]}

    def lying_in(self, stream: str, id_: str) -> list[str]:
        """The states this id lies in: one, or none, or after an accident several."""
        return [s for s, path in self.paths(stream, id_).items() if _counts(s, path)]

    def is_past(self, stream: str, id_: str) -> bool:
        """Whether this id has come further than the state that every message begins in."""
        # The hottest look of all: only when a name is taken is it worth to ask more.
        if not disk.is_in_any(self._later[stream], f"/{id_}{SUFFIX}"):
            return False
        return len(set(self.lying_in(stream, id_)) - {PENDING}) > 0

    def lying_only_in(self, stream: str, path: str, id_: str) -> bool:
        """Whether no other file stands for this message."""
        for state, directory in self._distinct[stream]:
            other = f"{directory}/{id_}{SUFFIX}"
            if other != path and disk.exists(other) and _counts(state, other):
                return False
        return True

    def state_of(self, stream: str, path: str) -> str:
        directory = os.path.dirname(path)
        return next(state for state, one in self._distinct[stream] if one == directory)

    def temporary(self) -> str:
        return f"{self._new_file}{next(self._numbers)}"


def _counts(state: str, path: str) -> bool:
    """What was set aside in `dead/`, with its reason beside it, stands for no message."""
    return disk.exists(path) and not (state == DEAD and disk.exists(path + REASON_SUFFIX))


def id_in(name: str) -> str | None:
    """The id a file name stands for; None for names that are not a message's."""
    if name.startswith(".") or not name.endswith(SUFFIX):
        return None
    id_ = name.removesuffix(SUFFIX)
    return id_ if is_id(id_) else None
