"""Cancels work on a pull request whose newer version is worked on, or waits to be.

Nothing is kept: what is to be cancelled follows from the tasks under way and the events that wait,
so a king that dies before it has asked does so after the next start. What a person asked for in
words (a mention, a comment, a message, an answer, a retry) is theirs, and goes on.
"""

from __future__ import annotations

from collections.abc import Iterator

from kingdom.bus.port import Claim
from kingdom.king.chat import place_in
from kingdom.king.conversation_state import Conversations
from kingdom.king.conversations import conversation_of
from kingdom.king.desk import Desk
from kingdom.king.outstanding import Outstanding
from kingdom.king.routing import changed_at
from kingdom.models.event import Event
from kingdom.models.task import Task
from kingdom.runtime.control import SUPERSEDED, Control
from kingdom.topology import PENDING

_PULL_REQUEST = "github.pr."
_IN_WORDS = ("github.pr.mentioned", "github.pr.comment")
_LOOK_SECONDS, _LOOKED_AT_PER_SECOND = 1.0, 1000  # many pull requests are looked at less often


class NewHeads:
    def __init__(
        self, desk: Desk, outstanding: Outstanding, control: Control, conversations: Conversations
    ) -> None:
        self._desk = desk
        self._outstanding = outstanding
        self._control = control
        self._conversations = conversations
        self._next_look = float("-inf")

    def step(self) -> None:
        moment = self._desk.monotonic()
        if moment < self._next_look:
            return
        tasks: dict[tuple[str, str], list[Task]] = {}
        for task in filter(is_of_one_head, self._outstanding.tasks()):
            tasks.setdefault((task.target_general, conversation_of(task)), []).append(task)
        self._next_look = moment + _LOOK_SECONDS + len(tasks) / _LOOKED_AT_PER_SECOND
        for same in tasks.values():
            for task in same:
                newer = next((one for one in self._rivals(task, same) if outdates(one, task)), None)
                if newer is not None:
                    self._cancel(task, newer.event_id if isinstance(newer, Task) else newer.id)

    def _cancel(self, task: Task, newer: str) -> None:
        now = self._desk.now()
        if self._control.ask("cancel", task.id, by=newer, at=now, code=SUPERSEDED):
            self._desk.task_log.note(task.id, SUPERSEDED, event=newer)
            self._desk.log.info("task.superseded", task_id=task.id, event_id=newer)

    def _rivals(self, task: Task, same: list[Task]) -> Iterator[Event | Task]:
        yield from same
        for id_ in self._desk.bus.alike(_claim_of(task)):
            found = self._desk.bus.look("events", id_)
            event = found[1] if found and found[0] == PENDING else None
            if isinstance(event, Event) and self._is_taken_up(event, task.target_general):
                yield event

    def _is_taken_up(self, event: Event, name: str) -> bool:
        """By the same general; else there would be no work on either version."""
        general, limits = self._desk.config.route(event.type), self._conversations
        if general is None or general.name != name:
            return False
        return limits.refusal(event, name) is None and limits.wait(event) is None


def is_of_one_head(task: Task) -> bool:
    """Whether it is about the pull request as it was, and nobody asked for it in words."""
    if not task.type.startswith(_PULL_REQUEST) or task.type in _IN_WORDS:
        return False
    is_asked = task.original_task_id is not None or place_in(task.payload) is not None
    return not is_asked and bool(task.payload.get("head_sha"))


def outdates(newer: Event | Task, task: Task) -> bool:
    """Whether it is the same wish for a later version."""
    head = newer.payload.get("head_sha")
    is_same = newer.type == task.type and conversation_of(newer) == conversation_of(task)
    is_other = bool(head) and head != task.payload["head_sha"]
    return is_same and is_other and changed_at(newer) > changed_at(task)


def _claim_of(task: Task) -> Claim:
    """As if its event were in our hands, to ask for others like it."""
    event = Event(
        id=task.event_id,
        type=task.type,
        source="github",
        repo=task.repo,
        payload=task.payload,
        created_at=task.created_at,
    )
    return Claim("events", event, PENDING)
