"""The chamberlain among the real roles: what it measures is what people see."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kingdom.ops.stopping import end_soldiers
from kingdom.store.paths import BaseDir
from tests.support.cli import environment, kingdom
from tests.support.household import internal_events
from tests.support.puppets import ended_afterwards, found_kingdom, pid_of
from tests.support.waiting import eventually

ROLES = {"chamberlain", "sentinel", "envoy", "king", "gen-a"}


@pytest.fixture
def realm(base: BaseDir) -> Iterator[BaseDir]:
    found_kingdom(base, "gen-a")
    try:
        with ended_afterwards(base):
            yield base
    finally:
        end_soldiers(base, environment())


def configure(base: BaseDir, **settings: Any) -> None:
    Path(base.path("config", "local", "chamberlain.yaml")).write_text(json.dumps(settings))


def resources(base: BaseDir) -> dict[str, Any]:
    path = Path(base.resources_file)
    found: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    return found


def test_roles_and_soldiers_are_measured_and_shown(realm: BaseDir) -> None:
    never = {"yellow": 100, "orange": 100, "red": 100, "disk": 100}
    configure(realm, polling={"interval_seconds": 0.2}, thresholds=never)
    assert kingdom("start", base=realm).code == 0
    payload = json.dumps({"rehearsal": {"do": "hang"}})
    kingdom("send", "test.gen-a", "--payload", payload, base=realm)
    eventually(lambda: resources(realm).get("soldiers", {}).get("active") == 1, "a soldier counts")
    eventually(lambda: "cpu_percent" in resources(realm), "a figure of the processor")
    found = resources(realm)
    (soldier,) = found["usage"].keys() - ROLES
    assert found["usage"].keys() - {soldier} == ROLES
    assert found["usage"]["king"]["pid"] == pid_of(realm, "king")
    assert found["usage"]["king"]["processes"] == 1
    assert found["usage"][soldier]["kind"] == "soldier"
    assert found["usage"][soldier]["processes"] >= 2, "the wrapper and its program"
    shown = kingdom("status", base=realm).lines
    (line,) = [one for one in shown if one.startswith("health ")]
    assert line.startswith("health     green (cpu ")
    shown = kingdom("top", "--once", base=realm).lines
    (king,) = [one for one in shown if one.startswith("king ")]
    assert " MB" in king
    (at_work,) = [one for one in shown if " gen-a " in one and one.startswith("task-")]
    assert " MB" in at_work


def test_an_overloaded_machine_keeps_work_out_and_that_is_said(
    realm: BaseDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kingdom.runtime.role.LONGEST_WAIT", 0.1)  # nothing wakes the king here
    configure(realm, thresholds={"yellow": 0, "orange": 0, "red": 0, "disk": 100})
    assert kingdom("start", base=realm).code == 0
    eventually(lambda: internal_events(realm, "system.health_changed"), "health is told")

    def is_held_back() -> bool:
        """One that comes before the king has looked again is let in."""
        assert kingdom("send", "test.gen-a", base=realm).code == 0
        return bool(internal_events(realm, "event.deferred"))

    eventually(is_held_back, "the king holds it back")
    deferred, *_ = internal_events(realm, "event.deferred")
    assert deferred["data"]["reason"].startswith("health_red: Health is red (")
    shown = kingdom("status", base=realm).out
    assert "health     red, for memory_percent: " in shown or ", for cpu_percent: " in shown
    console = Path(realm.path("logs", "console.log"))
    eventually(lambda: console.exists() and "Health is red" in console.read_text(), "an alert")
    assert kingdom("stop", base=realm).code == 0
    assert "health " not in kingdom("status", base=realm).out
