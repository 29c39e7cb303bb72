"""Whatever comes from outside is understood, or refused in the one way that is documented.

Samples of what GitHub, Jira, Slack, engines, soldiers and people send, with pieces of them replaced
by anything; and bytes that are nothing at all. Texts of Jira, YAML documents and event files have
such tests of their own, beside what else is said of them.
"""

from __future__ import annotations

import copy
import json
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kingdom.clients.slack import Me
from kingdom.engines.claude import judging as claude_judging
from kingdom.engines.claude import stream as claude_stream
from kingdom.engines.codex import judging as codex_judging
from kingdom.engines.codex import stream as codex_stream
from kingdom.engines.port import Evidence
from kingdom.engines.sandbox import proxy
from kingdom.engines.sandbox.metering import Meter
from kingdom.envoy.transports.slack import speaking
from kingdom.errors import ConfigurationError, InvalidFile, KingdomError
from kingdom.general import verdicts
from kingdom.general.brief import lessons
from kingdom.models.manifest import read_manifest
from kingdom.models.reading import READERS, parse
from kingdom.sentinel.watchers import inbox
from kingdom.settings.sentinel import InboxWatcher
from kingdom.store.paths import BaseDir
from tests.support.github_scene import Scene
from tests.support.jira_server import FakeJira
from tests.support.jira_watch import lookout_on
from tests.support.kingdom import MovableClock
from tests.support.lookout import Lookout
from tests.support.loopback import Fault
from tests.support.notifications import Notifying

ROOT = Path(__file__).parents[2]
TASK = "task-20260207-001"
Read = Callable[[Any], object]
Opener = Callable[[Path], AbstractContextManager[Read]]

_WORDS = (
    "",
    "message",
    "result",
    "success",
    "2026-02-07T10:00:00Z",
    "1770458400.000001",
    "a/b",
    "\ud800",
)
_SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(_WORDS)
)
ANYTHING = st.recursive(
    _SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)


