"""The listing without models agrees with the bus that has them."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kingdom.bus.files.bus import FileBus
from kingdom.bus.files.index import item_of
from kingdom.bus.port import Problem
from kingdom.models.priority import EVENT_TYPES, PRIORITIES, RANKS, priority_of
from kingdom.ops.init import init
from kingdom.ops.listing import ENDED, counts, known_ids, listing, locate, states
from kingdom.store.paths import BaseDir
from kingdom.topology import DEAD, STREAMS
from tests.support.kingdom import START, drop, event, message, task

FAULT = Problem("x", "y")
SOON = timedelta(milliseconds=1)


@settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.lists(
        st.tuples(st.sampled_from(PRIORITIES), st.integers(0, 3), st.integers(1, 2000)),
        unique_by=lambda one: one[2],
        max_size=8,
    )
)
def test_the_order_is_that_of_claims(
    base: BaseDir, bus: FileBus, made: list[tuple[str, int, int]]
) -> None:
    tasks = [task(n, priority=p, created_at=START + SOON * later) for p, later, n in made]
    bus.publish("tasks", *tasks)
    shown = [entry.id for entry in listing(base, ("tasks",), {"pending"})]
    claims = bus.claim("tasks", "gen-pr", 100)
    assert shown == [claim.id for claim in claims]
    for claim in claims:
        bus.bury(claim, FAULT)
    bus.prune("tasks", START + timedelta(days=9000), state=DEAD)


@pytest.mark.parametrize("urgency", ["normal", "high", "urgent"])
def test_ranks_are_those_of_the_index(urgency: str) -> None:
    item = item_of(message(1, urgency=urgency), "pending", (0, 0))
    assert item.order[0] == RANKS[urgency]


def test_every_state_is_listed_or_counted() -> None:
    named = {state.directory for stream in STREAMS.values() for state in stream.states}
    assert set(states()) == named | {"handled"}
    assert set(ENDED) < set(states())
    assert states()[-1] == DEAD


def test_counting_reads_no_more_than_names(base: BaseDir) -> None:
    init(base)
    drop(base, "events/completed", "evt-1.json", "not JSON at all")
    drop(base, "events/dead", "evt-2.json", "{")
    drop(base, "events/dead", "evt-2.json.reason.json", "{}")
    assert counts(base, ("events", "tasks"), {"completed", "dead"}) == {
        "events": {"completed": 1, "dead": 1}
    }


def test_an_id_is_found_wherever_it_lies(base: BaseDir, bus: FileBus) -> None:
    bus.publish("events", event("1"))
    bus.publish("messages", message(1))
    init(base)
    drop(base, "events/dead", "evt-test-1~2.json", "{")
    assert [entry.stream for entry in locate(base, "msg-20260207-001")] == ["messages"]
    assert [entry.state for entry in locate(base, "evt-test-1~2")] == ["dead"]
    assert [entry.state for entry in locate(base, "evt-test-1.json")] == ["pending"]
    assert locate(base, "../pending/evt-test-1") == []
    assert locate(base, "") == []
    assert sorted(known_ids(base, "evt")) == ["evt-test-1", "evt-test-1~2"]


@pytest.mark.parametrize(
    ("event_type", "priority"),
    [
        ("slack.human_response", "high"),
        ("kingdom.command", "high"),
        ("workflow.command", "high"),
        ("github.pr.review_requested", "normal"),
        ("github.issue.assigned", "normal"),
        ("github.issue.mentioned", "normal"),
        ("jira.ticket.updated", "normal"),
        ("github.pr.comment", "low"),
        ("github.issue.state_change", "low"),
        ("github.notification.subscribed", "low"),
        ("github.notification", "normal"),
        ("someone.else", "normal"),
    ],
)
def test_priority_of_an_event_type(event_type: str, priority: str) -> None:
    assert priority_of(event_type) == priority


def test_every_known_type_has_a_priority_that_events_know() -> None:
    assert set(EVENT_TYPES.values()) == set(PRIORITIES)
    for event_type in EVENT_TYPES:
        assert event("1", type=event_type, priority=priority_of(event_type))
