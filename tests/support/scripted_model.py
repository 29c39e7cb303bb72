"""A model that says what a test wrote down: a server on loopback that the real program talks to.

Turns of a script are picked by how far the conversation is (the number of the model's own messages
in the request), so that many soldiers can share one server; the last turn is repeated for ever. A
turn may be a list: its first entry answers the first request at that place, and so on, which is how
a fault that passes is written: `[fails(529), fails(529), say("Done.")]`.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from types import TracebackType
from typing import Any, Self

PATIENCE = 30.0
_numbers = count(1)


@dataclass(frozen=True)
class Turn:
    """One answer of the model's."""

    content: tuple[Mapping[str, Any], ...] = ()
    stop: str = ""  # why it stops; "": tool_use or end_turn, as the content has it
    output_tokens: int = 20
    input_tokens: int = 100
    status: int = 200
    error: str = "api_error"
    message: str | Callable[[], str] = ""  # a function is asked when the request has come
    headers: Mapping[str, str] = field(default_factory=dict)
    breaks: str = ""  # "hangs": never answers; "stalls", "cut": begins to, and then …
    pause: float = 0.0  # seconds before each part of it


Script = Sequence[Turn | Sequence[Turn]]


def say(text: str, **more: Any) -> Turn:
    return Turn(({"type": "text", "text": text},), **more)


def use(name: str, **given: Any) -> Turn:
    """The model wants this tool to be used."""
    return Turn(({"type": "tool_use", "name": name, "input": given},))


def both(*turns: Turn) -> Turn:
    """All that they say, as one message."""
    return replace(turns[-1], content=tuple(block for turn in turns for block in turn.content))


