"""Under systemd, which has no warden, the chamberlain tells that the kingdom comes and goes."""

from __future__ import annotations

from contextlib import closing

import pytest

from kingdom.chamberlain.daemon import Chamberlain
from kingdom.runtime.processes import Seat
from kingdom.store.paths import BaseDir
from tests.support.household import internal_events, office_in
from tests.support.kingdom import MovableClock


def live(base: BaseDir, clock: MovableClock, *, is_service: bool = True) -> None:
    """A whole life, in order."""
    with office_in(base, clock) as office:
        role = Chamberlain(office.setting, [], is_service=is_service)
        role.start()
        role.step()
        role.stop()


def told(base: BaseDir) -> list[tuple[str, str]]:
    return [(one["type"], one["actor"]) for one in internal_events(base)]


@pytest.mark.provokes("system.startup", "system.shutdown")
def test_the_first_to_start_and_the_last_to_end_tells(base: BaseDir, clock: MovableClock) -> None:
    live(base, clock)
    assert told(base) == [("system.startup", "system"), ("system.shutdown", "system")]
    assert internal_events(base, "system.shutdown")[0]["data"] == {"reason": "SIGTERM"}


@pytest.mark.parametrize("other", ["king", "gen-a", "warden"])
def test_one_that_comes_and_goes_among_others_does_not(
    base: BaseDir, clock: MovableClock, other: str
) -> None:
    with closing(Seat(base, other).take()):
        live(base, clock)
    assert told(base) == []


def test_one_that_a_person_runs_does_not(base: BaseDir, clock: MovableClock) -> None:
    live(base, clock, is_service=False)
    assert told(base) == []
