"""`kingdom doctor` on machines that have what they need, and on those that lack something."""

from __future__ import annotations

import json
import os
import shutil
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from kingdom.clients.programs import ask
from kingdom.clock import SystemClock
from kingdom.engines.codex.engine import LIMITATIONS
from kingdom.engines.standing import LIMIT, LOGIN, Standings
from kingdom.ops.init import init
from kingdom.runtime import own_command
from kingdom.store.paths import BaseDir
from tests.support import programs
from tests.support.cli import NORMAL_USER, give_away, kingdom
from tests.support.full_disk import small_disk
from tests.support.waiting import eventually

CLAUDE = """
env > "$HOME/seen"
case "$*" in
  --version) echo "Warning: it is late."; echo "2.1.325 (Claude Code)" ;;
  "auth status") echo asked >> "$HOME/asked"; cat "$HOME/login" ;;
  *) exit 9 ;;
esac
"""
CODEX = """
case "$*" in
  --version) echo "codex-cli 0.166.0" ;;
  "login status") cat "$HOME/login" >&2; grep -q "Logged in" "$HOME/login" ;;
  *) exit 9 ;;
esac
"""
LOGGED_IN = {"claude": '{"loggedIn": true}', "codex": "Logged in using ChatGPT"}
LOGGED_OUT = {"claude": '{"loggedIn": false}', "codex": "Not logged in"}


class Machine:
    """A kingdom, and all programs that it can find."""

    def __init__(self, base: BaseDir, scratch: Path) -> None:
        self.base = base
        self.bin, self.home = scratch / "bin", scratch / "home"
        for place in (self.bin, self.home):
            place.mkdir()
        for name in ("git", "tmux", "bwrap", "sh", "env", "cat", "grep"):
            found = shutil.which(name)
            assert found is not None
            (self.bin / name).symlink_to(found)
        self.program("gh", "echo gh version 2.80.0")
        self.program("git-lfs", "true")
        self.program("claude", CLAUDE)
        self.says("claude", LOGGED_IN)

    def program(self, name: str, script: str) -> None:
        path = self.bin / name
        path.write_text(f"#!{shutil.which('sh')}\n{script}\n", "utf-8")
        path.chmod(0o755)

    def lose(self, name: str) -> None:
        (self.bin / name).unlink()

    def says(self, engine: str, login: dict[str, str]) -> None:
        (self.home / "login").write_text(login[engine])

    def configure(self, content: str) -> None:
        Path(self.base.config, "local", "system.yaml").write_text(content, "utf-8")

    def env(self, **more: str) -> dict[str, str]:
        return {"PATH": str(self.bin), "HOME": str(self.home), **more}

    def examine(self, **more: str) -> tuple[int, list[dict[str, Any]]]:
        said = kingdom("doctor", "--json", base=self.base, env=self.env(**more))
        found = json.loads(said.out)
        assert found["healthy"] is (said.code == 0)
        assert said.err == ""
        return said.code, found["checks"]

    def of(self, what: str, **more: str) -> list[tuple[str, str]]:
        return [(one["state"], one["sentence"]) for one in self.examine(**more)[1]
                if one["what"] == what]  # fmt: skip


@pytest.fixture
def machine(scratch: Path) -> Machine:
    base = BaseDir(scratch / "realm")
    init(base)
    return Machine(base, scratch)


def tree(root: str) -> dict[str, float]:
    return {path: os.stat(path).st_mtime_ns for at, _, names in os.walk(root)
            for path in (at, *(os.path.join(at, name) for name in names))}  # fmt: skip


def test_a_machine_that_has_all_is_told_so_and_nothing_is_changed(machine: Machine) -> None:
    before = tree(machine.base.root)
    said = kingdom("doctor", base=machine.base, env=machine.env())
    assert (said.code, said.err, said.lines[-1]) == (0, "", "Nothing is missing."), said.out
    assert {line.split()[0] for line in said.lines[:-1]} == {"ok"}
    named = [name for line in said.lines[:-1] if (name := line.split()[1]) != "user"]  # root is
    assert named[:7] == ["python", "limits", "git", "tmux", "bubblewrap", "gh", "settings"]
    assert [name for name in named if name.startswith("gen-")] == sorted(
        os.listdir(machine.base.path("config", "generals"))
    )
    assert any("2.1.325 (Claude Code)" in line for line in said.lines)
    assert tree(machine.base.root) == before


@pytest.mark.parametrize(
    ("program", "state", "what"),
    [
        ("git", "problem", "git"),
        ("tmux", "problem", "tmux"),
        ("gh", "warning", "gh"),
        ("git-lfs", "warning", "git-lfs"),
        ("claude", "problem", "claude"),
    ],
)
def test_what_is_missing_is_said_with_what_to_do(
    machine: Machine, program: str, state: str, what: str
) -> None:
    machine.lose(program)
    code, found = machine.examine()
    (wrong,) = [one for one in found if one["state"] != "ok"]
    assert (wrong["state"], wrong["what"]) == (state, what)
    assert "not installed" in wrong["sentence"]
    assert "nstall" in wrong["remedy"]
    assert code == (1 if state == "problem" else 0)
    said = kingdom("doctor", base=machine.base, env=machine.env())
    assert said.lines[-1] == f"1 {state}."
    at = next(n for n, line in enumerate(said.lines) if line.startswith(state))
    assert wrong["remedy"] == said.lines[at + 1].strip()


