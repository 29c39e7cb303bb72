"""The GitHub watcher against a server that behaves as GitHub says it does."""

from __future__ import annotations

import json
import os
from datetime import datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest

from kingdom.clients.github_faults import GitHubLater, GitHubLimited, GitHubRefused
from kingdom.errors import KingdomError
from kingdom.sentinel.record import left_alone
from kingdom.settings.sentinel import GithubScope
from kingdom.store.paths import BaseDir
from tests.support.github_scene import Scene
from tests.support.kingdom import MovableClock
from tests.support.lookout import detected, events, forget, work_off
from tests.support.loopback import Fault
from tests.support.notifications import BEGAN, Notifying

# What an event says


def test_a_review_request_becomes_an_event_with_all_that_is_known(
    scene: Scene, hub: Notifying
) -> None:
    hub.pull(42)
    hub.notify(42, thread="7001")
    assert scene.look() == 1
    event = scene.only()
    assert event["id"] == "evt-github-7001"
    assert (event["type"], event["source"]) == ("github.pr.review_requested", "github")
    assert (event["repo"], event["priority"], event["trust"]) == ("acme/web", "normal", "member")
    payload = event["payload"]
    assert payload["updated_at"] == "2026-11-15T08:00:01.000Z"
    assert payload == {
        "reason": "review_requested",
        "title": "Change number 42",
        "number": 42,
        "url": "https://github.example/acme/web/pull/42",
        "api_url": f"{hub.url}/repos/acme/web/pulls/42",
        "updated_at": payload["updated_at"],
        "subject_type": "PullRequest",
        "thread_id": "7001",
        "author": "ann",
        "state": "open",
        "draft": False,
        "by_bot": False,
        "head_sha": f"{42:040x}",
        "head_branch": "topic",
        "base_branch": "main",
    }
    assert detected(scene.base) == ["evt-github-7001"]


@pytest.mark.parametrize(
    ("kind", "reason", "type_", "priority"),
    [
        ("PullRequest", "review_requested", "github.pr.review_requested", "normal"),
        ("PullRequest", "assign", "github.pr.assigned", "normal"),
        ("PullRequest", "mention", "github.pr.mentioned", "normal"),
        ("PullRequest", "team_mention", "github.pr.mentioned", "normal"),
        ("PullRequest", "comment", "github.pr.comment", "low"),
        ("PullRequest", "state_change", "github.pr.state_change", "low"),
        ("PullRequest", "author", "github.notification.author", "low"),
        ("Issue", "assign", "github.issue.assigned", "normal"),
        ("Issue", "mention", "github.issue.mentioned", "normal"),
        ("Issue", "comment", "github.issue.comment", "low"),
        ("Issue", "state_change", "github.issue.state_change", "low"),
        ("Issue", "subscribed", "github.notification.subscribed", "low"),
        ("Discussion", "mention", "github.notification.mention", "low"),
        ("CheckSuite", "ci_activity", "github.notification.ci_activity", "low"),
        ("Release", "subscribed", "github.notification.subscribed", "low"),
    ],
)
def test_types_and_priorities(
    scene: Scene, hub: Notifying, kind: str, reason: str, type_: str, priority: str
) -> None:
    hub.notify(5, kind=kind, reason=reason)
    assert scene.look() == 1
    assert (scene.only()["type"], scene.only()["priority"]) == (type_, priority)


BOT = {"login": "renovate[bot]", "type": "Bot"}


@pytest.mark.parametrize(
    ("pull", "trust"),
    [
        ({"association": "OWNER"}, "member"),
        ({"association": "COLLABORATOR"}, "member"),
        ({"association": "CONTRIBUTOR"}, "outside"),
        ({"association": "NONE"}, "outside"),
        ({"association": "MEMBER", "head_repo": "ann/web"}, "fork"),
        ({"association": "MEMBER", "head_repo": None}, "fork"),
        ({"association": "MEMBER", "user": BOT}, "bot"),
        ({"association": "NONE", "head_repo": "x/web", "user": BOT}, "bot"),
        ({"association": "MEMBER", "user": None}, "member"),
    ],
)
def test_trust_is_that_of_the_author_and_of_where_commits_come_from(
    scene: Scene, hub: Notifying, pull: dict[str, Any], trust: str
) -> None:
    hub.pull(5, **pull)
    hub.notify(5)
    scene.look()
    assert scene.only()["trust"] == trust
    assert scene.only()["payload"]["by_bot"] is (trust == "bot")


