"""A message in the envoy's hands, and what every log line says of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from kingdom.bus.port import Claim
from kingdom.envoy.transport import Thread
from kingdom.models.message import MessageBase

STREAM = "messages"
FIRST_CLAIM = 2  # the revision of a message that was published, and is claimed for the first time


@dataclass
class Parcel:
    """A claimed message; `thread` is known once it has been shown."""

    claim: Claim
    thread: Thread | None = None
    tried: bool = False
    duplicate_of: str = ""  # a report that was shown already, as this message

    @property
    def message(self) -> MessageBase:
        return cast(MessageBase, self.claim.message)

    @property
    def outcome(self) -> dict[str, str]:
        """What its file says once it is done."""
        return self.thread._asdict() if self.thread else {"duplicate_of": self.duplicate_of}

    @property
    def perhaps_sent(self) -> bool:
        """Whether someone may have shown it before, or a part of it, and not come to record it."""
        delivery = self.claim.message.delivery
        counted = delivery.attempt_count or delivery.crash_count
        came_back = delivery.revision > FIRST_CLAIM  # whatever a person made of its counts
        return bool(self.tried or self.claim.taken_over or counted or came_back)


def facts(message: MessageBase) -> dict[str, Any]:
    """What every log line about a message carries."""
    return {
        "message_id": message.id,
        "stream": STREAM,
        "type": message.type,
        "task_id": message.task_id,
        "trace_id": message.trace_id,
    }
