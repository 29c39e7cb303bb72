"""`kingdom send`: an event on disk, its id on standard output, nothing twice."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from kingdom.models.priority import EVENT_TYPES
from kingdom.ops.init import init
from kingdom.store.paths import BaseDir
from tests.support.cli import Said, kingdom, one_sentence
from tests.support.kingdom import counts, load


@pytest.fixture(autouse=True)
def kingdom_here(base: BaseDir) -> None:
    init(base)


def sent(base: BaseDir, said: Said) -> dict[str, Any]:
    assert said.code == 0, said
    return load(base, "events/pending", said.out.removesuffix("\n"))


def test_it_prints_the_id_alone_and_the_file_has_the_seeds_form(base: BaseDir) -> None:
    said = kingdom(
        "send", "github.pr.review_requested", "--repo", "acme/web",
        "--payload", '{"제목": "안녕", "number": 7}', base=base,
    )  # fmt: skip
    assert said.err == ""
    assert re.fullmatch(r"evt-cli-\d{14}-[0-9a-f]{8}\n", said.out)
    event = sent(base, said)
    keys = ["id", "type", "source", "repo", "payload", "priority", "created_at", "status"]
    assert list(event)[: len(keys)] == keys
    assert event["payload"] == {"제목": "안녕", "number": 7}
    assert (event["source"], event["trust"]) == ("cli", "member")
    assert (event["priority"], event["status"]) == ("normal", "pending")
    assert re.fullmatch(r"[0-9a-f]{32}", event["trace_id"])
    assert "안녕" in Path(base.path("queue/events/pending", f"{event['id']}.json")).read_text()
    assert (
        oct(os.stat(base.path("queue/events/pending", f"{event['id']}.json")).st_mode)[-3:] == "600"
    )


@pytest.mark.parametrize("kind", ["slack.human_response", "github.issue.comment"])
def test_priority_goes_by_the_type_unless_given(base: BaseDir, kind: str) -> None:
    assert sent(base, kingdom("send", kind, base=base))["priority"] == EVENT_TYPES[kind]
    given = kingdom("send", kind, "--priority", "normal", base=base)
    assert sent(base, given)["priority"] == "normal"


def test_an_id_that_is_known_is_not_sent_again(base: BaseDir) -> None:
    words = ("send", "kingdom.command", "--id", "evt-cli-mine")
    assert kingdom(*words, base=base).err == ""
    again = kingdom(*words, "--payload", '{"other": 1}', base=base)
    assert (again.code, again.out) == (0, "evt-cli-mine\n")
    assert again.err == "kingdom: evt-cli-mine was known already; nothing was sent.\n"
    assert counts(base) == {"events/pending": 1}
    assert load(base, "events/pending", "evt-cli-mine")["payload"] == {}


def test_a_file_is_sent_with_what_it_lacks_filled_in(base: BaseDir, tmp_path: Path) -> None:
    event = {"type": "github.pr.comment", "payload": {"a": 1}, "custom": "kept", "status": "dead"}
    (tmp_path / "event.json").write_text(json.dumps(event))
    found = sent(base, kingdom("send", "--file", "event.json", base=base, cwd=tmp_path))
    assert (found["source"], found["trust"], found["priority"]) == ("cli", "member", "low")
    assert (found["custom"], found["status"], found["payload"]) == ("kept", "pending", {"a": 1})


def test_a_payload_is_piped_in(base: BaseDir) -> None:
    words = ("send", "github.pr.assigned", "--payload", "@-")
    assert sent(base, kingdom(*words, base=base, stdin='{"a": 1}'))["payload"] == {"a": 1}


def test_what_claims_to_come_from_elsewhere_is_not_trusted_for_passing_by(base: BaseDir) -> None:
    event = {
        "id": "evt-github-1", "type": "github.pr.comment", "source": "github",
        "created_at": "2026-02-07T10:00:00Z", "delivery": {"attempt_count": 4, "revision": 9},
    }  # fmt: skip
    found = sent(base, kingdom("send", "--file", "-", base=base, stdin=json.dumps(event)))
    assert "trust" not in found
    assert found["created_at"] == "2026-02-07T10:00:00.000Z"
    assert (found["delivery"]["attempt_count"], found["delivery"]["revision"]) == (0, 1)


def test_the_payload_may_lie_in_a_file(base: BaseDir, tmp_path: Path) -> None:
    (tmp_path / "p.json").write_text('{"a": [1, 2]}')
    said = kingdom("send", "kingdom.command", "--payload", "@p.json", base=base, cwd=tmp_path)
    assert sent(base, said)["payload"] == {"a": [1, 2]}


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "send: a TYPE or --file F is needed."),
        (["Foo"], "send: 'Foo' is not an event type: those are dotted lower-case words."),
        (["a.b", "--payload", "[1]"], "--payload: it holds [1] where one JSON object is expected."),
        (["a.b", "--payload", "{'a': 1}"], "--payload: it is not JSON:"),
        (["a.b", "--payload", b"\xff{}"], "--payload: it is not UTF-8"),
        (["a.b", "--payload", '{"a": 1e999}'], "--payload: it holds a number that is too large."),
        (["a.b", "--payload", "@missing.json"], "There is no file missing.json."),
        (["a.b", "--id", "../up"], "send: field `id`: '../up' is not an id: it contains '/'."),
        (["a.b", "--id", "x" * 201], "send: field `id`:"),
        (["a.b", "--priority", "urgent"], "send: argument --priority: invalid choice: 'urgent'"),
        (["--file", "missing.json"], "There is no file missing.json."),
        (["--file", "/dev"], "/dev cannot be read: not a regular file."),
        (["a.b", "--file", "-"], "send: --file gives the whole event, so type cannot be given"),
    ],
    ids=str,
)
def test_what_cannot_be_sent_is_one_sentence_and_nothing_is_written(
    base: BaseDir, words: list[str], sentence: str
) -> None:
    said = kingdom("send", *words, base=base)
    assert one_sentence(said, 2).startswith(sentence)
    assert counts(base) == {}


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "standard input: it is empty."),
        (b"[]", "standard input: it holds [] where one JSON object is expected."),
        (b'{"payload": {}}', "standard input: field `type`: is missing."),
        (b'{"type": "a.b", "created_at": "yesterday"}', "standard input: field `created_at`:"),
        (
            b'{"type": "a.b", "schema_version": 99}',
            "standard input: field `schema_version`: 99 is newer",
        ),
        (b" " * (16 * 1024 * 1024 + 1), "standard input is larger than 16 MiB."),
    ],
    ids=lambda value: value[:20] if isinstance(value, bytes) else "",
)
def test_a_bad_file_is_one_sentence_and_nothing_is_written(
    base: BaseDir, content: bytes, sentence: str
) -> None:
    said = kingdom("send", "--file", "-", base=base, stdin=content)
    assert one_sentence(said, 1).startswith(sentence)
    assert counts(base) == {}


@pytest.mark.parametrize(
    ("type_", "near"),
    [
        ("github.pr.asigned", "Taken up: github.pr.assigned, "),
        ("wholly.strange", "Taken up: strange.*, briefing.requested, "),
    ],
)
def test_what_nobody_takes_up_is_sent_and_that_is_said(
    base: BaseDir, type_: str, near: str
) -> None:
    general(base, "gen-a", "strange.*")
    said = kingdom("send", type_, base=base)
    assert sent(base, said)["type"] == type_
    start = f"kingdom: Sent, but no general takes up {type_} now, so the king will discard it. "
    assert said.err.startswith(start + near)
    assert said.err.count("\n") == 1
    whole = kingdom("send", "--file", "-", base=base, stdin=json.dumps({"type": type_}))
    assert whole.err == said.err


@pytest.mark.parametrize(
    "type_", ["strange.thing", "test.requested", "slack.app_mention", "slack.human_response"]
)
def test_what_somebody_takes_up_needs_no_word(base: BaseDir, type_: str) -> None:
    general(base, "gen-a", "strange.*")
    assert kingdom("send", type_, base=base).err == ""


def test_it_is_known_anew_when_a_general_comes_or_goes(base: BaseDir) -> None:
    for _ in range(2):
        assert (
            "no general takes up strange.thing" in kingdom("send", "strange.thing", base=base).err
        )
    general(base, "gen-a", "strange.*")
    for _ in range(2):
        assert kingdom("send", "strange.thing", base=base).err == ""
    shutil.rmtree(base.path("config", "generals"))
    said = kingdom("send", "strange.thing", base=base)
    assert said.err.endswith("See: kingdom general list\n")


def general(base: BaseDir, name: str, subscribes: str) -> None:
    package = Path(base.path("config", "generals", name))
    package.mkdir()
    manifest = f"name: {name}\ndescription: For tests\nsubscribes: [{subscribes}]\n"
    (package / "manifest.yaml").write_text(manifest)
    (package / "prompt.md").write_text("Do.\n")


@pytest.mark.parametrize(
    ("file", "content"),
    [("system", "durabilty: fast\n"), ("envoy", "polling: {intervall_seconds: 3}\n")],
)
def test_a_wrong_setting_is_said_and_stops_nobody_from_giving_orders(
    base: BaseDir, file: str, content: str
) -> None:
    Path(base.path(f"config/local/{file}.yaml")).write_text(content)
    said = kingdom("send", "a.b", base=base)
    assert f"config/local/{file}.yaml:1: " in said.err
    assert "is not a setting" in said.err
    assert sent(base, said)["type"] == "a.b"
    said = kingdom("freeze", base=base)
    assert (said.code, len(counts(base))) == (0, 1), said.err
    assert counts(base) == {"events/pending": 2}


@pytest.mark.parametrize("content", ["bus: nowhere\n", "{durabilty: fast, 'bus': files}\n"])
def test_a_wrong_setting_stops_it_where_messages_may_travel_otherwise(
    base: BaseDir, content: str
) -> None:
    Path(base.path("config/local/system.yaml")).write_text(content)
    assert "config/local/system.yaml:1: " in one_sentence(kingdom("send", "a.b", base=base), 2)
    assert counts(base) == {}


def test_a_fresh_checkout_needs_no_init(base: BaseDir) -> None:
    """The repository is a base directory that has its configuration and nothing else."""
    os.unlink(base.format_file)
    assert kingdom("send", "a.b", base=base).code == 0
    assert Path(base.format_file).read_text() == "1\n"


def test_what_is_sent_shows_in_the_log_of_internal_events_once(base: BaseDir) -> None:
    kingdom("init", base.root)
    for _ in range(2):
        assert kingdom("send", "github.issue.assigned", "--id", "evt-cli-1", base=base).code == 0
    lines = [json.loads(line) for line in Path(base.events_log).read_text().splitlines()]
    data = {"event_id": "evt-cli-1", "source": "cli", "event_type": "github.issue.assigned"}
    assert [(one["type"], one["actor"], one["data"]) for one in lines] == [
        ("event.detected", "operator", data)
    ]
    assert lines[0]["trace_id"]
