"""A disk that is full: every command says so, and nobody waits in silence."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from kingdom.ops.init import init
from kingdom.store.paths import BaseDir
from tests.support.cli import kingdom, undisturbed
from tests.support.full_disk import small_disk
from tests.support.puppets import ended_afterwards

FULL = "is full."


@pytest.fixture
def realm(scratch: Path) -> Iterator[BaseDir]:
    with small_disk(scratch / "disk", 96) as place:
        base = BaseDir(place / "realm")
        init(base)
        Path(base.path("config", "local", "system.yaml")).write_text("runtime: {engine: rehearsal}")
        undisturbed(base.root)
        with ended_afterwards(base):
            yield base


def fill(base: BaseDir) -> Path:
    filler = Path(base.root).parent / "filler"
    with filler.open("wb", buffering=0) as file:
        try:
            while file.write(b"x" * 65536):
                continue
        except OSError:
            pass
    return filler


def test_a_start_without_room_says_so_at_once_and_works_once_there_is_some(realm: BaseDir) -> None:
    filler = fill(realm)
    said = kingdom("start", base=realm)
    assert (said.code, FULL in said.err, "Make room" in said.err) == (1, True, True)
    filler.unlink()
    assert kingdom("start", base=realm).code == 0


def test_status_and_why_say_that_the_disk_is_full(realm: BaseDir) -> None:
    assert kingdom("start", base=realm).code == 0
    event = kingdom("send", "nobody.wants", "--id", "evt-cli-1", base=realm).out.strip()
    assert FULL not in kingdom("status", base=realm).out
    filler = fill(realm)
    assert FULL in kingdom("status", base=realm).out
    assert FULL in json.loads(kingdom("status", "--json", base=realm).out)["disk_problem"]
    assert event == "evt-cli-1"
    filler.unlink()
    assert FULL not in kingdom("status", base=realm).out
