"""Threads that are to be marked as read on GitHub, some in each round; what is left is known for
the next. One that GitHub refuses, or fails at, keeps no other: those that failed come last, and are
given up after a while."""

from __future__ import annotations

from collections import Counter
from typing import Any

from kingdom.clients.github import GitHub
from kingdom.clients.github_faults import GitHubLimited, GitHubRefused
from kingdom.errors import KingdomError

_MOST_MARKS = 150  # in a round: GitHub gives 900 points a minute, and each mark takes five
_MOST_IN_A_ROW = 3  # that fail, until the round leaves it
_MOST_REFUSALS, _MOST_FAILURES = 3, 100  # of one thread
_GONE, _WRONG_TOKEN = 404, 401


class Unread:
    def __init__(self, hub: GitHub, threads: set[str], log: Any) -> None:
        self._hub = hub
        self._threads = threads
        self._log = log
        self._failed: Counter[str] = Counter()

    def mark(self) -> None:
        in_a_row = 0
        for thread in sorted(self._threads, key=lambda one: (self._failed[one], one))[:_MOST_MARKS]:
            try:
                self._hub.mark_read(thread)
            except KingdomError as error:
                if _concerns_all(error):
                    return
                if getattr(error, "status", 0) != _GONE:
                    in_a_row += 1
                    self._note(thread, error)
                    if in_a_row == _MOST_IN_A_ROW:
                        return
                    continue
            in_a_row = 0
            self._forget(thread)

    def _note(self, thread: str, error: KingdomError) -> None:
        self._failed[thread] += 1
        if self._failed[thread] == 1:
            self._log.info("github.not_marked", thread=thread, error=str(error))
        most = _MOST_REFUSALS if isinstance(error, GitHubRefused) else _MOST_FAILURES
        if self._failed[thread] >= most:
            self._forget(thread)

    def _forget(self, thread: str) -> None:
        self._threads.discard(thread)
        self._failed.pop(thread, None)


def _concerns_all(error: KingdomError) -> bool:
    return isinstance(error, GitHubLimited) or getattr(error, "status", 0) == _WRONG_TOKEN
