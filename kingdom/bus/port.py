"""The `EventBus` port: all that a role knows of delivery.

A role claims what is due, does its work, and commits: messages move on and new ones come to be in
one step that survives any crash. `FileBus` keeps it in `queue/`; other adapters promise the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, NamedTuple, Protocol

from kingdom.models.base import Record


@dataclass(frozen=True)
class Claim:
    """One message in the hands of one worker until `message.delivery.locked_until`."""

    stream: str
    message: Record
    state: str
    taken_over: bool = False  # its former worker was lost: look for what that one left behind

    @property
    def id(self) -> str:
        return str(self.message.id)


@dataclass(frozen=True)
class Move:
    """A claimed message goes to a state, with the status and the fields it has there."""

    claim: Claim
    to: str
    status: str = ""  # the state's own name unless given
    fields: Mapping[str, Any] = field(default_factory=dict)


class New(NamedTuple):
    """A message that comes to be."""

    stream: str
    message: Record


@dataclass(frozen=True)
class Problem:
    """Why handling failed: a stable code and a sentence."""

    code: str
    message: str


@dataclass(frozen=True)
class StreamStats:
    pending: int
    processing: int
    dead: int
    oldest_pending_seconds: float


class Depth(NamedTuple):
    """Of a stream, as its consumer sees it."""

    pending: int
    processing: int
    oldest_pending_at: float | None


@dataclass(frozen=True)
class Recovered:
    """What a start found half done and finished."""

    commits: int = 0
    restored: int = 0
    temporaries: int = 0
    lost_leases: int = 0


# Whether a worker takes messages of this type and priority just now.
Accept = Callable[[str, str], bool]
# Given the state and the message as they are now: raises the refusal if it must not be taken.
Judge = Callable[[str, Record], None]


class EventBus(Protocol):
    def publish(self, stream: str, *messages: Record) -> list[bool]:
        """Durable when it returns. For each: True if new, False if its id was known already."""

    def claim(
        self,
        stream: str,
        worker: str,
        limit: int = 1,
        *,
        ids: Sequence[str] | None = None,
        lease: timedelta | None = None,
        accept: Accept | None = None,
        judge: Judge | None = None,
    ) -> list[Claim]:
        """What is due, by priority, then age; with `accept`, only of types it agrees to.

        `ids` takes those messages wherever they lie, as an operator or the king's own bookkeeping
        does; one that another worker holds is left out. With `judge`, each is taken only as it was
        judged: what has changed since is left out as well.

        Nothing stays taken that is not in the answer. When the disk refuses half-way, the answer is
        what was taken before, if that is anything; of `ids`, it is all or none.
        """

    def extend(self, claim: Claim, lease: timedelta) -> Claim:
        """The same claim for longer. LeaseLost if someone else has it now."""

    def commit(self, moves: Iterable[Move], publish: Iterable[New] = ()) -> list[bool]:
        """All of these moves and all of these messages, or none. LeaseLost if a claim is gone.

        Answers for each published message as `publish` does.
        """

    def retry(self, claim: Claim, problem: Problem) -> str:
        """Back to pending with backoff, or dead when attempts are spent; answers which."""

    def defer(self, claim: Claim, not_before: datetime, reason: str) -> None:
        """Back to pending until then; no attempt is counted."""

    def bury(self, claim: Claim, problem: Problem) -> None:
        """Dead at once: trying again cannot help."""

    def hold(self, claim: Claim, problem: Problem) -> None:
        """Stopped by the outbound gate: it stays where it is until a person decides."""

    def recover(self) -> Recovered:
        """Finish what crashed processes left half done. Every role calls it when it starts."""

    def next_id(self, kind: str) -> str:
        """A task or message id never handed out before; kind is `task` or `msg`."""

    def prune(self, stream: str, before: datetime) -> int:
        """Forget what ended before then; answers how many."""

    def alike(self, claim: Claim) -> list[str]:
        """Other waiting events of the claimed one's type about the same subject: their ids."""

    def held_back(self, stream: str, accept: Accept) -> list[tuple[str, str, str]]:
        """Id, type and priority of what is due and not accepted, in no order."""

    def look(self, stream: str, id_: str) -> tuple[str, Record] | None:
        """The state and the message, only looked at; None if the bus does not know the id."""

    def waiting(self, stream: str) -> list[Record]:
        """Every message that has not ended, only looked at."""

    def wait(
        self,
        streams: Sequence[str],
        timeout: float,
        *,
        accepts: Mapping[str, Accept] | None = None,
        also: Sequence[int] = (),
    ) -> set[str]:
        """Sleep until one of these may have something due, at most so many seconds.

        What `accepts` does not agree to wakes nobody. Returns early, too, when one of the
        descriptors `also` can be read.
        """

    def wake(self) -> None:
        """End a `wait` early, from a signal handler or another thread."""

    def stats(self) -> dict[str, StreamStats]: ...

    def close(self) -> None: ...
