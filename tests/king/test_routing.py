"""From an event to its task: whose it is, which of several counts, what the task says."""

from __future__ import annotations

from typing import Any

import pytest

from kingdom.king.routing import is_own, newest, task_for, title_of, trace_of
from kingdom.models.manifest import Manifest
from kingdom.runtime.config import Config, General
from kingdom.settings.loading import Settings
from tests.support.kingdom import START, event, task


def general(name: str = "gen-pr", **fields: Any) -> General:
    return General(Manifest(name=name, description="x", **fields), f"/{name}", "Do it.")


def routed(event_type: str, **subscriptions: list[str]) -> str | None:
    generals = {
        name: general(f"gen-{name}", subscribes=types) for name, types in subscriptions.items()
    }
    found = Config(Settings(), generals).route(event_type)
    return found.name if found else None


@pytest.mark.parametrize(
    ("event_type", "expected"),
    [
        ("github.pr.comment", "gen-exact"),
        ("github.pr.assigned", "gen-near"),
        ("github.issue.comment", "gen-far"),
        ("github.prx.comment", "gen-far"),
        ("github.pr", "gen-far"),
        ("github", None),
        ("jira.ticket.assigned", None),
    ],
)
def test_an_exact_type_beats_a_pattern_and_the_longest_pattern_wins(
    event_type: str, expected: str | None
) -> None:
    assert (
        routed(event_type, far=["github.*"], exact=["github.pr.comment"], near=["github.pr.*"])
        == expected
    )


def test_what_the_king_handles_itself() -> None:
    assert all(map(is_own, ("kingdom.command", "workflow.command", "slack.human_response")))
    assert not any(map(is_own, ("slack.app_mention", "github.pr.comment")))


def test_a_task_says_what_its_event_said() -> None:
    asked = event(
        repo="acme/api", payload={"number": 7}, priority="low", trust="fork", trace_id="t" * 32
    )
    made = task_for(asked, general(), "task-20260207-001", START)
    assert (made.event_id, made.type, made.payload) == (asked.id, asked.type, {"number": 7})
    assert (made.repo, made.priority, made.trust, made.trace_id) == (
        "acme/api",
        "low",
        "fork",
        "t" * 32,
    )


def test_a_general_may_set_the_priority_and_a_repository_for_events_that_name_none() -> None:
    told = general(priority="high", default_repo="acme/own")
    made = task_for(event(priority="low"), told, "task-20260207-001", START)
    assert (made.priority, made.repo) == ("high", "acme/own")
    named = task_for(event(repo="acme/api"), told, "task-20260207-001", START)
    assert named.repo == "acme/api"


def test_a_missing_trace_is_always_derived_in_the_same_way() -> None:
    assert trace_of(event("1")) == trace_of(event("1")) != trace_of(event("2"))
    assert len(trace_of(event("1"))) == 32


def changed(name: str, moment: object, created: int = 0) -> Any:
    at = START.replace(second=created)
    return event(name, payload={"updated_at": moment}, created_at=at)


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([changed("a", "2026-02-07T09:00:00Z", 2), changed("b", "2026-02-07T09:30:00Z", 1)], "b"),
        ([changed("a", "2026-02-07T09:00:00+02:00"), changed("b", "2026-02-07T08:00:00Z")], "b"),
        ([changed("a", None, 1), changed("b", None, 2)], "b"),
        ([changed("a", "yesterday", 2), changed("b", 17, 1)], "a"),
        ([changed("a", "2026-02-07T09:00:00"), changed("b", "2026-02-07T09:59:00Z")], "a"),
        ([changed("a", None), changed("b", None)], "b"),
    ],
    ids=["updated", "zones", "created", "nonsense", "no zone: as created", "a tie: by id"],
)
def test_the_newest_of_several_counts(events: list[Any], expected: str) -> None:
    assert newest(events).id == f"evt-test-{expected}"
    assert newest(events[::-1]).id == f"evt-test-{expected}"


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"repo": "acme/api", "payload": {"number": 7, "title": "Log in"}}, "acme/api#7 Log in"),
        ({"payload": {"key": "QP-1", "summary": "Slow"}}, "QP-1 Slow"),
        ({"payload": {"text": "hello\n\n  there"}}, "hello there"),
        ({"repo": "acme/api"}, "acme/api"),
        ({}, ""),
        ({"payload": {"title": "x" * 500}}, "x" * 199 + "…"),
        ({"payload": {"title": ["a"], "number": {}}}, "['a']"),
        ({"type": "resume", "payload": {"original": {"title": "First"}}}, "First"),
    ],
)
def test_a_title_is_one_line_of_what_the_task_is_about(
    fields: dict[str, Any], expected: str
) -> None:
    assert title_of(task(**fields)) == expected