@st.composite
def damaged(draw: st.DrawFn, sample: Any) -> Any:
    """The sample with one to three of its pieces replaced or gone; now and then something else."""
    if draw(st.integers(0, 9)) == 0:
        return draw(ANYTHING)
    found = copy.deepcopy(sample)
    for _ in range(draw(st.integers(1, 3))):
        places = list(_places(found))
        holder, key = draw(st.sampled_from(places)) if places else (None, None)
        if holder is None:
            break
        if isinstance(holder, dict) and draw(st.booleans()):
            del holder[key]
        else:
            holder[key] = draw(ANYTHING)
    return found


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Holder and key of each piece."""
    if not isinstance(value, dict | list):
        return
    for key, one in value.items() if isinstance(value, dict) else enumerate(value):
        yield value, key
        yield from _places(one)


@dataclass(frozen=True)
class Parser:
    """`opened` gives what reads; `refuses` is the documented error, if there is one."""

    given: st.SearchStrategy[Any]
    opened: Opener
    refuses: type[Exception] | tuple[()] = ()


def plainly(read: Read) -> Opener:
    @contextmanager
    def opened(scratch: Path) -> Iterator[Read]:
        yield read

    return opened


def as_bytes(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[bytes]:
    return strategy.map(lambda value: json.dumps(value).encode()) | st.binary(max_size=100)


# GitHub and Jira: a round of the sentinel


@contextmanager
def github(scratch: Path) -> Iterator[Read]:
    """The listing, and what its addresses lead to."""
    with Notifying() as hub:
        scene = Scene(BaseDir(scratch), hub, MovableClock())

        def look(raw: Any) -> None:
            thread, thing = raw if isinstance(raw, list) and len(raw) == 2 else (raw, raw)
            text = json.dumps(thread).replace("http://api", hub.url)
            hub.things["/repos/acme/web/pulls/7"] = thing
            hub.things["/repos/acme/web/issues/comments/1"] = thing
            hub.faults = [Fault("GET", "^/notifications$", body=[json.loads(text)])]  # type: ignore[arg-type]
            scene.look()

        try:
            yield look
        finally:
            scene.close()


def _github_sample() -> list[Any]:
    """What is read of a notification, and of what it leads to."""
    place = "http://api/repos/acme/web"
    subject = {
        "title": "x",
        "type": "PullRequest",
        "url": f"{place}/pulls/7",
        "latest_comment_url": f"{place}/issues/comments/1",
    }
    thread = {
        "id": "1",
        "unread": True,
        "reason": "review_requested",
        "updated_at": "2026-11-15T08:00:00Z",
        "repository": {"full_name": "acme/web"},
        "subject": subject,
    }
    side = {"ref": "topic", "sha": "0" * 40, "repo": {"full_name": "acme/web"}}
    pull = {
        "user": {"login": "ann", "type": "User"},
        "author_association": "MEMBER",
        "head": side,
        "base": side,
        "draft": False,
        "state": "open",
        "html_url": "http://x",
        "created_at": "2026-11-15T08:00:00Z",
        "requested_reviewers": [{"login": "ann"}],
    }
    return [thread, pull]


@contextmanager
def jira(scratch: Path) -> Iterator[Read]:
    with FakeJira() as server, lookout_on(BaseDir(scratch), server, jql_base="x = 1") as lookout:
        rounds = lookout.look
        rounds()

        def look(raw: Any) -> None:
            answer = {"issues": [raw], "isLast": True}
            server.faults = [Fault("POST", "/search/jql", status=200, body=answer)]
            rounds()

        yield look


def _jira_sample() -> Any:
    server = FakeJira()
    shown = server.shown(server.create("SHOP-1"))
    server._server.server_close()
    return shown


@contextmanager
def dropped_file(scratch: Path) -> Iterator[Read]:
    """In the inbox of scripts."""
    lookout = Lookout(
        BaseDir(scratch), MovableClock(), lambda given: inbox.make(InboxWatcher(), given)
    )
    path = Path(scratch, "queue", "inbox", "x.json")
    path.parent.mkdir(parents=True, exist_ok=True)

    def look(data: bytes) -> None:
        path.write_bytes(data)
        lookout.watcher.parse("x.json")

    yield look
    lookout.close()


# Slack, engines, soldiers


def slack(raw: Any) -> None:
    payload = raw if isinstance(raw, dict) else {}
    me = speaking.me_in(payload) or Me("U0KINGDOM", "B0KINGDOM")
    speaking.said_in(speaking.part_of(payload, "event"), me)
    speaking.pressed_in(payload)


def _slack_sample() -> dict[str, Any]:
    event = {
        "type": "message",
        "user": "U1",
        "text": "<@U0KINGDOM> <x|y>",
        "ts": "1770458400.000001",
    }
    button = {"action_id": "answer-1", "value": "msg-1 1", "action_ts": "1770458400.000002"}
    return {
        "type": "block_actions",
        "authorizations": [{"user_id": "U0KINGDOM", "is_bot": True}],
        "event": event | {"channel": "C1", "thread_ts": "1770458400.000000"},
        "user": {"id": "U1"},
        "channel": {"id": "C1"},
        "container": {"message_ts": "1770458400.000001", "channel_id": "C1"},
        "message": {"ts": "1770458400.000001", "thread_ts": "1770458400.000000"},
        "actions": [button],
    }


def engine(stream: Any, judging: Any) -> Opener:
    """What its program prints, and how the run is judged by it."""

    @contextmanager
    def opened(scratch: Path) -> Iterator[Read]:
        path = scratch / "out.jsonl"

        def read(data: bytes) -> None:
            path.write_bytes(data)
            for code in (0, 1):
                evidence = Evidence(TASK, code, None, str(path), str(path), has_result=False)
                judging.judge(evidence, stream.read(str(path)))
            judging.said(str(path))

        yield read

    return opened


def lines_of(*names: str) -> st.SearchStrategy[bytes]:
    """Recorded runs, a line of them damaged."""
    texts = [(ROOT / "tests" / name).read_text("utf-8").splitlines() for name in names]
    runs = [[json.loads(line) for line in lines if line] for lines in texts]
    tails = st.sampled_from(runs).map(lambda run: run[-6:])
    return tails.flatmap(damaged).map(
        lambda run: b"\n".join(
            json.dumps(one, separators=(",", ":")).encode()
            for one in (run if isinstance(run, list) else [run])
        )
    ) | st.binary(max_size=100)


@contextmanager
def result_file(scratch: Path) -> Iterator[Read]:
    path = scratch / "result.json"

    def read(data: bytes) -> None:
        path.write_bytes(data)
        verdicts.read_raw(str(path), TASK)

    yield read


RESULT = {
    "task_id": TASK,
    "status": "needs_human",
    "summary": "x",
    "question": "x",
    "options": ["a", "b"],
    "default": "a",
    "memory_updates": ["x"],
    "proclamation": {"channel": "x", "message": "x"},
    "actions": [{"do": "review", "comments": [{"path": "x", "line": 1, "body": "x"}]}],
    "metrics": {"tokens": {"input": 1}},
}


def queue_file(data: bytes) -> None:
    for kind in READERS:
        try:
            parse(kind, data, path="f")  # type: ignore[arg-type]
        except InvalidFile:
            continue


def memory_file(text: str) -> None:
    lessons.write(lessons.read(text)).encode("utf-8", "surrogateescape")
    lessons.clean(text).encode("utf-8")


def manifest_sample() -> Any:
    path = ROOT / "config" / "generals" / "gen-jira" / "manifest.yaml"
    return yaml.safe_load(path.read_text("utf-8"))


@contextmanager
def proxy_head(scratch: Path) -> Iterator[Read]:
    """What a soldier sends to its proxy; afterwards it still answers others, and complained of
    nothing."""
    base, complaints = BaseDir(scratch), scratch / "complaints"
    Path(base.soldiers).mkdir(parents=True)
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    child = os.fork()
    if child == 0:
        try:
            sys.stderr = complaints.open("w", buffering=1)
            way = proxy.Way(proxy.Endpoint("http://127.0.0.1:1", ("/v1/messages",), {}))
            proxy.serve(listener, way, Meter(base, "gen-a", "soldier-1", {}))
        finally:
            os._exit(1)
    listener.close()

    def ask(data: bytes) -> bytes:
        with socket.create_connection(("127.0.0.1", port), 10) as line:
            line.sendall(data)
            line.shutdown(socket.SHUT_WR)
            return line.recv(16)

    def read(data: bytes) -> None:
        with suppress(ConnectionError):  # it hangs up on what it does not understand
            ask(data)
        assert ask(b"GET /x HTTP/1.1\r\n\r\n").startswith(b"HTTP/1.1 403")
        assert not complaints.exists() or complaints.read_text() == ""

    try:
        yield read
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


_ASKED = b"POST /v1/messages HTTP/1.1\r\n"
_CHUNKED = _ASKED + b"Transfer-Encoding: chunked\r\n\r\n"
_STARTS = (b"", b"CONNECT ", b"CONNECT x:", _ASKED, _ASKED + b"Content-Length: ", _CHUNKED)
_PIECES = (b"1", b"-", b"f;x", b"zz", b" HTTP/1.1\r\n", b"\r\n", b"9" * 5000, b":", b"\xff")
_HEADS = st.tuples(
    st.sampled_from(_STARTS),
    st.lists(st.sampled_from(_PIECES) | st.binary(max_size=6), max_size=5).map(b"".join),
).map(lambda both: both[0] + both[1] + b"\r\n\r\n")
_EVENT = {"id": "evt-1", "type": "a.b", "source": "x", "created_at": "2026-02-07T10:00:00Z"}
PARSERS = {
    "github": Parser(damaged(_github_sample()), github, KingdomError),
    "jira": Parser(damaged(_jira_sample()), jira, KingdomError),
    "inbox": Parser(as_bytes(damaged({**_EVENT, "payload": {"a": [1]}})), dropped_file),
    "slack": Parser(damaged(_slack_sample()), plainly(slack)),
    "claude": Parser(
        lines_of("claude/recorded/new-resumed.jsonl", "claude/recorded/old-limit.jsonl"),
        engine(claude_stream, claude_judging),
    ),
    "codex": Parser(
        lines_of("codex/recorded/resumed.jsonl", "codex/recorded/limit.jsonl"),
        engine(codex_stream, codex_judging),
    ),
    "result": Parser(as_bytes(damaged(RESULT)), result_file),
    "queue": Parser(as_bytes(damaged({**RESULT, **_EVENT, "delivery": {}})), plainly(queue_file)),
    "memory": Parser(st.text(max_size=80), plainly(memory_file)),
    "manifest": Parser(
        damaged(manifest_sample()).map(lambda value: yaml.safe_dump(_plain(value)).encode()),
        plainly(lambda data: read_manifest(data, "manifest.yaml")),
        ConfigurationError,
    ),
    "proxy": Parser(_HEADS, proxy_head),
}


def _plain(value: Any) -> Any:
    """As YAML can write it."""
    return json.loads(json.dumps(value).replace("\\ud800", "?"))


def fuzz(parser: Parser, scratch: Path, examples: int) -> None:
    with parser.opened(scratch) as read:

        @settings(max_examples=examples, suppress_health_check=list(HealthCheck))
        @given(parser.given)
        def try_one(raw: Any) -> None:
            try:
                read(raw)
            except parser.refuses:
                return

        try_one()


@pytest.mark.parametrize("name", PARSERS)
def test_anything_is_understood_or_refused(name: str, scratch: Path) -> None:
    fuzz(PARSERS[name], scratch, 30)


@pytest.mark.long
@pytest.mark.parametrize("name", PARSERS)
def test_anything_is_understood_or_refused_at_length(name: str, scratch: Path) -> None:
    fuzz(PARSERS[name], scratch, 2000)
