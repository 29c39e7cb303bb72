"""Socket Mode as Slack offers it: WebSockets (RFC 6455) on which envelopes go out, and
acknowledgements come back.

A line can be dropped, fall silent, ask to be renewed; an envelope can be sent again.
"""

from __future__ import annotations

import json
import socket
import struct
import threading
from base64 import b64encode
from contextlib import suppress
from hashlib import sha1
from http.server import BaseHTTPRequestHandler
from typing import Any

_GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_TEXT, _CLOSE, _PING, _PONG = 1, 8, 9, 10

Entry = dict[str, Any]


class Line:
    """One WebSocket, from the server's side; `silent` lets nothing through, either way."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._lock = threading.Lock()
        self.silent = False

    def send(self, message: Entry) -> None:
        self.send_text(json.dumps(message).encode())

    def send_text(self, text: bytes) -> None:
        self._frame(_TEXT, text)

    def say_goodbye(self) -> None:
        self._frame(_CLOSE, struct.pack("!H", 1000))

    def drop(self) -> None:
        with suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)

    def pong(self, payload: bytes) -> None:
        self._frame(_PONG, payload)

    def _frame(self, opcode: int, payload: bytes) -> None:
        size = len(payload)
        head = bytes([0x80 | opcode])
        if size < 126:
            head += bytes([size])
        elif size < 65536:
            head += struct.pack("!BH", 126, size)
        else:
            head += struct.pack("!BQ", 127, size)
        with self._lock, suppress(OSError):
            if not self.silent:
                self._connection.sendall(head + payload)


class Lines:
    """All lines of one app. What was not acknowledged is kept, to be sent again."""

    def __init__(self) -> None:
        self.open: list[Line] = []
        self.made = 0
        self.others = 0  # lines that are counted besides
        self.sent: dict[str, Entry] = {}
        self.acknowledged: list[str] = []
        self.pings = 0
        self.loses_acknowledgements = False
        self.sends_again = False  # on a new line, what was not acknowledged

    def serve(self, handler: BaseHTTPRequestHandler) -> None:
        """Until the line ends."""
        key = handler.headers.get("Sec-WebSocket-Key", "")
        accept = b64encode(sha1((key + _GUID).encode()).digest()).decode()
        handler.send_response_only(101)
        handler.send_header("Upgrade", "websocket")
        handler.send_header("Connection", "Upgrade")
        handler.send_header("Sec-WebSocket-Accept", accept)
        handler.end_headers()
        handler.wfile.flush()
        line = Line(handler.connection)
        line.send({"type": "hello", "num_connections": len(self.open) + 1 + self.others})
        self.open.append(line)
        self.made += 1
        if self.sends_again:
            self.replay_what_was_not_acknowledged()
        try:
            self._listen(line, handler)
        except (OSError, struct.error):
            pass
        finally:
            self.open.remove(line)

    def _listen(self, line: Line, handler: BaseHTTPRequestHandler) -> None:
        while head := handler.rfile.read(2):
            size = head[1] & 0x7F
            if size == 126:
                (size,) = struct.unpack("!H", handler.rfile.read(2))
            mask = handler.rfile.read(4)
            data = bytes(b ^ mask[n % 4] for n, b in enumerate(handler.rfile.read(size)))
            if line.silent:
                continue
            if head[0] & 0x0F == _PING:
                self.pings += 1
                line.pong(data)
            elif head[0] & 0x0F == _TEXT and not self.loses_acknowledgements:
                self.acknowledged.append(json.loads(data)["envelope_id"])
            elif head[0] & 0x0F == _CLOSE:
                return

    def deliver(self, kind: str, payload: Entry) -> str:
        """On one line, as Slack does; answers the envelope's id."""
        id_ = f"envelope-{len(self.sent) + 1:04d}"
        self.sent[id_] = {"envelope_id": id_, "type": kind, "payload": payload}
        self.replay(id_)
        return id_

    def replay(self, id_: str) -> None:
        for line in self.open[-1:]:
            line.send(self.sent[id_])

    def replay_what_was_not_acknowledged(self) -> None:
        for id_ in [one for one in self.sent if one not in self.acknowledged]:
            self.replay(id_)

    def drop(self) -> None:
        for line in list(self.open):
            line.drop()
