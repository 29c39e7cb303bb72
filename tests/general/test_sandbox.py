"""What a soldier in its sandbox sees and reaches: real bubblewrap, and a script that tries."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.barracks import Barracks, environment

pytestmark = pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is missing")

SECRET = "planted-secret-of-nobody"
REPORT = """
printf '{"task_id": "%s", "status": "success", "summary": "%s"}' "$KINGDOM_TASK_ID" "${1:-done}" \\
  > "$KINGDOM_RESULT_PATH"
"""


def run(barracks: Barracks, script: str, *, trust: str = "member", **manifest: Any) -> Path:
    """Where the soldier worked, after it reported success."""
    barracks.command(f"{script}\n{REPORT}")
    sandboxed(barracks)
    barracks.package(**manifest)
    (task,) = barracks.publish(trust=trust)
    barracks.clock.shift(1)  # soldiers of one process are told apart by the second
    home = Path(barracks.base.root, "home")
    plant(home)
    with barracks.general(env=environment(HOME=str(home), PLANTED=SECRET)) as life:
        life.until(lambda: barracks.task(task)[0] == "completed", "it has ended")
    result = barracks.result(task)
    assert result is not None
    assert result["status"] == "success", result
    return Path(barracks.base.workspace, "gen-pr", task)


def sandboxed(barracks: Barracks, isolation: str = "auto") -> None:
    path = Path(barracks.base.config, "system.yaml")
    path.write_text(path.read_text().replace("isolation: 'off'", f"isolation: {isolation}"))
    assert f"isolation: {isolation}" in path.read_text()


def plant(home: Path) -> None:
    for name in (".ssh/id_rsa", ".claude/.credentials.json", ".profile", ".config/gh/hosts.yml"):
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(SECRET)


def test_nothing_of_the_owner_s_is_there(barracks: Barracks) -> None:
    base = barracks.base
    for name in (
        "config/local/notes",
        "state/other",
        "memory/generals/gen-x/a.md",
        "queue/x.json",
    ):
        Path(base.path(name)).parent.mkdir(parents=True, exist_ok=True)
        Path(base.path(name)).write_text(SECRET)
    other = Path(base.workspace, "gen-pr", "task-20260207-777", "repo")
    other.mkdir(parents=True)
    (other / "a.txt").write_text(SECRET)
    script = f"""
    grep -rs '{SECRET[:-1]}[y]' / --exclude-dir=proc --exclude-dir=sys --exclude-dir=usr > found.txt
    ls -A "$HOME" > home.txt
    ls /proc | grep -c '^[0-9]' > processes.txt
    env > env.txt
    cat /proc/*/environ | tr '\\0' '\\n' >> env.txt
    ls -A {base.root} > base.txt; ls -A {base.path("state")} > state.txt
    touch {base.path("queue")}/forged {base.path("config")}/forged "$HOME"/.profile 2> /dev/null
    ls /tmp /run > sockets.txt
    """
    place = run(barracks, script)
    assert (place / "found.txt").read_text() == ""
    assert (place / "home.txt").read_text() == ""
    assert int((place / "processes.txt").read_text()) < 10
    assert SECRET not in (place / "env.txt").read_text()
    assert set((place / "base.txt").read_text().split()) <= {"act", "state", "workspace", "home"}
    assert set((place / "state.txt").read_text().split()) <= {"bin", "prompts", "results"}
    assert not Path(base.path("queue", "forged")).exists()
    assert not Path(base.path("config", "forged")).exists()
    assert Path(base.root, "home", ".profile").read_text() == SECRET
    assert "tmux" not in (place / "sockets.txt").read_text()


def test_its_own_place_is_as_outside_and_nothing_runs_after_it(barracks: Barracks) -> None:
    place = run(
        barracks,
        """
        pwd > pwd.txt; touch "$KINGDOM_HEARTBEAT_PATH"; cat "$KINGDOM_PROMPT_PATH" > prompt.txt
        setsid sleep 1000 < /dev/null > /dev/null 2>&1 &
        """,
        verify=["test -s pwd.txt", f"! test -e {barracks.base.config}"],
    )
    assert (place / "pwd.txt").read_text().strip() == str(place)
    assert (place / "prompt.txt").read_text().startswith("Do task-")


def test_there_is_no_network_but_what_the_manifest_names(
    barracks: Barracks, tmp_path: Path
) -> None:
    script = """
    : > reached.txt
    for port in 22 80 443 8118; do
      (exec 3<>/dev/tcp/127.0.0.1/$port) 2>/dev/null && echo $port >> reached.txt
    done
    cat /proc/net/dev | tail -n +3 | cut -d: -f1 | tr -d ' ' > interfaces.txt
    """
    place = run(barracks, f"bash <<'END'\n{script}\nEND", permissions={"network": "engine"})
    assert (place / "reached.txt").read_text() == ""
    assert (place / "interfaces.txt").read_text().split() == ["lo"]


def test_what_the_manifest_adds_is_there(barracks: Barracks, tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "hammer").write_text("#!/bin/sh\necho hammered\n")
    (tools / "hammer").chmod(0o755)
    sandbox = {"read": [str(tools), "/nowhere"], "cache": ["~/.cache/pip"]}
    script = f"{tools}/hammer > out.txt; touch {tools}/x 2> /dev/null || echo no >> out.txt; "
    script += 'echo 1 >> "$HOME/.cache/pip/kept"; cp "$HOME/.cache/pip/kept" kept.txt'
    first = run(barracks, script, sandbox=sandbox)
    assert (first / "out.txt").read_text() == "hammered\nno\n"
    assert not Path(barracks.base.root, "home", ".cache", "pip", "kept").exists()
    assert (run(barracks, script, sandbox=sandbox) / "kept.txt").read_text() == "1\n1\n"
    fork = run(barracks, script, sandbox=sandbox, trust="fork")
    assert (fork / "kept.txt").read_text() == "1\n"


def test_without_bubblewrap_a_program_of_one_s_own_waits_for_it(barracks: Barracks) -> None:
    barracks.command(REPORT)
    sandboxed(barracks)
    barracks.package()
    (task,) = barracks.publish()
    path = os.pathsep.join(one for one in os.environ["PATH"].split(os.pathsep))
    bare = Path(barracks.base.root, "bin")
    bare.mkdir()
    for program in ("tmux", "sh", "git", "env"):
        (bare / program).symlink_to(shutil.which(program, path=path) or "")
    with barracks.general(env=environment(PATH=str(bare))) as life:
        life.until(lambda: barracks.task(task)[0] == "completed", "it has ended")
    result = barracks.result(task)
    assert result is not None
    assert "bubblewrap is not installed" in json.dumps(result)


def test_it_asks_the_kingdom_what_its_manifest_names_and_nothing_else(barracks: Barracks) -> None:
    script = """
    kingdom queue ls tasks --all > ls.txt 2>&1
    kingdom freeze > freeze.txt 2>&1; echo $? >> freeze.txt
    kingdom queue ls --base-dir /elsewhere > away.txt 2>&1; echo $? >> away.txt
    rm -rf "${KINGDOM_RESULT_PATH%/*}/asked" 2> /dev/null
    ln -s /etc "${KINGDOM_RESULT_PATH%/*}/answers" 2> /dev/null
    """
    Path(barracks.base.format_file).parent.mkdir(exist_ok=True)
    Path(barracks.base.format_file).write_text("1\n")
    place = run(barracks, script, permissions={"tools": ["Bash", "Bash(kingdom queue ls:*)"]})
    assert "task-20260207-001" in (place / "ls.txt").read_text()
    assert (place / "freeze.txt").read_text().startswith("Not allowed here")
    assert (place / "freeze.txt").read_text().endswith("\n2\n")
    assert (place / "away.txt").read_text().startswith("Not allowed here")


FORBIDDEN = (
    "echo 0 > /proc/sys/user/max_user_namespaces && "
    'exec setpriv --inh-caps=-all --ambient-caps=-all --bounding-set=-all "$@"'
)
PROBE = "import os, json; from kingdom.engines.sandbox.bubblewrap import probe; "
PROBE += "found = probe(os.environ); print(json.dumps([found.works, found.reason, found.remedy]))"


def test_a_machine_that_forbids_user_namespaces_is_noticed_with_the_command_that_allows_them() -> (
    None
):
    within = ["unshare", "--user", "--map-current-user", "--keep-caps", "sh", "-c", FORBIDDEN, "sh"]
    said = subprocess.run(
        [*within, sys.executable, "-c", PROBE], capture_output=True, text=True, check=True
    )
    works, reason, remedy = json.loads(said.stdout)
    assert not works
    assert reason.startswith("bubblewrap is refused by this machine: ")
    assert "user.max_user_namespaces" in remedy