def test_who_mentions_us_counts_too_not_only_whose_pull_request_it_is(
    scene: Scene, hub: Notifying
) -> None:
    hub.pull(5)
    link = hub.comment(5, 9, by="eve")
    hub.notify(5, reason="mention", subject={"latest_comment_url": link})
    hub.notify(5, thread="8", reason="review_requested", subject={"latest_comment_url": link})
    scene.look()
    for one in ("1005", "8"):
        event = scene.events()[f"evt-github-{one}"]
        assert (event["trust"], event["payload"]["by"]) == ("outside", "eve")
        assert event["payload"]["comment_url"].endswith("#issuecomment-9")


@pytest.mark.parametrize(
    ("reason", "names_subject", "trust"),
    [
        ("mention", True, "member"),
        ("team_mention", True, "member"),
        ("mention", False, "outside"),
        ("comment", True, "outside"),
        ("comment", False, "outside"),
        ("state_change", True, "outside"),
        ("author", True, "outside"),
        ("subscribed", False, "outside"),
        ("review_requested", False, "member"),
        ("assign", True, "member"),
    ],
)
def test_where_nobody_knows_who_caused_it_nobody_is_a_member(
    scene: Scene, hub: Notifying, reason: str, names_subject: bool, trust: str
) -> None:
    hub.pull(5, created_at=f"{BEGAN:%Y-%m-%dT%H:%M:%SZ}")
    unnamed = {} if names_subject else {"latest_comment_url": None}
    hub.notify(5, reason=reason, subject=unnamed)
    scene.look()
    assert scene.only()["trust"] == trust


def test_a_comment_that_is_gone_makes_nobody_a_member(scene: Scene, hub: Notifying) -> None:
    hub.pull(5)
    gone = f"{hub.url}/repos/acme/web/issues/comments/10"
    hub.notify(5, reason="comment", subject={"latest_comment_url": gone})
    scene.look()
    assert scene.only()["trust"] == "outside"


def test_a_subject_that_was_deleted_is_an_event_all_the_same(scene: Scene, hub: Notifying) -> None:
    hub.notify(6)
    assert scene.look() == 1
    event = scene.only()
    assert event["trust"] == "outside"
    assert event["payload"]["url"] == "https://127.0.0.1/acme/web/pull/6"
    assert "head_sha" not in event["payload"]


def test_details_that_are_refused_are_logged_once_for_each_code(
    scene: Scene, hub: Notifying
) -> None:
    for number in range(4):
        hub.notify(number)
    os.makedirs(scene.base.path("logs"))
    hub.faults.append(Fault("GET", path="/pulls/2", status=451, body={"message": "No."}))
    assert scene.look() == 4
    lines = Path(scene.base.path("logs", "system.log")).read_text().splitlines()
    told = [line for line in lines if "github.refused" in line]
    assert [sum(f"status={one}" in line for line in told) for one in (404, 451)] == [1, 1]
    assert all("/pulls/" in line for line in told)
    assert len(told) == 2


def test_a_renamed_repository_is_followed(scene: Scene, hub: Notifying) -> None:
    hub.pull(7, repo="acme/site", head_repo="acme/site")
    hub.moved["acme/web"] = "acme/site"
    hub.notify(7, repo="acme/site", subject={"url": f"{hub.url}/repos/acme/web/pulls/7"})
    scene.look()
    assert (scene.only()["repo"], scene.only()["trust"]) == ("acme/site", "member")


def test_the_token_goes_to_no_other_host(scene: Scene, hub: Notifying) -> None:
    with Notifying() as other:
        hub.notify(8, subject={"url": f"{other.url}/repos/acme/web/pulls/8"})
        assert scene.look() == 1
        assert other.asked == []
    assert scene.only()["trust"] == "outside"


# Scope


def test_only_what_is_in_scope(scene: Scene, hub: Notifying) -> None:
    scene.options["scope"] = GithubScope(
        repos=["acme/*", "Else/One"], filter_reasons=["review_requested", "mention"]
    )
    hub.notify(1)
    hub.notify(2, repo="other/web")
    hub.notify(3, reason="subscribed")
    hub.notify(4, repo="ELSE/one", reason="mention")
    assert scene.look() == 2
    assert {one["repo"] for one in scene.events().values()} == {"acme/web", "ELSE/one"}


