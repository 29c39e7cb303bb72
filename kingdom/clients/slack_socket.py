"""Socket Mode: what people do in Slack, as it happens, over the WebSocket of slack-sdk.

Threads of its own make a line, ping it, read it, and give it up when the other end is gone, silent
or wants a new one. They only hand over: what came lies in a queue, and a descriptor can be read.
Whoever takes an envelope acknowledges it when it is safe; Slack sends again what it was not told
of, for a while. After every new line there may be something to catch up with.
"""

from __future__ import annotations

import json
import os
import select
import socket
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from threading import Event, Thread
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from kingdom.clients.slack import Slack
from kingdom.clients.slack_calls import silent_logger
from kingdom.clients.slack_faults import LONGEST_LIMIT, SlackLater, SlackRefused
from kingdom.clock import Clock, SystemClock
from kingdom.errors import KingdomError
from kingdom.limits import LimitReached, limit_in, start_thread

if TYPE_CHECKING:
    from slack_sdk.socket_mode.builtin.connection import Connection, ConnectionState

PING = 3.0  # seconds
SILENCE = 10.0  # without an answer to a ping: the line is dead, whatever the kernel believes
FIRST_PAUSE, LONGEST_PAUSE, AFTER_REFUSAL = 1.0, 60.0, 300.0
RECOUNT, RECOUNT_GAP = 120.0, 5.0  # when others seem to listen, too; then how long without a line
RECOUNT_AGAIN = 3600.0  # once that was sure
STEADY = 10.0  # a line that stood so long is followed by another at once
_MOST_WAITING = 10_000  # envelopes; Slack sends again what was not acknowledged
_BUFFER = 65_536  # the library recurses once for each of these in a message
_PATIENCE = 30.0  # for the rest of a message that has begun, and for a line to take ours
_GONE = select.POLLRDHUP | select.POLLHUP | select.POLLERR | select.POLLNVAL


@dataclass(frozen=True)
class Envelope:
    id: str
    type: str
    payload: dict[str, Any]


