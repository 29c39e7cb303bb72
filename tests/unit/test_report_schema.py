"""The form of a report, as engines hand it to a model."""

from __future__ import annotations

import json
from typing import Any

from kingdom.engines.codex import schemas
from kingdom.models.action import ACTION, KINDS
from kingdom.models.report import STATUSES, report_schema
from kingdom.models.result import RESULT, SAID_BY_SOLDIERS


def words(schema: Any) -> set[str]:
    """All that is said in a schema, apart from names of properties."""
    if isinstance(schema, list):
        return set().union(*map(words, schema))
    if not isinstance(schema, dict):
        return set()
    named = {"properties": list(schema.get("properties", {}).values())}
    return set(schema) | words(list({**schema, **named}.values()))


def test_it_has_all_that_soldiers_say_and_not_whose_it_is() -> None:
    properties = report_schema()["properties"]
    assert set(properties) == {"status", *SAID_BY_SOLDIERS}
    assert properties["actions"]["items"]["properties"]["do"]["enum"] == list(KINDS)


def test_it_says_only_what_every_api_takes() -> None:
    allowed = {"type", "enum", "description", "items", "properties", "required"}
    assert words(report_schema()) == {*allowed, "additionalProperties"}
    strict = schemas.strict(report_schema())
    assert strict is not None
    assert strict["required"] == list(report_schema()["properties"])
    assert json.loads(json.dumps(strict)) == strict


def test_what_has_this_form_can_be_read() -> None:
    needs = {"failed": "error", "needs_human": "question", "skipped": "reason"}
    for status in STATUSES:
        said = {
            "status": status,
            "summary": "",
            **({needs[status]: "x"} if status in needs else {}),
        }
        RESULT.validate_python({"task_id": "task-1", **said})
    comment = {"path": "a", "line": 1, "side": "LEFT", "body": "b"}
    known = report_schema()["properties"]["actions"]["items"]["properties"]
    assert set(comment) == set(known["comments"]["items"]["properties"])
    ACTION.validate_python({"do": "review", "event": "APPROVE", "comments": [comment]})
