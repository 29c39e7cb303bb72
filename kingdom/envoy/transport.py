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
from typing import TYPE_CHECKING, NamedTuple, Protocol

from kingdom.errors import KingdomError
from kingdom.models.message import MessageBase

if TYPE_CHECKING:
    from kingdom.envoy.questions import Question, Questions


class Thread(NamedTuple):
    """Where a conversation is, in the transport's own words."""

    channel: str
    thread_ts: str


@dataclass(frozen=True)
class Reply:
    """What a person said in a thread, or which of the answers to choose from they took there."""

    thread: Thread
    text: str
    answered_by: str
    at: datetime
    may_answer: bool = True
    user: str = ""  # whom to tell what became of it
    ts: str = ""  # which of what was said there it is
    asked_in: str = ""  # the message whose answer was chosen, `number`; else both are empty
    number: int = 0


@dataclass(frozen=True)
class Speech:
    """What a person who may give work said to the kingdom itself."""

    is_direct: bool  # else it was called by its name
    text: str
    channel: str
    user: str
    ts: str
    thread_ts: str = ""


Heard = Reply | Speech


class Transport(Protocol):
    leaves: bool  # whether what it shows leaves this machine
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

    def poll(self, questions: Questions) -> Sequence[Heard]:
        """What people said, oldest first, until it is `taken`. The same may come twice after a
        crash. `questions` are those asked: what is said in their threads is meant for them."""

    def has_heard(self, question: Question) -> bool:
        """Whether all that was replied to it before `expires_at` was brought and taken; if not,
        `poll` looks for it. Asked only when that moment is over."""

    def taken(self, heard: Heard) -> None:
        """It is safe on disk, or is knowingly ignored."""

    def tell(self, reply: Reply, what: str, text: str) -> None:
        """Say what became of it, there, and not too often: `what` is the kind of notice."""

    def close_question(self, question: Question, line: str) -> None:
        """It need not be answered any more; `line` says why, where it was asked."""

    def descriptors(self) -> Sequence[int]:
        """What can be read when a reply came."""

    def trouble(self) -> KingdomError | None:
        """What keeps people from being heard, or heard well, until someone mends it."""

    def failing(self) -> Sequence[KingdomError]:
        """What else does not work, though people are heard and messages are sent."""

    def close(self) -> None: ...
