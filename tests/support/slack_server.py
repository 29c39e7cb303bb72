"""A Slack for tests: a real server on loopback that keeps what was posted, and fails on request.

What it does and refuses is in `slack_workspace`. A fault is used up by the first request it fits.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

from tests.support.loopback import QuietHandler, QuietServer
from tests.support.slack_lines import Lines
from tests.support.slack_workspace import BOT, OWNER, Entry, Workspace


@dataclass
class Fault:
    """`lost`: "before" the line breaks and nothing was done, "after" it was done, "inside" the
    answer breaks off; "hang" nobody answers. `status` or `error` answers that without doing it;
    with `done`, after it."""

    method: str = "chat.postMessage"
    lost: str = ""
    status: int = 0
    error: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str = ""
    done: bool = False
    left: int = 1

    def fits(self, method: str) -> bool:
        return self.left > 0 and re.fullmatch(self.method, method) is not None


class FakeSlack(Workspace):
    """`hook` is told of each request at each of its stages: received, done, answered."""

    def __init__(self) -> None:
        super().__init__()
        self.faults: list[Fault] = []
        self.lines = Lines()
        self.released = threading.Event()  # what hangs goes on
        self.hook: Callable[[str, str], None] = lambda stage, method: None
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.slack = self
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self.url = f"http://127.0.0.1:{self._server.server_port}/api/"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.released.set()
        self.lines.drop()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    # What people do, and the app is told of

    def says(self, channel: str, text: str, *, user: str = OWNER, **fields: Any) -> str:
        """As `said`, and the app hears of it if it listens; answers the envelope's id."""
        added = self.said(channel, text, user=user, **fields)
        id_ = self._tell_of(channel, added)
        if f"<@{BOT}>" in text:
            self._tell_of(channel, added | {"type": "app_mention"})
        return id_

    def _tell_of(self, channel: str, message: Entry) -> str:
        kind = "im" if channel.startswith("D") else "channel"
        event = message | {"channel": channel, "channel_type": kind}
        payload = {"type": "event_callback", "event_id": f"Ev{message['ts']}", "event": event}
        payload["authorizations"] = [{"team_id": "T0ACME", "user_id": BOT, "is_bot": True}]
        return self.lines.deliver("events_api", payload)

    def presses(self, message: Entry, number: int, *, user: str = OWNER, **fields: Any) -> str:
        """The button with this number, of a message of the app's; answers the envelope's id."""
        rows = [block for block in message.get("blocks", []) if block["type"] == "actions"]
        buttons = [one for row in rows for one in row["elements"]]
        channel = next(c.id for c in self.channels.values() if message in c.messages)
        with self.lock:
            self._clock += 1
            ts = f"{self._clock // 1_000_000}.{self._clock % 1_000_000:06d}"
        action = {"type": "button", "action_ts": ts}
        if buttons:
            action |= {key: buttons[number - 1][key] for key in ("action_id", "value")}
        payload = {
            "type": "block_actions",
            "user": {"id": user, "team_id": self.team_of(user).get("team")},
            "channel": {"id": channel},
            "container": {"type": "message", "message_ts": message["ts"], "channel_id": channel},
            "message": message,
            "actions": [action | fields],
        }
        return self.lines.deliver("interactive", payload)

    def fault_for(self, method: str) -> Fault:
        with self.lock:
            found = next((one for one in self.faults if one.fits(method)), None)
            if found is None:
                return Fault()
            found.left -= 1
            return found


class _Server(QuietServer):
    slack: FakeSlack


class _Handler(QuietHandler):
    server: _Server

    def do_GET(self) -> None:
        self.close_connection = True
        fault = self.server.slack.fault_for("socket")
        if fault.lost != "before":
            self.server.slack.lines.serve(self)

    def do_POST(self) -> None:
        slack = self.server.slack
        length = int(self.headers.get("Content-Length", 0))
        sent = self.rfile.read(length)
        self.close_connection = True
        if len(sent) < length:  # whoever sent it is dead
            return
        path = urlsplit(self.path).path
        method = "upload" if path.startswith("/upload/") else path.removeprefix("/api/")
        fault = slack.fault_for(method)
        slack.hook("received", method)
        if fault.lost == "hang":
            slack.released.wait()
        if fault.lost in ("before", "hang"):
            return
        status, answer = self._act(method, path, sent, fault)
        slack.hook("done", method)
        if fault.lost == "after":
            return
        self._write(status, answer, fault)
        slack.hook("answered", method)

    def _act(self, method: str, path: str, sent: bytes, fault: Fault) -> tuple[int, str]:
        instead = fault.body or json.dumps({"ok": False, "error": fault.error or "internal_error"})
        if (fault.status or fault.error) and not fault.done:
            return fault.status or 200, instead
        slack = self.server.slack
        if method == "upload":
            taken = slack.upload(path.rpartition("/")[2], sent)
            return (200, f"OK - {len(sent)}") if taken else (400, "no such upload")
        token = self.headers.get("Authorization", "").removeprefix("Bearer ")
        answer = json.dumps(slack.answer(method, self._given(sent), token))
        return (fault.status or 200, instead) if fault.done else (200, answer)

    def _given(self, sent: bytes) -> Entry:
        if "json" in self.headers.get("Content-Type", ""):
            given: Entry = json.loads(sent or b"{}")
            return given
        form = parse_qs(sent.decode(), keep_blank_values=True)
        values: Entry = {key: found[-1] for key, found in form.items()}
        for key in {"blocks", "metadata", "files"} & set(values):
            values[key] = json.loads(values[key])
        return values

    def _write(self, status: int, answer: str, fault: Fault) -> None:
        body = answer.encode()
        self.send_response_only(status)
        kind = "application/json" if answer.startswith("{") else "text/html"
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Connection", "close")
        scopes = ",".join(sorted(self.server.slack.scopes))
        self.send_header("X-OAuth-Scopes", scopes)
        for name, value in fault.headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body[: len(body) // 2] if fault.lost == "inside" else body)
        self.wfile.flush()
