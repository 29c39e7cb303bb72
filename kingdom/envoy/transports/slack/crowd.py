"""Whether another program listens with the same app token: Slack gives each envelope to one of
them, so answers would be lost with nobody to notice. It is said in the log, in the status, and once
to people.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from kingdom.clients.slack_faults import SlackCrowded, SlackLater, SlackRefused
from kingdom.clients.slack_socket import SlackSocket

if TYPE_CHECKING:
    from structlog.typing import FilteringBoundLogger


class Crowd:
    """`tell` is called each time it begins."""

    def __init__(
        self,
        socket: SlackSocket | None,
        variable: str,
        log: FilteringBoundLogger,
        tell: Callable[[], None],
    ) -> None:
        self._socket = socket
        self._variable = variable
        self._log = log
        self._tell = tell
        self._told = False
        self.trouble: SlackCrowded | None = None

    def look(self) -> None:
        others = self._socket.others if self._socket else 0
        if not others:
            self.trouble = None
            return
        if self.trouble is None:
            self.trouble, self._told = SlackCrowded(self._variable), False
            self._log.warning("slack.crowded", error=str(self.trouble), others=others)
        if not self._told:
            self._tell_people()

    def _tell_people(self) -> None:
        try:
            self._tell()
        except SlackLater:
            return
        except SlackRefused as refused:
            self._log.warning("notice.not_said", what="crowded", error=str(refused))
        self._told = True
