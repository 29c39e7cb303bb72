"""The general: runs soldiers for its tasks, many at once, and waits for none of them.

Reads `queue/tasks/pending/` (its own), `state/control/`, `config/`, `memory/`.
Writes `queue/tasks/`, `queue/messages/pending/` (what soldiers do meanwhile), `state/results/`,
`state/prompts/`, `state/soldiers/`, `state/sessions.json`, `state/{general}/{sweep,clock}.json`,
`workspace/`, `memory/generals/{general}/`, `logs/sessions/`, and a line per step to
`logs/tasks.log`. Keeps in memory one `Attempt` per task in hand; all of it can be found again on
disk.

A crash leaves soldiers running, with their tasks in `in_progress/`. The next start claims those,
adopts the soldiers that live, harvests those that ended, and tries again what was lost. An attempt
is begun by whoever makes its `.claim` first, so none begins twice, and none after it was given up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import timedelta
from functools import partial

from kingdom.bus.port import Accept, Claim, Problem
from kingdom.clients.tmux import Tmux, TmuxThread
from kingdom.engines.choice import Engines
from kingdom.errors import LeaseLost
from kingdom.general.attempt import Attempt, needs_no_soldier
from kingdom.general.control import Control
from kingdom.general.following import Following
from kingdom.general.gate import Gate
from kingdom.general.grounds import AFTER, BEFORE, Grounds, Heard, code_of
from kingdom.general.handwork import Handwork
from kingdom.general.launching import Launcher
from kingdom.general.leftovers import Leftovers
from kingdom.general.mustering import Muster
from kingdom.general.purse import Purse
from kingdom.general.registry import Entry, Register, Registry
from kingdom.general.releases import Releases
from kingdom.general.reporting import Reporter
from kingdom.general.spec import Ended, SoldierFiles
from kingdom.general.sweeping.sweeper import Sweeper
from kingdom.general.tending import ASK_TMUX_AFTER, NeverBegan, Tender
from kingdom.general.winding_up import WindingUp
from kingdom.models.task import Task
from kingdom.runtime.role import Setting
from kingdom.store.watch import Watch
from kingdom.topology import ROLES

TASKS = "tasks"
POISON = "crashed_too_often"
_MOST_FAULTS = 3  # of ours, over one task
_AT_ONCE = 10  # soldiers begun in one step, so that a step stays short
_LONGEST_PAUSE = float(ROLES["general"].poll_seconds)
_SOON, _WITHOUT_NOTIFICATION = 0.05, 0.5


def make(setting: Setting) -> General:
    return General(setting)


class General:
    streams = (TASKS,)

    def __init__(self, setting: Setting) -> None:
        base, clock, environment = setting.base, setting.clock, setting.environment
        self.name = setting.name
        self._bus = setting.bus
        self._clock = clock
        self._config = setting.config
        self._log = setting.log
        self._faults = setting.faults
        self._package = setting.config.current.general(setting.name)
        self._attempts: dict[str, Attempt] = {}
        self._files = SoldierFiles(base)
        self._files.keep_private()
        self._control = Control(base)
        self._registry = Registry(base, self.name, self._files, clock)
        self._engines = Engines(environment, base.root)
        purse = Purse(setting)
        self._launcher = Launcher(base, self._files, clock, environment, self._engines, purse)
        self._tmux = TmuxThread(Tmux(base, environment))
        self._tender = Tender(self._files, self._tmux, clock)
        self._reporter = Reporter(setting, self._files, self._control, self._engines, purse)
        self._following = Following(setting, self._files, self._engines)
        self._leftovers = Leftovers(base, self.name, self._files, self._bus, clock)
        self._handwork = Handwork(setting, self._control, self._reporter)
        self._gate = Gate(setting, self._control, purse)
        self._grounds = Grounds(setting)
        self._sweeper = Sweeper(setting, self._files, self._grounds.repositories)
        self._watch = Watch()
        for directory in (base.soldiers, base.control, base.state):
            self._watch.add(directory)
        self._winding_up = WindingUp(setting, self._grounds, self._reporter)
        self._releases = Releases(setting, self._grounds, self._reporter)
        self._muster = Muster(
            setting,
            self._control,
            self._gate,
            self._grounds,
            self._launcher,
            self._leftovers,
            self._reporter,
            self._sweeper,
        )
        self._entered: list[Entry] | None = None  # what sessions.json says of this general

    # The role

    def start(self) -> None:
        """Take up again what a former life left in progress."""
        self._control.look()
        waiting = [one for one in self._bus.waiting(TASKS) if isinstance(one, Task)]
        left = [one.id for one in waiting if self._was_at_it(one)]
        for claim in self._bus.claim(TASKS, self.name, ids=left, lease=self._lease):
            self._take(claim)
        self._sweep()

    def _was_at_it(self, task: Task) -> bool:
        with self._faults.contained(f"{TASKS}/{task.id}"):
            return task.status == "in_progress" or self._handwork.take_from_pending(task)
        return False

    def step(self) -> float:
        self._refresh()
        self._watch.changes()  # whatever it tells of is looked at below
        self._control.look()
        self._tender.hear(self._attempts.values())
        self._hear_grounds()
        self._tender.begin()
        for attempt in list(self._attempts.values()):
            self._tend(attempt)
        self._take_cancelled()
        self._take_releases()
        self._sweep()
        with self._faults.contained("workspaces"):
            self._sweeper.step()
        with self._faults.contained("new soldiers"):
            self._begin()
        return self._pause()

    def _sweep(self) -> None:
        with self._faults.contained("soldiers without a task"):
            self._leftovers.sweep(self._soldiers())

    def accepts(self) -> Mapping[str, Accept]:
        has_room = self._muster.room > 0 and not self._gate.reason
        if self._may_release:
            return {TASKS: lambda type_, priority: has_room or needs_no_soldier(type_)}
        return {TASKS: lambda type_, priority: has_room}

    def descriptors(self) -> Sequence[int]:
        # That of one that has ended can be read for ever, and there is no news in it.
        living = (one for one in self._attempts.values() if not one.has_ended)
        runners = (one.descriptor for one in living if one.descriptor >= 0)
        watch = [self._watch.fileno()] if self._watch.available else []
        return [
            *watch,
            self._tmux.fileno(),
            self._grounds.fileno(),
            self._sweeper.fileno(),
            *runners,
        ]

    def stop(self) -> None:
        """Soldiers keep running, and their tasks stay in progress until someone adopts them."""
        self._tmux.close()
        self._grounds.close()
        self._sweeper.close()
        self._watch.close()
        self._registry.close(self._entries())
        for attempt in self._attempts.values():
            attempt.close()

    # Configuration

    def _refresh(self) -> None:
        """A package that was removed stays in force for the soldiers at work."""
        before = self._config.problem
        self._config.refresh()
        problem = self._config.problem
        if problem is not None and problem is not before:
            self._log.warning("config.refused", error=str(problem), code=problem.code)
        self._package = self._config.current.generals.get(self.name, self._package)

    @property
    def _lease(self) -> timedelta:
        return timedelta(seconds=self._config.current.settings.system.delivery.tasks.lease_seconds)

    # Tasks in hand

    def _take(self, claim: Claim) -> Attempt:
        known = self._attempts.get(claim.id)
        if known is not None:  # its lease ran out while this machine slept
            known.claim, known.renew_at = claim, self._renewal()
            return known
        attempt = Attempt(claim, self._renewal())
        self._attempts[claim.id] = attempt
        if claim.taken_over:
            self._adopt(attempt)
            limit = self._config.current.settings.system.delivery.tasks.max_crashes
            if claim.message.delivery.crash_count > limit:
                attempt.condemned = POISON
        return attempt

    def _adopt(self, attempt: Attempt) -> None:
        """The soldier that was at this very attempt, dead or alive; the next look tells which."""
        spec = self._files.read(self._files.soldier_of(attempt.task.id))
        if spec is None or (spec.task_id, spec.attempt) != (attempt.task.id, attempt.number):
            return
        attempt.adopt(spec, self._clock.monotonic() - ASK_TMUX_AFTER)
        self._reporter.adopted(attempt, spec)

    def _renewal(self) -> float:
        return self._clock.monotonic() + self._lease.total_seconds() / 3

    def _alone(self, attempt: Attempt) -> AbstractContextManager[None]:
        """Whatever goes wrong with one task costs no other."""
        what = f"{TASKS}/{attempt.task.id}"
        return self._faults.contained(what, partial(self._set_aside, attempt))

    def _set_aside(self, attempt: Attempt, problem: Problem) -> None:
        """At first it is only looked at again; then it ends as failed; and if even that cannot be,
        it goes to `dead/`."""
        attempt.faults += 1
        if not attempt.condemned:
            attempt.condemned = problem.code if attempt.faults >= _MOST_FAULTS else ""
        elif attempt.faults >= 2 * _MOST_FAULTS:
            self._bus.bury(attempt.claim, problem)
            self._let_go(attempt)
            self._leftovers.look_again()  # its soldier has no task any more

    def _tend(self, attempt: Attempt) -> None:
        with self._alone(attempt):
            self._look_after(attempt)

    def _look_after(self, attempt: Attempt) -> None:
        self._handwork.undo(attempt)
        if attempt.task.id in self._control.cancelled and not attempt.condemned:
            found = self._control.why_cancelled(attempt.task.id)
            attempt.condemned, attempt.condemned_why = found
        try:
            self._renew(attempt)
            if attempt.is_release:
                if self._releases.tend(attempt, self._package.manifest):
                    self._let_go(attempt)
            elif attempt.spec is not None:
                self._tend_soldier(attempt)
            elif attempt.condemned and not self._leftovers.has_predecessor(attempt.task.id):
                self._fail(attempt, attempt.condemned, attempt.condemned_why)
        except LeaseLost as error:
            if self._handwork.undo(attempt):
                return  # moved in this very moment; the next look goes on
            self._log.warning("task.lost", task_id=attempt.task.id, error=str(error))
            self._let_go(attempt)
            self._leftovers.look_again()

    def _renew(self, attempt: Attempt) -> None:
        if self._clock.monotonic() >= attempt.renew_at:
            attempt.claim = self._bus.extend(attempt.claim, self._lease)
            attempt.renew_at = self._renewal()

    def _tend_soldier(self, attempt: Attempt) -> None:
        frozen = self._control.is_frozen(attempt.task.id)
        fate = self._tender.look(attempt, to_end=bool(attempt.condemned), frozen=frozen)
        if attempt.runner is not None and not attempt.announced:
            attempt.announced = True
            self._gate.tmux_works()
            self._reporter.spawned(attempt)
        if fate is None:
            self._following.look(attempt)
        if isinstance(fate, Ended):
            attempt.has_ended = True
            if self._winding_up.finish(attempt, fate, self._package.manifest):
                self._let_go(attempt)
        elif isinstance(fate, NeverBegan):
            self._give_up_start(attempt, fate)

    def _hear_grounds(self) -> None:
        for heard in self._grounds.heard():
            attempt = self._attempts.get(heard.task_id)
            if attempt is None:
                continue
            with self._alone(attempt):
                if heard.when == BEFORE and attempt.spec is None:
                    self._hear_of_repository(attempt, heard)
                elif heard.when == AFTER and not attempt.waits_for_soldier:
                    self._winding_up.hear(attempt, heard)

    def _hear_of_repository(self, attempt: Attempt, heard: Heard) -> None:
        if heard.failure is None:
            attempt.checkout = heard.value
        elif not attempt.condemned:  # else its end is seen to anyway
            self._fail(attempt, *code_of(heard.failure))

    def _give_up_start(self, attempt: Attempt, fate: NeverBegan) -> None:
        """No attempt is counted. What a former life did not get to start is started now."""
        assert attempt.spec is not None
        self._files.put_away(attempt.spec)
        at_once = attempt.adopted
        attempt.reset()
        if not at_once and not attempt.condemned:
            self._gate.tmux_rests(fate.why)
            self._fail(attempt, "tmux_failed", fate.why)

    def _fail(self, attempt: Attempt, code: str, error: str = "") -> None:
        self._reporter.fail(attempt, code, error, self._package.manifest)
        self._let_go(attempt)

    def _let_go(self, attempt: Attempt) -> None:
        attempt.close()
        self._attempts.pop(attempt.task.id, None)

    def _take_cancelled(self) -> None:
        """Those that still wait in the queue: they need no soldier to end."""
        for id_ in self._control.cancelled - self._attempts.keys():
            found = self._bus.look(TASKS, id_)
            if found is None or getattr(found[1], "target_general", "") != self.name:
                continue
            if found[0] not in ("pending", "in_progress"):
                self._control.forget(id_)
                continue
            for claim in self._bus.claim(TASKS, self.name, ids=[id_], lease=self._lease):
                self._tend(self._take(claim))

    def _take_releases(self) -> None:
        """They need no soldier, so they wait neither for one nor for its engine or budget."""
        if self._may_release:
            for claim in self._bus.claim(
                TASKS, self.name, _AT_ONCE, lease=self._lease, accept=needs_no_soldier
            ):
                self._tend(self._take(claim))

    @property
    def _may_release(self) -> bool:
        return self._gate.is_installed() and not self._control.all_frozen

    # New soldiers

    def _begin(self) -> None:
        closed = self._gate.look()
        if closed and self._entries() == self._entered:
            return
        with self._registry.open() as register:
            if register is None:
                self._entered, self._muster.room = None, 0
                return
            if not closed:
                self._fill(register)
            self._entered = self._entries()
            register.write(self._entered)
        for attempt in self._attempts.values():
            if attempt.spec is not None and attempt.begun_at is None:
                memory = self._config.current.settings.system.runtime.max_memory_mb
                self._tender.start(attempt, self._launcher.argv(attempt.spec), memory)
        waiting = (one.spec for one in self._attempts.values() if one.runner is None)
        self._launcher.sandboxes.close_pipes(
            {spec.soldier_id for spec in waiting if spec is not None}
        )

    def _entries(self) -> list[Entry]:
        return [entry for one in self._attempts.values() if (entry := one.entry()) is not None]

    def _fill(self, register: Register) -> None:
        """As many as both limits allow, those already in hand first."""
        self._muster.count(register, self._attempts.values(), self._package.manifest)
        for attempt in list(self._attempts.values()):
            self._prepare(attempt)
        if self._muster.room <= 0:
            return
        limit = min(self._muster.room, _AT_ONCE)
        for claim in self._bus.claim(TASKS, self.name, limit, lease=self._lease):
            attempt = self._take(claim)
            self._tend(attempt)
            if claim.id in self._attempts:
                self._prepare(attempt)

    def _prepare(self, attempt: Attempt) -> None:
        with self._alone(attempt):
            error = self._muster.prepare(attempt, self._package)
            if error is not None:
                self._fail(attempt, error.code, error.sentence)

    def _soldiers(self) -> set[str]:
        return {one.spec.soldier_id for one in self._attempts.values() if one.spec is not None}

    def _pause(self) -> float:
        """Until someone's lease, limit or patience needs a look."""
        attempts = self._attempts.values()
        now = self._clock.monotonic()
        moments = [one.renew_at - now for one in attempts]
        moments += [self._tender.wanted_in, self._gate.rests_for(), _LONGEST_PAUSE]
        moments += [self._gate.engine_rests_for(), self._following.rests_for(attempts)]
        tries = map(self._winding_up.rests_for, attempts)
        moments += [seconds for seconds in tries if seconds is not None]
        if self._entered is None or any(map(self._muster.waits_for_predecessor, attempts)):
            moments.append(_SOON)
        if self._attempts and not self._watch.available:
            moments.append(_WITHOUT_NOTIFICATION)
        return max(min(moments), 0.0)