def fails(
    status: int, message: str | Callable[[], str] = "no", error: str = "api_error", **headers: str
) -> Turn:
    """Answers with an error; `retry_after="1"` becomes the header retry-after."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Turn(status=status, message=message, error=error, headers=named)


def hangs() -> Turn:
    return Turn(breaks="hangs")


def stalls(text: str = "I begin") -> Turn:
    """Its answer stops in the middle, and the line stays open."""
    return replace(say(text), breaks="stalls")


def cut(text: str = "I begin") -> Turn:
    """The line breaks in the middle of its answer."""
    return replace(say(text), breaks="cut")


def refuses(text: str = "") -> Turn:
    return replace(say(text), stop="refusal") if text else Turn(stop="refusal")


@dataclass(frozen=True)
class Request:
    body: Mapping[str, Any]
    headers: Mapping[str, str]
    turn: int
    path: str

    @property
    def text(self) -> str:
        """All of it, to look for something in."""
        return json.dumps(self.body, ensure_ascii=False)

    @property
    def tools(self) -> list[str]:
        return [tool["name"] for tool in self.body.get("tools", ())]


class ScriptedModel:
    """`with ScriptedModel(say("Done.")) as model:`, and the program is told `model.url`."""

    def __init__(self, *script: Turn | Sequence[Turn]) -> None:
        self.requests: list[Request] = []
        self._scripts: dict[str, Script] = {"": script or (say("Done."),)}
        self._asked: dict[object, int] = {}
        self._news = threading.Condition()
        self.closing = threading.Event()
        self._server = _Server(self)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def environment(self) -> dict[str, str]:
        """What the program needs to find this model, and nobody else."""
        return {
            "ANTHROPIC_BASE_URL": self.url,
            "ANTHROPIC_API_KEY": "dummy",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        }

    def says(self, *script: Turn | Sequence[Turn], to: str = "") -> None:
        """The script of conversations in which the word `to` occurs; without it, of all others."""
        self._scripts[to] = script

    def wait_for(self, requests: int) -> None:
        """Returns once so many have come."""
        with self._news:
            came = self._news.wait_for(lambda: len(self.requests) >= requests, PATIENCE)
        assert came, f"{len(self.requests)} requests of {requests}"

    def answer_to(self, request: Request) -> Turn:
        said = json.dumps(request.body.get("messages", ()), ensure_ascii=False)
        with self._news:
            word = max((word for word in self._scripts if word in said), key=len)
            script = self._scripts[word]
            place = min(request.turn, len(script) - 1)
            turn = script[place]
            if not isinstance(turn, Turn):
                # `metadata` names the session; the same place of another one starts anew.
                where = (json.dumps(request.body.get("metadata")), word, place)
                number = self._asked[where] = self._asked.get(where, -1) + 1
                turn = turn[min(number, len(turn) - 1)]
            self.requests.append(request)
            self._news.notify_all()
        return turn


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, model: ScriptedModel) -> None:
        self.model = model
        super().__init__(("127.0.0.1", 0), _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Programs that are killed hang up; that is no fault of the server's."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server
    breaks_after = "content_block_delta"  # of a stream that is cut or stalls

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_HEAD(self) -> None:
        self._send(200, b"", {})

    def do_GET(self) -> None:
        self._send_error(404, "not_found_error", "nothing here", {})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
        if "count_tokens" in self.path:
            self._send(200, b'{"input_tokens": 100}', {})
            return
        place = sum(message["role"] == "assistant" for message in body.get("messages", ()))
        request = Request(body, dict(self.headers.items()), place, self.path)
        turn = self.server.model.answer_to(request)
        self._give(turn, str(body.get("model")), in_parts=bool(body.get("stream")))

    def _give(self, turn: Turn, model: str, *, in_parts: bool) -> None:
        if turn.breaks == "hangs" or (turn.breaks == "stalls" and not in_parts):
            self.server.model.closing.wait()
            self.close_connection = True
        elif turn.status != 200:
            message = turn.message if isinstance(turn.message, str) else turn.message()
            self._send_error(turn.status, turn.error, message, turn.headers)
        elif in_parts:
            self._stream(turn, model)
        elif turn.breaks:
            self.close_connection = True
        else:  # how the program asks once more when a stream broke
            self._send(200, json.dumps(_whole(turn, model)).encode(), turn.headers)

    def _stream(self, turn: Turn, model: str) -> None:
        self.close_connection = True
        self.send_response(200)
        headers = {"content-type": "text/event-stream", "connection": "close", **turn.headers}
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        for event in self._events(turn, model):
            self.server.model.closing.wait(turn.pause)
            self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
            self.wfile.flush()
            if turn.breaks in ("cut", "stalls") and event["type"] == self.breaks_after:
                if turn.breaks == "stalls":
                    self.server.model.closing.wait()
                return

    def _events(self, turn: Turn, model: str) -> Iterable[dict[str, Any]]:
        return _events(turn, model)

    def _send_error(self, status: int, kind: str, message: str, headers: Mapping[str, str]) -> None:
        said = {"type": "error", "error": {"type": kind, "message": message}}
        self._send(status, json.dumps(said).encode(), headers)

    def _send(self, status: int, data: bytes, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in {"content-type": "application/json", **headers}.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)


def _begun(turn: Turn, model: str) -> dict[str, Any]:
    usage = {
        "input_tokens": turn.input_tokens,
        "output_tokens": min(turn.output_tokens, 1),
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
    }
    return {
        "id": f"msg_{next(_numbers)}_{time.time_ns()}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage,
    }


def _stop_of(turn: Turn) -> str:
    used = any(block["type"] == "tool_use" for block in turn.content)
    return turn.stop or ("tool_use" if used else "end_turn")


def _whole(turn: Turn, model: str) -> dict[str, Any]:
    begun = _begun(turn, model)
    usage = {**begun["usage"], "output_tokens": turn.output_tokens}
    content = [
        {**block, "id": f"toolu_{next(_numbers)}"} if block["type"] == "tool_use" else block
        for block in turn.content
    ]
    return {**begun, "content": content, "stop_reason": _stop_of(turn), "usage": usage}


def _events(turn: Turn, model: str) -> list[dict[str, Any]]:
    return [
        {"type": "message_start", "message": _begun(turn, model)},
        *(event for at, block in enumerate(turn.content) for event in _block(at, block)),
        {
            "type": "message_delta",
            "delta": {"stop_reason": _stop_of(turn), "stop_sequence": None},
            "usage": {"output_tokens": turn.output_tokens},
        },
        {"type": "message_stop"},
    ]


def _block(at: int, block: Mapping[str, Any]) -> list[dict[str, Any]]:
    if block["type"] == "text":
        empty = {"type": "text", "text": ""}
        delta = {"type": "text_delta", "text": block["text"]}
    else:
        id_ = f"toolu_{next(_numbers)}_{time.time_ns()}"
        empty = {"type": "tool_use", "id": id_, "name": block["name"], "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    return [
        {"type": "content_block_start", "index": at, "content_block": empty},
        {"type": "content_block_delta", "index": at, "delta": delta},
        {"type": "content_block_stop", "index": at},
    ]
