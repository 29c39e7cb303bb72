"""Slack, as the kingdom uses it: what stands there, and what changes something.

`slack_calls` says what is raised when it does not work.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

from kingdom.clients.slack_calls import API_URL, PER_PAGE, Entry, SlackCalls, text_in
from kingdom.clients.slack_faults import APP_TOKEN, SlackLater, SlackRefused, SlackShut
from kingdom.clock import Clock, SystemClock
from kingdom.errors import KingdomError

TIMEOUT = 15
_ME = ("user_id", "bot_id", "user", "team", "team_id", "enterprise_id")


@dataclass(frozen=True)
class Me:
    """Who the token speaks for."""

    user_id: str
    bot_id: str
    name: str = ""
    team: str = ""
    team_id: str = ""
    enterprise_id: str = ""  # of which the team is a part, if it is

    def wrote(self, message: Mapping[str, Any]) -> bool:
        """Anybody can copy what marks a message as ours."""
        by_bot = self.bot_id and message.get("bot_id") == self.bot_id
        return bool(by_bot or (self.user_id and message.get("user") == self.user_id))


@dataclass(frozen=True)
class Posted:
    """Where a message stands."""

    channel: str
    ts: str


class Slack:
    """One app's view of one workspace. Every method waits for Slack, each request a while."""

    def __init__(
        self,
        token: str,
        api_url: str = API_URL,
        *,
        variable: str = "SLACK_BOT_TOKEN",
        clock: Clock | None = None,
        timeout: float = 0.0,
        knock_again: timedelta | None = None,
    ) -> None:
        """`knock_again`: a token that Slack does not accept may be mended there; so `SlackShut`
        is raised instead of `SlackRefused`, and Slack is asked again only after so long."""
        self._variable = variable
        self._me: Me | None = None
        self._calls = SlackCalls(
            token,
            api_url,
            variable=variable,
            clock=clock or SystemClock(),
            timeout=timeout or TIMEOUT,
            knock_again=knock_again,
        )
        self.is_plain = self._calls.is_plain

    @property
    def shut(self) -> SlackShut | None:
        """If it let nobody in when it was last asked."""
        return self._calls.shut

    @property
    def scopes(self) -> frozenset[str]:
        """What the token may do, as far as Slack has told."""
        return self._calls.scopes

    def failing(self) -> list[KingdomError]:
        """Methods that fail whatever they are asked for, while Slack is well otherwise."""
        return self._calls.methods.failing()

    def begin_step(self) -> None:
        """Until the next call of this, nobody waits for Slack again after it did not answer."""
        self._calls.begin_step()

    # What stands there

    @property
    def known_me(self) -> Me | None:
        """Without asking."""
        return self._me

    def me(self) -> Me:
        if self._me is None:
            told = self._calls.ask("auth.test")
            self._me = Me(*(text_in(told, key) for key in _ME))
        return self._me

    def history(
        self, channel: str, oldest: str, latest: str = "", *, limit: int = PER_PAGE
    ) -> Iterator[Entry]:
        """What was said there between, newest first, without what is in threads."""
        asked = {"channel": channel, "oldest": oldest, "include_all_metadata": True}
        asked |= {"latest": latest} if latest else {}
        return self._calls.pages("conversations.history", "messages", asked, limit)

    def replies(self, channel: str, ts: str, oldest: str) -> Iterator[Entry]:
        """A thread: its parent, then what was said since, oldest first."""
        asked = {"channel": channel, "ts": ts, "oldest": oldest, "include_all_metadata": True}
        return self._calls.pages("conversations.replies", "messages", asked)

    def channel_named(self, name: str) -> str:
        """The id of a channel by its name; empty if the app sees none of that name."""
        asked = {"types": "public_channel,private_channel", "exclude_archived": True}
        for one in self._calls.pages("conversations.list", "channels", asked, limit=1000):
            if text_in(one, "name") == name.removeprefix("#"):
                return text_in(one, "id")
        return ""

    def joined(self) -> Iterator[str]:
        """The channels that the app is in."""
        asked = {"types": "public_channel,private_channel", "exclude_archived": True}
        pages = self._calls.pages("users.conversations", "channels", asked)
        return (text_in(one, "id") for one in pages)

    def channel(self, id_: str) -> Entry:
        found = self._calls.ask("conversations.info", {"channel": id_}, about=id_).get("channel")
        return found if isinstance(found, dict) else {}

    def user(self, id_: str) -> Entry:
        found = self._calls.ask("users.info", {"user": id_}, about=id_).get("user")
        return found if isinstance(found, dict) else {}

    def group(self, id_: str) -> frozenset[str]:
        """Who is in a user group."""
        found = self._calls.ask("usergroups.users.list", {"usergroup": id_}, about=id_).get("users")
        listed = found if isinstance(found, list) else []
        return frozenset(one for one in listed if isinstance(one, str))

    # What changes something

    def socket_address(self) -> str:
        """Where a socket can be had, once; asked with the token of the app itself."""
        try:
            return text_in(self._calls.ask("apps.connections.open"), "url")
        except SlackRefused as refused:
            remedy = APP_TOKEN.format(variable=self._variable)
            raise refused.with_remedy(remedy) from None

    def open_with(self, user: str) -> str:
        """The channel in which the app and this person are alone; the same one each time."""
        opened = self._calls.ask("conversations.open", {"users": user}, about=user)
        channel = opened.get("channel")
        found = text_in(channel, "id") if isinstance(channel, dict) else ""
        return found or self._fail_without("the channel that was opened")

    def post(self, channel: str, given: Entry, thread_ts: str | None = None) -> Posted:
        thread = {"thread_ts": thread_ts} if thread_ts else {}
        fixed = {"channel": channel, "unfurl_links": False, "unfurl_media": False}
        answer = self._calls.ask("chat.postMessage", json=fixed | given | thread, about=channel)
        posted = Posted(text_in(answer, "channel"), text_in(answer, "ts"))
        if not posted.channel or not posted.ts:
            self._fail_without("where the message stands")
        return posted

    def update(self, posted: Posted, given: Entry) -> None:
        where = {"channel": posted.channel, "ts": posted.ts}
        self._calls.ask("chat.update", json=where | given, about=posted.channel)

    def delete(self, posted: Posted) -> None:
        given = {"channel": posted.channel, "ts": posted.ts}
        self._calls.ask("chat.delete", json=given, about=posted.channel)

    def react(self, posted: Posted, name: str) -> None:
        self._reaction("reactions.add", posted, name, settled="already_reacted")

    def unreact(self, posted: Posted, name: str) -> None:
        self._reaction("reactions.remove", posted, name, settled="no_reaction")

    def _reaction(self, method: str, posted: Posted, name: str, settled: str) -> None:
        given = {"channel": posted.channel, "timestamp": posted.ts, "name": name}
        try:
            self._calls.ask(method, json=given, about=posted.channel)
        except SlackRefused as refused:
            if refused.error != settled:
                raise

    def attach(self, posted: Posted, name: str, content: bytes, title: str) -> None:
        """A file in the thread of what was posted."""
        given = {
            "files": json.dumps([{"id": self.prepare_upload(name, content), "title": title}]),
            "channel_id": posted.channel,
            "thread_ts": posted.ts,
        }
        self._calls.ask("files.completeUploadExternal", given, about=posted.channel)

    def prepare_upload(self, name: str, content: bytes) -> str:
        """The id of a file that nobody sees before its upload is completed."""
        prepared = self._calls.ask(
            "files.getUploadURLExternal", {"filename": name, "length": len(content)}
        )
        file_id, address = text_in(prepared, "file_id"), text_in(prepared, "upload_url")
        if not file_id or urlsplit(address).scheme not in ("http", "https"):
            self._fail_without("where the file goes")
        self._calls.upload(address, content)
        return file_id

    def _fail_without(self, what: str) -> Any:
        raise SlackLater(f"Slack did not answer {what}.")
