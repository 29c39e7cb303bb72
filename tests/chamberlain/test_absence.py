"""A general is gone when it was gone in every look for long enough, and only then."""

from __future__ import annotations

from kingdom.chamberlain.absence import Absence
from kingdom.chamberlain.duty import Office
from kingdom.runtime.processes import Seat
from tests.support.kingdom import MovableClock

PAUSE = 90.0


def looks(absence: Absence, clock: MovableClock, seconds: int, *asked: str) -> list[bool]:
    found = []
    for _ in range(0, seconds, 30):
        clock.advance(30)
        absence.look(PAUSE)
        found = [absence.is_gone(name) for name in asked]
    return found


def test_it_has_the_time_of_two_heartbeats_to_come_back(
    office: Office, clock: MovableClock
) -> None:
    absence = Absence(office)
    assert looks(absence, clock, 240, "gen-a") == [False]
    assert looks(absence, clock, 30, "gen-a") == [True]
    lock = Seat(office.base, "gen-a").take()
    assert looks(absence, clock, 30, "gen-a") == [False]
    lock.close()
    assert looks(absence, clock, 240, "gen-a") == [False]
    assert looks(absence, clock, 30, "gen-a") == [True]


def test_what_nobody_asked_for_in_between_was_not_seen_to_be_gone(
    office: Office, clock: MovableClock
) -> None:
    absence = Absence(office)
    looks(absence, clock, 60, "gen-a")
    looks(absence, clock, 600, "gen-b")
    assert looks(absence, clock, 30, "gen-a", "gen-b") == [False, True]


def test_after_a_pause_of_our_own_everyones_time_begins_anew(
    office: Office, clock: MovableClock
) -> None:
    absence = Absence(office)
    looks(absence, clock, 240, "gen-a")
    clock.advance(8 * 3600)
    assert looks(absence, clock, 30, "gen-a") == [False]