def test_what_is_taken_into_scope_later_is_found_as_far_as_the_overlap_reaches(
    scene: Scene, hub: Notifying
) -> None:
    scene.options["scope"] = GithubScope(repos=["acme/web"])
    hub.date = BEGAN + timedelta(hours=1)
    hub.notify(1, repo="acme/new", updated=BEGAN)
    hub.notify(2, repo="acme/new", updated=BEGAN + timedelta(hours=1))
    for _ in range(3):
        assert scene.look() == 0
    scene.reborn(scope=GithubScope(repos=["acme/*"]))
    assert scene.look() == 1
    assert list(scene.events()) == ["evt-github-1002"]


# Never twice, never missed


def test_a_listing_without_news_costs_one_request_and_no_quota(
    scene: Scene, hub: Notifying
) -> None:
    hub.pull(1)
    hub.notify(1)
    scene.look()
    scene.look()  # the address is another one now, so nothing can tell
    left, asked = hub.left, len(hub.asked)
    for _ in range(3):
        assert scene.look() == 0
    assert (hub.left, len(hub.asked)) == (left, asked + 3)
    assert all(one["same"] for one in hub.listings[-3:])


def test_news_leave_the_address_as_it_is_so_that_the_next_look_is_recognised(
    scene: Scene, hub: Notifying
) -> None:
    scene.look()
    scene.look()
    began = len(hub.listings)
    for number in range(5):
        hub.notify(number)
        assert (scene.look(), scene.look()) == (1, 0)
    later = hub.listings[began:]
    assert all("if-none-match" in one["headers"] for one in later)
    assert [one["same"] for one in later] == [False, True] * 5


def test_what_comes_in_the_second_of_the_last_news_or_late_is_found_at_the_next_look(
    scene: Scene, hub: Notifying
) -> None:
    hub.notify(1)
    scene.look()
    modified = hub.modified
    for number in range(2, 5):
        hub.notify(number, same_second=True)
        assert scene.look() == 1
    hub.notify(5, same_second=True, updated=modified - timedelta(minutes=8))
    assert scene.look() == 1
    assert hub.modified == modified


def test_the_address_moves_on_when_the_overlap_has_grown(scene: Scene, hub: Notifying) -> None:
    for minutes in range(0, 300, 10):
        hub.date = BEGAN + timedelta(minutes=minutes)
        hub.notify(minutes, updated=hub.date)
        assert scene.look() == 1
        assert scene.look() == 0
    addresses = {one["query"]["since"]: one for one in hub.listings if "since" in one["query"]}
    assert len(addresses) == 5
    for one in hub.listings:
        dated = "if-modified-since" in one["headers"]
        assert not dated or "if-none-match" in one["headers"]


def test_also_after_a_restart(scene: Scene, hub: Notifying) -> None:
    hub.notify(1)
    scene.look()
    scene.look()
    scene.reborn()
    left = hub.left
    assert scene.look() == 0
    assert hub.left == left
    assert hub.listings[-1]["same"]


def test_a_later_update_of_a_thread_is_another_event(scene: Scene, hub: Notifying) -> None:
    hub.notify(1, thread="55")
    scene.look()
    hub.notify(1, thread="55", reason="comment")
    scene.look()
    hub.notify(1, thread="55", reason="mention")
    scene.reborn()
    scene.look()
    assert set(scene.events()) == {
        "evt-github-55",
        "evt-github-55-20261115080002",
        "evt-github-55-20261115080003",
    }


def test_known_when_its_event_is_long_gone(scene: Scene, hub: Notifying) -> None:
    hub.notify(1)
    scene.look()
    assert work_off(scene.lookout.setting) == ["evt-github-1001"]
    forget(scene.base)
    hub.notify(2)
    assert scene.look() == 1
    assert list(scene.events()) == ["evt-github-1002"]


def test_with_its_notes_lost_nothing_is_lost(scene: Scene, hub: Notifying) -> None:
    """And nothing doubled as long as the event is there to tell which update it was."""
    hub.notify(1)
    scene.look()
    path = Path(scene.base.path("state", "sentinel", "github-state.json"))
    for damage in ("", "[]", '{"first": 3}', '{"cursor": "soon", "first": {}}'):
        path.write_text(damage)
        scene.reborn()
        assert scene.look() == 0
        hub.notify(1)  # it has news
        scene.reborn()
        assert scene.look() == 1
    assert len(scene.events()) == 5


def test_what_is_known_of_one_github_says_nothing_of_another(
    scene: Scene, hub: Notifying, base: BaseDir, clock: MovableClock
) -> None:
    hub.notify(1, updated=BEGAN + timedelta(minutes=90))
    scene.look()
    scene.look()
    scene.close()
    with Notifying() as other:
        other.notify(2)
        elsewhere = Scene(base, other, clock)
        assert elsewhere.look() == 1
        assert other.listings[0]["query"]["all"] == "false"
        assert not any(name.startswith("if-") for name in other.listings[0]["headers"])
        assert elsewhere.state["api_url"] == other.url
        elsewhere.close()


