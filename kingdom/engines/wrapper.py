"""Runs one attempt: starts the program, counts its time, ends its whole tree, says how it ended.

Reads `state/soldiers/{soldier}.json`, the spec that its general wrote. Makes `.claim` beside it
before anything is started (a general that gave the attempt up has made it already, and then
nothing is), `.checks` once its program has ended and its success is checked, and `.exit` at the
end. Output goes to `logs/sessions/`, and to the terminal for
whoever attaches. A program that prints more than it may is killed, and most of it is thrown away.

It needs no general: killed daemons, a stopped kingdom and a hung program are all survived, because
all limits are kept here (`time_limits`). A wrapper that is killed leaves a `.claim` and no `.exit`,
and its program dies with it.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from kingdom import limits
from kingdom.engines import tree
from kingdom.engines.output import Echo, cut
from kingdom.engines.said import write_said
from kingdom.engines.same_call import SAME_CALL, SameCalls
from kingdom.engines.sandbox.bubblewrap import STOPPED, Box
from kingdom.engines.sandbox.run import KeysMissing, Sandbox, exit_of, read_keys
from kingdom.engines.time_limits import LINGERED, Signs, WorkTime, why_to_end
from kingdom.limits import LimitReached
from kingdom.store import disk, rights

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
STOP = signal.SIGUSR1  # ends it, like the others, and is held against nobody
_ASKS = {
    signal.SIGTERM: "asked",
    signal.SIGINT: "asked",
    signal.SIGHUP: "hangup",
    STOP: "stopped",
}
FLOODED, NO_SANDBOX, REFUSED = "flooded", "no_sandbox", "refused"
LATE = "late_after_seconds"  # in what is said of a check that took too long
ANNOUNCED = "verify: "  # before each check, in what the soldier said
_SIGNALS = {signal.SIGCHLD, *_ASKS}
_LARGEST_SPEC = 16 * 1024 * 1024
_LARGEST_RESULT = 1024 * 1024
_TICK = 0.5  # seconds between two looks at the time and at the output
_QUICK_TICK = 0.02
_GRACE = 5.0  # seconds a tree has between TERM and KILL
_UNKILLABLE = 30.0  # seconds after which a process that survives KILL (a dead disk) is left alone
_CANNOT_START = 127
_CHECK_SECONDS = 1800.0  # where the spec does not say it
_IN_ORDER = ("ended", LINGERED)

Spec = dict[str, object]


def main(spec_path: str) -> int:
    stem = spec_path.removesuffix(".json")
    # From here on they wait in line; a hang-up must not end us before the tree is ended.
    signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    for number in _SIGNALS:  # one that is ignored would not even wait
        signal.signal(number, signal.SIG_DFL)
    spec = read_spec(spec_path)
    try:
        sandbox = None if spec is None else _sandbox(stem, spec)
    except KeysMissing:
        return 0
    if spec is None or not _claim(stem):
        return 0
    if not disk.exists(spec_path):  # given up, and tidied away between our two looks
        disk.remove(f"{stem}.claim")
        return 0
    wrapper = Wrapper(spec_path, spec, sandbox)
    try:
        report = wrapper.run()
    except LimitReached as limit:
        report = wrapper.refused(limit)
    disk.replace(f"{stem}.exit", json.dumps(report).encode() + b"\n", sync=False)
    return 0


def read_spec(path: str) -> Spec | None:
    try:
        data, _ = disk.read(path, _LARGEST_SPEC)
        spec: Spec = json.loads(data)
    except (OSError, ValueError):
        return None
    return spec


def _sandbox(stem: str, spec: Spec) -> Sandbox | None:
    section = spec.get("sandbox")
    if not isinstance(section, dict) or not section:
        return None
    return Sandbox(section, read_keys(stem, section))


def _claim(stem: str) -> bool:
    """Whether the attempt is ours to run."""
    me = os.getpid()
    try:
        disk.create_whole(f"{stem}.claim", f"run {me} {tree.started(me)}\n".encode())
    except FileExistsError:
        return False
    return True


class Wrapper:
    def __init__(self, spec_path: str, spec: Spec, sandbox: Sandbox | None = None) -> None:
        self._spec_path = spec_path
        self._spec = spec
        self._sandbox = sandbox
        self._soldier = str(spec["soldier_id"])
        self._asked = ""
        self._reason = "ended"
        self._echo: Echo | None = None
        self._time = WorkTime()
        self._signs = Signs(spec)
        self._calls = SameCalls(str(spec.get("engine")), str(spec["stdout"]))
        self._spec_stamp: object = None  # it is read again at the first tick
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)

    def run(self) -> dict[str, object]:
        out, err = str(self._spec["stdout"]), str(self._spec["stderr"])
        self._output = disk.create_and_open(out, rights.MODE)
        self._errors = disk.create_and_open(err, rights.MODE)
        files = (self._output, self._errors)
        self._echo = Echo(f"{self._soldier}: {self._spec['task_id']}", out, err)
        status = self._run_program()
        worked = self._note_end_of_program()
        self._end_tree()
        self._write_said()
        checks = self._verify(worked) if self._wants_checks() else []
        if self._reason == FLOODED:
            cut(*files)
        code = self._exit_code(status)
        return {
            "code": code if code >= 0 else None,
            "signal": -code if code < 0 else None,
            "reason": self._reason,
            "ended_at": time.time(),
            "worked_seconds": worked,
            "verify": checks,
            "over_budget": self._over_budget(),
        }

    def refused(self, limit: LimitReached) -> dict[str, object]:
        """No program could be started, or no check of its success."""
        os.write(self._errors, f"{limit}\n".encode())
        self._end_tree()
        return {"reason": REFUSED, "ended_at": time.time(), "worked_seconds": 0.0}

    def _run_program(self) -> int:
        try:
            program = self._start(_words(self._spec["argv"]), asks_model=True)
        except OSError as error:  # of the sandbox; what was begun of it ends with the tree
            os.write(self._errors, f"sandbox: {error}\n".encode())
            self._reason = NO_SANDBOX
            return 0
        return self._await(program, self._ends_program)

    def _start(self, argv: list[str], *, asks_model: bool = False) -> int:
        environment, directory = self._spec["environment"], str(self._spec["cwd"])
        assert isinstance(environment, dict)
        if self._sandbox is None:
            return self._fork(argv, environment)
        return self._sandbox.start(self._fork, argv, environment, directory, asks_model=asks_model)

    def _fork(
        self, argv: Sequence[str], environment: Mapping[str, str], box: Box | None = None
    ) -> int:
        me = os.getpid()
        with open(str(self._spec["stdin"]), "rb") as prompt:
            pid = limits.fork()
            if pid == 0:
                self._become(argv, environment, prompt.fileno(), me, box)
        return pid

    def _become(
        self,
        argv: Sequence[str],
        environment: Mapping[str, str],
        prompt: int,
        wrapper: int,
        box: Box | None,
    ) -> None:
        """In the child. A session of its own: no terminal, so it cannot wait for someone there."""
        try:
            os.setsid()
            tree.mark(self._soldier)
            self._libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
            if os.getppid() != wrapper:  # killed before we could ask to die with it
                os._exit(_CANNOT_START)
            for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them, programs do not
                signal.signal(number, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_SETMASK, ())
            for ours, theirs in ((prompt, 0), (self._output, 1), (self._errors, 2)):
                os.dup2(ours, theirs)
            if box is None:
                os.chdir(str(self._spec["cwd"]))
            else:
                box.inherit()
            os.execvpe(argv[0], [*argv], dict(environment))
        except OSError as error:
            os.write(2, f"{argv[0]}: {error.strerror}\n".encode())
        finally:
            os._exit(_CANNOT_START)

    def _exit_code(self, status: int) -> int:
        code = os.waitstatus_to_exitcode(status)
        return code if self._sandbox is None else exit_of(code)

    # Waiting

    def _await(self, pid: int, why_to_end: Callable[[], str]) -> int:
        """The program's wait status, once it has ended by itself or had to."""
        while True:
            status = _reap(pid)
            if status is not None:
                return status
            reason = self._asked or self._floods() or why_to_end()
            if reason:
                self._reason = reason
                return self._end_tree(pid)
            if self._sandbox is not None:
                self._sandbox.requests.answer_one()
            self._pause(_TICK)

    def _pause(self, seconds: float) -> None:
        if self._echo is not None:
            self._echo.go_on()
        info = signal.sigtimedwait(_SIGNALS, seconds)
        self._count_time()
        if info is not None and info.si_signo in _ASKS:
            self._asked = _ASKS[signal.Signals(info.si_signo)]

    def _count_time(self) -> None:
        """A freeze is written in the spec, and so is its end."""
        stamp = _stamp(self._spec_path)
        if stamp != self._spec_stamp:
            self._spec = read_spec(self._spec_path) or self._spec
            self._spec_stamp = stamp
        self._time.tick(frozen=self._spec.get("frozen_at") is not None)

    def _ends_program(self) -> str:
        self._signs.look(self._time.seconds)
        return why_to_end(self._spec, self._time.seconds, self._signs) or self._repeats()

    def _repeats(self) -> str:
        limit = self._spec.get("same_call")
        return SAME_CALL if limit and self._calls.most() >= _number(limit) else ""

    def _floods(self) -> str:
        limit = self._spec.get("max_output_bytes")
        if not limit:
            return ""
        size = sum(disk.size_of(file) for file in {self._output, self._errors})
        return FLOODED if size > _number(limit) else ""

    # Ending

    def _end_tree(self, pid: int = 0) -> int:
        """Everything below us: asked, then killed. The wait status of `pid`."""
        status, began = None, self._time.clock.monotonic()
        # Whoever floods the disk is not given the time to go on with it.
        number = signal.SIGKILL if self._reason == FLOODED else signal.SIGTERM
        told: set[int] = set()
        while True:
            ended = _reap(pid) if status is None else _reap(0)
            status = ended if status is None else status
            living = tree.members(os.getpid(), self._soldier)
            elapsed = self._time.clock.monotonic() - began
            if not living or elapsed > _UNKILLABLE:
                if status is None:  # it ended between our two looks
                    status = _reap(pid)
                return status or 0
            if elapsed > _GRACE and number == signal.SIGTERM:
                number, told = signal.SIGKILL, set()
            # One that is stopped hears nothing else before it goes on.
            asked = living.keys() - told
            if number == signal.SIGTERM and self._sandbox is not None:
                asked -= self._sandbox.own_pids  # it would kill what is inside at once
            tree.send(asked, number, signal.SIGCONT)
            told |= living.keys()
            self._pause(_QUICK_TICK)

    # Checks of a success

    def _note_end_of_program(self) -> float:
        """How long it worked; from here on nobody holds time against it."""
        self._count_time()
        worked = self._time.seconds
        if self._spec["verify"] and self._reason in _IN_ORDER:
            self._note_check("", worked)
        return worked

    def _note_check(self, command: str, worked: float) -> None:
        path = f"{self._spec_path.removesuffix('.json')}.checks"
        text = json.dumps({"command": command, "worked_seconds": worked})
        with suppress(OSError):  # a full disk; then nobody is told
            disk.replace(path, text.encode(), sync=False)

    def _write_said(self) -> None:
        """For an engine whose soldiers may report otherwise than in a file."""
        if self._reason in _IN_ORDER:
            spec = self._spec
            words = (str(spec[name]) for name in ("task_id", "stdout", "result_path"))
            try:
                write_said(str(spec.get("engine")), *words)
            except OSError:
                return  # a full disk; the general looks again

    def _over_budget(self) -> str:
        """Which limit refused it a call of the model, if one did."""
        path = self._spec_path.removesuffix(".json") + STOPPED
        return disk.head(path, 64).decode("ascii", "replace")

    def _wants_checks(self) -> bool:
        return bool(self._spec["verify"]) and self._reason in _IN_ORDER and self._won()

    def _won(self) -> bool:
        try:
            data, _ = disk.read(str(self._spec["result_path"]), _LARGEST_RESULT)
            result = json.loads(data)
        except (OSError, ValueError):
            return False
        return isinstance(result, dict) and result.get("status") == "success"

    def _verify(self, worked: float) -> list[dict[str, object]]:
        """In order; the first that fails is the last."""
        done: list[dict[str, object]] = []
        self._output = self._errors
        for command in _words(self._spec["verify"]):
            self._note_check(command, worked)
            os.write(self._errors, f"{ANNOUNCED}{command}\n".encode())
            done.append(self._check(command))
            is_late = LATE in done[-1]
            if done[-1]["code"] != 0 or is_late or self._reason not in _IN_ORDER:
                break
        return done

    def _check(self, command: str) -> dict[str, object]:
        """Each has a time of its own; one that takes longer has failed."""
        before, began = self._reason, self._time.seconds
        limit = _number(self._spec.get("verify_timeout_seconds", _CHECK_SECONDS))

        def late() -> str:
            self._beat()
            return LATE if self._time.seconds - began >= limit else ""

        status = self._await(self._start(["/bin/sh", "-c", command]), late)
        self._end_tree()
        seconds = round(self._time.seconds - began, 3)
        done: dict[str, object] = {
            "command": command,
            "code": self._exit_code(status),
            "seconds": seconds,
        }
        if self._reason == LATE:
            self._reason, done[LATE] = before, limit
        return done

    def _beat(self) -> None:
        """A sign of life, for whoever looks for one."""
        path = self._spec.get("heartbeat_path")
        if path:
            with suppress(OSError):
                disk.touch(str(path))


def _reap(pid: int) -> int | None:
    """Takes up whoever has ended; the status of `pid` if it is among them."""
    found = None
    while True:
        try:
            ended, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return found
        if ended == 0:
            return found
        if ended == pid:
            found = status


def _words(value: object) -> list[str]:
    assert isinstance(value, list)
    return [str(word) for word in value]


def _stamp(path: str) -> object:
    facts = disk.facts_of(path)
    return facts and disk.stamp_of(facts)


def _number(value: object) -> float:
    assert isinstance(value, int | float)
    return float(value)
