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
    work = (
        "git rev-parse HEAD > head.txt; env > left.txt; echo three >> a.txt; git commit -qam More"
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
            _has_none_of((TOKEN, JIRA, SLACK), base)


def told(base: BaseDir, task: str) -> str:
    sent = [load(base, "messages/sent", one) for one in files(base).get("messages/sent", [])]
    return "".join(
        one["content"]
        for one in sent
        if one.get("task_id") == task and one["type"] == "thread_update"
    )


def _has_none_of(secrets: tuple[str, ...], base: BaseDir) -> None:
    """In no file of the kingdom, the soldier's and the sessions' included."""
    for place, _, names in os.walk(base.root):
        for name in names:
            path = Path(place, name)
            if path.is_file() and not path.is_symlink():
                content = path.read_bytes()
                for secret in secrets:
                    assert secret.encode() not in content, f"{secret} is in {path}"
    assert json.loads(Path(base.sessions_file).read_text()) == []
