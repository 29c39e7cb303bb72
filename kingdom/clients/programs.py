"""Asks a program something that it answers at once, such as its version."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

SECONDS = 20.0
_MOST = 64 * 1024


class Answer(NamedTuple):
    """`code` is None for one that did not answer in time, or could not be started."""

    code: int | None
    said: str


def ask(argv: Sequence[str], environment: Mapping[str, str], seconds: float = SECONDS) -> Answer:
    """With nothing on its input and no terminal to ask back on; all it started ends with it."""
    try:
        process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=dict(environment),
            cwd="/",
            start_new_session=True,
        )
    except OSError as error:
        return Answer(None, f"it cannot be started: {error.strerror}")
    try:
        out, _ = process.communicate(timeout=seconds)
        return Answer(process.returncode, out[:_MOST].decode("utf-8", "replace"))
    except subprocess.TimeoutExpired:
        return Answer(None, f"it gave no answer within {seconds:g} seconds")
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if process.stdout is not None:
            process.stdout.close()
