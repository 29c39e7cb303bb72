"""A soldier that may run some commands, with the program itself: what works and what does not.

The workspace has a git directory of its own, which borrows the objects of a clone, as generals make
them.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from kingdom.engines.claude.shell import asked
from tests.claude.camp import Camp
from tests.support.git_remotes import git
from tests.support.scripted_model import say, use

TOOLS = (
    "Read",
    *(f"Bash(git {name}:*)" for name in ("diff", "log", "show", "blame", "status", "grep")),
)
SECRET = "PLANTED-7153"  # no command says it


@pytest.fixture
def clone(camp: Camp) -> Path:
    """The bare one, from which the workspace borrows."""
    source, clone = camp.home / "source", Path(camp.base.workspace, "gen-pr", ".clones", "x.git")
    source.mkdir()
    git(source, "init", "-q", "-b", "main")
    for text in ("one\n", "two\n"):
        (source / "a").write_text(text * 30, "utf-8")
        _bare_repository_that_runs(source / "trap", f"touch {shlex.quote(str(trace(camp)))}")
        git(source, "add", ".")
        git(source, "commit", "-qm", f"Says {text}")
    clone.parent.mkdir()
    git(camp.home, "clone", "-q", "--bare", str(source), str(clone))
    git(camp.workspace, "init", "-q", "-b", "main", "--template=")
    own, head = camp.workspace / ".git", git(clone, "rev-parse", "main")
    (own / "objects/info").mkdir(exist_ok=True)
    (own / "objects/info/alternates").write_text(f"{clone}/objects\n", "utf-8")
    git(camp.workspace, "reset", "-q", "--hard", head)
    git(camp.workspace, "update-ref", "refs/remotes/origin/HEAD", "main~1")
    key = camp.home / ".ssh" / "id"
    key.parent.mkdir()
    key.write_text(f"{SECRET}\n", "utf-8")
    return clone


def _bare_repository_that_runs(place: Path, command: str) -> None:
    """As a pull request can bring one along; in it, git goes by its configuration."""
    for name in ("objects", "refs"):
        (place / name).mkdir(parents=True, exist_ok=True)
        (place / name / "kept").touch()
    (place / "HEAD").write_text("ref: refs/heads/main\n", "utf-8")
    config = f"[core]\n\tbare = false\n\tworktree = .\n\tfsmonitor = {json.dumps(command)}\n"
    (place / "config").write_text(config, "utf-8")


def trace(camp: Camp) -> Path:
    return camp.home / "trace"


def answers(
    camp: Camp, commands: Sequence[str], tools: tuple[str, ...] = TOOLS, **more: Any
) -> list[str]:
    """What the model is told of each."""
    camp.play(*(use("Bash", command=one) for one in commands), say("Hm."), tools=tools, **more)
    messages = json.loads(camp.model.requests[-1].text)["messages"]
    blocks = [one for it in messages if isinstance(it["content"], list) for one in it["content"]]
    return [str(one["content"]) for one in blocks if one["type"] == "tool_result"]


def test_what_a_review_needs_of_git_works(camp: Camp, clone: Path) -> None:
    head = git(clone, "rev-parse", "main")
    wanted = {
        "git diff origin/HEAD...HEAD": "-one",
        "git diff --stat origin/HEAD...HEAD -- a": "a | 60",
        "git log --oneline -20": "Says two",
        "git log -p -3 -- a | head -60": "+two",
        f"git show {head}": "+two",
        f"git show {head}:a": "two\ntwo",
        "git blame -L 10,20 a": "10) two",
        "cd trap && git status": "nothing to commit",
        "git status": "nothing to commit",
    }
    told = answers(camp, list(wanted))
    assert len(told) == len(wanted)
    for answer, (command, part) in zip(told, wanted.items(), strict=True):
        assert part in answer, f"{command}: {answer}"
    assert not trace(camp).exists()


def few_forms(camp: Camp, clone: Path) -> list[str]:
    key = shlex.quote(str(camp.home / ".ssh" / "id"))
    runs = f"format:[core]%nbare = true%n[diff]%nexternal = touch {trace(camp)}%n"
    config = shlex.quote(f"{camp.workspace}/.git/config")
    return [
        f"git blame --contents {key} a",
        f"git log -1 --format=format:x --output={camp.home}/made",
        f"git log -1 {shlex.quote('--format=' + runs)} --output={config}",
        "git diff HEAD~1 HEAD",
        f"git diff --no-index /dev/null {key}",
        f"git diff a {key}",
    ]


def all_forms(camp: Camp, clone: Path) -> list[str]:
    key, mark = str(camp.home / ".ssh" / "id"), trace(camp)
    source, made = camp.home / "source", camp.home / "made"
    return [
        *few_forms(camp, clone),
        f"git blame --cont {key} a",
        f"git blame -S {key} a",
        f"git blame --ignore-revs-file {key} a",
        f"git blame --ignore-revs-file={key} a",
        f"git log -1 --outp={made}",
        f"git show --output {made}",
        f"git diff HEAD~1 --output={made}",
        f"git diff -O{key} HEAD~1",
        f"git diff -pO{key} HEAD~1",
        "git diff --no-index /dev/null /proc/self/environ",
        f"git -c diff.external='touch {mark}' diff HEAD~1",
        f"git -c core.pager='touch {mark}' -p log",
        f"git -C {source} log -1",
        f"git --git-dir={source}/.git log -1",
        f"git --exec-path={camp.home} log",
        f"git grep -O'touch {mark}' two",
        f"git grep --open-files-in-pager='touch {mark}' two",
        f"git grep -nO'touch {mark}' two",
        f"git grep -f {key}",
        f"git grep --no-index PLAN {camp.home}/.ssh",
        f"git status --pathspec-from-file={key}",
        f"GIT_EXTERNAL_DIFF='touch {mark} #' git diff HEAD~1",
        f"GIT_PAGER='touch {mark}' git -p log",
        f"git log -1 --format=%n > {made}",
        f"git blame --contents=/dev/stdin a < {key}",
        f"git log --stdin < {key}",
        f"git diff $(cat {key})",
        f"git diff <(cat {key}) a",
        f"timeout 5 git blame --contents {key} a",
        f"nice git blame --contents {key} a",
        f"command git blame --contents {key} a",
        f"echo a | xargs git blame --contents {key}",
        f"if true; then git blame --contents {key} a; fi",
        f"/usr/bin/git blame --contents {key} a",
        f"'git' blame --contents {key} a",
        f"git blame --contents={key} a | head -3",
        f"cd {camp.home} && git diff --stat .ssh/id source/a",
        f"cd {source} && git log -1",
        f"git log -1 && touch {made}",
        f"git log -1 | tee {made}",
        f"git log -1 | sort -o{made}",
        f"git log -1 | head {key}",
        f"git archive --output={made} HEAD",
        f"git tag -F {key} x",
        f"git config --file {key} -l",
        f"git config diff.external 'touch {mark}'",
    ]


def leave_no_trace(camp: Camp, clone: Path, commands: list[str]) -> None:
    config = (camp.workspace / ".git/config").read_bytes()
    before = sorted(path.name for path in camp.home.iterdir())
    told = answers(camp, commands)
    assert len(told) == len(commands)
    assert SECRET not in "".join(request.text for request in camp.model.requests)
    # The program wraps what it says about its own.
    after = sorted(path.name for path in camp.home.iterdir() if ".claude" not in path.name)
    assert after == before
    assert (camp.workspace / ".git/config").read_bytes() == config
    assert git(camp.workspace, "status", "--porcelain") == ""
    refused = [one for one in told if re.search(r"Not allowed here|has been denied", one)]
    assert len(refused) == len(commands) - 1  # the plain diff among them


def test_options_that_read_write_or_run_something_are_refused(camp: Camp, clone: Path) -> None:
    leave_no_trace(camp, clone, few_forms(camp, clone))


@pytest.mark.long
def test_all_of_them_are(camp: Camp, clone: Path) -> None:
    leave_no_trace(camp, clone, all_forms(camp, clone))


@pytest.mark.long
def test_without_an_answer_from_the_gate_nothing_runs(
    camp: Camp, clone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = camp.home / "broken.py"
    broken.write_text("raise ValueError\n", "utf-8")
    for path in (broken, camp.home / "missing.py"):
        monkeypatch.setattr(asked, "__file__", str(path))
        told = answers(camp, ["git log -1 --format=%s", "cat a", "kingdom status"])
        assert not [one for one in told if re.search("Says two|^two|command not found", one)]


def test_what_no_rule_names_does_not_run_either(camp: Camp, clone: Path) -> None:
    """The program takes some of it for harmless, and finds no harm in links."""
    (camp.workspace / "link").symlink_to(camp.home / ".ssh" / "id")
    named = ("Read", *(f"Bash(kingdom {name}:*)" for name in ("status", "why")))
    commands = [
        "grep -R PLAN .",
        "grep -Rh PLAN . | head -3",
        "xargs kingdom why < link",
        "diff -r . trap",
        "du -a ~",
        "ps aux",
    ]
    for tools in (TOOLS, named):
        told = answers(camp, commands, tools)
        assert len(told) == len(commands)
        for one in told:
            assert "Not allowed here" in one
    assert SECRET not in "".join(request.text for request in camp.model.requests)


@pytest.mark.long
def test_what_git_goes_by_is_not_edited(camp: Camp, clone: Path) -> None:
    """By a soldier that may edit the workspace; an older program only asks that it be read."""
    pointer = camp.workspace / ".git/config"
    was = pointer.read_text("utf-8")
    camp.play(
        use("Read", file_path=str(pointer)),
        use("Write", file_path=str(pointer), content="[core]\n\tbare = true\n"),
        use("Write", file_path=str(camp.workspace / "sub" / ".git"), content="x"),
        use("Write", file_path=str(camp.workspace / "sub" / "inside"), content="x"),
        say("Hm."),
        tools=("Read", "Edit", "Write", "Bash(git status:*)"),
    )
    assert pointer.read_text("utf-8") == was
    assert [path.name for path in (camp.workspace / "sub").iterdir()] == ["inside"]


@pytest.mark.long
def test_drivers_that_a_user_configured_are_not_run_on_others_files(
    camp: Camp, clone: Path
) -> None:
    """Which of them, a repository says itself."""
    runs = f"touch {trace(camp)}"
    config = f'[diff "own"]\n\ttextconv = {runs}\n[diff]\n\texternal = {runs}\n'
    (camp.home / ".gitconfig").write_text(config, "utf-8")
    (camp.workspace / ".gitattributes").write_text("a diff=own\n", "utf-8")
    (camp.workspace / "a").write_text("three\n", "utf-8")
    commands = ["git diff", "git log -p -2", "git show", "git blame a", "git grep three"]
    told = answers(camp, commands)
    assert all("two" in one or "three" in one for one in told)
    assert not trace(camp).exists()


@pytest.mark.long
def test_commits_can_be_made_and_their_hooks_are_not(camp: Camp, clone: Path) -> None:
    hook = camp.workspace / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {trace(camp)}\n", "utf-8")
    hook.chmod(0o755)
    (camp.home / ".gitconfig").write_text("[user]\nname = x\nemail = x@example.org\n", "utf-8")
    (camp.workspace / "b").write_text("three\n", "utf-8")
    key = camp.home / ".ssh" / "id"
    commands = [
        "git add -A && git commit -qm 'KEY-1: three\n\nAnd why.'",
        f"git commit --allow-empty -F {key}",
        "git log -1 --format=%B",
    ]
    tools = ("Read", *(f"Bash(git {name}:*)" for name in ("add", "commit", "log")))
    told = answers(camp, commands, tools)
    assert "And why." in told[2]
    assert SECRET not in "".join(request.text for request in camp.model.requests)
    assert not trace(camp).exists()


@pytest.mark.long
def test_whoever_may_run_everything_is_not_asked(camp: Camp, clone: Path) -> None:
    tools = ("Read", "Bash", "Bash(git log:*)")
    (told,) = answers(
        camp, ["git log -1 --format=%s > made; X=1 git diff --no-index a made"], tools
    )
    assert "+Says two" in told