def test_a_git_that_is_too_old_and_a_tmux_that_does_not_work(machine: Machine) -> None:
    for name in ("git", "tmux"):
        machine.lose(name)
    machine.program("git", "echo git version 2.20.1")
    machine.program("tmux", "echo no terminfo; exit 1")
    assert machine.of("git") == [("problem", "2.20.1 is too old.")]
    assert machine.of("tmux") == [("problem", "It does not work: no terminfo.")]


def test_a_token_does_for_gh(machine: Machine) -> None:
    machine.lose("gh")
    assert machine.of("gh", GH_TOKEN="x" * 20)[0][0] == "ok"


# The engine in use


@pytest.mark.parametrize("engine", ["claude", "codex"])
def test_an_engine_that_is_not_logged_in_is_a_problem(machine: Machine, engine: str) -> None:
    machine.program("codex", CODEX)
    machine.configure(f"runtime: {{engine: {engine}}}")
    machine.says(engine, LOGGED_IN)
    assert ("ok", "It is logged in.") in machine.of(engine)
    machine.says(engine, LOGGED_OUT)
    code, found = machine.examine()
    wrong = [one for one in found if one["what"] == engine and one["state"] != "ok"]
    assert [one["sentence"] for one in wrong] == ["It is not logged in."]
    assert "Log in with" in wrong[0]["remedy"]
    assert code == 1
    (machine.home / "login").write_text("What?")
    assert ("warning", "Whether it is logged in cannot be told.") in machine.of(engine)


@pytest.mark.parametrize(
    ("engine", "variable"), [("claude", "ANTHROPIC_API_KEY"), ("codex", "CODEX_API_KEY")]
)
def test_a_key_in_the_environment_does_and_is_not_shown(
    machine: Machine, engine: str, variable: str
) -> None:
    machine.program("codex", CODEX)
    machine.configure(f"runtime: {{engine: {engine}}}")
    machine.says(engine, LOGGED_OUT)
    code, found = machine.examine(**{variable: "sk-very-secret-words"})
    assert code == 0
    assert any(variable in one["sentence"] for one in found)
    assert "secret" not in json.dumps(found)
    assert (machine.home / "asked").exists() is (engine == "codex"), "claude is asked if need be"


def test_the_program_sees_what_soldiers_would_see(machine: Machine) -> None:
    machine.examine(GH_TOKEN="x" * 20, ANTHROPIC_BASE_URL="http://127.0.0.1:1", OTHER="1")
    seen = (machine.home / "seen").read_text()
    assert "ANTHROPIC_BASE_URL" in seen
    assert "DISABLE_AUTOUPDATER" in seen
    assert "GH_TOKEN" not in seen
    assert "OTHER" not in seen


def test_each_general_with_a_home_of_its_own_needs_a_login_there(machine: Machine) -> None:
    machine.configure("runtime: {claude: {home: general}}")
    os.makedirs(machine.base.path("state", "engines", "claude", "gen-pr"))
    found = machine.of("claude")
    assert ("ok", "It is logged in for gen-pr.") in found
    assert ("problem", "It is not logged in for gen-jira.") in found
    assert not os.path.exists(machine.base.path("state", "engines", "claude", "gen-jira"))


def test_what_codex_cannot_do_is_told_where_it_is_installed(machine: Machine) -> None:
    assert machine.of("codex") == []
    machine.program("codex", CODEX)
    machine.says("claude", LOGGED_IN)
    code, found = machine.examine()
    told = [one["sentence"] for one in found if one["what"] == "codex"]
    assert all(f"To know: {limitation}" in told for limitation in LIMITATIONS)
    assert "Whether it is logged in cannot be told. It is not in use." in told
    assert code == 0, "it is not in use"


@pytest.mark.parametrize(("code", "state"), [(LIMIT, "warning"), (LOGIN, "problem")])
def test_an_engine_that_rests_is_told_of(machine: Machine, code: str, state: str) -> None:
    now = SystemClock().now()
    until = now + timedelta(hours=1)
    Standings(machine.base).note_fault("claude", code, "Because.", until, now)
    (rests,) = [one for one in machine.of("claude") if "until" in one[1]]
    assert rests[0] == state
    assert rests[1].endswith("Z: Because.")


def test_other_engines_say_what_they_are(machine: Machine) -> None:
    machine.configure("runtime: {engine: rehearsal}")
    assert machine.of("rehearsal")[0][0] == "warning"
    machine.configure("runtime: {engine: command, command: {argv: [no-such-program]}}")
    assert machine.of("command")[0][0] == "problem"
    machine.configure("runtime: {engine: command, command: {argv: [git]}}")
    assert machine.of("command") == [("ok", "git is there.")]


