"""`GET /metrics` on loopback, in a thread of its own.

One thread serves all, without ever waiting for one of them. Whoever is slow, says nothing or says
too much is hung up on, and more than a few at once are turned away, so nobody can hold it up.
"""

from __future__ import annotations

import selectors
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from kingdom.chamberlain.metrics_text import CONTENT_TYPE
from kingdom.clock import Clock
from kingdom.limits import LimitReached, start_thread

HOST = "127.0.0.1"
PATH = "/metrics"
_MOST = 16  # clients at once
_PATIENCE = 5.0  # seconds for a request and its answer
_LONGEST_REQUEST = 8192
_FRESH = 2.0  # seconds for which one answer serves all who ask
_NAMES = ("127.0.0.1", "localhost", "[::1]")


@dataclass
class _Client:
    way: socket.socket
    deadline: float
    heard: bytes = b""
    left: bytes = field(default=b"", repr=False)


class Endpoint:
    """Serves what `render` answers; called in the thread, at most every few seconds."""

    def __init__(self, port: int, render: Callable[[], bytes], clock: Clock) -> None:
        """OSError if the port cannot be had."""
        self._render = render
        self._clock = clock
        self._answer, self._rendered_at = b"", float("-inf")
        self._clients: dict[int, _Client] = {}
        self._wake, self._woken = socket.socketpair()
        self._listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        try:
            self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self._listener.bind((HOST, port))
            self._listener.listen(_MOST)
        except OSError:
            self._close_all()
            raise
        self._listener.setblocking(False)
        self.port: int = self._listener.getsockname()[1]
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._selector.register(self._woken, selectors.EVENT_READ)
        self._thread = threading.Thread(target=self._serve, name="metrics", daemon=True)
        try:
            start_thread(self._thread)
        except LimitReached:
            self._selector.close()
            self._close_all()
            raise

    @property
    def address(self) -> str:
        return f"http://{HOST}:{self.port}{PATH}"

    def is_alive(self) -> bool:
        return self._thread.is_alive()

    def close(self) -> None:
        with suppress(OSError):
            self._wake.send(b".")
        self._thread.join()

    # In the thread

    def _serve(self) -> None:
        try:
            while True:
                ready = self._selector.select(1.0 if self._clients else None)
                if any(key.fileobj is self._woken for key, _ in ready):
                    return
                for key, _ in ready:
                    if key.fileobj is self._listener:
                        self._welcome()
                    elif key.fd in self._clients:
                        self._attend(self._clients[key.fd])
                self._hang_up_on_the_slow()
        finally:
            for client in list(self._clients.values()):
                self._dismiss(client)
            self._selector.close()
            self._close_all()

    def _close_all(self) -> None:
        for one in (self._listener, self._wake, self._woken):
            one.close()

    def _welcome(self) -> None:
        try:
            way, _ = self._listener.accept()
        except OSError:
            return
        if len(self._clients) >= _MOST:
            way.close()
            return
        way.setblocking(False)
        self._clients[way.fileno()] = _Client(way, self._clock.monotonic() + _PATIENCE)
        self._selector.register(way, selectors.EVENT_READ)

    def _attend(self, client: _Client) -> None:
        try:
            goes_on = self._send(client) if client.left else self._hear(client)
        except BlockingIOError:
            return
        except OSError:
            goes_on = False
        if not goes_on:
            self._dismiss(client)

    def _hear(self, client: _Client) -> bool:
        data = client.way.recv(_LONGEST_REQUEST)
        client.heard += data
        if not data or len(client.heard) > _LONGEST_REQUEST:
            return False
        if b"\r\n\r\n" not in client.heard:
            return True
        client.left = self._answered(client.heard)
        self._selector.modify(client.way, selectors.EVENT_WRITE)
        return self._send(client)

    @staticmethod
    def _send(client: _Client) -> bool:
        """Whether there is more."""
        sent = client.way.send(client.left)
        client.left = client.left[sent:]
        return bool(client.left)

    def _dismiss(self, client: _Client) -> None:
        del self._clients[client.way.fileno()]
        self._selector.unregister(client.way)
        client.way.close()

    def _hang_up_on_the_slow(self) -> None:
        now = self._clock.monotonic()
        for client in [one for one in self._clients.values() if one.deadline <= now]:
            self._dismiss(client)

    def _answered(self, request: bytes) -> bytes:
        first, *headers = request.decode("latin-1").split("\r\n\r\n")[0].split("\r\n")
        method, _, rest = first.partition(" ")
        path = rest.partition(" ")[0].partition("?")[0]
        if not _is_for_us(headers):  # a web page that leads a name of its own to this machine
            return _response("403 Forbidden", b"Ask for 127.0.0.1.\n")
        if path != PATH:
            return _response("404 Not Found", f"There is {PATH}.\n".encode())
        if method not in ("GET", "HEAD"):
            return _response("405 Method Not Allowed", b"GET it.\n")
        try:
            body = self._current()
        except OSError as error:
            return _response("503 Service Unavailable", f"{error.strerror}\n".encode())
        return _response("200 OK", body, with_body=method == "GET")

    def _current(self) -> bytes:
        if self._clock.monotonic() - self._rendered_at >= _FRESH:
            self._answer, self._rendered_at = self._render(), self._clock.monotonic()
        return self._answer


def _is_for_us(headers: list[str]) -> bool:
    hosts = [line.partition(":")[2].strip() for line in headers if line.lower().startswith("host:")]
    return all(
        host.removesuffix(f":{host.rpartition(':')[2]}") in _NAMES or host in _NAMES
        for host in hosts
    )


def _response(status: str, body: bytes, *, with_body: bool = True) -> bytes:
    head = (
        f"HTTP/1.1 {status}\r\nContent-Type: {CONTENT_TYPE}\r\nContent-Length: {len(body)}\r\n"
        "Connection: close\r\nCache-Control: no-store\r\n\r\n"
    )
    return head.encode() + (body if with_body else b"")
