"""One of Slack's methods fails for good: what the envelope and own state can tell is taken at once
all the same, what can be sent is sent, and it is said which call fails."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from kingdom.clients import slack as client
from kingdom.clients.slack_calls import UPLOAD
from kingdom.errors import KingdomError
from kingdom.ops.slack_app import trial
from kingdom.runtime.processes import Seat
from kingdom.store.formats import write_format
from kingdom.store.paths import BaseDir
from tests.support.cli import kingdom
from tests.support.envoy import Life, publish, question, start
from tests.support.kingdom import MovableClock, counts, message
from tests.support.slack_life import ENVIRONMENT, WITH_SOCKET, configure
from tests.support.slack_scene import STRANGER, Scene
from tests.support.slack_server import FakeSlack, Fault
from tests.support.slack_workspace import BOT, OWNER
from tests.support.waiting import eventually

# Every method that the envoy calls, and how it is named.
METHODS = {
    name: name
    for name in (
        "auth.test", "chat.postMessage", "chat.update", "conversations.history",
        "conversations.list", "conversations.open", "conversations.replies",
        "files.completeUploadExternal", "files.getUploadURLExternal", "reactions.add",
        "reactions.remove", "usergroups.users.list", "users.conversations", "users.info",
    )
} | {"api.test|users.conversations": "users.conversations", "upload": UPLOAD}  # fmt: skip
FAILURES: dict[str, dict[str, Any]] = {
    "404": {"status": 404, "body": "<html>Not found</html>"},
    "html": {"status": 200, "body": "<html>Log in to the network</html>"},
    "unknown": {"error": "unknown_method"},
    "scope": {"error": "missing_scope"},
    "not for this token": {"error": "not_allowed_token_type"},
    "limit": {"status": 429, "headers": {"Retry-After": "60"}},
    "broken": {"lost": "before"},
    "hang": {"lost": "hang"},
}
MET = (("404", "hang"), ("scope", "limit"))  # by turns, so that each is met by half of the methods
# An upload is no method. Whether the token is accepted at all is what auth.test says. What stands
# in place of Slack may lack two methods; a Slack that fails in both is simply down.
_BOTH = "api.test|users.conversations"
NONE_SUCH = {
    *(("upload", one) for one in ("html", "unknown", "scope", "not for this token")),
    *((_BOTH, one) for one in FAILURES if one not in ("404", "unknown")),
    ("auth.test", "not for this token"),
}
# What was learned from the answer to a message is not asked for again.
MET_ONCE = {(one, "limit") for one in ("conversations.list", "conversations.open")}
NOT_TRIED = ("files.completeUploadExternal",)  # people would see the file
MEMBER = "U0MEMBER"


def wait_briefly_if_it_hangs(monkeypatch: pytest.MonkeyPatch, failure: str) -> None:
    """Otherwise a busy machine has all the time that Slack has."""
    monkeypatch.setattr(client, "TIMEOUT", 0.2 if failure == "hang" else 15)


@pytest.fixture
def scene(
    base: BaseDir, server: FakeSlack, live: Callable[..., Life], clock: MovableClock
) -> Scene:
    server.groups["S0TEAM"] = [MEMBER]
    server.users[MEMBER] = {"id": MEMBER, "name": "bob", "is_bot": False}
    configure(base, server, allowed=("S0TEAM", "C0KINGDOM"))
    return Scene(base, server, lambda: live(environment=WITH_SOCKET), listens=True)


class Numbers:
    """Of messages and tasks, each once."""

    def __init__(self) -> None:
        self.last = 0

    def next(self) -> dict[str, Any]:
        self.last += 1
        return {"id": f"msg-20260207-{self.last:04d}", "task_id": f"task-20260207-{self.last:04d}"}


def asks(scene: Scene, numbers: Numbers, **fields: Any) -> dict[str, Any]:
    """The message that asks, as it stands in Slack."""
    publish(scene.base, question(**numbers.next(), **fields))
    before = len(scene.server.in_channel())
    until(scene, lambda: len(scene.server.in_channel()) > before, "it is asked")
    return scene.server.in_channel()[before]


def until(scene: Scene, condition: Callable[[], Any], what: str) -> None:
    """Not a moment passes by the envoy's clock."""

    def holds() -> Any:
        scene.life.go()
        return condition()

    eventually(holds, what)


def texts_heard(scene: Scene) -> list[str]:
    return sorted(str(one["payload"]["text"]) for one in scene.events())


def calls(scene: Scene) -> str:
    path = Path(scene.base.path("state/envoy/transport.json"))
    found = json.loads(path.read_text()) if path.exists() else {}
    return " ".join(one["sentence"] for one in found.get("calls", ()))


def forget_events(scene: Scene) -> None:
    for path in Path(scene.base.path("queue/events/pending")).glob("*.json"):
        path.unlink()


def by_method() -> list[Any]:
    """Each method with the failures that it meets in turn; the rest takes long."""
    cases = []
    for place, method in enumerate(METHODS):
        met = MET[place % 2]
        rest = tuple(one for one in FAILURES if one not in met)
        cases += [(method, met), pytest.param(method, rest, marks=pytest.mark.long)]
    return cases