@pytest.mark.parametrize("gone", [False, True])
def test_a_thread_of_another_github_is_not_silenced_by_one_of_the_same_number(
    scene: Scene, hub: Notifying, base: BaseDir, clock: MovableClock, gone: bool
) -> None:
    thread = hub.notify(1)
    scene.look()
    if gone:
        work_off(scene.lookout.setting)
        forget(base)
    scene.close()
    with Notifying() as other:
        assert other.notify(1) == thread  # in the same second, too
        elsewhere = Scene(base, other, clock)
        assert elsewhere.look() == 1
        assert f"evt-github-{thread}-20261115080001" in elsewhere.events()
        elsewhere.reborn()
        assert elsewhere.look() == 0
        elsewhere.close()
    scene.reborn()
    assert scene.look() == 0


def test_with_its_notes_lost_and_its_event_gone_the_marks_tell(
    scene: Scene, hub: Notifying
) -> None:
    """Whatever this machine's clock says: the marks are younger than both updates."""
    thread = hub.notify(1)
    scene.look()
    work_off(scene.lookout.setting)
    forget(scene.base)
    for moment, news in ((None, 0), (BEGAN + timedelta(seconds=31), 1)):
        Path(scene.base.path("state", "sentinel", "github-state.json")).unlink()
        scene.reborn()
        if moment:
            hub.notify(1, updated=moment)
        assert scene.look() == news
    assert list(scene.events()) == [f"evt-github-{thread}-20261115080031"]


def test_marks_of_what_is_still_listed_do_not_grow_old(scene: Scene, hub: Notifying) -> None:
    hub.notify(1)
    scene.look()
    scene.look()
    seen = Path(scene.base.path("state", "sentinel", "seen"))
    before = {path.name for path in seen.iterdir()}
    old = scene.clock.now().timestamp() - 9 * 86_400
    for path in seen.iterdir():
        os.utime(path, (old, old))
    scene.reborn()
    assert scene.look() == 0
    assert hub.listings[-1]["same"]  # it was not even looked at
    assert {path.name for path in seen.iterdir()} == before
    assert len(before) == 2
    assert all(path.stat().st_mtime > old for path in seen.iterdir())


def test_notes_do_not_grow_with_what_was_seen(scene: Scene, hub: Notifying) -> None:
    sizes = []
    for number in range(3):
        hub.notify(number)
        assert scene.look() == 1
        sizes.append(len(str(scene.state)))
    assert sizes[1] == sizes[2]


def test_what_the_person_reads_in_the_browser_meanwhile_is_taken_up_all_the_same(
    scene: Scene, hub: Notifying
) -> None:
    scene.look()
    hub.read(hub.notify(1))
    assert scene.look() == 1


def test_at_the_very_first_look_only_what_is_unread(scene: Scene, hub: Notifying) -> None:
    hub.read(hub.notify(1))
    hub.notify(2)
    for emitted in (1, 0, 0):
        assert scene.look() == emitted
    assert list(scene.events()) == ["evt-github-1002"]


@pytest.mark.parametrize("unread_since", [timedelta(days=40), timedelta(minutes=5), None])
def test_what_was_read_before_the_very_first_look_never_becomes_an_event(
    scene: Scene, hub: Notifying, unread_since: timedelta | None
) -> None:
    """However long ago, and however old what is still unread then."""
    hub.date = BEGAN
    ages = [timedelta(days=30), timedelta(hours=2), timedelta(minutes=9), timedelta(seconds=1)]
    for number, age in enumerate(ages):
        hub.read(hub.notify(number, updated=BEGAN - age))
    if unread_since:
        hub.notify(50, updated=BEGAN - unread_since)
    assert scene.look() == (unread_since is not None)
    for minutes in (1, 5, 20, 90):
        hub.date = BEGAN + timedelta(minutes=minutes)
        assert scene.look() == 0
        scene.reborn()
        hub.read(hub.notify(60 + minutes, updated=hub.date))
        assert scene.look() == 1
    hub.read(hub.notify(2, updated=hub.date))
    assert scene.look() == 1  # it has news, which is another matter
    assert "evt-github-1002" in scene.events()


