"""How many soldiers at once, what they see, how long they are kept, and what a freeze stops."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path

from kingdom import __version__
from kingdom.engines.standing import LIMIT, Standings
from tests.support.barracks import Barracks, environment
from tests.support.processes import state_of
from tests.support.soldiers import REPORT, SPREAD, WAIT_FOR_GO, go, is_up
from tests.support.waiting import eventually


def test_no_more_soldiers_than_the_general_may_have(barracks: Barracks) -> None:
    barracks.command(WAIT_FOR_GO)
    barracks.package(max_soldiers=2)
    ids = barracks.publish(4)
    with barracks.general() as life:
        life.until(lambda: sum(bool(barracks.wrapper(id_)) for id_ in ids) == 2, "two soldiers")
        for _ in range(5):
            life.turn()
        assert [barracks.task(id_)[0] for id_ in ids].count("in_progress") == 2
        assert {one["task_id"] for one in barracks.sessions()} == set(ids[:2])
        go(barracks)
        life.until(lambda: all(map(barracks.result, ids)), "all results")


def test_no_more_soldiers_than_the_kingdom_may_have(barracks: Barracks) -> None:
    barracks.configure("king", concurrency={"max_soldiers": 3})
    barracks.command(WAIT_FOR_GO)
    names = ("gen-pr", "gen-test")
    ids = []
    for name in names:
        barracks.package(name)
        ids += barracks.publish(3, general=name)
    with ExitStack() as stack:
        lives = [stack.enter_context(barracks.general(name)) for name in names]

        def turn(_: float = 0.0) -> None:
            for life in lives:
                life.turn()

        def until(holds: Callable[[], bool], what: str) -> None:
            eventually(holds, what, meanwhile=turn)

        until(lambda: sum(bool(barracks.wrapper(id_)) for id_ in ids) == 3, "three soldiers")
        for _ in range(5):
            turn()
        assert len(barracks.sessions()) == 3
        assert [barracks.task(id_)[0] for id_ in ids].count("in_progress") == 3
        go(barracks)
        until(lambda: all(map(barracks.result, ids)), "all results")
        until(lambda: barracks.sessions() == [], "nobody is registered")


def test_a_general_without_its_package_begins_nothing_and_ends_what_it_began(
    barracks: Barracks,
) -> None:
    barracks.command(WAIT_FOR_GO)
    barracks.package()
    (first,) = barracks.publish()
    with barracks.general() as life:
        life.until(lambda: barracks.states() == ["running"], "a soldier")
        Path(barracks.base.config, "generals", "gen-pr").rename(Path(barracks.base.root, "kept"))
        life.until(lambda: "Its package was removed" in life.said.getvalue(), "it says so")
        (second,) = barracks.publish()
        go(barracks)
        life.until(lambda: barracks.result(first), "a result")
        life.until(lambda: barracks.sessions() == [], "nobody is registered")
        for _ in range(5):
            life.turn()
        assert barracks.task(second)[0] == "pending"
        Path(barracks.base.root, "kept").rename(Path(barracks.base.config, "generals", "gen-pr"))
        life.until(lambda: barracks.result(second), "its package is back")


def test_soldiers_of_a_general_that_is_gone_do_not_take_up_room_for_ever(
    barracks: Barracks,
) -> None:
    barracks.configure("king", concurrency={"max_soldiers": 1})
    barracks.package()
    Path(barracks.base.state).mkdir(parents=True)
    gone = {"id": "soldier-1-1", "general": "gen-old", "started_at": "2026-02-07T10:00:00.000Z"}
    Path(barracks.base.sessions_file).write_text(json.dumps([gone]), "utf-8")
    (id_,) = barracks.publish()
    with barracks.general() as life:
        life.until(lambda: barracks.result(id_), "a result")
    assert barracks.sessions() == [gone], "whose entry it is must remove it"


def test_the_registry_is_true_at_every_stage(barracks: Barracks) -> None:
    barracks.command(WAIT_FOR_GO)
    barracks.package()
    (id_,) = barracks.publish()
    states = []

    def look() -> str:
        found = barracks.sessions()
        states.append(found[0]["state"] if found else "none")
        return states[-1]

    with barracks.general() as life:
        life.until(lambda: look() == "running", "running")
        (entry,) = barracks.sessions()
        assert entry["id"] == barracks.soldier(id_)
        assert re.fullmatch(r"soldier-\d+-\d+", entry["id"])
        assert (entry["task_id"], entry["general"]) == (id_, "gen-pr")
        assert (entry["engine"], entry["attempt"]) == ("command", 1)
        assert entry["id"] in barracks.tmux().sessions()
        go(barracks)
        life.until(lambda: look() == "none", "none")
        assert barracks.result(id_)
    assert list(dict.fromkeys(states)) in (
        ["none", "starting", "running"],
        ["starting", "running", "none"],
        ["none", "starting", "running", "none"],
    )


def test_a_damaged_registry_is_made_anew(barracks: Barracks) -> None:
    barracks.package()
    Path(barracks.base.state).mkdir(parents=True)
    Path(barracks.base.sessions_file).write_text("", "utf-8")
    (id_,) = barracks.publish()
    with barracks.general() as life:
        life.until(lambda: barracks.result(id_), "a result")
        life.until(lambda: barracks.sessions() == [], "an array")


def test_a_lease_is_renewed_while_its_soldier_lives(barracks: Barracks) -> None:
    barracks.command(WAIT_FOR_GO, delivery={"tasks": {"lease_seconds": 0.6}})
    barracks.package()
    (id_,) = barracks.publish()

    def lease() -> str:
        return str(barracks.task(id_)[1]["delivery"].get("locked_until"))

    with barracks.general() as life:
        life.until(lambda: barracks.wrapper(id_), "a soldier")
        seen = {lease()}
        life.until(lambda: seen.add(lease()) or len(seen) > 4, "it is renewed again and again")
        go(barracks)
        life.until(lambda: barracks.result(id_), "a result")
    assert barracks.task(id_)[1]["delivery"]["crash_count"] == 0


def test_attempts_are_counted_and_wait_longer_each_time(barracks: Barracks) -> None:
    barracks.package(retry={"max_attempts": 3, "backoff_seconds": 0.2})
    (id_,) = barracks.publish(payload={"rehearsal": {"do": "fail"}})
    with barracks.general() as life:
        result = life.result_of(id_)
    assert (result["error_code"], result["metrics"]["attempts"]) == ("reported_failure", 3)
    assert result["error"] == "It was told to fail."
    assert [one["data"]["retry_count"] for one in barracks.events("task.retried")] == [1, 2]
    log = Path(barracks.base.tasks_log).read_text("utf-8")
    assert re.findall(r"again_in=(\S+)", log) == ["0.2", "0.4"]
    first, second, third = map(_moment, barracks.events("task.started"))
    assert second - first >= 0.2
    assert third - second >= 0.4
    assert len({one["data"]["soldier_id"] for one in barracks.events("soldier.spawned")}) == 3


def _moment(event: dict[str, str]) -> float:
    return datetime.fromisoformat(event["ts"]).replace(tzinfo=UTC).timestamp()


def test_a_frozen_soldier_stands_still_and_its_time_is_not_counted(barracks: Barracks) -> None:
    barracks.command(f"{SPREAD}touch up; {WAIT_FOR_GO}")
    barracks.package(timeout_seconds=30.0)
    (id_,) = barracks.publish()
    barracks.clock.shift(-31)
    with barracks.general() as life:
        life.until(lambda: is_up(barracks, id_), "the program runs")
        before, soldier = barracks.spec(id_)["deadline"], barracks.soldier(id_)
        barracks.ask(f"{id_}.freeze")

        def all_stopped() -> bool:
            return {state_of(pid) for pid in barracks.processes(soldier)} == {"T"}

        life.until(all_stopped, "every process is stopped")
        life.until(lambda: barracks.states() == ["frozen"], "it is shown as frozen")
        assert state_of(barracks.wrapper(id_)) != "T"
        go(barracks)
        barracks.clock.shift(31)
        for _ in range(5):
            life.turn()
        assert barracks.result(id_) is None
        assert barracks.states() == ["frozen"]
        barracks.ask(f"{id_}.freeze", gone=True)
        result = life.result_of(id_)
    assert result["status"] == "success"
    assert 0 <= result["metrics"]["duration_seconds"] < 30.0
    assert before > 0


def test_a_thaw_moves_the_wrapper_s_own_limit(barracks: Barracks) -> None:
    barracks.command("sleep 1000")
    barracks.package()
    (id_,) = barracks.publish()
    with barracks.general() as life:
        life.until(lambda: barracks.wrapper(id_), "a soldier")
        before = barracks.spec(id_)
        barracks.ask(f"{id_}.freeze")
        life.until(lambda: barracks.spec(id_)["frozen_at"] is not None, "frozen")
        barracks.ask(f"{id_}.freeze", gone=True)
        life.until(lambda: barracks.spec(id_)["frozen_at"] is None, "thawed")
    after = barracks.spec(id_)
    assert after["paused_seconds"] > 0
    assert abs(after["deadline"] - before["deadline"] - after["paused_seconds"]) < 0.001


def test_while_all_is_frozen_nothing_is_begun(barracks: Barracks) -> None:
    barracks.command(WAIT_FOR_GO)
    barracks.package()
    (running,) = barracks.publish()
    with barracks.general() as life:
        life.until(lambda: barracks.wrapper(running), "a soldier")
        barracks.ask("all.freeze")
        life.until(lambda: barracks.states() == ["frozen"], "frozen")
        (waiting,) = barracks.publish()
        go(barracks)
        for _ in range(5):
            life.turn()
        assert barracks.task(waiting)[0] == "pending"
        barracks.ask("all.freeze", gone=True)
        life.until(lambda: all(map(barracks.result, (running, waiting))), "both go on")


def test_while_all_is_frozen_an_engine_s_pause_that_ran_out_wakes_nobody(
    barracks: Barracks,
) -> None:
    barracks.package()
    now = barracks.clock.now()
    Standings(barracks.base).note_fault("rehearsal", LIMIT, "No.", now + timedelta(minutes=1), now)
    with barracks.general() as life:
        assert life.role.step() > 0
        barracks.ask("all.freeze")
        barracks.clock.shift(120)
        life.role.step()
        assert life.role.step() > 0


def test_a_frozen_task_that_waits_is_begun_when_it_is_thawed(barracks: Barracks) -> None:
    barracks.package()
    first, second = barracks.publish(2)
    barracks.ask(f"{first}.freeze")
    with barracks.general() as life:
        life.until(lambda: barracks.result(second), "the other one")
        assert (barracks.result(first), barracks.soldier(first)) == (None, "")
        barracks.ask(f"{first}.freeze", gone=True)
        life.until(lambda: barracks.result(first), "the thawed one")


def test_a_soldier_sees_only_what_it_may(barracks: Barracks) -> None:
    barracks.configure("sentinel", polling={"github": {"token_env": "OUR_TOKEN"}})
    barracks.command(f"env > seen; {WAIT_FOR_GO}")
    barracks.package(permissions={"env": ["AGENT_KEY", "OUR_TOKEN", "SLACK_BOT_TOKEN"]})
    (id_,) = barracks.publish()
    given = environment(
        OUR_TOKEN="ours", SLACK_BOT_TOKEN="ours", OTHER_SECRET="ours", AGENT_KEY="theirs", LC_X="1"
    )
    with barracks.general(env=given) as life:
        life.until(lambda: barracks.workspace(id_).joinpath("seen").exists(), "it looked")
        life.until(lambda: barracks.wrapper(id_), "a soldier")
        inherited = barracks.ask_tmux("show-environment", "-g")
        server = int(barracks.ask_tmux("display-message", "-p", "#{pid}"))
        wrapper = Path(f"/proc/{barracks.wrapper(id_)}/environ").read_bytes()
        held = Path(f"/proc/{server}/environ").read_bytes()
        go(barracks)
        life.until(lambda: barracks.result(id_), "a result")
    seen = dict(
        line.split("=", 1)
        for line in barracks.workspace(id_).joinpath("seen").read_text("utf-8").splitlines()
    )
    assert (seen["AGENT_KEY"], seen["LC_X"]) == ("theirs", "1")
    assert not seen.keys() & {"OUR_TOKEN", "SLACK_BOT_TOKEN", "OTHER_SECRET"}
    assert seen["KINGDOM_TASK_ID"] == id_
    assert seen["KINGDOM_WORKSPACE"] == seen["PWD"] == str(barracks.workspace(id_))
    assert seen["KINGDOM_PROMPT_PATH"] == f"{barracks.base.prompts}/{id_}.md"
    for text in (inherited.encode(), held, wrapper):
        assert b"ours" not in text
        assert b"theirs" not in text


def test_a_soldier_can_ask_the_kingdom_wherever_that_is_installed(barracks: Barracks) -> None:
    barracks.command("{ command -v kingdom; kingdom --version; } > seen 2>&1; " + REPORT)
    barracks.package()
    (id_,) = barracks.publish()
    with barracks.general(env=environment(PATH="/usr/local/bin:/usr/bin:/bin")) as life:
        life.until(lambda: barracks.result(id_), "a result")
    seen = barracks.workspace(id_).joinpath("seen").read_text("utf-8")
    found, version = seen.splitlines()
    assert found == f"{barracks.base.root}/state/bin/kingdom"
    assert version == f"kingdom {__version__}"


def test_fifty_soldiers_at_once(barracks: Barracks) -> None:
    barracks.command(WAIT_FOR_GO)
    barracks.package()
    ids = barracks.publish(50)
    with barracks.general() as life:
        life.until(lambda: all(map(barracks.wrapper, ids)), "all run at once", seconds=60)
        assert len(barracks.sessions()) == 50
        assert len(barracks.tmux().sessions()) == 50
        go(barracks)
        life.until(lambda: all(map(barracks.result, ids)), "all results", seconds=60)
        life.until(lambda: barracks.sessions() == [], "nobody is registered")
        assert life.longest_step < 5.0
    assert all(barracks.task(id_)[1]["status"] == "completed" for id_ in ids)
    assert barracks.leftovers() == []


def test_a_changed_manifest_is_in_force_without_a_restart(barracks: Barracks) -> None:
    barracks.command(WAIT_FOR_GO)
    barracks.package(max_soldiers=1)
    ids = barracks.publish(2)
    with barracks.general() as life:
        life.until(lambda: barracks.wrapper(ids[0]), "the first")
        barracks.package(max_soldiers=2)
        life.until(lambda: barracks.wrapper(ids[1]), "the second")
        manifest = Path(barracks.base.config, "generals", "gen-pr", "manifest.yaml")
        manifest.write_text("name: gen-pr\nunknown: 1\n", "utf-8")
        life.until(lambda: "config.refused" in life.said.getvalue(), "it is refused")
        go(barracks)
        life.until(lambda: all(map(barracks.result, ids)), "the last good one stays in force")
