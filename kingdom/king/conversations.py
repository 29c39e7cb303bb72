"""When a conversation has had enough: turns, money, bots that answer each other, and input that
keeps failing. Pure.

A conversation is a pull request, an issue, a ticket or a Slack thread. Events that belong to none
are only watched for failing again and again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from kingdom.king.chat import place_in
from kingdom.king.routing import first_payload
from kingdom.models.event import Event
from kingdom.models.result import ResultBase
from kingdom.models.task import Task
from kingdom.settings.king import ConversationLimits
from kingdom.words import ENGLISH, Words
from kingdom.words.harmless import at_a_glance

WINDOW = timedelta(hours=1)
KEPT = timedelta(days=30)  # for so long it is known that something kept failing
SHOWN = timedelta(days=1)  # for so long it is shown that something was stopped
MOST_STOPPED = 20  # that are known of one conversation
BOT, _SLACK = "bot", "slack "
TYPED = "cli"  # the source of what a person types on this machine
# What a payload says that a new attempt could depend on; an update by itself changes none of it.
_INPUT = ("head_sha", "title", "summary", "description", "text")
_SAID_BY_MEMBERS = ("comment", "comment_url")
_NO_FAULT_OF_THE_INPUT = ("cancelled", "superseded", "dropped", "stopped")


class Turn(NamedTuple):
    """One event that was taken up."""

    at: datetime
    bot: bool
    usd: float = 0.0


class Failing(NamedTuple):
    """How often in a row a general failed on one input."""

    input: str
    times: int
    at: datetime


class Stopped(NamedTuple):
    """An event that met a limit, of which people were told."""

    reason: str
    at: datetime


@dataclass
class Conversation:
    turns: dict[str, Turn] = field(default_factory=dict)  # by event
    failing: dict[str, Failing] = field(default_factory=dict)  # by general
    stopped: dict[str, Stopped] = field(default_factory=dict)  # by event
    released: dict[str, datetime] = field(default_factory=dict)  # events that a person let pass

    def forget_old(self, now: datetime) -> None:
        """A turn from the future was noted by a clock that was ahead: it counts from now on."""
        turns = {id_: turn._replace(at=min(turn.at, now)) for id_, turn in self.turns.items()}
        self.turns = {id_: turn for id_, turn in turns.items() if now - turn.at < WINDOW}
        failing = {name: one._replace(at=min(one.at, now)) for name, one in self.failing.items()}
        self.failing = {name: one for name, one in failing.items() if now - one.at < KEPT}
        stopped = {id_: one._replace(at=min(one.at, now)) for id_, one in self.stopped.items()}
        recent = [(id_, one) for id_, one in stopped.items() if now - one.at < SHOWN]
        self.stopped = dict(recent[-MOST_STOPPED:])
        self.released = {id_: at for id_, at in self.released.items() if now - at < KEPT}

    @property
    def is_over(self) -> bool:
        return not (self.turns or self.failing or self.stopped or self.released)


class Limit(NamedTuple):
    """A limit that is reached. `until`: when it ends; None if a person has to decide."""

    code: str
    values: Mapping[str, object]
    until: datetime | None = None

    def said(self, words: Words) -> str:
        return words(f"king_limit_{self.code}", **self.values)

    def reason(self, event_id: str, words: Words | None = None) -> str:
        """With the command that lets it pass."""
        words = words or Words(ENGLISH)
        remedy = "king_limit_refused" if self.until is None else "king_limit_waits"
        return f"{self.said(words)} {words(remedy, id=event_id)}"


def conversation_of(one: Event | Task) -> str:
    """Empty if it belongs to none."""
    payload = _payload(one)
    number, key = payload.get("number"), payload.get("key")
    if one.repo and type(number) is int:
        return f"{one.repo}#{number}"
    if isinstance(key, str) and key:
        return key
    place = place_in(payload)
    return f"{_SLACK}{place.channel} {place.thread_ts}" if place else ""


def name_of(one: Event | Task) -> str:
    """Of its conversation, or of what is the same each time."""
    if isinstance(one, Task) and one.event_id.startswith("schedule-"):
        return one.event_id
    return conversation_of(one) or f"{one.type} {input_of(one)}"


def input_of(one: Event | Task) -> str:
    """The same for two events if nothing that matters has changed between them. What a stranger
    adds as a comment does not matter: it would be tried for as long as someone comments."""
    payload = _payload(one)
    if not conversation_of(one):
        return _digest(payload)
    names = (*_INPUT, *_SAID_BY_MEMBERS) if one.trust == "member" else _INPUT
    return _digest({name: payload.get(name) for name in names})


def _payload(one: Event | Task) -> dict[str, Any]:
    return first_payload(one) if isinstance(one, Task) else one.payload


def _digest(value: object) -> str:
    spelled = json.dumps(value, sort_keys=True, default=str)
    return hashlib.sha256(spelled.encode("utf-8", "backslashreplace")).hexdigest()[:16]


def is_bots(event: Event) -> bool:
    """Whether a bot started it. The watcher says so; where it does not, the least trusted of all
    who had a part in it counts."""
    by_bot = event.payload.get("by_bot")
    return by_bot if isinstance(by_bot, bool) else event.trust == BOT


def starter_of(event: Event) -> str:
    names = (event.payload.get(one) for one in ("by", "comment_by", "author", "reporter"))
    return next((one for one in names if isinstance(one, str) and one), "?")


def may_start(name: str, allowed: Sequence[str]) -> bool:
    """Only `*` and `?` stand for something else: names of bots have brackets."""
    patterns = (one.lower().replace("[", "[[]") for one in allowed)
    return any(fnmatchcase(name.lower(), one) for one in patterns)


def refusal(
    event: Event, general: str, known: Conversation, limits: ConversationLimits, bots: Sequence[str]
) -> Limit | None:
    """Why it is not taken up at all, unless a person says so."""
    if event.source == TYPED or event.id in known.released:
        return None
    about, is_bot = _about(event), is_bots(event)
    if is_bot and not may_start(starter_of(event), bots):
        return Limit("bot", {"who": at_a_glance(starter_of(event))})
    failing = known.failing.get(general)
    if failing and failing.times >= limits.failures and failing.input == input_of(event):
        return Limit("failing", {"about": about, "general": general, "count": failing.times})
    hops = _hops(turn for id_, turn in known.turns.items() if id_ != event.id)
    if is_bot and hops >= limits.bot_hops and conversation_of(event):
        return Limit("bot_hops", {"about": about, "count": hops})
    return None


def wait(event: Event, known: Conversation, limits: ConversationLimits) -> Limit | None:
    """Why it has to wait, and until when."""
    if event.source == TYPED or event.id in known.released or not conversation_of(event):
        return None
    turns = sorted(turn for id_, turn in known.turns.items() if id_ != event.id)
    about = _about(event)
    if len(turns) >= limits.turns_per_hour:
        until = turns[len(turns) - limits.turns_per_hour].at + WINDOW
        return Limit("turns", {"about": about, "count": len(turns)}, until)
    spent = sum(turn.usd for turn in turns)
    if spent >= limits.usd_per_hour:
        until = _affordable_at(turns, spent, limits.usd_per_hour)
        values = {"about": about, "spent": f"{spent:.2f}", "most": f"{limits.usd_per_hour:.2f}"}
        return Limit("usd", values, until)
    return None


def _about(event: Event) -> str:
    """As people call it."""
    place, name = place_in(event.payload), conversation_of(event)
    if place and name.startswith(_SLACK):
        return at_a_glance(f"thread {place.thread_ts} in {place.channel}")
    return at_a_glance(name) or event.type


def _hops(turns: Iterable[Turn]) -> int:
    """Of bots, since a person last had a turn."""
    hops = 0
    for turn in sorted(turns, reverse=True):
        if not turn.bot:
            break
        hops += 1
    return hops


def _affordable_at(turns: Sequence[Turn], spent: float, most: float) -> datetime:
    """When enough of these are an hour old."""
    for turn in turns:
        spent -= turn.usd
        if spent < most:
            break
    return turn.at + WINDOW


def is_failure(result: ResultBase) -> bool:
    is_bad = result.status in ("failed", "killed")
    return is_bad and result.error_code not in _NO_FAULT_OF_THE_INPUT


def after(result: ResultBase, task: Task, before: Failing | None, now: datetime) -> Failing | None:
    """What is known of its general's failures once this has ended."""
    if not is_failure(result):
        is_worked = result.status not in ("failed", "killed")
        return None if is_worked else before
    seen = input_of(task)
    times = before.times if before is not None and before.input == seen else 0
    return Failing(seen, times + 1, now)
