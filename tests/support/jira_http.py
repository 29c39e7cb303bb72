"""The HTTP of the Jira for tests: requests in, answers out, and lines that break on request."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

from tests.support.github_server import Fault

if TYPE_CHECKING:
    from tests.support.jira_server import FakeJira


@dataclass
class Answer:
    status: int
    data: Any
    headers: Mapping[str, str] = field(default_factory=dict)


class JiraHTTP(ThreadingHTTPServer):
    daemon_threads = True
    jira: FakeJira

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients are killed in the middle; that is what it is for."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # an answer in one piece
    server: JiraHTTP

    def do_GET(self) -> None:
        self._handle("GET")

    def do_POST(self) -> None:
        self._handle("POST")

    def log_message(self, format: str, *arguments: Any) -> None:
        pass

    def _handle(self, verb: str) -> None:
        jira = self.server.jira
        length = int(self.headers.get("Content-Length", 0))
        sent = self.rfile.read(length)
        if len(sent) < length:  # whoever sent it is dead
            self.close_connection = True
            return
        address = urlsplit(self.path)
        path = address.path.removeprefix(jira.prefix)
        query = {key: values[-1] for key, values in parse_qs(address.query).items()}
        fault = jira.fault_for(verb, path) or Fault()
        jira.hook("received", verb, path)
        if fault.held is not None:
            fault.held.wait()
        if fault.lost == "before":
            self.close_connection = True
            return
        if fault.status:
            answer = Answer(fault.status, fault.body, fault.headers)
        else:
            shown = self.headers.get("Authorization", "")
            answer = jira.answer(verb, path, query, json.loads(sent or b"{}"), shown)
        jira.hook("done", verb, path)
        self._write(answer, cut=fault.lost == "inside")
        jira.hook("answered", verb, path)

    def _write(self, answer: Answer, *, cut: bool) -> None:
        plain = isinstance(answer.data, str)
        body = answer.data.encode() if plain else json.dumps(answer.data).encode()
        self.send_response_only(answer.status)
        self.send_header("Content-Type", "text/html" if plain else "application/json")
        self.send_header("Content-Length", str(len(body)))
        if "Date" not in answer.headers:
            self.send_header("Date", format_datetime(self.server.jira.now, usegmt=True))
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body[: len(body) // 2] if cut else body)
        self.wfile.flush()
        if cut:
            self.close_connection = True
