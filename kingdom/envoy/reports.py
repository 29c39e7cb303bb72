"""Reports: each kind goes out once a day, and is read as one well-made message.

What a report is of lies in its `context`: `type` (such as `daily_report`) and `date`. Its `content`
is what people read. One whose content is empty or plain JSON is told from its figures. Without type
and date nothing can be said of how often it went out, and it is always shown.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from kingdom.models.fields import Id
from kingdom.models.ids import is_id
from kingdom.models.message import MessageBase, Report
from kingdom.models.part import Part
from kingdom.words import Words

DAILY = "daily_report"
_MOST_DATES = 31  # of one kind that are remembered
_NO_TASKS = dict.fromkeys(("created", "completed", "failed", "needs_human"), 0)
_NO_SOLDIERS = dict.fromkeys(("spawned", "timeout"), 0)


class SentReport(Part):
    """An entry of `report-sent.json`: the last report of one kind, and those before it, which may
    come late or once more."""

    date: str
    msg_id: Id
    earlier: dict[str, Id] | None = None  # by date

    def known(self) -> dict[str, Id]:
        return {**(self.earlier or {}), self.date: self.msg_id}


SentReports = Mapping[str, SentReport]


class Edition(NamedTuple):
    """Which report it is."""

    kind: str
    date: str


def edition_of(message: MessageBase) -> Edition | None:
    data = _data(message) if isinstance(message, Report) else {}
    kind, date = data.get("type"), data.get("date")
    if not isinstance(kind, str) or not is_id(kind) or not isinstance(date, str) or not date:
        return None
    return Edition(kind, date)


def shown_before(message: MessageBase, sent: SentReports) -> str:
    """The other message that brought this very report; empty if none did."""
    edition = edition_of(message)
    last = sent.get(edition.kind) if edition else None
    known = last.known().get(edition.date, "") if edition and last else ""
    return known if known != message.id else ""


def after(message: MessageBase, sent: SentReports) -> SentReports:
    """What is known once this message was shown; of each date the first that brought it."""
    edition = edition_of(message)
    last = sent.get(edition.kind) if edition else None
    known = last.known() if last else {}
    if edition is None or edition.date in known:
        return sent
    *earlier, newest = sorted({**known, edition.date: message.id}.items())[-_MOST_DATES:]
    entry = SentReport(date=newest[0], msg_id=newest[1], earlier=dict(earlier) or None)
    return {**sent, edition.kind: entry}


def title(message: MessageBase, words: Words) -> str:
    """Empty for what has none of its own."""
    edition = edition_of(message)
    is_daily = edition is not None and edition.kind == DAILY
    return words("envoy_daily_report", date=edition.date) if edition and is_daily else ""


def body(message: MessageBase, words: Words) -> str:
    """What is read below the title."""
    text = message.content.strip()
    if not isinstance(message, Report) or (text and not _in_json(text)):
        return message.content
    return "\n".join(_lines(_data(message), words)) or message.content


def _data(message: MessageBase) -> Mapping[str, Any]:
    return message.context if message.context.get("type") else _in_json(message.content.strip())


def _in_json(text: str) -> Mapping[str, Any]:
    if not text.startswith("{"):
        return {}
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _lines(data: Mapping[str, Any], words: Words) -> Iterator[str]:
    if tasks := _counts(data, "tasks"):
        yield words("envoy_report_tasks", **(_NO_TASKS | tasks))
    if soldiers := _counts(data, "soldiers"):
        yield words("envoy_report_soldiers", **(_NO_SOLDIERS | soldiers))
    times = _counts(data, "avg_duration_seconds")
    if times:
        each = ", ".join(f"{name} {words.span(seconds)}" for name, seconds in times.items())
        yield words("envoy_report_times", times=each)


def _counts(data: Mapping[str, Any], key: str) -> dict[str, float]:
    found = data.get(key)
    entries = found.items() if isinstance(found, dict) else ()
    return {name: one for name, one in entries if isinstance(one, int | float)}
