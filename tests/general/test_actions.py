"""What soldiers ask to be done on GitHub: what is done, what is refused, and what waits."""

from __future__ import annotations

import json
import logging
import os
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest

from kingdom.clients.github import MOST_PAGES, GitHub, Repository
from kingdom.clients.github_access import find_token, repository_named
from kingdom.clients.github_faults import GitHubLater, GitHubRefused
from kingdom.errors import ConfigurationError, NeverWorks, TryLater
from kingdom.general.actions.jobs import Job, Lineage, lineage_of, number_of
from kingdom.general.actions.orders import MOST_ACTIONS
from kingdom.general.actions.performing import Means, Outcome, Timing, perform
from kingdom.models.action import KINDS
from kingdom.models.task import Task
from kingdom.runtime.secrets import Masker
from kingdom.store.paths import BaseDir
from tests.support.github_server import TOKEN, FakeGitHub
from tests.support.kingdom import START, MovableClock
from tests.support.loopback import Fault

JOB = Job(
    task_id="task-20260207-001",
    attempt="soldier-1",
    lineage=Lineage("task-20260207-001", START),
    trust="member",
    allowed=frozenset(KINDS),
    repo="acme/service",
    number=7,
    branch="kingdom/task-20260207-001",
)
REVIEW = {
    "do": "review",
    "event": "REQUEST_CHANGES",
    "body": "Two things.",
    "comments": [{"path": "app.py", "line": 2, "body": "Why?"}],
}
COMMENT = {"do": "comment", "body": "Done, see @alice and #12."}
PULL = {"do": "pull_request", "title": "Fix it", "body": "It was broken."}
HOUR = timedelta(hours=1)


@pytest.fixture
def server() -> Iterator[FakeGitHub]:
    with FakeGitHub() as made:
        yield made


class Desk:
    """A general's means, on a clock that tests move; `push` counts."""

    def __init__(self, base: BaseDir, server: FakeGitHub, clock: MovableClock) -> None:
        self.server, self.clock = server, clock
        self.hub = GitHub(TOKEN, server.url, clock=clock, pace=(0, 0), timeout=2)
        self.pushes = 0
        self.means = Means(base, clock, connect=lambda: self.hub, push=self._push)

    def _push(self) -> str:
        self.pushes += 1
        return "c0ffee" * 7

    def perform(self, *raw: Any, job: Job = JOB, **changes: Any) -> Outcome:
        return perform(job, list(raw), replace(self.means, **changes))

    def settle(self) -> None:
        self.clock.advance(Timing().settle.total_seconds() + 1)


@pytest.fixture
def desk(base: BaseDir, server: FakeGitHub, clock: MovableClock) -> Iterator[Desk]:
    made = Desk(base, server, clock)
    yield made
    made.hub.close()


def sentences(outcome: Outcome) -> str:
    return "\n".join(one.sentence for one in outcome.refused)


# What is done


def test_a_review_stands_on_the_task_s_pull_request_with_its_remarks(desk: Desk) -> None:
    outcome = desk.perform(REVIEW, job=replace(JOB, commit="abc123"))
    [review] = desk.server.reviews
    assert (review["repo"], review["number"]) == ("acme/service", 7)
    assert review["event"] == "REQUEST_CHANGES"
    assert review["commit_id"] == "abc123"
    assert review["comments"] == [{"path": "app.py", "line": 2, "side": "RIGHT", "body": "Why?"}]
    assert review["body"].startswith("Two things.\n\n<!-- kingdom:task-20260207-001:")
    assert outcome.refused == ()
    assert outcome.later is None
    assert [(one.kind, one.url) for one in outcome.done] == [("review", review["html_url"])]


def test_a_comment_keeps_its_mentions_and_carries_an_invisible_marker(desk: Desk) -> None:
    desk.perform(COMMENT)
    words, _, marker = desk.server.comments[0]["body"].partition("\n\n")
    assert words == "Done, see @alice and #12."
    assert marker.startswith("<!--")
    assert marker.endswith("-->")


def test_a_pull_request_comes_after_its_branch_was_pushed(desk: Desk) -> None:
    outcome = desk.perform(PULL)
    [pull] = desk.server.pulls
    assert (pull["head"]["ref"], pull["base"]) == ("kingdom/task-20260207-001", "main")
    assert desk.pushes == 1
    assert outcome.done[0].url == "https://github.com/acme/service/pull/100"


def test_push_and_pull_request_push_once(desk: Desk) -> None:
    outcome = desk.perform({"do": "push"}, {"do": "push"}, PULL)
    assert desk.pushes == 1
    assert [one.kind for one in outcome.done] == ["push", "pull_request"]
    assert outcome.done[0].note == "kingdom/task-20260207-001 is at c0ffeec0ffee"


