"""The warden with real processes and real signals, over roles that do what a test tells them."""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kingdom.ops.restarting import restart_role
from kingdom.ops.starting import start
from kingdom.ops.status import status
from kingdom.ops.stopping import running, stop
from kingdom.runtime.detaching import detached
from kingdom.runtime.processes import START_NOW, AlreadyRuns, Seat
from kingdom.runtime.warden import Warden
from kingdom.store.paths import BaseDir
from tests.support.cli import environment
from tests.support.processes import is_alive
from tests.support.puppets import (
    add_general,
    ended_afterwards,
    found_kingdom,
    looks,
    order,
    pid_of,
    start_puppets,
    story,
    suite,
    until_up,
)
from tests.support.waiting import eventually

ALL = ["envoy", "king", "gen-a", "gen-b"]


@pytest.fixture(autouse=True)
def kingdom_here(base: BaseDir, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Its warden goes round often; at its own pace it does in `test_journeys.py`."""
    monkeypatch.setattr("kingdom.runtime.warden.LONGEST_PAUSE", 0.05)
    found_kingdom(base, "gen-a", "gen-b")
    with ended_afterwards(base):
        yield


@pytest.fixture
def soon_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Roles are started again, or try again, without much of a pause."""
    monkeypatch.setattr("kingdom.runtime.restarts.FIRST_DELAY", 0.1)
    monkeypatch.setattr("kingdom.runtime.role.FIRST_PAUSE", 0.1)


def internal_events(base: BaseDir) -> list[dict[str, Any]]:
    path = Path(base.events_log)
    return [json.loads(line) for line in path.read_text().splitlines() if line]


def restarted(base: BaseDir) -> list[str]:
    return [
        one["data"]["target"]
        for one in internal_events(base)
        if one["type"] == "recovery.session_restarted"
    ]


def names(base: BaseDir) -> list[str]:
    return [seat.name for seat in running(base)]


def test_start_comes_back_when_every_role_has_a_heartbeat(base: BaseDir) -> None:
    started = start_puppets(base)
    assert sorted(started.up) == sorted(ALL)
    assert started.pid == pid_of(base)
    assert all(Seat(base, name).last_beat() is not None for name in ALL)
    assert {pid_of(base, name) for name in ALL}.isdisjoint({started.pid, os.getpid()})


def test_they_stop_in_reverse_order_and_after_their_step(base: BaseDir) -> None:
    start_puppets(base)
    pids = [pid_of(base, name) for name in [*ALL, "warden"]]
    stopped = stop(base)
    assert set(stopped.ended) == {*ALL, "warden"}
    assert stopped.killed == []
    ends = [line.split()[0] for line in story(base) if line.endswith(" stop")]
    assert sorted(ends[:2]) == ["gen-a", "gen-b"]
    assert ends[2:] == ["king", "envoy"]
    assert not any(map(is_alive, pids))
    assert not [name for name in os.listdir(base.path("state", "king")) if name != "lock"]


@pytest.mark.provokes("system.startup", "system.shutdown")
def test_startup_and_shutdown_are_told_once(base: BaseDir) -> None:
    start_puppets(base)
    stop(base)
    told = [(one["type"], one["actor"]) for one in internal_events(base)]
    assert told == [("system.startup", "system"), ("system.shutdown", "system")]
    assert internal_events(base)[1]["data"] == {"reason": "SIGTERM"}


def test_a_second_start_is_refused_with_the_first_one_s_pid(base: BaseDir) -> None:
    pid = start_puppets(base).pid
    with pytest.raises(AlreadyRuns, match=f"pid {pid}"):
        start_puppets(base)
    assert pid_of(base) == pid


def test_stopping_what_does_not_run_is_no_error_and_twice_neither(base: BaseDir) -> None:
    assert stop(base).ended == []
    start_puppets(base)
    stop(base)
    assert stop(base).ended == []


@pytest.mark.usefixtures("soon_again")
@pytest.mark.parametrize("name", ["king", "gen-b"])
def test_a_killed_role_is_started_again_and_that_is_told(base: BaseDir, name: str) -> None:
    start_puppets(base)
    before = pid_of(base, name)
    others = {one: pid_of(base, one) for one in ALL if one != name}
    os.kill(before, signal.SIGKILL)
    eventually(lambda: Seat(base, name).holder() not in (None, before), f"another {name}")
    until_up(base, name)
    eventually(lambda: restarted(base) == [name], "its restart is told")
    assert internal_events(base)[-1]["data"]["pid"] == pid_of(base, name)
    assert internal_events(base)[-1]["actor"] == "warden"
    assert {one: pid_of(base, one) for one in others} == others


def test_roles_of_a_killed_warden_end_by_themselves_in_order(base: BaseDir) -> None:
    pids = [pid_of(base, name) for name in start_puppets(base).up]
    os.kill(pid_of(base), signal.SIGKILL)
    eventually(lambda: not any(map(is_alive, pids)), "all have ended")
    assert sorted(line.split()[0] for line in story(base) if line.endswith("stop")) == sorted(ALL)


def test_after_a_killed_warden_a_new_start_works_at_once(base: BaseDir) -> None:
    start_puppets(base)
    before = {name: pid_of(base, name) for name in ALL}
    os.kill(pid_of(base), signal.SIGKILL)
    started = start_puppets(base)
    assert sorted(started.up) == sorted(ALL)
    assert not any(is_alive(pid) for pid in before.values())


def kill_all(base: BaseDir) -> None:
    """At once: a role whose warden is gone would end in order."""
    for pid in [pid_of(base, name) for name in (*ALL, "warden")]:
        os.kill(pid, signal.SIGKILL)


def test_everything_killed_at_once_leaves_nothing_that_a_start_minds(base: BaseDir) -> None:
    start_puppets(base)
    kill_all(base)
    assert sorted(start_puppets(base).up) == sorted(ALL)


def test_a_heartbeat_of_a_former_life_does_not_pass_for_a_new_one(base: BaseDir) -> None:
    start_puppets(base)
    kill_all(base)
    eventually(lambda: not running(base), "no role runs")
    assert Seat(base, "king").last_beat() is not None
    order(base, "king", "crash")
    started = start_puppets(base)
    assert "king" in started.failed


def test_a_role_that_cannot_start_is_reported_and_the_others_run(base: BaseDir) -> None:
    order(base, "king", "crash")
    started = start_puppets(base)
    assert started.failed == {"king": "exit code 1"}
    assert sorted(started.up) == ["envoy", "gen-a", "gen-b"]
    assert "told to crash" in Path(base.system_log).read_text()


@pytest.mark.usefixtures("soon_again")
def test_a_role_that_could_not_start_is_tried_again(base: BaseDir) -> None:
    order(base, "king", "crash")
    start_puppets(base)
    order(base, "king", "")
    until_up(base, "king")
    assert "king" in restarted(base)


def test_one_role_can_be_restarted(base: BaseDir) -> None:
    start_puppets(base)
    before = {name: pid_of(base, name) for name in ALL}
    fresh = restart_role(base, "king")
    assert fresh == pid_of(base, "king") != before["king"]
    assert "king stop" in story(base)
    assert {name: pid_of(base, name) for name in ALL} == before | {"king": fresh}


def test_restarting_a_role_does_not_wait_for_its_backoff(
    base: BaseDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kingdom.runtime.restarts.FIRST_DELAY", 300.0)
    order(base, "king", "crash")
    start_puppets(base)
    assert "again_in=300.0" in Path(base.system_log).read_text()
    order(base, "king", "")
    restart_role(base, "king")
    assert "king stop" not in story(base)


def test_only_the_roles_asked_for_are_started(base: BaseDir) -> None:
    assert start_puppets(base, "king", "gen-b").up == ["king", "gen-b"]
    assert names(base) == ["king", "gen-b"]


def test_general_stands_for_all_generals(base: BaseDir) -> None:
    start_puppets(base, "general")
    assert names(base) == ["gen-a", "gen-b"]


def test_a_general_added_to_the_configuration_is_started(base: BaseDir) -> None:
    start_puppets(base)
    add_general(base, "gen-c")
    until_up(base, "gen-c")
    assert restarted(base) == []


def test_a_general_taken_out_of_the_configuration_is_stopped(base: BaseDir) -> None:
    start_puppets(base)
    os.rename(base.path("config", "generals", "gen-a"), base.path("gone"))
    eventually(lambda: not Seat(base, "gen-a").is_taken(), "gen-a has ended")
    assert "gen-a stop" in story(base)
    assert names(base) == ["envoy", "king", "gen-b"]


def take_out_a_busy_general(base: BaseDir) -> None:
    entries = [{"id": "soldier-1-1", "general": "gen-a"}]
    Path(base.sessions_file).write_text(json.dumps(entries))
    os.rename(base.path("config", "generals", "gen-a"), base.path("gone"))
    eventually(
        lambda: "role_removed target=gen-a" in Path(base.system_log).read_text(), "its removal"
    )


@pytest.mark.parametrize("then", ["[]", '[{"general": "gen-b"}, 1]', "{", '"gen-a"'])
def test_a_general_taken_out_stays_while_soldiers_of_its_are_listed(
    base: BaseDir, then: str
) -> None:
    start_puppets(base)
    take_out_a_busy_general(base)
    looks(base, 5)
    assert Seat(base, "gen-a").is_taken()
    Path(base.sessions_file).write_text(then)
    eventually(lambda: not Seat(base, "gen-a").is_taken(), "gen-a has ended")
    assert names(base) == ["envoy", "king", "gen-b"]


def test_a_general_that_dies_without_its_package_is_not_restarted_and_that_is_told(
    base: BaseDir,
) -> None:
    start_puppets(base)
    take_out_a_busy_general(base)
    os.kill(pid_of(base, "gen-a"), signal.SIGKILL)
    log = Path(base.system_log)
    eventually(lambda: "role_not_restarted target=gen-a" in log.read_text(), "that is told")
    os.rename(base.path("gone"), base.path("config", "generals", "gen-a"))
    until_up(base, "gen-a")


@pytest.mark.usefixtures("soon_again")
def test_a_role_killed_while_the_configuration_is_wrong_gets_the_last_good_one(
    base: BaseDir,
) -> None:
    start_puppets(base)
    Path(base.path("config", "king.yaml")).write_text("nonsense: 1\n")
    before = pid_of(base, "king")
    os.kill(before, signal.SIGKILL)
    eventually(lambda: Seat(base, "king").holder() not in (None, before), "another king")
    until_up(base, "king")


@pytest.mark.usefixtures("soon_again")
def test_a_role_whose_disk_is_full_pauses_and_goes_on(base: BaseDir) -> None:
    order(base, "king", "busy")
    started = start(base, suite(base), environment())
    assert "king" in started.up
    pid = pid_of(base, "king")
    assert "role.paused" in Path(base.system_log).read_text()
    order(base, "king", "")
    steps = story(base).count("king step")
    eventually(lambda: story(base).count("king step") > steps, "another step")
    assert pid_of(base, "king") == pid


def test_a_role_that_someone_runs_already_fails_with_that_one_s_pid(base: BaseDir) -> None:
    other = os.fork()
    if other == 0:
        Seat(base, "king").take()
        while True:
            signal.pause()
    eventually(lambda: Seat(base, "king").holder() == other, "someone has the seat")
    impatient(base, "king")
    log = Path(base.system_log)
    eventually(lambda: log.exists() and "role.failed" in log.read_text(), "it failed")
    assert f"The king of {base.root} (pid {other}) runs already." in log.read_text()
    assert stop(base).ended == ["king", "warden"]
    os.waitpid(other, 0)


def impatient(base: BaseDir, *only: str) -> None:
    """A warden that does not wait long for anybody, in the background."""
    warden = Warden(base, suite(base, *only), environment(), patience=0.2)
    detached(warden.run, base.path("logs", "warden.log"))
    until_up(base, "warden")


def test_a_role_that_does_not_end_when_asked_is_killed(base: BaseDir) -> None:
    order(base, "gen-a", "hang")
    impatient(base)
    eventually(lambda: "gen-a step" in story(base), "gen-a hangs in its step")
    until_up(base, "king")
    pid = pid_of(base, "gen-a")
    os.kill(pid_of(base), signal.SIGTERM)
    eventually(lambda: not running(base) and not Seat(base, "warden").is_taken(), "all have ended")
    assert not is_alive(pid)
    text = Path(base.system_log).read_text()
    assert f"error: warden.role_killed target=gen-a pid={pid}" in text
    assert "king stop" in story(base)


def test_asked_twice_it_does_not_wait_for_anyone(base: BaseDir) -> None:
    order(base, "king", "hang")
    start_puppets_without_waiting(base)
    eventually(lambda: {"king step", "gen-a step"} <= set(story(base)), "both are at work")
    warden = pid_of(base)
    os.kill(warden, signal.SIGTERM)
    eventually(lambda: "gen-a stop" in story(base), "gen-a has ended")
    os.kill(warden, signal.SIGINT)
    eventually(lambda: not running(base), "no role runs")


def start_puppets_without_waiting(base: BaseDir) -> None:
    warden = Warden(base, suite(base), environment(), patience=300)
    detached(warden.run, base.path("logs", "warden.log"))
    until_up(base, "warden")


def test_everything_ends_when_the_base_directory_is_removed(base: BaseDir) -> None:
    pids = [start_puppets(base).pid, *(pid_of(base, name) for name in ALL)]
    shutil.rmtree(base.root)
    eventually(lambda: not any(map(is_alive, pids)), "all have ended")
    assert not os.path.exists(base.root)


def test_a_crash_loop_is_told_in_the_log_and_to_whoever_asks(base: BaseDir) -> None:
    order(base, "king", "crash")
    start_puppets(base)
    log = Path(base.system_log)
    for _ in range(6):
        ends = log.read_text().count("role_ended target=king")
        os.kill(pid_of(base), START_NOW)
        eventually(
            lambda ends=ends: log.read_text().count("role_ended target=king") > ends, "one more"
        )
    assert "error: warden.crash_loop target=king" in log.read_text()
    told = {one["name"]: one for one in status(base, environment())["roles"]}
    assert told["king"]["crash_loop"]
    assert told["king"]["state"] == "down"
    assert told["king"]["last_end"] == "exit code 1"
    assert told["envoy"]["state"] == "up"
