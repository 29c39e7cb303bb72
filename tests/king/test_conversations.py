"""Nothing runs away: turns, money and bots of one conversation, and input that keeps failing."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from kingdom.king import conversations
from kingdom.king.conversations import Conversation, Failing, Turn
from kingdom.king.daemon import King
from kingdom.models.event import Event
from kingdom.models.result import Failed, Killed
from kingdom.models.task import Task
from kingdom.ops.reasons import why
from kingdom.ops.status import stopped_conversations
from kingdom.settings.king import ConversationLimits
from kingdom.store.spending import Spent, note, price
from tests.support.court import Court
from tests.support.kingdom import START, counts, event, result, task

LIMITS = ConversationLimits(turns_per_hour=4, usd_per_hour=5.0, bot_hops=2, failures=3)
BOTS = "bots: {start_work: ['*']}\n"
MANY, TASK = 20, "task-20260207-001"


def pr(name: object = 1, number: int = 7, **fields: Any) -> Event:
    payload = {"number": number, "author": "ann"} | fields.pop("payload", {})
    return event(str(name), repo="acme/api", payload=payload, **fields)


def minutes(*ago: int, bot: bool = False, usd: float = 0.0) -> Conversation:
    turns = (Turn(START - timedelta(minutes=one), bot, usd) for one in ago)
    return Conversation({f"evt-{number}": turn for number, turn in enumerate(turns)})


def failing(times: int, *, of: Event | None = None, general: str = "gen-pr") -> Conversation:
    seen = conversations.input_of(of or pr())
    return Conversation(failing={general: Failing(seen, times, START)})


BOT = pr(trust="bot", payload={"by": "renovate[bot]", "by_bot": True})
ON_A_BOT_S_PULL_REQUEST = pr(trust="bot", payload={"by": "ann", "by_bot": False})


@pytest.mark.parametrize(
    ("asked", "known", "bots", "expected"),
    [
        (pr(), Conversation(), [], ""),
        (BOT, Conversation(), [], "bot"),
        (pr(trust="bot"), Conversation(), [], "bot"),
        (ON_A_BOT_S_PULL_REQUEST, Conversation(), [], ""),
        (BOT, Conversation(), ["Renovate[bot]"], ""),
        (BOT, Conversation(), ["renovate"], "bot"),
        (BOT, Conversation(released={BOT.id: START}), [], ""),
        (BOT, minutes(2, bot=True), ["*"], ""),
        (BOT, minutes(2, 3, bot=True), ["*"], "bot_hops"),
        (pr(), minutes(2, 3, bot=True), ["*"], ""),
        (BOT, Conversation({**minutes(2, 3, bot=True).turns, "x": Turn(START, False)}), ["*"], ""),
        (pr(), failing(2), [], ""),
        (pr(), failing(3), [], "failing"),
        (pr(), failing(3, general="gen-jira"), [], ""),
        (pr(), failing(3, of=pr(payload={"head_sha": "a"})), [], ""),
        (pr(payload={"comment_url": "/2"}), failing(3), [], "failing"),
        (
            pr(trust="member", payload={"comment_url": "/2"}),
            failing(3, of=pr(trust="member", payload={"comment_url": "/1"})),
            [],
            "",
        ),
        (pr(source="cli"), failing(3), [], ""),
    ],
)
def test_what_is_not_taken_up(
    asked: Event, known: Conversation, bots: list[str], expected: str
) -> None:
    found = conversations.refusal(asked, "gen-pr", known, LIMITS, bots)
    assert (found.code if found else "") == expected


@pytest.mark.parametrize(
    ("asked", "known", "expected"),
    [
        (pr(), minutes(1, 2, 3), None),
        (pr(), minutes(1, 2, 3, 50), 10),
        (pr(), minutes(1, 2, 3, 40, 50), 20),
        (pr(source="cli"), minutes(1, 2, 3, 50), None),
        (event(), minutes(1, 2, 3, 50), None),
        (pr(), minutes(5, 50, usd=2.4), None),
        (pr(), minutes(5, 30, usd=2.5), 30),
        (pr(), minutes(5, 30, 50, usd=2.5), 30),
    ],
)
def test_what_waits_and_for_how_long(
    asked: Event, known: Conversation, expected: int | None
) -> None:
    found = conversations.wait(asked, known, LIMITS)
    until = found.until if found else None
    assert until == (None if expected is None else START + timedelta(minutes=expected))


def test_a_clock_that_was_ahead_stops_a_conversation_for_an_hour_at_most() -> None:
    known = minutes(-600_000, -1, 30, 61)
    known.forget_old(START)
    assert [turn.at for turn in known.turns.values()] == [START, START, START - timedelta(0, 1800)]


def test_conversations_are_told_apart() -> None:
    spoken = {"channel": "C1", "ts": "2.0", "thread_ts": "1.0"}
    told: list[Event | Task] = [
        pr(),
        event(payload={"key": "SHOP-1"}),
        event(payload=spoken),
        task(repo="acme/api", type="resume", payload={"original": {"number": 7}}),
        event(),
        event(payload={"number": 7}),
    ]
    names = [conversations.conversation_of(one) for one in told]
    assert names == ["acme/api#7", "SHOP-1", "slack C1 1.0", "acme/api#7", "", ""]


# With a king


def turn(court: Court, king: King, asked: Event, ended: type[Failed | Killed] | None = None) -> str:
    """An event, and what comes of it; the task that it became, if it did."""
    court.send(asked)
    king.step()
    task_id = court.event(asked.id).get("task_id") or ""
    if task_id and ended is not None:
        court.report(ended(task_id=task_id, summary="", error="no", error_code="no_result"))
    elif task_id:
        court.report(result(int(task_id.rpartition("-")[2])))
    king.step()
    court.clock.advance(1)
    return task_id


def notices(court: Court) -> list[dict[str, Any]]:
    return [one for one in court.all("messages") if one["id"].startswith("msg-limit-")]


def release(court: Court, king: King, event_id: str) -> None:
    payload = {"command": "release", "event_id": event_id}
    name = f"command-{len(court.all('events'))}"
    court.send(event(name, type="kingdom.command", source="cli", payload=payload))
    king.step()


def mention(number: int) -> Event:
    """As a bot's comment comes that mentions the kingdom's account."""
    at = (START + timedelta(seconds=number)).isoformat()
    said = {"by": "chatty[bot]", "by_bot": True, "comment_url": f"/{number}", "updated_at": at}
    return pr(number, trust="bot", type="github.pr.mentioned", payload=said)


def test_bots_start_no_work_and_a_person_may_let_one_pass(court: Court) -> None:
    king = court.king()
    assert [turn(court, king, mention(number)) for number in range(MANY)] == [""] * MANY
    assert counts(court.base) == {"events/completed": MANY}, "and nobody is told each time"
    ended = court.event("evt-test-1")
    assert (ended["status"], ended["reason"]) == (
        "completed",
        "A bot (chatty[bot]) started it, and bots.start_work in king.yaml does not name that one. "
        "It is not taken up; `kingdom release evt-test-1` does so all the same.",
    )
    assert len(court.told("event.discarded")) == MANY
    release(court, court.king(), "evt-test-1")
    passed = court.event("evt-test-1")
    assert (passed["status"], passed.get("reason")) == ("dispatched", None)


def test_two_bots_that_mention_each_other_are_stopped_and_a_person_is_told_once(
    court: Court,
) -> None:
    court.configure(king=BOTS)
    done = [turn(court, court.king(), mention(number)) for number in range(MANY)]
    assert len(list(filter(None, done))) == 3, "bot_hops, also when all succeed and kings die"
    (told,) = notices(court)
    assert told["content"] == (
        "Bots had 3 turns in a row on acme/api#7, the most that conversation.bot_hops in king.yaml "
        "allows. It is not taken up; `kingdom release evt-test-3` does so all the same."
    )
    (stopped,) = stopped_conversations(court.base)
    assert (stopped["about"], stopped["event_id"]) == ("acme/api#7", f"evt-test-{MANY - 1}")
    king = court.king()
    assert turn(court, king, pr("person", type="github.pr.mentioned"))
    assert turn(court, king, mention(MANY)), "a person has had a turn"
    another = mention(MANY + 1).revised(repo="acme/web")
    assert turn(court, king, another)


def test_a_bot_s_event_takes_nobody_s_place(court: Court) -> None:
    court.send(pr("person", type="github.pr.mentioned"), mention(1))
    court.king().step()
    assert court.event("evt-test-person")["status"] == "dispatched"


def test_a_conversation_that_has_had_its_turns_waits_until_the_hour_is_over(court: Court) -> None:
    court.configure(king="conversation: {turns_per_hour: 3}\n")
    king = court.king()
    done = [turn(court, king, pr(number)) for number in range(5)]
    assert [bool(one) for one in done] == [True, True, True, False, False]
    assert court.event("evt-test-3")["reason"] == "Superseded by evt-test-4."
    waiting = court.event("evt-test-4")
    assert (waiting["status"], waiting["delivery"]["next_retry_at"][:19]) == (
        "pending",
        "2026-02-07T11:00:00",
    )
    (told,) = notices(court)
    assert told["content"].startswith("acme/api#7 has had 3 turns within an hour, the most that ")
    assert told["content"].endswith("`kingdom release evt-test-3` lets it go on at once.")
    (said,) = why(court.base, "evt-test-4", court.environment, court.clock)[0].reasons[1:2]
    assert "has had 3 turns" in said.sentence
    assert "kingdom release evt-test-4" in said.sentence
    assert turn(court, king, pr("other", number=8)), "another conversation goes on"
    king = court.king()
    king.step()
    assert court.state("events", "evt-test-4") == "pending"
    court.clock.advance(3600)
    king.step()
    assert court.state("events", "evt-test-4") == "dispatched"
    assert stopped_conversations(court.base) == []


def test_a_person_lets_a_conversation_go_on_at_once(court: Court) -> None:
    court.configure(king="conversation: {turns_per_hour: 2}\n")
    king = court.king()
    turn(court, king, pr("a"))
    turn(court, king, pr("b"))
    turn(court, king, pr(1))
    turn(court, king, pr(2, type="github.pr.mentioned"))
    turn(court, king, pr(3, type="github.pr.assigned"))
    assert {court.state("events", f"evt-test-{one}") for one in (1, 2, 3)} == {"pending"}
    king = court.king()
    release(court, king, "evt-test-1")
    states = [court.state("events", f"evt-test-{one}") for one in (1, 2, 3)]
    assert states == ["dispatched", "dispatched", "pending"], "two turns, again"
    release(court, king, "evt-test-1")
    (refused,) = (one for one in court.all("events") if one["status"] == "failed")
    assert refused["reason"] == "evt-test-1 is not stopped (dispatched)."


def test_what_is_at_work_counts_also_if_a_king_died_before_it_wrote_that(court: Court) -> None:
    court.configure(king="conversation: {turns_per_hour: 1}\n")
    court.send(pr(0))
    court.king().step()
    Path(court.base.path("state", "king", "conversations.json")).unlink()
    assert turn(court, court.king(), pr(1)) == ""


def test_money_counts_with_all_attempts(court: Court) -> None:
    court.configure(king="conversation: {usd_per_hour: 2.0}\n")
    king = court.king()
    for soldier, cost in (("soldier-1", "0.9"), ("soldier-2", "1.2")):
        spent = Spent("", TASK, soldier, "gen-pr", "", "claude", (), price(cost), {})
        note(court.base, START.date(), spent)
    turn(court, king, pr(0))
    assert turn(court, court.king(), pr(1)) == ""
    (told,) = notices(court)
    assert told["content"].startswith("acme/api#7 has cost $2.10 within an hour; conversation.usd_")


@pytest.mark.parametrize(
    ("fields", "key"),
    [
        ({"repo": "acme/api", "payload": {"number": 7, "head_sha": "a"}}, "acme/api#7"),
        ({"payload": {"do": "it"}}, "github.pr.comment"),
    ],
)
def test_what_keeps_failing_is_not_tried_for_ever(
    court: Court, fields: dict[str, Any], key: str
) -> None:
    done = [
        turn(court, court.king(), event(str(number), **fields), Failed if number % 2 else Killed)
        for number in range(6)
    ]
    assert [bool(one) for one in done] == [True, True, True, False, False, False]
    (told,) = notices(court)
    assert told["content"] == (
        f"gen-pr has failed on {key} 3 times in a row, and nothing about it has changed since. It "
        "is not taken up; `kingdom release evt-test-3` does so all the same."
    )
    king = court.king()
    release(court, king, "evt-test-3")
    assert court.state("events", "evt-test-3") == "dispatched"
    changed = fields | {"payload": fields["payload"] | {"head_sha": "b"}}
    assert turn(court, king, event("new", **changed), Failed)


def test_thirty_pull_requests_of_strangers_wait_for_soldiers_and_money(court: Court) -> None:
    king = court.king()
    court.send(*(pr(number, number=number, trust="fork") for number in range(30)))
    king.step()
    assert counts(court.base)["tasks/pending"] == 3
    court.measure(tokens={"status": "critical", "daily_cost_usd": "20"})
    for number in (1, 2, 3):
        court.report(result(number))
    court.clock.advance(2)
    king.step()
    king.step()
    assert counts(court.base)["events/pending"] == 27


@pytest.mark.parametrize(
    "content", ["", "[]", '{"a": 1, "b": {"turns": []}}', '{"c": {"turns": {}}}']
)
def test_a_damaged_file_is_forgotten(court: Court, content: str) -> None:
    path = Path(court.base.path("state", "king", "conversations.json"))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    assert stopped_conversations(court.base) == []
    assert turn(court, court.king(), pr())
    assert list(json.loads(path.read_text())) == ["acme/api#7"]


def test_what_is_over_is_not_kept(court: Court) -> None:
    king = court.king()
    turn(court, king, pr(1))
    court.clock.advance(3700)
    turn(court, king, pr(2, number=8))
    path = Path(court.base.path("state", "king", "conversations.json"))
    assert re.findall(r"acme/api#\d", path.read_text()) == ["acme/api#8"]
