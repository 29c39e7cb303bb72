"""The way out of a sandbox: the model's endpoint, and hosts that the manifest names.

It runs outside, in a process of the soldier's wrapper, and accepts connections from inside. Calls
of the model come as plain HTTP and go to the configured endpoint; the key is put in here, so a
soldier never has it. Other hosts are reached with `CONNECT host:443`, by name. Everything else is
refused.

Only the standard library: it is forked from the wrapper, which has no other.
"""

from __future__ import annotations

import http.client
import select
import socket
import ssl
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar, Self
from urllib.parse import urlsplit

from kingdom.engines.sandbox.metering import Meter

_LARGEST_BODY = 64 * 1024 * 1024
_PART = 64 * 1024
_CONNECT_SECONDS = 30.0
_READ_SECONDS = 900.0  # between two bytes; the program itself gives up sooner
_SECURE_PORT = 443
_MOST_DIGITS = 16
_MALFORMED = "The request is not well formed."
# Of one connection, not of the request; and what would hide the answer's usage from us.
_NOT_PASSED = {
    *("host", "connection", "proxy-connection", "keep-alive", "transfer-encoding", "te", "trailer"),
    *("upgrade", "content-length", "accept-encoding", "proxy-authorization", "expect"),
}
_CREDENTIAL_HEADERS = ("x-api-key", "authorization", "api-key")


@dataclass(frozen=True)
class Endpoint:
    """Where the model is: `url` with a path before all of `paths`, the only ones that exist."""

    url: str
    paths: tuple[str, ...]
    secrets: Mapping[str, str] = field(default_factory=dict)  # token inside: key outside

    @property
    def parts(self) -> tuple[bool, str, int, str]:
        """Whether it is https, host, port, and the path before all others."""
        url = urlsplit(self.url)
        secure = url.scheme == "https"
        return secure, url.hostname or "", url.port or (443 if secure else 80), url.path.rstrip("/")


@dataclass(frozen=True)
class Way:
    """Everything that may be reached."""

    endpoint: Endpoint | None = None
    hosts: tuple[str, ...] = ()  # `host`, `*.host` or `host:port`
    through: str = ""  # the proxy that this machine itself needs, if it does

    @classmethod
    def of(cls, said: Mapping[str, Any], secrets: Mapping[str, str]) -> Self:
        """From a spec, which has the names of keys only."""
        found = said.get("endpoint")
        endpoint = Endpoint(found["url"], tuple(found["paths"]), dict(secrets)) if found else None
        return cls(endpoint, tuple(said.get("hosts", ())), str(said.get("through") or ""))

    def admits(self, host: str, port: int) -> bool:
        host = host.lower().rstrip(".")
        for named in self.hosts:
            name, _, wanted = named.lower().partition(":")
            if port != int(wanted or _SECURE_PORT):
                continue
            if host == name or (name.startswith("*.") and host.endswith(name[1:])):
                return True
        return False


def serve(listener: socket.socket, way: Way, meter: Meter) -> None:
    """Until the process is ended."""
    handler = type("Handler", (_Handler,), {"way": way, "meter": meter})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler, bind_and_activate=False)
    server.socket.close()
    server.socket = listener
    server.server_address = listener.getsockname()
    server.daemon_threads = True
    server.serve_forever(poll_interval=60)