def test_pushing_alone_needs_no_github(desk: Desk) -> None:
    def no_token() -> GitHub:
        raise AssertionError("not needed")

    outcome = desk.perform({"do": "push"}, connect=no_token)
    assert [one.kind for one in outcome.done] == ["push"]
    assert desk.server.asked == []


def test_each_of_a_kind_is_posted(desk: Desk) -> None:
    desk.perform({"do": "comment", "body": "one"}, {"do": "comment", "body": "two"})
    assert [one["body"].split("\n")[0] for one in desk.server.comments] == ["one", "two"]


# Once


def test_doing_it_again_asks_nothing_and_tells_the_same(desk: Desk) -> None:
    first = desk.perform(REVIEW, COMMENT, PULL)
    asked = list(desk.server.asked)
    assert desk.perform(REVIEW, COMMENT, PULL) == first
    assert desk.server.asked == asked
    assert desk.pushes == 1


def test_a_second_attempt_posts_nothing_again_and_says_that_its_words_differ(desk: Desk) -> None:
    desk.perform(COMMENT, PULL)
    outcome = desk.perform(COMMENT, PULL | {"title": "Other"}, job=replace(JOB, attempt="2"))
    assert desk.server.counts() == {"reviews": 0, "comments": 1, "pulls": 1}
    assert [one.note for one in outcome.done] == [
        "",
        "An earlier attempt did it in other words; those stand.",
    ]


def test_a_second_attempt_adds_its_commits_to_the_pull_request_of_the_first(desk: Desk) -> None:
    desk.perform(PULL)
    second = replace(JOB, attempt="soldier-2")
    assert [desk.perform(PULL, job=second) for _ in range(2)]
    assert (desk.pushes, len(desk.server.pulls)) == (2, 1)


def test_nothing_is_pushed_to_a_branch_that_is_not_the_task_s_own(desk: Desk) -> None:
    outcome = desk.perform({"do": "push"}, PULL, job=replace(JOB, branch="main"))
    assert "main is not a branch of the task's own" in sentences(outcome)
    assert (desk.pushes, len(outcome.refused), desk.server.asked) == (0, 2, [])


def test_a_second_attempt_pushes_what_it_committed(desk: Desk) -> None:
    desk.perform({"do": "push"})
    desk.perform({"do": "push"}, job=replace(JOB, attempt="soldier-2"))
    assert desk.pushes == 2


def test_the_order_of_kinds_does_not_matter_for_what_is_the_same(desk: Desk) -> None:
    desk.perform(REVIEW, COMMENT)
    desk.perform(COMMENT, REVIEW, job=replace(JOB, attempt="soldier-2"))
    assert desk.server.counts() == {"reviews": 1, "comments": 1, "pulls": 0}


def test_a_lost_journal_does_not_post_twice(desk: Desk) -> None:
    first = desk.perform(REVIEW, COMMENT, PULL)
    for path in Path(desk.means.base.results).iterdir():
        path.unlink()
    assert desk.perform(REVIEW, COMMENT, PULL) == first
    assert desk.server.counts() == {"reviews": 1, "comments": 1, "pulls": 1}


@pytest.mark.parametrize("damage", [b"", b"[]", b'{"actions": 3, "tries": "x"}', b"\xff{"])
def test_a_damaged_journal_does_not_post_twice(desk: Desk, damage: bytes) -> None:
    desk.perform(COMMENT)
    Path(desk.means.base.results, "task-20260207-001-actions.json").write_bytes(damage)
    desk.perform(COMMENT)
    assert len(desk.server.comments) == 1


def test_a_new_kingdom_with_the_same_numbers_is_another(desk: Desk) -> None:
    desk.perform(COMMENT)
    for path in Path(desk.means.base.results).iterdir():
        path.unlink()
    desk.perform(COMMENT, job=replace(JOB, lineage=Lineage(JOB.task_id, START + HOUR)))
    assert len(desk.server.comments) == 2


@pytest.mark.parametrize("lost", ["after", "inside"])
@pytest.mark.parametrize("raw", [REVIEW, COMMENT, PULL], ids=lambda raw: raw["do"])
def test_an_answer_that_was_lost_is_looked_for_and_not_posted_again(
    desk: Desk, lost: str, raw: dict[str, Any]
) -> None:
    desk.server.faults = [Fault(lost=lost)]
    outcome = desk.perform(raw)
    assert outcome.later is not None
    assert outcome.done == ()
    desk.settle()
    outcome = desk.perform(raw)
    assert [one.kind for one in outcome.done] == [raw["do"]]
    assert outcome.done[0].url
    assert sum(desk.server.counts().values()) == 1


