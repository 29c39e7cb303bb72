"""`kingdom status` without models tells what the models would, and takes no time to begin."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import closing
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from kingdom.cli.status import facts
from kingdom.clock import isoformat
from kingdom.envoy.answers import id_prefix
from kingdom.envoy.notebook import questions_path
from kingdom.envoy.questions import Question
from kingdom.ops import asking
from kingdom.ops.init import init
from kingdom.ops.status import status
from kingdom.ops.status_config import OVERRIDES, checked_file
from kingdom.runtime.processes import Seat
from kingdom.settings import loading
from kingdom.store.paths import BaseDir
from kingdom.store.state import write_json
from tests.support.cli import environment
from tests.support.kingdom import ShiftedClock

HEAVY = {"pydantic", "pydantic_core", "yaml", "structlog", "orjson", "zoneinfo", "tarfile"}
QUESTION = {
    "msg_id": "msg-20260207-001",
    "question": "Which branch?",
    "options": ["main", "next"],
    "asked_at": "2026-02-07T10:00:00.000Z",
    "channel": "console",
    "thread_ts": "task-20260207-001",
}


@pytest.fixture
def ready(base: BaseDir) -> BaseDir:
    init(base)
    return base


def later(seconds: float = 60.0) -> ShiftedClock:
    clock = ShiftedClock()
    clock.shift(seconds)
    return clock


def configured(base: BaseDir, clock: ShiftedClock | None = None, **more: str) -> dict[str, Any]:
    found = status(base, environment(**more), clock or later())
    problem = found["config_problem"] or " ".join(found["general_problems"].values()) or None
    return {"engine": found["engine"], "config_problem": problem}


def set_engine(base: BaseDir, engine: str, **more: str) -> None:
    content = json.dumps({"runtime": {"engine": engine, **more}})
    Path(base.path("config", "system.yaml")).write_text(content)


def falsify_note(base: BaseDir) -> None:
    """From here on, whoever believes the note says `rehearsal`."""
    noted = json.loads(Path(checked_file(base)).read_text())
    noted["settings"]["system"]["runtime"]["engine"] = "rehearsal"
    write_json(checked_file(base), noted)


def is_believed(base: BaseDir, clock: ShiftedClock | None = None) -> bool:
    return configured(base, clock)["engine"]["name"] == "rehearsal"


# What it costs


def loaded_by(code: str) -> set[str]:
    code = f"import sys\n{code}\nprint(*sys.modules, file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd="/", env=environment(),
        check=True,
    )  # fmt: skip
    return set(done.stderr.split())


@pytest.mark.parametrize("words", [["status"], ["status", "--json"]])
def test_nothing_heavy_is_imported(ready: BaseDir, words: list[str]) -> None:
    """Start-up time is the sum of what is imported; this holds on any machine."""
    os.makedirs(ready.path("state", "envoy"))
    write_json(questions_path(ready), {"task-20260207-001": QUESTION})
    write_json(ready.sessions_file, [{"id": "soldier-1", "task_id": "task-1", "general": "gen-a"}])
    configured(ready)
    lock = Seat(ready, "king").take()
    typed = ["--base-dir", ready.root, *words]
    loaded = loaded_by(f"from kingdom.cli.main import run\nrun({typed!r})")
    lock.close()
    # To ask an engine whether it is there is the engine's affair, and so is what that takes.
    assert loaded & HEAVY <= loaded_by("import kingdom.engines.choice")
    assert not loaded & {
        "kingdom.bus.files.bus",
        "kingdom.engines.claude.settings_file",
        "kingdom.models.message",
        "kingdom.runtime.config",
        "socket",
        "uuid",
    }


# The configuration


@pytest.mark.parametrize(
    "engine",
    [
        {"engine": "claude"},
        {"engine": "codex"},
        {"engine": "rehearsal"},
        {"engine": "command"},
        {"engine": "command", "command": {"argv": ["./no-such-program"]}},
        {"engine": "command", "command": {"argv": [sys.executable]}},
    ],
    ids=str,
)
def test_from_a_note_it_tells_the_same_as_from_a_check(
    ready: BaseDir, engine: dict[str, Any]
) -> None:
    set_engine(ready, **engine)
    checked = configured(ready)
    assert os.path.exists(checked_file(ready))
    assert configured(ready) == checked


def test_a_note_is_believed_and_whether_the_engine_is_there_is_asked_anew(ready: BaseDir) -> None:
    configured(ready)
    falsify_note(ready)
    assert is_believed(ready)
    assert "tmux" in configured(ready, PATH="/nowhere")["engine"]["reason"]


def test_a_fault_is_seen_at_once_and_never_noted(ready: BaseDir) -> None:
    configured(ready)
    path = Path(ready.path("config", "king.yaml"))
    before = path.read_bytes()
    path.write_text("concurency: {}\n")
    for _ in range(2):
        found = configured(ready)
        assert "concurency" in found["config_problem"]
        assert found["engine"] is None
    path.write_bytes(before)
    assert configured(ready)["config_problem"] is None
    os.remove(checked_file(ready))
    path.write_text("concurency: {}\n")
    configured(ready)
    assert not os.path.exists(checked_file(ready))


def rewrite(base: BaseDir) -> None:
    """Other content of the same length and the same date, in the same file."""
    path = Path(base.path("config", "generals", "gen-herald", "prompt.md"))
    facts, content = path.stat(), path.read_bytes()
    path.write_bytes(b"{{NO}}" + content[6:])
    os.utime(path, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    assert path.stat().st_size == facts.st_size


def add_package(base: BaseDir) -> None:
    os.makedirs(base.path("config", "local", "generals", "gen-new"))


def lose_manifest(base: BaseDir) -> None:
    os.remove(base.path("config", "generals", "gen-herald", "manifest.yaml"))


def add_layer(base: BaseDir) -> None:
    os.makedirs(base.path("config", "local"), exist_ok=True)
    Path(base.path("config", "local", "envoy.yaml")).write_text("transport: pigeon\n")


@pytest.mark.parametrize("change", [rewrite, add_package, lose_manifest, add_layer])
def test_whatever_changes_in_the_configuration_is_seen(ready: BaseDir, change: Any) -> None:
    assert configured(ready)["config_problem"] is None
    change(ready)
    assert configured(ready)["config_problem"]


def test_a_package_behind_a_link_is_looked_into(ready: BaseDir, scratch: Path) -> None:
    place, shipped = scratch / "elsewhere", Path(ready.path("config", "generals", "gen-herald"))
    shipped.rename(place)
    os.makedirs(ready.path("config", "local", "generals"))
    Path(ready.path("config", "local", "generals", "gen-herald")).symlink_to(place)
    assert configured(ready)["config_problem"] is None
    (place / "prompt.md").write_text("{{NO}}")
    assert "{{NO}}" in configured(ready)["config_problem"]


def test_another_program_checks_for_itself(ready: BaseDir) -> None:
    configured(ready)
    stamps = json.loads(Path(checked_file(ready)).read_text())["stamps"]
    assert loading.__file__ in {path for path, *_ in stamps}


def test_what_python_keeps_beside_its_sources_is_no_change(ready: BaseDir) -> None:
    place = Path(ready.path("config", "generals"))
    place.mkdir(exist_ok=True)
    configured(ready)
    falsify_note(ready)
    (place / "__pycache__").mkdir()
    assert is_believed(ready)


def test_what_was_written_a_moment_ago_is_not_noted(ready: BaseDir) -> None:
    configured(ready, later(0.0))
    assert not os.path.exists(checked_file(ready))


def test_a_note_of_yesterday_is_not_believed(ready: BaseDir) -> None:
    configured(ready)
    falsify_note(ready)
    assert not is_believed(ready, later(86_401.0))


def test_what_the_environment_sets_is_checked_each_time(ready: BaseDir) -> None:
    assert set(OVERRIDES) == {name for name, _, _ in loading.VARIABLES}
    configured(ready)
    assert "KINGDOM_BUS" in configured(ready, KINGDOM_BUS="no such")["config_problem"]
    os.remove(checked_file(ready))
    configured(ready, KINGDOM_BUS="postgresql://ada:secret@db/kingdom")
    assert not os.path.exists(checked_file(ready))


@pytest.mark.parametrize("content", ["", "[", "null", "{}", "[1]", '{"stamps": [], "settings": 1}'])
def test_a_damaged_note_costs_a_check(ready: BaseDir, content: str) -> None:
    checked = configured(ready)
    Path(checked_file(ready)).write_text(content)
    assert configured(ready) == checked
    assert json.loads(Path(checked_file(ready)).read_text())["settings"]


def test_a_note_that_cannot_be_written_is_done_without(ready: BaseDir) -> None:
    os.makedirs(checked_file(ready))
    assert configured(ready) == configured(ready)


# The questions


def test_the_envoy_s_own_words_are_the_same() -> None:
    base = BaseDir("/x")
    assert base.path(*asking.NOTEBOOK) == questions_path(base)
    assert f"{asking.ANSWERS}task-1-" == id_prefix("task-1")


ABSENT = object()
moments = st.one_of(
    st.datetimes(timezones=st.just(UTC)).map(isoformat),
    st.sampled_from(["now", "2026-02-07T10:00:00Z", "2026-02-07T19:00:00.000+09:00", 7, None]),
)
texts = st.one_of(st.text(max_size=5), st.sampled_from(["x" * 201, None, 1, ["a"]]))
fields = {
    "msg_id": st.one_of(st.just("msg-20260207-001"), texts),
    "question": texts,
    "options": st.one_of(st.lists(st.text(max_size=3), max_size=2), texts),
    "default": texts,
    "asked_at": moments,
    "expires_at": moments,
    "channel": texts,
    "thread_ts": texts,
    "trace_id": texts,
    "answered_at": moments,
    "more": texts,
}


@st.composite
def entries(draw: st.DrawFn) -> dict[str, Any]:
    """One that the envoy may have written, but for a few of its fields."""
    entry = dict(QUESTION)
    changed = draw(st.lists(st.sampled_from(list(fields)), max_size=3, unique=True))
    entry |= {key: draw(st.one_of(fields[key], st.just(ABSENT))) for key in changed}
    order = list(entry) if draw(st.booleans()) else [key for key in fields if key in entry]
    return {key: entry[key] for key in order if entry[key] is not ABSENT}


def written(entry: dict[str, Any]) -> list[tuple[str, Any]] | None:
    try:
        return list(Question.model_validate(entry).written().items())
    except ValidationError:
        return None


@settings(max_examples=500)
@given(entries())
def test_what_is_plain_is_what_the_model_writes_but_for_keys_it_does_not_know(
    entry: dict[str, Any],
) -> None:
    same = written(entry) == list(entry.items())
    assert asking._is_plain_question(entry) == (same and "more" not in entry)


@pytest.mark.parametrize("other", [None, 1, "x", [QUESTION], {}])
def test_what_is_no_question_is_not_plain(other: Any) -> None:
    assert not asking._is_plain({"task-20260207-001": other})
    assert not asking._is_plain([other])


def test_the_form_is_that_of_the_model() -> None:
    needed = {name for name, field in Question.model_fields.items() if field.is_required()}
    assert list(asking._FORM) == list(Question.model_fields)
    assert needed == asking._NEEDED


def test_an_entry_spelled_otherwise_is_read_by_the_model_and_a_wrong_one_left_out(
    ready: BaseDir,
) -> None:
    os.makedirs(ready.path("state", "envoy"))
    kept = {
        "task-20260207-001": QUESTION,
        "task-20260207-002": QUESTION | {"asked_at": "2026-02-07T18:59:00+09:00", "default": None},
        "task-20260207-003": QUESTION | {"options": "main"},
        "no id": QUESTION,
    }
    write_json(questions_path(ready), kept)
    found = status(ready, environment())["questions"]
    earlier = QUESTION | {"asked_at": "2026-02-07T09:59:00.000Z"}
    assert found == [
        {"task_id": "task-20260207-002", **earlier},
        {"task_id": "task-20260207-001", **QUESTION},
    ]


@pytest.mark.parametrize(
    "content",
    ["", "[]", "{", '{"health": 3}', '{"health": "green"}', '{"health": "green", "usage": 3}',
     '{"health": "red", "usage": {"king": 3}, "cpu_percent": "x", "updated_at": 5}',
     '{"health": "red", "usage": {"king": {"cpu_percent": true}}, "updated_at": "never"}'],
)  # fmt: skip
def test_measurements_that_are_damaged_cost_no_more_than_themselves(
    base: BaseDir, content: str
) -> None:
    init(base)
    lock = Seat(base, "king").take()
    Path(base.resources_file).write_text(content)
    found = status(base, environment())
    (king,) = found["roles"]
    assert (king["cpu_percent"], king["memory_mb"]) == (None, None)
    lines = list(facts(found))
    assert not found["health"] or any("health     counts as orange" in one for one in lines)
    lock.close()


@pytest.mark.parametrize(("threshold", "state"), [(120, "hung"), (300, "up"), (5, "hung")])
def test_a_role_hangs_as_long_as_the_settings_say(
    ready: BaseDir, threshold: int, state: str
) -> None:
    config = Path(ready.path("config", "local", "chamberlain.yaml"))
    config.parent.mkdir(exist_ok=True)
    config.write_text(f"heartbeat: {{threshold_seconds: {threshold}}}\n")
    seat = Seat(ready, "king")
    with closing(seat.take()):
        seat.beat()
        for seconds, expected in ((25.0, "up"), (200.0, state)):
            for _ in range(2):  # from a check, and from its note
                (role,) = status(ready, environment(), later(seconds))["roles"]
                assert role["state"] == expected
