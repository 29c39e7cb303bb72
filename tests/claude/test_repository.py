"""From a pull request to a review and a pushed branch: all of it real, but for GitHub itself."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from kingdom.store.paths import BaseDir
from tests.claude.test_in_a_kingdom import ended, model, realm, reports, send
from tests.support.git_remotes import BareRemote, git, kept_files
from tests.support.github_server import TOKEN, FakeGitHub
from tests.support.kingdom import files, load
from tests.support.scripted_model import ScriptedModel, say, use
from tests.support.waiting import eventually

__all__ = ["model"]  # the fixture
MANIFEST = """
name: gen-trial
description: Reviews.
subscribes: [github.pr.*]
timeout_seconds: 60
retry: {max_attempts: 2, backoff_seconds: 0.05}
permissions: {tools: [Read, Edit, Write, Bash], actions: [review, push]}
verify: ["grep -q three a.txt"]
"""
JIRA, SLACK = "jira-token-of-nobody-1234", "xoxb-of-nobody-1234"


def test_an_edit_is_verified_pushed_and_reviewed_once_and_nothing_is_lost(
    scratch: Path, model: ScriptedModel
) -> None:
    remote = BareRemote(scratch / "remotes" / "acme" / "shop.git", {"a.txt": "one\n"})
    head = remote.pull_request(7, {"a.txt": "one\ntwo\n"})
    wanted: list[dict[str, Any]] = [
        {"do": "review", "event": "COMMENT", "body": "A third line was missing."},
        {"do": "push"},
        {"do": "comment", "body": "Not allowed to this one."},
    ]
    # The program is the parent of the shell that runs its commands.
    work = (
        "git rev-parse HEAD > head.txt; env > left.txt; cat /proc/$PPID/environ > seen.txt; "
        "echo three >> a.txt; git commit -qam More"
    )
    model.says(
        use("Bash", command=work, description="work"),
        reports(actions=wanted),
        say("Bye."),
        to="mend",
    )
    with FakeGitHub() as hub:
        system = {"git": {"url": f"{scratch}/remotes/{{repo}}.git", "use_gh": False}}
        sentinel = {"polling": {"github": {"api_url": hub.url}}}
        secrets = {"GH_TOKEN": TOKEN, "JIRA_API_TOKEN": JIRA, "SLACK_BOT_TOKEN": SLACK}
        with realm(model, scratch, MANIFEST, secrets, system=system, sentinel=sentinel) as base:
            about = {"repo": "acme/shop", "payload": {"number": 7}}
            event = send(base, "mend", "github.pr.review_requested", **about)
            result = ended(base, event)
            task = result["task_id"]
            assert (result["status"], result["metrics"]["attempts"]) == ("success", 1)
            pushed = remote.refs()[f"refs/heads/kingdom/{task}"]
            assert git(remote.path, "show", f"{pushed}:a.txt") == "one\ntwo\nthree"
            assert git(remote.path, "rev-parse", f"{pushed}^") == head
            assert hub.counts() == {"reviews": 1, "comments": 0, "pulls": 0}
            assert "not done, comment" in result["summary"]
            assert hub.reviews[0]["html_url"] in result["summary"]
            eventually(lambda: "A third" not in told(base, task) and told(base, task), "told")
            assert hub.reviews[0]["html_url"] in told(base, task)
            (kept,) = result["kept_refs"]
            (clone,) = Path(base.workspace, "gen-trial", ".clones").glob("*.git")
            left = kept_files(str(clone), kept)
            assert left["head.txt"].strip() == head
            assert "KINGDOM_TASK_ID" in left["left.txt"]
            seen = dict(one.split("=", 1) for one in left["seen.txt"].split("\0") if "=" in one)
            assert seen["KINGDOM_TASK_ID"] == task
            assert "CLAUDECODE" in left["left.txt"]  # which it tells its commands
            assert "CLAUDECODE" not in seen
            secrets_ = (TOKEN, JIRA, SLACK)
            _have_none_of(secrets_, base, scratch / "home", str(seen), left["left.txt"], model)


def told(base: BaseDir, task: str) -> str:
    sent = [load(base, "messages/sent", one) for one in files(base).get("messages/sent", [])]
    return "".join(
        one["content"]
        for one in sent
        if one.get("task_id") == task and one["type"] == "thread_update"
    )


def _have_none_of(
    secrets: tuple[str, ...], base: BaseDir, home: Path, seen: str, left: str, model: ScriptedModel
) -> None:
    """No file of the kingdom's or of the soldier's home, where its program keeps the sessions; not
    the program's own environment nor that of its commands; and nothing that reached the model."""
    sessions = list(Path(base.workspace).glob("*/*/.engine/*/projects/*/*.jsonl"))
    assert sessions
    places = {
        "the program's environment": seen,
        "the commands' environment": left,
        **{f"request {n}": f"{one.text}{one.headers}" for n, one in enumerate(model.requests)},
        **{str(path): path.read_bytes().decode("latin-1") for path in _files(base.root, home)},
    }
    assert {str(path) for path in sessions} <= places.keys()
    for place, content in places.items():
        for secret in secrets:
            assert secret not in content, f"{secret} is in {place}"
    assert json.loads(Path(base.sessions_file).read_text()) == []


def _files(*roots: str | Path) -> list[Path]:
    found = (Path(at, name) for root in roots for at, _, names in os.walk(root) for name in names)
    return [path for path in found if path.is_file() and not path.is_symlink()]
