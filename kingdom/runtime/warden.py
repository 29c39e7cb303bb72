"""The warden: starts roles in order, restarts the dead with backoff, stops them in reverse.

Roles are forked from this process, which has imported all that they need, so that they share it.
Each is asked to end by the kernel when this process dies, whatever it died of; the next warden
waits until they have.

Writes `state/warden/{lock,pid,heartbeat}`, and the chronicle of its roles. A crash leaves nothing
that the next start minds.
"""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby

from kingdom import __version__
from kingdom.clock import Clock, RunningClock, isoformat
from kingdom.errors import EXIT_DONE, EXIT_FAILED, KingdomError
from kingdom.limits import LimitReached, limit_in
from kingdom.runtime.children import Child, Notice, Post, Wanted, fork, how_it_ended
from kingdom.runtime.chronicle import SYSTEM, Chronicle
from kingdom.runtime.logging import configure, get_logger
from kingdom.runtime.own_output import OwnOutput
from kingdom.runtime.processes import (
    PATIENCE,
    START_NOW,
    WARDEN,
    EndAsked,
    Seat,
    send_signal,
    until,
)
from kingdom.runtime.registry import registry_of
from kingdom.runtime.restarts import FIRST_DELAY
from kingdom.runtime.role import run
from kingdom.runtime.vigil import WATCHER, Vigil
from kingdom.store.libc import keep_memory_private
from kingdom.store.paths import BaseDir
from kingdom.topology import role_of

LONGEST_PAUSE = 2.0  # seconds between two looks at the configuration
LONGEST_TURN = LONGEST_PAUSE + 5.0  # seconds between two looks at the clock; more means it slept
SHORT_PAUSE, LONGEST_START = 0.02, 60.0  # while someone may wait for roles to come up


