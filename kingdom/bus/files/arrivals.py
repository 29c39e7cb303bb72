"""Sleeping until something is due: a notification, a moment that was waited for, or a wake-up."""

from __future__ import annotations

import errno
import math
import os
import select
from collections.abc import Mapping, Sequence
from contextlib import suppress

from kingdom.bus.files.claims import Claims
from kingdom.bus.files.guard import Guard
from kingdom.bus.files.ledger import Ledger
from kingdom.bus.files.view import View
from kingdom.bus.port import Accept
from kingdom.clock import Clock

Wanted = Mapping[str, Accept | None]  # by stream, what is accepted of it


class Arrivals:
    def __init__(
        self, ledger: Ledger, view: View, claims: Claims, clock: Clock, guard: Guard
    ) -> None:
        self._ledger = ledger
        self._view = view
        self._claims = claims
        self._clock = clock
        self._guard = guard
        self._wake_read, self._wake_write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)

    def wait(
        self,
        streams: Sequence[str],
        timeout: float,
        accepts: Mapping[str, Accept],
        also: Sequence[int],
    ) -> set[str]:
        deadline = self._clock.monotonic() + timeout
        wanted = {name: accepts.get(name) for name in streams}
        while True:
            with self._guard:
                ready = self._ready(wanted)
                pause = self._pause(list(streams), deadline)
                watched = [self._view.watch.fileno()] if self._view.watch.available else []
            if ready or self._clock.monotonic() >= deadline:
                return ready if ready or timeout <= 0 else self._use_idle_moment(wanted)
            woken = _readable([self._wake_read, *also, *watched], pause)
            if self._wake_read in woken:
                os.read(self._wake_read, 4096)
                return set()
            if not set(woken).isdisjoint(also):
                return set()
            if woken and (arrived := self._arrived().intersection(streams)):
                return arrived

    def _ready(self, wanted: Wanted) -> set[str]:
        now, is_gone = self._view.moment(), self._claims.is_gone
        indexes = {name: self._view.index(name) for name in wanted}
        return {
            name for name, index in indexes.items() if index.has_ready(now, is_gone, wanted[name])
        }

    def _use_idle_moment(self, wanted: Wanted) -> set[str]:
        """Nothing came: make safe what was done, and look for what no notification told of."""
        with self._guard:
            self._ledger.checkpoint()
            self._view.compare()
            return self._ready(wanted)

    def _arrived(self) -> set[str]:
        """Not read yet: whoever waits wants to know at once, and the claim will read it."""
        with self._guard:
            return self._view.arrived()

    def _pause(self, streams: list[str], deadline: float) -> float:
        left = deadline - self._clock.monotonic()
        return max(min(left, self._view.next_in(streams) + 0.001), 0.0)

    def wake(self) -> None:
        with suppress(BlockingIOError):  # it is full of wake-ups already
            os.write(self._wake_write, b".")

    def close(self) -> None:
        os.close(self._wake_read)
        os.close(self._wake_write)


def _readable(descriptors: Sequence[int], seconds: float) -> list[int]:
    """By poll, since select refuses descriptors above 1,023."""
    poll = select.poll()
    for one in descriptors:
        poll.register(one, select.POLLIN)
    woken = poll.poll(math.ceil(seconds * 1000))
    if any(flags & select.POLLNVAL for _, flags in woken):
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))
    return [one for one, _ in woken]
