"""The way out of a sandbox: a real proxy in a process of its own, and a server that notes all."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from kingdom.engines.sandbox import bubblewrap, proxy
from kingdom.engines.sandbox.metering import Meter
from kingdom.store.paths import BaseDir

KEY, TOKEN = "sk-ant-of-nobody-4711", "kingdom-0123"
PATHS = ("/v1/messages", "/v1/models")


class Model:
    """Where calls end up."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str, dict[str, str], bytes]] = []
        seen = self.seen

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, format: str, *args: object) -> None: ...

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                seen.append((self.command, self.path, dict(self.headers.items()), body))
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.end_headers()
                self.wfile.write(b'data: {"usage": {"output_tokens": 1}}\n\n')

            do_GET = do_DELETE = do_POST

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}/base"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def model() -> Iterator[Model]:
    made = Model()
    yield made
    made.server.shutdown()
    made.server.server_close()


@pytest.fixture
def port(scratch: Path, model: Model) -> Iterator[int]:
    """Of a proxy that may reach the model, and one host."""
    base = BaseDir(scratch)
    Path(base.soldiers).mkdir(parents=True)
    listener = bubblewrap.listener_for(None)
    endpoint = proxy.Endpoint(model.url, PATHS, {TOKEN: KEY})
    way = proxy.Way(endpoint, (f"localhost:{model.port}", "*.example.org"))
    child = os.fork()
    if child == 0:
        try:
            model.server.socket.close()
            proxy.serve(listener, way, Meter(base, "gen-a", "soldier-1", {}))
        finally:
            os._exit(0)
    found = listener.getsockname()[1]
    listener.close()
    yield found
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def ask(
    port: int, path: str, method: str = "POST", token: str = TOKEN, body: object = b"{}"
) -> tuple[int, bytes]:
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    line.request(method, path, body, {"x-api-key": token})  # type: ignore[arg-type]
    answer = line.getresponse()
    said = answer.read()
    line.close()
    return answer.status, said


def test_the_key_is_put_in_outside_and_the_answer_passes(port: int, model: Model) -> None:
    status, said = ask(port, "/v1/messages?beta=true")
    assert (status, said) == (200, b'data: {"usage": {"output_tokens": 1}}\n\n')
    _, path, headers, body = model.seen[0]
    assert (path, body) == ("/base/v1/messages?beta=true", b"{}")
    assert headers["x-api-key"] == KEY
    assert ask(port, "/v1/messages", body=iter([b"{", b"}"]))[0] == 200  # a chunked one
    assert model.seen[1][3] == b"{}"


@pytest.mark.parametrize(
    "path",
    [
        *("/", "/v1/files", "/v1/messagesX", "/v1/messages/../files", "/v1/messages/%2e%2e/files"),
        *("/v1//messages", "/v1/organizations/api_keys", "http://127.0.0.1/v1/messages"),
    ],
)
def test_nothing_but_the_model_is_asked(port: int, model: Model, path: str) -> None:
    assert ask(port, path)[0] == 403
    assert model.seen == []


@pytest.mark.parametrize("size", [b"-1", b"+1", b"zz", b"1_0", b"9" * 60])
def test_a_piece_of_no_size_is_refused_at_once(port: int, model: Model, size: bytes) -> None:
    """The line stays open: a size below nothing would be read for as long as something comes."""
    head = b"POST /v1/messages HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
    with socket.create_connection(("127.0.0.1", port), 20) as line:
        line.sendall(head + size + b"\r\n")
        assert line.recv(12) == b"HTTP/1.1 400"
    assert model.seen == []


@pytest.mark.parametrize("token", ["", "sk-ant-of-somebody", "kingdom-", TOKEN[:-1]])
def test_whoever_has_no_token_is_refused(port: int, model: Model, token: str) -> None:
    assert ask(port, "/v1/messages", token=token)[0] == 401
    assert model.seen == []


@pytest.mark.parametrize(
    ("target", "admitted"),
    [
        ("localhost:{port}", True),
        ("LOCALHOST:{port}", True),
        ("127.0.0.1:{port}", False),
        ("localhost:22", False),
        ("evil.org:443", False),
        ("example.org.evil.org:443", False),
        ("evilexample.org:443", False),
        ("localhost:{port}\x00.example.org:443", False),
        ("[::1]:{port}", False),
        ("localhost", False),
    ],
)
def test_a_host_is_reached_if_it_is_named(
    port: int, model: Model, target: str, admitted: bool
) -> None:
    with socket.create_connection(("127.0.0.1", port), 20) as line:
        line.settimeout(20)
        name = target.format(port=model.port)
        line.sendall(f"CONNECT {name} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        status = line.recv(4096).split(b" ")[1]
        assert (status == b"200") is admitted, status
        if admitted:
            line.sendall(b"GET /x HTTP/1.0\r\n\r\n")
            assert b"200 OK" in line.recv(4096)


def test_a_model_that_is_away_is_said_in_a_form_that_programs_read(port: int, model: Model) -> None:
    model.server.shutdown()
    model.server.server_close()
    status, said = ask(port, "/v1/messages")
    assert status == 502
    assert json.loads(said)["error"]["message"].startswith("kingdom: The model's endpoint cannot")
