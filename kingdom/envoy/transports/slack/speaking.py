"""What people say and press in Slack, read from its events and its histories."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from kingdom.clients.slack import Me

LONGEST = 100_000  # characters; Slack itself takes 40,000
TS = re.compile(r"[0-9]{1,10}\.[0-9]{1,9}")  # seconds that have a year, and a fraction
_BY_PEOPLE = (None, "", "thread_broadcast", "file_share")  # subtypes; edits and joins are others
_SPECIAL = re.compile(r"<([^<>]*)>")
_SURROGATES = re.compile("[\ud800-\udfff]")

Entry = Mapping[str, Any]


@dataclass(frozen=True)
class Said:
    """A message of a person."""

    channel: str
    ts: str
    user: str
    text: str
    thread_ts: str = ""  # of what it replies to; empty if it stands for itself
    to_us: bool = False  # a reply in a thread that we began
    calls_us: bool = False
    is_ours: bool | None = None  # said by someone of our workspace; None: it does not show

    @property
    def is_direct(self) -> bool:
        return self.channel.startswith("D")


@dataclass(frozen=True)
class Pressed:
    """A button that a person pressed: the one with this number, of that message of ours."""

    channel: str
    ts: str
    user: str
    thread_ts: str
    message_id: str
    number: int
    is_ours: bool | None = None


def me_in(payload: Entry) -> Me | None:
    """Whom an envelope is for; None if it does not say."""
    listed = payload.get("authorizations")
    for one in listed if isinstance(listed, list) else ():
        if isinstance(one, dict) and one.get("is_bot") is True and text_of(one, "user_id"):
            ids = {key: text_of(one, key) for key in ("team_id", "enterprise_id")}
            return Me(text_of(one, "user_id"), "", **ids)
    return None


def said_in(event: Entry, me: Me, channel: str = "", *, is_shared: object = None) -> Said | None:
    """None for what bots say, we ourselves included, and for what is no message of its own.
    `is_shared`: whether people of other companies are in that channel, if Slack says so."""
    if event.get("type") not in ("message", "app_mention"):
        return None
    if event.get("subtype") not in _BY_PEOPLE or me.wrote(event):
        return None
    if event.get("bot_id") or event.get("bot_profile") or event.get("app_id"):
        return None
    ts, user = text_of(event, "ts"), text_of(event, "user")
    channel = channel or text_of(event, "channel")
    if not TS.fullmatch(ts) or not user or not channel:
        return None
    thread_ts, text = text_of(event, "thread_ts"), text_of(event, "text")
    return Said(
        channel=channel,
        ts=ts,
        user=user,
        text=plain(text, me),
        thread_ts=thread_ts if TS.fullmatch(thread_ts) and thread_ts != ts else "",
        to_us=event.get("parent_user_id") == me.user_id,
        calls_us=event.get("type") == "app_mention" or f"<@{me.user_id}>" in text,
        is_ours=is_shared is False or _is_of(me, event, is_shared=is_shared is True) or None,
    )


def _is_of(me: Me, event: Entry, *, is_shared: bool) -> bool:
    """Whether all teams that a message names are ours. In a channel that is shared with other
    companies Slack names that of the person, too."""
    of_person = {text_of(event, key) for key in ("user_team", "source_team")} - {""}
    named = of_person | ({text_of(event, "team")} - {""})
    return named == {me.team_id} and bool(of_person or not is_shared)


def pressed_in(payload: Entry, me: Me | None = None) -> Pressed | None:
    """The first button of a `block_actions`; number 0 if it is none of ours."""
    actions = payload.get("actions")
    action = actions[0] if isinstance(actions, list) and actions else None
    if payload.get("type") != "block_actions" or not isinstance(action, dict):
        return None
    message, container = part_of(payload, "message"), part_of(payload, "container")
    channel = text_of(part_of(payload, "channel"), "id") or text_of(container, "channel_id")
    at = text_of(message, "ts") or text_of(container, "message_ts")
    person = part_of(payload, "user")
    ts, user = text_of(action, "action_ts"), text_of(person, "id")
    if not (channel and user and TS.fullmatch(at) and TS.fullmatch(ts)):
        return None
    id_, _, number = text_of(action, "value").partition(" ")
    is_ours = number.isascii() and number.isdecimal() and len(number) < 4
    is_ours = is_ours and text_of(action, "action_id") == f"answer-{number}"
    thread_ts = text_of(message, "thread_ts") or at
    of_us = (me is not None and text_of(person, "team_id") == me.team_id != "") or None
    return Pressed(
        channel, ts, user, thread_ts, id_ if is_ours else "", int(number) if is_ours else 0, of_us
    )


def plain(text: str, me: Me) -> str:
    """As it was typed: without Slack's own marks, and without our name in front."""
    called = f"<@{me.user_id}>"
    text = _SPECIAL.sub(_as_typed, text.replace(called, " ")).strip()
    for entity, character in (("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&")):
        text = text.replace(entity, character)
    return _SURROGATES.sub("\ufffd", text)[:LONGEST]


def _as_typed(match: re.Match[str]) -> str:
    """`<https://x|x>` is the address, `<#C1|dev>` the channel, `<!here>` a call of everybody."""
    target, _, label = match[1].partition("|")
    if target.startswith("#"):
        return f"#{label or target[1:]}"
    if target.startswith("@"):
        return f"@{label or target[1:]}"
    if target.startswith("!"):
        return label or f"@{target[1:].partition('^')[0]}"
    return target.removeprefix("mailto:") if target else match[0]


def moment_of(ts: str) -> datetime:
    return datetime.fromtimestamp(int(ts.partition(".")[0]), UTC)


def later(one: str, other: str) -> str:
    return max(one, other, key=order)


def order(ts: str) -> tuple[int, int]:
    """Slack's timestamps are numbers of two parts, of any length."""
    whole, _, part = ts.partition(".")
    return int(whole or 0), int(f"{part:0<9}"[:9]) if part else 0


def text_of(raw: Entry, key: str) -> str:
    value = raw.get(key)
    return value if isinstance(value, str) else ""


def part_of(raw: Entry, key: str) -> Entry:
    value = raw.get(key)
    return value if isinstance(value, dict) else {}
