"""Whatever stands in a file that the chamberlain keeps, it costs that file's content at most, and
the log says so. A duty that breaks fails the test: see `_unbroken` in tests/conftest.py."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kingdom.chamberlain.daemon import Chamberlain
from kingdom.chamberlain.duties import DUTIES
from kingdom.store.paths import BaseDir
from tests.support.event_lines import append, completed, failed, timeout
from tests.support.household import internal_events, office_in, said
from tests.support.kingdom import MovableClock

NOW = "2026-02-06T10:00:00.000Z"
MESSAGE = {"id": "msg-20260101-001", "content": "Said before.", "urgency": "high"}
REPORT = {"id": "msg-20260101-002", "content": "Reported before.", "context": {"kind": "daily"}}
DATA = {"date": "2026-02-06", "previous_cost": "1"}
EVENT = {"type": "system.token_budget_reset", "data": DATA, "since": NOW}
BEYOND = 10**400  # which no float reaches
TORN = "\ud800"  # half of a character, as flipped bits leave it


def alert(**wrong: Any) -> dict[str, Any]:
    return {"heartbeat:king": {"since": NOW, "is_open": True, "message": MESSAGE, **wrong}}


def budget(**wrong: Any) -> dict[str, Any]:
    return {"date": "2026-02-06", "status": "ok", "telling": [], **wrong}


DAMAGES: list[tuple[str, Any]] = [
    *(
        (name, value)
        for name in ("alerts.json", "reports.json", "budget.json")
        for value in ([], 5)
    ),
    ("alerts.json", {"heartbeat:king": None}),
    ("alerts.json", alert(message={**MESSAGE, "id": 5})),
    ("alerts.json", alert(message={**MESSAGE, "id": "../../x"})),
    ("alerts.json", alert(message={**MESSAGE, "urgency": "x"})),
    ("alerts.json", alert(is_open="x")),
    ("reports.json", {"daily": {"date": "2026-02-05", "message": {**REPORT, "id": None}}}),
    ("reports.json", {"daily": {"date": "2026-02-05", "message": {**REPORT, "context": 5}}}),
    ("reports.json", {"daily": {"date": "x", "message": None}}),
    ("budget.json", budget(date="../../x")),
    ("budget.json", budget(date=5)),
    ("budget.json", budget(telling=[{**EVENT, "type": 5}])),
    ("budget.json", budget(telling=[{**EVENT, "type": "no.such"}])),
    ("budget.json", budget(telling=[{**EVENT, "data": 5}])),
    ("budget.json", budget(telling=[{**EVENT, "data": {"date": TORN}}])),
    ("budget.json", budget(telling=[{**EVENT, "since": None}])),
    ("dead-told.json", {"told": {}, "message": {"id": 5, "content": "x"}}),
]


def damaged(base: BaseDir, name: str, value: Any) -> None:
    path = Path(base.path("state/chamberlain", name))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value))


def live(base: BaseDir, clock: MovableClock) -> None:
    with office_in(base, clock) as office:
        role = Chamberlain(office.setting, DUTIES)
        for _ in range(3):
            clock.advance(max(role.step(), 1.0))
        role.stop()


def complaints(base: BaseDir) -> int:
    return Path(base.system_log).read_text().count("state.damaged")


@pytest.mark.parametrize(("name", "value"), DAMAGES)
def test_a_damaged_file_is_said_once_and_heals(
    base: BaseDir, clock: MovableClock, name: str, value: Any
) -> None:
    append(base, completed())
    damaged(base, name, value)
    live(base, clock)
    assert complaints(base) == 1
    live(base, clock)
    assert complaints(base) == 1


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("alerts.json", alert(message={**MESSAGE, "content": TORN})),
        ("reports.json", {"daily": {"date": "2026-02-05", "message": {**REPORT, "content": TORN}}}),
        ("dead-told.json", {"told": {}, "message": {"id": MESSAGE["id"], "content": TORN}}),
    ],
)
def test_half_a_character_costs_that_character(
    base: BaseDir, clock: MovableClock, name: str, value: Any
) -> None:
    damaged(base, name, value)
    live(base, clock)
    assert "\ufffd" in said(base)


@pytest.mark.parametrize("name", ["alerts.json", "reports.json", "budget.json"])
def test_a_file_that_is_no_json_is_said_once_and_heals(
    base: BaseDir, clock: MovableClock, name: str
) -> None:
    damaged(base, name, "{torn")
    live(base, clock)
    live(base, clock)
    assert complaints(base) == 1


def test_a_damaged_alert_costs_no_other(base: BaseDir, clock: MovableClock) -> None:
    whole = {"budget:unknown": {"since": NOW, "is_open": True, "message": MESSAGE}}
    damaged(base, "alerts.json", alert(message=5) | whole)
    live(base, clock)
    assert MESSAGE["content"] in said(base)


def test_what_is_whole_is_used(base: BaseDir, clock: MovableClock) -> None:
    damaged(base, "budget.json", budget(telling=[EVENT]))
    damaged(base, "reports.json", {"daily": {"date": "2026-02-05", "message": REPORT}})
    damaged(base, "dead-told.json", {"told": {}, "message": {"id": MESSAGE["id"], "content": "x"}})
    append(base, completed(), *(failed(at=float(n)) for n in range(3)), timeout(1.0))
    live(base, clock)
    live(base, clock)
    assert complaints(base) == 0
    assert internal_events(base, EVENT["type"])[0]["data"] == DATA
    assert {"x", REPORT["content"]} <= set(said(base))


@pytest.mark.parametrize("name", ["ticks", "doubt_seconds"])
def test_a_clock_that_nobody_can_reckon_with(base: BaseDir, clock: MovableClock, name: str) -> None:
    kept = {"looked_at": NOW, "ticks": 1.0, "boot": "x", "doubt_seconds": 0.0, name: BEYOND}
    damaged(base, "clock.json", kept)
    live(base, clock)


@pytest.mark.parametrize("wrong", [BEYOND, 10**30, TORN])
def test_what_cannot_be_written_again_is_not_taken_from_a_ledger(
    base: BaseDir, clock: MovableClock, wrong: Any
) -> None:
    append(base, completed())
    live(base, clock)
    path = Path(base.path("state/chamberlain/ledger.json"))
    whole = json.loads(path.read_text())
    figures = whole["totals"]["durations"]["gen-pr"]
    whole["totals"]["durations"]["gen-pr"] = figures | {"sum": wrong}
    whole["totals"]["types"]["x"] = wrong
    whole["failures"]["x"] = {"failed": 1, "retried": 0, "last_seen": NOW, "last_error": TORN,
                              "generals": {}} if wrong == TORN else wrong  # fmt: skip
    path.write_text(json.dumps(whole))
    append(base, completed())
    live(base, clock)
    assert complaints(base) == 1
    assert json.loads(path.read_text())["totals"]["types"]["task.completed"] == 2
