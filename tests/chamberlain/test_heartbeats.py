"""A role that hangs is ended and comes back; one that does not is left alone, whatever the clocks
do. The roles are real processes; only the chamberlain's clock is moved by hand."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from kingdom.chamberlain.duty import Office
from kingdom.chamberlain.heartbeats import Heartbeats, is_a_service
from kingdom.runtime.processes import PATIENCE, Seat, roles_file
from kingdom.store.paths import BaseDir
from kingdom.store.state import write_json
from tests.support.cli import environment, kingdom
from tests.support.household import internal_events, office_in, said
from tests.support.kingdom import MovableClock
from tests.support.processes import forked_role, is_alive
from tests.support.puppets import ended_afterwards, found_kingdom, make, pid_of, until_up
from tests.support.waiting import eventually

THRESHOLD = 120.0


@pytest.fixture(autouse=True)
def kingdom_here(base: BaseDir, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Roles show life often, and are started again without much of a pause."""
    monkeypatch.setattr("kingdom.runtime.role.LONGEST_WAIT", 0.02)
    monkeypatch.setattr("kingdom.runtime.warden.LONGEST_PAUSE", 0.05)
    monkeypatch.setattr("kingdom.runtime.restarts.FIRST_DELAY", 0.1)
    found_kingdom(base, "gen-a")
    with ended_afterwards(base):
        yield


class Watch:
    """The duty, and time that goes by for it."""

    def __init__(self, office: Office, clock: MovableClock) -> None:
        self.base, self.clock, self.config = office.base, clock, office.setting.config
        self.duty = Heartbeats(office)
        self.duty.start()

    def go_on(self, seconds: float, *living: str) -> None:
        """With as many looks as it takes; these show life before each."""
        while seconds > 0:
            wait = min(self.duty.step(), seconds)
            self.clock.advance(wait)
            seconds -= wait
            for seat in (Seat(self.base, name) for name in living):
                beat = seat.last_beat()
                eventually(lambda seat=seat, beat=beat: seat.last_beat() != beat, "a heartbeat")
        self.duty.step()

    def told(self, type_: str) -> list[dict[str, Any]]:
        return [one["data"] for one in internal_events(self.base, type_)]

    def until_back(self, name: str, before: int) -> None:
        """Time stands still meanwhile: that the others show life is theirs to prove."""

        def is_back() -> bool:
            self.duty.step()
            return f"{name} shows life again." in said(self.base)

        eventually(is_back, f"{name} is back")
        assert pid_of(self.base, name) != before


@pytest.fixture
def watch(base: BaseDir, clock: MovableClock) -> Iterator[Watch]:
    with office_in(base, clock) as office:
        yield Watch(office, clock)


@contextmanager
def by_hand(base: BaseDir, name: str) -> Iterator[int]:
    """A role that nobody keeps."""
    pid = forked_role(base, name, make, environment())
    try:
        eventually(lambda: Seat(base, name).holder() == pid, f"{name} sits down")
        until_up(base, name)
        yield pid
    finally:
        for number in (signal.SIGCONT, signal.SIGKILL):
            os.kill(pid, number)
        os.waitpid(pid, 0)


def stopped(pid: int) -> None:
    """As a loop that never comes round."""
    os.kill(pid, signal.SIGSTOP)


@pytest.mark.provokes("system.heartbeat_missed")
def test_a_role_that_hangs_is_killed_and_its_warden_brings_it_back(
    base: BaseDir, watch: Watch
) -> None:
    assert kingdom("start", "--roles", "king,envoy", base=base).code == 0
    king, envoy = pid_of(base, "king"), pid_of(base, "envoy")
    watch.go_on(THRESHOLD * 2, "king", "envoy", "warden")
    assert watch.told("system.heartbeat_missed") == []
    stopped(king)
    watch.go_on(THRESHOLD - 10, "envoy", "warden")
    assert watch.told("system.heartbeat_missed") == []
    watch.go_on(20, "envoy", "warden")
    (missed,) = watch.told("system.heartbeat_missed")
    assert (missed["target"], missed["threshold_seconds"]) == ("king", THRESHOLD)
    assert missed["last_seen"] is not None
    watch.go_on(PATIENCE, "envoy", "warden")
    eventually(lambda: not is_alive(king), "it is killed")
    watch.until_back("king", king)
    (restart,) = internal_events(base, "recovery.session_restarted")
    assert (restart["actor"], restart["data"]["target"]) == ("warden", "king")
    hung, back = said(base)
    assert hung.startswith("king has shown no life for 1")
    assert hung.endswith("it is ended, and the warden starts it again.")
    assert back == "king shows life again."
    assert pid_of(base, "envoy") == envoy
    watch.go_on(THRESHOLD * 2, "king", "envoy", "warden")
    assert len(watch.told("system.heartbeat_missed")) == 1


