"""The real program talks to its model, and to nobody else."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.codex.alone import OURS
from tests.support import programs

ALONE = ["unshare", "--map-root-user", "--net", "--mount"]


def looked_up(place: Path, *more: str) -> set[str]:
    if subprocess.run([*ALONE, "true"], capture_output=True).returncode != 0:
        pytest.skip("there are no network namespaces here")
    argv = [sys.executable, "-m", "tests.codex.alone", programs.codex(), str(place), *more]
    done = subprocess.run([*ALONE, *argv], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["said"] == "Fine."
    assert OURS in told["names"]
    return {*told["names"]} - {OURS}


@pytest.mark.long
def test_no_outside_host_is_looked_up(place: Path) -> None:
    assert looked_up(place) == set()


@pytest.mark.long
def test_one_that_is_not_told_to_looks_up_many(place: Path) -> None:
    """Or the test above would prove nothing."""
    assert "github.com" in looked_up(place, "on")
