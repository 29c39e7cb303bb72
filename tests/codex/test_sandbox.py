"""What a soldier on the real program can touch, and what it cannot."""

from __future__ import annotations

import os
from pathlib import Path
from shlex import quote
from subprocess import Popen
from typing import Any

import pytest

from tests.codex.camp import TASK, Camp, Run
from tests.support.git_remotes import git
from tests.support.scripted_model import say
from tests.support.scripted_responses import command


def tried(camp: Camp, *commands: str, **changes: Any) -> tuple[Run, str]:
    """The run, and all that these commands printed; of one that the sandbox made fail the program
    tells nobody but the model."""
    run = camp.play(command("; ".join([*commands, "true"])), say("Done."), **changes)
    items = [line["item"] for line in run.lines if line["type"] == "item.completed"]
    return run, "".join(item.get("aggregated_output", "") for item in items)


def worktree(camp: Camp) -> Path:
    """The workspace as generals make it, with the first commit in the clone that it borrows from;
    the clone is its answer."""
    clone = Path(camp.base.workspace, "gen-pr", ".clones", "a.git")
    git(camp.home, "init", "-q", "--bare", str(clone))
    tree = git(clone, "mktree").strip()
    first = git(clone, "commit-tree", tree, "-m", "first").strip()
    git(camp.workspace, "init", "-q", "-b", TASK)
    (camp.workspace / ".git/objects/info/alternates").write_text(f"{clone}/objects\n", "utf-8")
    git(camp.workspace, "config", "user.name", "Soldier")
    git(camp.workspace, "config", "user.email", "soldier@example.com")
    git(camp.workspace, "reset", "-q", "--hard", first)
    return clone


def test_a_worktree_is_committed_in_and_nothing_beside_it_is_written(camp: Camp) -> None:
    clone = worktree(camp)
    guide = camp.workspace.parent / "AGENTS.md"
    _, printed = tried(
        camp,
        "echo hi > a.txt",
        "git add a.txt",
        "git commit -qm second",
        f"echo x > {quote(str(guide))}",
        f"touch {quote(str(clone / 'config'))}",
    )
    assert printed.count("Read-only file system") == 2
    assert git(camp.workspace, "log", "--format=%s", TASK).split() == ["second", "first"]
    assert not guide.exists()


def test_nobody_else_s_result_is_written(camp: Camp) -> None:
    order, other = camp.order(), camp.order()
    final = Path(camp.base.results, f"{TASK}.json")
    places = [quote(str(path)) for path in (other.result_path, final, order.heartbeat_path)]
    tries = "; ".join(f"echo x > {path}" for path in places)
    camp.model.says(command(f"{tries}; echo own > {quote(order.result_path)}"), say("Done."))
    camp.run(order)
    assert Path(order.result_path).read_text("utf-8") == "own\n"
    assert not Path(other.result_path).exists()
    assert not final.exists()
    assert Path(order.heartbeat_path).read_bytes() == b"", "it is touched, and not written to"


@pytest.mark.long
def test_a_git_directory_that_a_soldier_bent_leads_nowhere(camp: Camp) -> None:
    worktree(camp)
    elsewhere = camp.home / "elsewhere"
    (camp.workspace / ".git").rename(elsewhere)
    (camp.workspace / ".git").symlink_to(elsewhere)
    _, printed = tried(camp, f"touch {elsewhere}/x")
    assert "Read-only file system" in printed
    assert not (elsewhere / "x").exists()


@pytest.mark.long
def test_credentials_are_neither_seen_nor_passed_on(camp: Camp) -> None:
    planted = [
        ".ssh/id",
        ".netrc",
        ".config/gh/hosts.yml",
        ".docker/config.json",
        ".codex/auth.json",
    ]
    for name in planted:
        path = camp.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text('{"OPENAI_API_KEY": "PLANTED"}', "utf-8")
    (camp.home / ".profile").write_text("export TOKEN=PLANTED\n", "utf-8")
    environment = {**camp.order().environment, "OPENAI_API_KEY": "PLANTED"}
    run, printed = tried(
        camp, *(f"cat ~/{name}" for name in planted), "env", "cat /proc/*/environ",
        environment=environment,
    )  # fmt: skip
    assert printed.count("Permission denied") == len(planted)
    assert "PLANTED" not in printed
    logs = [Path(run.evidence.stdout_path), Path(run.evidence.stderr_path)]
    kept = [path for path in camp.home.rglob("*") if path.is_file()]
    named = {path for path in [*logs, *kept] if b"PLANTED" in path.read_bytes()}
    assert named == {camp.home / name for name in [*planted, ".profile"]}


def test_nobody_else_s_environment_is_read(camp: Camp) -> None:
    """Neither from the kernel nor from the specs that generals write."""
    spec = Path(camp.base.soldiers, "soldier-1-1.json")
    own = Path(camp.base.config, "local", "system.yaml")
    for path in (spec, own):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("PLANTED", "utf-8")
    with Popen(["sleep", "300"], env={**os.environ, "GH_TOKEN": "PLANTED"}) as other:
        files = (f"/proc/{other.pid}/environ", f"/proc/{other.pid}/task/{other.pid}/environ")
        _, printed = tried(
            camp, *(f"cat {quote(str(path))} 2>&1" for path in (spec, own, *files)), "echo END"
        )
        other.kill()
    assert "END" in printed
    assert "PLANTED" not in printed


@pytest.mark.long
def test_the_environment_of_the_order_is_passed_on(camp: Camp) -> None:
    environment = {**camp.order().environment, "KINGDOM_RESULT_PATH": "/the/path"}
    _, printed = tried(camp, "echo $KINGDOM_RESULT_PATH", environment=environment)
    assert "/the/path" in printed


@pytest.mark.long
def test_one_that_may_only_look_reports_all_the_same(camp: Camp) -> None:
    order = camp.order(tools=("Read", "Bash(git diff:*)"))
    result = quote(order.result_path)
    camp.model.says(command(f"echo x > a.txt; echo '{{}}' > {result}"), say("Done."))
    camp.run(order)
    assert not (camp.workspace / "a.txt").exists()
    assert Path(order.result_path).read_text("utf-8") == "{}\n"


CALL = "python3 -c 'import urllib.request as r; print(r.urlopen(\"{url}\"))' 2>&1 | tail -1"


@pytest.mark.long
@pytest.mark.parametrize(
    ("tools", "network", "reaches"),
    [
        (None, True, True),
        (("Bash",), True, True),
        (("Edit",), True, False),
        (None, False, False),
    ],
)
def test_the_network_is_for_those_who_may_run_anything(
    camp: Camp, tools: tuple[str, ...] | None, network: bool, reaches: bool
) -> None:
    camp.engine_with(network=network)
    _, printed = tried(camp, CALL.format(url=camp.model.url), tools=tools)
    assert ("404" in printed) == reaches  # the model's server has nothing there, and says so


@pytest.mark.long
def test_without_a_sandbox_everything_is_open(camp: Camp) -> None:
    camp.engine_with(sandboxed=False)
    tried(camp, f"echo x > {quote(str(camp.home / 'x'))}")
    assert (camp.home / "x").exists()


@pytest.mark.long
@pytest.mark.parametrize("tools", [None, ("Read", "WebSearch")])
def test_the_web_is_searched_only_by_those_who_may(
    camp: Camp, tools: tuple[str, ...] | None
) -> None:
    camp.engine_with(model="another")  # the default one's tools are in a text
    camp.play(say("Done."), tools=tools)
    assert (any(one["type"] == "web_search" for one in camp.model.requests[0].body["tools"])) == (
        tools is not None
    )
