"""Metrics of a kingdom whose chamberlain and king are processes of their own."""

from __future__ import annotations

import os
import signal
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from kingdom.chamberlain.daemon import make as make_chamberlain
from kingdom.king.daemon import make as make_king
from kingdom.runtime.processes import Seat
from kingdom.store.formats import write_format
from kingdom.store.paths import BaseDir
from tests.support.cli import environment, kingdom
from tests.support.kingdom import event
from tests.support.metrics import read_metrics
from tests.support.ports import reserved_port
from tests.support.processes import forked_role
from tests.support.puppets import found_kingdom, until_up
from tests.support.waiting import eventually


def ended(child: int) -> None:
    os.kill(child, signal.SIGTERM)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def told(base: BaseDir) -> str:
    """The address that `kingdom status` shows."""
    said = kingdom("status", base=base)
    assert said.code == 0, said
    lines = said.lines
    return next((line.split()[1] for line in lines if line.startswith("metrics ")), "")


def scraped(address: str) -> dict[str, float]:
    with urllib.request.urlopen(address, timeout=60) as answer:
        return read_metrics(answer.read().decode())


@pytest.fixture
def port() -> Iterator[int]:
    with reserved_port() as free:
        yield free


def test_what_the_king_did_is_served_by_the_chamberlain(base: BaseDir, port: int) -> None:
    found_kingdom(base)
    write_format(base)
    Path(base.config, "chamberlain.yaml").write_text(f"metrics: {{port: {port}}}\n")
    chamberlain = forked_role(base, "chamberlain", make_chamberlain, environment())
    try:
        eventually(lambda: told(base), "the endpoint is open")
        king = forked_role(base, "king", make_king, environment())
        try:
            until_up(base, "king")
            assert scraped(told(base))['kingdom_role_up{role="king"}'] == 1
            Path(base.path("queue", "events", "pending", "evt-test-1.json")).write_bytes(
                event().to_json()
            )
            completed = Path(base.path("queue", "events", "completed"))
            eventually(lambda: list(completed.glob("*.json")), "the king has done with it")
        finally:
            ended(king)
        counted = 'kingdom_queue_processed_total{stream="events",result="completed"}'
        eventually(lambda: scraped(told(base)).get(counted) == 1, "it is counted")
        assert scraped(told(base))['kingdom_role_up{role="king"}'] == 0
    finally:
        ended(chamberlain)
    assert not Seat(base, "chamberlain").is_taken()
    assert told(base) == ""
