"""A short storm of each kind; `bin/soak` runs long ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.storm.storm import MACHINE, ROLES, WARDEN, Plan, weather

SHORT = (
    Plan(seed=1, events=40, kills=12, target=ROLES),
    Plan(seed=2, events=20, kills=2, target=WARDEN),
    Plan(seed=3, events=20, kills=2, target=MACHINE),
)
LONG = (
    Plan(seed=11, events=300, kills=60, target=ROLES),
    Plan(seed=12, events=300, kills=10, target=WARDEN),
    Plan(seed=13, events=300, kills=10, target=MACHINE),
)


@pytest.mark.parametrize("plan", SHORT, ids=lambda plan: plan.target)
def test_every_event_ends_in_one_result_and_one_set_of_messages(scratch: Path, plan: Plan) -> None:
    weather(scratch, plan)


@pytest.mark.long
@pytest.mark.parametrize("plan", LONG, ids=lambda plan: plan.target)
def test_the_same_with_300_events(scratch: Path, plan: Plan) -> None:
    weather(scratch, plan)
