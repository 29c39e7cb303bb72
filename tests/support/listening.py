"""A server that is a program of its own, as long as a test needs it."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.waiting import eventually

_LISTENS = re.compile(r"listening on (http://127\.0\.0\.1:\d+)")


@contextmanager
def listening(argv: list[str], log: Path) -> Iterator[str]:
    """Its address, as soon as it says in its output, which is the log, that it listens there."""
    with log.open("w") as said:
        process = subprocess.Popen(argv, stdout=said, stderr=subprocess.STDOUT)
    try:
        eventually(
            lambda: _LISTENS.search(log.read_text()) or process.poll() is not None,
            f"{argv[0]} listens",
            told=log.read_text,
        )
        found = _LISTENS.search(log.read_text())
        assert found, log.read_text()
        yield found[1]
    finally:
        process.kill()
        process.wait()
