"""What the envoy says in Slack, over real HTTP: each message once, in its thread, or why not."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from kingdom.models.message import Notification, Report
from kingdom.runtime.processes import Seat
from kingdom.store.formats import write_format
from kingdom.store.paths import BaseDir
from tests.support.cli import claim_and_die, kingdom
from tests.support.envoy import TASK, Life, awaiting, internal, mappings, publish, question, start
from tests.support.kingdom import START, MovableClock, counts, load, message
from tests.support.slack_life import ENVIRONMENT, configure, ids, one_life, texts
from tests.support.slack_server import FakeSlack, Fault
from tests.support.slack_workspace import OWNER, TOKEN

FIRST = "msg-20260207-001"


def update(number: int, **fields: Any) -> Any:
    return message(number, **({"task_id": TASK} | fields))


@pytest.fixture
def slack_life(base: BaseDir, server: FakeSlack, live: Callable[..., Life]) -> Callable[[], Life]:
    configure(base, server)
    return lambda: live(environment=ENVIRONMENT)


def test_one_task_one_thread(
    base: BaseDir, server: FakeSlack, slack_life: Callable[[], Life]
) -> None:
    publish(base, start(1), update(2, content="half done"), update(3, context={"final": True}))
    slack_life().go()
    parent, *replies = server.in_channel()
    assert "thread_ts" not in parent
    assert [one["thread_ts"] for one in replies] == [parent["ts"]] * 2
    assert texts(server)[:2] == ["taken up", "half done"]
    sent = load(base, "messages/sent", FIRST)
    assert (sent["channel"], sent["thread_ts"]) == ("C0KINGDOM", parent["ts"])
    assert mappings(base) == {}


@pytest.mark.parametrize("error", ["", "message_not_found", "cannot_reply_to_message"])
def test_a_question_whose_thread_is_gone_begins_another(
    base: BaseDir, server: FakeSlack, slack_life: Callable[[], Life], error: str
) -> None:
    publish(base, start(1))
    slack_life().go()
    if error:
        server.faults.append(Fault(error=error))
    else:
        server.channels["C0KINGDOM"].messages.clear()
    publish(base, question(2), update(3))
    slack_life().go()
    *_, parent, reply = server.in_channel()
    assert ids(server)[-2:] == [("msg-20260207-002", 1), ("msg-20260207-003", 1)]
    assert ("thread_ts" in parent, reply["thread_ts"]) == (False, parent["ts"])
    assert mappings(base)[TASK]["thread_ts"] == parent["ts"]
    assert awaiting(base)[TASK]["thread_ts"] == parent["ts"], "where it is listened for"
    assert counts(base) == {"messages/sent": 3}


def test_it_begins_one_other_thread_also_if_nobody_heard_that_it_did(
    base: BaseDir, server: FakeSlack, slack_life: Callable[[], Life], clock: MovableClock
) -> None:
    publish(base, start(1))
    slack_life().go()
    server.channels["C0KINGDOM"].messages.clear()
    posts: list[str] = []

    def lose_the_second(stage: str, method: str) -> None:
        if (stage, method) == ("received", "chat.postMessage"):
            posts.append(method)
            server.faults += [Fault(lost="after")] if len(posts) == 1 else []

    server.hook = lose_the_second
    publish(base, question(2))
    life = slack_life()
    for _ in range(5):
        life.go()
        clock.advance(600)
    assert (len(posts), ids(server)) == (3, [("msg-20260207-002", 1)])
    assert mappings(base)[TASK]["thread_ts"] == server.in_channel()[0]["ts"]


def test_every_type_of_message_can_be_sent(
    base: BaseDir, server: FakeSlack, slack_life: Callable[[], Life]
) -> None:
    values: dict[str, Any] = {"content": "hello", "created_at": START}
    publish(
        base,
        start(1),
        update(2),
        question(3, options=["a", "b"], default="a", expires_at=START),
        Notification(id="msg-20260207-004", channel="#dev", **values),
        Report(id="msg-20260207-005", **values),
    )
    slack_life().go()
    assert counts(base)["messages/sent"] == 5
    assert ids(server, "C0DEV") == [("msg-20260207-004", 1)]


def test_a_user_id_becomes_a_direct_message(
    base: BaseDir, server: FakeSlack, slack_life: Callable[[], Life]
) -> None:
    publish(base, start(1, channel=OWNER), update(2))
    slack_life().go()
    assert ids(server, "D0OWNER") == [(FIRST, 1), ("msg-20260207-002", 1)]
    assert load(base, "messages/sent", FIRST)["channel"] == "D0OWNER"
    assert mappings(base)[TASK]["channel"] == "D0OWNER"
    assert len(server.calls("conversations.open")) == 1


def test_without_a_channel_the_owner_is_told(
    base: BaseDir, server: FakeSlack, live: Callable[..., Life]
) -> None:
    configure(base, server, channel="")
    publish(base, start(1))
    live(environment=ENVIRONMENT).go()
    assert ids(server, "D0OWNER") == [(FIRST, 1)]


def test_a_thread_of_the_consoles_goes_on_in_one_of_slacks(
    base: BaseDir, server: FakeSlack, live: Callable[..., Life]
) -> None:
    publish(base, start(1))
    live().go()
    configure(base, server)
    publish(base, update(2), update(3))
    live(environment=ENVIRONMENT).go()
    parent, reply = server.in_channel()
    assert reply["thread_ts"] == parent["ts"] == mappings(base)[TASK]["thread_ts"]


def test_a_task_of_a_person_s_message_speaks_under_that_message(
    base: BaseDir, server: FakeSlack, slack_life: Callable[[], Life]
) -> None:
    spoken = server.said("C0KINGDOM", "please look")
    place = {"channel": "C0KINGDOM", "thread_ts": spoken["ts"]}
    publish(base, start(1, **place), update(2), update(3, context={"final": True}))
    slack_life().go()
    parent, *replies = server.in_channel()
    assert [one["thread_ts"] for one in replies] == [spoken["ts"]] * 3
    assert parent["reactions"] == ["eyes", "white_check_mark"]
    assert mappings(base) == {}


@pytest.mark.parametrize("in_thread", [False, True])
def test_what_was_posted_is_found_again_however_long_ago_that_was(
    base: BaseDir,
    server: FakeSlack,
    slack_life: Callable[[], Life],
    clock: MovableClock,
    in_thread: bool,
) -> None:
    place = {"channel": "C0KINGDOM", "thread_ts": server.said("C0KINGDOM", "please")["ts"]}
    server.faults.append(Fault(lost="after", left=3))
    publish(base, start(1, **(place if in_thread else {})))
    slack_life().go()
    assert len(ids(server)) == 1
    clock.advance(3 * 86_400)
    slack_life().go()
    assert ids(server) == [(FIRST, 1)]
    assert counts(base) == {"messages/sent": 1}


# Reactions


def test_the_parent_shows_how_its_task_stands(
    base: BaseDir, server: FakeSlack, slack_life: Callable[[], Life]
) -> None:
    life = slack_life()
    stages = [
        (start(1), ["eyes"]),
        (update(2), ["eyes"]),
        (question(3), ["eyes", "raising_hand"]),
        (update(4, context={"answers": "task-20260207-009"}), ["eyes"]),
        (update(5, context={"final": True}), ["eyes", "white_check_mark"]),
    ]
    for said, reactions in stages:
        publish(base, said)
        life.go()
        assert server.in_channel()[0]["reactions"] == reactions


def test_a_failure_shows_too(
    base: BaseDir, server: FakeSlack, slack_life: Callable[[], Life]
) -> None:
    publish(base, start(1), question(2), update(3, context={"final": True}, urgency="high"))
    slack_life().go()
    assert server.in_channel()[0]["reactions"] == ["eyes", "x"]


@pytest.mark.parametrize(
    ("outcome", "reaction"),
    [("done", "white_check_mark"), ("failed", "x"), ("cancelled", "no_entry_sign")],
)
def test_how_it_ended_is_as_the_king_says_whatever_the_urgency(
    base: BaseDir, server: FakeSlack, slack_life: Callable[[], Life], outcome: str, reaction: str
) -> None:
    urgency = "normal" if outcome == "failed" else "high"
    said: dict[str, Any] = {"context": {"final": True}, "reply_context": {"outcome": outcome}}
    publish(base, start(1), update(2, urgency=urgency, **said))
    slack_life().go()
    assert server.in_channel()[0]["reactions"] == ["eyes", reaction]


def test_reactions_that_are_refused_keep_nothing_back(
    base: BaseDir, server: FakeSlack, slack_life: Callable[[], Life]
) -> None:
    server.scopes -= {"reactions:write"}
    publish(base, start(1), update(2))
    slack_life().go()
    assert counts(base) == {"messages/sent": 2}


def test_a_reaction_that_was_limited_comes_later(
    base: BaseDir, server: FakeSlack, slack_life: Callable[[], Life], clock: MovableClock
) -> None:
    server.faults.append(Fault("reactions.add", status=429, headers={"Retry-After": "20"}))
    publish(base, start(1))
    life = slack_life()
    life.go()
    assert counts(base) == {"messages/sent": 1}
    assert "reactions" not in server.in_channel()[0]
    clock.advance(20)
    life.go()
    assert server.in_channel()[0]["reactions"] == ["eyes"]


# Limits, outages, refusals


def test_a_limit_delays_everything_and_counts_no_attempt(
    base: BaseDir, server: FakeSlack, slack_life: Callable[[], Life], clock: MovableClock
) -> None:
    server.faults.append(Fault(status=429, headers={"Retry-After": "45"}))
    publish(base, start(1), update(2), message(3, task_id="task-20260207-002"))
    life = slack_life()
    assert 0 < life.go() <= 45
    assert life.envoy.accepts()["messages"]("thread_update", "normal") is False
    clock.advance(44)
    life.go()
    assert ids(server) == server.calls("chat.postMessage") == []
    clock.advance(1)
    life.go()
    assert sorted(ids(server)) == [(f"msg-20260207-00{n}", 1) for n in (1, 2, 3)]
    assert life.envoy.accepts() == {}
    assert load(base, "messages/sent", FIRST)["delivery"]["attempt_count"] == 0


def test_a_limit_that_was_met_while_the_clock_was_ahead_is_not_waited_for(
    base: BaseDir, server: FakeSlack, slack_life: Callable[[], Life], clock: MovableClock
) -> None:
    right = clock.now()
    clock.set_wall(right + timedelta(days=365))
    server.faults.append(Fault(status=429, headers={"Retry-After": "45"}))
    publish(base, start(1))
    life = slack_life()
    life.go()
    assert ids(server) == []
    clock.set_wall(right)
    life.go()
    assert ids(server) == [(FIRST, 1)]


def test_a_message_that_has_to_be_looked_for_first_keeps_no_other(
    base: BaseDir, server: FakeSlack, slack_life: Callable[[], Life], clock: MovableClock
) -> None:
    limit = Fault("conversations.history", status=429, headers={"Retry-After": "45"}, left=1_000)
    server.faults.append(limit)
    publish(base, start(1), message(2, task_id="task-20260207-002"))
    claim_and_die(base, "messages", "envoy", FIRST)
    life = slack_life()
    for _ in range(3):
        life.go()
        clock.advance(60)
    assert ids(server) == [("msg-20260207-002", 1)]
    server.faults.clear()
    clock.advance(60)
    life.go()
    assert ids(server) == [("msg-20260207-002", 1), (FIRST, 1)]


def test_an_outage_of_hours_costs_no_message(
    base: BaseDir, server: FakeSlack, slack_life: Callable[[], Life], clock: MovableClock
) -> None:
    outage = Fault(".*", status=503, body="<html></html>", left=10_000)
    server.faults.append(outage)
    publish(base, start(1), update(2))
    life = slack_life()
    for _ in range(120):
        life.go()
        clock.advance(60)
    asked = 10_000 - outage.left
    assert asked <= 2 * 2 * 125, "to speak and to hear, it asks ever less often"
    outage.left = 0
    clock.advance(120)
    life.go()
    assert ids(server) == [(FIRST, 1), ("msg-20260207-002", 1)]


def test_what_slack_never_digests_is_given_up_and_nobody_waits_behind_it(
    base: BaseDir, server: FakeSlack, slack_life: Callable[[], Life], clock: MovableClock
) -> None:
    server.faults.append(Fault(status=500, left=5))
    publish(base, start(1))
    life = slack_life()
    for _ in range(10):
        life.go()
        clock.advance(600)
    assert counts(base) == {"messages/dead": 1}
    publish(base, message(2, task_id="task-20260207-002"))
    life.go()
    assert ids(server) == [("msg-20260207-002", 1)]


@pytest.mark.parametrize("channel", ["#nowhere", "C0NOWHERE", "C0CLOSED", "U0NOBODY", "#old"])
def test_a_channel_that_takes_nothing_buries_the_message(
    base: BaseDir, slack_life: Callable[[], Life], channel: str
) -> None:
    publish(base, start(1, channel=channel), message(2, task_id="task-20260207-002"))
    slack_life().go()
    assert counts(base) == {"messages/dead": 1, "messages/sent": 1}
    (told,) = internal(base, "message.failed")
    assert told["data"]["msg_id"] == FIRST
    code = load(base, "messages/dead", FIRST)["delivery"]["last_error_code"]
    assert code in ("slack_no_channel", "slack_not_in_channel")


def test_with_a_revoked_token_all_waits_until_it_works(
    base: BaseDir, server: FakeSlack, slack_life: Callable[[], Life], clock: MovableClock
) -> None:
    write_format(base)
    seat = Seat(base, "envoy").take()
    server.token = "xoxb-another"
    publish(base, start(1), message(2, task_id="task-20260207-2"))
    life = slack_life()
    for _ in range(30):
        clock.advance(60)
        life.go()
    assert counts(base) == {"messages/pending": 2}
    other = load(base, "messages/pending", "msg-20260207-002")
    assert other["delivery"]["revision"] == 1, "one asks, and the others wait"
    (line,) = [one for one in kingdom("status", base=base).lines if one.startswith("messages ")]
    assert "does not accept the token in SLACK_BOT_TOKEN" in line
    assert "Install the app in the workspace again" in line
    server.token = TOKEN
    clock.advance(60)
    life.go()
    assert counts(base) == {"messages/sent": 2}
    assert not [one for one in kingdom("status", base=base).lines if one.startswith("messages ")]
    seat.close()
    logs = "".join(path.read_text() for path in Path(base.logs).rglob("*") if path.is_file())
    assert TOKEN not in logs


def test_blocks_that_slack_does_not_take_are_said_as_text(
    base: BaseDir, server: FakeSlack, slack_life: Callable[[], Life]
) -> None:
    server.faults.append(Fault(error="msg_blocks_too_long"))
    publish(base, start(1, content="a < b"))
    slack_life().go()
    (said,) = server.in_channel()
    assert (said["text"], said["blocks"]) == ("a &lt; b", [])


# Once


@pytest.mark.parametrize("lost", ["before", "after", "inside"])
@pytest.mark.parametrize("method", ["chat.postMessage", "conversations.open", "reactions.add"])
def test_a_line_that_breaks_repeats_nothing(
    base: BaseDir,
    server: FakeSlack,
    slack_life: Callable[[], Life],
    clock: MovableClock,
    method: str,
    lost: str,
) -> None:
    server.faults.append(Fault(method, lost=lost))
    publish(base, start(1, channel=OWNER), update(2))
    life = slack_life()
    life.go()
    clock.advance(60)
    life.go()
    assert ids(server, "D0OWNER") == [(FIRST, 1), ("msg-20260207-002", 1)]


@pytest.mark.parametrize("channel", ["#kingdom", "C0KINGDOM", OWNER])
def test_what_was_posted_and_not_recorded_is_found_among_much_else(
    base: BaseDir, server: FakeSlack, slack_life: Callable[[], Life], channel: str
) -> None:
    where = "D0OWNER" if channel == OWNER else "C0KINGDOM"
    publish(base, start(1, channel=channel), update(2))
    slack_life().go()
    forget(base, FIRST, "msg-20260207-002", channel=channel)
    server.most_per_page = 2
    copied = {"metadata": server.in_channel(where)[0]["metadata"], "bot_id": "B0OTHER"}
    for _ in range(7):
        server.said(where, "meanwhile", **copied)
    before = len(server.in_channel(where))
    slack_life().go()
    assert counts(base) == {"messages/sent": 2}
    assert len(server.in_channel(where)) == before


def forget(base: BaseDir, *names: str, channel: str = "") -> None:
    """As if the envoy had been killed before it recorded them, or noted their thread."""
    Path(base.path("state/envoy/thread-mappings.json")).unlink()
    for name in names:
        path = Path(base.path(f"queue/messages/sent/{name}.json"))
        asked = json.loads(path.read_text()) | {"channel": channel, "thread_ts": None}
        path.unlink()
        Path(base.path(f"queue/messages/pending/{name}.json")).write_text(json.dumps(asked))
        claim_and_die(base, "messages", "envoy", name)


def test_another_kingdoms_message_of_the_same_name_is_not_ours(
    base: BaseDir, scratch: Path, server: FakeSlack, slack_life: Callable[[], Life]
) -> None:
    another = BaseDir(scratch / "another")
    configure(another, server)
    publish(another, start(1, content="theirs", created_at=START))
    one_life(another)
    publish(base, start(1))
    claim_and_die(base, "messages", "envoy", FIRST)
    slack_life().go()
    assert texts(server) == ["theirs", "taken up"]


def test_one_that_an_earlier_version_posted_is_ours(
    base: BaseDir, server: FakeSlack, slack_life: Callable[[], Life]
) -> None:
    publish(base, start(1))
    slack_life().go()
    del server.in_channel()[0]["metadata"]["event_payload"]["kingdom"]
    forget(base, FIRST)
    slack_life().go()
    assert ids(server) == [(FIRST, 1)]


def test_an_outage_that_begins_with_an_answer_lost_repeats_nothing(
    base: BaseDir, server: FakeSlack, slack_life: Callable[[], Life], clock: MovableClock
) -> None:
    server.faults.append(Fault("chat.postMessage|api.test", lost="after", left=2))
    publish(base, start(1))
    slack_life().go()
    assert counts(base) == {"messages/pending": 1}
    clock.advance(60)
    slack_life().go()
    assert ids(server) == [(FIRST, 1)]
    assert load(base, "messages/sent", FIRST)["delivery"]["attempt_count"] == 0


def test_a_thread_whose_parent_was_deleted_is_gone_on_with(
    base: BaseDir, server: FakeSlack, slack_life: Callable[[], Life]
) -> None:
    publish(base, start(1))
    slack_life().go()
    server.channels["C0KINGDOM"].messages.clear()
    publish(base, update(2))
    claim_and_die(base, "messages", "envoy", "msg-20260207-002")
    slack_life().go()
    assert ids(server) == [("msg-20260207-002", 1)]


# Long ones


LONG = "\n".join(f"line {number} of a long text" for number in range(1, 1000))


@pytest.mark.parametrize("kept", range(4))
def test_a_long_text_goes_on_in_its_thread_from_where_it_broke_off(
    base: BaseDir, server: FakeSlack, slack_life: Callable[[], Life], kept: int
) -> None:
    publish(base, start(1, content=LONG), update(2))
    slack_life().go()
    forget(base, FIRST, "msg-20260207-002")
    whole = server.in_channel()
    del server.channels["C0KINGDOM"].messages[kept:]
    slack_life().go()
    again = server.in_channel()
    assert [one["text"] for one in again] == [one["text"] for one in whole]
    assert ids(server) == [(FIRST, 1), (FIRST, 2), (FIRST, 3), ("msg-20260207-002", 1)]
    assert {one["thread_ts"] for one in again[1:]} == {again[0]["ts"]}
    lines = [line for text in texts(server) for line in text.split("\n")]
    assert [line for line in lines if line.startswith("line ")] == LONG.split("\n")


@pytest.mark.parametrize("kept", range(3))
def test_a_very_long_text_is_attached_once(
    base: BaseDir, server: FakeSlack, slack_life: Callable[[], Life], kept: int
) -> None:
    publish(base, start(1, content="x" * 100_000))
    slack_life().go()
    forget(base, FIRST)
    del server.channels["C0KINGDOM"].messages[kept:]
    slack_life().go()
    said, attached = server.in_channel()
    assert "The whole text is attached (100,000 characters)." in texts(server)[0]
    assert (attached["thread_ts"], attached["files"][0]["name"]) == (said["ts"], f"{FIRST}.txt")
    assert server.uploads[attached["files"][0]["id"]]["content"] == b"x" * 100_000


@pytest.mark.parametrize("lost", ["", "before"])
def test_a_file_that_slack_does_not_take_keeps_nothing_from_being_said(
    base: BaseDir,
    server: FakeSlack,
    slack_life: Callable[[], Life],
    clock: MovableClock,
    lost: str,
) -> None:
    server.faults.append(
        Fault("files.*", error="" if lost else "missing_scope", lost=lost, left=1_000)
    )
    publish(base, start(1, content="x" * 100_000))
    life = slack_life()
    for _ in range(4):
        life.go()
        clock.advance(60)
    assert counts(base) == {"messages/sent": 1}
    said, instead = server.in_channel()
    assert instead["thread_ts"] == said["ts"]
    assert instead["text"] == f"It could not be attached; read it with: kingdom queue show {FIRST}"
    slack_life().go()
    assert len(server.in_channel()) == 2


def test_a_file_that_slack_does_not_take_at_first_is_attached_a_little_later(
    base: BaseDir, server: FakeSlack, slack_life: Callable[[], Life], clock: MovableClock
) -> None:
    limit = Fault("files.completeUploadExternal", status=429, headers={"Retry-After": "1"})
    server.faults.append(limit)
    publish(base, start(1, content="x" * 100_000), message(2, task_id="task-20260207-002"))
    life = slack_life()
    life.go()
    assert counts(base) == {"messages/pending": 1, "messages/sent": 1}, "nobody waits for it"
    clock.advance(5)
    life.go()
    assert counts(base) == {"messages/sent": 2}
    assert "files" in server.in_channel()[-1]


def test_the_missing_scope_is_named_where_the_message_lies(
    base: BaseDir, server: FakeSlack, slack_life: Callable[[], Life]
) -> None:
    server.scopes -= {"chat:write"}
    publish(base, start(1))
    slack_life().go()
    told = load(base, "messages/dead", FIRST)["delivery"]["last_error_message"]
    assert "chat:write (for chat.postMessage)" in told


def test_what_was_half_said_is_completed_when_a_person_tries_it_again(
    base: BaseDir, server: FakeSlack, slack_life: Callable[[], Life]
) -> None:
    publish(base, start(1, content=LONG))
    life = slack_life()

    def only_once(stage: str, method: str) -> None:
        if (stage, method) == ("done", "chat.postMessage"):
            server.faults.append(Fault(error="not_in_channel"))

    server.hook = only_once
    life.go()
    server.hook = lambda stage, method: None
    server.faults.clear()
    assert ids(server) == [(FIRST, 1)]
    write_format(base)
    assert kingdom("queue", "retry", FIRST, base=base).code == 0
    slack_life().go()
    assert ids(server) == [(FIRST, 1), (FIRST, 2), (FIRST, 3)]
    assert counts(base) == {"messages/sent": 1}


def test_two_lives_in_a_row_say_nothing_again(base: BaseDir, server: FakeSlack) -> None:
    configure(base, server)
    publish(base, start(1))
    one_life(base)
    one_life(base)
    assert len(server.in_channel()) == 1
