"""The answers to choose from, as they stand in the message that asks: on buttons if they fit there,
else numbered in its text. None is ever left out for want of room: all are made shorter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kingdom.envoy.transports.slack.mrkdwn import pieces, width
from kingdom.models.message import HumanInputRequest

Block = dict[str, Any]

SECTION = 2_900  # Slack's own limit is 3,000
BUTTONS, ROWS, LABEL = 25, 2, 75
ACTION = "answer"  # what a pressed button says first
_ON_BUTTONS = 2_000  # characters of all labels together
_LENGTHS = (1_000, 300, 150, 75, 40, 20, 12)  # to which the longest are shortened
_MOST_LISTED = 9  # sections


@dataclass(frozen=True)
class Choices:
    """`texts` are on one line each, with what is secret masked; `default` is one's number."""

    message_id: str
    texts: tuple[str, ...] = ()
    default: int = 0
    has_buttons: bool = True

    @property
    def _fit(self) -> bool:
        return self.has_buttons and len(self.texts) <= BUTTONS * ROWS

    @property
    def on_buttons(self) -> bool:
        """Their words, so that nothing else need say them."""
        sizes = [len(one) for one in self.texts]
        return self._fit and all(0 < one <= LABEL for one in sizes) and sum(sizes) <= _ON_BUTTONS

    def lines(self, longest: int | None = None) -> list[str]:
        return [f"{n}. {shortened(one, longest)}" for n, one in enumerate(self.texts, 1)]

    def listed(self) -> list[str]:
        """The sections of a message that number them, as few as can be."""
        if self.on_buttons:
            return []
        room = SECTION * (1 if self._fit and len(self.texts) > BUTTONS else 2) - 100
        whole = self.lines()
        tried = (whole, *(self.lines(one) for one in _LENGTHS))
        chosen = next((one for one in tried if _fits(one, room)), tried[-1])
        return list(pieces("\n".join(chosen), SECTION))[:_MOST_LISTED]

    def buttons(self) -> list[Block]:
        if not self._fit:
            return []
        labels = self.texts if self.on_buttons else map(str, range(1, len(self.texts) + 1))
        made = [self._button(number, label) for number, label in enumerate(labels, 1)]
        rows = [made[at : at + BUTTONS] for at in range(0, len(made), BUTTONS)]
        return [
            {"type": "actions", "block_id": f"{ACTION}-{self.message_id}-{number}", "elements": row}
            for number, row in enumerate(rows, 1)
        ]

    def _button(self, number: int, label: str) -> Block:
        return {
            "type": "button",
            "action_id": f"{ACTION}-{number}",
            "text": {"type": "plain_text", "text": label, "emoji": False},
            "value": f"{self.message_id} {number}",
        } | ({"style": "primary"} if number == self.default else {})


def default_in(message: HumanInputRequest) -> int:
    options = message.options or []
    return options.index(message.default) + 1 if message.default in options else 0


def shortened(text: str, longest: int | None) -> str:
    return text if longest is None or len(text) <= longest else f"{text[: longest - 1]}…"


def _fits(lines: list[str], room: int) -> bool:
    """Also each in one section, so that its number and its words stay on one line."""
    widths = [width(one) + 2 for one in lines]
    return sum(widths) <= room and max(widths, default=0) <= SECTION - 100