class SlackSocket:
    """`slack` speaks for the app's own token; nobody else uses it."""

    def __init__(
        self,
        slack: Slack,
        *,
        clock: Clock | None = None,
        ping: float = PING,
        silence: float = SILENCE,
        first_pause: float = FIRST_PAUSE,
    ) -> None:
        self._slack = slack
        self._clock = clock or SystemClock()
        self._ping, self._silence, self._first_pause = ping, silence, first_pause
        self._came: deque[Envelope] = deque()
        self._troubles: deque[KingdomError] = deque(maxlen=10)
        self._line: Connection | None = None
        self._wakes = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._leaves = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._ended = Event()
        self._thread = Thread(target=self._live, name="slack-socket", daemon=True)
        self._recount_at = float("inf")
        self._recounts = False  # the line was left for that alone
        self.lines = 0  # made so far
        self.is_up = False
        self.others = 0  # lines of other programs with the same token, once that is sure

    def start(self) -> None:
        start_thread(self._thread)

    def fileno(self) -> int:
        return self._wakes

    def take(self) -> list[Envelope]:
        with suppress(BlockingIOError):
            os.eventfd_read(self._wakes)
        return [self._came.popleft() for _ in range(len(self._came))]

    def troubles(self) -> list[KingdomError]:
        """What kept a line from being made since the last time this was asked."""
        return [self._troubles.popleft() for _ in range(len(self._troubles))]

    def acknowledge(self, envelope_id: str) -> None:
        """If the line is gone meanwhile, the envelope comes again."""
        from slack_sdk.errors import SlackClientNotConnectedError

        line = self._line
        if line is not None:
            with suppress(SlackClientNotConnectedError):
                line.send(json.dumps({"envelope_id": envelope_id}))

    def close(self) -> None:
        self._ended.set()
        os.eventfd_write(self._leaves, 1)
        if self._thread.is_alive():
            self._thread.join()
        os.close(self._wakes)
        os.close(self._leaves)

    # In threads of its own

    def _live(self) -> None:
        pause = 0.0
        while not self._ended.wait(pause):
            began = self._clock.monotonic()
            try:
                self._hold_a_line()
            except SlackRefused as refused:
                self._trouble(refused)
                pause = AFTER_REFUSAL
            except SlackLater as later:
                self._trouble(later)
                pause = max(self._grown(pause), self._wait_named(later))
            except Exception as error:  # noqa: BLE001 - nobody would listen any more, nor say so
                what = limit_in(error) or f"Slack's socket failed: {type(error).__name__}: {error}."
                self._trouble(SlackLater(str(what)))
                pause = self._grown(pause)
            else:
                is_steady = self._clock.monotonic() - began > STEADY
                pause = 0.0 if is_steady else self._grown(pause)
                pause = RECOUNT_GAP if self._recounts else pause

    def _grown(self, pause: float) -> float:
        return min(max(pause * 2, self._first_pause), LONGEST_PAUSE)

    def _wait_named(self, later: SlackLater) -> float:
        if later.not_before is None:
            return 0.0
        wait = min(later.not_before - self._clock.now(), LONGEST_LIMIT)
        return wait.total_seconds()

    def _trouble(self, error: KingdomError) -> None:
        self._troubles.append(error)
        os.eventfd_write(self._wakes, 1)

    def _hold_a_line(self) -> None:
        """From its making to its end."""
        from slack_sdk.socket_mode.builtin.connection import Connection, ConnectionState

        with suppress(BlockingIOError):
            os.eventfd_read(self._leaves)
        address = self._address()
        line = Connection(
            address,
            silent_logger(),
            proxy=_proxy_for(address),
            ping_interval=self._ping,
            receive_buffer_size=_BUFFER,
            on_message_listener=self._hear,
            on_close_listener=lambda code, reason: self._leave(),
        )
        line.connect()
        if line.sock is None:
            raise SlackLater("Slack's socket could not be reached, or did not answer.")
        line.sock.settimeout(_PATIENCE)
        state = ConnectionState()  # type: ignore[no-untyped-call]
        reader = Thread(target=line.run_until_completion, args=(state,), daemon=True)
        self._line = line  # before anything can come that is to be acknowledged
        try:
            start_thread(reader)
        except LimitReached as limit:
            self._line = None
            line.disconnect()
            raise SlackLater(limit.sentence, remedy=limit.remedy) from limit
        try:
            self._tend(line)
        finally:
            self._drop(line, state, reader)

    def _address(self) -> str:
        """Only where it is safe: the library encrypts by the port alone."""
        address = self._slack.socket_address()
        with suppress(ValueError):
            parts = urlsplit(address)
            is_safe = parts.scheme == "wss" and parts.port in (None, 443)
            if parts.hostname and (is_safe or (parts.scheme == "ws" and self._slack.is_plain)):
                return address
        raise SlackLater("Slack named no address for its socket that can be used.")

    def _tend(self, line: Connection) -> None:
        """Until the line is gone, silent, or to be left."""
        began = self._seconds()
        watched = select.poll()
        watched.register(self._leaves, select.POLLIN)
        if line.sock is not None:
            watched.register(line.sock.fileno(), _GONE)
        while not (self._ended.is_set() or watched.poll(self._ping * 1000)) and line.is_active():
            if self._seconds() - (line.last_ping_pong_time or began) > self._silence:
                return
            if self._clock.monotonic() > self._recount_at:
                self._recounts = True
                return
            try:
                line.ping(f"{line.session_id}:{self._seconds()}")
            except OSError:
                return

    def _drop(self, line: Connection, state: ConnectionState, reader: Thread) -> None:
        self.is_up, self._line = False, None
        state.terminated = True
        with suppress(OSError, AttributeError):  # it may have closed itself this very moment
            line.sock.shutdown(socket.SHUT_RDWR)  # type: ignore[union-attr]
        reader.join()
        line.disconnect()

    def _hear(self, text: str) -> None:
        try:
            told = json.loads(text)
        except (ValueError, RecursionError):
            told = None
        if not isinstance(told, dict):
            self._leave()  # out of step with the other end: a new line is in step
            return
        kind, id_, payload = (told.get(key) for key in ("type", "envelope_id", "payload"))
        if kind == "hello":
            self._count(told.get("num_connections"))
            self.lines, self.is_up = self.lines + 1, True
        elif kind == "disconnect":
            self._part(told.get("reason"))
        elif isinstance(id_, str) and len(self._came) < _MOST_WAITING:
            given = payload if isinstance(payload, dict) else {}
            self._came.append(Envelope(id_, str(kind), given))
        os.eventfd_write(self._wakes, 1)

    def _count(self, lines: Any) -> None:
        """Slack may still count a line of ours that is gone, so more than one proves nothing until
        it is said again long after, to a line that followed a pause without any."""
        others = lines - 1 if isinstance(lines, int) else 0
        is_sure, self._recounts = self._recounts or self.others > 0, False
        self.others = others if is_sure and others > 0 else 0
        again = RECOUNT_AGAIN if self.others else RECOUNT
        self._recount_at = self._clock.monotonic() + again if others > 0 else float("inf")

    def _part(self, reason: Any) -> None:
        """After a mere warning there are some seconds yet."""
        if reason == "link_disabled":
            self._trouble(
                SlackRefused(
                    "Socket Mode is switched off in the settings of the Slack app.",
                    error="link_disabled",
                    remedy="Switch it on there, under Socket Mode.",
                )
            )
        if reason != "warning":
            self._leave()

    def _leave(self) -> None:
        os.eventfd_write(self._leaves, 1)

    def _seconds(self) -> float:
        return SystemClock().now().timestamp()  # as the library spells it in its first ping


def _proxy_for(address: str) -> str | None:
    parts = urlsplit(address)
    if parts.scheme != "wss" or proxy_bypass(parts.hostname or ""):
        return None
    return getproxies().get("https")