@pytest.mark.parametrize(
    "fault",
    [
        Fault(lost="before"),
        Fault(status=502, body="<html>"),
        Fault(status=500, body={"message": "oops"}),
    ],
)
def test_what_did_not_arrive_is_posted_later(desk: Desk, fault: Fault) -> None:
    desk.server.faults = [fault]
    outcome = desk.perform(COMMENT)
    assert outcome.later is not None
    assert outcome.later.code == "github_unavailable"
    assert outcome.later.not_before > desk.clock.now()
    desk.settle()
    assert len(desk.perform(COMMENT).done) == 1
    assert len(desk.server.comments) == 1


def test_what_may_still_be_on_its_way_is_waited_for_before_looking(desk: Desk) -> None:
    desk.server.faults = [Fault(lost="before")]
    desk.perform(COMMENT)
    asked = len(desk.server.asked)
    desk.clock.advance(5)
    outcome = desk.perform(COMMENT)
    assert outcome.later is not None
    assert outcome.later.not_before == START + Timing().settle
    assert len(desk.server.asked) == asked


def test_a_clock_that_went_back_delays_no_more_than_once(desk: Desk) -> None:
    desk.server.faults = [Fault(lost="before")]
    desk.perform(COMMENT)
    desk.clock.set_wall(START - timedelta(days=30))
    outcome = desk.perform(COMMENT)
    assert outcome.later is not None
    assert outcome.later.not_before == desk.clock.now() + Timing().settle
    desk.settle()
    assert len(desk.perform(COMMENT).done) == 1


def test_an_intent_of_a_dead_process_is_waited_for_however_old_it_is(desk: Desk) -> None:
    """It may have been written long before the request was sent."""
    desk.server.faults = [Fault(lost="before")]
    desk.perform(COMMENT)
    path = Path(desk.means.base.results, "task-20260207-001-actions.json")
    path.write_text(path.read_text().replace("doubtful", "intended"))
    desk.clock.advance(3600)
    outcome = desk.perform(COMMENT)
    assert outcome.later is not None
    assert outcome.later.not_before == desk.clock.now() + Timing().settle
    desk.settle()
    assert len(desk.perform(COMMENT).done) == 1


def test_html_in_the_place_of_an_answer_leaves_doubt_and_posts_once(desk: Desk) -> None:
    desk.server.faults = [Fault(body="<html>It works!</html>")]  # done, and something else is said
    outcome = desk.perform(COMMENT)
    assert outcome.later is not None
    desk.settle()
    assert len(desk.perform(COMMENT).done) == 1
    assert len(desk.server.comments) == 1


def test_a_list_that_is_none_posts_nothing(desk: Desk) -> None:
    for body in ("<html>", {"message": "hello"}):
        desk.server.faults = [Fault("GET", "comments", status=200, body=body)]
        assert desk.perform(COMMENT).later is not None
    assert desk.server.posts() == []


def test_ours_is_found_on_the_last_of_many_pages(desk: Desk) -> None:
    desk.server.most_per_page = 10
    for number in range(95):
        desk.server.add_comment({}, {"body": f"chatter {number}"}, "acme/service", "7")
    desk.server.faults = [Fault(lost="after")]
    desk.perform(COMMENT)
    desk.settle()
    outcome = desk.perform(COMMENT)
    assert outcome.done[0].url.endswith("issuecomment-96")
    assert len(desk.server.comments) == 96


