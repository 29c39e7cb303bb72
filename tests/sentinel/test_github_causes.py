"""Who caused what a notification of GitHub's tells of, and what it therefore is."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.support.github_scene import Scene
from tests.support.loopback import Fault
from tests.support.notifications import BEGAN, Notifying


def told(scene: Scene, number: int = 5) -> list[tuple[str, str, str]]:
    """Of one subject's events, oldest first: type, priority, trust."""
    found = [one for one in scene.events().values() if one["payload"]["number"] == number]
    found.sort(key=lambda one: str(one["payload"]["updated_at"]))
    return [(one["type"], one["priority"], one["trust"]) for one in found]


@pytest.mark.parametrize(
    ("kind", "reason", "word"),
    [
        ("PullRequest", "review_requested", "pr.review_requested"),
        ("PullRequest", "assign", "pr.assigned"),
        ("Issue", "assign", "issue.assigned"),
    ],
)
def test_a_thread_keeps_its_reason_and_what_is_said_there_later_is_a_comment(
    scene: Scene, hub: Notifying, kind: str, reason: str, word: str
) -> None:
    hub.issue(5) if kind == "Issue" else hub.pull(5)
    hub.notify(5, kind=kind, reason=reason)
    scene.look()
    link = hub.comment(5, 9, by="eve")
    hub.notify(5, kind=kind, reason="comment", subject={"latest_comment_url": link})
    scene.look()
    (later,) = [one for id_, one in scene.events().items() if id_ != "evt-github-1005"]
    assert later["payload"]["reason"] == reason
    assert later["payload"]["by"] == "eve"
    comment = (f"github.{word.partition('.')[0]}.comment", "low", "outside")
    assert told(scene) == [(f"github.{word}", "normal", "member"), comment]
    hub._moments += timedelta(minutes=10)
    hub.notify(5, kind=kind, reason=reason, subject={"latest_comment_url": link})
    scene.look()  # the comment is old: it is asked for once more
    assert told(scene)[2] == (f"github.{word}", "normal", "outside")


@pytest.mark.parametrize(
    ("wanted", "type_"),
    [
        ({"requested_reviewers": [{"login": "kingdom-bot"}]}, "github.pr.review_requested"),
        ({"requested_teams": [{"slug": "core"}]}, "github.pr.review_requested"),
        ({"requested_reviewers": [{"login": "ann"}]}, "github.pr.comment"),
    ],
)
def test_a_review_that_is_asked_for_again_together_with_a_comment_is_not_missed(
    scene: Scene, hub: Notifying, wanted: dict[str, object], type_: str
) -> None:
    hub.pull(5)
    hub.notify(5)
    scene.look()
    hub.pull(5, **wanted)
    link = hub.comment(5, 9, by="ann", association="MEMBER")
    hub.notify(5, subject={"latest_comment_url": link})
    scene.look()
    assert [one for one, _, _ in told(scene)] == ["github.pr.review_requested", type_]


@pytest.mark.parametrize("is_short", [False, True])
def test_where_the_comment_cannot_be_asked_for_the_reason_tells(
    scene: Scene, hub: Notifying, is_short: bool
) -> None:
    hub.pull(5)
    hub.notify(5)
    scene.look()
    gone = f"{hub.url}/repos/acme/web/issues/comments/10"
    hub.notify(5, subject={"latest_comment_url": gone})
    if is_short:
        hub.left = 400
    scene.look()
    trust = "outside" if is_short else "member"
    assert told(scene)[1] == ("github.pr.review_requested", "normal", trust)


def test_of_several_comments_between_two_looks_the_least_trusted_author_counts(
    scene: Scene, hub: Notifying
) -> None:
    hub.pull(5)
    scene.look()
    hub.comment(5, 7, by="eve", at=BEGAN - timedelta(hours=1))  # which was read long ago
    link = hub.comment(5, 8, by="ann", association="MEMBER")
    hub.notify(5, reason="mention", subject={"latest_comment_url": link})
    scene.look()
    hub._moments += timedelta(minutes=10)
    scene.look()
    hub.comment(5, 9, by="eve")
    hub.comment(5, 10, by=str(hub.login))
    link = hub.comment(5, 11, by="ann", association="MEMBER")
    hub.notify(5, subject={"latest_comment_url": link})
    scene.look()
    hub._moments += timedelta(minutes=10)
    scene.look()
    hub.comment(5, 12, by=str(hub.login))
    link = hub.comment(5, 13, by="ann", association="MEMBER")
    hub.notify(5, subject={"latest_comment_url": link})
    scene.look()
    assert [trust for _, _, trust in told(scene)] == ["member", "outside", "member"]


@pytest.mark.parametrize("fault", ["too many", "refused"])
def test_comments_that_are_not_all_known_make_nobody_a_member(
    scene: Scene, hub: Notifying, fault: str
) -> None:
    hub.pull(5)
    scene.look()
    many = 100 if fault == "too many" else 1
    links = [hub.comment(5, 20 + one, by="ann", association="MEMBER") for one in range(many)]
    if fault == "refused":
        hub.faults.append(Fault("GET", path="/issues/5/comments", status=403, body="{}"))
    hub.notify(5, reason="mention", subject={"latest_comment_url": links[-1]})
    scene.look()
    assert scene.only()["trust"] == "outside"
    assert sum("/issues/5/comments" in one for one in hub.asked) == 1


def test_a_mention_that_names_no_comment_is_the_author_s_at_the_opening_only(
    scene: Scene, hub: Notifying
) -> None:
    for number, age in ((5, timedelta(seconds=40)), (6, timedelta(hours=1))):
        hub.pull(number, created_at=f"{BEGAN - age:%Y-%m-%dT%H:%M:%SZ}")
        hub.notify(number, reason="mention")
    scene.look()
    for number in (5, 6):
        hub.notify(number)
    scene.look()
    assert [trust for _, _, trust in told(scene, 5)] == ["member", "member"]
    assert [trust for _, _, trust in told(scene, 6)] == ["outside", "outside"]


@pytest.mark.parametrize(
    ("author", "commenter", "by_bot"),
    [
        ("renovate[bot]", "ann", False),
        ("ann", "renovate[bot]", True),
        ("renovate[bot]", "kingdom-bot", True),  # it pushed after we had commented
        ("ann", "kingdom-bot", False),
    ],
)
def test_who_caused_it_tells_whether_a_bot_did(
    scene: Scene, hub: Notifying, author: str, commenter: str, by_bot: bool
) -> None:
    hub.pull(5, user={"login": author})
    link = hub.comment(5, 9, by=commenter)
    hub.notify(5, reason="mention", subject={"latest_comment_url": link})
    scene.look()
    assert scene.only()["payload"]["by_bot"] is by_bot
