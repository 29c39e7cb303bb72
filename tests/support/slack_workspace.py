"""A Slack workspace in memory: what its Web API does, and what it refuses.

It refuses what Slack refuses, as far as the kingdom meets it: a wrong token, a scope that is
missing, a channel it does not know or is not in, a text or blocks that are too long or not well
made.
"""

from __future__ import annotations

import json
import threading
from bisect import bisect_left
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from tests.support.slack_blocks import flaw_in, mentions_in
from tests.support.slack_scopes import ALL_SCOPES, SCOPES

TOKEN = "xoxb-planted-planted-planted-0001"
APP_TOKEN = "xapp-planted-planted-planted-0002"
BOT, BOT_ID = "U0KINGDOM", "B0KINGDOM"
TEAM = "T0ACME"
OWNER = "U0OWNER"
_NEVER = "9999999999"
LONGEST_TEXT = 40_000
LONGEST_BLOCKS = 13_000  # the limit is nowhere written down; this is where people meet it
Entry = dict[str, Any]


@dataclass
class Channel:
    id: str
    name: str = ""
    user: str = ""  # of a direct message
    is_member: bool = True
    is_archived: bool = False
    messages: list[Entry] = field(default_factory=list)


class Refusal(Exception):
    def __init__(self, error: str, **more: Any) -> None:
        super().__init__(error)
        self.answer = {"ok": False, "error": error, **more}