def test_pages_without_end_are_not_followed_for_ever(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kingdom.clients.github.MOST_PAGES", 5)
    endless = {"Link": '<x>; rel="next"'}
    desk.server.faults = [
        Fault("GET", "comments", status=200, body="[]", headers=endless, left=MOST_PAGES)
    ]
    assert "more than 5 pages" in sentences(desk.perform(COMMENT))


def test_another_person_s_copy_of_the_marker_stops_nothing(desk: Desk) -> None:
    desk.perform(REVIEW)
    forged = desk.server.reviews.pop()
    Path(desk.means.base.results, "task-20260207-001-actions.json").unlink()
    desk.server.reviews.append(forged | {"user": {"login": "mallory", "type": "User"}})
    desk.perform(REVIEW)
    assert len(desk.server.reviews) == 2


def test_a_marker_inside_a_soldier_s_words_is_not_ours(desk: Desk) -> None:
    desk.perform(COMMENT)
    marker = desk.server.comments.pop()["body"].rpartition("\n")[2]
    Path(desk.means.base.results, "task-20260207-001-actions.json").unlink()
    other = replace(JOB, lineage=Lineage("task-20260207-002", START))
    desk.perform({"do": "comment", "body": marker}, job=other)
    desk.perform(COMMENT)
    assert len(desk.server.comments) == 2


def test_an_app_that_may_not_ask_who_it_is_knows_its_own(desk: Desk) -> None:
    desk.server.login = None
    desk.server.faults = [Fault(lost="after")]
    desk.perform(COMMENT)
    desk.settle()
    desk.perform(COMMENT)
    assert len(desk.server.comments) == 1


def test_a_pull_request_that_a_person_closed_is_not_opened_again(desk: Desk) -> None:
    desk.perform(PULL)
    desk.server.pulls[0]["state"] = "closed"
    Path(desk.means.base.results, "task-20260207-001-actions.json").unlink()
    assert len(desk.perform(PULL).done) == 1
    assert len(desk.server.pulls) == 1


def test_a_pull_request_that_github_s_list_did_not_show_yet_is_found(desk: Desk) -> None:
    desk.perform(PULL)
    Path(desk.means.base.results, "task-20260207-001-actions.json").unlink()
    desk.server.faults = [Fault("GET", "pulls$", status=200, body="[]")]
    assert desk.perform(PULL).done[0].url.endswith("/pull/100")
    assert len(desk.server.pulls) == 1


# What trust and manifest allow


@pytest.mark.parametrize("trust", ["outside", "fork", "bot"])
def test_an_approval_for_less_trusted_work_becomes_a_comment_and_that_is_said(
    desk: Desk, trust: Any
) -> None:
    approval = {"do": "review", "event": "approve"}
    outcome = desk.perform(approval, job=replace(JOB, trust=trust))
    assert desk.server.reviews[0]["event"] == "COMMENT"
    assert "not as APPROVE" in outcome.done[0].note
    assert trust in outcome.done[0].note


def test_members_work_may_be_approved_without_a_word(desk: Desk) -> None:
    outcome = desk.perform({"do": "review", "event": "APPROVE"})
    assert desk.server.reviews[0]["event"] == "APPROVE"
    assert outcome.done[0].note == ""


@pytest.mark.parametrize("raw", [REVIEW, COMMENT, PULL, {"do": "push"}], ids=lambda raw: raw["do"])
def test_what_the_manifest_does_not_name_is_not_done(desk: Desk, raw: dict[str, Any]) -> None:
    allowed = frozenset(kind for kind in KINDS if kind != raw["do"])
    outcome = desk.perform(raw, job=replace(JOB, allowed=allowed))
    assert f"does not name {raw['do']} in permissions.actions" in sentences(outcome)
    assert (desk.server.asked, desk.pushes) == ([], 0)


def test_the_soldier_does_not_choose_where_it_is_posted(desk: Desk) -> None:
    elsewhere = {"repo": "victim/repo", "number": 1, "branch": "main", "head": "main"}
    desk.perform(COMMENT | elsewhere, PULL | elsewhere)
    assert {one["repo"] for one in desk.server.comments + desk.server.pulls} == {"acme/service"}
    assert desk.server.comments[0]["number"] == 7
    assert desk.server.pulls[0]["head"]["ref"] == "kingdom/task-20260207-001"


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"repo": None}, "has no repository"),
        ({"repo": "https://gitlab.com/acme/service"}, "is not a repository of the GitHub"),
        ({"repo": "../../user"}, "is not a repository"),
        ({"number": None}, "no issue and no pull request"),
    ],
)
def test_a_task_without_a_place_posts_nothing(
    desk: Desk, changes: dict[str, Any], sentence: str
) -> None:
    assert sentence in sentences(desk.perform(COMMENT, job=replace(JOB, **changes)))
    assert "/comments" not in "".join(desk.server.asked)


# What cannot be understood


@pytest.mark.parametrize(
    ("raw", "sentence"),
    [
        ("comment", "must be an object"),
        (None, "must be an object"),
        ({"body": "x"}, "`do` is missing"),
        ({"do": "merge"}, "`do` 'merge' is not one of"),
        ({"do": ["comment"]}, "`do` "),
        ({"do": "comment"}, "`body` is missing"),
        ({"do": "comment", "body": 7}, "`body` must be text"),
        ({"do": "comment", "body": "\0\x07 \n"}, "says nothing"),
        ({"do": "review"}, "says nothing"),
        ({"do": "review", "event": "MERGE", "body": "x"}, "`event` 'MERGE' is not one of"),
        (REVIEW | {"comments": [{"path": "a", "line": 0, "body": "x"}]}, "`comments.0.line`"),
        ({"do": "pull_request", "title": "\n"}, "has no title"),
        (PULL | {"draft": "yes"}, "`draft` must be true or false"),
    ],
)
def test_what_is_not_of_the_form_is_refused_and_the_rest_is_done(
    desk: Desk, raw: Any, sentence: str
) -> None:
    outcome = desk.perform(raw, COMMENT)
    assert sentence in sentences(outcome)
    assert len(outcome.refused) == 1
    assert len(desk.server.comments) == 1


def test_a_flood_is_cut_and_said(desk: Desk) -> None:
    outcome = desk.perform(*[{"do": "comment", "body": str(n)} for n in range(MOST_ACTIONS + 5)])
    assert len(desk.server.comments) == MOST_ACTIONS
    assert "5 more were asked for" in sentences(outcome)