@pytest.mark.parametrize(("method", "failures"), by_method(), ids=str)
def test_a_call_that_fails_for_good_keeps_nobody(
    scene: Scene,
    clock: MovableClock,
    monkeypatch: pytest.MonkeyPatch,
    method: str,
    failures: tuple[str, ...],
) -> None:
    numbers = Numbers()
    there_are = [one for one in failures if (method, one) not in NONE_SUCH]
    assert there_are
    for failure in there_are:
        wait_briefly_if_it_hangs(monkeypatch, failure)
        how = FAILURES[failure]
        scene.begin()
        threads = asks(scene, numbers), asks(scene, numbers, options=["main", "next"])
        scene.server.faults.append(Fault(method, **how, left=1_000_000))
        scene.begin()
        is_heard(scene, *threads, failure)
        is_sent(scene, numbers, clock, method)
        assert METHODS[method] in calls(scene) or (method, failure) in MET_ONCE, failure
        if method not in NOT_TRIED:
            with pytest.raises(KingdomError, match=METHODS[method]):
                list(trial(scene.base, ENVIRONMENT, clock))
        scene.server.faults.clear()
        scene.server.released.set()
        clock.advance(400)
        if method != "usergroups.users.list" or "error" not in how:  # else nobody is in the group
            until(scene, lambda: "of the team" in texts_heard(scene), "it is judged later")
        scene.server.released.clear()
        forget_events(scene)


def is_heard(scene: Scene, open_: Any, with_buttons: Any, failure: str) -> None:
    """By a new line, without a moment passing. Who is in the group, only Slack can tell."""
    server = scene.server
    server.says("C0DEV", f"<@{BOT}> of the team", user=MEMBER)
    said = [
        server.says("C0KINGDOM", "first", user=STRANGER, thread_ts=open_["ts"]),
        server.presses(with_buttons, 2),
        server.says("D0OWNER", "hello"),
        server.says("C0DEV", f"<@{BOT}> look"),
    ]
    until(scene, lambda: set(said) <= set(server.lines.acknowledged), f"{failure}: all is heard")
    assert {"first", "next", "hello", "look"} <= set(texts_heard(scene)), failure


def is_sent(scene: Scene, numbers: Numbers, clock: MovableClock, method: str) -> None:
    """To a channel, to a person, with a file and about a task that has ended."""
    ends = numbers.next()
    attaches = method.startswith(("files", "upload"))
    publish(
        scene.base,
        start(**ends),
        message(9, **(ends | {"id": numbers.next()["id"]}), context={"final": True}),
        start(**numbers.next(), channel=OWNER),
        *([start(**numbers.next(), content="x" * 40_000)] if attaches else []),
    )
    for _ in range(3):
        scene.life.go()
        clock.advance(61)
    if method != "chat.postMessage":
        assert counts(scene.base).get("messages/pending", 0) == 0
        assert counts(scene.base).get("messages/dead", 0) == 0


@pytest.mark.parametrize("failure", [*MET[0], *MET[1]])
def test_without_a_line_for_good_it_looks_and_says_so(
    scene: Scene, clock: MovableClock, monkeypatch: pytest.MonkeyPatch, failure: str
) -> None:
    wait_briefly_if_it_hangs(monkeypatch, failure)
    method = "apps.connections.open"
    scene.server.faults.append(Fault(method, **FAILURES[failure], left=1_000_000))
    scene.listens = False
    scene.begin()
    transport = scene.life.envoy._transport

    def says_so() -> bool:
        clock.advance(20)
        scene.life.go()
        return method in str(transport.trouble())

    eventually(says_so, "it is said")
    numbers = Numbers()
    asked = asks(scene, numbers, options=["main", "next"])
    assert not [one for one in asked["blocks"] if one["type"] == "actions"], (
        "nobody would hear them"
    )
    scene.server.said("C0KINGDOM", "main", thread_ts=asked["ts"])
    scene.server.said("D0OWNER", "hello")
    clock.advance(30)
    until(scene, lambda: texts_heard(scene) == ["hello", "main"], "it is heard by looking")


@pytest.mark.parametrize("failure", [*MET[0], *MET[1]])
@pytest.mark.parametrize(
    "method", ["conversations.list", "conversations.open", "conversations.replies", "users.info"]
)
def test_by_looking_is_heard_what_the_other_calls_show(
    scene: Scene,
    live: Callable[..., Life],
    clock: MovableClock,
    monkeypatch: pytest.MonkeyPatch,
    method: str,
    failure: str,
) -> None:
    """A thread has news that cannot be read, or a person's channel cannot be had: others can."""
    wait_briefly_if_it_hangs(monkeypatch, failure)
    polled = Scene(scene.base, scene.server, lambda: live(environment=ENVIRONMENT), listens=False)
    polled.begin()
    asked = asks(polled, Numbers())
    polled.begin()
    server = scene.server
    server.faults.append(Fault(method, **FAILURES[failure], left=1_000_000))
    server.said("C0KINGDOM", "main", thread_ts=asked["ts"])
    server.said("C0KINGDOM", f"<@{BOT}> look")
    server.said("D0OWNER", "hello")
    for _ in range(3):
        clock.advance(30)
        polled.life.go()
    assert {"hello", "look"} <= set(texts_heard(polled))
    server.faults.clear()
    server.released.set()
    for _ in range(3):
        clock.advance(100)
        polled.life.go()
    assert texts_heard(polled) == ["hello", "look", "main"]


def test_status_and_doctor_name_the_call_and_what_to_do(scene: Scene, clock: MovableClock) -> None:
    write_format(scene.base)
    scene.server.scopes -= {"reactions:write"}
    scene.server.faults.append(Fault("users.conversations", **FAILURES["404"], left=1_000_000))
    scene.begin()
    scene.ask()
    with closing(Seat(scene.base, "envoy").take()):
        status = kingdom("status", base=scene.base, env=WITH_SOCKET)
        doctor = kingdom("doctor", base=scene.base, env=WITH_SOCKET)
    for said in (status, doctor):
        assert "lacks a scope: reactions:write (for reactions.add)" in said.out
        assert "OAuth & Permissions" in said.out
        assert "Slack has trouble with users.conversations: it answers with 404" in said.out
        assert "check slack.api_url" in said.out