def test_what_the_first_look_has_emitted_is_not_told_of_as_read_before_it(
    scene: Scene, hub: Notifying
) -> None:
    hub.date = BEGAN + timedelta(minutes=1)
    thread = hub.notify(1)
    scene.look()
    hub.read(thread)
    assert scene.look() == 0
    assert left_alone(scene.base, "github") == {}


@pytest.mark.parametrize("is_killed", [False, True])
def test_what_comes_and_is_read_while_the_first_look_is_made_is_not_lost(
    scene: Scene, hub: Notifying, is_killed: bool
) -> None:
    for number in range(60):
        hub.notify(number)

    def between(stage: str, verb: str, path: str) -> None:
        if (stage, path, len(hub.threads)) == ("done", "/notifications", 60):
            hub.read(hub.notify(70))
            if is_killed:
                hub.faults.append(Fault("GET", path="^/notifications$", status=502))

    hub.hook = between
    if is_killed:
        fails(scene)
        scene.reborn()
    scene.look()
    scene.look()
    assert len(scene.events()) == 61


def test_one_that_turns_up_late_is_found_by_the_overlap(scene: Scene, hub: Notifying) -> None:
    hub.notify(1, updated=BEGAN + timedelta(minutes=60))
    scene.look()
    hub.notify(2, updated=BEGAN + timedelta(minutes=52))
    assert scene.look() == 1


def test_a_moment_in_the_future_does_not_hide_what_comes_before_it(
    scene: Scene, hub: Notifying
) -> None:
    hub.date = BEGAN + timedelta(hours=1)
    hub.notify(1, updated=BEGAN + timedelta(days=900))
    scene.look()
    hub.notify(2, updated=BEGAN + timedelta(hours=1, minutes=1))
    assert scene.look() == 1


def test_our_own_clock_does_not_matter(scene: Scene, hub: Notifying, clock: MovableClock) -> None:
    hub.date = BEGAN + timedelta(hours=1)
    clock.set_wall(datetime.fromisoformat("2031-01-01T00:00:00Z"))
    scene.look()
    hub.notify(1, updated=BEGAN + timedelta(hours=1, minutes=1))
    assert scene.look() == 1


@pytest.mark.parametrize("key", ["cursor", "floor", "limited_until"])
def test_what_a_clock_that_was_ahead_noted_hides_nothing(
    scene: Scene, hub: Notifying, key: str
) -> None:
    hub.date = BEGAN + timedelta(hours=1)
    hub.notify(1, updated=BEGAN)
    assert scene.look() == 1
    state = scene.state | {key: "2036-01-01T00:00:00.000Z"}
    scene.close()
    Path(scene.base.path("state", "sentinel", "github-state.json")).write_text(json.dumps(state))
    hub.notify(2, updated=BEGAN + timedelta(hours=1, minutes=1), unread=False)
    hub.date = BEGAN + timedelta(hours=2)
    assert scene.look() == 1
    assert scene.look() == 0
    assert scene.state["cursor"] < "2027"


def test_all_pages(scene: Scene, hub: Notifying) -> None:
    for number in range(130):
        hub.notify(number)
    assert scene.look() == 130
    pages = [one["query"]["page"] for one in hub.listings]
    assert pages == ["1", "2", "3", "1", "2", "3"]  # once more, since it might have shifted


def test_one_that_slips_to_an_earlier_page_meanwhile_is_not_missed(
    scene: Scene, hub: Notifying
) -> None:
    """The person marks one as done while page one is read: what was first on page two is now on
    page one."""
    threads = [hub.notify(number) for number in range(60)]

    def between(stage: str, verb: str, path: str) -> None:
        if (stage, path, len(hub.listings)) == ("done", "/notifications", 1):
            del hub.threads[threads[-1]]

    hub.hook = between
    assert scene.look() == 60


def test_the_pause_that_github_asks_for(scene: Scene, hub: Notifying) -> None:
    hub.poll_interval = "137"
    hub.notify(1)
    assert scene.lookout.rounds.look().finish.pause(60) == 137
    scene.look()
    assert scene.lookout.rounds.look().finish.pause(60) == 137  # also without news
    assert scene.lookout.rounds.look().finish.pause(300) == 300


@pytest.mark.parametrize("asked", ["7201", "99999999999999", "9" * 400])
def test_no_pause_is_longer_than_two_hours(scene: Scene, hub: Notifying, asked: str) -> None:
    hub.poll_interval = asked
    assert scene.lookout.rounds.look().finish.pause(60) == 7200


