"""What a role is, what it is given, and the loop that every role runs in.

A role's own code decides and acts; it never waits. Waiting, waking, the heartbeat, the lock, the
log, signals and what becomes of an error are the same for all, and are here.

Reads `config/`; writes `state/{name}/{lock,pid,heartbeat}` and the logs. A crash leaves the lock
free (the kernel sees to it), and what the role had in hand comes back through the bus.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from kingdom.bus.files.bus import FileBus
from kingdom.bus.files.guard import refused
from kingdom.bus.opening import open_bus
from kingdom.bus.port import Accept
from kingdom.clock import Clock, RunningClock
from kingdom.errors import EXIT_DONE, EXIT_FAILED, KingdomError, NeverWorks, TryLater
from kingdom.limits import limit_in
from kingdom.runtime.faults import Faults
from kingdom.runtime.internal_log import InternalLog
from kingdom.runtime.logging import configure, get_logger
from kingdom.runtime.measures import Measures
from kingdom.runtime.notify import Notifier
from kingdom.runtime.own_output import OwnOutput
from kingdom.runtime.processes import LONGEST_REST, EndAsked, Seat
from kingdom.runtime.waits import Waits
from kingdom.store.libc import keep_memory_private
from kingdom.store.locks import Lock
from kingdom.store.paths import BaseDir
from kingdom.store.state import unread
from kingdom.topology import role_of

if TYPE_CHECKING:
    from structlog.typing import FilteringBoundLogger

    from kingdom.runtime.config import LiveConfig

LONGEST_WAIT = LONGEST_REST
LONGEST_TURN = LONGEST_WAIT + 5.0  # seconds between two looks at the clock; more means it slept
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 30.0  # after a step that may work another time
# What a machine refuses for a while: no reason to fall over, and nothing a restart would mend.
PASSING = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.EMFILE, errno.ENFILE)
# What a person mends while the role waits: `kingdom status` says how.
MENDABLE = (errno.EACCES, errno.EPERM, errno.EISDIR, errno.ENOTDIR, errno.ELOOP)

SEE_STATUS = "It goes on without. See what mends it with: kingdom status"
DISPLACED = "Its lock was removed or replaced, so another could take its place; it ends."


class Role(Protocol):
    """One long-running process, as its loop sees it."""

    name: str
    streams: tuple[str, ...]

    def start(self) -> None:
        """Once, after the bus recovered: adopt what a former life left."""

    def step(self) -> float:
        """Do all that is due now, without blocking; seconds until it is wanted again."""

    def accepts(self) -> Mapping[str, Accept]:
        """What of its streams may wake it."""

    def descriptors(self) -> Sequence[int]:
        """What else may wake it, when it can be read."""

    def stop(self) -> None:
        """An orderly end, between two steps."""


@dataclass(frozen=True)
class Setting:
    """All that a role is given."""

    name: str
    base: BaseDir
    environment: Mapping[str, str]
    bus: FileBus
    config: LiveConfig
    clock: Clock
    log: FilteringBoundLogger
    internal: InternalLog

    @cached_property
    def faults(self) -> Faults:
        return Faults(self.base, self.name, self.clock, self.log, may_pass)

    def tell(self, type_: str, data: dict[str, Any], trace_id: str | None = None) -> None:
        """An internal event about what is done already: nothing that fails here can undo it."""
        try:
            with self.faults.contained(f"telling of {type_}"):
                self.internal.emit(type_, data, trace_id)
        except TryLater as error:
            self.log.warning("log.not_written", error=str(error), type=type_)


Make = Callable[[Setting], Role]
T = TypeVar("T")


def run(
    base: BaseDir,
    name: str,
    make: Make,
    environment: Mapping[str, str],
    *,
    config: LiveConfig | None = None,
    clock: Clock | None = None,
) -> int:
    """This process is that role until a signal asks it to end; answers the exit code.

    A `config` given by the warden is the last good one it knows, so that a role can be restarted
    while someone is in the middle of editing a file.
    """
    clock = clock or RunningClock(LONGEST_TURN)
    configure(name, base, environment=environment)
    seat, asked = Seat(base, name), EndAsked()
    patience = _Patience(asked)
    notifier = Notifier(environment, clock)
    try:
        lock = patience.obtain(lambda: _taken(seat))
        if lock is None:
            return EXIT_DONE
        keep_memory_private()
        patience.beat = lambda: _beat(seat, lock, notifier)
        patience.waits = Waits(base, name)
        return _sit(
            seat,
            lock,
            patience,
            notifier,
            make,
            lambda: _setting(base, name, environment, config, clock),
        )
    finally:
        asked.close()


def _taken(seat: Seat) -> Lock:
    try:
        return seat.take()
    except OSError as error:
        if not _is_mendable(error):
            raise
        raise NeverWorks(
            f"{error.filename}: {error.strerror}.",
            remedy="See what mends it with: kingdom status",
            code="no_access",
        ) from error


def _beat(seat: Seat, lock: Lock, notifier: Notifier) -> None:
    """Without its lock in place, the seat may be another's already."""
    notifier.alive()
    if lock.is_in_place():
        seat.beat()


