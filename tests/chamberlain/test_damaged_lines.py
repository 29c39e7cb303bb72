"""Whatever stands in the events log or in a former ledger, all duties go on, also after a restart.

A duty that breaks fails the test: see `_unbroken` in tests/conftest.py.
"""

from __future__ import annotations

import json
import shutil
from datetime import timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kingdom.chamberlain.daemon import Chamberlain
from kingdom.chamberlain.duties import DUTIES
from kingdom.ops.reports import report
from kingdom.store.paths import BaseDir
from tests.support.event_lines import append, completed, detected, failed, line, timeout
from tests.support.household import office_in
from tests.support.kingdom import START, MovableClock

ZONES = ("Asia/Seoul", "America/Los_Angeles", "Pacific/Kiritimati")
SPECIAL = (
    "task.completed", "task.failed", "task.retried", "soldier.timeout", "event.detected",
    "event.deferred", "event.dispatched", "system.health_changed", "queue.buried",
)  # fmt: skip

times = st.sampled_from(
    [
        "2026-02-07T10:00:00.000Z",
        "2026-02-07T10:00:garbageZ",
        "2026-02-07T10:00",
        "2026-02-07T10:00:00Z ",
        "2026-02-07T10:00:99Z",
        "9999-12-31T23:59:59Z",
        "0001-01-01T00:00:00Z",
        "0001-01-01T00:00:00+14:00",
        "1970-01-01T00:00:00Z",
        "2026-02-07",
        "",
    ]
)
numbers = st.one_of(
    st.sampled_from(["nan", "inf", "-inf", "1e999", -1, 0, 1e308, 2**63, True, None, "", "soon"]),
    st.floats(allow_nan=False, allow_infinity=False),
)
anything = st.recursive(
    st.one_of(numbers, st.text(max_size=5), times),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=6,
)
keys = ("event_id", "reason", "duration_seconds", "error", "from", "to", "ts", "task_id")
datas = st.one_of(
    st.fixed_dictionaries({}, optional={key: st.one_of(numbers, anything) for key in keys}),
    st.fixed_dictionaries(
        {"event_id": st.sampled_from(["evt-1", 5, None, "../x", "e" * 500]), "reason": anything,
         "duration_seconds": numbers, "error": anything}
    ),
    anything,
)  # fmt: skip
entries = st.fixed_dictionaries(
    {},
    optional={
        "ts": st.one_of(times, times, times, anything),
        "type": st.one_of(st.sampled_from(SPECIAL), st.sampled_from(SPECIAL), anything),
        "actor": st.one_of(st.sampled_from(["gen-pr", "gen-x" * 100]), anything),
        "data": datas,
    },
)


def encoded(entry: Any) -> bytes:
    return json.dumps(entry).encode("utf-8", "replace")


def nested(deep: int) -> bytes:
    inner = "[" * deep + "]" * deep
    return (
        '{"ts":"2026-02-07T10:00:00Z","type":"task.failed","actor":"gen-pr",'
        f'"data":{{"error":{inner}}}}}'
    ).encode()


raw_lines = st.one_of(
    entries.map(encoded),
    entries.map(encoded),
    st.binary(max_size=20).map(lambda raw: raw.replace(b"\n", b"")),
    st.integers(900, 1100).map(nested),
)


def configured(base: BaseDir, zone: str) -> None:
    Path(base.config).mkdir(exist_ok=True)
    Path(base.config, "system.yaml").write_text(f"timezone: {zone}\ndurability: fast\n")


def live(base: BaseDir, clock: MovableClock) -> None:
    """Two lives over an hour and a midnight: all duties, and the report of the day."""
    for pause in (60.0, 3600.0, 86_400.0):
        with office_in(base, clock) as office:
            role = Chamberlain(office.setting, DUTIES)
            for _ in range(3):
                clock.advance(max(role.step(), 1.0))
            role.stop()
        clock.advance(pause)
    text = Path(base.system_log).read_text()
    assert "duty.broke" not in text, text


def ledger(base: BaseDir) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path(base.path("state/chamberlain/ledger.json")).read_text())
    return found


def anew(base: BaseDir, zone: str) -> MovableClock:
    shutil.rmtree(base.root)
    Path(base.root).mkdir()
    configured(base, zone)
    return MovableClock()


def check(base: BaseDir, lines: list[bytes], zone: str) -> None:
    clock = anew(base, zone)
    append(base, completed(), *(one + b"\n" for one in lines), completed(), completed())
    written = sum(bool(one.strip()) for one in lines) + 3
    live(base, clock)
    found = ledger(base)
    own = sum(found["totals"]["types"].get(one, 0) for one in _OWN)
    assert found["lines"] + found["damaged"] - own == written
    assert found["totals"]["actors"]["gen-pr"]["task.completed"] >= 3
    day = START.astimezone(ZoneInfo(zone)).date().isoformat()
    report(base, {}, clock, day, week=False)


