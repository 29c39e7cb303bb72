"""Which channel is meant: by its id, its name, or the person it belongs to."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from kingdom.clients.slack import Posted, Slack
from kingdom.clients.slack_faults import SlackLater, SlackRefused
from kingdom.envoy.transport import Thread
from kingdom.errors import ConfigurationError
from kingdom.models.message import MessageBase
from kingdom.settings.envoy import Slack as SlackSettings

_USER = re.compile(r"[UW][A-Z0-9]{5,}")
_CHANNEL = re.compile(r"[CDG][A-Z0-9]{5,}")
_TS = re.compile(r"\d{1,12}\.\d{1,9}")


class Place(NamedTuple):
    """Where a message belongs; without a thread, it begins one."""

    channel: str
    thread_ts: str | None


class Places:
    """`default` is asked each time, since configuration may change."""

    def __init__(self, slack: Slack, default: Callable[[], str]) -> None:
        self._slack = slack
        self._default = default
        self._ids: dict[str, str] = {}  # of what was named otherwise

    def place(self, message: MessageBase, thread: Thread | None) -> Place:
        """A thread of another transport's is none here."""
        if thread and _TS.fullmatch(thread.thread_ts):
            return Place(self._postable(thread.channel), thread.thread_ts)
        return Place(self._postable(message.channel), None)

    def _postable(self, named: str) -> str:
        """As `chat.postMessage` takes it: also a person whose channel Slack does not open now."""
        try:
            return self.channel(named)
        except SlackLater as later:
            if not later.method:
                raise
        except SlackRefused as refused:
            if not refused.is_of_method:
                raise
        return self._name(named)

    def channel(self, named: str) -> str:
        """Its id, or its name; empty means the default."""
        name = self._name(named)
        if name not in self._ids and _USER.fullmatch(name):
            self._ids[name] = self._slack.open_with(name)
        return self._ids.get(name, name)

    def _name(self, named: str) -> str:
        name = named.strip() or default_channel(self._default())
        return name[1:] if name[:1] == "@" and _USER.fullmatch(name[1:]) else name

    def id_of(self, channel: str) -> str:
        """Its id, as those methods want it that read; empty if there is no such channel."""
        channel = self.channel(channel)
        if _CHANNEL.fullmatch(channel):
            return channel
        if channel not in self._ids:
            self._ids[channel] = self._slack.channel_named(channel)
        return self._ids.pop(channel) if not self._ids[channel] else self._ids[channel]

    def learn(self, channel: str, posted: Posted) -> None:
        if channel != posted.channel:
            self._ids[channel] = posted.channel


def channel_of(slack: SlackSettings) -> str:
    return slack.default_channel or slack.owner


def default_channel(name: str) -> str:
    if not name:
        raise ConfigurationError(
            "envoy.transport is slack, and no channel is named.",
            remedy="Set slack.default_channel or slack.owner in config/local/envoy.yaml.",
        )
    return name