@pytest.mark.parametrize("asked", ["-1", "soon", "1e9", "\xb2", ""])
def test_a_pause_that_is_none_is_passed_over(scene: Scene, hub: Notifying, asked: str) -> None:
    hub.poll_interval = asked
    assert scene.lookout.rounds.look().finish.pause(60) == 60


def test_the_pause_that_github_asks_for_holds_when_the_round_fails_after_that(
    scene: Scene, hub: Notifying
) -> None:
    hub.poll_interval = "300"
    hub.notify(1)
    hub.faults.append(Fault("GET", path="/pulls/1", status=502))
    fails(scene)
    assert scene.lookout.rounds.at_least == 300
    hub.faults.append(Fault("GET", path="^/notifications$", status=502))
    fails(scene)
    assert scene.lookout.rounds.at_least == 0  # GitHub said nothing this time


# Read


def test_marked_as_read_only_if_wanted_and_only_when_it_is_durable(
    scene: Scene, hub: Notifying
) -> None:
    hub.notify(1)
    scene.look()
    assert hub.marked == []
    scene.reborn(mark_read=True, scope=GithubScope(filter_reasons=["review_requested"]))
    hub.notify(2)
    hub.notify(3, reason="subscribed")

    def before(stage: str, verb: str, path: str) -> None:
        if verb == "PATCH":
            assert "evt-github-1002" in events(scene.base)

    hub.hook = before
    scene.look()
    assert sorted(hub.marked) == ["1001", "1002"]


@pytest.mark.parametrize("fault", [{"status": 500}, {"lost": "before"}, {"lost": "after"}])
def test_a_mark_that_fails_is_made_in_a_later_round(
    scene: Scene, hub: Notifying, fault: dict[str, Any]
) -> None:
    scene.options["mark_read"] = True
    hub.faults.append(Fault(verb="PATCH", **fault))
    hub.notify(1)
    assert scene.look() == 1
    assert scene.state["unmarked"] == ["1001"]
    scene.reborn()
    hub.notify(2)
    assert scene.look() == 1
    assert set(hub.marked) == {"1001", "1002"}
    assert scene.state["unmarked"] == []


def test_many_are_marked_some_in_each_round_until_all_are(scene: Scene, hub: Notifying) -> None:
    scene.options["mark_read"] = True
    hub.left = 400  # too few to ask for details
    for number in range(400):
        hub.notify(number)
    assert scene.look() == 400
    assert len(hub.marked) == 150
    scene.reborn()  # as after a kill: what is left is not listed as before, and known
    scene.look()
    assert len(hub.marked) == 300
    scene.look()
    scene.look()
    assert sorted(hub.marked) == sorted(hub.threads)


def test_a_limit_on_marks_is_obeyed(scene: Scene, hub: Notifying) -> None:
    scene.options["mark_read"] = True
    hub.faults.append(Fault("PATCH", status=429, headers={"Retry-After": "60"}))
    for number in range(3):
        hub.notify(number)
    assert scene.look() == 3
    asked = len(hub.asked)
    assert isinstance(fails(scene), GitHubLimited)
    assert (len(hub.asked), hub.marked) == (asked, [])
    scene.clock.advance(61)
    scene.look()
    assert len(hub.marked) == 3


def test_one_that_is_gone_keeps_no_other_from_being_marked(scene: Scene, hub: Notifying) -> None:
    scene.options["mark_read"] = True
    hub.faults.append(Fault("PATCH", path="1001", status=404, body={"message": "Not Found"}))
    hub.notify(1)
    hub.notify(2)
    scene.look()
    assert hub.marked == ["1002"]
    assert scene.state["unmarked"] == []


@pytest.mark.parametrize("status", [403, 500])
def test_one_that_cannot_be_marked_keeps_no_other_and_is_given_up(
    scene: Scene, hub: Notifying, status: int
) -> None:
    scene.options["mark_read"] = True
    os.makedirs(scene.base.path("logs"))
    said = {"message": "Resource protected by organization SAML enforcement."}
    hub.faults.append(Fault("PATCH", path="1001", status=status, body=said, left=999))
    for number in range(1, 6):
        hub.notify(number)
    assert scene.look() == 5
    assert sorted(hub.marked) == ["1002", "1003", "1004", "1005"]
    for _ in range(110):
        scene.look()
    assert scene.state["unmarked"] == []
    tries = sum(one == "PATCH /notifications/threads/1001" for one in hub.asked)
    assert tries == {403: 3, 500: 100}[status]
    log = Path(scene.base.path("logs", "system.log")).read_text()
    assert log.count("github.not_marked") == 1


