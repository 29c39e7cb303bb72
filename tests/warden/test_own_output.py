"""`logs/warden.log` has what no other log has, and follows its name."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from kingdom.runtime.detaching import attached
from kingdom.runtime.logging import configure, get_logger
from kingdom.runtime.own_output import OwnOutput, path_of
from kingdom.store.paths import BaseDir
from tests.support.waiting import eventually


def lived(base: BaseDir, log: str) -> str:
    """What a process leaves in its output that logs, prints, and is rotated in between."""
    os.makedirs(base.logs, exist_ok=True)

    def live() -> int:
        sys.stderr = open(2, "w", buffering=1, closefd=False)  # noqa: SIM115
        configure("king", base, environment={})
        output = OwnOutput(base)
        get_logger().info("role.started")
        print("printed before", file=sys.stderr)
        os.rename(log, f"{log}.old")
        print("printed in between", file=sys.stderr)
        output.follow()
        print("printed after", file=sys.stderr)
        Path(base.path("logs/done")).touch()
        return 0

    attached(live, log)
    eventually(lambda: Path(base.path("logs/done")).exists(), "its end")
    return Path(f"{log}.old").read_text()


def test_what_is_in_the_system_log_is_not_kept_twice(base: BaseDir) -> None:
    log = path_of(base)
    assert lived(base, log) == "printed before\nprinted in between\n"
    assert Path(log).read_text() == "printed after\n"
    assert "role.started" in Path(base.system_log).read_text()


def test_output_that_goes_elsewhere_has_all_and_stays_there(base: BaseDir) -> None:
    log = base.path("logs", "journal")
    first, *rest = lived(base, log).splitlines()
    assert '"event": "role.started"' in first
    assert rest == ["printed before", "printed in between", "printed after"]
    assert not os.path.exists(log)


def test_a_directory_that_is_gone_stops_nobody(base: BaseDir) -> None:
    log, away = path_of(base), base.path("away")
    os.makedirs(base.logs)

    def live() -> int:
        output = OwnOutput(base)
        os.rename(base.logs, away)
        output.follow()
        os.makedirs(base.logs)
        output.follow()
        os.write(2, b"printed after\n")
        Path(base.path("done")).touch()
        return 0

    attached(live, log)
    eventually(lambda: Path(base.path("done")).exists(), "its end")
    assert Path(log).read_text() == "printed after\n"


def test_what_the_system_log_does_not_take_is_kept(base: BaseDir) -> None:
    os.makedirs(base.system_log)
    assert "role.started" in lived(base, path_of(base))
