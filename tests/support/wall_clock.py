"""A wall clock that a test sets while real processes run: they ask a library of ours, loaded before
the system's, and it adds what the test says. Other clocks, and the dates of files, stay."""

from __future__ import annotations

import shutil
import struct
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

_SOURCE = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile long long *seconds;

__attribute__((constructor)) static void begin(void) {
    int file = open(getenv("WALL_CLOCK"), O_RDONLY | O_CLOEXEC);
    void *found = mmap(0, sizeof *seconds, PROT_READ, MAP_SHARED, file, 0);
    seconds = found == MAP_FAILED ? 0 : found;
    close(file);
}

int clock_gettime(clockid_t which, struct timespec *told) {
    int failed = syscall(SYS_clock_gettime, which, told);
    if (!failed && seconds && (which == CLOCK_REALTIME || which == CLOCK_REALTIME_COARSE))
        told->tv_sec += *seconds;
    return failed;
}

int gettimeofday(struct timeval *told, void *zone) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    told->tv_sec = now.tv_sec;
    told->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *told) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (told)
        *told = now.tv_sec;
    return now.tv_sec;
}
"""


class WallClock:
    def __init__(self, place: Path) -> None:
        compiler = shutil.which("cc")
        if compiler is None:
            pytest.skip("needs a C compiler")
        source, library = place / "wall_clock.c", place / "wall_clock.so"
        source.write_text(_SOURCE)
        subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source], check=True)
        seconds = place / "wall_clock.seconds"
        seconds.write_bytes(bytes(8))
        self.environment = {"LD_PRELOAD": str(library), "WALL_CLOCK": str(seconds)}

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> WallClock:
        """The one that a process was started with."""
        clock = cls.__new__(cls)
        clock.environment = {name: environment[name] for name in ("LD_PRELOAD", "WALL_CLOCK")}
        return clock

    def shift(self, seconds: int) -> None:
        """So much ahead of the real one from now on, for whoever has the environment."""
        with open(self.environment["WALL_CLOCK"], "r+b") as file:
            file.write(struct.pack("q", seconds))