def test_there_is_one_pull_request(desk: Desk) -> None:
    outcome = desk.perform(PULL, PULL)
    assert (len(desk.server.pulls), len(outcome.refused)) == (1, 1)


def test_text_is_posted_without_what_is_no_text(desk: Desk) -> None:
    desk.perform({"do": "comment", "body": "a\0b\x1b[31m\x9b c\r\nd\te 🙂"})
    assert desk.server.comments[0]["body"].startswith("ab[31m c\nd\te 🙂\n")


@pytest.mark.parametrize("letter", ["x", "한", "🙂"])
def test_a_text_too_long_is_cut_with_a_note_and_its_marker(desk: Desk, letter: str) -> None:
    desk.perform({"do": "comment", "body": letter * 200_000})
    body = desk.server.comments[0]["body"]
    assert "more characters were left out" in body
    assert body.endswith("-->")


def test_the_marker_does_not_show_below_an_open_block_of_code(desk: Desk) -> None:
    desk.perform({"do": "comment", "body": "See:\n````py\n```\nx = 1"})
    assert "x = 1\n````\n\n<!--" in desk.server.comments[0]["body"]


def test_what_looks_like_a_secret_is_not_posted(desk: Desk) -> None:
    secret = "correct-horse-battery"
    masker = Masker({"SLACK_BOT_TOKEN": secret})
    leak = f"It is {secret} and {TOKEN}"
    remark = {"path": "app.py", "line": 1, "body": leak}
    desk.perform(
        {"do": "comment", "body": leak},
        {"do": "review", "body": leak, "comments": [remark]},
        {"do": "pull_request", "title": leak, "body": leak},
        mask=masker.text,
    )
    told = json.dumps([desk.server.comments, desk.server.reviews, desk.server.pulls])
    assert desk.server.counts() == {"reviews": 1, "comments": 1, "pulls": 1}
    assert secret not in told
    assert TOKEN not in told


# What GitHub refuses


def test_remarks_outside_the_changes_move_into_the_text_and_the_others_stay(desk: Desk) -> None:
    remarks = [
        {"path": "app.py", "line": 3, "body": "stays"},
        {"path": "app.py", "line": 99, "body": "moves"},
        {"path": "other.py", "line": 1, "side": "left", "body": "moves, too"},
        {"path": "app.py", "body": "about the file"},
    ]
    outcome = desk.perform(REVIEW | {"comments": remarks})
    [review] = desk.server.reviews
    assert [one["body"] for one in review["comments"]] == ["stays"]
    assert "`app.py:99`: moves" in review["body"]
    assert "`other.py:1`: moves, too" in review["body"]
    assert "`app.py`: about the file" in review["body"]
    assert "outside the changes" in outcome.done[0].note


def test_remarks_that_github_takes_nowhere_all_move_into_the_text(desk: Desk) -> None:
    patch = "@@ -1 +98,3 @@\n+a\n+b\n+c"  # what it shows and what it takes do not agree
    desk.server.files = [{"filename": "app.py", "patch": patch}]
    remarks = [{"path": "app.py", "line": 99, "body": "x"}]
    desk.perform(REVIEW | {"comments": remarks})
    assert "comments" not in desk.server.reviews[0]
    assert "`app.py:99`: x" in desk.server.reviews[0]["body"]


def test_a_verdict_on_one_s_own_pull_request_becomes_a_comment(desk: Desk) -> None:
    desk.server.author = "kingdom-bot"
    outcome = desk.perform(REVIEW)
    assert desk.server.reviews[0]["event"] == "COMMENT"
    assert "this account's own" in outcome.done[0].note


def test_a_commit_that_was_rewritten_away_does_not_lose_the_review(desk: Desk) -> None:
    desk.perform(REVIEW, job=replace(JOB, commit="dead00"))
    assert "commit_id" not in desk.server.reviews[0]
    assert desk.server.reviews[0]["comments"]


@pytest.mark.parametrize(
    ("status", "message", "code"),
    [
        (401, "Bad credentials", "github_login"),
        (403, "Resource not accessible by personal access token", "github_refused"),
        (404, "Not Found", "github_refused"),
        (410, "Issues has been disabled in this repository", "github_refused"),
        (422, "Validation Failed", "github_refused"),
    ],
)
def test_a_refusal_is_told_in_github_s_words_once_and_the_rest_goes_on(
    desk: Desk, status: int, message: str, code: str
) -> None:
    errors = [{"resource": "X", "field": "body", "code": "invalid"}]
    fault = Fault(path="comments", status=status, body={"message": message, "errors": errors})
    desk.server.faults = [fault]
    outcome = desk.perform(COMMENT, REVIEW)
    assert f"({status}): {message}: body invalid." in sentences(outcome)
    assert outcome.refused[0].code == code
    assert [one.kind for one in outcome.done] == ["review"]
    again = desk.perform(COMMENT, REVIEW)  # the same life of the same attempt: nothing is asked
    assert again == outcome
    assert len(desk.server.posts()) == 2
    desk.perform(COMMENT, job=replace(JOB, attempt="soldier-2"))  # a person mended it
    assert len(desk.server.comments) == 1