class Warden:
    def __init__(
        self,
        base: BaseDir,
        suite: Wanted,
        environment: Mapping[str, str],
        *,
        tell: Callable[[Notice], None] = lambda notice: None,
        private: Sequence[int] = (),  # descriptors that are open here and no business of a role's
        clock: Clock | None = None,
        patience: float = PATIENCE,
    ) -> None:
        self._base = base
        self._suite = suite
        self._environment = environment
        self._tell = tell
        self._private = private
        self._problem: KingdomError | None = None
        self._clock = clock or RunningClock(LONGEST_TURN)
        self._patience = patience
        self._children: dict[str, Child] = {}
        self._vigil = Vigil(base)
        self._loops: list[str] = []
        self._watch_closely_until = 0.0
        self._chronicle = Chronicle(base, self._clock)

    def run(self) -> int:
        """This process is the warden until a signal asks it to end."""
        self._asked = EndAsked(signal.SIGCHLD, START_NOW)
        try:
            return self._run(Seat(self._base, WARDEN))
        finally:
            self._asked.close()

    def _run(self, seat: Seat) -> int:
        self._lock = seat.take()
        keep_memory_private()
        configure(WARDEN, self._base, environment=self._environment, clock=self._clock)
        self._log = get_logger()
        self._output = OwnOutput(self._base)
        try:
            self._watch(seat)
            return EXIT_DONE
        except Exception:  # noqa: BLE001 - roles are to be stopped in order even now
            self._log.exception("warden.crashed")
            return EXIT_FAILED
        finally:
            self._stop_all()
            self._chronicle.close()
            seat.leave()

    def _watch(self, seat: Seat) -> None:
        gc.collect()
        gc.freeze()  # what is here now is shared with every role; the collector must not touch it
        self._watch_closely_until = self._clock.monotonic() + LONGEST_START
        self._adjust()
        self._chronicle.tell(SYSTEM, "system.startup", version=__version__)
        self._log.info("warden.started", roles=list(self._children))
        while not self._asked:
            if not self._lock.is_in_place():
                self._log.error("warden.displaced", base_dir=self._base.root)
                return  # the directory was removed: nobody could find us any more to end us
            try:
                self._turn()
                seat.beat()
            except OSError as error:  # a full disk, no more processes: it passes, and we go on
                self._log.error("warden.disturbed", error=str(error))
                self._asked.pause(FIRST_DELAY)
            self._asked.pause(self._until_next())
        number = signal.Signals(self._asked.signal or 0).name
        self._log.info("warden.stopping", signal=number)
        self._stop_all()
        self._chronicle.tell(SYSTEM, "system.shutdown", reason=number)

    def _turn(self) -> None:
        if START_NOW in self._asked.others:
            self._asked.others.discard(START_NOW)
            self._forgive()
        self._reap()
        self._output.follow()
        if self._suite.refresh():
            self._adjust()
        self._note_problem()
        self._end_unwanted()
        self._end_hung()
        self._start_due()
        self._kill_overdue()
        self._announce()

    def _until_next(self) -> float:
        children, now = self._children.values(), self._clock.monotonic()
        if now < self._watch_closely_until and not all(child.announced for child in children):
            return SHORT_PAUSE
        moments = [child.due for child in children if child.pid is None]
        moments += [child.kill_at for child in children if child.kill_at is not None]
        return max(min([LONGEST_PAUSE, *(moment - now for moment in moments)]), 0.0)

    # What is wanted

    def _adjust(self) -> None:
        """New posts get a child; a child whose post is gone is not started again."""
        posts = {post.name: post for post in self._suite.posts()}
        for name, post in posts.items():
            if name not in self._children:
                self._children[name] = Child(post, Seat(self._base, name))
                self._log.info("warden.role_added", target=name)
            self._children[name].wanted = True
        for name in self._children.keys() - posts.keys():
            self._dismiss(self._children[name])
        in_order = [*posts, *(name for name in self._children if name not in posts)]
        self._children = {name: self._children[name] for name in in_order}
        self._write()

    def _note_problem(self) -> None:
        problem = self._suite.config.problem
        if problem is not None and problem is not self._problem:
            self._log.error("warden.config_refused", error=str(problem))
        self._problem = problem

    def _dismiss(self, child: Child) -> None:
        if not child.wanted:
            return
        child.wanted = False
        self._log.info("warden.role_removed", target=child.post.name)
        if child.pid is None:
            del self._children[child.post.name]

    def _end_unwanted(self) -> None:
        """Each as soon as it has nothing left to see to: no other process could do that for it.

        Asked with the registry of soldiers in hand. A general begins one only with that in its own
        and its package in place, so what was not entered by now never will be.
        """
        for child in self._children.values():
            if child.wanted or child.kill_at is not None:
                continue
            with registry_of(self._base) as is_ours:
                busy = not is_ours or self._suite.is_busy(self._base, child.post.name)
            if not busy:
                self._ask_to_end(child)

    def _end_hung(self) -> None:
        """The one that would do so to any other; it tells people of it when it is back."""
        child = self._children.get(WATCHER)
        if child is None:
            return
        threshold = self._suite.config.current.settings.chamberlain.heartbeat.threshold_seconds
        silence = self._vigil.silence(child.pid, threshold, self._clock.monotonic())
        if silence is not None and child.kill_at is None:
            seconds = round(silence)
            self._log.error("warden.role_hung", target=WATCHER, pid=child.pid, seconds=seconds)
            child.hung = {"at": isoformat(self._clock.now()), "seconds": seconds}
            self._ask_to_end(child)
            self._write()

    def _forgive(self) -> None:
        for child in self._children.values():
            child.restarts.forgive()
            child.due = 0.0

    # Start

    def _start_due(self) -> None:
        now = self._clock.monotonic()
        for child in self._children.values():
            if child.pid is None and child.wanted and child.due <= now:
                self._start(child)

    def _start(self, child: Child) -> None:
        child.due = self._clock.monotonic() + FIRST_DELAY  # should it not even come to a fork
        try:
            child.pid = fork(lambda: self._be(child.post), self._abandon)
        except LimitReached as limit:
            self._not_started(child, limit)
            return
        child.kill_at, child.refused = None, ""
        child.restarts.started(self._clock.monotonic())
        if child.restarts.count:
            self._log.warning("warden.role_restarted", target=child.post.name, pid=child.pid)
            self._chronicle.tell(
                WARDEN, "recovery.session_restarted", target=child.post.name, pid=child.pid
            )
        self._write()

    def _not_started(self, child: Child, limit: LimitReached) -> None:
        """It is tried again; whoever waits for it hears why, and so does who asks later."""
        if child.refused != str(limit):
            child.refused = str(limit)
            self._log.error("warden.role_not_started", target=child.post.name, error=str(limit))
            self._write()
        if not child.announced:
            child.announced = True
            self._tell(Notice(child.post.name, 0, str(limit).rstrip(".")))

    def _abandon(self) -> None:
        """In a child: nothing of the warden's is left open."""
        self._asked.close()
        self._lock.close()
        for descriptor in self._private:
            os.close(descriptor)

    def _be(self, post: Post) -> int:
        """In a child: the role's whole life."""
        # A role of a warden that was killed may still be ending.
        until(lambda: not Seat(self._base, post.name).is_taken(), self._patience)
        self._output.follow()  # rotated meanwhile, it would not know its own log again
        try:
            return run(
                self._base, post.name, post.make, self._environment, config=self._suite.config
            )
        except KingdomError as error:
            self._log.error("role.failed", role=post.name, error=str(error), code=error.code)
            return error.exit_code
        except Exception as error:  # noqa: BLE001 - it came before the role had a log of its own
            if (limit := limit_in(error)) is not None:
                self._log.error("role.failed", role=post.name, error=str(limit), code=limit.code)
            else:
                self._log.exception("role.crashed", role=post.name)
            return EXIT_FAILED

    # Death

    def _reap(self) -> None:
        self._asked.others.discard(signal.SIGCHLD)
        for child in list(self._children.values()):
            if child.pid is None:
                continue
            pid, status = os.waitpid(child.pid, os.WNOHANG)
            if pid:
                self._buried(child, os.waitstatus_to_exitcode(status))

    def _buried(self, child: Child, code: int) -> None:
        pid, child.pid = child.pid, None
        child.last_end = how_it_ended(code)
        if not child.wanted:
            del self._children[child.post.name]
            self._tell_of_early_end(child)
        elif not self._asked:
            self._plan_restart(child, pid or 0, code)
        self._write()

    def _tell_of_early_end(self, child: Child) -> None:
        if child.kill_at is None:
            self._log.error(
                "warden.role_not_restarted", target=child.post.name, how=child.last_end,
                reason="Its package was removed. Its soldiers are taken up again when it is back.",
            )  # fmt: skip

    def _plan_restart(self, child: Child, pid: int, code: int) -> None:
        now = self._clock.monotonic()
        # One that ended in order was asked to, by a person who wants it started anew.
        delay = child.restarts.crashed(now) if code else 0.0
        child.due = now + delay
        self._log.warning(
            "warden.role_ended", target=child.post.name, pid=pid, how=child.last_end, again_in=delay
        )
        if child.restarts.is_looping(now):
            self._log.error(
                "warden.crash_loop", target=child.post.name, crashes=child.restarts.recent(now)
            )
        if not child.announced:
            child.announced = True
            self._tell(Notice(child.post.name, pid, child.last_end))

    def _announce(self) -> None:
        now = self._clock.monotonic()
        loops = [name for name, one in self._children.items() if one.restarts.is_looping(now)]
        changed, self._loops = loops != self._loops, loops
        for child in self._children.values():
            if child.pid is not None and not child.announced and child.is_up:
                child.announced = changed = True
                self._tell(Notice(child.post.name, child.pid, ""))
        if changed:
            self._write()

    # Stop

    def _ask_to_end(self, child: Child) -> None:
        if child.pid is not None and child.kill_at is None:
            child.kill_at = self._clock.monotonic() + self._patience
            send_signal(child.pid, signal.SIGTERM)

    def _kill_overdue(self, *, at_once: bool = False) -> None:
        now = self._clock.monotonic()
        for child in self._children.values():
            if child.pid and child.kill_at is not None and (at_once or child.kill_at <= now):
                self._log.error("warden.role_killed", target=child.post.name, pid=child.pid)
                send_signal(child.pid, signal.SIGKILL)
                child.kill_at = now + self._patience

    def _stop_all(self) -> None:
        """Those that started last end first; generals end together."""
        children = list(self._children.values())
        groups = [list(group) for _, group in groupby(children, lambda c: role_of(c.post.name))]
        for group in reversed(groups):
            for child in group:
                self._ask_to_end(child)
                if child.pid is not None:
                    send_signal(child.pid, signal.SIGCONT)  # else a suspended one has to be killed
            while any(child.pid is not None for child in group):
                self._kill_overdue(at_once=self._asked.times > 1)
                self._asked.pause(0.1)
                self._reap()

    def _write(self) -> None:
        self._chronicle.write(self._suite.only, self._children)
