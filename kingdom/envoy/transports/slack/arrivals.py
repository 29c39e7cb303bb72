"""What has come from Slack and is not done with yet, in the order in which it is to be taken."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from kingdom.clients.slack_socket import Envelope
from kingdom.envoy.transport import Heard, Thread
from kingdom.envoy.transports.slack.rounds import Look
from kingdom.envoy.transports.slack.speaking import Pressed, Said, order

Came = Said | Pressed


@dataclass(eq=False)
class Item:
    """An envelope, what a person did, or the end of a look."""

    at: datetime  # when it came
    envelope: Envelope | None = None
    came: Came | None = None
    look: Look | None = None
    heard: Heard | None = None
    is_opened: bool = True
    is_covered: bool = False  # a look has shown what was said before it
    is_understood: bool = False

    @property
    def conversation(self) -> tuple[str, str]:
        """What is said in one is taken in its order."""
        if self.came is None:
            return "", ""
        return self.came.channel, self.came.thread_ts or self.came.user


class Arrivals:
    def __init__(self) -> None:
        self._items: list[Item] = []

    def __contains__(self, thread: Thread) -> bool:
        """Whether something that was said there is not done with."""
        return any(one.came and one.conversation == thread for one in self._items)

    def add(self, envelopes: Iterable[Envelope], now: datetime) -> None:
        self._items += [Item(now, envelope, is_opened=False) for envelope in envelopes]

    def add_look(self, look: Look, now: datetime) -> None:
        """What came by the line and was not understood yet is put between, by Slack's own time."""
        items = [Item(now, came=said) for said in look.said]
        if look.is_whole:
            between = [one for one in self._items if _belongs(one, look)]
            for one in between:
                self._items.remove(one)
                one.is_covered = True
            items += between
        self._items += sorted(items, key=lambda one: order(one.came.ts if one.came else ""))
        self._items.append(Item(now, look=look, is_understood=True))

    def waiting(self) -> list[Item]:
        return [one for one in self._items if not one.is_understood]

    def has_waiting_in(self, channel: str) -> bool:
        return any(one.came and one.came.channel == channel for one in self.waiting())

    def heard(self) -> list[Heard]:
        return [one.heard for one in self._items if one.heard is not None]

    def of(self, heard: Heard) -> list[Item]:
        return [one for one in self._items if one.heard is heard]

    def remove(self, item: Item) -> None:
        self._items.remove(item)

    def looks_over(self) -> list[Look]:
        """Those before whose end everything was taken; each is answered once."""
        over: list[Look] = []
        while self._items and (look := self._items[0].look) is not None:
            over.append(look)
            del self._items[0]
        return over


def _belongs(item: Item, look: Look) -> bool:
    came = item.came
    if item.envelope is None or came is None or item.is_understood or came.channel != look.channel:
        return False
    return bool(look.newest) or came.thread_ts in look.threads