def test_when_none_can_be_marked_a_round_tries_few(scene: Scene, hub: Notifying) -> None:
    scene.options["mark_read"] = True
    hub.faults.append(Fault("PATCH", status=500, left=6))
    for number in range(20):
        hub.notify(number)
    for tried in (3, 6):
        scene.look()
        assert sum(one.startswith("PATCH") for one in hub.asked) == tried
    scene.look()
    assert sorted(hub.marked) == sorted(hub.threads)


def test_what_is_out_of_scope_by_now_stays_unread(scene: Scene, hub: Notifying) -> None:
    scene.options |= {"mark_read": True, "scope": GithubScope(filter_reasons=["mention"])}
    hub.faults.append(Fault("PATCH", status=500))
    hub.notify(1, reason="mention")
    scene.look()
    hub.threads.clear()  # else it would keep its reason
    hub.notify(1, reason="subscribed")
    scene.look()
    assert hub.marked == []
    assert hub.threads["1001"]["unread"]


# Trouble


def fails(scene: Scene) -> KingdomError:
    with pytest.raises(KingdomError) as caught:
        scene.look()
    return caught.value


@pytest.mark.parametrize(
    ("fault", "kind", "words"),
    [
        (Fault("GET", status=500, body="<html>"), GitHubLater, "answers with 500"),
        (Fault("GET", lost="before"), GitHubLater, "could not be reached"),
        (Fault("GET", lost="inside"), GitHubLater, ""),
        (Fault("GET", body="<html>Welcome</html>"), GitHubLater, ""),
        (Fault("GET", body={"message": "hello"}), GitHubRefused, "a list was expected"),
        (
            Fault("GET", status=403, headers={"Retry-After": "77"}, body={"message": "rate limit"}),
            GitHubLimited,
            "limits",
        ),
    ],
)
def test_a_round_that_fails_is_made_up_for(
    scene: Scene, hub: Notifying, fault: Fault, kind: type[KingdomError], words: str
) -> None:
    hub.notify(1)
    hub.faults.append(fault)
    error = fails(scene)
    assert isinstance(error, kind)
    assert words in error.sentence
    scene.clock.advance(100)
    assert scene.look() == 1


def test_trouble_on_a_later_page_keeps_what_came_before_and_loses_nothing(
    scene: Scene, hub: Notifying
) -> None:
    for number in range(120):
        hub.notify(number)

    def between(stage: str, verb: str, path: str) -> None:
        if (stage, path, len(hub.listings), hub.faults) == ("done", "/notifications", 2, []):
            hub.faults.append(Fault("GET", path="^/notifications$", status=502))

    hub.hook = between
    fails(scene)
    assert len(scene.events()) == 100
    assert scene.look() == 20


def test_limits_are_waited_for_until_the_moment_that_is_named(scene: Scene, hub: Notifying) -> None:
    reset = int((scene.clock.now() + timedelta(minutes=20)).timestamp())
    spent = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(reset)}
    said = {"message": "API rate limit exceeded for user ID 1."}
    hub.faults.append(Fault("GET", status=403, headers=spent, body=said))
    error = fails(scene)
    assert isinstance(error, GitHubLimited)
    assert error.not_before.timestamp() >= reset
    asked = len(hub.asked)
    for _ in range(2):
        fails(scene)
        assert len(hub.asked) == asked  # it was not even asked
        scene.reborn()
    scene.clock.advance(20 * 60 + 2)
    scene.look()
    assert len(hub.asked) == asked + 1
    assert scene.state["limited_until"] is None


@pytest.mark.parametrize("wrong_by", [timedelta(hours=5), timedelta(hours=-5), timedelta(0)])
def test_how_long_a_limit_lasts_is_told_by_github_s_clock_not_by_ours(
    scene: Scene, hub: Notifying, wrong_by: timedelta
) -> None:
    there = scene.clock.now()
    reset = str(int((there + timedelta(minutes=20)).timestamp()))
    spent = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": reset}
    date = {"Date": format_datetime(there, usegmt=True)}
    said = {"message": "API rate limit exceeded for user ID 1."}
    hub.faults.append(Fault("GET", status=403, headers=spent | date, body=said))
    scene.clock.set_wall(there + wrong_by)
    error = fails(scene)
    assert isinstance(error, GitHubLimited)
    assert error.not_before - scene.clock.now() == timedelta(minutes=20, seconds=1)


