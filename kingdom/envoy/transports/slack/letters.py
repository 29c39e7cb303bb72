"""What a message looks like in Slack: Block Kit, with plain text for whoever sees no blocks.

A text too long for one message goes on in the next ones of its thread; one too long for that is
attached as a file, and so is JSON, which nobody reads in a conversation.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from kingdom.envoy import reports
from kingdom.envoy.rendering import NOTABLE, Rendering, on_one_line, readable
from kingdom.envoy.transports.slack.mrkdwn import escaped, mrkdwn, pieces
from kingdom.models.message import HumanInputRequest, MessageBase
from kingdom.words import Words

Block = dict[str, Any]

# Slack's own limits are 3,000 for a section and 50 blocks. All blocks together may have some 12,000
# characters, which it tells nobody.
SECTION = 2_900
SECTIONS = 3
MOST_PARTS = 4
FALLBACK = 3_000
BUTTONS, ROWS, LABEL = 25, 2, 75
ACTION = "answer"  # what a pressed button says first
SHORT_DATA = 300  # of JSON, which needs no file yet
_MOST_FACTS, _LONGEST_FACT = 20, 200
_SIGNS = {"urgent": ":rotating_light:", "high": ":warning:"}
_USER = re.compile(r"[UW][A-Z0-9]{5,}")


@dataclass(frozen=True)
class Part:
    """One message of Slack's; `whole` is its text if Slack does not take the blocks."""

    whole: str
    blocks: list[Block]

    @property
    def text(self) -> str:
        return cut_off(self.whole, FALLBACK)


@dataclass(frozen=True)
class Attachment:
    name: str
    content: bytes
    title: str


@dataclass(frozen=True)
class Letter:
    parts: list[Part]
    attachment: Attachment | None = None


class Letters:
    """In one language and one time zone. `owner` is called when something is urgent."""

    def __init__(
        self,
        words: Words,
        rendering: Rendering,
        *,
        owner: str,
        masked: Callable[[str], str] = str,
        has_buttons: bool = True,
    ) -> None:
        """`has_buttons`: whether someone hears when one is pressed."""
        self._has_buttons = has_buttons
        self._words = words
        self._rendering = rendering
        self._owner = owner if _USER.fullmatch(owner) else ""
        self._masked = masked

    def letter(self, message: MessageBase) -> Letter:
        content = self._masked(readable(reports.body(message, self._words))).strip()
        facts = facts_in(content) if len(content) > SHORT_DATA else None
        note = self._words("envoy_attached", characters=f"{len(content):,}")
        said = content if facts is None else facts or note
        body = list(pieces(self._body(message, said), SECTION))
        if len(body) > SECTIONS * MOST_PARTS:
            body = body[:1]
        elif facts is None:
            return Letter(self._parts(message, body))
        suffix = "txt" if facts is None else "json"
        attachment = Attachment(f"{message.id}.{suffix}", content.encode(), message.id)
        return Letter(self._parts(message, body, note if said != note else ""), attachment)

    def _body(self, message: MessageBase, said: str) -> str:
        said = said or self._words("envoy_no_text")
        if title := reports.title(message, self._words):
            return f"# {on_one_line(title)}\n{said}"
        if not isinstance(message, HumanInputRequest):
            return said
        on_buttons = self._has_buttons and is_short(message)
        listed = [] if on_buttons else self._options(message)
        numbered = (f"{number}. {option}" for number, option in enumerate(listed, 1))
        return "\n".join((self._words("envoy_question", question=said), *numbered))

    def _options(self, message: HumanInputRequest) -> list[str]:
        return [self._masked(on_one_line(option)) for option in message.options or ()]

    def _parts(self, message: MessageBase, body: list[str], note: str = "") -> list[Part]:
        groups = [body[at : at + SECTIONS] for at in range(0, len(body), SECTIONS)]
        return [
            self._part(message, group, number, len(groups), note)
            for number, group in enumerate(groups, 1)
        ]

    def _part(self, message: MessageBase, body: list[str], number: int, of: int, note: str) -> Part:
        spoken = [mrkdwn(piece) for piece in body]
        above = self._head(message) if number == 1 else []
        below = [escaped(note)] if note else []
        buttons: list[Block] = []
        if of > 1:
            below.append(self._words("envoy_part", number=number, of=of))
        if number == of and isinstance(message, HumanInputRequest):
            buttons = self._buttons(message)
            below += self._how_to_answer(message)
        blocks = [_section(text) for text in (*above, *spoken)]
        context = [_context(text) for text in below]
        listed = [f"{n}. {escaped(o)}" for n, o in enumerate(_labels(buttons), 1)]
        return Part("\n".join((*above, *spoken, *listed, *below)), [*blocks, *buttons, *context])

    def _head(self, message: MessageBase) -> list[str]:
        if message.urgency not in NOTABLE:
            return []
        said = f"{_SIGNS[message.urgency]} *{self._words(f'envoy_{message.urgency}')}*"
        calls = message.urgency == "urgent" and self._owner
        return [f"{said} <@{self._owner}>" if calls else said]

    def _buttons(self, message: HumanInputRequest) -> list[Block]:
        options = self._options(message)
        if len(options) > BUTTONS * ROWS or not self._has_buttons:
            return []
        chosen = [option == message.default for option in message.options or ()]
        default = chosen.index(True) + 1 if any(chosen) else 0
        short = is_short(message)
        made = [
            _button(message.id, number, option if short else str(number), number == default)
            for number, option in enumerate(options, 1)
        ]
        rows = [made[at : at + BUTTONS] for at in range(0, len(made), BUTTONS)]
        return [
            {"type": "actions", "block_id": f"{ACTION}-{message.id}-{number}", "elements": row}
            for number, row in enumerate(rows, 1)
        ]

    def _how_to_answer(self, message: HumanInputRequest) -> Iterator[str]:
        if message.default is not None:
            default = cut_off(escaped(self._masked(on_one_line(message.default))), SECTION)
            yield self._otherwise(message.expires_at, default)
        if message.task_id:
            name = "envoy_choose_here" if message.options else "envoy_answer_here"
            yield self._words(name, task_id=message.task_id)

    def _otherwise(self, until: datetime | None, default: str) -> str:
        if until is None:
            return self._words("envoy_default", default=default)
        shown = f"{{date_short_pretty}} {{time}}|{self._rendering.moment(until)}"
        moment = f"<!date^{int(until.timestamp())}^{shown}>"  # in each reader's own time zone
        return self._words("envoy_default_until", moment=moment, default=default)


