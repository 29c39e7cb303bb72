"""`kingdom doctor` about who may read and change a kingdom, and what the killed left in it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from kingdom.ops.init import init
from kingdom.runtime.processes import Seat
from kingdom.store.paths import BaseDir
from tests.support.calls import in_child
from tests.support.cli import NORMAL_USER, give_away, kingdom


@pytest.fixture
def realm(scratch: Path) -> BaseDir:
    base = BaseDir(scratch / "realm")
    init(base)
    return base


def examined(base: BaseDir, *words: str) -> dict[str, Any]:
    said = kingdom("doctor", "--json", *words, base=base)
    found: dict[str, Any] = json.loads(said.out)
    return found


def wrong(found: dict[str, Any], what: str) -> list[str]:
    return [
        one["sentence"] for one in found["checks"] if one["what"] == what and one["state"] != "ok"
    ]


def mended(base: BaseDir, what: str) -> list[str]:
    """What `--fix` did about it; afterwards nothing is wrong with it, and a second time has
    nothing to do."""
    found = examined(base, "--fix")
    assert wrong(found, what) == []
    assert not [one for one in examined(base, "--fix")["fixed"] if one["what"] == what]
    return [one["done"] for one in found["fixed"] if one["what"] == what]


def killed(base: BaseDir, name: str) -> None:
    def work() -> None:
        Seat(base, name).take()
        os._exit(9)

    in_child(work)


def test_tokens_that_others_may_read(realm: BaseDir) -> None:
    path = Path(realm.path("config", "local", "environment"))
    path.write_text("GH_TOKEN=x\n")
    path.chmod(0o640)
    found = examined(realm)
    assert found["healthy"] is False
    assert wrong(found, "secrets") == [f"{path} holds tokens, and others may read it."]
    assert path.stat().st_mode & 0o777 == 0o640, "nothing is changed unasked"
    assert mended(realm, "secrets") == ["That is over."]
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("name", [".", "config", "queue", "config/system.yaml", "config/generals"])
def test_what_everybody_may_change(realm: BaseDir, name: str) -> None:
    path = Path(realm.path(name))
    path.chmod(path.stat().st_mode | 0o002)
    (sentence,) = wrong(examined(realm), "rights")
    assert "very user of this machine may" in sentence
    assert mended(realm, "rights") == ["That is over."]
    assert not path.stat().st_mode & 0o002


def test_who_is_not_the_owner_is_told_who_must_do_it(realm: BaseDir) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can make what belongs to another")
    give_away(realm.root)
    os.chown(realm.path("config", "system.yaml"), 0, 0)
    os.chmod(realm.path("config", "system.yaml"), 0o666)
    os.chmod(Path(realm.root).parent, 0o755)
    said = kingdom("doctor", "--fix", base=realm, command=NORMAL_USER)
    assert "as its owner" in said.out
    assert os.stat(realm.path("config", "system.yaml")).st_mode & 0o002


def test_directories_that_are_missing(realm: BaseDir) -> None:
    os.rmdir(realm.path("queue", "messages", "sent"))
    assert wrong(examined(realm), "directory") == [
        f"{realm.path('queue', 'messages', 'sent')} is missing."
    ]
    assert mended(realm, "directory") == ["It was made."]


def test_temporaries_of_the_dead_and_not_of_the_living(realm: BaseDir) -> None:
    dead = Path(realm.state, ".tmp-999999999-1-resources.json")
    living = Path(realm.state, f".tmp-{os.getpid()}-x-resources.json")
    for path in (dead, living):
        path.touch()
    (sentence,) = wrong(examined(realm), "temporaries")
    assert sentence.startswith("1 temporaries of killed processes")
    assert mended(realm, "temporaries") == ["They were removed."]
    assert not dead.exists()
    assert living.exists()


def test_roles_that_were_killed_and_not_started_again(realm: BaseDir) -> None:
    for name in ("king", "gen-pr"):
        killed(realm, name)
    lock = Seat(realm, "envoy").take()
    try:
        (sentence,) = wrong(examined(realm), "locks")
        assert sorted(sentence.removesuffix(".").split(": ")[1].split(", ")) == ["gen-pr", "king"]
        assert mended(realm, "locks") == ["Its traces were removed."]
        assert Seat(realm, "envoy").holder() == os.getpid()
    finally:
        lock.close()


def test_what_was_mended_is_said_to_people_too(realm: BaseDir) -> None:
    os.rmdir(realm.path("queue", "messages", "sent"))
    said = kingdom("doctor", "--fix", base=realm)
    assert any(line.startswith("fixed    directory: ") for line in said.lines)
    assert any(line.startswith("ok       kingdom") for line in said.lines)
