"""Another program is heard to its end, and ended when its time is over."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kingdom.clients.programs import Cut, Late, Missing, Run
from kingdom.pids import started
from tests.support.waiting import eventually

ENVIRONMENT = {"PATH": os.environ["PATH"]}


def sh(script: str, timeout: float = 60.0, **more: int) -> Run:
    return Run(("sh", "-c", script), ENVIRONMENT, timeout=timeout, **more)


def test_it_is_fed_and_heard() -> None:
    large = b"x" * 1_000_000
    said = sh("cat; echo no >&2; exit 3")(large)
    assert (said.code, said.out, said.complaint) == (3, large, "no\n")


def test_one_that_wants_nothing_of_it_is_heard_all_the_same() -> None:
    assert sh("exec <&-; echo yes")(b"x" * 1_000_000).text == "yes"


@pytest.mark.parametrize("silence", ["", "exec >&- 2>&-; "])
def test_when_its_time_is_over_it_is_ended_with_all_it_started(scratch: Path, silence: str) -> None:
    child = scratch / "child"
    with pytest.raises(Late, match=r"took longer than 0\.5 seconds"):
        sh(f"{silence}sleep 1000 & echo $! > {child}; wait", timeout=0.5)()
    if child.exists():  # it came so far
        pid = int(child.read_text())
        eventually(lambda: started(pid) is None, "what it had started is ended, too")


def test_one_that_still_has_something_to_say_when_its_time_is_over_is_late(scratch: Path) -> None:
    """Else who never stops talking would never be."""
    done = scratch / "done"
    run = sh(f"echo no >&2; touch {done}; exec >&- 2>&-", timeout=0.0)
    eventually(done.exists, "it has said all")
    with pytest.raises(Late):
        run()


def test_what_is_not_there_is_said() -> None:
    with pytest.raises(Missing, match="no-such-program is not installed"):
        Run(("no-such-program",), ENVIRONMENT, timeout=1.0)
    with pytest.raises(Cut, match="could not be started: No such file"):
        Run(("sh",), ENVIRONMENT, timeout=1.0, directory="/no/such/place")


def test_it_writes_no_file_larger_than_it_may(scratch: Path) -> None:
    target = scratch / "file"
    said = sh(f"head -c 100000 /dev/zero > {target}", largest_file=5000)()
    assert said.code != 0
    assert target.stat().st_size == 5000
