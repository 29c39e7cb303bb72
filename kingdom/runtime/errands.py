"""Slow things done in threads, so that a role's loop never waits: it asks, and hears later.

An errand is a function that may block. Whoever asks for one hears of its end by a descriptor that
can be read. Nothing is kept: a process that ends with errands under way does them again next time,
so each must be one that can be cut off anywhere and done again.
"""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from kingdom.limits import LimitReached, start_thread

Act = Callable[[], Any]
_CLOSED = -1


@dataclass(frozen=True)
class Answer:
    """What became of an errand: what it answered, or how it failed."""

    key: str
    value: Any = None
    failure: Exception | None = None


class Errands:
    """Done in the order they were asked for, `hands` at a time."""

    def __init__(self, name: str, hands: int = 1) -> None:
        self._name = name
        self._hands = hands
        self._requests: queue.SimpleQueue[tuple[str, Act] | None] = queue.SimpleQueue()
        self._answers: queue.SimpleQueue[Answer] = queue.SimpleQueue()
        self._read, self._write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._threads: list[threading.Thread] = []
        self._at_work = 0  # threads that may still write to the pipe
        self._lock = threading.Lock()

    def fileno(self) -> int:
        """Can be read when there are answers."""
        return self._read

    def ask(self, key: str, act: Act) -> None:
        """Without any thread, it fails like anything else that can be done later."""
        try:
            if len(self._threads) < self._hands:
                self._add_thread()
        except LimitReached as limit:
            if not self._threads:
                self._answer(Answer(key, failure=limit))
                return
        self._requests.put((key, act))

    def _add_thread(self) -> None:
        thread = threading.Thread(target=self._serve, name=self._name, daemon=True)
        start_thread(thread)
        self._threads.append(thread)
        with self._lock:
            self._at_work += 1

    def answers(self) -> list[Answer]:
        with suppress(BlockingIOError):
            if self._read != _CLOSED:
                os.read(self._read, 65536)
        found = []
        with suppress(queue.Empty):
            while True:
                found.append(self._answers.get_nowait())
        return found

    def close(self) -> None:
        """What is under way goes on; what waits comes first, then the threads end."""
        for _ in self._threads:
            self._requests.put(None)
        if not self._threads:
            self._close_pipe()

    def _serve(self) -> None:
        while (request := self._requests.get()) is not None:
            self._answer(_answer(*request))
        with self._lock:
            self._at_work -= 1
            is_last = self._at_work == 0
        if is_last:
            self._close_pipe()

    def _answer(self, answer: Answer) -> None:
        self._answers.put(answer)
        with suppress(BlockingIOError):
            if self._write != _CLOSED:  # asked for after the end: nobody listens any more
                os.write(self._write, b".")

    def _close_pipe(self) -> None:
        read, self._read = self._read, _CLOSED
        write, self._write = self._write, _CLOSED
        os.close(read)
        os.close(write)


def _answer(key: str, act: Act) -> Answer:
    try:
        return Answer(key, act())
    except Exception as failure:  # noqa: BLE001 - of whatever kind, it is the asker's
        return Answer(key, failure=failure)
