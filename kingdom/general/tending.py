"""Looks after one soldier at a time, without ever waiting for it.

Each look answers what became of the attempt: how it ended, that it never began, or nothing yet.
In between it is asked to end when that was decided, stopped and let go on, and killed when asking
does not help. Its time is counted by its own wrapper; only a wrapper that hangs is ended from here.
Whoever looks again later, also after a crash, goes on from the same files.
"""

from __future__ import annotations

import signal
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kingdom.clients.tmux import TmuxThread
from kingdom.clock import Clock
from kingdom.engines import tree
from kingdom.general.attempt import Attempt, Stage
from kingdom.general.spec import LOST, Ended, SoldierFiles, Spec
from kingdom.general.verdicts import longest_attempt

START_PATIENCE = 30.0  # seconds that a wrapper may take until it begins
ASK_TMUX_AFTER = 2.0  # seconds until it is asked whether there is a session at all
_END_PATIENCE = 12.0  # seconds a wrapper may take to end its tree, before we do it
_SOON = 0.05
_QUIET_LOOKS, _STILL_SECONDS = 3, 5.0


@dataclass(frozen=True)
class NeverBegan:
    """It did not run, and now never will."""

    why: str


Fate = Ended | NeverBegan | None


class Tender:
    def __init__(self, files: SoldierFiles, tmux: TmuxThread, clock: Clock) -> None:
        self._files = files
        self._tmux = tmux
        self._clock = clock
        self.wanted_in = float("inf")  # seconds until someone must be looked at again

    def start(self, attempt: Attempt, argv: Sequence[str], memory_mb: int | None) -> None:
        """Has tmux make its session."""
        spec, words = attempt.spec, list(argv)
        assert spec is not None
        name, place = spec.soldier_id, spec.cwd
        attempt.begun_at = self._clock.monotonic()
        self._tmux.ask(name, lambda tmux: tmux.start(name, words, place, memory_mb))

    def hear(self, attempts: Iterable[Attempt]) -> None:
        """What tmux says of those it was asked about."""
        by_soldier = {one.spec.soldier_id: one for one in attempts if one.spec}
        for answer in self._tmux.answers():
            attempt = by_soldier.get(answer.key)
            if attempt is None:
                continue
            if answer.failure is not None:
                attempt.refusal = str(answer.failure)
            elif answer.value is False:
                attempt.refusal = "Its session ended before it began."

    def begin(self) -> None:
        """A new round of looks."""
        self.wanted_in = float("inf")
        self._survey: tree.Survey | None = None

    def look(self, attempt: Attempt, *, to_end: bool, frozen: bool) -> Fate:
        spec = attempt.spec
        assert spec is not None
        ended = self._files.exit_of(spec.soldier_id)
        if ended is not None:
            return ended
        if attempt.runner is None:
            return self._await_runner(attempt, spec, to_end)
        if not attempt.runner.is_alive():
            return self._bury(attempt, spec)
        is_hung = self._is_hung(attempt, spec)
        if attempt.condemned or to_end or self._is_ending(attempt) or is_hung:
            self._end(attempt, spec)
        else:
            self._freeze_or_thaw(attempt, spec, frozen)
        return None

    # Before the wrapper has begun

    def _await_runner(self, attempt: Attempt, spec: Spec, to_end: bool) -> Fate:
        runner = self._files.runner_of(spec.soldier_id)
        if runner is not None:
            attempt.watch(runner)
            attempt.watched_from = self._clock.monotonic()
            attempt.stage = Stage.RUNNING if spec.frozen_at is None else Stage.FROZEN
            self._soon()
            return None
        if attempt.begun_at is None:
            return None  # nobody asked tmux yet
        waited = self._clock.monotonic() - attempt.begun_at
        why = attempt.refusal or ("tmux does not answer." if waited > START_PATIENCE else "")
        if (to_end or why) and self._files.revoke(spec.soldier_id):
            return NeverBegan(why)
        if why and self._files.is_damaged(spec.soldier_id):
            return self._bury(attempt, spec)
        self._ask_tmux(attempt, spec)
        self._want(ASK_TMUX_AFTER)
        return None

    def _ask_tmux(self, attempt: Attempt, spec: Spec) -> None:
        """Whether there is a session at all, if its wrapper takes long."""
        now = self._clock.monotonic()
        if now - max(attempt.begun_at or 0.0, attempt.asked_tmux_at) >= ASK_TMUX_AFTER:
            attempt.asked_tmux_at = now
            self._tmux.ask(spec.soldier_id, lambda tmux: spec.soldier_id in tmux.sessions())

    # While it runs

    @staticmethod
    def _is_ending(attempt: Attempt) -> bool:
        return attempt.asked_to_end_at is not None

    def _is_hung(self, attempt: Attempt, spec: Spec) -> bool:
        """Its wrapper: it lets no soldier work for so long, by its own count."""
        watched = self._clock.monotonic() - attempt.watched_from
        return spec.frozen_at is None and watched > longest_attempt(spec)

    def _end(self, attempt: Attempt, spec: Spec) -> None:
        """Ask its wrapper; one that does not manage is killed with all that is its."""
        assert attempt.runner is not None
        now, pid = self._clock.monotonic(), attempt.runner.pid
        if attempt.asked_to_end_at is None:
            attempt.asked_to_end_at = now
            attempt.stage = Stage.ENDING
            tree.send([pid], signal.SIGTERM, signal.SIGCONT)
        elif now - attempt.asked_to_end_at > _END_PATIENCE:
            tree.send([pid, *self._members(attempt, spec)], signal.SIGKILL)
            self._tmux.ask("", lambda tmux: tmux.end(spec.soldier_id))
        self._want(1.0)

    def _bury(self, attempt: Attempt, spec: Spec) -> Fate:
        """Its wrapper is gone. What it had in its care must be gone, too, before the next one."""
        ended = self._files.exit_of(spec.soldier_id)  # written in its last moment
        if ended is not None:
            return ended
        attempt.close()
        living = self._members(attempt, spec)
        if not living:
            self._files.clear_temporaries()
            return Ended(LOST, self._clock.now().timestamp())
        tree.send(living, signal.SIGKILL)
        self._soon()
        return None

    # Frozen

    def _freeze_or_thaw(self, attempt: Attempt, spec: Spec, frozen: bool) -> None:
        if frozen and spec.frozen_at is None:
            # The clock first: a crash in between leaves one that stands still, and is then stopped.
            self._change(attempt, spec.frozen(self._clock.now().timestamp()), Stage.FROZEN)
            attempt.quiet_looks, attempt.look_at = 0, 0.0
        if frozen:
            self._keep_still(attempt, spec)
        elif not frozen and spec.frozen_at is not None:
            # The clock last: a crash in between leaves one that is let go on once more.
            tree.send(self._members(attempt, spec), signal.SIGCONT)
            self._change(attempt, spec.thawed(self._clock.now().timestamp()), Stage.RUNNING)
            attempt.watched_from = self._clock.monotonic()

    def _keep_still(self, attempt: Attempt, spec: Spec) -> None:
        """One look is not enough: what forks and ends meanwhile leaves a child that it misses."""
        left = attempt.look_at - self._clock.monotonic()
        if left <= 0:
            running = [pid for pid, stopped in self._members(attempt, spec).items() if not stopped]
            tree.send(running, signal.SIGSTOP)
            attempt.quiet_looks = 0 if running else attempt.quiet_looks + 1
            left = _SOON if attempt.quiet_looks < _QUIET_LOOKS else _STILL_SECONDS
            attempt.look_at = self._clock.monotonic() + left
        self._want(left)

    def _change(self, attempt: Attempt, spec: Spec, stage: Stage) -> None:
        self._files.change(spec)
        attempt.spec, attempt.stage = spec, stage

    def _members(self, attempt: Attempt, spec: Spec) -> dict[int, bool]:
        """Asked once for all soldiers of a round, since it looks at every process."""
        if self._survey is None:
            self._survey = tree.Survey()
        return self._survey.members(attempt.runner.pid if attempt.runner else None, spec.soldier_id)

    def _soon(self) -> None:
        self._want(_SOON)

    def _want(self, seconds: float) -> None:
        self.wanted_in = min(self.wanted_in, seconds)