def test_a_clock_that_is_put_back_meanwhile_does_not_prolong_a_limit(
    scene: Scene, hub: Notifying
) -> None:
    said = {"message": "You have exceeded a secondary rate limit."}
    hub.faults.append(Fault("GET", status=403, headers={"Retry-After": "77"}, body=said))
    hub.notify(1)
    fails(scene)
    scene.clock.set_wall(scene.clock.now() - timedelta(hours=5))
    assert scene.look() == 1


def test_a_wrong_token_says_what_to_do(scene: Scene, hub: Notifying) -> None:
    hub.token = "ghp_another"
    scene.lookout  # noqa: B018 - it is made with that token
    hub.token = "ghp_the_right_one"
    error = fails(scene)
    assert isinstance(error, GitHubRefused)
    assert "401" in error.sentence
    assert error.remedy


def test_details_are_tried_again_and_then_done_without(scene: Scene, hub: Notifying) -> None:
    hub.pull(1)
    hub.notify(1)
    hub.notify(2, kind="Issue")
    hub.faults.append(Fault("GET", path="/pulls/1", status=503, left=2))
    for _ in range(2):
        fails(scene)
        assert list(scene.events()) == ["evt-github-1002"]  # which waits for nobody
    assert scene.look() == 1
    assert scene.events()["evt-github-1001"]["trust"] == "member"
    hub.pull(3)
    hub.notify(3)
    hub.faults.append(Fault("GET", path="/pulls/3", status=503, left=99))
    fails(scene)
    fails(scene)
    assert scene.look() == 1
    assert scene.events()["evt-github-1003"]["trust"] == "outside"


def test_an_outage_that_names_a_moment_is_no_limit(scene: Scene, hub: Notifying) -> None:
    hub.pull(1)
    hub.notify(1)
    wait = {"Retry-After": "60"}
    hub.faults.append(Fault("GET", path="/pulls/1", status=503, headers=wait, left=99))
    for _ in range(2):
        error = fails(scene)
        assert isinstance(error, GitHubLater)
        assert error.not_before is not None
        scene.clock.advance(61)
    assert scene.look() == 1
    assert scene.only()["trust"] == "outside"


def test_details_do_not_eat_up_the_quota(scene: Scene, hub: Notifying) -> None:
    hub.left = 480
    for number in range(5):
        hub.pull(number)
        hub.notify(number)
    assert scene.look() == 5
    assert not [one for one in hub.asked if "/pulls/" in one]


def test_one_that_makes_no_sense_does_not_keep_the_others_waiting(
    scene: Scene, hub: Notifying
) -> None:
    for number, odd in enumerate(
        (
            {"id": "../../etc"},
            {"id": "x" * 300},
            {"updated_at": "yesterday"},
            {"subject": None},
            {"repository": {}},
            {"reason": "Bad Reason!"},
        )
    ):
        hub.notify(number, thread=f"9{number}")
        hub.threads[f"9{number}"] |= odd
    hub.notify(50)
    assert scene.look() == 1
    assert list(scene.events()) == ["evt-github-1050"]


def test_half_a_letter_in_a_title_costs_that_half(scene: Scene, hub: Notifying) -> None:
    hub.notify(1, subject={"title": "a \ud800 b"})
    hub.notify(2)
    assert scene.look() == 2
    assert scene.events()["evt-github-1001"]["payload"]["title"] == "a \ufffd b"


def test_a_limit_on_details_is_waited_for_however_often(scene: Scene, hub: Notifying) -> None:
    scene.options["mark_read"] = True
    hub.pull(1)
    hub.notify(1)
    limit = Fault("GET", path="/pulls/1", status=429, headers={"Retry-After": "60"}, left=5)
    hub.faults.append(limit)
    for _ in range(5):
        assert isinstance(fails(scene), GitHubLimited)
        scene.clock.advance(61)
        assert hub.marked == []
    assert scene.look() == 1
    assert (scene.only()["trust"], hub.marked) == ("member", ["1001"])


@pytest.mark.parametrize(
    ("fault", "helps"),
    [
        (Fault("GET", status=403, body={"message": "Resource not accessible"}), "classic token"),
        (Fault("GET", status=404, body={"message": "Not Found"}), "api_url"),
        (Fault("GET", body={"message": "hello"}), "api_url"),
        (Fault("GET", body="<html>Welcome</html>"), "api_url"),
    ],
)
def test_what_keeps_the_listing_away_says_what_helps(
    scene: Scene, hub: Notifying, fault: Fault, helps: str
) -> None:
    hub.faults.append(fault)
    assert helps in fails(scene).remedy
