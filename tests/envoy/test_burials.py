"""What the envoy gives up is told of once, as buried and as a message that failed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kingdom.envoy.transport import Thread
from kingdom.errors import KingdomError, NeverWorks, TryLater
from kingdom.models.message import MessageBase
from kingdom.store.paths import BaseDir
from tests.support.envoy import Life, Willing, internal, publish, start
from tests.support.kingdom import MovableClock, counts


class Refusing(Willing):
    """A transport that shows nothing."""

    leaves = False
    at_once = 8

    def __init__(self, error: KingdomError) -> None:
        super().__init__()
        self._error = error

    def send(
        self, message: MessageBase, thread: Thread | None, *, perhaps_sent: bool = False
    ) -> Thread:
        raise self._error


@pytest.mark.parametrize(
    "error",
    [
        NeverWorks("There is no channel #x.", remedy="", code="no_channel"),
        TryLater("It is full.", remedy="", code="full"),
    ],
    ids=["at once", "after some attempts"],
)
def test_a_message_given_up_is_told_of_once(
    base: BaseDir, live: Callable[..., Life], clock: MovableClock, error: KingdomError
) -> None:
    publish(base, start(1, trace_id="t1"))
    life = live(transport=lambda setting: Refusing(error))
    for _ in range(8):
        life.go()
        assert len(internal(base, "queue.buried")) == counts(base).get("messages/dead", 0)
        clock.advance(301)
    (told,) = internal(base, "queue.buried")
    assert (told["actor"], told["trace_id"]) == ("envoy", "t1")
    assert told["data"] == {
        "stream": "messages",
        "id": "msg-20260207-001",
        "code": error.code,
        "reason": error.sentence,
    }
    assert len(internal(base, "message.failed")) == 1
    live(transport=lambda setting: Refusing(error)).go()
    assert len(internal(base, "queue.buried")) == 1
