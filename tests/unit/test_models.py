"""What travels in files: what is accepted, what is refused and how, and what a round trip keeps."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any, get_args

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from kingdom.errors import ConfigurationError, InvalidFile
from kingdom.models.delivery import Delivery
from kingdom.models.event import Event, EventStatus
from kingdom.models.ids import check_id, is_id, sequence_number
from kingdom.models.internal_event import InternalEvent
from kingdom.models.manifest import read_manifest
from kingdom.models.message import MESSAGE, HumanInputRequest, MessageStatus, Notification
from kingdom.models.reading import parse
from kingdom.models.result import RESULT, Failed, Success
from kingdom.models.schemas import SCHEMA_NAMES, schema_for
from kingdom.models.task import Task, TaskStatus
from kingdom.topology import EVENTS, MESSAGES, STREAMS, TASKS, Kind, Stream

MOMENT = "2026-02-07T10:00:00.000Z"
SAMPLES: dict[Kind, dict[str, Any]] = {
    "event": {
        "id": "evt-github-12345678",
        "type": "github.pr.review_requested",
        "source": "github",
        "repo": "acme/frontend",
        "payload": {"number": 7},
        "priority": "high",
        "created_at": MOMENT,
        "status": "pending",
    },
    "task": {
        "id": "task-20260207-001",
        "event_id": "evt-github-12345678",
        "target_general": "gen-pr",
        "type": "github.pr.review_requested",
        "payload": {},
        "priority": "normal",
        "created_at": MOMENT,
        "status": "pending",
    },
    "message": {
        "id": "msg-20260207-001",
        "type": "notification",
        "channel": "dev-eddy",
        "urgency": "normal",
        "content": "사람이 읽을 메시지",
        "context": {},
        "created_at": MOMENT,
        "status": "pending",
    },
    "result": {"task_id": "task-20260207-001", "status": "success", "summary": "done"},
}
KINDS = tuple(SAMPLES)


def encoded(kind: Kind, **changes: Any) -> bytes:
    raw = {**SAMPLES[kind], **changes}
    return json.dumps({key: value for key, value in raw.items() if value is not ...}).encode()


def read(kind: Kind, **changes: Any) -> Any:
    return parse(kind, encoded(kind, **changes), path="f.json")


def refused(kind: Kind, data: bytes | None = None, **changes: Any) -> InvalidFile:
    with pytest.raises(InvalidFile) as caught:
        parse(kind, encoded(kind, **changes) if data is None else data, path="dir/f.json")
    assert caught.value.sentence.startswith("dir/f.json: ")
    assert caught.value.sentence.endswith(".")
    assert "\n" not in str(caught.value)
    return caught.value


# Ids


@pytest.mark.parametrize(
    "text",
    ["a", "0", "evt-jira-QP-123-20260207100000", "a.b", "a:b_c-d", "a.", "x" * 200],
)
def test_an_id_that_can_be_a_file_name_is_accepted(text: str) -> None:
    assert check_id(text) == text
    assert is_id(text)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "empty"),
        (".", "begins with"),
        ("..", "'..'"),
        ("a..b", "'..'"),
        ("a/../b", "'/'"),
        ("../a", "'/'"),
        ("/etc/passwd", "'/'"),
        ("-rf", "begins with '-'"),
        (".tmp-1", "begins with '.'"),
        ("a\n", r"'\n'"),
        ("a\0b", r"'\x00'"),
        ("a b", "' '"),
        ("аbc", r"'\u0430'"),  # the first letter is Cyrillic
        ("task-20260207-٠٠١", r"'\u0660'"),
        ("e\u0301vt", r"'\u0301'"),
        ("evt\u202egpj", r"'\u202e'"),
        ("x" * 201, "201 characters"),
        ("a\\b", "\\\\"),
        ("a%2Fb", "'%'"),
    ],
)
def test_an_id_that_cannot_be_a_file_name_is_refused_with_the_reason(text: str, why: str) -> None:
    assert not is_id(text)
    with pytest.raises(InvalidFile) as caught:
        check_id(text)
    assert caught.value.code == "bad_id"
    assert why in caught.value.sentence
    assert str(caught.value).isprintable()


@given(st.text(max_size=12) | st.from_regex(r"\A[A-Za-z0-9._:-]{1,12}\Z"))
def test_models_and_check_id_agree_on_what_an_id_is(text: str) -> None:
    if is_id(text):
        assert read("event", id=text).id == text
    else:
        assert refused("event", id=text).code == "bad_id"


@pytest.mark.parametrize(
    ("identifier", "number"),
    [
        ("task-20260207-001", 1),
        ("msg-20260207-1234", 1234),
        ("evt-github-99", 0),
        ("task-20260207-01", 0),
        ("task-20260207-001-x", 0),
        ("task-20260207-001\n", 0),
        ("task-20260207-٠٠١", 0),
        ("task-20260207-" + "9" * 5000, 0),
    ],
)
def test_only_task_and_message_ids_have_a_sequence_number(identifier: str, number: int) -> None:
    assert sequence_number(identifier) == number


@pytest.mark.parametrize(
    ("kind", "field"),
    [
        ("event", "id"),
        ("event", "task_id"),
        ("task", "id"),
        ("task", "event_id"),
        ("task", "original_task_id"),
        ("message", "id"),
        ("message", "task_id"),
        ("result", "task_id"),
    ],
)
def test_every_id_is_checked_where_it_enters(kind: Kind, field: str) -> None:
    fault = refused(kind, **{field: "../../etc/passwd"})
    assert fault.code == "bad_id"
    assert f"field `{field}`" in fault.sentence


# Types and values


@pytest.mark.parametrize(
    ("kind", "changes", "complaint"),
    [
        ("event", {"id": 3}, "field `id`: must be text, not a whole number"),
        ("event", {"repo": 1}, "field `repo`: must be text, not a whole number"),
        ("event", {"payload": []}, "field `payload`: must be an object, not a list"),
        ("event", {"payload": None}, "field `payload`: must be an object, not null"),
        ("event", {"priority": "hgih"}, "field `priority`: 'hgih' is not one of normal, high, low"),
        ("event", {"priority": True}, "field `priority`: True is not one of normal, high, low"),
        ("event", {"type": "GitHub.PR"}, "field `type`: 'GitHub.PR' does not have the form"),
        ("event", {"type": "github"}, "field `type`: 'github' does not have the form"),
        ("event", {"type": "github.pr.\n"}, "field `type`: 'github.pr.\\n' does not have"),
        ("event", {"source": "Git Hub"}, "field `source`: 'Git Hub' does not have the form"),
        ("event", {"trust": "admin"}, "is not one of member, outside, fork, bot"),
        ("event", {"created_at": ...}, "field `created_at`: is missing"),
        ("event", {"delivery": {"revision": "3"}}, "field `delivery.revision`: must be a whole"),
        ("event", {"delivery": {"revision": 1.0}}, "field `delivery.revision`: must be a whole"),
        ("event", {"delivery": {"revision": True}}, "field `delivery.revision`: must be a whole"),
        ("event", {"delivery": {"attempt_count": -1}}, "must be at least 0, not -1"),
        ("event", {"delivery": {"crash_count": -1}}, "must be at least 0, not -1"),
        ("event", {"delivery": []}, "field `delivery`: must be an object"),
        ("task", {"target_general": "pr"}, "field `target_general`: 'pr' does not have the form"),
        ("task", {"target_general": "gen-../x"}, "field `target_general`: 'gen-../x' does not"),
        ("task", {"retry_count": -1}, "field `retry_count`: must be at least 0"),
        ("task", {"retry_count": "0"}, "field `retry_count`: must be a whole number, not text"),
        ("message", {"type": "shout"}, "field `type`: 'shout' is not one of thread_start"),
        ("message", {"type": ...}, "field `type`: is missing"),
        ("message", {"type": ["report"]}, "field `type`"),
        ("message", {"urgency": "panic"}, "is not one of normal, high, urgent"),
        ("message", {"content": 5}, "field `content`: must be text"),
        ("message", {"context": "x"}, "field `context`: must be an object"),
        ("result", {"status": "done"}, "field `status`: 'done' is not one of success, failed"),
        ("result", {"summary": ...}, "field `summary`: is missing"),
        ("result", {"metrics": 3}, "field `metrics`: must be an object"),
        ("result", {"memory_updates": [1]}, "field `memory_updates.0`: must be text"),
        ("result", {"proclamation": {"channel": "x"}}, "field `proclamation.message`: is missing"),
        ("result", {"actions": ["post"]}, "field `actions.0`: must be an object, not text"),
    ],
)
def test_a_wrong_value_is_refused_with_file_field_and_reason(
    kind: Kind, changes: dict[str, Any], complaint: str
) -> None:
    fault = refused(kind, **changes)
    assert complaint in fault.sentence
    assert fault.code == "invalid_field"
    assert f"kingdom schema {kind}" in fault.remedy


@pytest.mark.parametrize("kind", KINDS)
def test_the_least_a_file_must_hold_is_enough(kind: Kind) -> None:
    optional = {"repo", "payload", "priority", "status", "channel", "urgency", "context"}
    keys = optional if kind != "result" else set()
    record = parse(kind, encoded(kind, **dict.fromkeys(keys, ...)), path="f")
    assert record.delivery == Delivery()
    assert record.status in ("pending", "success")


def test_a_refusal_never_repeats_a_wrong_value_at_length() -> None:
    assert len(refused("event", priority="x" * 100_000).sentence) < 300


# Moments


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("2026-02-07T10:00:00Z", "2026-02-07T10:00:00.000Z"),
        ("2026-02-07T19:00:00+09:00", "2026-02-07T10:00:00.000Z"),
        ("2026-02-07T10:00:00.123456Z", "2026-02-07T10:00:00.123Z"),
        ("2026-02-07T10:00:00.999999Z", "2026-02-07T10:00:00.999Z"),
        ("20260207T100000Z", "2026-02-07T10:00:00.000Z"),
        ("2026-02-07 10:00:00+00:00", "2026-02-07T10:00:00.000Z"),
        ("2026-02-07T04:30:00-0530", "2026-02-07T10:00:00.000Z"),
    ],
)
def test_a_moment_with_any_zone_is_written_in_utc_with_milliseconds(
    text: str, written: str
) -> None:
    record = read("event", created_at=text)
    assert json.loads(record.to_json())["created_at"] == written
    assert parse("event", record.to_json(), path="f") == record


@pytest.mark.parametrize("text", ["2026-02-07T10:00:00", "2026-02-07", "2026-02-07 10:00:00.123"])
def test_a_moment_without_a_zone_is_refused_with_what_to_add(text: str) -> None:
    fault = refused("event", created_at=text)
    assert "names no time zone; end it with Z (UTC) or an offset" in fault.sentence


@pytest.mark.parametrize(
    "value",
    [
        "",
        "yesterday",
        "2026-13-01T00:00:00Z",
        "0001-01-01T00:00:00+14:00",
        1707300000,
        [],
        {},
        True,
    ],
)
def test_what_is_no_moment_is_refused(value: Any) -> None:
    assert "is not a moment like" in refused("event", created_at=value).sentence


def test_moments_given_in_code_are_brought_to_utc_too() -> None:
    seoul = timezone(timedelta(hours=9))
    event = Event(
        id="e", type="a.b", source="cli", created_at=datetime(2026, 2, 7, 19, 0, 0, 1999, seoul)
    )
    assert event.created_at == datetime(2026, 2, 7, 10, 0, 0, 1000, UTC)
    with pytest.raises(ValidationError, match="names no time zone"):
        Event(id="e", type="a.b", source="cli", created_at=datetime(2026, 2, 7))


# Results and messages that contradict themselves


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"status": "failed"}, "field `error`: a result that is failed needs one"),
        ({"status": "failed", "error": ""}, "a result that is failed needs one"),
        ({"status": "failed", "error": None}, "a result that is failed needs one"),
        ({"status": "killed"}, "field `error`: a result that is killed needs one"),
        ({"status": "needs_human"}, "field `question`: a result that is needs_human needs one"),
        ({"status": "skipped"}, "field `reason`: a result that is skipped needs one"),
        ({"error": "boom"}, "a result that is success cannot have `error`"),
        ({"question": "why?"}, "a result that is success cannot have `question`"),
        ({"options": ["a"]}, "a result that is success cannot have `options`"),
        ({"status": "failed", "error": "x", "question": "?"}, "failed cannot have `question`"),
        ({"status": "skipped", "reason": "x", "error": "y"}, "skipped cannot have `error`"),
        ({"status": "needs_human", "question": "?", "error": "y"}, "cannot have `error`"),
        (
            {"status": "needs_human", "question": "?", "options": ["a"], "default": "b"},
            "`default` is not one of `options`",
        ),
    ],
)
def test_a_result_that_contradicts_itself_is_refused(
    changes: dict[str, Any], complaint: str
) -> None:
    fault = refused("result", **changes)
    assert complaint in fault.sentence
    assert fault.code == "contradictory"


@pytest.mark.parametrize("absent", [None, "", ...])
def test_a_success_may_say_that_it_has_no_error(absent: Any) -> None:
    assert isinstance(read("result", error=absent, question=absent), Success)


def test_each_result_status_is_its_own_type() -> None:
    failed = read("result", status="failed", error="boom")
    assert isinstance(failed, Failed)
    assert failed.error == "boom"
    assert failed.id == "task-20260207-001"


def test_a_question_whose_default_is_no_option_is_refused() -> None:
    fault = refused("message", type="human_input_request", options=["a", "b"], default="c")
    assert fault.code == "contradictory"


def test_a_question_carries_its_options() -> None:
    question = read("message", type="human_input_request", options=["yes", "no"], default="no")
    assert isinstance(question, HumanInputRequest)
    assert question.options == ["yes", "no"]


# Files that are not JSON at all


@pytest.mark.parametrize(
    ("data", "code", "complaint"),
    [
        (b"", "not_json", "empty"),
        (b" \n\t", "not_json", "empty"),
        (b"\0" * 4096, "not_json", "NUL"),
        (b'{"id": "a\0b"}', "not_json", "NUL"),
        (b'{"id": ', "not_json", "not JSON"),
        (b'{"id": "a"} {"id": "b"}', "not_json", "not JSON"),
        (b'{"id": "a"}garbage', "not_json", "not JSON"),
        (b"[1, 2]", "not_json", "one JSON object"),
        (b'"text"', "not_json", "one JSON object"),
        (b"null", "not_json", "one JSON object"),
        (b'{"a": NaN}', "not_json", "not JSON"),
        (b'{"a": -Infinity}', "not_json", "not JSON"),
        (b'{"a": 1e999}', "not_json", "too large"),
        (b'{"a": [{"b": -1E+400}]}', "not_json", "too large"),
        (b'{"a": ' + b"9" * 310 + b".5}", "not_json", "too large"),
        (b'{"a": ' + b"9" * 300 + b"e99}", "not_json", "too large"),
        (b'{"a": ' + b"9" * 5000 + b"}", "not_json", "not JSON"),
        (b'{"a": "\\ud800"}', "not_utf8", "half a character"),
        (b"{'a': 1}", "not_json", "not JSON"),
        (b'{"a": 1,}', "not_json", "not JSON"),
        (b"\xef\xbb\xbf{}", "not_json", "byte order mark"),
        (b'{"a": "\xff"}', "not_utf8", "byte 7"),
        ('{"id": "é"}'.encode("latin-1"), "not_utf8", "not UTF-8"),
        ('{"a": 1}'.encode("utf-16"), "not_utf8", "byte 0"),
        (b"[" * 100_000, "too_deep", "nested"),
        (b'{"a":' * 100_000, "too_deep", "nested"),
        (b'{"a":' * 300 + b"1" + b"}" * 300, "too_deep", "nested"),
    ],
)
def test_what_is_not_one_json_object_is_refused_with_a_stable_code(
    data: bytes, code: str, complaint: str
) -> None:
    fault = refused("event", data)
    assert fault.code == code
    assert complaint in fault.sentence
    assert fault.remedy


@given(st.binary(max_size=300))
def test_no_bytes_whatsoever_cause_anything_but_a_refusal(data: bytes) -> None:
    with pytest.raises(InvalidFile):
        parse("event", data, path="f")


def test_whatever_is_nested_deeply_enough_to_be_read_can_be_written() -> None:
    deepest = 0
    for depth in range(150, 260):
        nested = b'{"a":' * depth + b"1" + b"}" * depth
        data = encoded("event", payload={"x": 0}).replace(b'{"x": 0}', nested)
        try:
            record = parse("event", data, path="f")
        except InvalidFile:
            break
        assert parse("event", record.to_json(), path="f") == record
        deepest = depth
    assert 150 < deepest < 259


# Old and new forms


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_without_a_version_is_the_oldest_form(kind: Kind) -> None:
    written = json.loads(parse(kind, encoded(kind), path="f").to_json())
    assert written["schema_version"] == 1
    assert written["delivery"] == {"revision": 0, "attempt_count": 0, "crash_count": 0}


def test_a_newer_version_than_known_is_refused_with_what_to_do() -> None:
    fault = refused("task", schema_version=2)
    assert fault.code == "newer_format"
    assert "Upgrade kingdom" in fault.remedy


@pytest.mark.parametrize("version", ["1", 1.0, True, None, -1, [], {}])
def test_a_version_that_is_no_number_is_refused(version: Any) -> None:
    fault = refused("task", schema_version=version)
    assert fault.code == "invalid_field"
    assert "`schema_version`" in fault.sentence


# The directory is believed


@pytest.mark.parametrize("inside", ["completed", "no-such-word", 7, None, ...])
def test_the_given_status_replaces_whatever_is_inside(inside: Any) -> None:
    record = parse("event", encoded("event", status=inside), path="f", status="dispatched")
    assert record.status == "dispatched"


def test_of_several_allowed_words_the_one_inside_stays() -> None:
    words = EVENTS.state("completed").statuses
    kept = parse("event", encoded("event", status="failed"), path="f", status=words)
    mended = parse("event", encoded("event", status="pending"), path="f", status=words)
    assert (kept.status, mended.status) == ("failed", "completed")


def test_without_a_given_status_an_unknown_word_is_refused() -> None:
    assert "field `status`" in refused("event", status="lost").sentence


@pytest.mark.parametrize(
    ("stream", "words"), [(EVENTS, EventStatus), (TASKS, TaskStatus), (MESSAGES, MessageStatus)]
)
def test_the_models_know_exactly_the_status_words_of_the_directories(
    stream: Stream, words: Any
) -> None:
    in_directories = {status for state in stream.states for status in state.statuses}
    assert set(get_args(words)) == in_directories


def test_every_stream_has_a_sample_here() -> None:
    assert {stream.kind for stream in STREAMS.values()} == set(KINDS)


# Writing


def test_a_file_is_for_people_seed_keys_first_unknown_next_delivery_last() -> None:
    record = read(
        "event", delivery={"revision": 2}, x=None, trace_id="t", reason="다음", a={"b": None}
    )
    text = record.to_json().decode()
    assert list(json.loads(text)) == [
        *SAMPLES["event"],
        "reason",
        "trace_id",
        "schema_version",
        "x",
        "a",
        "delivery",
    ]
    assert '  "reason": "다음",\n' in text
    assert text.endswith("}\n")


def test_what_is_absent_is_left_out_and_a_null_inside_a_payload_stays() -> None:
    record = read("event", repo=None, payload={"a": None, "b": [None]}, mine=None)
    written = json.loads(record.to_json())
    assert "repo" not in written
    assert "locked_by" not in written["delivery"]
    assert written["payload"] == {"a": None, "b": [None]}
    assert written["mine"] is None


def test_records_do_not_change_and_a_copy_with_a_change_keeps_unknown_keys() -> None:
    record = read("task", mine=[1])
    with pytest.raises(ValidationError, match="frozen"):
        record.status = "dead"
    moved = record.model_copy(
        update={"status": "dead", "delivery": record.delivery.model_copy(update={"revision": 1})}
    )
    written = json.loads(moved.to_json())
    assert (written["status"], written["delivery"]["revision"], written["mine"]) == ("dead", 1, [1])


@pytest.mark.parametrize("name", ["to_json", "written", "model_config", "__dict__", "__class__"])
def test_an_unknown_key_cannot_replace_what_a_record_is(name: str) -> None:
    record = read("event", **{name: "mine"})
    assert json.loads(record.to_json())[name] == "mine"
    assert isinstance(record, Event)


def test_a_number_json_cannot_say_never_makes_a_file_unreadable() -> None:
    event = Event(
        id="e", type="a.b", source="cli", created_at=MOMENT, payload={"load": float("nan")}
    )
    again = parse("event", event.to_json(), path="f")
    assert isinstance(again, Event)
    assert again.payload == {"load": None}


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    "value",
    ["a\ud800b", ["\udc80"], {"\ud83d": {"\udc00": 1}}, nested(900), {"a": (1, "\ud800")}],
    ids=["text", "list", "keys", "nested", "tuple"],
)
def test_what_was_built_of_foreign_text_can_be_written_and_read_again(value: Any) -> None:
    record = Event(id="e", type="a.b", source="cli", created_at=MOMENT, payload={"odd": value})
    again = parse("event", record.revised(trace_id="\ud800").to_json(), path="f")
    assert isinstance(again, Event)
    assert again.trace_id == "\ufffd"
    assert "odd" in again.payload
    data = {"stream": "s", "id": "i", "code": "c", "reason": str(value)}
    line = InternalEvent(
        ts=MOMENT, type="queue.buried", actor="king", data=data, trace_id="\udc00"
    ).to_line()
    assert json.loads(line.decode("utf-8"))["trace_id"] == "\ufffd"


@pytest.mark.parametrize("year", ["0001", "9999"])
def test_a_moment_that_some_time_zone_cannot_show_is_refused(year: str) -> None:
    with pytest.raises(InvalidFile, match="is not a moment"):
        parse("event", encoded("event", created_at=f"{year}-12-31T12:00:00Z"), path="f")


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
KNOWN = {
    name
    for model in (Event, Task, HumanInputRequest, Notification, Success, Delivery)
    for name in model.model_fields
}
UNKNOWN = st.dictionaries(st.text().filter(lambda key: key not in KNOWN), JSON, max_size=5)


@settings(max_examples=200)
@given(
    kind=st.sampled_from(KINDS), extra=UNKNOWN, inner=UNKNOWN, payload=JSON, escape=st.booleans()
)
def test_a_round_trip_keeps_everything(
    kind: Kind, extra: dict[str, Any], inner: dict[str, Any], payload: Any, escape: bool
) -> None:
    place = {"event": "payload", "task": "payload", "message": "context", "result": "metrics"}
    raw = {**SAMPLES[kind], place[kind]: {"x": payload}, "delivery": inner, **extra}
    data = json.dumps(raw, ensure_ascii=escape).encode()
    record = parse(kind, data, path="f")
    written = json.loads(record.to_json())
    for key, value in raw.items():
        if key != "delivery":
            assert written[key] == value
    assert {**written["delivery"], **inner} == written["delivery"]
    assert list(written)[-1] == "delivery"
    assert parse(kind, record.to_json(), path="f") == record
    assert parse(kind, record.to_json(), path="f").to_json() == record.to_json()


# Schemas


@pytest.mark.parametrize("name", SCHEMA_NAMES)
def test_every_schema_is_a_valid_one(name: str) -> None:
    schema = schema_for(name)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["$schema"].endswith("2020-12/schema")
    assert json.loads(json.dumps(schema)) == schema


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_written_matches_the_schema_that_is_printed(kind: Kind) -> None:
    validator = jsonschema.Draft202012Validator(schema_for(kind))
    validator.validate(json.loads(parse(kind, encoded(kind, x=1), path="f").to_json()))
    own_id = "task_id" if kind == "result" else "id"
    assert not validator.is_valid({**SAMPLES[kind], own_id: "../x"})


def test_schemas_of_the_unions_name_every_member() -> None:
    assert set(MESSAGE.json_schema()["discriminator"]["mapping"]) == {
        "thread_start",
        "thread_update",
        "human_input_request",
        "notification",
        "report",
    }
    assert set(RESULT.json_schema()["discriminator"]["mapping"]) == {
        "success",
        "failed",
        "needs_human",
        "skipped",
        "killed",
    }


# Manifests

MANIFEST = b"""\
name: gen-pr
description: reviews pull requests
subscribes: [github.pr.review_requested, github.issue.*]
schedules:
  - name: nightly
    cron: 0 3 * * *
    task_type: nightly-chore
