"""When a dead role is started again: decided by numbers alone."""

from __future__ import annotations

from kingdom.runtime.restarts import Restarts


def crashed(times: int, *, lived: float = 0.1, every: float = 1.0) -> tuple[list[float], Restarts]:
    """The delays after so many short lives, each begun `every` seconds after the last."""
    history, now, delays = Restarts(), 0.0, []
    for _ in range(times):
        history.started(now)
        delays.append(history.crashed(now + lived))
        now += every
    return delays, history


def test_the_wait_doubles_from_one_second_to_sixty() -> None:
    assert crashed(9)[0] == [1, 2, 4, 8, 16, 32, 60, 60, 60]


def test_a_minute_of_life_makes_it_short_again() -> None:
    _, history = crashed(4)
    history.started(10)
    assert history.crashed(69.9) == 16
    history.started(100)
    assert history.crashed(160) == 1


def test_five_crashes_in_five_minutes_are_a_loop_and_four_are_not() -> None:
    assert not crashed(4)[1].is_looping(5)
    assert crashed(5)[1].is_looping(5)
    assert not crashed(5, every=80)[1].is_looping(321)


def test_a_loop_is_forgotten_after_five_minutes() -> None:
    _, history = crashed(5)
    assert history.is_looping(299)
    assert not history.is_looping(305)


def test_whoever_asks_for_it_need_not_wait_the_next_time_either() -> None:
    _, history = crashed(5)
    history.forgive()
    history.started(6)
    assert history.crashed(6.1) == 1


def test_only_starts_after_the_first_count() -> None:
    assert crashed(1)[1].count == 0
    assert crashed(4)[1].count == 3