def test_a_branch_that_cannot_be_pushed_opens_no_pull_request(desk: Desk) -> None:
    def refused() -> str:
        raise NeverWorks("The remote says: protected branch.", code="push_refused")

    outcome = desk.perform(PULL, COMMENT, push=refused)
    assert "Its branch is not pushed: The remote says" in sentences(outcome)
    assert outcome.refused[0].code == "push_refused"
    assert desk.server.counts() == {"reviews": 0, "comments": 1, "pulls": 0}


def test_a_push_that_must_wait_makes_all_after_it_wait(desk: Desk) -> None:
    def later() -> str:
        raise TryLater("The network is down.")

    outcome = desk.perform(PULL, COMMENT, push=later)
    assert outcome.later is not None
    assert outcome.later.reason == "The network is down."
    assert desk.server.asked == []
    assert len(desk.perform(PULL, COMMENT).done) == 2


def test_a_renamed_repository_is_followed(desk: Desk) -> None:
    desk.server.moved = {"acme/service": "acme/renamed"}
    assert len(desk.perform(COMMENT).done) == 1
    assert desk.server.comments[0]["repo"] == "acme/renamed"


def test_a_repository_renamed_at_that_very_moment_is_followed_later(desk: Desk) -> None:
    desk.server.faults = [Fault(status=307, headers={"Location": "http://localhost:1/"})]
    assert desk.perform(COMMENT).later is not None
    assert len(desk.perform(COMMENT).done) == 1
    assert len(desk.server.comments) == 1


def test_the_token_goes_to_no_other_host(desk: Desk) -> None:
    elsewhere = {"Location": "http://localhost:1/repos/a/b"}
    desk.server.faults = [Fault("GET", status=301, headers=elsewhere)]
    assert "leads nowhere" in sentences(desk.perform(COMMENT))


# Limits


def limited(**headers: str) -> Fault:
    body = {"message": "API rate limit exceeded for user ID 1."}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Fault(status=403, headers=named, body=body)


def reset(there: datetime) -> str:
    return str(int(there.timestamp()))


SECONDARY = {"message": "You have exceeded a secondary rate limit. Please wait a few minutes."}
THERE = START + timedelta(hours=5)  # GitHub's clock, far from ours
DATE = format_datetime(THERE, usegmt=True)


@pytest.mark.parametrize(
    ("fault", "wait"),
    [
        (limited(retry_after="120"), 120),
        (limited(retry_after=format_datetime(START + HOUR, usegmt=True)), 3600),
        (limited(retry_after=format_datetime(THERE + HOUR, usegmt=True), date=DATE), 3600),
        (limited(x_ratelimit_remaining="0", x_ratelimit_reset=reset(START + HOUR)), 3601),
        (
            limited(x_ratelimit_remaining="0", x_ratelimit_reset=reset(THERE + HOUR), date=DATE),
            3601,
        ),
        (limited(x_ratelimit_remaining="0", x_ratelimit_reset="99999999999"), 7200),
        (limited(x_ratelimit_remaining="0", x_ratelimit_reset=reset(START - HOUR)), 60),
        (limited(retry_after="999999999999999999"), 60),
        (limited(retry_after="-5"), 60),
        (Fault(status=403, body=SECONDARY), 60),
        (Fault(status=429, body="<html>"), 60),
    ],
)
def test_a_limit_is_waited_for_as_long_as_github_says(desk: Desk, fault: Fault, wait: int) -> None:
    desk.server.faults = [replace(fault)]  # it is used up
    outcome = desk.perform(COMMENT)
    assert outcome.later is not None
    assert outcome.later.code == "github_limited"
    assert outcome.later.not_before == START + timedelta(seconds=wait)
    asked = len(desk.server.asked)
    assert desk.perform(COMMENT).later is not None
    assert len(desk.server.asked) == asked  # GitHub is left alone meanwhile
    desk.clock.set_wall(outcome.later.not_before)
    assert len(desk.perform(COMMENT).done) == 1


def test_headers_that_make_no_sense_leave_doubt_and_post_once(desk: Desk) -> None:
    nonsense = {"x-ratelimit-reset": "soon", "x-ratelimit-remaining": "all", "Date": "never"}
    desk.server.faults = [Fault(body={"html_url": "https://x"}, headers=nonsense)]
    assert desk.perform(COMMENT).later is not None
    desk.settle()
    assert len(desk.perform(COMMENT).done) == 1
    assert len(desk.server.comments) == 1


