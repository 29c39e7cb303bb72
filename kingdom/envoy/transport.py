"""The seam between the envoy and whatever carries its words: the console here, Slack elsewhere.

The daemon keeps order, threads, questions and retries, the same for all. A transport only carries:
it shows one message, says in which thread that was, and brings what people replied. It raises
`TryLater` for what may pass (a full disk, a rate limit) and `NeverWorks` for what will not (a
channel that does not exist).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple, Protocol

from kingdom.models.message import MessageBase


class Thread(NamedTuple):
    """Where a conversation is, in the transport's own words."""

    channel: str
    thread_ts: str


@dataclass(frozen=True)
class Reply:
    """What a person said in a thread."""

    thread: Thread
    text: str
    answered_by: str
    at: datetime


class Transport(Protocol):
    at_once: int  # how many messages may be in hand when the process is killed

    def send(
        self, message: MessageBase, thread: Thread | None, *, perhaps_sent: bool = False
    ) -> Thread:
        """Show it in this thread, or begin one; answers where it is now.

        `perhaps_sent`: an earlier attempt did not come to its end, so the transport looks for the
        message's id where it would be, and shows it only if it is not there.
        """

    def settle(self) -> None:
        """What was sent so far survives whatever happens now. Called before it is recorded."""

    def poll(self) -> Sequence[Reply]:
        """What people said since the last time. The same reply may come twice after a crash."""

    def descriptors(self) -> Sequence[int]:
        """What can be read when a reply came."""

    def close(self) -> None: ...
