"""What must hold after any crash, once the next process has recovered."""

from __future__ import annotations

import json
import os

from kingdom.bus.files.bus import FileBus
from kingdom.bus.port import Claim, Move
from kingdom.store.paths import BaseDir
from kingdom.topology import STREAMS
from tests.support.kingdom import directories, files

DONE = {"events": "completed", "tasks": "completed", "messages": "sent", "results": "handled"}


def check_directories(base: BaseDir) -> None:
    """Each id once in its stream, each file whole, each status that of its directory."""
    for stream in STREAMS.values():
        seen: set[str] = set()
        for place, names in files(base).items():
            if place.split("/")[0] != stream.name:
                continue
            assert not seen & set(names), f"{seen & set(names)} twice in {stream.name}"
            seen |= set(names)
            for name in (one for one in names if one != "evt-bad"):
                check_file(base, place, name)


def check_file(base: BaseDir, place: str, name: str) -> None:
    with open(os.path.join(dict(directories(base))[place], f"{name}.json"), "rb") as file:
        content = json.loads(file.read())
    stream = STREAMS[place.split("/")[0]]
    assert content["id" if not stream.flat else "task_id"] == name
    if not stream.flat:
        assert content["status"] in stream.state(place.split("/")[1]).statuses, (place, content)


def check_nothing_is_left_over(base: BaseDir) -> None:
    assert os.listdir(base.path("state", "bus", "tmp")) == []


def drain(bus: FileBus) -> list[Claim]:
    """Handle everything that is due, as consumers would; each message comes once."""
    handled: list[Claim] = []
    for stream in STREAMS:
        while claims := bus.claim(stream, "drain", 50):
            bus.commit([Move(claim, DONE[stream]) for claim in claims])
            handled += claims
    keys = [(claim.stream, claim.id) for claim in handled]
    assert len(keys) == len(set(keys)), "handled twice"
    return handled
