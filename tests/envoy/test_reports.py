"""Reports: each kind once a day, whatever happens meanwhile, and made to be read."""

from __future__ import annotations

import json
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kingdom.envoy import reports
from kingdom.envoy.notebook import reports_path
from kingdom.envoy.reports import SentReport, edition_of, shown_before
from kingdom.models.message import Notification, Report
from kingdom.ops.init import init
from kingdom.store.paths import BaseDir
from kingdom.words import LANGUAGES, Words
from tests.support.calls import CHANGE_NOTHING, Killer, in_child, observed
from tests.support.cli import kingdom
from tests.support.envoy import Life, console, publish, shown
from tests.support.kingdom import START, MovableClock, counts, load
from tests.support.slack_life import ENVIRONMENT, configure, texts
from tests.support.slack_server import FakeSlack

FIGURES = {
    "type": "daily_report",
    "date": "2026-02-07",
    "tasks": {"created": 15, "completed": 12, "failed": 2, "needs_human": 1},
    "soldiers": {"spawned": 14, "timeout": 1},
    "avg_duration_seconds": {"gen-pr": 420, "gen-briefing": 60},
}
READABLE = [
    "Daily report, 2026-02-07",
    "Tasks: 15 begun, 12 completed, 2 failed, 1 waiting for a person",
    "Soldiers: 14 started, 1 out of time",
    "Average time: gen-pr 7m, gen-briefing 1m",
]


def report(number: int = 1, date: str = "2026-02-07", **fields: Any) -> Report:
    context = FIGURES | {"date": date, "type": fields.pop("kind", "daily_report")}
    values = {"id": f"msg-20260207-{number:03d}", "content": "A quiet day.", "context": context}
    return Report(**({**values, "created_at": START} | fields))


def recorded(base: BaseDir) -> Any:
    return json.loads(Path(reports_path(base)).read_text())


# Once a day


def test_the_second_of_a_day_is_marked_and_not_shown(
    base: BaseDir, live: Callable[..., Life]
) -> None:
    init(base)
    publish(base, report(1), report(2))
    live().go()
    assert shown(base) == ["msg-20260207-001"]
    assert counts(base) == {"messages/sent": 2}
    assert load(base, "messages/sent", "msg-20260207-002")["duplicate_of"] == "msg-20260207-001"
    assert "duplicate_of" not in load(base, "messages/sent", "msg-20260207-001")
    assert recorded(base) == {"daily_report": {"date": "2026-02-07", "msg_id": "msg-20260207-001"}}
    said = kingdom("why", "msg-20260207-002", base=base).out
    assert "msg-20260207-001 had brought the same report" in said


def test_one_that_comes_late_is_shown_and_its_second_is_not(
    base: BaseDir, live: Callable[..., Life]
) -> None:
    dates = ["2026-02-06", "2026-02-07", "2026-02-06", "2026-02-05", "2026-02-07", "2026-02-05"]
    for number, date in enumerate(dates, 1):
        publish(base, report(number, date))
        live().go()
    assert shown(base) == ["msg-20260207-001", "msg-20260207-002", "msg-20260207-004"]
    assert load(base, "messages/sent", "msg-20260207-006")["duplicate_of"] == "msg-20260207-004"


def test_what_is_known_of_former_reports_stays_small() -> None:
    sent: reports.SentReports = {}
    for day in range(1000):
        sent = reports.after(report(day, f"{2000 + day}-01-01"), sent)
    (last,) = sent.values()
    assert (last.date, len(last.known())) == ("2999-01-01", 31)


def test_also_across_restarts_and_when_the_notes_are_lost(
    base: BaseDir, live: Callable[..., Life]
) -> None:
    publish(base, report(1))
    live().go()
    publish(base, report(2))
    live().go()
    Path(reports_path(base)).unlink()
    publish(base, report(3))
    live().go()
    assert shown(base) == ["msg-20260207-001"]
    assert counts(base) == {"messages/sent": 3}


def test_other_days_and_other_kinds_go_out(base: BaseDir, live: Callable[..., Life]) -> None:
    publish(base, report(1), report(2, "2026-02-08"), report(3, kind="weekly_report"))
    publish(base, Report(id="msg-20260207-004", content="No kind.", created_at=START))
    publish(base, Report(id="msg-20260207-005", content="No kind.", created_at=START))
    publish(base, Notification(id="msg-20260207-006", content="Hear!", created_at=START))
    live().go()
    assert len(shown(base)) == 6
    assert recorded(base).keys() == {"daily_report", "weekly_report"}
    assert recorded(base)["daily_report"]["date"] == "2026-02-08"


