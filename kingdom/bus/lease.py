"""Who holds a message, and whether that process still lives.

`locked_by` reads `king@devbox/5e1f9c02.4026531836/4711/88123`: worker, host, boot and process
namespace, pid, and the process's start in clock ticks, because pids come again. A holder on another
host, or in another namespace of this one, cannot be asked, so its lease lasts until `locked_until`.
One that is known to live has its lease for as long as we have watched it, by our own clock: after a
sleep, or when the wall clock is set, nobody loses what it has in hand.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache

from kingdom.pids import started

_MOST_DIGITS = 20  # of a pid, and of a start in clock ticks


@dataclass(frozen=True)
class Holder:
    worker: str
    host: str
    boot: str
    pid: int
    started: int

    def __str__(self) -> str:
        return f"{self.worker}@{self.host}/{self.boot}/{self.pid}/{self.started}"

    @cached_property
    def process(self) -> str:
        """The process without the worker's name: what a journal belongs to."""
        return f"{self.host}/{self.boot}/{self.pid}/{self.started}"

    @staticmethod
    def of_this_process(worker: str) -> Holder:
        return _of(worker, os.getpid())

    @staticmethod
    @lru_cache(maxsize=256)
    def parse(text: str) -> Holder | None:
        """None for anything a person or another program wrote there."""
        worker, _, place = text.rpartition("@")
        parts = place.split("/")
        if len(parts) != 4 or not all(map(_is_number, parts[2:])):
            return None
        return Holder(worker, parts[0], parts[1], int(parts[2]), int(parts[3]))

    def is_gone(self) -> bool:
        """True only when this host is sure of it."""
        if self.host != _host():
            return False
        if self.boot.partition(".")[0] != boot().partition(".")[0]:
            return True
        return self.boot == boot() and started(self.pid) != self.started

    def is_alive(self) -> bool:
        """True only when this process can see it."""
        here = (self.host, self.boot) == (_host(), boot())
        return here and started(self.pid) == self.started


def _is_number(text: str) -> bool:
    return text.isdecimal() and len(text) <= _MOST_DIGITS


@lru_cache(maxsize=64)
def _of(worker: str, pid: int) -> Holder:
    return Holder(worker, _host(), boot(), pid, started(pid) or 0)


@cache
def _host() -> str:
    return os.uname().nodename.replace("/", "-").replace("@", "-") or "localhost"


@cache
def boot() -> str:
    """This boot of this host, and the process namespace that pids are counted in."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            booted = file.read().strip().replace("-", "")[:12]
        return f"{booted}.{os.readlink('/proc/self/ns/pid').strip('pid:[]')}"
    except OSError:
        return "unknown.0"
