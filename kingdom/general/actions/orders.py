"""What a soldier asked to be done outside, as far as it can be understood and makes sense."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from kingdom.general.actions.kinds import ActionRefused
from kingdom.models.action import ACTION, KINDS, Comment, Kind, PullRequest, Push, Review
from kingdom.settings.wording import describe

MOST_ACTIONS = 20


@dataclass(frozen=True)
class Order:
    """One action, and which of its kind it is."""

    action: Review | Comment | Push | PullRequest
    ordinal: int

    @property
    def kind(self) -> Kind:
        return self.action.do

    @property
    def key(self) -> str:
        return f"{self.kind}:{self.ordinal}"

    @property
    def digest(self) -> str:
        spelled = json.dumps(self.action.model_dump(), sort_keys=True)
        return hashlib.sha256(spelled.encode()).hexdigest()[:12]


@dataclass(frozen=True)
class Refused:
    kind: str
    sentence: str
    code: str = ActionRefused.code


def read_actions(raw: Sequence[Any] | None) -> tuple[list[Order], list[Refused]]:
    """What is asked, as far as it can be understood and makes sense."""
    orders: list[Order] = []
    refused: list[Refused] = []
    for one in (raw or [])[:MOST_ACTIONS]:
        try:
            action = ACTION.validate_python(one)
        except ValidationError as error:
            refused.append(Refused(_kind_in(one), _unreadable(error)))
            continue
        ordinal = 1 + sum(order.kind == action.do for order in orders)
        if isinstance(action, PullRequest) and ordinal > 1:
            refused.append(Refused(action.do, "A task has one pull request."))
        elif not isinstance(action, Push) or ordinal == 1:  # pushing twice is pushing once
            orders.append(Order(action, ordinal))
    if raw and len(raw) > MOST_ACTIONS:
        many = f"{len(raw) - MOST_ACTIONS} more were asked for; {MOST_ACTIONS} are the most."
        refused.append(Refused("actions", many))
    return orders, refused


def _kind_in(raw: Any) -> str:
    kind = raw.get("do") if isinstance(raw, dict) else None
    return kind if kind in KINDS else "action"


def _unreadable(error: ValidationError) -> str:
    fault = error.errors(include_url=False)[0]
    is_tag = fault["type"].startswith("union_tag")
    place = "do" if is_tag else ".".join(map(str, fault["loc"][1:]))
    where = f"`{place}` " if place else ""
    return f"It is not of the form asked for: {where}{describe(fault)}."
