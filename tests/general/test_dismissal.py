"""A general whose package is gone is dismissed only when it has no soldier and can begin none."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any

from kingdom.bus.opening import open_bus
from kingdom.general.daemon import make
from kingdom.runtime.config import LiveConfig
from kingdom.runtime.internal_log import InternalLog
from kingdom.runtime.logging import configure, get_logger
from kingdom.runtime.processes import WARDEN, Seat
from kingdom.runtime.registry import registry_lock
from kingdom.runtime.role import Setting
from kingdom.store.locks import Lock
from kingdom.store.paths import BaseDir
from tests.support.barracks import NAME, Barracks, Life, environment
from tests.support.calls import observed
from tests.support.kingdom import MovableClock
from tests.support.puppets import ended_afterwards, found_kingdom, start_puppets
from tests.support.soldiers import STAY, is_up
from tests.support.waiting import eventually


@contextmanager
def general_that_looks_at_nothing_new(barracks: Barracks) -> Iterator[Life]:
    """Its configuration is the one it began with: less than a second has passed for it."""
    configure(NAME, barracks.base, environment={}, stream=(said := StringIO()))
    config = LiveConfig(barracks.base, environment(), MovableClock())
    bus = open_bus(barracks.base, config.current.settings, general=NAME)
    internal = InternalLog(barracks.base, NAME, barracks.clock)
    setting = Setting(
        NAME, barracks.base, environment(), bus, config, barracks.clock, get_logger(), internal
    )
    role = make(setting)
    role.start()
    try:
        yield Life(barracks, role, setting, said)
    finally:
        role.stop()
        bus.close()


def test_nothing_begins_from_the_moment_its_package_is_gone(barracks: Barracks) -> None:
    barracks.command(STAY)
    barracks.package()
    package, gone = barracks.base.path("config", "generals", NAME), barracks.base.path("gone")
    with general_that_looks_at_nothing_new(barracks) as life:
        life.turn()
        os.rename(package, gone)
        (id_,) = barracks.publish()
        for _ in range(5):
            life.turn()
        assert barracks.task(id_)[0] == "pending"
        assert barracks.sessions() == []
        assert os.listdir(barracks.base.soldiers) == []
        assert "Its package was removed" in life.said.getvalue()
        os.rename(gone, package)
        life.until(lambda: is_up(barracks, id_), "it begins as soon as the package is back")


def test_also_when_it_goes_while_the_general_is_about_to_begin(barracks: Barracks) -> None:
    """Between its look at the gate and its hand on the registry."""
    barracks.command(STAY)
    barracks.package()
    package, gone = barracks.base.path("config", "generals", NAME), barracks.base.path("gone")

    def at_that_moment(name: str, arguments: tuple[Any, ...], call: Callable[[], Any]) -> Any:
        if name == "flock" and os.path.exists(package):
            path = os.readlink(f"/proc/self/fd/{arguments[0]}")
            if path == registry_lock(barracks.base):
                os.rename(package, gone)
        return call()

    with general_that_looks_at_nothing_new(barracks) as life:
        (id_,) = barracks.publish()
        with observed(at_that_moment):
            for _ in range(5):
                life.turn()
        assert os.path.exists(gone)
        assert barracks.task(id_)[0] == "pending"
        assert os.listdir(barracks.base.soldiers) == []


# The warden


def turns(base: BaseDir, count: int) -> None:
    """The warden has looked at everything so many times more."""
    for _ in range(count):
        before = Seat(base, WARDEN).last_beat()
        eventually(partial(_has_beaten_since, base, before), "a turn")


def _has_beaten_since(base: BaseDir, before: float | None) -> bool:
    return Seat(base, WARDEN).last_beat() != before


def test_the_warden_waits_for_whoever_has_the_registry_and_then_looks_at_it_again(
    base: BaseDir,
) -> None:
    found_kingdom(base, "gen-a", "gen-b")
    with ended_afterwards(base):
        start_puppets(base)
        seat, lock = Seat(base, "gen-a"), Lock(registry_lock(base))
        assert lock.try_acquire()  # as the general does that is about to begin a soldier
        os.rename(base.path("config", "generals", "gen-a"), base.path("gone"))
        log = Path(base.system_log)
        eventually(lambda: "role_removed target=gen-a" in log.read_text(), "it is not wanted")
        turns(base, 2)
        assert seat.is_taken()
        entry = [{"id": "soldier-1-1", "general": "gen-a"}]
        Path(base.sessions_file).write_text(json.dumps(entry))
        lock.release()
        turns(base, 2)
        assert seat.is_taken()
        Path(base.sessions_file).write_text("[]")
        eventually(lambda: not seat.is_taken(), "it is dismissed")
        lock.close()


def test_the_registry_is_read_while_it_is_locked(base: BaseDir) -> None:
    """Or a soldier could be entered between the look and the dismissal."""
    found_kingdom(base, "gen-a")

    def noted(name: str, arguments: tuple[Any, ...], call: Callable[[], Any]) -> Any:
        if name == "open" and arguments[0] == base.sessions_file:
            with open(registry_lock(base)) as lock, open(base.path("read"), "a") as file:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    file.write("unlocked\n")
                except BlockingIOError:
                    file.write("locked\n")
        return call()

    Path(base.sessions_file).write_text("[]")
    Path(registry_lock(base)).touch()
    with ended_afterwards(base):
        with observed(noted):
            start_puppets(base)  # which forks the warden: there it stays so
        os.rename(base.path("config", "generals", "gen-a"), base.path("gone"))
        eventually(lambda: not Seat(base, "gen-a").is_taken(), "it is dismissed")
    assert set(Path(base.path("read")).read_text().split()) == {"locked"}
