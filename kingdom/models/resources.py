"""`state/resources.json`: how the machine and the budget are, as the chamberlain measured it."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, ValidationError

from kingdom.models.fields import Count, Timestamp
from kingdom.models.part import Part

Health = Literal["green", "yellow", "orange", "red"]
TokenStatus = Literal["ok", "warning", "critical", "unknown"]


class Tokens(Part):
    """How much of the day's budget is spent. Money is text: a sum must not become a float."""

    status: TokenStatus = "unknown"
    daily_cost_usd: str | None = None
    daily_budget_usd: str | None = None  # absent without a limit
    until: str | None = None  # the next midnight, as the kingdom's wall clock shows it


class Soldiers(Part):
    active: Count = 0
    max: Count = 0


class Usage(Part):
    """What a role or a soldier uses, with all processes below it."""

    kind: Literal["role", "soldier"]
    pid: int
    processes: Count
    cpu_percent: float | None = None  # of one core; absent until it was seen twice
    memory_mb: float  # resident; what several share counts for each


class Resources(Part):
    health: Health
    reason: str | None = None  # what health is not green for
    cpu_percent: float | None = None
    memory_percent: float | None = None
    disk_percent: float | None = None
    load: float | None = None
    levels: dict[str, Health] = Field(default_factory=dict)  # of each metric, as it is seen
    soldiers: Soldiers = Field(default_factory=Soldiers)
    tokens: Tokens = Field(default_factory=Tokens)
    usage: dict[str, Usage] = Field(default_factory=dict)  # by the name of the role or soldier
    updated_at: Timestamp


def read_resources(raw: Any) -> Resources | None:
    """What was measured; None for a file that does not say so in this form."""
    try:
        return Resources.model_validate(raw)
    except ValidationError:
        return None