def _sit(
    seat: Seat,
    lock: Lock,
    patience: _Patience,
    notifier: Notifier,
    make: Make,
    prepare: Callable[[], Setting],
) -> int:
    log = get_logger()
    try:
        code = _live(lock, patience, notifier, make, prepare)
        patience.say_why_it_waits(None)
        return code
    except Exception as error:  # whatever it is, the warden starts it again
        known = limit_in(error) or error
        if not isinstance(known, KingdomError):
            log.exception("role.crashed")
            return EXIT_FAILED
        patience.say_why_it_waits(known)
        log.error("role.failed", error=str(known), code=known.code)
        return known.exit_code
    finally:
        if lock.is_in_place():
            seat.leave()


def _setting(
    base: BaseDir,
    name: str,
    environment: Mapping[str, str],
    config: LiveConfig | None,
    clock: Clock,
) -> Setting:
    from kingdom.runtime.config import LiveConfig

    if config is None:
        config = LiveConfig(base, environment, clock)
    else:
        config.refresh(at_once=True)  # what was written a moment ago is meant for this start
    general = name if role_of(name) == "general" else None
    bus = open_bus(base, config.current.settings, general=general, clock=clock)
    internal = InternalLog(base, name, clock)
    return Setting(name, base, environment, bus, config, clock, get_logger(), internal)


def _live(
    lock: Lock,
    patience: _Patience,
    notifier: Notifier,
    make: Make,
    prepare: Callable[[], Setting],
) -> int:
    setting = patience.obtain(prepare)
    if setting is None:
        return EXIT_DONE
    try:
        role = make(setting)
        loop = _Loop(role, setting, patience)
        if loop.begin():
            notifier.ready()
            while lock.is_in_place() and not patience.asked:
                loop.turn()
            notifier.stopping()
            loop.end()
        if not lock.is_in_place():
            setting.log.error("role.displaced", lock=lock.path, error=DISPLACED)
            return EXIT_FAILED
        setting.log.info("role.stopped")
    finally:
        setting.bus.close()
    return EXIT_DONE


