"""The channels that the app is in, asked for once for each line that was made."""

from __future__ import annotations

from itertools import islice

from kingdom.clients.slack import Slack
from kingdom.clients.slack_faults import SlackLater, SlackRefused
from kingdom.clients.slack_socket import SlackSocket

_MOST_JOINED = 100  # channels; the memory of what was heard keeps twice as many


class Joined:
    """With a socket the app is heard wherever it is in; so that is where to catch up."""

    def __init__(self, slack: Slack, socket: SlackSocket | None) -> None:
        self._slack = slack
        self._socket = socket
        self._lines = -1
        self._known: list[str] = []

    def channels(self) -> list[str]:
        if self._socket is None or self._socket.lines == self._lines:
            return self._known
        lines = self._socket.lines
        try:
            self._known = list(islice(filter(None, self._slack.joined()), _MOST_JOINED))
        except SlackRefused:
            self._known = []
        except SlackLater as later:
            if later.not_before is not None:
                raise
            return self._known  # Slack is well otherwise, and the others can be caught up with
        self._lines = lines
        return self._known
