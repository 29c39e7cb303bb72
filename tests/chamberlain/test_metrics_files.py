"""Dashboard, alert rules and page name what is really exported, and nothing else."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from kingdom.bus.files.bus import FileBus
from kingdom.bus.port import Move
from kingdom.chamberlain.metrics_found import Found
from kingdom.chamberlain.metrics_text import rendered
from kingdom.cli.table import COMMANDS
from kingdom.runtime.measures import Measures
from kingdom.runtime.processes import Seat
from kingdom.store.paths import BaseDir
from kingdom.store.state import write_json
from tests.support.cli import ROOT
from tests.support.kingdom import MovableClock, event
from tests.support.metrics import read_metrics

RULES = ROOT / "docs" / "metrics" / "alert-rules.yaml"
DASHBOARD = ROOT / "docs" / "metrics" / "grafana-dashboard.json"
PAGE = ROOT / "docs" / "metrics.md"
PROMTOOL = shutil.which("promtool")
NAME = re.compile(r"\bkingdom_[a-z_]+")
INCREASE = re.compile(r"increase\((kingdom_[a-z_]+)\{([^}]*)\}")
OF_HISTOGRAM = re.compile(r"_(bucket|sum|count)$")


@pytest.fixture
def exported(base: BaseDir, bus: FileBus, clock: MovableClock) -> dict[str, float]:
    """Every series that there can be, of a kingdom in which everything happened."""
    bus.publish("events", event())
    bus.commit([Move(claim, "completed") for claim in bus.claim("events", "king")])
    Measures(base, "king", bus, clock).keep()
    resources = {
        "health": "green", "cpu_percent": 1, "memory_percent": 1, "disk_percent": 1, "load": 1,
        "soldiers": {"active": 1, "max": 1}, "updated_at": "2026-02-07T10:00:00Z",
        "tokens": {"status": "ok", "daily_cost_usd": "1"},
    }  # fmt: skip
    write_json(base.resources_file, resources)
    lock = Seat(base, "king").take()
    Seat(base, "king").beat()
    found = read_metrics(rendered(Found(base, clock, ["king"]).families()).decode())
    lock.close()
    return found


def names(series: dict[str, float]) -> set[str]:
    return {one.partition("{")[0] for one in series}


def rules() -> list[dict[str, Any]]:
    return [one for group in yaml.safe_load(RULES.read_text())["groups"] for one in group["rules"]]


def expressions() -> list[str]:
    panels = json.loads(DASHBOARD.read_text())["panels"]
    asked = [target["expr"] for panel in panels for target in panel["targets"]]
    return [*asked, *(one["expr"] for one in rules())]


def test_everything_asked_for_is_exported(exported: dict[str, float]) -> None:
    for expression in expressions():
        used = set(NAME.findall(expression))
        assert used, expression
        assert used <= names(exported), expression


def test_labels_asked_for_are_exported(exported: dict[str, float]) -> None:
    known = {
        (series.partition("{")[0], label)
        for series in exported
        for label in re.findall(r'(\w+)="', series)
    }
    for expression in expressions():
        for name, labels in re.findall(r"(kingdom_[a-z_]+)\{([^}]*)\}", expression):
            for label in re.findall(r"(\w+)\s*[!=]=?~?", labels):
                assert label == "instance" or (name, label) in known, expression


def test_what_is_asked_to_increase_is_there_before_the_first(
    base: BaseDir, clock: MovableClock
) -> None:
    """Prometheus sees no increase in a series that begins with one."""
    fresh = read_metrics(rendered(Found(base, clock, ["king"]).families()).decode())
    asked = [one for rule in rules() for one in INCREASE.findall(rule["expr"])]
    assert asked
    for name, labels in asked:
        wanted = set(labels.split(","))
        found = [one for one in fresh if one.startswith(f"{name}{{")]
        assert any(wanted <= set(one[len(name) + 1 : -1].split(",")) for one in found), labels


def test_a_full_disk_is_answered_with_what_can_go() -> None:
    (full,) = [one for one in rules() if one["alert"] == "KingdomDiskFull"]
    assert "kingdom clean --dry-run" in full["annotations"]["remedy"]


def test_the_page_lists_all_that_is_exported(exported: dict[str, float]) -> None:
    listed = set(re.findall(r"^\| `(kingdom_\w+)`", PAGE.read_text(), re.MULTILINE))
    assert listed == {OF_HISTOGRAM.sub("", name) for name in names(exported)}


def test_every_rule_is_whole_and_says_what_to_do() -> None:
    seen = [one["alert"] for one in rules()]
    assert len(seen) == len(set(seen)) >= 10
    for one in rules():
        assert one.keys() <= {"alert", "expr", "for", "labels", "annotations"}
        assert re.fullmatch(r"\d+[smh]", one.get("for", "0s"))
        assert one["labels"]["severity"] in ("warning", "critical")
        assert one["annotations"].keys() == {"summary", "remedy"}
        assert _is_balanced(one["expr"])
        for command in re.findall(r"kingdom ([a-z]+)", one["annotations"]["remedy"]):
            assert command in COMMANDS, one["alert"]


def test_the_dashboard_can_be_imported() -> None:
    found = json.loads(DASHBOARD.read_text())
    ids = [panel["id"] for panel in found["panels"]]
    assert len(ids) == len(set(ids))
    known = {one["name"] for one in found["templating"]["list"]}
    for panel in found["panels"]:
        assert panel["datasource"]["uid"] == "${datasource}"
        assert [target["refId"] for target in panel["targets"]] == sorted(
            {target["refId"] for target in panel["targets"]}
        )
        for target in panel["targets"]:
            assert _is_balanced(target["expr"])
            assert set(re.findall(r"\$(\w+)", target["expr"])) <= {*known, "__rate_interval"}
    places = [tuple(panel["gridPos"].values()) for panel in found["panels"]]
    assert all(x + w <= 24 for _, w, x, _ in places)
    assert not any(_overlap(a, b) for a in places for b in places if a is not b)


@pytest.mark.skipif(PROMTOOL is None, reason="promtool is not installed")
def test_prometheus_itself_accepts_the_rules(tmp_path: Path) -> None:
    said = subprocess.run(
        [str(PROMTOOL), "check", "rules", str(RULES)], capture_output=True, check=False, timeout=60
    )
    assert said.returncode == 0, said


def _is_balanced(expression: str) -> bool:
    bare = re.sub(r'"[^"]*"', "", expression)
    return all(bare.count(a) == bare.count(b) for a, b in ("()", "[]", "{}")) and '"' not in bare


def _overlap(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    (h, w, x, y), (h2, w2, x2, y2) = one, other
    return x < x2 + w2 and x2 < x + w and y < y2 + h2 and y2 < y + h
