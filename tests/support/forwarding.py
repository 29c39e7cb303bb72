"""A proxy on loopback: it passes requests on, or bytes where it is asked for a tunnel."""

from __future__ import annotations

import socket
import threading
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

_WITHIN = 30.0  # seconds, that nothing hangs for ever
_OWN = ("host", "proxy-authorization", "proxy-connection", "connection")


class Forwarding(ThreadingHTTPServer):
    """`login` is what it wants to hear, as NAME:PASSWORD; `asked` what it was asked for."""

    def __init__(self, login: str = "") -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.login = login
        self.asked: list[str] = []

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.server_port}"


@contextmanager
def forwarding(login: str = "") -> Iterator[Forwarding]:
    with Forwarding(login) as proxy:
        thread = threading.Thread(target=proxy.serve_forever, args=(0.01,))
        thread.start()
        yield proxy
        proxy.shutdown()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    server: Forwarding
    timeout = _WITHIN

    def log_message(self, format: str, *arguments: Any) -> None:
        pass

    def do_CONNECT(self) -> None:
        if not self._may_pass():
            return
        host, _, port = self.path.rpartition(":")
        with socket.create_connection((host, int(port)), _WITHIN) as there:
            self.send_response(200)
            self.end_headers()
            back = threading.Thread(target=_pass_on, args=(there, self.connection))
            back.start()
            _pass_on(self.connection, there)
            back.join()

    def do_GET(self) -> None:
        if not self._may_pass():
            return
        address = urlsplit(self.path)
        there = HTTPConnection(address.hostname or "", address.port, timeout=_WITHIN)
        sent = {key: value for key, value in self.headers.items() if key.lower() not in _OWN}
        there.request(self.command, f"{address.path}?{address.query}", headers=sent)
        answer = there.getresponse()
        body = answer.read()
        self.send_response_only(answer.status)
        for key, value in answer.getheaders():
            self.send_header(key, value)
        self.end_headers()
        self.wfile.write(body)
        there.close()

    def _may_pass(self) -> bool:
        self.server.asked.append(f"{self.command} {self.path}")
        wanted = f"Basic {b64encode(self.server.login.encode()).decode()}"
        if not self.server.login or self.headers.get("Proxy-Authorization") == wanted:
            return True
        self.send_response(407)
        self.send_header("Content-Length", "0")
        self.end_headers()
        return False


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    """Until there is no more; the other side hears that, too."""
    try:
        while chunk := source.recv(65536):
            target.sendall(chunk)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        pass