# The kingdom itself


def test_wrong_settings_and_packages_are_all_named(machine: Machine) -> None:
    machine.configure("runtim: {engine: codex}")
    general = Path(machine.base.path("config", "generals", "gen-pr"))
    (general / "manifest.yaml").write_text("name: gen-pr\ntimeout_seconds: soon\nfoo: 1\n")
    (general / "prompt.md").write_text("{{NO}}")
    code, found = machine.examine()
    wrong = [one for one in found if one["state"] == "problem"]
    assert code == 1
    assert wrong[0]["what"] == "settings"
    assert "`runtim` is not a setting" in wrong[0]["sentence"]
    of_general = [one["sentence"] for one in wrong if one["what"] == "gen-pr"]
    assert len(of_general) >= 3
    assert any("manifest.yaml:2" in sentence for sentence in of_general)
    assert [one["state"] for one in found if one["what"] == "gen-test"] == ["ok"]


def test_a_general_that_does_not_work_with_the_engine_is_told_of(machine: Machine) -> None:
    path = Path(machine.base.path("config", "generals", "gen-pr", "manifest.yaml"))
    manifest = yaml.safe_load(path.read_text()) | {"supported_engines": ["codex"]}
    path.write_text(yaml.safe_dump(manifest))
    assert machine.of("gen-pr") == [
        ("warning", "It does not work with claude, so its tasks fail."),
    ]


def test_a_disk_that_is_almost_full_and_one_that_is(machine: Machine, scratch: Path) -> None:
    with small_disk(scratch / "disk", 8) as place:
        init(BaseDir(place / "realm"))
        machine.base = BaseDir(place / "realm")
        assert machine.of("disk")[0][0] == "warning"
        with suppress(OSError), (place / "filler").open("wb", 0) as file:
            while file.write(b"x" * 65536):
                continue
        assert machine.of("disk")[0][0] == "problem"


def test_without_a_kingdom_the_machine_is_looked_at_all_the_same(machine: Machine) -> None:
    said = kingdom("doctor", "--base-dir", "/nowhere", env=machine.env())
    assert said.code == 1
    assert [line.split()[1] for line in said.lines if line.startswith("problem")] == ["directory"]
    assert any(line.startswith("ok       tmux") for line in said.lines)


def test_a_directory_that_may_not_be_written_to_is_a_problem(machine: Machine) -> None:
    give_away(machine.base.root)
    os.chmod(machine.base.path("logs"), 0o555)
    for path in (machine.home.parent, machine.base.root, machine.home):
        os.chmod(path, 0o777)
    said = kingdom("doctor", base=machine.base, env=machine.env(), command=NORMAL_USER)
    assert said.code == 1
    assert f"{machine.base.path('logs')} is not a directory that this user may write to" in said.out


def test_files_of_another_version_are_told_of(machine: Machine) -> None:
    Path(machine.base.format_file).write_text("7\n")
    assert machine.of("files")[0][0] == "problem"


# Programs


def test_a_program_that_hangs_is_ended_with_all_it_started(machine: Machine) -> None:
    machine.program("sleep", f"exec {shutil.which('sleep')} 1000")
    machine.program("hang", "sleep & echo $! > $HOME/pid; sleep")
    code, said = ask([str(machine.bin / "hang")], machine.env(), seconds=0.5)
    assert (code, said) == (None, "it took longer than 0.5 seconds")
    pid = (machine.home / "pid").read_text().strip()
    eventually(lambda: not Path(f"/proc/{pid}").exists(), "its child has ended")


def test_the_real_claude_is_understood(machine: Machine) -> None:
    machine.lose("claude")
    (machine.bin / "claude").symlink_to(programs.new_claude())
    assert ("problem", "It is not logged in.") in machine.of("claude")
    assert any("2.1.325 (Claude Code)" in sentence for _, sentence in machine.of("claude"))


def test_the_real_codex_is_understood(machine: Machine) -> None:
    machine.configure(f"runtime: {{engine: codex, codex: {{command: {programs.codex()}}}}}")
    node = shutil.which("node")
    assert node is not None
    (machine.bin / "node").symlink_to(node)
    found = machine.of("codex")
    assert ("problem", "It is not logged in.") in found
    assert any("codex-cli 0.166.0" in sentence for _, sentence in found)
    auth = machine.home / ".codex" / "auth.json"
    auth.parent.mkdir(exist_ok=True)
    auth.write_text('{"OPENAI_API_KEY": "sk-abcdefghijklmnop"}')
    assert ("ok", "It is logged in.") in machine.of("codex")


def test_a_command_that_soldiers_ask_and_that_does_not_work_is_told(machine: Machine) -> None:
    def complaints() -> list[str]:
        return [said for state, said in machine.of("kingdom") if state == "warning"]

    own_command.on_path(machine.base, {})
    assert complaints() == []
    Path(own_command.path_of(machine.base)).write_text("#!/nonexistent/python\n", "utf-8")
    (complaint,) = complaints()
    assert "gen-briefing and gen-herald ask does not work" in complaint
