"""People are told of a watcher that sees nothing: once, whatever happens to the king meanwhile."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kingdom.store.paths import BaseDir
from kingdom.words import Words
from tests.support.calls import CHANGE_NOTHING, Killer, in_child, observed
from tests.support.court import Court
from tests.support.kingdom import files, load

TROUBLE = {"state": "trouble", "code": "github_login", "alarming": True}
OK = {"state": "ok", "alarming": False, "last_look": "2026-11-15T08:00:00.000Z"}
SAID = {"sentence": "GitHub refuses (401).", "remedy": "Renew the token."}


def stands(base: BaseDir, **watchers: dict[str, Any]) -> None:
    path = Path(base.path("state", "sentinel", "watchers.json"))
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_suffix(".new")
    fresh.write_text(json.dumps(watchers))
    fresh.rename(path)


def told(base: BaseDir) -> list[str]:
    found = [load(base, "messages/pending", id_) for id_ in files(base).get("messages/pending", [])]
    return [one["content"] for one in sorted(found, key=lambda one: one["id"])]


def reign(court: Court, steps: int = 2) -> None:
    king = court.king()
    for _ in range(steps):
        king.step()
        court.clock.advance(60)


def test_once_and_once_more_when_it_is_over(court: Court, base: BaseDir) -> None:
    reign(court)  # nobody watches anything
    assert told(base) == []
    stands(base, github=TROUBLE | SAID, inbox=OK)
    reign(court)
    stands(base, github=TROUBLE | SAID | {"last_look": "later"})
    reign(court)
    begun = "The github watcher sees nothing just now. GitHub refuses (401). Renew the token."
    assert told(base) == [begun]
    stands(base, github=OK | {"last_look": None})  # one that was started anew, and did not look yet
    reign(court)
    assert told(base) == [begun]
    stands(base, github=OK)
    reign(court)
    stands(base, github=OK | {"last_look": "later"})
    reign(court)
    assert told(base) == [begun, "The github watcher sees again."]
    stands(base, github=TROUBLE | SAID)
    reign(court)
    assert len(told(base)) == 2  # it comes and goes
    court.clock.advance(3600)
    stands(base, github=TROUBLE | SAID | {"last_look": "an hour later"})
    reign(court)
    assert told(base) == [begun, "The github watcher sees again.", begun]


def test_in_korean_the_failure_is_told_and_the_server_quoted(court: Court, base: BaseDir) -> None:
    court.configure(system="language: ko\n")
    refused = "GitHub refuses (401): Bad credentials."
    stands(base, github=TROUBLE | {"sentence": refused, "remedy": "Renew the token."})
    reign(court)
    (content,) = told(base)
    known = Words("ko").failure("github_login")
    assert known is not None
    assert content.endswith(f"{known.sentence} “{refused}” {known.remedy}")
    assert "Renew" not in content


def test_two_kinds_that_take_turns_are_told_once_each(court: Court, base: BaseDir) -> None:
    for number in range(6):
        code = f"code-{number % 2}"
        stands(base, github=TROUBLE | SAID | {"code": code, "last_look": str(number)})
        reign(court)
    assert len(told(base)) == 2


def test_one_that_was_switched_off_meanwhile_is_told_again(court: Court, base: BaseDir) -> None:
    stands(base, github=TROUBLE | SAID)
    reign(court)
    stands(base)  # it is configured no more
    reign(court)
    court.clock.advance(3600)
    stands(base, github=TROUBLE | SAID)
    reign(court)
    assert len(told(base)) == 2


def test_nothing_old_is_told_again_when_its_message_is_long_gone(
    court: Court, base: BaseDir
) -> None:
    stands(base, github=TROUBLE | SAID)
    reign(court)
    stands(base, github=OK)
    reign(court)
    for path in Path(base.path("queue", "messages", "pending")).glob("*.json"):
        path.unlink()
    court.clock.advance(8 * 86_400)
    reign(court)
    assert told(base) == []


def test_another_kind_of_trouble_is_told_and_a_passing_one_is_not(
    court: Court, base: BaseDir
) -> None:
    stands(base, github=TROUBLE | SAID | {"alarming": False})
    reign(court)
    assert told(base) == []
    stands(base, github=TROUBLE | SAID)
    reign(court)
    stands(base, github=TROUBLE | {"code": "unreachable", "sentence": "Nobody answers."})
    reign(court)
    assert len(told(base)) == 2


@pytest.mark.parametrize("damage", ["", "[]", '{"github": 3}', '{"github": {"alarming": true}}'])
def test_what_is_damaged_costs_nothing(court: Court, base: BaseDir, damage: str) -> None:
    stands(base)
    Path(base.path("state", "sentinel", "watchers.json")).write_text(damage)
    reign(court)
    Path(base.path("state", "king", "watchers-told.json")).write_text(damage)
    stands(base, jira=TROUBLE | SAID)
    reign(court)
    assert any("The jira watcher" in one for one in told(base))


def test_killed_anywhere_it_is_told_once(court: Court, base: BaseDir) -> None:
    def killed(point: int) -> None:
        king = court.king()
        king.step()
        court.clock.advance(60)
        stands(base, **{f"watcher-{point}": TROUBLE | SAID})
        with observed(Killer(point, after=point % 2 == 0, passing_over=CHANGE_NOTHING)):
            king.step()

    for point in range(1, 300):
        lived = in_child(lambda at=point: killed(at)) == 0  # type: ignore[misc]
        court.clock.advance(60)
        assert in_child(lambda: reign(court)) == 0
        assert len([one for one in told(base) if f"watcher-{point} " in one]) == 1
        if lived:
            return
    raise AssertionError("it never came to its end")


def test_a_clock_that_was_ahead_silences_no_watcher_s_trouble(court: Court, base: BaseDir) -> None:
    path = Path(base.path("state", "king", "watchers-told.json"))
    path.parent.mkdir(parents=True, exist_ok=True)
    codes = {"github_login": "2036-02-07T10:00:00.000Z"}
    path.write_text(json.dumps({"github": {"codes": codes, "is_open": False, "message": None}}))
    stands(base, github=TROUBLE | SAID)
    reign(court)
    assert len(told(base)) == 1
