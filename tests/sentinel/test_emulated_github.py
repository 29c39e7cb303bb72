"""The watcher's details, and what generals do, at a GitHub that others have made."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from kingdom.clients.github import GitHub, Repository
from kingdom.models.event import Event
from kingdom.sentinel.watchers.github import GitHubWatcher
from kingdom.settings.sentinel import GithubWatcher
from kingdom.store.paths import BaseDir
from tests.support import github_objects as objects
from tests.support.emulated_github import ANN, EVE, Emulated, emulated
from tests.support.github_scene import trust_in
from tests.support.kingdom import MovableClock
from tests.support.lookout import Lookout

pytestmark = pytest.mark.long
REPO = "acme/web"


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Emulated]:
    with emulated(tmp_path) as made:
        yield made


@pytest.fixture
def client(hub: Emulated) -> Iterator[GitHub]:
    made = GitHub(ANN, hub.url, pace=(0, 0), timeout=30)
    yield made
    made.close()


@pytest.fixture
def completed(base: BaseDir, hub: Emulated, client: GitHub) -> Iterator[Callable[..., Event]]:
    """The event that a notification of this subject becomes."""
    with ExitStack() as stack:
        settings = GithubWatcher(api_url=hub.url)
        trust_in(base, organisations=["acme"])
        lookout = Lookout(
            base, MovableClock(), lambda setting: GitHubWatcher(settings, setting, client)
        )
        stack.callback(lookout.close)

        def complete(kind: str, path: str, reason: str, comment: str = "") -> Event:
            address = f"{hub.url}/repos/{REPO}"
            subject = {"title": "It", "type": kind, "url": f"{address}{path}"}
            subject["latest_comment_url"] = f"{address}{comment or path}"
            told = {"reason": reason, "updated_at": "2026-11-15T08:00:00Z", "subject": subject}
            raw = objects.thread(hub.url, "7001", REPO, **told)
            event = lookout.watcher.complete(lookout.watcher.parse(raw)).event
            assert event is not None
            return event

        yield complete


def test_details_of_a_pull_request(hub: Emulated, completed: Callable[..., Event]) -> None:
    sha = hub.commit(REPO, "topic")
    pull = hub.ask("POST", f"/repos/{REPO}/pulls", head="topic", base="main", title="It")
    event = completed("PullRequest", f"/pulls/{pull['number']}", "review_requested")
    assert (event.type, event.trust) == ("github.pr.review_requested", "member")
    told = event.payload
    assert (told["number"], told["author"], told["state"]) == (pull["number"], "ann", "open")
    assert (told["head_sha"], told["head_branch"], told["base_branch"]) == (sha, "topic", "main")
    assert told["url"] == pull["html_url"]


def test_one_from_a_fork(hub: Emulated, completed: Callable[..., Event]) -> None:
    fork = hub.ask("POST", f"/repos/{REPO}/forks", EVE)["full_name"]
    sha = hub.commit(fork, "topic", EVE)
    given = {"head": "eve:topic", "base": "main", "title": "It"}
    pull = hub.ask("POST", f"/repos/{REPO}/pulls", EVE, **given)
    event = completed("PullRequest", f"/pulls/{pull['number']}", "review_requested")
    assert (event.trust, event.payload["author"]) == ("fork", "eve")
    assert event.payload["head_sha"] == sha


def test_an_issue_and_who_comments_on_it(hub: Emulated, completed: Callable[..., Event]) -> None:
    number = hub.ask("POST", f"/repos/{REPO}/issues", title="It")["number"]
    assert completed("Issue", f"/issues/{number}", "assign").trust == "member"
    comments = f"/repos/{REPO}/issues/{number}/comments"
    id_ = hub.ask("POST", comments, EVE, body="@ann, see?")["id"]
    event = completed("Issue", f"/issues/{number}", "mention", f"/issues/comments/{id_}")
    assert (event.trust, event.payload["by"], event.payload["author"]) == ("outside", "eve", "ann")


def test_what_generals_do(hub: Emulated, client: GitHub) -> None:
    hub.commit(REPO, "topic")
    assert client.repository(REPO) == Repository(REPO, "main")
    given = {"head": "topic", "base": "main", "title": "It", "body": "Is so.", "draft": False}
    pull = client.open_pull(REPO, **given)
    assert list(client.pulls_from(REPO, "topic")) == [pull]
    number = int(pull.url.rpartition("/")[2])
    review = client.add_review(REPO, number, event="COMMENT", body="Well.", comments=[])
    assert list(client.reviews(REPO, number)) == [review]
    comment = client.add_comment(REPO, number, "Done.")
    assert list(client.comments(REPO, number, None)) == [comment]
    assert client.is_mine(review)
    assert client.is_mine(comment)
