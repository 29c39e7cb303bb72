"""One run of another program: fed, heard and, when its time is over, ended with all it started."""

from __future__ import annotations

import os
import resource
import selectors
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import IO, NamedTuple

from kingdom.clients.leash import descriptor, leashed
from kingdom.clock import RunningClock
from kingdom.limits import LimitReached, limit_in

_SLICE = 1.0  # seconds between two looks at the clock
_MB = 1024 * 1024
MOST_OUTPUT = 256 * _MB
_COMPLAINT_LIMIT = 16 * 1024
_CHUNK = 65536


class Cut(Exception):
    """It did not come to its own end; why, in half a sentence. Clients put it in theirs."""


class Late(Cut):
    """It took too long, and was ended."""


class TooMuch(Cut):
    """It printed more than it may."""


class Missing(Cut):
    """There is no such program."""


@dataclass(frozen=True)
class Said:
    code: int
    out: bytes
    complaint: str

    @property
    def text(self) -> str:
        return self.out.decode("utf-8", "surrogateescape").strip()


def find(program: str, environment: Mapping[str, str]) -> str | None:
    """Where it lies, by this environment's PATH."""
    return shutil.which(program, path=environment.get("PATH", os.defpath))


class Answer(NamedTuple):
    """`code` is None for one that did not answer in time, or could not be started."""

    code: int | None
    said: str


def ask(argv: Sequence[str], environment: Mapping[str, str], seconds: float = 20.0) -> Answer:
    """Something that it answers at once, such as its version; all it started ends with it."""
    try:
        run = Run(argv, environment, timeout=seconds)
        try:
            said = run()
        finally:
            run.end()
    except (Cut, LimitReached) as error:
        return Answer(None, f"it {error}" if isinstance(error, Cut) else str(error))
    return Answer(said.code, f"{said.text}\n{said.complaint}".strip())


class Run:
    def __init__(
        self,
        argv: Sequence[str],
        environment: Mapping[str, str],
        *,
        timeout: float,
        directory: str = "/",
        largest_file: int | None = None,
        on_leash: bool = False,
        lend: tuple[int, ...] = (),
        most_output: int = MOST_OUTPUT,
    ) -> None:
        """The program is looked for on the environment's PATH. `on_leash`: it ends with whoever
        started it, however that one ends. `lend`: descriptors that it holds open as long as it
        runs."""
        program = find(argv[0], environment)
        if program is None:
            raise Missing(f"{argv[0]} is not installed")
        self._timeout = timeout
        self._most_output = most_output
        self._clock = RunningClock(_SLICE + 5.0)  # it may take its time while we did not run
        self._deadline = self._clock.monotonic() + timeout
        self._out = bytearray()
        self._complaint = bytearray()
        try:
            command = [program, *argv[1:]]
            self._process = subprocess.Popen(
                leashed(command) if on_leash else command,
                env=environment,
                cwd=directory,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
                pass_fds=(descriptor(), *lend) if on_leash else lend,
                bufsize=0,
                preexec_fn=partial(_limit_files, largest_file) if largest_file else None,
            )
        except OSError as error:
            if (limit := limit_in(error, starting=True)) is not None:
                raise limit from error
            raise Cut(f"could not be started: {error.strerror}") from None

    def __call__(self, stdin: bytes = b"") -> Said:
        with self._process:
            try:
                self._converse(stdin)
                code = self._awaited()
            except BaseException:
                self.end()
                raise
        return Said(code, bytes(self._out), self._complaint.decode("utf-8", "replace"))

    def _converse(self, stdin: bytes) -> None:
        process, left = self._process, memoryview(stdin)
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        os.set_blocking(process.stdin.fileno(), False)
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdin, selectors.EVENT_WRITE)
            selector.register(process.stdout, selectors.EVENT_READ)
            selector.register(process.stderr, selectors.EVENT_READ)
            while selector.get_map():
                for key, _ in self._ready(selector):
                    if key.fileobj is process.stdin:
                        left = self._feed(process.stdin, left)
                        goes_on = bool(left)
                    else:
                        goes_on = self._hear(key.fd, key.fileobj is process.stdout)
                    if not goes_on:
                        selector.unregister(key.fileobj)
                    if not left:
                        process.stdin.close()

    def _ready(self, selector: selectors.BaseSelector) -> list[tuple[selectors.SelectorKey, int]]:
        """Whoever never stops talking is late all the same."""
        ready = selector.select(min(self._seconds_left(), _SLICE))
        if not self._seconds_left():
            raise self._late()
        return ready

    def _awaited(self) -> int:
        """Its exit code; it may have closed its output long before."""
        while True:
            left = self._seconds_left()
            try:
                return self._process.wait(min(left, _SLICE))
            except subprocess.TimeoutExpired:
                if not left:
                    raise self._late() from None

    def _seconds_left(self) -> float:
        return max(self._deadline - self._clock.monotonic(), 0.0)

    def _late(self) -> Late:
        return Late(f"took longer than {self._timeout:g} seconds")

    def _feed(self, pipe: IO[bytes], left: memoryview) -> memoryview:
        try:
            left = left[os.write(pipe.fileno(), left[:_CHUNK]) if left else 0 :]
        except BlockingIOError:
            return left
        except BrokenPipeError:  # it wants no more; its exit code says why
            left = left[:0]
        return left

    def _hear(self, descriptor: int, is_output: bool) -> bool:
        data = os.read(descriptor, _CHUNK)
        if not is_output:
            self._complaint += data
            del self._complaint[: max(len(self._complaint) - _COMPLAINT_LIMIT, 0)]
            return bool(data)
        self._out += data
        if len(self._out) > self._most_output:
            raise TooMuch(f"says more than {self._most_output // _MB} MB")
        return bool(data)

    def end(self) -> None:
        """It, and whatever it started that stayed with it."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


def _limit_files(size: int) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