UNHURRIED = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large]
many_lines = st.lists(raw_lines, min_size=20, max_size=60)


@settings(max_examples=10, suppress_health_check=UNHURRIED)
@given(lines=many_lines, zone=st.sampled_from(ZONES))
def test_whatever_a_line_holds(base: BaseDir, lines: list[bytes], zone: str) -> None:
    check(base, lines, zone)


@pytest.mark.long
@settings(max_examples=300, suppress_health_check=UNHURRIED)
@given(lines=many_lines, zone=st.sampled_from(ZONES))
def test_whatever_very_many_lines_hold(base: BaseDir, lines: list[bytes], zone: str) -> None:
    check(base, lines, zone)


# What the chamberlain itself writes in these lives.
_OWN = ("recovery.log_rotated", "system.token_budget_reset", "recovery.files_cleaned")


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize(
    "damage",
    [
        detected("evt-1").replace(b"00.000Z", b"garbageZ"),
        detected("evt-1").replace(b"2026-02-07T10:00:00.000Z", b"9999-12-31T23:59:59Z"),
        detected("evt-1").replace(b"2026-02-07T10:00:00.000Z", b"0001-01-01T00:00:00Z"),
        completed().replace(b"60.0", b'"nan"'),
        line("event.detected", event_id=5),
        line("system.health_changed", ts="0001-01-01T00:00:00Z", to="red"),
    ],
)
@pytest.mark.parametrize("is_first", [True, False])
def test_a_line_that_once_ended_the_chamberlain(
    base: BaseDir, damage: bytes, zone: str, is_first: bool
) -> None:
    configured(base, zone)
    around = [completed(), completed(at=1.0)]
    append(base, *([damage, *around] if is_first else [around[0], damage, around[1]]))
    live(base, MovableClock())
    assert ledger(base)["totals"]["types"]["task.completed"] == 2


def test_a_duration_that_is_no_number_counts_nowhere(base: BaseDir, clock: MovableClock) -> None:
    append(base, completed(seconds=10.0), completed().replace(b"60.0", b'"nan"'))
    live(base, clock)
    found = ledger(base)
    assert found["damaged"] == 1
    assert found["totals"]["durations"]["gen-pr"]["sum"] == 10.0


def full_ledger(base: BaseDir, clock: MovableClock) -> dict[str, Any]:
    append(base, *(failed(at=float(n)) for n in range(3)), *(timeout(float(n)) for n in range(5)))
    append(base, detected("evt-1"), completed("gen-x"), line("queue.buried", stream="tasks"))
    append(base, line("system.health_changed", to="red"))
    live(base, clock)
    return ledger(base)


def places_in(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    inner = [(*path, key) for key, one in pairs]
    deeper = [one for place in inner for one in _below(value, place, path)]
    return inner + deeper


def _below(value: Any, place: tuple[Any, ...], path: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    one = value[place[-1]]
    return places_in(one, place) if isinstance(one, dict | list) else []


WRONG = (None, "x", "", -1, 1e300, float("nan"), [], {}, [None], {"x": None}, True, 5, 0.5)


def test_a_damaged_ledger_heals_wherever_it_is_damaged(base: BaseDir) -> None:
    whole = full_ledger(base, MovableClock())
    path = Path(base.path("state/chamberlain/ledger.json"))
    places = [place for place in places_in(whole) if place[0] != "places"]
    assert len(places) > 100
    for number, place in enumerate(places):
        damaged = json.loads(json.dumps(whole))
        inner = damaged
        for key in place[:-1]:
            inner = inner[key]
        inner[place[-1]] = WRONG[number % len(WRONG)]
        path.write_text(json.dumps(damaged))
        append(base, completed(at=number), failed(at=number), timeout(number))
        clock = MovableClock()
        clock.advance(3600.0)
        with office_in(base, clock) as office:
            role = Chamberlain(office.setting, DUTIES[:2])
            role.step()
            clock.advance(60.0)
            role.step()
        report(base, {}, clock, "2026-02-07", week=False)
        assert "duty.broke" not in Path(base.system_log).read_text(), place


@pytest.mark.parametrize("part", ["sum", "max", "count", "buckets"])
def test_what_is_wrong_in_a_ledger_costs_no_more_than_itself(base: BaseDir, part: str) -> None:
    clock = MovableClock()
    whole = full_ledger(base, clock)
    whole["totals"]["durations"]["gen-x"][part] = None  # as a sum that was no number was saved
    Path(base.path("state/chamberlain/ledger.json")).write_text(json.dumps(whole))
    append(base, completed("gen-x", START + timedelta(days=1), 7.0))
    live(base, clock)
    found = ledger(base)
    assert found["totals"]["durations"]["gen-x"]["sum"] == 7.0
    assert found["totals"]["types"]["task.completed"] == 2
    assert found["totals"]["types"]["task.failed"] == 3