def is_short(message: HumanInputRequest) -> bool:
    """Whether the options fit on buttons; else they are listed, and buttons have their numbers."""
    options = message.options or []
    fits = all(0 < len(on_one_line(option)) <= LABEL for option in options)
    return fits and len(options) <= BUTTONS * ROWS


def facts_in(content: str) -> str | None:
    """The plain values on top of JSON, one a line; None for what is no JSON."""
    if content[:1] not in ("{", "["):
        return None
    try:
        data = json.loads(content)
    except (ValueError, RecursionError):
        return None
    if not isinstance(data, dict):
        return ""
    plain = {key: one for key, one in data.items() if isinstance(one, str | int | float | bool)}
    lines = [
        f"**{cut_off(on_one_line(key), _LONGEST_FACT)}**: "
        f"{cut_off(on_one_line(str(one)), _LONGEST_FACT)}"
        for key, one in list(plain.items())[:_MOST_FACTS]
    ]
    return "\n".join(lines)


def cut_off(text: str, limit: int) -> str:
    """Not within an entity or a link."""
    if len(text) <= limit:
        return text
    kept = text[: limit - 1]
    for opening, closing in (("<", ">"), ("&", ";")):
        if kept.rfind(opening) > kept.rfind(closing):
            kept = kept[: kept.rfind(opening)]
    return f"{kept}…"


def _section(text: str) -> Block:
    return {"type": "section", "text": _verbatim(text)}


def _context(text: str) -> Block:
    return {"type": "context", "elements": [_verbatim(text)]}


def _verbatim(text: str) -> Block:
    """Slack adds no mention of its own to it."""
    return {"type": "mrkdwn", "text": text, "verbatim": True}


def _button(message_id: str, number: int, label: str, is_default: bool) -> Block:
    return {
        "type": "button",
        "action_id": f"{ACTION}-{number}",
        "text": {"type": "plain_text", "text": label, "emoji": False},
        "value": f"{message_id} {number}",
    } | ({"style": "primary"} if is_default else {})


def _labels(buttons: list[Block]) -> list[str]:
    return [one["text"]["text"] for row in buttons for one in row["elements"]]