def test_no_request_sleeps_until_a_limit_is_over(desk: Desk) -> None:
    desk.server.faults = [limited(retry_after="3600")]
    began = time.monotonic()
    desk.perform(COMMENT)
    assert time.monotonic() - began < 60
    assert len(desk.server.posts()) <= 1


def test_pauses_grow_and_end_with_giving_up(desk: Desk) -> None:
    desk.server.faults = [Fault("GET", "comments", status=503, left=1000)]
    waits = []
    while (outcome := desk.perform(COMMENT, REVIEW)).later is not None:
        waits.append((outcome.later.not_before - desk.clock.now()).total_seconds())
        desk.clock.set_wall(outcome.later.not_before)
    assert waits[:4] == [15, 30, 60, 120]
    assert max(waits) == 900
    assert 24 * 3600 < sum(waits) < 26 * 3600
    assert len(outcome.refused) == 2
    assert "Given up after 1d: GitHub has trouble: it answers with 503." in sentences(outcome)


def test_giving_up_in_doubt_says_so(desk: Desk) -> None:
    desk.server.faults = [Fault(lost="after"), Fault("GET", "comments", status=503, left=1000)]
    desk.server.faults[1].left = 0
    desk.perform(COMMENT)
    desk.server.faults[1].left = 1000
    while (outcome := desk.perform(COMMENT)).later is not None:
        desk.clock.set_wall(outcome.later.not_before)
    assert "may have been posted" in sentences(outcome)


def test_a_disk_that_takes_nothing_means_nothing_is_posted(desk: Desk) -> None:
    results = Path(desk.means.base.results)
    results.parent.mkdir(parents=True)
    results.write_text("in the way")
    outcome = desk.perform(COMMENT)
    assert outcome.later is not None
    assert outcome.later.code == "disk_failed"
    assert desk.server.posts() == []
    results.unlink()
    assert len(desk.perform(COMMENT).done) == 1


# The client


def test_pace_is_kept_between_writes(server: FakeGitHub, base: BaseDir) -> None:
    hub = GitHub(TOKEN, server.url, pace=(0.0, 0.2))
    began = time.monotonic()
    hub.add_comment("acme/service", 7, "one")
    hub.add_comment("acme/service", 7, "two")
    assert time.monotonic() - began >= 0.2
    hub.close()


def test_a_server_that_does_not_answer_is_not_waited_for_long(server: FakeGitHub) -> None:
    answers = threading.Event()
    server.faults = [Fault(held=answers)]
    hub = GitHub(TOKEN, server.url, pace=(0, 0), timeout=1)
    with pytest.raises(GitHubLater, match="did not answer") as caught:
        hub.add_comment("acme/service", 7, "one")
    answers.set()
    assert not caught.value.undone
    hub.close()


def test_nobody_there_is_a_reason_to_wait(base: BaseDir) -> None:
    hub = GitHub(TOKEN, "http://127.0.0.1:9", pace=(0, 0), timeout=1)
    with pytest.raises(GitHubLater, match="could not be reached"):
        hub.add_comment("acme/service", 7, "one")
    hub.close()


def test_an_enterprise_s_address_has_a_path(clock: MovableClock) -> None:
    with FakeGitHub(prefix="/api/v3") as server:
        hub = GitHub(TOKEN, server.url + "/", pace=(0, 0))
        assert hub.repository("acme/service") == Repository("acme/service", "main")
        hub.close()


@pytest.mark.parametrize("address", ["", "api.github.com", "ftp://x", "https://"])
def test_an_address_that_is_none_is_refused(address: str) -> None:
    with pytest.raises(ConfigurationError):
        GitHub(TOKEN, address)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("acme/service", "acme/service"),
        ("https://github.com/acme/service.git", "acme/service"),
        ("https://github.com/acme/service/", "acme/service"),
        ("git@github.com:acme/service.git", "acme/service"),
        ("ssh://git@github.com/acme/service", "acme/service"),
        ("https://user:pw@github.com/acme/service", "acme/service"),
        ("https://gitlab.com/acme/service", ""),
        ("git@evil.com:acme/service", ""),
        ("/srv/git/service.git", ""),
        ("file:///srv/service", ""),
        ("acme", ""),
        ("acme/..", ""),
        ("acme/a b", ""),
        ("acme/service/pulls", ""),
        ("acme/service?x", ""),
    ],
)
def test_a_repository_is_known_by_its_name_or_this_host_s_address(text: str, named: str) -> None:
    assert repository_named(text) == named


# The token


def fake_gh(place: Path, script: str) -> dict[str, str]:
    program = place / "gh"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return {"PATH": f"{place}:/usr/bin:/bin"}


def test_the_token_comes_from_the_variable_that_is_set(scratch: Path) -> None:
    environment = fake_gh(scratch, "echo other") | {"MY_TOKEN": f" {TOKEN}\n"}
    assert find_token(environment, "MY_TOKEN") == TOKEN


