"""The console: what a person reads goes to `logs/console.log` and, if there is one, the terminal.

A message is a block: one line at the margin with time, channel, thread (if it is another's) and id,
its text indented below it, and an empty line at the end. Nothing inside a message can look like the
first or the last, so a block in the log proves that its message was shown, whole; that is looked up
when an earlier attempt may have written it. Answers come with `kingdom answer`: there is nothing to
poll.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from typing import TextIO

from kingdom.clock import Clock
from kingdom.envoy.questions import Question, Questions
from kingdom.envoy.rendering import Rendering, on_one_line
from kingdom.envoy.threads import stands_alone
from kingdom.envoy.transport import Heard, Reply, Thread
from kingdom.errors import KingdomError, TryLater
from kingdom.models.message import MessageBase
from kingdom.store import disk
from kingdom.store.log_files import put_away
from kingdom.store.paths import BaseDir

CHANNEL = "console"
_INDENT = "  "
_APART = "  "
_MARGIN = _INDENT[:1].encode()
_OUT_OF_BLOCK = re.compile(rb"\n([^ ])")
_LONGEST_NAME = 80
_LONGEST_HEAD = 2048  # bytes; two names, two ids and a moment are less
_PIECE = 1 << 20

Masked = Callable[[str], str]


class Console:
    leaves = False
    at_once = 64

    def __init__(
        self,
        base: BaseDir,
        clock: Clock,
        rendering: Callable[[], Rendering],
        *,
        channel: Callable[[], str] = lambda: "",
        masked: Masked = str,
        sync: bool = True,
        terminal: TextIO | None = None,
    ) -> None:
        """`rendering` and `channel` are asked each time, since configuration may change."""
        self._directory = base.logs
        self._path = console_log(base)
        self._clock = clock
        self._rendering = rendering
        self._channel = channel
        self._masked = masked
        self._sync = sync
        self._unsafe = False
        self._terminal = terminal

    def send(
        self, message: MessageBase, thread: Thread | None, *, perhaps_sent: bool = False
    ) -> Thread:
        thread = self._thread(message, thread)
        try:
            if not (perhaps_sent and self._shows(message.id)):
                self._show(self._block(message, thread))
        except OSError as error:
            raise TryLater(
                f"{self._path} cannot be written: {error.strerror}.",
                remedy="Free some disk space, or see to its permissions.",
                code="console_unwritable",
            ) from error
        return thread

    def _thread(self, message: MessageBase, thread: Thread | None) -> Thread:
        """A thread is named after the task that began it: the same name, whatever was forgotten."""
        if thread:
            return Thread(thread.channel or self._default_channel(), thread.thread_ts)
        channel = message.channel or self._default_channel()
        task_id = None if stands_alone(message) else message.task_id
        return Thread(channel, task_id or message.id)

    def _default_channel(self) -> str:
        return self._channel() or CHANNEL

    def _block(self, message: MessageBase, thread: Thread) -> str:
        rendering = self._rendering()
        names = [] if thread.thread_ts == message.id else [_short(thread.thread_ts)]
        if message.task_id and message.task_id != thread.thread_ts:
            names.append(f"({message.task_id})")
        moment = rendering.moment(self._clock.now())
        parts = (moment, _short(thread.channel), " ".join(names), message.id)
        head = _APART.join(filter(None, parts))
        lines = self._masked(rendering.text(message)).split("\n")
        return "\n".join((head, *(_INDENT + line for line in lines), "", ""))

    def _show(self, block: str) -> None:
        data = block.encode("utf-8", "backslashreplace")
        try:
            disk.append_line(self._path, data)
        except FileNotFoundError:
            disk.make_directory(self._directory)
            disk.append_line(self._path, data)
        self._unsafe = True
        if self._terminal:
            _say(self._terminal, block)

    def _shows(self, message_id: str) -> bool:
        return any(shows(path, message_id) for path in self._logs())

    def _logs(self) -> list[str]:
        return [self._path, *put_away(self._path)[-1:]]

    def settle(self) -> None:
        if self._unsafe and self._sync:
            disk.sync_file(os.path.realpath(self._path))
        self._unsafe = False

    def poll(self, questions: Questions) -> Sequence[Heard]:
        return ()

    def has_heard(self, question: Question) -> bool:
        return True

    def taken(self, heard: Heard) -> None: ...

    def tell(self, reply: Reply, what: str, text: str) -> None: ...

    def close_question(self, question: Question, line: str) -> None: ...

    def descriptors(self) -> Sequence[int]:
        return ()

    def trouble(self) -> None:
        """The console is there, or sending says what is wrong with it."""

    def failing(self) -> Sequence[KingdomError]:
        return ()

    def close(self) -> None: ...


def console_log(base: BaseDir) -> str:
    return base.path("logs", "console.log")


def _short(name: str) -> str:
    return on_one_line(name)[:_LONGEST_NAME]


def _say(terminal: TextIO, block: str) -> None:
    try:
        terminal.write(block)
        terminal.flush()
    except (OSError, ValueError):
        return  # it was closed; the log has it


def shows(path: str, message_id: str) -> bool:
    """Whether this log has the whole block of this message; the newest are looked at first."""
    try:
        descriptor = disk.open_to_read(path)
    except FileNotFoundError:
        return False
    try:
        heads = _heads(descriptor, f"{_APART}{message_id}\n".encode())
        return any(_is_whole(descriptor, end) for end in heads)
    finally:
        disk.close_file(descriptor)


def _heads(descriptor: int, wanted: bytes) -> Iterator[int]:
    """Where lines at the margin that end so have their end, last one first."""
    end = disk.size_of(descriptor)
    while end > 0:
        start = max(end - _PIECE, 0)
        piece = disk.read_at(descriptor, end - start, start)
        at = piece.rfind(wanted)
        while at >= 0:
            line = piece.rfind(b"\n", 0, at) + 1
            if (line or not start) and not piece.startswith(_MARGIN, line):
                yield start + at + len(wanted) - 1
            at = piece.rfind(wanted, 0, at)
        end = start + _LONGEST_HEAD if start else 0


def _is_whole(descriptor: int, end: int) -> bool:
    """Whether an empty line follows the indented ones, so that nothing of them is missing."""
    while piece := disk.read_at(descriptor, _PIECE, end):
        out = _OUT_OF_BLOCK.search(piece)
        if out:
            return out[1] == b"\n"
        if len(piece) < _PIECE:
            break
        end += len(piece) - 1  # a line's end is judged together with what follows it
    return False
