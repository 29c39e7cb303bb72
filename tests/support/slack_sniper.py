"""Kills whoever speaks with Slack, at a stage of one of its requests."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

from kingdom.store.paths import BaseDir
from tests.support.slack_server import FakeSlack


class Sniper:
    """Kills a process at its n-th request's stage; what was only received is then not done."""

    def __init__(self, point: int) -> None:
        self.left = point
        self.target = 0

    def __call__(self, stage: str, method: str) -> None:
        self.left -= 1
        if self.left == 0 and self.target:
            os.kill(self.target, signal.SIGKILL)
            if stage == "received":
                raise ConnectionAbortedError(method)


def is_shot(
    base: BaseDir, server: FakeSlack, sniper: Sniper, live: Callable[[BaseDir], None]
) -> bool:
    """A life in a process of its own; whether it has so many stages."""
    server.hook = sniper
    waits, begins = os.pipe()
    child = os.fork()
    if child == 0:
        code = 70
        try:
            os.read(waits, 1)
            live(base)
            code = 0
        finally:
            os._exit(code)
    sniper.target = child
    os.write(begins, b".")
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    sniper.target = 0
    os.close(waits)
    os.close(begins)
    assert code in (0, -signal.SIGKILL)
    return code != 0
