"""Whole journeys with Claude Code: real roles, real tmux, the real program, a scripted model."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from kingdom.ops.init import init
from kingdom.ops.stopping import end_soldiers
from kingdom.store.paths import BaseDir
from tests.support.cli import environment, kingdom
from tests.support.kingdom import files, load
from tests.support.programs import new_claude
from tests.support.puppets import ended_afterwards
from tests.support.scripted_model import ScriptedModel, fails, say, use
from tests.support.waiting import eventually

MANIFEST = """
name: gen-trial
description: Tries.
subscribes: [trial.*]
timeout_seconds: 60
retry: {max_attempts: 2, backoff_seconds: 0.05}
permissions: {tools: [Read, Write, Bash]}
verify: ["test ! -e broken"]
"""
REPORT = "$KINGDOM_RESULT_PATH"


def reports(status: str = "success", **more: Any) -> Any:
    """The soldier writes its result, as it was told to."""
    said = {"task_id": "$KINGDOM_TASK_ID", "status": status, "summary": "Done.", **more}
    text = json.dumps(said).replace('"', '\\"')
    return use("Bash", command=f'printf "%s" "{text}" > "{REPORT}"', description="report")


@contextmanager
def realm(
    model: ScriptedModel,
    scratch: Path,
    manifest: str = MANIFEST,
    env: Mapping[str, str] | None = None,
    **settings: Any,
) -> Iterator[BaseDir]:
    base = BaseDir(scratch / "realm")
    init(base)
    shutil.rmtree(base.path("config", "generals"))
    home = scratch / "home"
    home.mkdir()
    local = Path(base.path("config", "local"))
    claude = {"command": new_claude(), "max_retries": 0}
    system = {"runtime": {"engine": "claude", "claude": claude}, **settings.pop("system", {})}
    for name, content in {"system": system, **settings}.items():
        (local / f"{name}.yaml").write_text(json.dumps(content))
    package = local / "generals" / "gen-trial"
    package.mkdir(parents=True)
    (package / "manifest.yaml").write_text(manifest.lstrip())
    (package / "prompt.md").write_text("Do this: {{payload.word}}\n")
    try:
        with ended_afterwards(base):
            given = {"HOME": str(home), **model.environment, **(env or {})}
            said = kingdom("start", base=base, env=given)
            assert said.code == 0, said.err
            yield base
    finally:
        end_soldiers(base, environment())


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel() as scripted:
        yield scripted


def send(base: BaseDir, word: str, kind: str = "trial.work", **more: Any) -> str:
    payload = {"word": word, **more.pop("payload", {})}
    whole = {"id": f"evt-cli-{word}", "type": kind, "payload": payload, **more}
    said = kingdom("send", "--file", "-", base=base, stdin=json.dumps(whole))
    assert said.code == 0, said.err
    return str(whole["id"])


def ended(base: BaseDir, event: str) -> dict[str, Any]:
    eventually(lambda: event in files(base).get("events/completed", []), f"{event} has ended")
    task = load(base, "events/completed", event)["task_id"]
    found = json.loads(Path(base.path("state", "results", f"{task}.json")).read_text())
    return dict(found)


def internal(base: BaseDir, type_: str) -> list[dict[str, Any]]:
    lines = (json.loads(one) for one in Path(base.events_log).read_text().splitlines() if one)
    return [one["data"] for one in lines if one["type"] == type_]


def test_work_a_question_its_answer_and_words_instead_of_a_file(
    scratch: Path, model: ScriptedModel
) -> None:
    model.says(
        use("Write", file_path="made.txt", content="hi\n"), reports(), say("Bye."), to="make"
    )
    model.says(
        reports("needs_human", question="Blue?", options=["yes", "no"]),
        say("I asked."),
        reports(summary="Painted blue."),
        say("Bye."),
        to="paint",
    )
    model.says(say('{"status": "success", "summary": "Said so."}'), to="tell")
    model.says(
        use("Bash", command="touch broken", description="break"),
        reports(),
        say("Fine."),
        use("Bash", command="rm broken", description="mend"),
        reports(summary="Mended."),
        say("Fine now."),
        to="break",
    )
    with realm(model, scratch) as base:
        for word in ("make", "paint", "tell", "break"):
            send(base, word)
        made = ended(base, "evt-cli-make")
        assert (made["status"], made["summary"]) == ("success", "Done.")
        workspace = Path(base.path("workspace", "gen-trial", made["task_id"]))
        assert (workspace / "made.txt").read_text() == "hi\n"
        assert made["metrics"]["cost_usd"] > 0
        assert made["metrics"]["tokens"]["output"] > 0
        told = ended(base, "evt-cli-tell")
        assert (told["status"], told["summary"]) == ("success", "Said so.")
        mended = ended(base, "evt-cli-break")
        assert (mended["summary"], mended["metrics"]["attempts"]) == ("Mended.", 2)
        asked = ended(base, "evt-cli-paint")
        assert (asked["status"], asked["question"]) == ("needs_human", "Blue?")
        task = asked["task_id"]
        eventually(lambda: task in kingdom("ask", base=base).out, "it is asked")
        assert kingdom("answer", task, "yes", base=base).code == 0
        answer = f"evt-slack-response-{task}"
        eventually(
            lambda: any(one.startswith(answer) for one in files(base).get("events/completed", [])),
            "the answer was worked on",
        )
        name = next(one for one in files(base)["events/completed"] if one.startswith(answer))
        assert ended(base, name)["summary"] == "Painted blue."
    said = [one.text for one in model.requests]
    assert any("yes" in one and "Blue?" in one for one in said), "the answer reached the session"
    assert any("did not pass" in one for one in said), "the second attempt was told what failed"


@pytest.mark.provokes("system.engine_changed")
def test_a_usage_limit_closes_the_engine_until_it_ends_and_costs_no_attempt(
    scratch: Path, model: ScriptedModel
) -> None:
    named: list[int] = []
    far = int(time.time()) + 3600

    def says_when() -> str:
        named.append(int(time.time()) + 4)
        return f"Claude AI usage limit reached|{named[-1]}"

    soon = fails(429, says_when, "rate_limit_error")
    model.says((soon, reports()), say("Bye."), to="wait")
    late = fails(429, f"Claude AI usage limit reached|{far}", "rate_limit_error")
    model.says(late, to="later")
    with realm(model, scratch) as base:
        path = Path(base.path("state", "engines", "claude.json"))
        result = ended(base, send(base, "wait"))
        assert (result["status"], result["metrics"]["attempts"]) == ("success", 1)
        assert time.time() >= named[0]
        changes = internal(base, "system.engine_changed")
        assert [one["available"] for one in changes] == [False, True]
        assert not path.exists()
        event = send(base, "later")
        eventually(lambda: "not available until" in kingdom("status", base=base).out, "it is said")
        assert datetime.fromisoformat(json.loads(path.read_text())["until"]).timestamp() == far
        eventually(lambda: "limit" in kingdom("why", event, base=base).out, "its soldier ended")
        asked = len(model.requests)
        assert "limit" in kingdom("why", event, base=base).out
        assert len(model.requests) == asked, "nothing is tried meanwhile"


@pytest.mark.long
def test_a_wrong_login_is_said_once_and_nothing_is_tried_again(
    scratch: Path, model: ScriptedModel
) -> None:
    refused = fails(401, "invalid x-api-key", "authentication_error")
    model.says((refused, reports()), say("Bye."), to="enter")
    model.says(reports(), say("Bye."), to="later")
    with realm(model, scratch) as base:
        result = ended(base, send(base, "enter"))
        assert (result["status"], result["error_code"]) == ("failed", "engine_login")
        assert result["metrics"]["attempts"] == 1
        shown = kingdom("status", base=base).out
        assert "rm state/engines/claude.json" in shown
        waiting = send(base, "later")
        assert "login" in kingdom("why", waiting, base=base).out
        Path(base.path("state", "engines", "claude.json")).unlink()
        assert ended(base, waiting)["status"] == "success"
