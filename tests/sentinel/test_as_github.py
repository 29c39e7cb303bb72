"""The GitHub of our tests answers, and our client asks, as GitHub's own description has it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from kingdom.clients.github import GitHub, LineComment
from kingdom.clients.github_faults import GitHubLater, GitHubRefused
from kingdom.store.paths import BaseDir
from tests.support import prism
from tests.support.github_scene import Scene
from tests.support.kingdom import MovableClock
from tests.support.notifications import BEGAN, Notifying
from tests.support.prism import Prism

pytestmark = pytest.mark.long


@pytest.fixture
def hub() -> Iterator[Notifying]:
    with Notifying() as made:
        yield made


@pytest.fixture
def judge(hub: Notifying, tmp_path: Path) -> Iterator[Prism]:
    with prism.before(hub.url, tmp_path) as made:
        hub.front = made.url
        yield made


@pytest.fixture
def scene(base: BaseDir, hub: Notifying, judge: Prism) -> Iterator[Scene]:
    made = Scene(base, hub, MovableClock(BEGAN + timedelta(hours=3)))
    yield made
    made.close()


def test_rounds_of_the_watcher(scene: Scene, hub: Notifying, judge: Prism) -> None:
    scene.options["mark_read"] = True
    for number in range(1, 121):
        hub.notify(number, kind="Issue", reason="subscribed")
    hub.pull(201)
    hub.notify(201)
    hub.pull(202, head_repo="eve/web", association="FIRST_TIME_CONTRIBUTOR")
    hub.notify(202)
    hub.issue(203)
    link = hub.comment(203, 9, by="eve")
    hub.notify(203, kind="Issue", reason="mention", subject={"latest_comment_url": link})
    assert scene.look() == 123, judge.verdict("/notifications")
    assert scene.look() == 0
    scene.look()
    assert scene.look() == 0
    assert hub.listings[-1]["same"]
    assert judge.complaints() == []
    found = [scene.events()[f"evt-github-{number}"] for number in (1201, 1202, 1203)]
    assert [one["trust"] for one in found] == ["member", "fork", "outside"]
    assert found[0]["payload"]["head_sha"] == f"{201:040x}"
    assert len(hub.marked) == 123


def test_what_generals_post(hub: Notifying, judge: Prism) -> None:
    client = GitHub(hub.token, hub.url, pace=(0, 0), timeout=30)
    try:
        assert client.repository("acme/web")
        assert client.patches("acme/web", 7)
        remark = LineComment("app.py", 2, "RIGHT", "Why?")
        review = client.add_review(
            "acme/web", 7, event="COMMENT", body="Well.", comments=[remark], commit="c" * 40
        )
        comment = client.add_comment("acme/web", 7, "Done.")
        opened = {"head": "topic", "base": "main", "title": "It", "body": "Is so.", "draft": True}
        pull = client.open_pull("acme/web", **opened)
        with pytest.raises(GitHubRefused, match="already exists"):
            client.open_pull("acme/web", **opened)
        assert client.is_mine(review)
        assert list(client.reviews("acme/web", 7)) == [review]
        assert list(client.comments("acme/web", 7, BEGAN - timedelta(days=999))) == [comment]
        assert list(client.pulls_from("acme/web", "topic")) == [pull]
    finally:
        client.close()
    assert judge.complaints() == []


def test_what_does_not_fit_is_noticed(scene: Scene, hub: Notifying, judge: Prism) -> None:
    thread = hub.notify(1)
    del hub.threads[thread]["subscription_url"]
    with pytest.raises(GitHubLater):
        scene.look()
    assert judge.complaints() == ["get /notifications"]
    assert "must have required property 'subscription_url'" in judge.verdict("/notifications")
    assert "must be integer" in judge.verdict("/notifications?per_page=many")