@pytest.mark.provokes("recovery.session_restarted")
def test_one_that_nobody_keeps_is_ended_and_people_are_asked_to_bring_it_back(
    base: BaseDir, watch: Watch
) -> None:
    with by_hand(base, "king") as king:
        stopped(king)
        watch.go_on(THRESHOLD + PATIENCE + 10)
        eventually(lambda: not is_alive(king), "it is killed")
        watch.go_on(THRESHOLD)
    (alert,) = said(base)
    assert alert.endswith("do it with: kingdom run king")
    assert watch.told("recovery.session_restarted") == []
    with by_hand(base, "king") as again:
        watch.until_back("king", king)
        watch.duty.step()
        assert watch.told("recovery.session_restarted") == [{"target": "king", "pid": again}]
    assert len(watch.told("system.heartbeat_missed")) == 1


def test_one_that_ends_when_it_is_asked_is_not_killed(base: BaseDir, watch: Watch) -> None:
    with by_hand(base, "king") as king:
        stopped(king)
        watch.go_on(THRESHOLD + 10)
        os.kill(king, signal.SIGCONT)
        eventually(lambda: not is_alive(king), "it ends")
        assert Path(base.path("story")).read_text().splitlines()[-1] == "king stop", "in order"
        watch.go_on(PATIENCE + 10)
    assert len(said(base)) == 1


def test_the_next_chamberlain_says_that_it_is_over(base: BaseDir, clock: MovableClock) -> None:
    with office_in(base, clock) as office, by_hand(base, "king") as king:
        stopped(king)
        Watch(office, clock).go_on(THRESHOLD + PATIENCE + 10)
        eventually(lambda: not is_alive(king), "it is killed")
    with office_in(base, clock) as office, by_hand(base, "king"):
        Watch(office, clock).until_back("king", king)
    assert len(said(base)) == 2


def test_a_machine_that_slept_and_clocks_that_jump_hang_nobody(base: BaseDir, watch: Watch) -> None:
    with by_hand(base, "king") as king:
        stopped(king)
        for _ in range(5):
            watch.go_on(THRESHOLD - 10)
            watch.clock.advance(8 * 3600)  # asleep: nobody's loop came round, ours neither
        for days in (366, -800, 1):
            watch.clock.set_wall(watch.clock.now() + timedelta(days=days))
            watch.duty.step()
        watch.clock.advance(8 * 3600)
        watch.duty.step()
        assert watch.told("system.heartbeat_missed") == []
        assert is_alive(king)


def test_a_disk_that_takes_no_heartbeats_hangs_nobody(base: BaseDir, watch: Watch) -> None:
    with by_hand(base, "king") as king, by_hand(base, "chamberlain") as own:
        stopped(king)
        stopped(own)  # what its heart leaves on disk, that is: this test does its work
        watch.go_on(THRESHOLD * 3)
        assert watch.told("system.heartbeat_missed") == []
        os.kill(own, signal.SIGCONT)
        watch.go_on(10, "chamberlain")
        assert [one["target"] for one in watch.told("system.heartbeat_missed")] == ["king"]
        assert is_alive(king)
        assert is_alive(own)


def test_the_warden_is_left_to_people(base: BaseDir, watch: Watch) -> None:
    lock = Seat(base, "warden").take()
    Seat(base, "warden").beat()
    watch.go_on(THRESHOLD + 30)
    assert [one["target"] for one in watch.told("system.heartbeat_missed")] == ["warden"]
    Seat(base, "warden").beat()
    watch.duty.step()
    hung, back = said(base)
    assert hung.endswith("Start everything anew with: kingdom restart")
    assert back == "warden shows life again."
    lock.close()
    Seat(base, "warden").leave()