class _Patience:
    """Tries what may work another time, with pauses that grow."""

    def __init__(self, asked: EndAsked) -> None:
        self.asked = asked
        self.beat: Callable[[], None] = lambda: None  # nothing, before there is a seat
        self.waits: Waits | None = None
        self._pause = 0.0

    def obtain(self, act: Callable[[], T]) -> T | None:
        """What it answers, tried while the machine refuses; None if asked to end before. One that
        may open no more files ends: what it has opened so far would only be in the way."""
        found: list[T] = []
        while not self.asked and not found:
            self.tries(lambda: found.append(act()), of_machine_only=True)
        return found[0] if found else None

    def tries(self, act: Callable[[], None], *, of_machine_only: bool = False) -> bool:
        """Whether it could be done; after one that may work another time, a pause."""
        try:
            act()
        except (TryLater, OSError, RuntimeError) as error:
            waits = (
                is_of_machine(error) if of_machine_only else may_pass(error) or _is_mendable(error)
            )
            if not waits or (of_machine_only and limit_in(error) is not None):
                raise
            self._wait_for_better_times(_in_our_words(error))
            return False
        self._pause = 0.0
        return True

    def _wait_for_better_times(self, error: KingdomError) -> None:
        self._pause = min(self._pause * 2, LONGEST_PAUSE) or FIRST_PAUSE
        self.say_why_it_waits(error)
        get_logger().warning("role.paused", error=str(error), code=error.code, seconds=self._pause)
        with suppress(OSError):  # a full disk may be what it waits for
            self.beat()
        self.asked.pause(self._pause)

    def say_why_it_waits(self, error: KingdomError | None) -> None:
        if self.waits is None:
            return
        if error is None:
            self.waits.no_more()
        else:
            self.waits.because(error)


def may_pass(error: Exception) -> bool:
    """Whether the same may work another time."""
    return isinstance(error, TryLater) or is_of_machine(error)


def is_of_machine(error: Exception) -> bool:
    """Whether it is the machine that refuses, and only for a while."""
    return _errno(error) in PASSING or limit_in(error) is not None


def _is_mendable(error: Exception) -> bool:
    return _errno(error) in MENDABLE


def _errno(error: Exception) -> int | None:
    cause = error if isinstance(error, OSError) else error.__cause__
    return cause.errno if isinstance(cause, OSError) else None


def _in_our_words(error: Exception) -> KingdomError:
    known = limit_in(error) or error
    if isinstance(known, KingdomError):
        return known
    return refused(known) if isinstance(known, OSError) else TryLater(str(known))


class _Loop:
    """Step, heartbeat, wait; and a pause when the world is not ready for a step."""

    def __init__(self, role: Role, setting: Setting, patience: _Patience) -> None:
        self._role = role
        self._bus = setting.bus
        self._log = setting.log
        self._clock = setting.clock
        self._measures = Measures(setting.base, setting.name, setting.bus, setting.clock)
        self._output = OwnOutput(setting.base)
        self._patience = patience
        self._asked = patience.asked
        self._said_unread: dict[str, str] = {}
        setting.faults.begin()

    def begin(self) -> bool:
        """Recover and start, as often as it takes; False if it was asked to end before."""
        while not self._asked:
            if self._patience.tries(self._begin):
                return True
        return False

    def _begin(self) -> None:
        self._measures.start()
        found = self._bus.recover()
        self._role.start()
        self._log.info("role.started", commits=found.commits, lost_leases=found.lost_leases)

    def turn(self) -> None:
        self._patience.tries(self._turn)

    def _say_what_was_unread(self) -> None:
        while unread:
            path, error = unread.popitem()
            if self._said_unread.get(path) != error:
                self._said_unread[path] = error
                self._log.warning("state.unread", file=path, error=error, remedy=SEE_STATUS)

    def end(self) -> None:
        self._role.stop()
        with suppress(TryLater):  # whoever ends owes nobody a last count
            self._measures.keep(at_once=True)

    def _turn(self) -> None:
        seconds = self._role.step()
        self._patience.say_why_it_waits(None)
        self._patience.beat()
        self._say_what_was_unread()
        self._measures.keep()
        self._output.follow()
        if self._asked:
            return
        self._bus.wait(
            self._role.streams,
            max(min(seconds, LONGEST_WAIT), 0.0),
            accepts=self._role.accepts(),
            also=[self._asked.fileno(), *self._role.descriptors()],
        )
        self._asked.drain()
        if isinstance(self._clock, RunningClock) and (seconds := self._clock.new_gaps()):
            self._log.warning("role.slept", seconds=round(seconds))