class Workspace:
    """One team's Slack, asked by method; a request at a time."""

    def __init__(self) -> None:
        self.url = ""  # where it is served
        self.token = TOKEN
        self.scopes = set(ALL_SCOPES)
        self.enterprise = ""
        self.users = {
            OWNER: {"id": OWNER, "name": "ada", "is_bot": False},
            BOT: {"id": BOT, "name": "kingdom", "is_bot": True},
        }
        self.groups: dict[str, list[str]] = {}
        self.channels = {
            "C0KINGDOM": Channel("C0KINGDOM", "kingdom"),
            "C0DEV": Channel("C0DEV", "dev"),
            "C0CLOSED": Channel("C0CLOSED", "closed", is_member=False),
            "C0OLD": Channel("C0OLD", "old", is_archived=True),
        }
        self.uploads: dict[str, Entry] = {}
        self.mentions: list[str] = []
        self.asked: list[tuple[str, Entry]] = []
        self.most_per_page = 200
        self.lock = threading.RLock()
        self._clock = 1_770_458_400_000_000  # microseconds; 2026-02-07T10:00:00Z

    def in_channel(self, channel: str = "C0KINGDOM") -> list[Entry]:
        """All of its messages, those in threads too, oldest first."""
        with self.lock:
            return list(self.channels[channel].messages)

    def calls(self, method: str) -> list[Entry]:
        with self.lock:
            return [given for name, given in self.asked if name == method]

    def said(self, channel: str, text: str, *, user: str = OWNER, **fields: Any) -> Entry:
        """Someone says something there."""
        with self.lock:
            told = {"user": user, "text": text, **self.team_of(user), **fields}
            return self._add(self.channels[channel], told)

    def team_of(self, user: str) -> Entry:
        """As messages name it."""
        team = ({"team_id": TEAM} | self.users.get(user, {"team_id": None}))["team_id"]
        return {"team": team} if team else {}

    def pass_time(self, seconds: int) -> None:
        with self.lock:
            self._clock += seconds * 1_000_000

    # What it does

    def answer(self, method: str, given: Entry, token: str) -> Entry:
        with self.lock:
            self.asked.append((method, given))
            wanted = APP_TOKEN if method.startswith("apps.") else self.token
            if token != wanted and method != "api.test":
                return {"ok": False, "error": "invalid_auth" if token else "not_authed"}
            act = _METHODS.get(method)
            if act is None:
                return {"ok": False, "error": "unknown_method"}
            needed = SCOPES.get(method)
            if needed and needed not in self.scopes:
                provided = ",".join(sorted(self.scopes))
                return {
                    "ok": False, "error": "missing_scope", "needed": needed, "provided": provided
                }  # fmt: skip
            try:
                return {"ok": True, **act(self, given)}
            except Refusal as refusal:
                return refusal.answer

    def test(self, given: Entry) -> Entry:
        return {}

    def connections_open(self, given: Entry) -> Entry:
        return {"url": f"{self.url.removesuffix('api/')}socket?ticket=1".replace("http", "ws", 1)}

    def auth_test(self, given: Entry) -> Entry:
        me = {"team": "Acme", "team_id": TEAM, "user": "kingdom", "user_id": BOT, "bot_id": BOT_ID}
        return me | ({"enterprise_id": self.enterprise} if self.enterprise else {})

    def post(self, given: Entry) -> Entry:
        channel = self._writable(given)
        text, blocks = given.get("text", ""), given.get("blocks") or []
        if not text and not blocks:
            raise Refusal("no_text")
        self._judge(text, blocks)
        metadata = given.get("metadata")
        if metadata is not None and set(metadata) != {"event_type", "event_payload"}:
            raise Refusal("invalid_metadata_format")
        kept = {"text": text, "blocks": blocks, "user": BOT, "bot_id": BOT_ID}
        if metadata:
            kept["metadata"] = metadata
        if given.get("thread_ts"):
            if not any(one["ts"] == given["thread_ts"] for one in channel.messages):
                raise Refusal("thread_not_found")
            kept["thread_ts"] = given["thread_ts"]
        self.mentions += mentions_in(text, blocks, link_names=bool(given.get("link_names")))
        message = self._add(channel, kept)
        return {"channel": channel.id, "ts": message["ts"], "message": message}

    def update(self, given: Entry) -> Entry:
        channel, message = self._own(given)
        self._judge(given.get("text", ""), given.get("blocks") or [])
        message.update({key: given[key] for key in ("text", "blocks", "metadata") if key in given})
        return {"channel": channel.id, "ts": message["ts"], "text": message["text"]}

    def delete(self, given: Entry) -> Entry:
        channel, message = self._own(given)
        channel.messages.remove(message)
        return {"channel": channel.id, "ts": message["ts"]}

    def open(self, given: Entry) -> Entry:
        user = given.get("users", "")
        if user not in self.users:
            raise Refusal("user_not_found")
        id_ = f"D{user[1:]}"
        self.channels.setdefault(id_, Channel(id_, user=user))
        return {"channel": {"id": id_}}

    def info(self, given: Entry) -> Entry:
        return {"channel": _described(self._channel(given))}

    def list(self, given: Entry) -> Entry:
        known = [_described(one) for one in self.channels.values() if one.name]
        return self._page(known, given, "channels")

    def joined(self, given: Entry) -> Entry:
        known = [one for one in self.channels.values() if one.name and one.is_member]
        return self._page([_described(one) for one in known], given, "channels")

    def history(self, given: Entry) -> Entry:
        """Newest first, without what is in threads."""
        channel = self._readable(given)
        latest = _number(given.get("latest") or _NEVER)
        end = bisect_left(channel.messages, latest, key=lambda one: _number(one["ts"]))
        newest_first = (channel.messages[at] for at in range(end - 1, -1, -1))
        parents = (one for one in newest_first if one.get("thread_ts", one["ts"]) == one["ts"])
        return self._messages((one for one in parents if _since(one, given)), given)

    def replies(self, given: Entry) -> Entry:
        """The parent, then what answers it, oldest first."""
        channel, ts = self._readable(given), given.get("ts")
        if not any(one["ts"] == ts for one in channel.messages):
            raise Refusal("thread_not_found")
        thread = [one for one in channel.messages if ts in (one["ts"], one.get("thread_ts"))]
        found = [one for one in thread if one["ts"] == ts or _since(one, given)]
        return self._messages(found, given)

    def react(self, given: Entry) -> Entry:
        _, message = self._message(given)
        reactions = message.setdefault("reactions", [])
        if given["name"] in reactions:
            raise Refusal("already_reacted")
        reactions.append(given["name"])
        return {}

    def unreact(self, given: Entry) -> Entry:
        _, message = self._message(given)
        if given["name"] not in message.get("reactions", []):
            raise Refusal("no_reaction")
        message["reactions"].remove(given["name"])
        return {}

    def user(self, given: Entry) -> Entry:
        if given.get("user") not in self.users:
            raise Refusal("user_not_found")
        return {"user": {"team_id": TEAM} | self.users[given["user"]]}

    def group(self, given: Entry) -> Entry:
        if given.get("usergroup") not in self.groups:
            raise Refusal("no_such_subteam")
        return {"users": self.groups[given["usergroup"]]}

    def upload_url(self, given: Entry) -> Entry:
        id_ = f"F{len(self.uploads) + 1:04d}"
        self.uploads[id_] = {"id": id_, "name": given["filename"], "length": int(given["length"])}
        return {"file_id": id_, "upload_url": f"{self.url.removesuffix('api/')}upload/{id_}"}

    def upload(self, id_: str, content: bytes) -> bool:
        with self.lock:
            self.asked.append(("upload", {"id": id_}))
            if id_ not in self.uploads or self.uploads[id_]["length"] != len(content):
                return False
            self.uploads[id_]["content"] = content
            return True

    def complete_upload(self, given: Entry) -> Entry:
        channel = self._writable({"channel": given["channel_id"]})
        files = [self.uploads.get(one["id"], {}) for one in given["files"]]
        if not all("content" in one for one in files):
            raise Refusal("file_not_found")
        shared = [{"id": one["id"], "name": one["name"]} for one in files]
        thread = {"thread_ts": given["thread_ts"]} if given.get("thread_ts") else {}
        said = given.get("initial_comment", "")
        kept = {"text": said, "user": BOT, "bot_id": BOT_ID, "files": shared, "upload": True}
        self._add(channel, kept | thread)
        return {"files": shared}

    # What it knows

    def _add(self, channel: Channel, message: Entry) -> Entry:
        self._clock += 1
        whole, part = divmod(self._clock, 1_000_000)
        added = {"type": "message", "ts": f"{whole}.{part:06d}", **message}
        thread_ts = added.get("thread_ts", added["ts"])
        parent = next((one for one in channel.messages if one["ts"] == thread_ts), None)
        channel.messages.append(added)
        if parent is not None:
            known = parent.get("reply_users", [])
            users = known if added["user"] in known else [*known, added["user"]]
            parent |= {"latest_reply": added["ts"], "reply_users": users}
            added["parent_user_id"] = parent["user"]
        return added

    def _judge(self, text: str, blocks: list[Entry]) -> None:
        if len(text) > LONGEST_TEXT:
            raise Refusal("msg_too_long")
        if len(json.dumps(blocks, ensure_ascii=False)) > LONGEST_BLOCKS:
            raise Refusal("msg_blocks_too_long")
        if flaw := flaw_in(blocks):
            raise Refusal("invalid_blocks", errors=[flaw])

    def _channel(self, given: Entry, *, by_name: bool = False) -> Channel:
        wanted = str(given.get("channel", ""))
        found = self.channels.get(wanted)
        if found is None and by_name:
            names = {one.name: one for one in self.channels.values() if one.name}
            found = names.get(wanted.removeprefix("#"))
        if found is None:
            raise Refusal("channel_not_found")
        return found

    def _writable(self, given: Entry) -> Channel:
        """A person stands for the channel that the app has with them."""
        if given.get("channel") in self.users:
            given = {"channel": self.open({"users": given["channel"]})["channel"]["id"]}
        channel = self._readable(given, by_name=True)
        if channel.is_archived:
            raise Refusal("is_archived")
        return channel

    def _readable(self, given: Entry, *, by_name: bool = False) -> Channel:
        channel = self._channel(given, by_name=by_name)
        if not channel.is_member:
            raise Refusal("not_in_channel")
        return channel

    def _message(self, given: Entry) -> tuple[Channel, Entry]:
        channel = self._channel(given)
        ts = given.get("timestamp") or given.get("ts")
        for message in channel.messages:
            if message["ts"] == ts:
                return channel, message
        raise Refusal("message_not_found")

    def _own(self, given: Entry) -> tuple[Channel, Entry]:
        channel, message = self._message(given)
        if message.get("bot_id") != BOT_ID:
            raise Refusal("cant_update_message")
        return channel, message

    def _messages(self, found: Iterable[Entry], given: Entry) -> Entry:
        answer = self._page(found, given, "messages")
        hidden = set() if _is_set(given.get("include_all_metadata")) else {"metadata"}
        answer["messages"] = [
            {key: value for key, value in one.items() if key not in hidden}
            | ({"thread_ts": one["ts"]} if "latest_reply" in one else {})
            for one in answer["messages"]
        ]
        return answer

    def _page(self, all_: Iterable[Entry], given: Entry, name: str) -> Entry:
        size = min(int(given.get("limit", 100)), self.most_per_page)
        start = int(given.get("cursor") or 0)
        found = list(islice(all_, start + size + 1))
        more = start + size < len(found)
        cursor = {"next_cursor": str(start + size) if more else ""}
        page = found[start : start + size]
        return {name: page, "has_more": more, "response_metadata": cursor}