@pytest.mark.parametrize(
    ("cgroup", "is_one"),
    [
        (b"0::/system.slice/kingdom-king.service\n", True),
        (b"0::/user.slice/user@1000.service/app.slice/kingdom-general@gen-pr.service\n", True),
        (b"1:name=systemd:/kingdom-king.service\n0::/kingdom-king.service\n", True),
        (b"0::/user.slice/user-1000.slice/session-1.scope\n", False),
        (b"0::/system.slice/runner.service\n", False),
        (b"0::/kingdom-x.slice/a.service\n", False),
        (b"0::/\n", False),
        (b"", False),
    ],
)
def test_what_systemd_runs_as_ours_is_told_by_its_control_group(
    cgroup: bytes, is_one: bool
) -> None:
    assert is_a_service(cgroup) is is_one


def test_the_real_chamberlain_brings_back_a_real_king(
    base: BaseDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kingdom.chamberlain.heartbeats.PATIENCE", 0.5)
    config = Path(base.path("config", "local", "chamberlain.yaml"))
    never = "thresholds: {yellow: 100, orange: 100, red: 100, disk: 100}\n"
    config.write_text(f"{never}heartbeat: {{threshold_seconds: 4}}\n")
    assert kingdom("start", base=base).code == 0
    king = pid_of(base, "king")
    stopped(king)
    console = Path(base.path("logs", "console.log"))
    over = "king shows life again."
    eventually(lambda: console.exists() and over in console.read_text(), "the king is back")
    assert pid_of(base, "king") != king
    restarts = internal_events(base, "recovery.session_restarted")
    targets = [one["data"]["target"] for one in restarts]
    assert targets.count("king") == 1


def test_the_alert_of_a_general_ends_when_it_is_removed(base: BaseDir, watch: Watch) -> None:
    with by_hand(base, "gen-a") as general:
        stopped(general)
        watch.go_on(THRESHOLD + PATIENCE + 10)
        eventually(lambda: not is_alive(general), "it is killed")
    watch.go_on(THRESHOLD)
    assert len(said(base)) == 1
    os.rename(base.path("config", "generals", "gen-a"), base.path("gone"))
    watch.clock.advance(2.0)
    assert watch.config.refresh()
    for _ in range(2):
        watch.duty.step()
    assert said(base)[1:] == ["gen-a was removed."]


def test_a_chamberlain_that_the_warden_had_to_end_says_so_once(
    base: BaseDir, clock: MovableClock
) -> None:
    lock = Seat(base, "warden").take()
    for at in ("2026-02-07T10:00:00.000Z", "2026-02-07T11:00:00.000Z"):
        hung = {"at": at, "seconds": 131}
        write_json(roles_file(base), {"roles": {"chamberlain": {"hung": hung}}})
        for _ in range(2):
            with office_in(base, clock) as office:
                watch = Watch(office, clock)
                watch.duty.step()
                watch.duty.step()
    lock.close()
    Seat(base, "warden").leave()
    assert len(said(base)) == 2
    assert said(base)[0].startswith("The chamberlain had shown no life for 131 seconds")


def test_a_real_chamberlain_that_hangs_is_brought_back_and_tells_of_it(base: BaseDir) -> None:
    config = Path(base.path("config", "local", "chamberlain.yaml"))
    never = "thresholds: {yellow: 100, orange: 100, red: 100, disk: 100}\n"
    config.write_text(f"{never}heartbeat: {{threshold_seconds: 4}}\n")
    assert kingdom("start", base=base).code == 0
    before = pid_of(base, "chamberlain")
    stopped(before)
    log, console = Path(base.system_log), Path(base.path("logs", "console.log"))
    eventually(lambda: "warden.role_hung" in log.read_text(), "the warden sees it")
    with suppress(ProcessLookupError):  # the warden may have ended it already
        os.kill(before, signal.SIGCONT)  # so that it hears what it is asked
    told = "The chamberlain had shown no life"
    eventually(lambda: console.exists() and told in console.read_text(), "people know")
    assert pid_of(base, "chamberlain") != before
    restarts = internal_events(base, "recovery.session_restarted")
    ours = [one["actor"] for one in restarts if one["data"]["target"] == "chamberlain"]
    assert set(ours) == {"warden"}
