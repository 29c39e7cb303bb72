"""What somebody still needs, however old it is.

Tasks that have not ended and the tasks that they continue; events that are not done, and what they
are about; results that the king has not handled; questions that nobody has answered; tasks of which
actions are held; with each of them its soldier and the engine's session. What was needed once in a
round stays until the next.

Questions are found by a look at every result, a few at a time. The others are looked for again
whenever one of their directories has changed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress

from kingdom.bus.files.bus import FileBus
from kingdom.chamberlain.cleaning.finds import JUDGE, LOOK, READ
from kingdom.chamberlain.cleaning.names import is_final
from kingdom.models.base import Record
from kingdom.models.event import Event
from kingdom.models.ids import is_id
from kingdom.models.result import NeedsHuman
from kingdom.models.task import Task
from kingdom.runtime import held_actions
from kingdom.store import disk
from kingdom.store.paths import BaseDir
from kingdom.store.state import LARGEST, read_json
from kingdom.topology import PENDING

_SUFFIX = ".json"
_UNDONE = (
    ("tasks", PENDING),
    ("tasks", "in_progress"),
    ("events", PENDING),
    ("events", "dispatched"),
)
# In a result's text; whatever has them is read as a result.
_ASKS, _HANDLED = b'"needs_human"', b'"processed_at"'


class Needs:
    def __init__(self, base: BaseDir, bus: FileBus) -> None:
        self._base = base
        self._bus = bus
        self._reasons: dict[str, str] = {}
        self._places = {base.path("queue", *place): place[0] for place in _UNDONE}
        self._changed: dict[str, int] = {}
        self._known: set[tuple[str, str]] = set()

    def reason(self, owners: frozenset[str]) -> str:
        """Why something of these must stay; empty if it need not."""
        self._look_again()
        return next((self._reasons[one] for one in owners if one in self._reasons), "")

    def gather(self) -> Iterator[int]:
        """All of them, a bit at each step; answers what a step cost."""
        for directory in self._places:
            yield from self._read(directory)
        for entry in disk.entries(self._base.results):
            if is_final(entry.name):
                self._ask(entry.path, entry.name.removesuffix(_SUFFIX))
                yield READ
            yield LOOK
        for task_id in held_actions.tasks(self._base):
            self._keep_line(task_id, f"What is held of {task_id} waits for a person.")
            yield READ
        for name in disk.names(self._base.soldiers):
            self._reasons.setdefault(name.partition(".")[0], "Its files are in state/soldiers/.")

    def _look_again(self) -> None:
        for directory in self._places:
            for _ in self._read(directory):
                pass

    def _read(self, directory: str) -> Iterator[int]:
        facts, stream = disk.facts_of(directory), self._places[directory]
        changed = 0 if facts is None else facts.st_mtime_ns
        if self._changed.get(directory) == changed:
            return
        self._changed[directory] = changed
        for name in disk.names(directory):
            id_ = name.removesuffix(_SUFFIX)
            if (stream, id_) not in self._known and name.endswith(_SUFFIX) and is_id(id_):
                self._known.add((stream, id_))
                self._keep(id_, f"{stream}/{id_} is not done.")  # also if it cannot be read
                found = self._bus.look(stream, id_)
                if found is not None:
                    self._note(found[1])
                yield JUDGE
            yield LOOK

    def _note(self, undone: Record) -> None:
        if isinstance(undone, Task):
            self._keep_line(undone.id, f"{undone.id} has not ended.")
        elif isinstance(undone, Event):
            reason = f"{undone.id} is not done."
            self._keep(undone.id, reason)
            for about in (undone.task_id, undone.payload.get("task_id")):
                if isinstance(about, str) and is_id(about):
                    self._keep_line(about, reason)

    def _ask(self, path: str, id_: str) -> None:
        """Whether this is a result that is not handled, or asks what nobody has answered."""
        try:
            data, _ = disk.read(path, LARGEST)
        except FileNotFoundError:
            return
        except OSError as error:
            self._keep_line(id_, f"{path} cannot be read: {error.strerror}.")
            return
        if (_ASKS not in data and _HANDLED in data) or not is_id(id_):
            return
        found = self._bus.look("results", id_)
        if found is None:
            return
        state, result = found
        if state == PENDING:
            self._keep_line(id_, f"The result of {id_} is not handled.")
        elif isinstance(result, NeedsHuman) and result.answered_by is None:
            self._keep_line(id_, f"The question of {id_} is open.")

    def _keep_line(self, task_id: str, reason: str) -> None:
        """A task and those that it continues, as far as they are known."""
        seen: set[str] = set()
        while task_id and task_id not in seen:
            seen.add(task_id)
            self._keep(task_id, reason)
            self._keep_sessions(task_id, reason)
            found = self._bus.look("tasks", task_id)
            if found is None or not isinstance(found[1], Task):
                return
            self._keep(found[1].event_id, reason)
            task_id = found[1].original_task_id or ""

    def _keep_sessions(self, task_id: str, reason: str) -> None:
        stem = os.path.join(self._base.results, task_id)
        with suppress(OSError):
            for suffix in ("-soldier-id", "-session-id"):
                self._keep(disk.head(stem + suffix, 256).decode("ascii", "replace"), reason)
            checkpoint = read_json(f"{stem}-checkpoint.json", {})
            if isinstance(checkpoint, dict):
                for key in ("soldier_id", "session_id"):
                    self._keep(checkpoint.get(key), reason)

    def _keep(self, id_: object, reason: str) -> None:
        if isinstance(id_, str) and id_:
            self._reasons[id_] = reason
