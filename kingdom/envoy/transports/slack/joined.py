"""The channels where people speak to the kingdom: its own, those it listens in, each one's own with
it, wherever someone spoke before, and with a socket all that the app is in.

What Slack does not tell now is left out, and asked for again in the next round.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import partial
from itertools import islice

from kingdom.clients.slack import Slack
from kingdom.clients.slack_faults import SlackLater, SlackRefused
from kingdom.clients.slack_socket import SlackSocket
from kingdom.clock import Clock
from kingdom.envoy.transports.slack.memory import Memory
from kingdom.envoy.transports.slack.permits import Permits
from kingdom.envoy.transports.slack.places import Places

_MOST_JOINED = 100  # channels; the memory of what was heard keeps twice as many


class Channels:
    def __init__(
        self,
        slack: Slack,
        clock: Clock,
        socket: SlackSocket | None,
        *,
        places: Places,
        permits: Permits,
        memory: Memory,
    ) -> None:
        self._slack = slack
        self._clock = clock
        self._socket = socket
        self._places = places
        self._permits = permits
        self._memory = memory
        self._lines = -1  # of the socket, when the app's channels were last told
        self._joined: list[str] = []
        self._not_before: datetime | None = None  # while Slack as a whole has trouble
        self.is_incomplete = False

    def known(self) -> list[str]:
        """As many as Slack tells now."""
        self.is_incomplete = False
        named = ("", *self._permits.channels(), *self._permits.people())
        found = [one for name in named for one in self._found(partial(self._id_of, name)) or ()]
        if self._socket is not None and self._socket.lines != self._lines:
            lines, joined = self._socket.lines, self._found(self._ask_for_joined)
            if joined is not None:
                self._lines, self._joined = lines, joined
        return list(dict.fromkeys((*found, *self._memory.heard, *self._joined)))

    def _found(self, ask: Callable[[], list[str]]) -> list[str] | None:
        if self._not_before is not None and self._clock.now() < self._not_before:
            self.is_incomplete = True
            return None
        self._not_before = None
        try:
            return ask()
        except SlackLater as later:
            self.is_incomplete = True
            self._not_before = None if later.method else later.not_before
            return None

    def _id_of(self, name: str) -> list[str]:
        try:
            return list(filter(None, [self._places.id_of(name)]))
        except SlackRefused:
            return []  # a person or channel that Slack does not know is for `envoy try` to name

    def _ask_for_joined(self) -> list[str]:
        try:
            return list(islice(filter(None, self._slack.joined()), _MOST_JOINED))
        except SlackRefused:
            return []