def test_or_from_gh_for_the_right_host(scratch: Path) -> None:
    environment = fake_gh(scratch, 'echo "$1-$2-$4"')
    assert find_token(environment, "GH_TOKEN") == "auth-token-github.com"
    enterprise = find_token(environment, "GH_TOKEN", "https://git.acme.example/api/v3")
    assert enterprise == "auth-token-git.acme.example"


@pytest.mark.parametrize("script", ["exit 1", "exec sleep 60", ":", "echo a b"])
def test_without_one_the_remedy_is_said(
    scratch: Path, script: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kingdom.clients.gh.TIMEOUT", 0.3)
    with pytest.raises(GitHubRefused, match="GH_TOKEN") as caught:
        find_token(fake_gh(scratch, script), "GH_TOKEN")
    assert caught.value.code == "github_login"
    assert caught.value.remedy


def test_a_missing_token_refuses_all_that_needs_one(desk: Desk) -> None:
    def connect() -> GitHub:
        return GitHub(find_token({"PATH": "/nowhere"}, "GH_TOKEN"))

    outcome = desk.perform(COMMENT, {"do": "push"}, connect=connect)
    assert "gh auth login" in sentences(outcome)
    assert [one.kind for one in outcome.done] == ["push"]


def test_the_token_is_in_no_file_no_log_and_no_failure(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    told: list[str] = []
    echo = Fault(status=422, body={"message": f"Bad {TOKEN}", "errors": [TOKEN]})
    for fault in (echo, Fault(lost="before"), Fault(lost="inside"), Fault(status=500)):
        desk.server.faults = [fault]
        told.append(repr(desk.perform(COMMENT, job=replace(JOB, attempt=str(len(told))))))
        desk.settle()
    desk.server.faults = [Fault(lost="before")]
    with pytest.raises(GitHubLater) as caught:
        desk.hub.add_comment("acme/service", 7, "x")
    error: BaseException | None = caught.value
    while error is not None:  # the libraries' own failures hold the request, headers and all
        told.append(repr(vars(error)) + str(error))
        assert type(error).__module__.startswith("kingdom")
        error = error.__cause__ or error.__context__
    written = [p.read_text() for p in Path(desk.means.base.root).rglob("*") if p.is_file()]
    assert written
    assert caplog.text
    assert TOKEN not in caplog.text + "".join(told + written)
    assert TOKEN not in repr(desk.hub)


# Whose work it is


def task(id_: str, **more: Any) -> Task:
    known: dict[str, Any] = {"event_id": "evt-1", "target_general": "gen-pr", "type": "resume"}
    return Task(id=id_, created_at=START, **(known | more))


def looker(*tasks: Task) -> Callable[[str], Task | None]:
    return {one.id: one for one in tasks}.get


def test_a_row_of_tasks_is_named_after_its_first() -> None:
    first, second = task("t-1"), task("t-2", original_task_id="t-1")
    third = task("t-3", original_task_id="t-2")
    assert lineage_of(third, looker(first, second)) == Lineage("t-1", START)
    assert lineage_of(third, looker(second)) == Lineage("t-1")
    assert lineage_of(third, looker()) == Lineage("t-2")


def test_a_fresh_retry_begins_a_new_row() -> None:
    first = task("t-1")
    fresh = task("t-2", original_task_id="t-1", fresh=True)
    after = task("t-3", original_task_id="t-2")
    assert lineage_of(after, looker(first, fresh)).id == "t-2"


def test_tasks_that_continue_each_other_in_a_circle_end_somewhere() -> None:
    one, two = task("t-1", original_task_id="t-2"), task("t-2", original_task_id="t-1")
    assert lineage_of(one, looker(one, two)).id == "t-2"


@pytest.mark.parametrize(
    ("payload", "number"),
    [
        ({"number": 7}, 7),
        ({"number": "7"}, 7),
        ({"answer": "yes", "number": 1, "original": {"number": 7}}, 7),
        ({"number": True}, None),
        ({"number": -1}, None),
        ({"number": "7/../8"}, None),
        ({}, None),
    ],
)
def test_the_number_is_the_event_s(payload: dict[str, Any], number: int | None) -> None:
    assert number_of(task("t-1", payload=payload)) == number


def test_the_heavy_library_is_imported_with_the_first_request() -> None:
    import subprocess
    import sys

    script = "import sys, kingdom.general.actions.performing; print('github' in sys.modules)"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    said = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=environment, check=True
    )
    assert said.stdout == "False\n"


def test_moments_of_the_journal_are_those_of_the_clock(desk: Desk) -> None:
    desk.perform(COMMENT)
    [path] = Path(desk.means.base.results).iterdir()
    kept = json.loads(path.read_text())
    entry = kept["actions"]["comment:1"]
    assert entry["state"] == "done"
    assert datetime.fromisoformat(entry["at"]).astimezone(UTC) == START
