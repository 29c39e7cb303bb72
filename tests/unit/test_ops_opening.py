"""The bus is the one that the settings ask for."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from kingdom.bus.opening import open_bus
from kingdom.bus.port import Problem
from kingdom.errors import ConfigurationError
from kingdom.settings.loading import Settings, load_settings
from kingdom.store.paths import BaseDir
from tests.support.calls import observed
from tests.support.kingdom import MovableClock, counts, event, task


def settings(base: BaseDir, text: str) -> Settings:
    Path(base.config).mkdir()
    Path(base.config, "system.yaml").write_text(text)
    return load_settings(base.config, {})


@pytest.mark.parametrize(("durability", "syncs"), [("full", True), ("fast", False)])
def test_durability_decides_whether_a_commit_is_synced(
    base: BaseDir, durability: str, syncs: bool
) -> None:
    seen = []

    def note(name: str, arguments: tuple[Any, ...], call: Callable[[], Any]) -> Any:
        seen.append(name)
        return call()

    with closing(open_bus(base, settings(base, f"durability: {durability}"))) as bus:
        with observed(note):
            bus.publish("events", event("1"))
        assert ("fdatasync" in seen) == syncs


def test_limits_and_leases_are_those_of_the_stream(base: BaseDir, clock: MovableClock) -> None:
    wanted = settings(
        base,
        "delivery:\n  tasks:\n    max_attempts: 2\n    lease_seconds: 30\n"
        "    backoff: {base_seconds: 10, jitter: 0}\n",
    )
    with closing(open_bus(base, wanted, clock=clock)) as bus:
        bus.publish("tasks", task(1))
        (claim,) = bus.claim("tasks", "gen-pr")
        assert claim.message.delivery.locked_until == clock.now() + timedelta(seconds=30)
        assert bus.retry(claim, Problem("x", "y")) == "pending"
        clock.advance(9.9)
        assert bus.claim("tasks", "gen-pr") == []
        clock.advance(0.1)
        assert bus.retry(bus.claim("tasks", "gen-pr")[0], Problem("x", "y")) == "dead"
    assert counts(base) == {"tasks/dead": 1}


def test_ids_are_dated_in_the_kingdoms_time_zone(base: BaseDir, clock: MovableClock) -> None:
    clock.advance(8 * 3600)  # 18:00 in UTC is the next day in Seoul
    with closing(open_bus(base, settings(base, "timezone: Asia/Seoul"), clock=clock)) as bus:
        assert bus.next_id("task") == "task-20260208-001"


def test_a_bus_that_is_not_there_yet_is_one_sentence(base: BaseDir) -> None:
    with pytest.raises(ConfigurationError, match="this version has the file bus only"):
        open_bus(base, settings(base, "bus: postgresql://db/kingdom"))