_METHODS: dict[str, Callable[[Workspace, Entry], Entry]] = {
    "api.test": Workspace.test,
    "apps.connections.open": Workspace.connections_open,
    "auth.test": Workspace.auth_test,
    "chat.postMessage": Workspace.post,
    "chat.update": Workspace.update,
    "chat.delete": Workspace.delete,
    "conversations.open": Workspace.open,
    "conversations.info": Workspace.info,
    "conversations.list": Workspace.list,
    "conversations.history": Workspace.history,
    "conversations.replies": Workspace.replies,
    "reactions.add": Workspace.react,
    "reactions.remove": Workspace.unreact,
    "users.conversations": Workspace.joined,
    "users.info": Workspace.user,
    "usergroups.users.list": Workspace.group,
    "files.getUploadURLExternal": Workspace.upload_url,
    "files.completeUploadExternal": Workspace.complete_upload,
}


def _described(channel: Channel) -> Entry:
    return {
        "id": channel.id,
        "name": channel.name,
        "is_member": channel.is_member,
        "is_archived": channel.is_archived,
        "is_im": bool(channel.user),
    }


def _since(message: Entry, given: Entry) -> bool:
    return (
        _number(given.get("oldest") or "0")
        < _number(message["ts"])
        < _number(given.get("latest") or _NEVER)
    )


def _number(ts: str) -> int:
    whole, _, part = ts.partition(".")
    return int(whole) * 1_000_000 + int(f"{part:0<6}"[:6])


def _is_set(value: Any) -> bool:
    return value in (True, 1, "1", "true", "True")
