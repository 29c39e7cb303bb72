"""What the envoy remembers in `state/envoy/`: threads, open questions, and the last reports.

All files can be made anew from the messages that were sent, which say their thread. So a file
that is missing or damaged costs a look through `queue/messages/sent/`, and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, TypeVar

from pydantic import ValidationError

from kingdom.clock import is_ahead
from kingdom.envoy import questions, reports, threads
from kingdom.envoy.questions import Question, Questions
from kingdom.envoy.reports import SentReport, SentReports
from kingdom.envoy.threads import Mappings, ThreadMapping
from kingdom.envoy.transport import Thread
from kingdom.errors import InvalidFile, TryLater
from kingdom.models.ids import is_id, sequence_number
from kingdom.models.message import MessageBase
from kingdom.models.part import Part
from kingdom.models.reading import parse
from kingdom.store import disk
from kingdom.store.paths import TEMPORARY_PREFIX, BaseDir
from kingdom.store.state import LARGEST, read_json, spelled, write_spelled
from kingdom.topology import MESSAGES

Entry = TypeVar("Entry", bound=Part)
DIRECTORY = ("state", "envoy")
SENT = "sent"


def mappings_path(base: BaseDir) -> str:
    return base.path(*DIRECTORY, "thread-mappings.json")


def questions_path(base: BaseDir) -> str:
    return base.path(*DIRECTORY, "awaiting-responses.json")


def reports_path(base: BaseDir) -> str:
    return base.path(*DIRECTORY, "report-sent.json")


class Notebook:
    """Kept in memory; `save` writes what changed. It comes before the message is recorded as sent,
    so a crash between the two repeats a note and never loses one."""

    def __init__(self, base: BaseDir, *, sync: bool = True) -> None:
        self._base = base
        self._sync = sync
        self._written: dict[str, dict[str, str]] = {}  # by path and task, as it is spelled
        self._kept: dict[str, Mapping[str, Part]] = {}  # which entries that was made of
        self.mappings: Mappings = {}
        self.questions: Questions = {}
        self.reports: SentReports = {}
        self.damaged: list[str] = []  # files that were there and could not be read

    def load(self) -> None:
        directory = self._base.path(*DIRECTORY)
        disk.make_directory(directory)
        for name in disk.names(directory):
            if name.startswith(TEMPORARY_PREFIX):  # a former life was killed while it wrote
                disk.remove(f"{directory}/{name}")
        mappings = read_entries(mappings_path(self._base), ThreadMapping)
        asked = read_entries(questions_path(self._base), Question)
        sent = read_entries(reports_path(self._base), SentReport)
        self.damaged = []
        if mappings is None or asked is None or sent is None:
            recalled = recall(self._base)
            mappings = self._instead(mappings_path(self._base), mappings, recalled.mappings)
            asked = self._instead(questions_path(self._base), asked, recalled.questions)
            sent = self._instead(reports_path(self._base), sent, recalled.reports)
        self.mappings, self.questions, self.reports = mappings, asked, sent

    def _instead(
        self, path: str, read: dict[str, Entry] | None, recalled: Mapping[str, Entry]
    ) -> dict[str, Entry]:
        if read is not None:
            return read
        if disk.exists(path):
            self.damaged.append(path)
        return dict(recalled)

    def note(self, message: MessageBase, thread: Thread | None, now: datetime) -> None:
        """This message was shown in this thread, or given up."""
        self.mappings = threads.after(message, thread, self.mappings, now)
        self.questions = questions.after(message, thread, self.questions, now)
        if thread:
            self.reports = reports.after(message, self.reports)

    def revise(self, task_id: str, question: Question | None) -> None:
        """What is known of this task's question now; None when it is settled."""
        left = {task: one for task, one in self.questions.items() if task != task_id}
        self.questions = left if question is None else left | {task_id: question}

    def mend_dates(self, now: datetime) -> None:
        """Nobody waits for what a clock that was ahead wrote down."""
        if any(is_ahead(one.asked_at, now) for one in self.questions.values()):
            self.questions = {
                task: one.asked_now(now) if is_ahead(one.asked_at, now) else one
                for task, one in self.questions.items()
            }
            self.save()

    def save(self) -> None:
        self._write(mappings_path(self._base), self.mappings)
        self._write(questions_path(self._base), self.questions)
        self._write(reports_path(self._base), self.reports)

    def _write(self, path: str, entries: Mapping[str, Part]) -> None:
        if self._kept.get(path) is entries:
            return
        old, known = self._kept.get(path, {}), self._written.get(path, {})
        content = {
            task: known[task] if old.get(task) is one else spelled(task, one.written())
            for task, one in entries.items()
        }
        if self._written.get(path) == content:
            self._kept[path] = entries
            return
        try:
            write_spelled(path, content.values(), sync=self._sync)
        except OSError as error:
            raise TryLater(
                f"{path} cannot be written: {error.strerror}.",
                remedy="Free some disk space, or see to its permissions.",
                code="state_unwritable",
            ) from error
        self._written[path], self._kept[path] = content, entries


def read_entries(path: str, kind: type[Entry]) -> dict[str, Entry] | None:
    """The entries that hold what they should; None for a file that is missing or damaged."""
    try:
        content = read_json(path)
    except RecursionError:
        return None
    if not isinstance(content, dict):
        return None
    found = ((task, _entry(kind, value)) for task, value in content.items() if is_id(task))
    return {task: one for task, one in found if one is not None}


def _entry(kind: type[Entry], value: Any) -> Entry | None:
    try:
        return kind.model_validate(value)
    except ValidationError:
        return None


def recall(base: BaseDir) -> Notebook:
    """A notebook made from what was sent, in the order in which it was."""
    made = Notebook(base)
    for message in sorted(_sent(base), key=_order):
        if message.thread_ts:
            moment = message.delivery.processed_at or message.created_at
            made.note(message, Thread(message.channel, message.thread_ts), moment)
    return made


def _sent(base: BaseDir) -> Iterator[MessageBase]:
    directory = base.path(MESSAGES.root, SENT)
    for name in disk.names(directory):
        path = f"{directory}/{name}"
        if name.startswith(".") or not name.endswith(".json"):
            continue
        try:
            message = parse("message", disk.read(path, LARGEST)[0], path=path, status=SENT)
        except (OSError, InvalidFile):
            continue  # one damaged file costs that file
        if isinstance(message, MessageBase):
            yield message


def _order(message: MessageBase) -> tuple[datetime, int, str]:
    return message.created_at, sequence_number(message.id), message.id
