"""Completion, asked by real shells."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kingdom.bus.files.bus import FileBus
from kingdom.bus.port import Problem
from kingdom.cli.table import COMMANDS
from kingdom.models.schemas import SCHEMA_NAMES
from kingdom.ops.init import init
from kingdom.store.paths import BaseDir
from tests.support.cli import environment, kingdom
from tests.support.kingdom import event, task

Complete = Callable[[str], list[str]]

BASH = r"""
source <(kingdom completion bash)
COMP_LINE=$1 COMP_POINT=${#1} COMP_TYPE=9
_kingdom kingdom
(( ${#COMPREPLY[@]} == 0 )) || printf '%s\n' "${COMPREPLY[@]}"
"""
FISH = "kingdom completion fish | source; complete -C $argv[1]"
# Zsh completes only where someone types: a shell inside a pseudo-terminal, as its own tests do it.
ZSH = r"""
autoload -U compinit && compinit -C -d "$ZSH_DUMP"
source <(kingdom completion zsh)
compadd() { local -a given; given=("${@[$#]}"); print -l -- "${(@P)given}" >&3 }
words=("${(@z)1}"); [[ $1 == *' ' ]] && words+=("")
CURRENT=$#words
_kingdom 3>&1
"""


@pytest.fixture
def filled(base: BaseDir, bus: FileBus) -> BaseDir:
    init(base)
    bus.publish("events", event("1"), event("2", id="evt:with:colons"), event("dead"))
    bus.publish("tasks", task(1))
    (claim,) = bus.claim("events", "king", ids=["evt-test-dead"])
    bus.bury(claim, Problem("x", "y"))
    return base


@pytest.fixture(scope="module")
def zsh_dump(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What zsh knows of completing, found out once, as it does for a person."""
    path = str(tmp_path_factory.mktemp("zsh") / "dump")
    if shutil.which("zsh"):
        found = ["zsh", "-f", "-c", f"autoload -U compinit && compinit -u -d {path}"]
        subprocess.run(found, check=True, env=environment())
    return path


@pytest.fixture(params=["bash", "zsh", "fish"])
def complete(
    request: pytest.FixtureRequest, filled: BaseDir, tmp_path: Path, zsh_dump: str
) -> Complete:
    shell: str = request.param
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")
    program = tmp_path / "kingdom"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m kingdom "$@"\n')
    program.chmod(0o755)
    script, flags = {"bash": (BASH, ["--norc"]), "zsh": (ZSH, ["-f"]), "fish": (FISH, ["-N"])}[
        shell
    ]
    path = f"{tmp_path}:{os.environ['PATH']}"

    def ask(line: str) -> list[str]:
        last = [] if shell == "fish" else [shell]
        done = subprocess.run(
            [shell, *flags, "-c", script, *last, line], capture_output=True, text=True, check=True,
            cwd=filled.root, env=environment(PATH=path, HOME=str(tmp_path), ZSH_DUMP=zsh_dump),
        )  # fmt: skip
        return sorted(answer.partition("\t")[0] for answer in done.stdout.splitlines())

    return ask


def test_commands_options_and_names(complete: Complete) -> None:
    assert complete("kingdom ") == sorted(COMMANDS)
    assert complete("kingdom queue ") == ["drop", "ls", "retry", "show"]
    assert complete("kingdom queue ls --st") == ["--state"]


def test_ids_of_those_the_verb_is_for(complete: Complete) -> None:
    assert complete("kingdom queue retry ") == ["evt-test-dead"]
    assert complete("kingdom queue show evt-t") == ["evt-test-1", "evt-test-dead"]
    assert complete("kingdom queue drop task") == ["task-20260207-001"]


def test_an_id_with_colons(complete: Complete) -> None:
    found = complete("kingdom queue show evt:wi")
    assert found in (["evt:with:colons"], ["with:colons"])  # bash has taken `evt:` for a word


# What the shells ask


def ask(base: BaseDir, *words: str) -> list[str]:
    said = kingdom("complete", "--", *words, cwd=base.root)
    assert (said.code, said.err) == (0, "")
    return [line.partition("\t")[0] for line in said.lines]


@pytest.mark.parametrize(
    ("words", "answers"),
    [
        (["sen"], ["send", "sentinel"]),
        (["--"], ["--base-dir", "--help", "--version"]),
        (["--base-dir", ""], [":directories"]),
        (["queue", "ls", ""], ["events", "tasks", "messages", "results"]),
        (["queue", "ls", "--state", "d"], ["dispatched", "dead"]),
        (["queue", "ls", "--json", "ev"], ["events"]),
        (["queue", "ls", "events", ""], []),
        (["queue", "nonsense", ""], []),
        (["nonsense", ""], []),
        (["help", "qu"], ["queue"]),
        (["send", "slack.c"], ["slack.channel.message"]),
        (["send", "--file", ""], [":files"]),
        (["send", "--priority", ""], ["high", "normal", "low"]),
        (["restore", "x.tar.gz", ""], [":directories"]),
        (["completion", ""], ["bash", "zsh", "fish"]),
        (["schema", ""], list(SCHEMA_NAMES)),
        (["config", "system.time"], ["system.timezone"]),
        (["config", "king.p"], ["king.polling", "king.polling.interval_seconds"]),
    ],
    ids=str,
)  # fmt: skip
def test_each_word_has_its_candidates(
    filled: BaseDir, words: list[str], answers: list[str]
) -> None:
    assert ask(filled, *words) == answers


def test_the_base_directory_typed_is_the_one_asked(filled: BaseDir, tmp_path: Path) -> None:
    words = ("queue", "retry", "")
    assert ask(BaseDir(tmp_path), *words) == [], "no kingdom there, and no complaint either"
    assert ask(BaseDir(tmp_path), "--base-dir", filled.root, *words) == ["evt-test-dead"]
    assert ask(BaseDir(tmp_path), *words[:2], f"--base-dir={filled.root}", "") == ["evt-test-dead"]
