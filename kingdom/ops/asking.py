"""The questions that wait for a person, and the answer a person gives at a shell.

A question is open from the moment its message is written until the king has taken an answer. What
the envoy keeps is looked at first; a question that it has not shown yet, or has forgotten, is found
in the queue or in the task's result all the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any, NamedTuple

from kingdom.bus.files.bus import FileBus
from kingdom.envoy.answers import answer_event, id_prefix
from kingdom.envoy.notebook import questions_path, read_entries
from kingdom.envoy.questions import Question, asked_by, chosen
from kingdom.errors import InvalidFile, KingdomError, NeverWorks, NotFound, UsageError
from kingdom.models.event import Event
from kingdom.models.message import HumanInputRequest
from kingdom.models.reading import parse
from kingdom.ops.choosing import find
from kingdom.ops.listing import LARGEST, Listed, listing, locate, places, stems
from kingdom.ops.sending import SOURCE, send
from kingdom.store import disk
from kingdom.store.paths import BaseDir
from kingdom.store.state import read_json
from kingdom.topology import PENDING

_ANSWER_MAY_LIE_IN = (PENDING, "dispatched")
_ASKS = "human_input_request"


class Open(NamedTuple):
    """A question and the task that asked it; not `shown` while the envoy has not come to it."""

    task_id: str
    question: Question
    shown: bool


class Asked(NamedTuple):
    open: list[Open]
    answered: list[Open]  # the king has the answer next, or the envoy the news of it


def questions(base: BaseDir) -> Asked:
    """All of them, oldest first."""
    found = {one.task_id: one for one in (*_waiting(base), *_shown(base))}
    ordered = sorted(found.values(), key=lambda one: (one.question.asked_at, one.task_id))
    answers = _answers_on_their_way(base)
    done = {one.task_id for one in ordered if _answer_to(base, one.task_id, answers)}
    return Asked(
        [one for one in ordered if one.task_id not in done],
        [one for one in ordered if one.task_id in done],
    )


def _shown(base: BaseDir) -> Iterator[Open]:
    for task_id, question in (read_entries(questions_path(base), Question) or {}).items():
        yield Open(task_id, question, shown=True)


def _waiting(base: BaseDir) -> Iterator[Open]:
    for entry in listing(base, ("messages",), {PENDING}):
        message = _message(entry) if entry.type == _ASKS else None
        if message is not None and message.task_id:
            question = asked_by(message, None, message.created_at)
            yield Open(message.task_id, question, shown=False)


def _message(entry: Listed) -> HumanInputRequest | None:
    try:
        data = disk.read(entry.path, LARGEST)[0]
        found = parse("message", data, path=entry.path, status=PENDING)
    except (OSError, InvalidFile):
        return None
    return found if isinstance(found, HumanInputRequest) else None


def _answers_on_their_way(base: BaseDir) -> list[str]:
    begin = id_prefix("")[:-1]
    lying = (p for p in places(base, ("events",)) if p.state in _ANSWER_MAY_LIE_IN)
    return [stem for place in lying for stem in stems(place) if stem.startswith(begin)]


def _answer_to(base: BaseDir, task_id: str, on_their_way: list[str]) -> str:
    """The event that answers this task's question; empty if there is none."""
    taken = _result(base, task_id).get("answered_by")
    if isinstance(taken, str):
        return taken
    return next((one for one in on_their_way if one.startswith(id_prefix(task_id))), "")


def _result(base: BaseDir, task_id: str) -> dict[str, Any]:
    found = [entry for entry in locate(base, task_id, "results") if not entry.damaged]
    content = read_json(found[0].path) if found else None
    return content if isinstance(content, dict) else {}


# Answering


def question_for(base: BaseDir, task_id: str | None) -> Open:
    """The one that is meant; without a task there has to be exactly one."""
    asked = questions(base)
    if task_id is None:
        if len(asked.open) != 1:
            raise _which(asked)
        return asked.open[0]
    for one in asked.open:
        if one.task_id == task_id:
            return one
    return _from_result(base, task_id)


def _which(asked: Asked) -> KingdomError:
    if asked.open:
        names = ", ".join(one.task_id for one in asked.open)
        return UsageError(
            f"answer: {len(asked.open)} questions are open, so say which task it is for.",
            remedy=f"They are of {names}. Read them with: kingdom ask",
        )
    if asked.answered:
        return NeverWorks(
            "No question is open: each has been answered.",
            remedy=f"See what comes of it: kingdom trace {asked.answered[-1].task_id}",
        )
    return NeverWorks("No question is open.", remedy="See what goes on with: kingdom status")


def _from_result(base: BaseDir, task_id: str) -> Open:
    """What a task asked, though the envoy knows nothing of it; or why it cannot be answered."""
    answered_by = _answer_to(base, task_id, _answers_on_their_way(base))
    if answered_by:
        raise NeverWorks(
            f"{task_id} has been answered already ({answered_by}).",
            remedy=f"See what comes of it: kingdom trace {task_id}",
        )
    result = _result(base, task_id)
    if result.get("status") == "needs_human":
        return Open(task_id, _question_of(result), shown=False)
    if not any(entry.stream in ("tasks", "results") for entry in find(base, task_id, "task")):
        raise NotFound(f"{task_id} is not a task.", remedy="Open questions: kingdom ask")
    raise NeverWorks(
        f"{task_id} has not asked anything.", remedy=f"See how it is: kingdom why {task_id}"
    )


def _question_of(result: dict[str, Any]) -> Question:
    moment = result.get("created_at") or "1970-01-01T00:00:00Z"
    kept = ("question", "options", "default", "trace_id")
    fields = {name: result[name] for name in kept if result.get(name) is not None}
    # No message is known, so the task's own id stands for it.
    about = {"msg_id": result["task_id"], "asked_at": moment, "channel": "", "thread_ts": ""}
    return Question.model_validate({"question": "", **fields, **about})


def answer(
    bus: FileBus, asked: Open, text: str, *, answered_by: str, now: datetime
) -> tuple[Event, str]:
    """The event that tells the king, and the answer as it was understood."""
    meant = chosen(asked.question, text)
    event = answer_event(
        asked.task_id,
        asked.question,
        meant,
        answered_by=answered_by,
        source=SOURCE,
        at=now,
        now=now,
    )
    if not send(bus, event):
        raise NeverWorks(
            f"{asked.task_id} has been answered already ({event.id}).",
            remedy=f"See what comes of it: kingdom trace {asked.task_id}",
        )
    return event, meant
