"""`kingdom config` and `kingdom schema`."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from kingdom.models.schemas import SCHEMA_NAMES
from kingdom.ops.init import init
from kingdom.store.paths import BaseDir
from tests.support.cli import kingdom, one_sentence


@pytest.fixture(autouse=True)
def kingdom_here(base: BaseDir) -> None:
    init(base)


def test_each_value_says_where_it_comes_from(base: BaseDir) -> None:
    Path(base.path("config/local/system.yaml")).write_text("# mine\ntimezone: Asia/Seoul\n")
    env = {"KINGDOM_BUS": "postgresql://me:hunter22@db/kingdom"}
    found = json.loads(kingdom("config", "--json", base=base, env=env).out)
    assert found["system.timezone"] == {
        "value": "Asia/Seoul",
        "source": "config/local/system.yaml:2",
    }
    assert found["system.language"] == {"value": "en", "source": "default"}
    assert found["system.bus"]["source"] == "environment KINGDOM_BUS"
    assert "hunter22" not in json.dumps(found), "a password is nobody's business"


def test_the_table_shows_a_section_or_one_value(base: BaseDir) -> None:
    one = kingdom("config", "system.timezone", base=base)
    assert [line.split() for line in one.lines] == [
        ["KEY", "VALUE", "FROM"],
        ["system.timezone", "UTC", "default"],
    ]
    section = kingdom("config", "system.delivery.tasks", base=base)
    assert len(section.lines) == 1 + 7
    assert all(line.startswith("system.delivery.tasks.") for line in section.lines[1:])


@pytest.mark.parametrize(
    ("key", "hint"),
    [
        ("system.timezon", "Did you mean: system.timezone"),
        ("timezone", "Did you mean: system.timezone"),
        ("zzz", "All of them: kingdom config"),
        ("system.delivery.task", "Did you mean: system.delivery.tasks"),
    ],
)
def test_an_unknown_key_gets_a_suggestion(base: BaseDir, key: str, hint: str) -> None:
    sentence = one_sentence(kingdom("config", key, base=base), 2)
    assert sentence.startswith(f"{key!r} is not a setting. {hint}")


def test_a_wrong_file_is_one_sentence_with_its_line(base: BaseDir) -> None:
    Path(base.path("config/king.yaml")).write_text("\npolling:\n  intervall: 3\n")
    sentence = one_sentence(kingdom("config", base=base), 2)
    assert "config/king.yaml:3: `polling.intervall` is not a setting." in sentence


def test_what_looks_secret_is_hidden(base: BaseDir) -> None:
    Path(base.path("config/local/envoy.yaml")).write_text(
        "slack:\n  default_channel: xoxb-1234567890-abcdef\n"
    )
    said = kingdom("config", "envoy", base=base, env={"MY_API_TOKEN": "s3cret-value"})
    assert "***" in said.out
    assert "abcdef" not in said.out


def test_schemas_are_listed_and_printed() -> None:
    assert kingdom("schema").lines == list(SCHEMA_NAMES)
    printed = json.loads(kingdom("schema", "event").out)
    jsonschema.Draft202012Validator.check_schema(printed)
    assert printed["title"] == "event"
