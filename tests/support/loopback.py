"""A server on loopback that answers as a test wants it, and fails on request.

What GitHub, Jira or another place would say is decided by who derives from `Loopback`; here is the
line to it: requests in, answers out, and faults, each used up by the first request that it fits.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

Entry = dict[str, Any]
_WITHOUT_BODY = (204, 205, 304)
_DRIP_SECONDS = 0.02
_ENDLESS = 10**9


@dataclass
class Fault:
    """`lost`: "before" the line breaks and nothing was done, "after" it was done, "inside" the
    answer breaks off. `drip`: its "head" or its "body" comes byte by byte and never to an end.
    `status` answers that without doing it; it is done when `held` is set."""

    verb: str = "POST"
    path: str = ""
    lost: str = ""
    drip: str = ""
    status: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str | Mapping[str, Any] = ""
    held: threading.Event | None = None
    left: int = 1

    def fits(self, verb: str, path: str) -> bool:
        return self.left > 0 and verb == self.verb and re.search(self.path, path) is not None


@dataclass
class Answer:
    status: int
    data: Any
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Request:
    verb: str
    path: str
    query: Entry
    given: Entry
    headers: Mapping[str, str]  # names as in If-None-Match


class Loopback:
    """`hook` is told of each request at each of its stages: received, done, answered."""

    def __init__(self, *, prefix: str = "") -> None:
        self.prefix = prefix
        self.front = ""  # the address it has for others, if something stands before it
        self.asked: list[str] = []
        self.under_way = 0  # requests that are read, and not answered yet
        self.faults: list[Fault] = []
        self.hook: Callable[[str, str, str], None] = lambda stage, verb, path: None
        self.lock = threading.RLock()
        self.closing = threading.Event()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.place = self
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.closing.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def url(self) -> str:
        return self.front or f"http://127.0.0.1:{self._server.server_port}{self.prefix}"

    def fault_for(self, verb: str, path: str) -> Fault:
        with self.lock:
            self.asked.append(f"{verb} {path}")
            found = next((one for one in self.faults if one.fits(verb, path)), None)
            if found is None:
                return Fault()
            found.left -= 1
            return found

    def respond(self, request: Request, fault: Fault) -> Answer:
        """What is done and said, unless the line breaks first."""
        raise NotImplementedError

    def headers(self, answer: Answer) -> Mapping[str, str]:
        """Those that every answer has."""
        return {}


class QuietServer(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients are killed in the middle; that is what it is for."""


class QuietHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # an answer in one piece

    def log_message(self, format: str, *arguments: Any) -> None:
        pass


class _Server(QuietServer):
    place: Loopback


class _Handler(QuietHandler):
    server: _Server

    def do_GET(self) -> None:
        self._count_and_handle("GET")

    def do_POST(self) -> None:
        self._count_and_handle("POST")

    def do_PATCH(self) -> None:
        self._count_and_handle("PATCH")

    def _count_and_handle(self, verb: str) -> None:
        place = self.server.place
        with place.lock:
            place.under_way += 1
        try:
            self._handle(verb)
        finally:
            with place.lock:
                place.under_way -= 1

    def _handle(self, verb: str) -> None:
        place = self.server.place
        length = int(self.headers.get("Content-Length", 0))
        sent = self.rfile.read(length)
        if len(sent) < length:  # whoever sent it is dead
            self.close_connection = True
            return
        address = urlsplit(self.path)
        path = address.path.removeprefix(place.prefix)
        query = {key: values[-1] for key, values in parse_qs(address.query).items()}
        fault = place.fault_for(verb, path)
        place.hook("received", verb, path)
        if fault.held is not None:
            fault.held.wait()
        if fault.lost == "before":
            self.close_connection = True
            return
        given = json.loads(sent or b"{}")
        named = {name.title(): value for name, value in self.headers.items()}
        answer = place.respond(Request(verb, path, query, given, named), fault)
        place.hook("done", verb, path)
        if fault.lost == "after":
            self.close_connection = True
            return
        self._write(answer, fault)
        place.hook("answered", verb, path)

    def _write(self, answer: Answer, fault: Fault) -> None:
        plain = isinstance(answer.data, str)
        body = answer.data.encode() if plain else json.dumps(answer.data).encode()
        body = b"" if answer.status in _WITHOUT_BODY else body
        self.send_response_only(answer.status)  # which names no date: a test may
        if body:
            kind = "text/html" if plain else "application/json; charset=utf-8"
            self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(_ENDLESS if fault.drip else len(body)))
        for name, value in {**self.server.place.headers(answer), **answer.headers}.items():
            self.send_header(name, value)
        if fault.drip == "head":
            self.flush_headers()
        else:
            self.end_headers()
        for piece in self._drops() if fault.drip else [body]:
            self.wfile.write(piece[: len(piece) // 2] if fault.lost == "inside" else piece)
            self.wfile.flush()
        if fault.lost == "inside" or fault.drip:
            self.close_connection = True

    def _drops(self) -> Iterator[bytes]:
        """Until nobody listens any more."""
        while not self.server.place.closing.wait(_DRIP_SECONDS):
            yield b"x"
