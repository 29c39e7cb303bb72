"""What is said while the settings name no members, and that it is not said once they do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from kingdom.ops.init import init
from kingdom.ops.trust_to_add import recent_events, trust_to_add
from kingdom.settings.sentinel import SentinelSettings
from kingdom.store.paths import BaseDir
from tests.support.cli import kingdom
from tests.support.envoy import publish
from tests.support.kingdom import event

HUB: dict[str, Any] = {"github": {"scope": {"repos": ["acme/*", "*/web", "acme/api"]}}}
ALL: dict[str, Any] = {"github": {}}
JIRA: dict[str, Any] = {"jira": {"url": "https://jira.example"}}
ADA = {"source": "github", "repo": "acme/web", "payload": {"author": "ada", "by": "eve\n- x: 1"}}
ANN = {"source": "jira", "payload": {"reporter": "Ann", "reporter_id": "5b10", "project": "SHOP"}}


def lines(polling: dict[str, Any], trust: dict[str, Any] | None = None) -> list[str]:
    settings = SentinelSettings.model_validate({"polling": polling, "trust": trust or {}})
    return trust_to_add(settings, [ADA, ANN, {"source": "github"}, ADA])


@pytest.mark.parametrize(
    ("polling", "said"),
    [
        (HUB, ["trust:", '  repos: ["acme/*", "acme/api"]', "  people: []  # seen so far: ada,"]),
        (ALL, ["trust:", "  repos: []  # seen so far: acme/web", "  people: []"]),
        (JIRA, ["    members: []  # seen so far: 5b10 is Ann in SHOP"]),
        (HUB | JIRA, ["trust:", "  repos: [", "  people: []", "", "    members: []"]),
        ({"inbox": {}}, []),
    ],
)
def test_the_lines_to_add_are_said_with_what_is_known(
    polling: dict[str, Any], said: list[str]
) -> None:
    found = lines(polling)
    assert len(found) == len(said) + bool(said)
    assert all(one.startswith(begin) for one, begin in zip(found[1:], said, strict=True))
    if "trust:" in found:
        added = yaml.safe_load("\n".join(found[1:4]))
        assert added["trust"]["people"] == []  # whoever was seen is nobody's choice yet
        SentinelSettings.model_validate(added)


def test_nothing_is_said_once_somebody_is_listed() -> None:
    for listed in ({"people": ["ada"]}, {"repos": ["acme/web"]}, {"organisations": ["acme"]}):
        assert lines(HUB, listed) == []
    assert lines({"jira": JIRA["jira"] | {"members": ["5b10"]}}) == []


def test_status_says_it_and_names_those_whose_work_came(base: BaseDir) -> None:
    init(base)
    local = Path(base.config, "local", "sentinel.yaml")
    local.write_text(json.dumps({"polling": HUB}))
    came = event("1", source="github", payload={"author": "ada"}).revised(id="evt-github-1")
    publish(base, came, stream="events")
    assert [one["id"] for one in recent_events(base)] == ["evt-github-1"]
    for _ in range(2):  # checked, and believed
        said = kingdom("status", base=base).out
        assert said.rstrip().endswith("  people: []  # seen so far: ada")
    local.write_text(json.dumps({"polling": HUB, "trust": {"people": ["ada"]}}))
    assert "trust:" not in kingdom("status", base=base).out
