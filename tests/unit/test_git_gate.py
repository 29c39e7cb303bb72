"""Which lines a soldier may run that may run some commands, and as what."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest

from kingdom.engines.claude.shell import line
from kingdom.engines.claude.shell.gate import Gate
from kingdom.engines.claude.shell.rules import for_program, gate_for

LOOKING = tuple((("git", name)) for name in ("diff", "log", "show", "blame", "status", "grep"))


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    place = tmp_path / "a b" / "repo"
    (place / "sub").mkdir(parents=True)
    return place


def asked(gate: Gate, command: str, cwd: Path) -> dict[str, Any] | None:
    answer = gate.answer({"tool_input": {"command": command}, "cwd": str(cwd)})
    return None if answer is None else answer["hookSpecificOutput"]


def gate_of(workspace: Path, grants: tuple[tuple[str, ...], ...] = LOOKING) -> Gate:
    return Gate(str(workspace), "/repository", grants)


@pytest.mark.parametrize(
    "command",
    [
        "git diff origin/HEAD...HEAD",
        "git diff --stat main...HEAD -- sub/a.py '*.md'",
        "git log --oneline -20",
        "git log -p -3 -- a",
        "git log -n 5 --author 'Some One' --since=yesterday --format='%h %an: %s'",
        'git log -S "x = 1" -L10,20:a HEAD^ HEAD@{1}',
        "git show 0123abc:sub/a",
        "git blame -L 10,20 -w a",
        "git status -sb",
        "git grep -n -e 'a|b' HEAD~1",
        "git diff | head -20",
        "git log --oneline 2>/dev/null | grep -i fix | wc -l; echo ---; git status 2>&1",
        "git show HEAD:a | sed -n '10,20p' | cut -d, -f1,2",
        "cd sub && git diff ../a",
        "git \\\n  status",
        "git --no-pager log -3",
        'git grep -n "a\\.b"',
    ],
)
def test_what_reading_needs_is_run(workspace: Path, command: str) -> None:
    answer = asked(gate_of(workspace), command, workspace)
    assert answer is not None
    assert answer.get("permissionDecision") == "allow", answer


@pytest.mark.parametrize(
    "command",
    [
        "git diff --no-index a b",
        "git diff --no-ind a b",
        "git diff /dev/null /etc/passwd",
        "git diff a ../../x",
        "cd sub && git diff a ../../x",
        "cd .. && git diff",
        "cd sub; git diff ../x",
        "cd sub | git diff ../x",
        "true || cd sub && git diff",
        "git diff -O/etc/passwd",
        "git diff -pO/etc/passwd",
        "git diff --ext-diff",
        "git diff --textconv",
        "git diff --outpu=x",
        "git log --output x",
        "git log -n --output=x",
        "git log --since --output=x",
        "git blame --contents /etc/passwd a",
        "git blame --cont=/etc/passwd a",
        "git blame -S x a",
        "git blame --ignore-revs-file x a",
        "git grep -O x",
        "git grep -nOx x",
        "git grep --open-files-in-pager=x y",
        "git grep -f x",
        "git status --pathspec-from-file=x",
        "git -c diff.external=x diff",
        "git -C /tmp diff",
        "git --git-dir=x diff",
        "git --exec-path=x diff",
        "git --no-pager --paginate log",
        "git",
        "git diff > x",
        "git diff >> x",
        "git log --stdin < x",
        "git diff $X",
        'git diff "$(cat x)"',
        "git diff `cat x`",
        "git diff <(cat x)",
        "git diff &",
        "(git diff)",
        "git diff; touch x",
        "git diff | tee x",
        "git diff | sort -ox",
        "git diff | sed -i 1p",
        "git diff | sed -n '1w x'",
        "git diff | sed -n 1p x",
        "git diff | sed 1e",
        "git diff | uniq - x",
        "git diff | head x",
        "git diff | head 5",
        "git diff | head -n 5 6",
        "git diff | tail -5 +6",
        "git diff | sed -n 1p 2p",
        "git diff | sed 2p",
        "git diff | cut -f1 -d 5",
        "git diff | cat x",
        "git log --diff-merges=remerge -p",
        "git diff | grep -f x",
        "git diff | grep x /etc/passwd",
        "git diff | grep -r x",
        "git diff |& cat",
        "git diff || # x",
        "git diff 'x",
        "git add x",
    ],
)
def test_what_reads_writes_or_runs_anything_else_is_refused(workspace: Path, command: str) -> None:
    answer = asked(gate_of(workspace), command, workspace)
    assert answer is not None
    assert answer["permissionDecision"] == "deny"
    assert "You may run `git diff`, `git log`" in answer["permissionDecisionReason"]


@pytest.mark.parametrize(
    "command",
    [
        "git push",
        "git config -l",
        "X=1 git diff",
        "timeout 5 git log",
        "echo x | xargs git log",
        "/usr/bin/git log",
        "make legitimate",
        "grep -R x .",
        "find -L . -name x",
        "ps aux",
        "ls; cat x",
        "echo $HOME",
        "ls > x",
    ],
)
def test_what_no_rule_names_is_refused(workspace: Path, command: str) -> None:
    """By itself the program would run some of it."""
    answer = asked(gate_of(workspace), command, workspace)
    assert answer is not None
    assert answer["permissionDecision"] == "deny"


@pytest.mark.parametrize(
    ("command", "is_left"),
    [
        ("ls git", True),
        ("cd sub && pwd", True),
        ("kingdom status", True),
        ("kingdom status --json | head -20; kingdom queue ls 2>&1 | grep -c pending", True),
        ("make test", True),
        ("git fetch origin", True),
        ("kingdom answer x y", False),
        ("kingdom queue drop x", False),
        ("make", False),
        ("git push", False),
        ("kingdom why $HOME", False),
        ("kingdom why < x", False),
        ("kingdom status > x", False),
        ("kingdom status | xargs kingdom why", False),
        ("xargs kingdom why", False),
        ("kingdom status | tee x", False),
        ("kingdom status && git log", False),
    ],
)
def test_other_rules_are_the_program_s_for_lines_of_what_they_name(
    workspace: Path, command: str, is_left: bool
) -> None:
    names = (
        "kingdom status:*",
        "kingdom queue ls:*",
        "kingdom why *",
        "make 'test'",
        "git fetch:*",
    )
    gate = gate_for([f"Bash({one})" for one in names], str(workspace))
    assert gate is not None
    answer = asked(gate, command, workspace)
    if is_left:
        assert answer is None
    else:
        assert answer is not None
        assert answer["permissionDecision"] == "deny"
        assert "You may run `kingdom status:*`" in answer["permissionDecisionReason"]


def test_it_runs_as_it_was_read_on_this_repository_and_starts_nothing(workspace: Path) -> None:
    answer = asked(gate_of(workspace), "git diff *.py ~/x 'a  b' | head -3", workspace)
    assert answer is not None
    told = answer["updatedInput"]["command"]
    words = shlex.split(told)
    assert words[:3] == ["command", "git", "--no-pager"]
    assert "--git-dir=/repository" in words
    assert f"--work-tree={workspace.resolve()}" in words
    assert "core.fsmonitor=false" in words
    at = words.index("diff")
    assert words[at + 1 : at + 3] == ["--no-ext-diff", "--no-textconv"]
    assert words[at + 4 :] == ["*.py", "~/x", "a  b", "|", "head", "-3"]
    assert "'*.py' '~/x'" in told


def test_a_name_of_the_workspace_with_links_in_it_is_as_good(workspace: Path) -> None:
    link = workspace.parent / "link"
    link.symlink_to(workspace)
    answer = asked(gate_of(link), f"cd {shlex.quote(str(link))} && git diff", link)
    assert answer is not None
    assert answer["permissionDecision"] == "allow"
    answer = asked(gate_of(link), f"git diff {shlex.quote(str(link / 'a'))}", link)
    assert answer is not None
    assert answer["permissionDecision"] == "allow"


def test_a_link_within_the_workspace_leads_nowhere(workspace: Path) -> None:
    (workspace / "out").symlink_to("/")
    for command, cwd in (("cd out && git diff", workspace), ("git diff", workspace / "out")):
        answer = asked(gate_of(workspace), command, cwd)
        assert answer is not None
        assert answer["permissionDecision"] == "deny"


@pytest.mark.parametrize(
    ("command", "decision"),
    [
        ("git commit -m 'KEY-1: more\n\nof it'", "allow"),
        ("git commit -am x", "allow"),
        ("git commit --amend --no-edit", "allow"),
        ("git add -A && git commit -qm x", "allow"),
        ("git commit", "deny"),
        ("git commit --amend", "deny"),
        ("git commit -F /etc/passwd", "deny"),
        ("git commit -m x -F /etc/passwd", "deny"),
        ("git commit -m x -t y", "deny"),
        ("git add --pathspec-from-file=x", "deny"),
        ("git add -e", "deny"),
        ("git add -p", "deny"),
    ],
)
def test_commits_are_made_of_words_alone(workspace: Path, command: str, decision: str) -> None:
    gate = gate_of(workspace, (("git", "add"), ("git", "commit")))
    answer = asked(gate, command, workspace)
    assert answer is not None
    assert answer["permissionDecision"] == decision


def test_rules_of_git_are_kept_by_the_gate_and_all_others_by_the_program(workspace: Path) -> None:
    named = ["Read", "Bash(git log:*)", "Bash(git diff --stat *)", "Bash(git status)"]
    others = ["Bash(make test)", "Bash(git fetch:*)", "Bash(git fetch origin)"]
    gate = gate_for([*named, *others], str(workspace))
    assert gate is not None
    assert gate.grants == (("git", "log"), ("git", "diff", "--stat"))
    assert gate.whole == (("git", "status"),)
    assert gate.others == ("make test", "git fetch:*", "git fetch origin")
    assert gate.repository == ""
    assert for_program([*named, *others]) == ["Read", *others]


def test_one_rule_for_all_of_git_means_all_that_is_known(workspace: Path) -> None:
    for rule in ("Bash(git:*)", "Bash(git *)"):
        gate = gate_for([rule], str(workspace))
        assert gate is not None
        assert gate.grants == (("git",),)
        answer = asked(gate_of(workspace, gate.grants), "git push", workspace)
        assert answer is not None
        assert answer["permissionDecision"] == "deny"


@pytest.mark.parametrize(
    "tools", [None, ["Bash", "Bash(git log:*)"], ["Bash(*)", "Bash(git log:*)"], ["Read"]]
)
def test_there_is_none_for_those_who_may_run_everything_or_nothing(
    workspace: Path, tools: list[str] | None
) -> None:
    assert gate_for(tools, str(workspace)) is None


def test_a_line_said_anew_is_read_as_the_same() -> None:
    text = "git log 'a b' \"c \\\" d\" e\\ f 2>&1 | head -3 && echo 'x\ny'; git status"
    commands = line.read(text)
    assert commands[0].words == ["git", "log", "a b", 'c " d', "e f"]
    assert line.read(line.spelled(commands)) == commands
    assert line.read('git grep "a\\.b\\$"')[0].words == ["git", "grep", "a\\.b$"]


def test_no_shell_finds_anything_else_in_it() -> None:
    assert line.spelled(line.read("git diff =ls ~ a=~ *'x'")) == """git diff '=ls' '~' 'a=~' '*x'"""
