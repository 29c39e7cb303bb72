"""Tickets become events, each update once, and are told apart."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.support.jira_server import ANN, ME
from tests.support.jira_watch import JiraLookout
from tests.support.kingdom import START

MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
CUSTOMER = "account-customer"


# What is told


def test_an_assigned_ticket_is_told_with_all_that_is_known(lookout: JiraLookout) -> None:
    jira = lookout.jira
    jira.create("SHOP-1", START - MINUTE, labels=["urgent"])
    assert lookout.look().emitted == 1
    (event,) = lookout.events()
    assert event["id"] == "evt-jira-SHOP-1-20260207095900"
    assert event["type"] == "jira.ticket.assigned"
    assert event["source"] == "jira"
    assert event["priority"] == "normal"
    assert event.get("repo") is None
    version = 3 if jira.cloud else 2
    assert event["payload"] == {
        "key": "SHOP-1",
        "summary": "About SHOP-1",
        "description": "It is broken.",
        "status": "To Do",
        "issue_type": "Bug",
        "project": "SHOP",
        "reporter": "Ann",
        "reporter_id": "account-ann" if jira.cloud else "ann",
        "assignee": "Me",
        "labels": ["urgent"],
        "updated_at": "2026-02-07T09:59:00.000Z",
        "url": f"{jira.url}/browse/SHOP-1",
        "api_url": f"{jira.url}/rest/api/{version}/issue/SHOP-1",
    }


def test_a_later_update_and_a_comment_are_told_apart(lookout: JiraLookout) -> None:
    issue = lookout.jira.create("SHOP-1", START - MINUTE)
    lookout.look()
    lookout.passes(300)
    lookout.jira.change(issue, summary="Worse")
    lookout.passes(300)
    lookout.look()
    lookout.jira.comment(issue, "Any news?")
    lookout.passes(300)
    lookout.look()
    assert lookout.told() == ["SHOP-1 assigned", "SHOP-1 updated", "SHOP-1 commented"]
    last = lookout.events()[-1]
    assert last["payload"]["comment"] == "Any news?"
    assert last["payload"]["comment_by"] == "Ann"
    assert last["payload"]["comment_url"].endswith("/browse/SHOP-1?focusedCommentId=500")
    assert last["priority"] == "low"


def test_nothing_new_is_one_request_and_no_event(lookout: JiraLookout) -> None:
    lookout.jira.create("SHOP-1", START - MINUTE)
    lookout.look()
    before = lookout.state()
    lookout.passes(300)
    lookout.jira.asked.clear()
    assert lookout.look().emitted == 0
    search = "/rest/api/3/search/jql" if lookout.jira.cloud else "/rest/api/2/search"
    assert lookout.jira.asked == [f"POST {search}"]
    assert lookout.state() == before


def test_a_ticket_given_away_and_back_is_assigned_again(lookout: JiraLookout) -> None:
    """Meanwhile it is out of scope, and nothing is heard of it."""
    issue = lookout.jira.create("SHOP-1", START - MINUTE)
    lookout.look()
    lookout.passes(300)
    lookout.jira.change(issue, assignee=ANN)
    lookout.passes(300)
    assert lookout.look().emitted == 0
    lookout.jira.change(issue, assignee=ME)
    lookout.passes(300)
    lookout.look()
    assert lookout.told() == ["SHOP-1 assigned", "SHOP-1 assigned"]


def test_a_ticket_of_another_is_updated_until_it_is_given_to_us(wide: JiraLookout) -> None:
    issue = wide.jira.create("SHOP-1", START - MINUTE, assignee=ANN)
    wide.look()
    wide.passes(60)
    wide.jira.change(issue, assignee=ME)
    wide.passes(60)
    wide.look()
    assert wide.told() == ["SHOP-1 updated", "SHOP-1 assigned"]
    assert {one["repo"] for one in wide.events()} == {"acme/shop"}


def test_a_ticket_that_is_done_is_not_assigned_until_it_is_opened_again(
    lookout: JiraLookout,
) -> None:
    issue = lookout.jira.create("SHOP-1", START - MINUTE, category="done")
    lookout.look()
    lookout.passes(60)
    lookout.jira.change(issue, category="indeterminate")
    lookout.passes(60)
    lookout.look()
    assert lookout.told() == ["SHOP-1 updated", "SHOP-1 assigned"]


def test_a_ticket_that_moved_to_another_project_is_the_same(lookout: JiraLookout) -> None:
    issue = lookout.jira.create("SHOP-1", START - MINUTE)
    lookout.look()
    lookout.passes(60)
    lookout.jira.change(issue, key="OPS-7")
    lookout.passes(60)
    lookout.look()
    assert lookout.told() == ["SHOP-1 assigned", "OPS-7 updated"]


def test_the_accounts_own_comment_is_no_event_and_is_asked_about_once(lookout: JiraLookout) -> None:
    issue = lookout.jira.create("SHOP-1", START - MINUTE)
    lookout.look()
    lookout.passes(60)
    lookout.jira.comment(issue, "I am at it.", by=ME)
    lookout.passes(60)
    assert lookout.look().emitted == 0
    lookout.jira.asked.clear()
    assert lookout.look().emitted == 0
    assert len(lookout.jira.asked) == 1
    assert lookout.told() == ["SHOP-1 assigned"]


def test_a_comment_is_told_also_when_the_account_answered_meanwhile(lookout: JiraLookout) -> None:
    issue = lookout.jira.create("SHOP-1", START - MINUTE)
    lookout.look()
    lookout.passes(60)
    lookout.jira.comment(issue, "Any news?")
    lookout.passes(60)
    lookout.jira.comment(issue, "Not yet.", by=ME)
    lookout.passes(60)
    lookout.look()
    assert lookout.told() == ["SHOP-1 assigned", "SHOP-1 commented"]
    assert lookout.events()[-1]["payload"]["comment"] == "Any news?"


def test_a_comment_that_came_after_the_listing_belongs_to_the_next_update(
    lookout: JiraLookout,
) -> None:
    jira = lookout.jira
    issue = jira.create("SHOP-1", START - MINUTE)
    lookout.look()
    lookout.passes(60)
    jira.change(issue, summary="Worse")
    lookout.passes(60)

    def comes_between(stage: str, verb: str, path: str) -> None:
        if stage == "answered" and "search" in path and not issue["comments"]:
            jira.comment(issue, "And one more thing")

    jira.hook = comes_between
    lookout.look()
    lookout.passes(60)
    lookout.look()
    assert lookout.told() == ["SHOP-1 assigned", "SHOP-1 updated", "SHOP-1 commented"]


# Trust


@pytest.mark.parametrize(
    ("reporter", "commenter", "trust"),
    [
        (ANN, ANN, "member"),
        (ANN, "account-app", "bot"),
        (CUSTOMER, ANN, "outside"),
        (ANN, CUSTOMER, "outside"),
        (None, ANN, "outside"),
        ("account-app", CUSTOMER, "bot"),
    ],
)
def test_the_least_trusted_of_those_who_wrote_counts(
    wide: JiraLookout, reporter: str | None, commenter: str, trust: str
) -> None:
    issue = wide.jira.create("SHOP-1", START - HOUR, reporter=reporter)
    wide.jira.comment(issue, "Please", by=commenter, at=START - MINUTE)
    wide.look()
    (event,) = wide.events()
    assert event["trust"] == trust


@pytest.mark.parametrize(
    ("others", "trust"), [([ANN], "member"), ([CUSTOMER, ANN], "outside"), (["account-app"], "bot")]
)
def test_of_several_comments_all_are_told_and_the_least_trusted_author_counts(
    wide: JiraLookout, others: list[str], trust: str
) -> None:
    issue = wide.jira.create("SHOP-1", START - HOUR)
    wide.jira.comment(issue, "Long ago", by=CUSTOMER, at=START - MINUTE)
    wide.look()
    for by in others:
        wide.passes(30)
        wide.jira.comment(issue, f"From {by} " + 3000 * "x", by=by)
    wide.passes(30)
    wide.jira.comment(issue, "I am at it.", by=ME)
    wide.passes(30)
    wide.jira.comment(issue, "Hm.")
    wide.passes(30)
    wide.look()
    event = wide.events()[-1]
    assert (event["type"], event["trust"]) == ("jira.ticket.commented", trust)
    told = event["payload"]
    assert (told["comment"], told["comment_by"], told["by_bot"]) == ("Hm.", "Ann", False)
    earlier = told["earlier_comments"]
    assert [one["comment"].split()[1] for one in earlier] == others[::-1]
    assert all(len(one["comment"]) <= 2000 for one in earlier)
    addresses = {one["comment_url"] for one in [told, *earlier]}
    assert len(addresses) == len(others) + 1


def test_more_comments_than_are_told_make_nobody_a_member(wide: JiraLookout) -> None:
    issue = wide.jira.create("SHOP-1", START - HOUR)
    wide.look()
    for count, trust in ((19, "member"), (20, "outside")):
        for number in range(count):
            wide.passes(1)
            wide.jira.comment(issue, f"Number {number}")
        wide.passes(60)
        wide.look()
        assert wide.events()[-1]["trust"] == trust


def test_who_changed_what_others_wrote_counts_too(wide: JiraLookout) -> None:
    issues = [wide.jira.create(f"SHOP-{number}", START - HOUR) for number in range(1, 6)]
    wide.jira.change(issues[0], START - MINUTE, description="Mine.", by=ANN)
    wide.jira.change(issues[1], START - MINUTE, description="Ours.", by=ME)
    wide.jira.change(issues[2], START - MINUTE, status="Done", by="account-eve")
    wide.jira.change(issues[3], START - MINUTE, description="Do as I say.", by="account-eve")
    wide.jira.comment(issues[4], "Do as I say.", at=START - MINUTE)
    issues[4]["comments"][0]["updateAuthor"] = wide.jira.user("account-eve")
    wide.look()
    told = {one["payload"]["key"]: (one["trust"], one.get("trust_reason")) for one in wide.events()}
    member = ("member", None)
    assert told == {
        "SHOP-1": member,
        "SHOP-2": member,
        "SHOP-3": member,
        "SHOP-4": ("outside", "changed by Eve (account-eve)"),
        "SHOP-5": ("outside", "comment changed by Eve (account-eve)"),
    }


def test_a_history_that_is_not_all_told_makes_nobody_a_member(wide: JiraLookout) -> None:
    issue = wide.jira.create("SHOP-1", START - HOUR)
    for number in range(100):
        wide.jira.change(issue, START - MINUTE, status=str(number))
    wide.look()
    assert wide.events()[0]["trust_reason"] == "Jira does not tell all who changed it"
