"""An answer that comes byte by byte and never to its end: it is given up, told, and asked anew.

The deadline is short, so that these tests are. On a busy machine a good answer may miss it, too,
and is asked for again.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TypeVar

import pytest

from kingdom.clients.github import GitHub
from kingdom.clients.github_faults import GitHubLater, GitHubRefused
from kingdom.clients.jira import Jira
from kingdom.clients.jira_faults import JiraLater
from kingdom.runtime.role import Setting
from kingdom.sentinel.post import OK, TROUBLE, Post
from kingdom.sentinel.watcher import Watcher
from kingdom.sentinel.watchers.github import GitHubWatcher
from kingdom.sentinel.watchers.jira import TicketWatcher
from kingdom.settings.sentinel import GithubWatcher, JiraWatcher
from kingdom.store.paths import BaseDir
from tests.support.certificates import self_signed
from tests.support.jira_server import FakeJira
from tests.support.jira_watch import JQL, MINE
from tests.support.kingdom import MovableClock
from tests.support.lookout import events, setting
from tests.support.loopback import Fault, Loopback
from tests.support.notifications import BEGAN, Notifying
from tests.support.waiting import PATIENCE, eventually, let_pass

DEADLINE = 1.0
LATE = "did not answer to the end within 1 seconds."
Answered = TypeVar("Answered")
PARTS = pytest.mark.parametrize("part", ["head", "body"])


def drips(place: Loopback, verb: str, path: str, part: str, **headers: str) -> None:
    place.faults = [Fault(verb, path, drip=part, status=200, body="x", headers=headers)]


def answered(ask: Callable[[], Answered]) -> Answered:
    found: list[Answered] = []

    def is_there() -> bool:
        try:
            found.append(ask())
        except (GitHubLater, JiraLater) as late:
            if LATE not in late.sentence:
                raise
        return bool(found)

    eventually(is_there, "an answer")
    return found[0]


@contextmanager
def hub_at(url: str, token: str = "ghp_none", deadline: float = DEADLINE) -> Iterator[GitHub]:
    hub = GitHub(token, url, pace=(0, 0), timeout=30, deadline=deadline)
    try:
        yield hub
    finally:
        hub.close()


@PARTS
@pytest.mark.parametrize("ends", ["keep-alive", "close"])
def test_github_is_given_up_and_can_be_asked_again(part: str, ends: str) -> None:
    with Notifying() as place, hub_at(place.url, place.token) as hub:
        assert answered(lambda: hub.look("/notifications")).data == []
        drips(place, "GET", "/notifications", part, Connection=ends)
        with pytest.raises(GitHubLater, match=LATE) as caught:
            hub.look("/notifications")
        assert not caught.value.undone
        assert place.token not in repr(caught.value)
        assert caught.value.__context__ is None
        assert answered(lambda: hub.look("/notifications")).data == []


def test_an_encrypted_one_too(scratch: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    context, shown = self_signed(scratch)
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(shown))
    place = Notifying()
    place.secure(context)
    with place, hub_at(place.url, place.token) as hub:
        drips(place, "GET", "/notifications", "body")
        with pytest.raises(GitHubLater, match=LATE):
            hub.look("/notifications")
        assert answered(lambda: hub.look("/notifications")).data == []


def test_one_that_drips_before_anything_is_encrypted() -> None:
    is_over = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def handshake() -> None:
            line, _ = listening.accept()
            with line:
                line.sendall(b"\x16\x03\x03\x40\x00")  # so much will come
                while not is_over.wait(0.02):
                    try:
                        line.sendall(b"x")
                    except OSError:
                        return

        server = threading.Thread(target=handshake)
        server.start()
        with hub_at(f"https://127.0.0.1:{listening.getsockname()[1]}") as hub:
            try:
                with pytest.raises(GitHubLater, match=LATE):
                    hub.look("/notifications")
            finally:
                is_over.set()
                server.join()


@PARTS
def test_jira_is_given_up_and_can_be_asked_again(part: str) -> None:
    with FakeJira() as place:
        place.create("SHOP-1")
        jira = Jira(place.url, MINE, deadline=DEADLINE)
        try:
            answered(jira.site)
            drips(place, "POST", "search", part)
            with pytest.raises(JiraLater, match=LATE) as caught:
                jira.search(JQL, ["summary"])
            assert caught.value.__context__ is None
            assert len(answered(lambda: jira.search(JQL, ["summary"])).issues) == 1
        finally:
            jira.close()


# What people are told of it


def of_github(setting: Setting, place: Notifying) -> Watcher:
    hub = GitHub(place.token, place.url, pace=(0, 0), deadline=DEADLINE)
    return GitHubWatcher(GithubWatcher(api_url=place.url), setting, hub)


def of_jira(setting: Setting, place: FakeJira) -> Watcher:
    jira = Jira(place.url, MINE, deadline=DEADLINE)
    return TicketWatcher(JiraWatcher(url=place.url), setting, jira)


def is_told_and_looked_for_again(base: BaseDir, make: Callable[[Setting], Watcher]) -> None:
    clock = MovableClock(BEGAN + timedelta(hours=1))
    given = setting(base, clock)
    post = Post("any", 60.0, lambda: make(given), given)

    def comes_to(state: str) -> bool:
        post.step()
        return post.standing.last_look is not None and post.standing.state == state

    try:
        eventually(lambda: comes_to(TROUBLE), "the trouble is told")
        assert LATE in post.standing.sentence
        assert "very slow" in post.standing.remedy
        eventually(
            lambda: comes_to(OK),
            "a later round",
            meanwhile=lambda seconds: (clock.advance(60), let_pass(seconds)),
            told=lambda: post.standing.sentence,
        )
        assert len(events(base)) == 1
    finally:
        post.close()
        given.bus.close()


def test_the_github_watcher_tells_it_and_looks_again(base: BaseDir) -> None:
    with Notifying() as place:
        place.notify(1)
        drips(place, "GET", "/notifications", "body")
        is_told_and_looked_for_again(base, lambda given: of_github(given, place))


def test_the_jira_watcher_tells_it_and_looks_again(base: BaseDir) -> None:
    with FakeJira() as place:
        place.create("SHOP-1", place.now - timedelta(minutes=5))
        drips(place, "POST", "search", "body")
        is_told_and_looked_for_again(base, lambda given: of_jira(given, place))


def test_an_answer_that_is_never_ready_is_asked_for_once() -> None:
    with Notifying() as place, hub_at(place.url, place.token, PATIENCE) as hub:
        place.faults = [Fault("GET", status=202, body="{}", left=9)]
        with pytest.raises(GitHubLater, match="not ready"):
            hub.look("/notifications")
        assert len(place.asked) == 1


def test_an_answer_that_leads_in_circles_is_not_followed_for_ever() -> None:
    with Notifying() as place, hub_at(place.url, place.token, PATIENCE) as hub:
        for here, there in (("/a", "/b"), ("/b", "/a")):
            moved = {"Location": f"{place.url}{there}"}
            place.faults.append(Fault("GET", f"^{here}$", status=301, headers=moved, left=99))
        for _ in range(2):
            place.asked.clear()
            with pytest.raises(GitHubRefused, match="leads nowhere"):
                hub.look("/a")
            assert len(place.asked) == 6
        assert hub.look("/notifications").data == []
