"""Which message a person let pass: the one with exactly these words, and no other."""

from __future__ import annotations

from kingdom.models.message import HumanInputRequest, MessageBase
from kingdom.outbound.scan import digest


def digest_of(message: MessageBase) -> str:
    """Of all in it that people get to read, and of where."""
    said: dict[str, object] = {
        "channel": message.channel,
        "content": message.content,
        "context": message.context,
    }
    if isinstance(message, HumanInputRequest):
        said |= {"options": message.options, "default": message.default}
    return digest(said)


def is_released(message: MessageBase) -> bool:
    return message.released is not None and message.released == digest_of(message)