class _Refused(Exception):
    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    way: ClassVar[Way]
    meter: ClassVar[Meter]
    _upstream: http.client.HTTPConnection | None = None

    def handle(self) -> None:
        with suppress(OSError):  # whoever asked is gone
            super().handle()
        if self._upstream is not None:
            self._upstream.close()

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: what a soldier asks is in its own transcript."""

    def do_CONNECT(self) -> None:
        host, _, port = self.path.rpartition(":")
        host, number = host.strip("[]"), _number(port)
        if number is None or not self.way.admits(host, number):
            self._refuse(403, f"This soldier may not reach {host}.")
            return
        try:
            other = _connected(host, number, self.way.through)
        except OSError as error:
            self._refuse(502, f"{host} cannot be reached: {error}.")
            return
        self.send_response(200)
        self.end_headers()
        with other:
            _relay(self.connection, other)
        self.close_connection = True

    def _ask(self) -> None:
        try:
            self._forward()
        except _Refused as refused:
            self._refuse(refused.status, str(refused))
        except ValueError:  # what http.client would not send: a name or value of a header
            self.close_connection = True
            self._refuse(400, _MALFORMED)
        except (OSError, http.client.HTTPException) as error:
            self.close_connection = True
            with suppress(OSError):
                self._refuse(502, f"The model's endpoint cannot be reached: {error}.")

    do_GET = do_POST = do_HEAD = do_PUT = do_DELETE = do_PATCH = _ask

    def _forward(self) -> None:
        endpoint = self.way.endpoint
        path = self.path.partition("?")[0]
        if endpoint is None or not any(_is_below(path, one) for one in endpoint.paths):
            self.close_connection = True
            raise _Refused(403, "Only the model can be asked here.")
        body = self._body()
        headers = self._headers(endpoint)
        call = self.meter.begin(path, body)
        if call.refusal:
            raise _Refused(call.status, call.refusal)
        try:
            answer = self._answer(endpoint, body, headers)
            call.answered(answer.status, {k.lower(): v for k, v in answer.getheaders()})
            self._pass_on(answer, call.read)
        finally:
            call.end()

    def _answer(
        self, endpoint: Endpoint, body: bytes, headers: Mapping[str, str]
    ) -> http.client.HTTPResponse:
        """Once more on a new connection, if an old one was closed meanwhile."""
        target = endpoint.parts[3] + self.path
        for is_last in (self._upstream is None, True):
            line = self._upstream or _line_to(endpoint, self.way.through)
            self._upstream = line
            try:
                line.request(self.command, target, body or None, dict(headers))
                return line.getresponse()
            except (OSError, http.client.HTTPException):
                line.close()
                self._upstream = None
                if is_last:
                    raise
        raise AssertionError

    def _headers(self, endpoint: Endpoint) -> dict[str, str]:
        """With the key in place of the token; without a token nothing is asked for."""
        found = {k: v for k, v in self.headers.items() if k.lower() not in _NOT_PASSED}
        known = not endpoint.secrets
        for name in [name for name in found if name.lower() in _CREDENTIAL_HEADERS]:
            for token, secret in endpoint.secrets.items():
                if token in found[name]:
                    found[name], known = found[name].replace(token, secret), True
        if not known:
            self.close_connection = True
            raise _Refused(401, "The token of this soldier is missing.")
        return {**found, "Accept-Encoding": "identity"}

    def _body(self) -> bytes:
        if "chunked" in self.headers.get("Transfer-Encoding", "").lower():
            return b"".join(self._chunks())
        length = _number(self.headers.get("Content-Length", "0"))
        if length is None or length > _LARGEST_BODY:
            self.close_connection = True
            raise _Refused(413, "The request is too large.")
        return self.rfile.read(length)

    def _chunks(self) -> Iterator[bytes]:
        total = 0
        while size := self._size_of_chunk():
            total += size
            if total > _LARGEST_BODY:
                self.close_connection = True
                raise _Refused(413, "The request is too large.")
            yield self.rfile.read(size)
            self.rfile.readline(8)
        while self.rfile.readline(_PART) not in (b"\r\n", b"\n", b""):
            continue

    def _size_of_chunk(self) -> int:
        """Never less than nothing, which would be read without an end."""
        told = self.rfile.readline(64).split(b";")[0].decode("latin-1")
        size = _number(told or "0", 16)
        if size is None:
            self.close_connection = True
            raise _Refused(400, _MALFORMED)
        return size

    def _pass_on(self, answer: http.client.HTTPResponse, read: Callable[[bytes], None]) -> None:
        self.send_response_only(answer.status, answer.reason)
        for name, value in answer.getheaders():
            if name.lower() not in _NOT_PASSED:
                self.send_header(name, value)
        has_body = self.command != "HEAD" and answer.status not in (204, 304)
        if has_body:
            self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        while part := answer.read1(_PART):
            read(part)
            self.wfile.write(b"%x\r\n%b\r\n" % (len(part), part))
        if has_body:
            self.wfile.write(b"0\r\n\r\n")

    def _refuse(self, status: int, sentence: str) -> None:
        import json

        kind = "permission_error" if status == 403 else "api_error"
        text = {"type": "error", "error": {"type": kind, "message": f"kingdom: {sentence}"}}
        body = json.dumps(text).encode()
        self.send_response_only(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("x-should-retry", "false")
        self.end_headers()
        self.wfile.write(body)


def _number(text: str, base: int = 10) -> int | None:
    """None for a sign, a letter, or more digits than anything here can have."""
    digits = text.strip()
    if not (digits.isascii() and digits.isalnum() and len(digits) <= _MOST_DIGITS):
        return None
    try:
        return int(digits, base)
    except ValueError:
        return None


def _is_below(path: str, allowed: str) -> bool:
    is_plain = "//" not in path and "/." not in path and "%" not in path
    return is_plain and (path == allowed or path.startswith(allowed + "/"))


def _line_to(endpoint: Endpoint, through: str) -> http.client.HTTPConnection:
    secure, host, port, _ = endpoint.parts
    proxy = urlsplit(through) if through and secure else None
    at = (proxy.hostname or "", proxy.port or 80) if proxy else (host, port)
    line: http.client.HTTPConnection
    if secure:
        context = ssl.create_default_context()
        line = http.client.HTTPSConnection(*at, timeout=_CONNECT_SECONDS, context=context)
    else:
        line = http.client.HTTPConnection(*at, timeout=_CONNECT_SECONDS)
    if proxy:
        line.set_tunnel(host, port)
    line.connect()
    line.sock.settimeout(_READ_SECONDS)
    return line


def _connected(host: str, port: int, through: str) -> socket.socket:
    if not through:
        return socket.create_connection((host, port), _CONNECT_SECONDS)
    proxy = urlsplit(through)
    at = (proxy.hostname or "", proxy.port or 80)
    line = http.client.HTTPConnection(*at, timeout=_CONNECT_SECONDS)
    line.set_tunnel(host, port)
    line.connect()
    return line.sock


def _relay(one: socket.socket, other: socket.socket) -> None:
    """Until both sides have ended."""
    for end in (one, other):
        end.settimeout(None)
    ways = {one: other, other: one}
    while ways:
        ready: Sequence[socket.socket] = select.select(list(ways), [], [], _READ_SECONDS)[0]
        if not ready:
            return
        for end in ready:
            part = end.recv(_PART)
            if part:
                ways[end].sendall(part)
            else:
                with suppress(OSError):
                    ways[end].shutdown(socket.SHUT_WR)
                del ways[end]