permissions:
  tools: [Read]
  by_trust:
    fork: {network: false}
verify: [make test]
retry: {max_attempts: 2, backoff_seconds: 5}
"""


def test_a_manifest_is_read_with_its_defaults() -> None:
    manifest = read_manifest(MANIFEST, "m.yaml")
    assert manifest.name == "gen-pr"
    assert manifest.schedules[0].cron == "0 3 * * *"
    assert manifest.permissions.by_trust["fork"].network is False
    assert manifest.timeout_seconds == 1800


def test_a_manifest_may_have_empty_sections() -> None:
    data = b"name: gen-x\ndescription: d\nschedules:\nretry:\n  # max_attempts: 9\npermissions:\n"
    manifest = read_manifest(data, "m.yaml")
    assert (manifest.schedules, manifest.retry.max_attempts) == ([], 3)


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        (b"subscribes", b"subscribe", "m.yaml:3: `subscribe` is not a setting. Did you mean `subs"),
        (b"backoff_seconds", b"backof_seconds", "m.yaml:13: `retry.backof_seconds` is not a sett"),
        (b"task_type", b"tasktype", "m.yaml:7: `schedules.0.tasktype`"),
        (
            b"network",
            b"netwrk",
            "`permissions.by_trust.fork.netwrk` is not a setting. Did you mean",
        ),
        (b"0 3 * * *", b"0 3 * *", "m.yaml:6: `schedules.0.cron`: '0 3 * *' is not five fields"),
        (b"gen-pr", b"pr", "m.yaml:1: `name`: 'pr' does not have the form"),
        (b"issue.*", b"*.issue", "m.yaml:3: `subscribes.1`"),
        (b"fork:", b"stranger:", "stranger"),
        (b"description: reviews pull requests\n", b"", "`description`: is missing"),
        (b"retry:", b"verify:", "m.yaml:13: `verify` is given twice"),
    ],
)
def test_a_wrong_manifest_is_refused_with_file_line_and_key(
    old: bytes, new: bytes, complaint: str
) -> None:
    with pytest.raises(ConfigurationError) as caught:
        read_manifest(MANIFEST.replace(old, new), "m.yaml")
    assert complaint in str(caught.value)


@pytest.mark.parametrize("value", [2**70, -(2**70), {1: "a key that is a number"}, float("nan")])
def test_what_the_quick_speller_cannot_spell_is_spelled_all_the_same(value: object) -> None:
    record = parse("event", encoded("event"), path="f").revised(payload={"odd": value})
    text = record.to_json()
    assert text.endswith(b"}\n")
    assert "odd" in json.loads(text)["payload"]
