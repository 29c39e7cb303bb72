"""Waiting times, and telling the dead from the living."""

from __future__ import annotations

import os

from hypothesis import given
from hypothesis import strategies as st

from kingdom.bus.backoff import Backoff
from kingdom.bus.lease import Holder
from tests.support.calls import in_child


def test_the_wait_doubles_up_to_its_limit() -> None:
    backoff = Backoff(jitter=0)
    waits = [backoff.delay(attempt, lambda: 0.5).total_seconds() for attempt in range(1, 12)]
    assert waits == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]


@given(st.integers(0, 10_000), st.floats(0, 1))
def test_jitter_stays_within_a_fifth(attempt: int, chance: float) -> None:
    plain = Backoff(jitter=0).delay(attempt, lambda: 0.5).total_seconds()
    shaken = Backoff().delay(attempt, lambda: chance).total_seconds()
    assert 0.799 * plain <= shaken <= 1.201 * plain


def test_a_holder_reads_back_as_it_was_written() -> None:
    holder = Holder.of_this_process("gen-pr@odd")
    assert Holder.parse(str(holder)) == holder
    assert not holder.is_gone()


def test_what_a_person_wrote_is_no_holder() -> None:
    for text in ("", "me", "me@here", "me@a/b/c/d", "me@a/b/1/-2", "@///"):
        assert Holder.parse(text) is None


def test_a_dead_process_is_gone_and_its_pid_used_again_is_another() -> None:
    here = Holder.of_this_process("w")
    reading, writing = os.pipe()

    def tell() -> None:
        os.write(writing, str(Holder.of_this_process("w")).encode())

    in_child(tell)
    dead = Holder.parse(os.read(reading, 1000).decode())
    os.close(reading)
    os.close(writing)
    assert dead is not None
    assert dead.is_gone()
    assert Holder("w", here.host, here.boot, here.pid, here.started + 1).is_gone()


def test_another_boot_of_this_host_is_gone_another_host_is_not_known() -> None:
    here = Holder.of_this_process("w")
    assert Holder("w", here.host, "other." + here.boot.split(".")[1], 1, 1).is_gone()
    assert not Holder("w", "elsewhere", here.boot, 1, 1).is_gone()
    assert not Holder("w", here.host, here.boot.split(".")[0] + ".7", 999999, 1).is_gone()
