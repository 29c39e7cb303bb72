"""The questions that wait for a person, and the answer a person gives at a shell.

A question is open from the moment its message is written until the king has taken an answer. What
the envoy keeps is looked at first; a question that it has not shown yet, or has forgotten, is found
in the queue or in the task's result all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from kingdom.clock import isoformat
from kingdom.errors import InvalidFile, KingdomError, NeverWorks, NotFound, UsageError
from kingdom.models.ids import is_id
from kingdom.ops.choosing import find
from kingdom.ops.listing import LARGEST, Listed, listing, locate, places, stems
from kingdom.store import disk
from kingdom.store.paths import BaseDir
from kingdom.store.state import read_json
from kingdom.topology import PENDING

if TYPE_CHECKING:  # `status` and completion ask here, and take no models for the usual answer
    from kingdom.bus.files.bus import FileBus
    from kingdom.envoy.questions import Question
    from kingdom.models.event import Event

# The envoy's own words for these are in modules that take long to import; a test compares them.
NOTEBOOK = ("state", "envoy", "awaiting-responses.json")
ANSWERS = "evt-slack-response-"
_ANSWER_MAY_LIE_IN = (PENDING, "dispatched")
_ASKS = "human_input_request"


class Open(NamedTuple):
    """A question and the task that asked it; not `shown` while the envoy has not come to it."""

    task_id: str
    written: dict[str, Any]  # the question, as the envoy writes one
    shown: bool

    @property
    def question(self) -> Question:
        from kingdom.envoy.questions import Question

        return Question.model_validate(self.written)


class Asked(NamedTuple):
    open: list[Open]
    answered: list[Open]  # the king has the answer next, or the envoy the news of it


def questions(base: BaseDir) -> Asked:
    """All of them, oldest first."""
    found = {one.task_id: one for one in (*_waiting(base), *_shown(base))}
    ordered = sorted(found.values(), key=lambda one: (one.written["asked_at"], one.task_id))
    answers = _answers_on_their_way(base) if ordered else []
    done = {one.task_id for one in ordered if _answer_to(base, one.task_id, answers)}
    return Asked(
        [one for one in ordered if one.task_id not in done],
        [one for one in ordered if one.task_id in done],
    )


def _shown(base: BaseDir) -> Iterator[Open]:
    kept = read_json(base.path(*NOTEBOOK), {})
    if not _is_plain(kept):
        from kingdom.envoy.notebook import questions_path, read_entries
        from kingdom.envoy.questions import Question

        read = read_entries(questions_path(base), Question) or {}
        kept = {task_id: question.written() for task_id, question in read.items()}
    for task_id, question in kept.items():
        yield Open(task_id, question, shown=True)


def _is_plain(kept: Any) -> bool:
    """Whether every entry is spelled just as the envoy does it: then no model would change it."""
    return isinstance(kept, dict) and all(
        is_id(task_id) and _is_plain_question(question) for task_id, question in kept.items()
    )


def _is_plain_question(written: Any) -> bool:
    if not isinstance(written, dict) or not written.keys() >= _NEEDED:
        return False
    known = [key for key in _FORM if key in written]
    return list(written) == known and all(_FORM[key](written[key]) for key in known)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


def _is_moment(value: Any) -> bool:
    try:
        spelled = isoformat(datetime.fromisoformat(value))
    except (TypeError, ValueError, OverflowError):
        return False
    return spelled == str(value)


_NEEDED = {"msg_id", "question", "asked_at", "channel", "thread_ts"}
_FORM: dict[str, Callable[[Any], bool]] = {
    "msg_id": is_id,
    "question": _is_text,
    "options": _are_texts,
    "default": _is_text,
    "asked_at": _is_moment,
    "expires_at": _is_moment,
    "channel": _is_text,
    "thread_ts": _is_text,
    "trace_id": _is_text,
    "answered_at": _is_moment,
    "parked_at": _is_moment,
}


def _waiting(base: BaseDir) -> Iterator[Open]:
    for entry in listing(base, ("messages",), {PENDING}):
        asked = _asked_by(entry) if entry.type == _ASKS else None
        if asked is not None:
            yield asked


def _asked_by(entry: Listed) -> Open | None:
    from kingdom.envoy.questions import asked_by
    from kingdom.models.message import HumanInputRequest
    from kingdom.models.reading import parse

    try:
        data = disk.read(entry.path, LARGEST)[0]
        message = parse("message", data, path=entry.path, status=PENDING)
    except (OSError, InvalidFile):
        return None
    if not isinstance(message, HumanInputRequest) or not message.task_id:
        return None
    question = asked_by(message, None, message.created_at)
    return Open(message.task_id, question.written(), shown=False)


def _answers_on_their_way(base: BaseDir) -> list[str]:
    lying = (p for p in places(base, ("events",)) if p.state in _ANSWER_MAY_LIE_IN)
    return [stem for place in lying for stem in stems(place) if stem.startswith(ANSWERS)]


def _answer_to(base: BaseDir, task_id: str, on_their_way: list[str]) -> str:
    """The event that answers this task's question; empty if there is none."""
    taken = _result(base, task_id).get("answered_by")
    if isinstance(taken, str):
        return taken
    begin = f"{ANSWERS}{task_id}-"
    return next((one for one in on_their_way if one.startswith(begin)), "")


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
        return Open(task_id, _question_of(result).written(), shown=False)
    if not any(entry.stream in ("tasks", "results") for entry in find(base, task_id, "task")):
        raise NotFound(f"{task_id} is not a task.", remedy="Open questions: kingdom ask")
    raise NeverWorks(
        f"{task_id} has not asked anything.", remedy=f"See how it is: kingdom why {task_id}"
    )


def _question_of(result: dict[str, Any]) -> Question:
    from kingdom.envoy.questions import Question

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
    from kingdom.envoy.answers import answer_event
    from kingdom.envoy.questions import chosen
    from kingdom.ops.sending import SOURCE, send

    question = asked.question
    meant = chosen(question, text)
    event = answer_event(
        asked.task_id,
        question,
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
