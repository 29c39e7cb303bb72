"""Whole journeys with Codex: real roles, real tmux, the real program, a scripted model."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from kingdom.store.paths import BaseDir
from tests.claude.test_in_a_kingdom import MANIFEST, ended, realm, send
from tests.claude.test_repository import told
from tests.support import programs
from tests.support.cli import kingdom
from tests.support.git_remotes import BareRemote, git
from tests.support.github_server import TOKEN, FakeGitHub
from tests.support.kingdom import files
from tests.support.scripted_model import Turn, say
from tests.support.scripted_responses import ScriptedResponses, command
from tests.support.waiting import eventually

REVIEWS = """
name: gen-trial
description: Reviews.
subscribes: [github.pr.*]
timeout_seconds: 60
retry: {max_attempts: 2, backoff_seconds: 0.05}
permissions: {tools: [Read, Edit, Write, Bash], actions: [review, push]}
verify: ["grep -q three a.txt"]
"""


@pytest.fixture
def model() -> Iterator[ScriptedResponses]:
    with ScriptedResponses() as scripted:
        yield scripted


def reports(status: str = "success", **more: Any) -> Turn:
    said = {"task_id": "$KINGDOM_TASK_ID", "status": status, "summary": "Done.", **more}
    text = json.dumps(said).replace('"', '\\"')
    return command(f'printf "%s" "{text}" > "$KINGDOM_RESULT_PATH"')


@contextmanager
def codex_realm(
    model: ScriptedResponses,
    place: Path,
    manifest: str = MANIFEST,
    env: dict[str, str] | None = None,
    **settings: Any,
) -> Iterator[BaseDir]:
    """The program finds the model as behind a proxy: by the address in its environment."""
    runtime = {"engine": "codex", "codex": {"command": programs.codex()}}
    system = {"runtime": runtime, **settings.pop("system", {})}
    given = {"CODEX_API_KEY": "dummy", "OPENAI_BASE_URL": f"{model.url}/v1", **(env or {})}
    with realm(model, place, manifest, given, system=system, **settings) as base:
        yield base


def test_an_event_becomes_work_a_result_and_a_message(
    place: Path, model: ScriptedResponses
) -> None:
    model.says(command("echo hi > made.txt"), reports(), say("Bye."), to="make")
    with codex_realm(model, place) as base:
        made = ended(base, send(base, "make"))
        assert (made["status"], made["summary"]) == ("success", "Done.")
        assert made["metrics"]["tokens"]["output"] > 0
        workspace = Path(base.path("workspace", "gen-trial", made["task_id"]))
        assert (workspace / "made.txt").read_text() == "hi\n"
        eventually(lambda: "Done." in told(base, made["task_id"]), "it is told")


@pytest.mark.long
def test_a_question_is_answered_in_the_same_session(place: Path, model: ScriptedResponses) -> None:
    model.says(
        reports("needs_human", question="Blue?", options=["yes", "no"]),
        say("I asked."),
        reports(summary="Painted blue."),
        say("Bye."),
        to="paint",
    )
    with codex_realm(model, place) as base:
        asked = ended(base, send(base, "paint"))
        assert (asked["status"], asked["question"]) == ("needs_human", "Blue?")
        task = asked["task_id"]
        eventually(lambda: task in kingdom("ask", base=base).out, "it is asked")
        assert kingdom("answer", task, "yes", base=base).code == 0
        answer = f"evt-slack-response-{task}"

        def answered() -> list[str]:
            return [one for one in files(base).get("events/completed", []) if answer in one]

        eventually(answered, "the answer was worked on")
        assert ended(base, answered()[0])["summary"] == "Painted blue."
    last = model.requests[-1].text
    assert "I asked." in last, "it remembers"
    assert "yes" in last


@pytest.mark.long
def test_an_edit_is_verified_pushed_and_reviewed_once(
    place: Path, model: ScriptedResponses
) -> None:
    remote = BareRemote(place / "remotes" / "acme" / "shop.git", {"a.txt": "one\n"})
    head = remote.pull_request(7, {"a.txt": "one\ntwo\n"})
    wanted = [{"do": "review", "event": "COMMENT", "body": "It was missing."}, {"do": "push"}]
    model.says(
        reports(actions=wanted),  # too early: the check fails, and it is told so
        say("Bye."),
        command("echo three >> a.txt; git commit -qam More"),
        reports(actions=wanted),
        say("Bye."),
        to="mend",
    )
    with FakeGitHub() as hub:
        system = {"git": {"url": f"{place}/remotes/{{repo}}.git", "use_gh": False}}
        sentinel = {"polling": {"github": {"api_url": hub.url}}}
        secret = {"GH_TOKEN": TOKEN}
        with codex_realm(model, place, REVIEWS, secret, system=system, sentinel=sentinel) as base:
            about = {"repo": "acme/shop", "payload": {"number": 7}}
            result = ended(base, send(base, "mend", "github.pr.review_requested", **about))
            task = result["task_id"]
            assert (result["status"], result["metrics"]["attempts"]) == ("success", 2)
            pushed = remote.refs()[f"refs/heads/kingdom/{task}"]
            assert git(remote.path, "show", f"{pushed}:a.txt") == "one\ntwo\nthree"
            assert git(remote.path, "rev-parse", f"{pushed}^") == head
            assert hub.counts() == {"reviews": 1, "comments": 0, "pulls": 0}
            eventually(lambda: hub.reviews[0]["html_url"] in told(base, task), "it is told")
    assert any("did not pass" in one.text for one in model.requests)
