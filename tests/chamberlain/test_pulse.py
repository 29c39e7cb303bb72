"""Silence is what passes for us without a new heartbeat, whatever the clocks say."""

from __future__ import annotations

from kingdom.runtime.pulse import Pulse, Sign

PAUSE = 30.0


def looks(pulse: Pulse, *moments: tuple[float, Sign]) -> list[float]:
    found = []
    for now, sign in moments:
        pulse.look({"king": sign}, now, PAUSE)
        found.append(pulse.silence("king"))
    return found


def test_silence_grows_until_the_next_heartbeat() -> None:
    one, two = Sign(7, 1000.0), Sign(7, 1010.0)
    assert looks(Pulse(), (0, one), (10, one), (20, one), (30, two), (40, two)) == [
        0,
        10,
        20,
        0,
        10,
    ]


def test_a_heartbeat_counts_whatever_time_it_bears() -> None:
    ahead, back = Sign(7, 9e9), Sign(7, 5.0)
    assert looks(Pulse(), (0, Sign(7, 1000.0)), (10, ahead), (20, back)) == [0, 0, 0]


def test_after_a_pause_of_our_own_nobody_is_judged_by_it() -> None:
    one = Sign(7, 1000.0)
    assert looks(Pulse(), (0, one), (30, one), (9000, one), (9010, one)) == [0, 30, 0, 10]


def test_one_that_has_not_begun_to_beat_is_silent_too_and_another_process_is_not() -> None:
    assert looks(Pulse(), (0, Sign(7, None)), (20, Sign(7, None))) == [0, 20]
    assert looks(Pulse(), (0, Sign(7, None)), (20, Sign(8, None))) == [0, 0]


def test_life_is_what_was_seen_to_change() -> None:
    pulse = Pulse()
    looks(pulse, (0, Sign(7, 1000.0)), (10, Sign(7, 1000.0)))
    assert not pulse.lives("king")
    looks(pulse, (20, Sign(7, 1001.0)))
    assert pulse.lives("king")
    looks(pulse, (30, Sign(7, 1001.0)))
    assert pulse.lives("king")
    pulse.look({}, 40, PAUSE)
    assert not pulse.lives("king")
    assert pulse.silence("king") == 0


def test_one_that_still_starts_has_as_long_as_its_unit_allows() -> None:
    pulse = Pulse()
    for now in range(0, 301, 10):
        pulse.look({"king": Sign(1, None), "envoy": Sign(2, 5.0)}, float(now), 30.0)
        assert pulse.hangs("envoy", 120.0) == (now > 120)
        assert not pulse.hangs("king", 120.0)
    pulse.look({"king": Sign(1, None)}, 310.0, 30.0)
    assert pulse.hangs("king", 120.0)
