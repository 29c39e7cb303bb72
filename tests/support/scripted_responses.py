"""The scripted model once more, for programs that speak the Responses API (Codex).

Scripts are written with the words of `scripted_model` (`say`, `both`, `fails`, `hangs`, `stalls`,
`cut`) and those below. Tools are spelled as Codex 0.166 offers them to its default model: there is
one, `exec`, which takes JavaScript that calls the others.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import Any

from tests.support.scripted_model import Request, ScriptedModel, Turn
from tests.support.scripted_model import _Handler as Handler

_numbers = count(1)
_CALLS = ("function_call", "custom_tool_call")


def script(javascript: str) -> Turn:
    """The model wants this to be run, and its tools with it."""
    return Turn(({"type": "custom_tool_call", "name": "exec", "input": javascript},))


def command(line: str) -> Turn:
    return script(f"text(await tools.exec_command({{cmd: {json.dumps(line)}}}))")


def edit(path: str, content: str) -> Turn:
    """A new file with this content."""
    added = "".join(f"+{line}\n" for line in content.splitlines())
    patch = f"*** Begin Patch\n*** Add File: {path}\n{added}*** End Patch"
    return script(f"text(await tools.apply_patch({json.dumps(patch)}))")


def gives_up(error: str, message: str = "no") -> Turn:
    """The answer begins well and ends in an error of the server's."""
    return Turn(breaks="fails", error=error, message=message)


def stops(reason: str, text: str = "I begin") -> Turn:
    """The answer is cut short, and says why: max_output_tokens, content_filter."""
    return Turn(({"type": "text", "text": text},), stop=reason)


class ScriptedResponses(ScriptedModel):
    def __init__(self, *script: Turn | Sequence[Turn]) -> None:
        super().__init__(*script)
        self._server.RequestHandlerClass = _Responses

    @property
    def environment(self) -> dict[str, str]:
        return {"OPENAI_API_KEY": "dummy"}

    def provider(self, **changes: Any) -> dict[str, Any]:
        """What the program needs to find this model, and nobody else: settings of its own."""
        values = {
            "name": "scripted",
            "base_url": f"{self.url}/v1",
            "env_key": "OPENAI_API_KEY",
            "wire_api": "responses",
            "supports_websockets": False,
            "request_max_retries": 0,
            "stream_max_retries": 1,
        }
        return {
            "model_provider": "scripted",
            "model_providers.scripted": {**values, **changes},
        }


class _Responses(Handler):
    breaks_after = "response.output_item.added"

    def do_GET(self) -> None:
        """The program would rather have a web socket; told so, it asks as before."""
        if "Upgrade" in self.headers:
            self._send_error(426, "upgrade_required", "no web sockets here", {})
        else:
            super().do_GET()

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
        said = body.get("input", ())
        spelled = {**body, "messages": said, "metadata": body.get("prompt_cache_key")}
        request = Request(spelled, dict(self.headers.items()), _turns(said), self.path)
        self._give(self.server.model.answer_to(request), str(body.get("model")), in_parts=True)

    def _send_error(self, status: int, kind: str, message: str, headers: Mapping[str, str]) -> None:
        """A message that is an object already is sent as it stands."""
        said = {"type": kind, "code": kind, "message": message}
        whole = message if message.startswith("{") else json.dumps({"error": said})
        self._send(status, whole.encode(), headers)

    def _events(self, turn: Turn, model: str) -> Iterator[dict[str, Any]]:
        return _events(turn, model)


def _turns(said: Sequence[Mapping[str, Any]]) -> int:
    """How often the model has answered: what it says in one go stands together."""
    ours = [item.get("role") == "assistant" or item.get("type") in _CALLS for item in said]
    return sum(now and not before for before, now in zip([False, *ours], ours, strict=False))


def _events(turn: Turn, model: str) -> Iterator[dict[str, Any]]:
    response: dict[str, Any] = {"id": f"resp_{next(_numbers)}_{time.time_ns()}", "model": model}
    yield {"type": "response.created", "response": response}
    for at, block in enumerate(turn.content):
        item = _item(block)
        yield {"type": "response.output_item.added", "output_index": at, "item": item}
        if block["type"] == "text":
            delta = {"item_id": item["id"], "output_index": at, "content_index": 0}
            yield {"type": "response.output_text.delta", "delta": block["text"], **delta}
        yield {"type": "response.output_item.done", "output_index": at, "item": item}
    if turn.breaks == "fails":
        error = {"code": turn.error, "message": turn.message}
        yield {"type": "response.failed", "response": {**response, "error": error}}
        return
    if turn.stop:
        cut_short = {**response, "incomplete_details": {"reason": turn.stop}}
        yield {"type": "response.incomplete", "response": cut_short}
        return
    usage = {
        "input_tokens": turn.input_tokens,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": turn.output_tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": turn.input_tokens + turn.output_tokens,
    }
    yield {"type": "response.completed", "response": {**response, "usage": usage}}


def _item(block: Mapping[str, Any]) -> dict[str, Any]:
    id_ = f"{next(_numbers)}_{time.time_ns()}"
    if block["type"] == "text":
        content = [{"type": "output_text", "text": block["text"], "annotations": []}]
        return {"type": "message", "id": f"msg_{id_}", "role": "assistant", "content": content}
    call = {"id": f"call_{id_}", "call_id": f"call_{id_}", "name": block["name"]}
    if block["type"] == "custom_tool_call":
        return {"type": "custom_tool_call", **call, "input": block["input"]}
    return {"type": "function_call", **call, "arguments": json.dumps(block["input"])}
