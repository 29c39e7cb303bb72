"""`start`, `stop`, `restart`, `status`, `logs`, `run` and `attach` as a newcomer types them, also
twice and in the wrong order; with the real roles."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from kingdom.clock import SystemClock, isoformat
from kingdom.ops.stopping import running
from kingdom.runtime.processes import Seat
from kingdom.store import disk
from kingdom.store.paths import BaseDir
from tests.support.cli import kingdom, one_sentence
from tests.support.puppets import (
    ended_afterwards,
    eventually,
    found_kingdom,
    is_alive,
    pid_of,
    spawn,
)

ALL = ["chamberlain", "sentinel", "envoy", "king", "gen-a"]


@pytest.fixture(autouse=True)
def kingdom_here(base: BaseDir) -> Iterator[None]:
    found_kingdom(base, "gen-a")
    with ended_afterwards(base):
        yield


def status(base: BaseDir) -> dict[str, Any]:
    said = kingdom("status", "--json", base=base)
    assert said.code == 0, said
    found: dict[str, Any] = json.loads(said.out)
    return found


def test_start_says_what_runs_and_a_second_one_says_who_runs_already(base: BaseDir) -> None:
    said = kingdom("start", base=base)
    assert said.code == 0, said
    assert said.out == f"Running (pid {pid_of(base)}): {', '.join(ALL)}.\n"
    assert said.err == ""
    again = one_sentence(kingdom("start", base=base), 1)
    assert f"(pid {pid_of(base)}) runs already" in again


def test_stop_names_what_it_ended_and_is_done_with_it_the_second_time(base: BaseDir) -> None:
    assert kingdom("stop", base=base).out == "Nothing runs here.\n"
    kingdom("start", base=base)
    pids = [pid_of(base, name) for name in (*ALL, "warden")]
    said = kingdom("stop", base=base)
    assert (said.code, said.out) == (0, f"Ended: warden, {', '.join(reversed(ALL))}.\n")
    assert not any(map(is_alive, pids))
    assert kingdom("stop", base=base).out == "Nothing runs here.\n"


def test_restart_of_what_does_not_run_is_a_start(base: BaseDir) -> None:
    said = kingdom("restart", base=base)
    assert (said.code, said.err) == (0, "")
    assert said.out == f"Running (pid {pid_of(base)}): {', '.join(ALL)}.\n"


def test_stop_ends_roles_that_run_without_a_warden(base: BaseDir) -> None:
    with spawn("run", "king", base=base) as king:
        eventually(lambda: Seat(base, "king").last_beat() is not None)
        assert kingdom("stop", base=base).out == "Ended: king.\n"
        assert king.wait() == 0


def test_without_an_engine_start_says_so_and_runs(base: BaseDir) -> None:
    Path(base.path("config", "system.yaml")).write_text("durability: fast\n")
    said = kingdom("start", base=base)
    assert said.code == 0
    assert "Events will wait: " in said.err
    engine = status(base)["engine"]
    assert (engine["name"], engine["available"]) == ("claude", False)
    assert engine["remedy"]
    assert "not available" in kingdom("status", base=base).out


def test_a_wrong_configuration_refuses_to_start_with_one_sentence(base: BaseDir) -> None:
    Path(base.path("config", "king.yaml")).write_text("concurency: {}\n")
    assert "concurency" in one_sentence(kingdom("start", base=base), 2)
    assert not running(base)
    found = status(base)
    assert "concurency" in found["config_problem"]
    assert found["engine"] is None
    assert "config     " in kingdom("status", base=base).out


def test_a_wrong_configuration_does_not_cost_the_kingdom_that_runs(base: BaseDir) -> None:
    kingdom("start", base=base)
    before = {name: pid_of(base, name) for name in (*ALL, "warden")}
    Path(base.path("config", "king.yaml")).write_text("concurency: {}\n")
    one_sentence(kingdom("restart", base=base), 2)
    assert {name: pid_of(base, name) for name in before} == before
    assert "the last good one is in force" in kingdom("status", base=base).out


def test_a_role_that_cannot_start_is_explained_by_its_last_lines(base: BaseDir) -> None:
    Path(base.path("state", "king")).write_text("not a directory")
    said = kingdom("start", base=base)
    assert said.code == 1
    assert said.out == f"Running (pid {pid_of(base)}): chamberlain, sentinel, envoy, gen-a.\n"
    first, *lines = said.err.splitlines()
    assert first == (
        "kingdom: king did not start: exit code 1. It is tried again; see: kingdom status"
    )
    assert lines[0].startswith("    [")
    assert "role.failed" in lines[0]
    assert f"{base.path('state', 'king', 'lock')}: Not a directory." in lines[0]
    king = next(one for one in status(base)["roles"] if one["name"] == "king")
    assert king["last_end"] == "exit code 1"


def test_unknown_roles_are_refused_with_a_suggestion(base: BaseDir) -> None:
    for words in (["start", "--roles", "king,gen-b"], ["run", "gen-b"], ["restart", "gen-b"]):
        sentence = one_sentence(kingdom(*words, base=base), 2)
        assert sentence == "'gen-b' is not a role of this kingdom. Did you mean: gen-a"


@pytest.mark.parametrize("roles", ["king", "chamberlain,king"])
def test_without_a_chamberlain_no_old_measurement_keeps_work_out(base: BaseDir, roles: str) -> None:
    measured = Path(base.resources_file)
    old = {"health": "green", "updated_at": "2026-02-07T10:00:00.000Z"}
    measured.write_text(json.dumps(old))
    said = kingdom("start", "--roles", roles, base=base)
    assert said.code == 0, said
    is_measured = "chamberlain" in roles
    assert measured.exists() is is_measured
    assert ("add chamberlain to --roles" in said.out) is not is_measured


def test_start_with_some_roles_and_restart_with_the_same(base: BaseDir) -> None:
    kingdom("start", "--roles", "king, gen-a", base=base)
    assert [one["name"] for one in status(base)["roles"]] == ["king", "gen-a"]
    said = kingdom("restart", base=base)
    assert said.code == 0, said
    assert [one["name"] for one in status(base)["roles"]] == ["king", "gen-a"]
    refusal = one_sentence(kingdom("restart", "envoy", base=base), 1)
    assert "not among the roles that were started" in refusal


def test_what_is_said_is_said_once_and_not_to_the_log(base: BaseDir) -> None:
    assert kingdom("start", base=base).code == 0
    said = kingdom("restart", base=base)  # into a file, so it is written when the program pleases
    (ended,) = [line for line in said.lines if line.startswith("Ended: ")]
    assert len(said.lines) == len(set(said.lines))
    assert ended not in Path(base.path("logs", "warden.log")).read_text()


def test_restart_of_one_role_says_its_new_pid(base: BaseDir) -> None:
    one_sentence(kingdom("restart", "king", base=base), 1)
    kingdom("start", base=base)
    before = pid_of(base, "king")
    said = kingdom("restart", "king", base=base)
    assert said.out == f"king runs anew (pid {pid_of(base, 'king')}).\n"
    assert pid_of(base, "king") != before


def test_run_is_one_role_in_the_foreground_until_it_is_asked_to_end(base: BaseDir) -> None:
    with spawn("run", "gen-a", base=base) as general:
        eventually(lambda: Seat(base, "gen-a").last_beat() is not None)
        assert pid_of(base, "gen-a") == general.pid
        refusal = one_sentence(kingdom("run", "gen-a", base=base), 1)
        assert f"(pid {general.pid}) runs already" in refusal
        general.send_signal(signal.SIGTERM)
        _, said = general.communicate()
    assert general.returncode == 0
    assert json.loads(said.splitlines()[-1])["event"] == "role.stopped"


def test_start_in_the_foreground_ends_with_a_signal(base: BaseDir) -> None:
    with spawn("start", "--foreground", base=base) as warden:
        eventually(lambda: all(Seat(base, name).last_beat() is not None for name in ALL))
        assert pid_of(base) == warden.pid
        warden.send_signal(signal.SIGINT)
        warden.communicate()
    assert warden.returncode == 0
    assert not running(base)


def test_status_of_a_running_and_of_a_stopped_kingdom(base: BaseDir) -> None:
    stopped = kingdom("status", base=base)
    assert stopped.lines[0] == f"{base.root}: not running. Start it with: kingdom start"
    assert status(base)["warden"] is None
    kingdom("start", base=base)
    found = status(base)
    assert [one["name"] for one in found["roles"]] == ALL
    assert {one["state"] for one in found["roles"]} == {"up"}
    assert found["warden"]["pid"] == pid_of(base)
    assert found["engine"]["available"]
    assert found["frozen"] == {"all": False, "tasks": []}
    shown = kingdom("status", base=base)
    assert f"running (warden pid {pid_of(base)}" in shown.lines[0]
    assert [line.split()[0] for line in shown.lines[2:7]] == ALL


def test_status_tells_what_waits_what_is_frozen_and_what_is_asked(base: BaseDir) -> None:
    kingdom("send", "test.nobody", base=base)
    disk.make_directory(base.path("state", "control"))
    disk.make_directory(base.path("state", "envoy"))
    disk.touch(base.path("state", "control", "all.freeze"))
    disk.touch(base.path("state", "control", "task-20260207-001.freeze"))
    question = {
        "msg_id": "msg-20260207-001", "question": "Shall it?", "asked_at": "2026-02-07T10:00:00Z",
        "channel": "console", "thread_ts": "task-20260207-002",
    }  # fmt: skip
    asked = {"task-20260207-002": question}
    Path(base.path("state", "envoy", "awaiting-responses.json")).write_text(json.dumps(asked))
    Path(base.path("state", "sessions.json")).write_text(
        '[{"id": "soldier-1-1", "task_id": "task-20260207-001", "general": "gen-a", '
        '"state": "frozen"}]'
    )
    shown = kingdom("status", base=base).out
    assert "frozen     everything; go on with: kingdom thaw\n" in shown
    assert "frozen     task-20260207-001" in shown
    assert "queues     1 event pending" in shown
    assert "soldiers   none at work" in shown  # nobody keeps that one: it has ended
    assert 'kingdom answer task-20260207-002 "..."' in shown


@pytest.mark.parametrize("content", ["", "[", "null", "{}", "[1]"])
def test_status_survives_damaged_state(base: BaseDir, content: str) -> None:
    os.makedirs(base.path("state", "envoy"))
    for name in ("sessions.json", "envoy/awaiting-responses.json"):
        Path(base.path("state", name)).write_text(content)
    found = status(base)
    assert (found["soldiers"], found["questions"]) == ([], [])


def test_status_shows_a_role_that_died_and_is_waited_for(base: BaseDir) -> None:
    kingdom("start", base=base)
    os.kill(pid_of(base, "king"), signal.SIGKILL)

    def told() -> dict[str, Any]:
        return next(one for one in status(base)["roles"] if one["name"] == "king")

    eventually(lambda: told()["last_end"] == "killed by SIGKILL")
    eventually(lambda: told()["state"] == "up" and told()["restarts"] == 1)


def test_logs_of_everything_of_a_role_and_of_nothing(base: BaseDir) -> None:
    nothing = kingdom("logs", base=base)
    assert (nothing.code, nothing.out) == (0, "")
    kingdom("start", base=base)
    kingdom("stop", base=base)
    whole = kingdom("logs", base=base).out
    assert "[warden] warden.started" in whole
    mine = kingdom("logs", "king", "-n", "2", base=base).lines
    assert len(mine) == 2
    assert "[king] role.stopped" in mine[-1]
    refusal = one_sentence(kingdom("logs", "kong", base=base), 1)
    assert refusal.startswith("There is no role, soldier, task or log 'kong'.")


def test_logs_of_a_soldier_are_what_it_said(base: BaseDir) -> None:
    for place in ("state/soldiers", "logs/sessions"):
        os.makedirs(base.path(place))
    Path(base.path("state", "soldiers", "soldier-1-1.json")).write_text('{"task_id": "task-1"}')
    Path(base.path("logs", "sessions", "soldier-1-1.json")).write_text("said\n")
    Path(base.path("logs", "sessions", "soldier-1-1.err")).write_text("complained\n")
    assert kingdom("logs", "soldier-1-1", base=base).lines == ["complained", "said"]
    Path(base.logs, "sessions", "soldier-1-1.json").write_text("its token is ghp_planted0001\n")
    assert "its token is ***" in kingdom("logs", "soldier-1-1", base=base).lines
    one_sentence(kingdom("logs", "soldier-2-2", base=base), 1)


def test_logs_followed_over_a_rotation(base: BaseDir) -> None:
    log = base.system_log
    disk.append_line(log, b"before\n")
    with spawn("logs", "-f", "-n", "0", base=base) as follower:
        assert follower.stdout is not None
        # It begins at the end: what is written until it looks is repeated until it shows.
        eventually(lambda: _written_and_shown(log, follower))
        os.rename(log, f"{log}.1")
        disk.append_line(log, b"after the rotation\n")
        lines = iter(follower.stdout.readline, "")
        assert next(line for line in lines if "again" not in line) == "after the rotation\n"
        follower.send_signal(signal.SIGINT)
        follower.communicate()
    assert follower.returncode == 130


def _written_and_shown(log: str, follower: Any) -> bool:
    import select

    disk.append_line(log, b"again\n")
    return bool(select.select([follower.stdout], [], [], 0.3)[0])


def test_following_ends_when_nobody_reads_any_more(base: BaseDir) -> None:
    disk.append_line(base.system_log, b"before\n")
    with spawn("logs", "-f", base=base) as follower:
        assert follower.stdout is not None
        assert follower.stdout.readline() == "before\n"
        follower.stdout.close()
        assert follower.wait(timeout=20) == 141
        assert follower.stderr is not None
        assert follower.stderr.read() == ""


def test_attach_to_nobody_is_one_sentence(base: BaseDir) -> None:
    assert "There is no soldier soldier-9-9." in one_sentence(
        kingdom("attach", "soldier-9-9", base=base), 1
    )
    assert one_sentence(kingdom("attach", "task-20260207-001", base=base), 1).startswith(
        "There is no task or soldier task-20260207-001."
    )


@pytest.mark.parametrize("verb", ["cancel", "retry", "freeze", "thaw"])
def test_a_command_about_an_unknown_task_is_refused_and_nothing_is_sent(
    base: BaseDir, verb: str
) -> None:
    said = one_sentence(kingdom(verb, "task-20260207-001", base=base), 1)
    assert said.startswith("There is no task or soldier task-20260207-001.")
    assert kingdom("queue", "ls", base=base).out == "The queues are empty.\n"


def test_a_command_without_a_king_waits_for_one(base: BaseDir) -> None:
    said = kingdom("freeze", base=base)
    assert (said.code, said.out) == (0, "")
    assert "waits for the king, who does not run" in said.err
    kingdom("start", base=base)
    eventually(lambda: status(base)["frozen"]["all"])
    thawed = kingdom("thaw", base=base)
    assert thawed.code == 0
    assert thawed.out
    assert not status(base)["frozen"]["all"]


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["restart", ""], set(ALL)),
        (["run", "gen"], {"gen-a"}),
        (["logs", "co"], {"console"}),
        (["start", "--roles", "k"], {"king"}),
    ],
)
def test_roles_are_completed(base: BaseDir, words: list[str], offered: set[str]) -> None:
    said = kingdom("complete", "--", "--base-dir", base.root, *words)
    assert {line.split("\t")[0] for line in said.lines} == offered


# Soldiers at work


def entry(**fields: Any) -> dict[str, Any]:
    since = isoformat(SystemClock().now() - timedelta(minutes=12, seconds=30))
    return {
        "id": "soldier-1-1", "task_id": "task-20260207-001", "general": "gen-a", "attempt": 1,
        "state": "running", "started_at": since, **fields,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        ({}, "gen-a, for 12m"),
        ({"doing": "Edit: 한글.py (turn 5)"}, "gen-a, for 12m: Edit: 한글.py (turn 5)"),
        ({"attempt": 2, "state": "frozen"}, "gen-a (frozen), for 12m, attempt 2"),
        ({"started_at": "yesterday"}, "gen-a"),
        ({"doing": "Bash: \x1b[2J\nqueues"}, "gen-a, for 12m: Bash: \\u001b[2J\\u000aqueues"),
    ],
)
def test_status_tells_since_when_a_soldier_is_at_it_and_what_it_does(
    base: BaseDir, fields: dict[str, Any], line: str
) -> None:
    seat = Seat(base, "gen-a").take()
    Path(base.sessions_file).write_text(json.dumps([entry(**fields)]))
    shown = kingdom("status", base=base).lines
    seat.close()
    assert f"soldier    soldier-1-1 for task-20260207-001, {line}" in shown
