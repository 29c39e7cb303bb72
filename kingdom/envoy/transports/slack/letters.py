"""What a message looks like in Slack: Block Kit, with plain text for whoever sees no blocks.

A text too long for one message goes on in the next ones of its thread; one too long for that is
attached as a file, and so is JSON, which nobody reads in a conversation. Whatever is shortened of a
question, its options stand beside its buttons, with the default and the deadline.
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
from kingdom.envoy.transports.slack.choices import SECTION, Choices, default_in, shortened
from kingdom.envoy.transports.slack.mrkdwn import escaped, mrkdwn, pieces
from kingdom.models.message import HumanInputRequest, MessageBase
from kingdom.outbound.mentions import without_calls_of_everybody
from kingdom.outbound.release import is_released
from kingdom.words import Words

Block = dict[str, Any]

SECTIONS = 3
ROOM = 12_000  # for all blocks of a message, in JSON: a limit that Slack tells nobody
MOST_PARTS = 4
FALLBACK = 3_000
LONGEST_DEFAULT = 300
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
    otherwise: str  # what to say if it cannot be attached


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
        content = self._clean(message, readable(reports.body(message, self._words))).strip()
        choices = self._choices(message)
        listed = choices.listed()
        file = self._file(message, content, choices)
        facts = facts_in(content) if len(content) > SHORT_DATA else None
        note = self._words("envoy_attached", characters=f"{len(file.content.decode()):,}")
        said = content if facts is None else facts or note
        body = list(pieces(self._body(message, said), SECTION))
        is_long = len(body) + len(listed) > SECTIONS * MOST_PARTS
        body = body[:1] if is_long else body
        if not (is_long or facts is not None or self._is_shortened(message, choices, listed)):
            return Letter(self._parts(message, body, choices, listed))
        below = note if said != note else ""
        return Letter(self._parts(message, body, choices, listed, below), file)

    def _file(self, message: MessageBase, content: str, choices: Choices) -> Attachment:
        """All of it, the options and the default too."""
        suffix = "txt" if facts_in(content) is None or choices.texts else "json"
        default = self._default(message)
        otherwise = [self._words("envoy_default", default=default)] if default else []
        more = "\n".join((*choices.lines(), *otherwise))
        whole = f"{content}\n\n{more}\n" if more else content
        unread = self._words("envoy_not_attached", id=message.id)
        return Attachment(f"{message.id}.{suffix}", whole.encode(), message.id, unread)

    def _is_shortened(self, message: MessageBase, choices: Choices, listed: list[str]) -> bool:
        whole = list(pieces("\n".join(choices.lines()), SECTION))
        return bool(listed and listed != whole) or len(self._default(message)) > LONGEST_DEFAULT

    def _body(self, message: MessageBase, said: str) -> str:
        said = said or self._words("envoy_no_text")
        if title := reports.title(message, self._words):
            return f"# {on_one_line(title)}\n{said}"
        is_asked = isinstance(message, HumanInputRequest)
        return self._words("envoy_question", question=said) if is_asked else said

    def _choices(self, message: MessageBase) -> Choices:
        if not isinstance(message, HumanInputRequest):
            return Choices(message.id)
        texts = tuple(self._clean(message, on_one_line(one)) for one in message.options or ())
        return Choices(message.id, texts, default_in(message), self._has_buttons)

    def _default(self, message: MessageBase) -> str:
        said = message.default if isinstance(message, HumanInputRequest) else None
        return self._clean(message, on_one_line(said or ""))

    def _clean(self, message: MessageBase, text: str) -> str:
        """Without secrets, unless a person let exactly this pass; nobody is called by it."""
        shown = text if is_released(message) else self._masked(text)
        return without_calls_of_everybody(shown)

    def _parts(
        self,
        message: MessageBase,
        body: list[str],
        choices: Choices,
        listed: list[str],
        note: str = "",
    ) -> list[Part]:
        below = [escaped(note)] if note else []
        tail = [*choices.buttons(), *map(_context, (*below, *self._how_to_answer(message)))]
        groups = grouped(body, listed, ROOM - len(json.dumps(tail, ensure_ascii=False)))
        return [
            self._part(message, group, number, len(groups), choices, below)
            for number, group in enumerate(groups, 1)
        ]

    def _part(
        self,
        message: MessageBase,
        body: list[str],
        number: int,
        of: int,
        choices: Choices,
        note: list[str],
    ) -> Part:
        spoken = [mrkdwn(piece) for piece in body]
        above = self._head(message) if number == 1 else []
        below = [*note, self._words("envoy_part", number=number, of=of)] if of > 1 else list(note)
        buttons: list[Block] = []
        if number == of:
            buttons = choices.buttons()
            below += self._how_to_answer(message)
        labels = choices.lines() if buttons and choices.on_buttons else []
        blocks = [_section(text) for text in (*above, *spoken)]
        context = [_context(text) for text in below]
        whole = "\n".join((*above, *spoken, *map(escaped, labels), *below))
        return Part(whole, [*blocks, *buttons, *context])

    def _head(self, message: MessageBase) -> list[str]:
        if message.urgency not in NOTABLE:
            return []
        said = f"{_SIGNS[message.urgency]} *{self._words(f'envoy_{message.urgency}')}*"
        calls = message.urgency == "urgent" and self._owner
        return [f"{said} <@{self._owner}>" if calls else said]

    def _how_to_answer(self, message: MessageBase) -> Iterator[str]:
        if not isinstance(message, HumanInputRequest):
            return
        if message.default is not None:
            default = escaped(shortened(self._default(message), LONGEST_DEFAULT))
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


def grouped(body: list[str], listed: list[str], room: int) -> list[list[str]]:
    """What stands in each message; the last one has `room` left by its buttons, and the options
    beside them."""
    groups = [body[at : at + SECTIONS] for at in range(0, len(body), SECTIONS)]
    if len(groups[-1]) + len(listed) <= SECTIONS:
        groups[-1] = [*groups[-1], *listed]
    else:
        groups += [listed[at : at + SECTIONS] for at in range(0, len(listed), SECTIONS)]
    last = groups.pop()
    fits = (at for at in range(len(last)) if sum(map(_size, last[at:])) <= room)
    at = next(fits, len(last) - 1)
    return [*groups, *([last[:at]] if at else []), last[at:]]


def _size(piece: str) -> int:
    return len(json.dumps(_section(mrkdwn(piece)), ensure_ascii=False)) + 2


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
