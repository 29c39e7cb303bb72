"""What the shipped generals may do outside, and whether it can ever be done."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kingdom.clock import SystemClock
from kingdom.general.actions.jobs import number_of
from kingdom.models.action import Kind
from kingdom.models.manifest import Allowed, AllowedByTrust, Manifest, read_manifest
from kingdom.models.task import Task
from kingdom.ops.general_rights import TRUSTS, rights
from kingdom.ops.shipped import PACKAGES

GENERALS = sorted(path for path in Path(PACKAGES).iterdir() if path.name.startswith("gen-"))
# What work of a kind is about; a repository it can have in any case, by `default_repo` or by hand.
SUBJECTS: dict[str, set[Kind]] = {
    "github.pr.": {"comment", "review", "push", "pull_request"},
    "github.issue.": {"comment", "push", "pull_request"},
    "": {"push", "pull_request"},
}


def possible(type_: str) -> set[Kind]:
    return next(kinds for start, kinds in SUBJECTS.items() if type_.startswith(start))


def manifest_of(package: Path) -> Manifest:
    path = package / "manifest.yaml"
    return read_manifest(path.read_bytes(), str(path))


@pytest.mark.parametrize("package", GENERALS, ids=lambda path: path.name)
def test_every_action_has_something_it_can_be_done_to(package: Path) -> None:
    manifest = manifest_of(package)
    taken_up = [*manifest.subscribes, *(one.task_type for one in manifest.schedules)]
    assert taken_up
    allowed = [manifest.permissions, *manifest.permissions.by_trust.values()]
    named = {kind for one in allowed for kind in one.actions or ()}
    for type_ in taken_up:
        assert named <= possible(type_), type_


@pytest.mark.parametrize("package", GENERALS, ids=lambda path: path.name)
def test_the_example_is_about_what_its_kind_of_work_is_about(package: Path) -> None:
    event = json.loads((package / "example.json").read_text("utf-8"))
    task = Task(
        id="task-20260207-001",
        event_id="evt-test-1",
        target_general=package.name,
        type=event["type"],
        created_at=SystemClock().now(),
        payload=event["payload"],
    )
    assert (number_of(task) is not None) == ("comment" in possible(event["type"]))


@pytest.mark.parametrize("package", GENERALS, ids=lambda path: path.name)
def test_nobody_less_trusted_is_allowed_more(package: Path) -> None:
    """What a narrowed list names and the whole one does not would be in vain."""
    permissions = manifest_of(package).permissions
    for narrowed in permissions.by_trust.values():
        assert {*(narrowed.tools or ())} <= {*(permissions.tools or ())}
        assert {*(narrowed.actions or ())} <= {*(permissions.actions or ())}


@pytest.mark.parametrize("package", GENERALS, ids=lambda path: path.name)
def test_all_that_each_trust_may_do_is_said_and_less_trusted_work_costs_less(package: Path) -> None:
    permissions = manifest_of(package).permissions
    everything = set(AllowedByTrust.model_fields)
    assert set(Allowed.model_fields) <= permissions.model_fields_set
    assert set(permissions.by_trust) == set(TRUSTS)
    for trust, narrowed in permissions.by_trust.items():
        needed = {"approve", "model", "budget_usd"} if trust == "member" else everything
        assert needed <= narrowed.model_fields_set, trust
    given = [*rights(manifest_of(package)).values()]
    budgets = [one.budget_usd or 0.0 for one in given]
    assert budgets == sorted(budgets, reverse=True)
    assert budgets[0] > budgets[1]
    for one in given[1:]:
        assert {*one.actions} & {"push", "pull_request"} <= {*one.approve}
        assert not {*one.hosts, *one.env}
