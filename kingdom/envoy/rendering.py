"""What a person reads of a message: its text and, for a question, how to answer it."""

from __future__ import annotations

import shlex
import unicodedata
from collections.abc import Iterator
from datetime import datetime, tzinfo

from kingdom.envoy import reports
from kingdom.models.message import HumanInputRequest, MessageBase
from kingdom.words import Words
from kingdom.words.harmless import harmless

NOTABLE = ("high", "urgent")


class Rendering:
    """In one language and one time zone."""

    def __init__(self, words: Words, zone: tzinfo) -> None:
        self._words = words
        self._zone = zone

    def moment(self, at: datetime) -> str:
        return f"{at.astimezone(self._zone):%Y-%m-%d %H:%M:%S}"

    def text(self, message: MessageBase) -> str:
        return "\n".join(self._lines(message))

    def _lines(self, message: MessageBase) -> Iterator[str]:
        if message.urgency in NOTABLE:
            yield f"[{self._words(f'envoy_{message.urgency}')}]"
        if heading := reports.title(message, self._words):
            yield heading
        text = reports.body(message, self._words)
        content = readable(text).strip() or self._words("envoy_no_text")
        if isinstance(message, HumanInputRequest):
            yield self._words("envoy_question", question=content)
            yield from self._how_to_answer(message)
        else:
            yield content

    def _how_to_answer(self, message: HumanInputRequest) -> Iterator[str]:
        options = [on_one_line(option) for option in message.options or ()]
        yield from (f"  {number}. {option}" for number, option in enumerate(options, 1))
        if message.default is not None:
            yield self._what_happens_otherwise(message, on_one_line(message.default))
        if message.task_id:
            form = shlex.quote(options[0]) if options else self._words("envoy_answer_form")
            yield self._words("envoy_answer", task_id=message.task_id, form=form)

    def _what_happens_otherwise(self, message: HumanInputRequest, default: str) -> str:
        if message.expires_at is None:
            return self._words("envoy_default", default=default)
        until = self.moment(message.expires_at)
        return self._words("envoy_default_until", moment=until, default=default)


def readable(text: str) -> str:
    """As it was meant to look, with every kind of line end and space as the plain one; what else
    does not show is spelled, so that it cannot steer a terminal."""
    text = text.replace("\r\n", "\n")
    if not text.isprintable():
        text = "".join(" " if unicodedata.category(c) == "Zs" else c for c in text)
    return harmless(text)


def on_one_line(text: str) -> str:
    return " ".join(readable(text).split())