def test_one_that_could_not_be_said_does_not_count(
    base: BaseDir, server: FakeSlack, live: Callable[..., Life]
) -> None:
    configure(base, server)
    publish(base, report(1, channel="#nowhere"))
    life = live(environment=ENVIRONMENT)
    life.go()
    publish(base, report(2))
    life.go()
    assert counts(base) == {"messages/dead": 1, "messages/sent": 1}
    assert len(texts(server)) == 1


def test_killed_anywhere_each_goes_out_once(scratch: Path) -> None:
    point, code = 0, -signal.SIGKILL
    while code:
        point += 1
        base = BaseDir(scratch / str(point))
        Path(base.root).mkdir()
        publish(base, report(1), report(2), report(3, kind="weekly_report"))

        def work(base: BaseDir = base, point: int = point) -> None:
            life = Life(base, MovableClock())
            with observed(Killer(point, after=point % 2 == 0, passing_over=CHANGE_NOTHING)):
                life.go()
                life.end()

        code = in_child(work)
        assert code in (0, -signal.SIGKILL)
        life = Life(base, MovableClock())
        life.go()
        life.end()
        assert shown(base) == ["msg-20260207-001", "msg-20260207-003"]
        assert counts(base) == {"messages/sent": 3}
        repeated = [load(base, "messages/sent", f"msg-20260207-00{n}") for n in (1, 2, 3)]
        firsts = [one.get("duplicate_of") for one in repeated]
        assert firsts == [None, "msg-20260207-001", None]
        shutil.rmtree(base.root)
    assert point > 10


@pytest.mark.parametrize(
    "context", [{}, {"type": "x"}, {"type": 1, "date": "d"}, {"type": "../x", "date": "d"}]
)
def test_one_that_does_not_say_what_it_is_of_is_always_shown(context: dict[str, Any]) -> None:
    assert edition_of(report(context=context)) is None
    assert shown_before(report(context=context), {"x": SentReport(date="d", msg_id="m")}) == ""


def test_an_older_one_that_comes_late_is_not_the_last() -> None:
    last = {"daily_report": SentReport(date="2026-02-08", msg_id="m")}
    assert shown_before(report(1, "2026-02-07"), last) == ""
    known = reports.after(report(1, "2026-02-07"), last)["daily_report"]
    assert (known.date, known.earlier) == ("2026-02-08", {"2026-02-07": "msg-20260207-001"})


# Made to be read


def test_its_words_are_shown_below_its_title(base: BaseDir, live: Callable[..., Life]) -> None:
    publish(base, report(1))
    live().go()
    lines = [line.strip() for line in console(base).splitlines()[1:] if line]
    assert lines == ["Daily report, 2026-02-07", "A quiet day."]


@pytest.mark.parametrize("as_content", [True, False])
def test_mere_figures_are_put_into_words(
    base: BaseDir, live: Callable[..., Life], as_content: bool
) -> None:
    given = {"content": json.dumps(FIGURES), "context": {}} if as_content else {"content": ""}
    publish(base, report(1, **given))
    live().go()
    assert [line.strip() for line in console(base).splitlines()[1:] if line] == READABLE


def test_in_slack_it_is_one_message_under_a_heading(
    base: BaseDir, server: FakeSlack, live: Callable[..., Life]
) -> None:
    configure(base, server)
    publish(base, report(1, content=json.dumps(FIGURES, indent=2)))
    live(environment=ENVIRONMENT).go()
    (said,) = texts(server)
    assert said.splitlines() == [f"*{READABLE[0]}*", *READABLE[1:]]
    assert "files" not in server.in_channel()[0]


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_can_tell_it(language: str) -> None:
    words = Words(language)
    assert "2026-02-07" in reports.title(report(), words)
    body = reports.body(report(content=""), words)
    assert all(figure in body for figure in ("15", "12", "14", f"gen-pr {words.span(420)}"))


@pytest.mark.parametrize("content", ["{", "{}", '{"tasks": 3}', "[1]"])
def test_other_json_is_left_as_it_is(content: str) -> None:
    assert reports.body(report(content=content, context={}), Words("en")) == content
