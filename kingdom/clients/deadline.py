"""A time in which a request has come to its end, or is given up.

The timeout of requests is for each piece: a server that sends a byte now and then holds whoever
asked for as long as it likes, in a header, a body or a handshake. So a clock runs beside each
request, and when it is over, every line of this session is cut. Finding the server's addresses and
connecting to one come on top: the resolver's own limits bound the first, and the timeout each of
the others.

For one thread; imported with requests, when the first request is made.
"""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from typing import Any

from requests import PreparedRequest, Response, Session
from requests.adapters import HTTPAdapter

from kingdom.clients.reach import TookTooLong
from kingdom.limits import start_thread


def limit(session: Session, seconds: float) -> None:
    """From now on no request of this session takes longer, once there is a line."""
    adapter = _Limited(seconds)
    for scheme in ("http://", "https://"):
        session.mount(scheme, adapter)


class _Lines:
    """The connections of one session, each by a second handle: the library takes the first one
    apart when it encrypts, or lets go of it before the answer was read."""

    def __init__(self) -> None:
        self._handles: dict[Any, socket.socket] = {}
        self._lock = threading.Lock()
        self._turn = 0
        self.is_cut = False

    def add(self, connection: Any, opened: socket.socket) -> None:
        handle = opened.dup()
        with self._lock:
            former, self._handles[connection] = self._handles.get(connection), handle
            if former is not None:
                former.close()
            if self.is_cut:
                _shut(handle)

    def clock(self, seconds: float) -> threading.Timer:
        """For the request that is next."""
        made = threading.Timer(seconds, self._cut, (self._turn,))
        made.daemon = True
        return made

    def _cut(self, turn: int) -> None:
        with self._lock:
            if turn == self._turn:  # else that request has just ended
                self.is_cut = True
                for handle in self._handles.values():
                    _shut(handle)

    def end(self, *, of_all: bool = False) -> bool:
        """Of a request: lines that the library has closed are let go of. Whether it was cut."""
        with self._lock:
            for connection in [one for one in self._handles if of_all or one.sock is None]:
                self._handles.pop(connection).close()
            was_cut, self.is_cut = self.is_cut, False
            self._turn += 1
            return was_cut


def _shut(handle: socket.socket) -> None:
    with suppress(OSError):
        handle.shutdown(socket.SHUT_RDWR)


class _Limited(HTTPAdapter):
    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._lines = _Lines()
        self._kinds: dict[type, type] = {}
        super().__init__()

    def send(self, request: PreparedRequest, *given: Any, **named: Any) -> Response:
        clock = self._lines.clock(self._seconds)
        start_thread(clock)
        was_cut = False
        try:
            response = super().send(request, *given, **named)
            response.content  # noqa: B018 (all of it is read while the clock runs)
        except OSError:
            if not self._lines.is_cut:
                raise
        finally:
            clock.cancel()
            was_cut = self._lines.end()
        if was_cut:  # raised when theirs is forgotten, which holds the request
            raise TookTooLong(self._seconds)
        return response

    def get_connection_with_tls_context(self, *given: Any, **named: Any) -> Any:
        pool = super().get_connection_with_tls_context(*given, **named)
        pool.ConnectionCls = self._noted(pool.ConnectionCls)
        return pool

    def _noted(self, kind: type) -> type:
        """The same kind of connection, of which we know; also one through a proxy."""
        if kind not in self._kinds:
            made = type(f"Noted{kind.__name__}", (_Noted, kind), {"lines": self._lines})
            self._kinds[kind] = self._kinds[made] = made
        return self._kinds[kind]

    def close(self) -> None:
        super().close()
        self._lines.end(of_all=True)


class _Noted:
    lines: _Lines

    def _new_conn(self) -> socket.socket:
        opened: socket.socket = super()._new_conn()  # type: ignore[misc]
        self.lines.add(self, opened)
        return opened
