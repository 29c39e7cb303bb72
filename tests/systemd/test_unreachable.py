"""Units whose systemd cannot be asked: nobody keeps the kingdom beside it, and they can go."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from kingdom.ops.stopping import stop
from kingdom.ops.systemd.manager import Manager
from kingdom.ops.systemd.units import target_name
from kingdom.runtime.processes import Seat
from kingdom.store.paths import BaseDir
from tests.support.cli import Said, kingdom, one_sentence
from tests.support.puppets import found_kingdom

pytestmark = pytest.mark.skipif(Manager(True, {}).runs(), reason="a systemd of this user's runs")


class Place:
    """A kingdom with units in a user's home, and no systemd."""

    def __init__(self, scratch: Path) -> None:
        self.base = BaseDir(scratch / "realm")
        self.home = scratch / "home"
        self.units = self.home / ".config/systemd/user"
        self.env = {"HOME": str(self.home)}
        found_kingdom(self.base, "gen-a")
        said = kingdom("systemd", "print", "--user", "--json", base=self.base, env=self.env)
        wants = self.units / "default.target.wants"
        wants.mkdir(parents=True)
        for name, text in json.loads(said.out).items():
            (self.units / name).write_text(text)
        (wants / target_name(self.base)).symlink_to(self.units / target_name(self.base))
        (self.units / "others.service").write_text("[Service]\n")

    def says(self, *words: str) -> Said:
        return kingdom(*words, base=self.base, env=self.env)


@pytest.fixture
def place(scratch: Path) -> Iterator[Place]:
    made = Place(scratch)
    yield made
    stop(made.base)


@pytest.mark.parametrize("words", [["start"], ["start", "--foreground"], ["stop"], ["restart"]])
def test_nothing_is_started_or_said_to_be_stopped(place: Place, words: list[str]) -> None:
    said = one_sentence(place.says(*words), 1)
    assert f"The units of this kingdom are in {place.units}" in said
    assert "cannot be reached. Have it run with: loginctl enable-linger " in said
    assert said.endswith("kingdom systemd uninstall --user")
    assert json.loads(place.says("status", "--json").out)["roles"] == []


def test_status_and_doctor_say_so(place: Place) -> None:
    said = place.says("status")
    assert said.lines[0] == f"{place.base.root}: not running"
    (line,) = (one for one in said.lines if one.startswith("systemd "))
    assert f"in {place.units}, and the systemd of " in line
    (line,) = (one for one in place.says("doctor").lines if f"in {place.units}, and" in one)
    assert line.startswith("warning")


@pytest.mark.parametrize("options", [[], ["--user"]])
def test_what_is_left_of_them_can_be_removed(place: Place, options: list[str]) -> None:
    said = place.says("systemd", "uninstall", *options)
    assert said.code == 0, said
    assert said.lines[0].startswith("Removed ")
    assert said.lines[-1].endswith("type there: systemctl --user daemon-reload")
    assert sorted(os.listdir(place.units)) == ["default.target.wants", "others.service"]
    assert os.listdir(place.units / "default.target.wants") == []
    assert place.says("start", "--roles", "king").code == 0, "without units, a warden keeps it"
    assert place.says("stop").code == 0
    assert "has no units" in one_sentence(place.says("systemd", "uninstall", *options), 1)


def test_they_stay_while_somebody_keeps_the_roles(place: Place) -> None:
    with closing(Seat(place.base, "king").take()):
        said = one_sentence(place.says("systemd", "uninstall"), 1)
    assert "perhaps under a systemd that cannot be reached: king." in said
    assert f"systemctl --user stop {target_name(place.base)}" in said
    assert (place.units / target_name(place.base)).exists()


def test_a_manager_is_found_where_it_listens_and_nowhere_else(scratch: Path) -> None:
    listener = socket.socket(socket.AF_UNIX)
    (scratch / "systemd").mkdir()
    listener.bind(str(scratch / "systemd/private"))
    told = {"XDG_RUNTIME_DIR": str(scratch)}
    with listener:
        assert not Manager(True, told).runs(), "nobody listens"
        listener.listen()
        assert Manager(True, told).is_there()
        assert not Manager(True, told, os.geteuid() + 1).runs(), "it is somebody else's"
    assert not Manager(True, told).runs(), "it is gone"
