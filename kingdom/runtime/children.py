"""One role's process as its warden sees it: its post, its seat, its history, how it is forked."""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, Protocol

from kingdom import limits
from kingdom.errors import EXIT_FAILED, KingdomError
from kingdom.runtime.processes import Seat, end_with_parent
from kingdom.runtime.restarts import Restarts
from kingdom.runtime.role import Make

if TYPE_CHECKING:
    from kingdom.runtime.config import LiveConfig
    from kingdom.store.paths import BaseDir


class Post(NamedTuple):
    """A role that is to run: its name, and what makes it."""

    name: str
    make: Make


class Wanted(Protocol):
    """Which roles are wanted, in the order they start."""

    config: LiveConfig
    only: tuple[str, ...]  # what it is limited to; empty: nothing

    def posts(self) -> Sequence[Post]: ...

    def refresh(self) -> bool:
        """Whether the configuration was looked at anew and `posts` may have changed."""

    def is_busy(self, base: BaseDir, name: str) -> bool:
        """Whether a role that is wanted no more has work that only it can bring to an end."""


class Notice(NamedTuple):
    """What became of a role's first start: `problem` is empty when it is up."""

    name: str
    pid: int
    problem: str


@dataclass
class Child:
    """One role's process, or the wait for the next one."""

    post: Post
    seat: Seat
    restarts: Restarts = field(default_factory=Restarts)
    pid: int | None = None
    due: float = 0.0  # when to start it, by the monotonic clock
    kill_at: float | None = None  # asked to end, and until when it may take
    wanted: bool = True
    announced: bool = False  # whether its first start was told of
    last_end: str = ""
    refused: str = ""  # why it could not even be forked
    hung: dict[str, Any] | None = None  # when it was last ended for that, and after what silence

    @property
    def is_up(self) -> bool:
        """Whether this very process has shown life; a heartbeat may be left from another."""
        return self.pid == self.seat.holder() and self.seat.last_beat() is not None


def fork(live: Callable[[], int], abandon: Callable[[], None]) -> int:
    """A child that lives that life and no other; answers its pid.

    `abandon` closes what belongs to the parent: a lock held by a child would outlive its owner.
    Signals wait until the child has handlers of its own, so that none is lost to the parent's.
    """
    parent = os.getpid()
    flush()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        pid = limits.fork()
    except (OSError, KingdomError):
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        raise
    if pid:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return pid
    code = EXIT_FAILED
    try:
        end_with_parent(parent)
        abandon()
        os.setsid()  # an interrupt typed at the terminal is the parent's to pass on, in order
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        code = live()
    except BaseException:  # noqa: BLE001 - the child must not go on in the parent's code
        traceback.print_exc()
    finally:
        leave(code)


def flush() -> None:
    """Before each fork: a child would say once more what its parent has not said yet."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):  # a closed one, or none at all
            stream.flush()


def leave(code: int) -> NoReturn:
    """The end of a child, whatever state its output is in."""
    try:
        flush()
    finally:
        os._exit(code)


def how_it_ended(code: int) -> str:
    """For people: the exit code, or the signal's name."""
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"killed by signal {-code}"
