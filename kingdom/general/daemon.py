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
from datetime import timedelta

from kingdom.bus.port import Accept, Claim
from kingdom.clients.tmux import Tmux, TmuxThread
from kingdom.engines.choice import Engines
from kingdom.errors import ConfigurationError, KingdomError, LeaseLost
from kingdom.general.actions.jobs import lineage_of
from kingdom.general.attempt import Attempt, Stage
from kingdom.general.control import Control
from kingdom.general.following import Following
from kingdom.general.gate import Gate
from kingdom.general.grounds import AFTER, BEFORE, Aftermath, Grounds, Heard, code_of
from kingdom.general.handwork import Handwork
from kingdom.general.launching import Launcher
from kingdom.general.leftovers import Leftovers
from kingdom.general.registry import Entry, Register, Registry
from kingdom.general.reporting import Reporter
from kingdom.general.spec import Ended, SoldierFiles
from kingdom.general.sweeping.sweeper import Sweeper
from kingdom.general.tending import ASK_TMUX_AFTER, NeverBegan, Tender
from kingdom.general.verdicts import follow
from kingdom.models.task import Task
from kingdom.runtime.config import General as Package
from kingdom.runtime.role import Setting
from kingdom.store.watch import Watch
from kingdom.topology import PENDING, ROLES

TASKS = "tasks"
CANCELLED, POISON = "cancelled", "crashed_too_often"
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
        self._package = _package_of(setting)
        self._attempts: dict[str, Attempt] = {}
        self._files = SoldierFiles(base)
        self._files.keep_private()
        self._control = Control(base)
        self._registry = Registry(base, self.name, self._files, clock)
        self._engines = Engines(environment, base.root)
        self._launcher = Launcher(base, self._files, clock, environment, self._engines)
        self._tmux = TmuxThread(Tmux(base, environment))
        self._tender = Tender(self._files, self._tmux, clock)
        self._reporter = Reporter(setting, self._files, self._control, self._engines)
        self._following = Following(setting, self._files, self._engines)
        self._leftovers = Leftovers(base, self.name, self._files, self._bus, clock)
        self._handwork = Handwork(base, self.name)
        self._gate = Gate(setting, self._control)
        self._grounds = Grounds(setting)
        self._sweeper = Sweeper(setting, self._files, self._grounds.repositories)
        self._watch = Watch()
        for directory in (base.soldiers, base.control, base.state):
            self._watch.add(directory)
        self._room = 0
        self._entered: list[Entry] | None = None  # what sessions.json says of this general

    # The role

    def start(self) -> None:
        """Take up again what a former life left in progress."""
        self._control.look()
        waiting = [one for one in self._bus.waiting(TASKS) if isinstance(one, Task)]
        left = [one.id for one in waiting if self._was_at_it(one)]
        for claim in self._bus.claim(TASKS, self.name, ids=left, lease=self._lease):
            self._take(claim)
        self._leftovers.sweep(self._soldiers())

    def _was_at_it(self, task: Task) -> bool:
        return task.status == "in_progress" or self._handwork.take_from_pending(task)

    def step(self) -> float:
        self._refresh()
        self._watch.changes()  # whatever it tells of is looked at below
        self._control.look()
        self._hear_tmux()
        self._hear_grounds()
        self._tender.begin()
        for attempt in list(self._attempts.values()):
            self._tend(attempt)
        self._take_cancelled()
        self._leftovers.sweep(self._soldiers())
        self._sweeper.step()
        self._begin()
        return self._pause()

    def accepts(self) -> Mapping[str, Accept]:
        has_room = self._room > 0 and not self._gate.reason
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
        self._registry.close()
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
        attempt.spec, attempt.stage = spec, Stage.STARTING
        attempt.adopted = attempt.announced = True
        attempt.begun_at = self._clock.monotonic() - ASK_TMUX_AFTER
        self._reporter.adopted(attempt, spec)

    def _renewal(self) -> float:
        return self._clock.monotonic() + self._lease.total_seconds() / 3

    def _tend(self, attempt: Attempt) -> None:
        self._undo_move(attempt)
        if attempt.task.id in self._control.cancelled:
            attempt.condemned = attempt.condemned or CANCELLED
        try:
            self._renew(attempt)
            if attempt.spec is not None:
                self._tend_soldier(attempt)
            elif attempt.condemned and not self._leftovers.has_predecessor(attempt.task.id):
                self._fail(attempt, attempt.condemned)
        except LeaseLost as error:
            if self._undo_move(attempt):
                return  # moved in this very moment; the next look goes on
            self._log.warning("task.lost", task_id=attempt.task.id, error=str(error))
            self._let_go(attempt)
            self._leftovers.look_again()

    def _undo_move(self, attempt: Attempt) -> bool:
        """Whether a person had moved its file. Back to `pending/`: its soldier goes on, for none
        may begin beside it. To where ended ones lie: it is to end, so it is cancelled."""
        found_in, id_ = self._handwork.moved_to(attempt.claim), attempt.task.id
        if not found_in:
            return False
        if found_in != PENDING:  # before it is put back: a crash in between still ends it
            self._control.cancel(id_, by=f"moved to {found_in}/ by hand", at=self._clock.now())
        if not self._handwork.put_back(attempt.claim, found_in):
            return False
        self._log.warning("task.moved_by_hand", task_id=id_, found_in=found_in)
        self._reporter.put_back(attempt, found_in)
        return True

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
            if self._is_wound_up(attempt, fate):
                self._reporter.harvest(attempt, fate, self._package.manifest)
                self._let_go(attempt)
        elif isinstance(fate, NeverBegan):
            self._give_up_start(attempt, fate)

    def _is_wound_up(self, attempt: Attempt, ended: Ended) -> bool:
        """Whether what it left in its repository is safe, and what it wants outside is done."""
        task, spec = attempt.task, attempt.spec
        assert spec is not None
        if self._grounds.is_busy(task.id) or self._clock.monotonic() < attempt.try_again_at:
            return False
        judgement = self._reporter.judged(attempt, ended)
        wants = judgement.result is not None and bool(judgement.result.actions)
        if not spec.checkout and not wants:
            return True
        if follow(judgement, attempt.number, self._package.manifest.retry) != "report":
            return True  # the next attempt finds it all where it is
        if attempt.aftermath is not None and attempt.aftermath.later is None:
            return True
        lineage = lineage_of(task, self._known_task)
        said, config = judgement.result, self._config.current
        self._grounds.wind_up(task, spec, said, lineage, config)
        return False

    def _known_task(self, id_: str) -> Task | None:
        found = self._bus.look(TASKS, id_)
        return found[1] if found is not None and isinstance(found[1], Task) else None

    def _hear_grounds(self) -> None:
        for heard in self._grounds.heard():
            attempt = self._attempts.get(heard.task_id)
            if attempt is not None and heard.when == BEFORE and attempt.spec is None:
                self._hear_of_repository(attempt, heard)
            elif attempt is not None and heard.when == AFTER and attempt.spec is not None:
                self._hear_of_aftermath(attempt, heard)

    def _hear_of_repository(self, attempt: Attempt, heard: Heard) -> None:
        if heard.failure is None:
            attempt.checkout = heard.value
        elif not attempt.condemned:  # else its end is seen to anyway
            self._fail(attempt, *code_of(heard.failure))

    def _hear_of_aftermath(self, attempt: Attempt, heard: Heard) -> None:
        """A fault of ours is no reason to do the work again."""
        if heard.failure is not None:
            self._log.error("task.not_wound_up", task_id=attempt.task.id, error=str(heard.failure))
            heard_of = f"not done: {code_of(heard.failure)[1]}"
            attempt.aftermath = Aftermath(notes=(heard_of,))
            return
        found: Aftermath = heard.value
        attempt.aftermath = found
        if found.later is not None:
            pause = max((found.later - self._clock.now()).total_seconds(), 1.0)
            attempt.try_again_at = self._clock.monotonic() + pause

    def _give_up_start(self, attempt: Attempt, fate: NeverBegan) -> None:
        """No attempt is counted. What a former life did not get to start is started now."""
        assert attempt.spec is not None
        self._files.forget(attempt.spec.soldier_id)
        at_once = attempt.adopted
        attempt.reset()
        if not at_once and not attempt.condemned:
            self._gate.tmux_rests()
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

    def _hear_tmux(self) -> None:
        by_soldier = {one.spec.soldier_id: one for one in self._attempts.values() if one.spec}
        for answer in self._tmux.answers():
            attempt = by_soldier.get(answer.key)
            if attempt is None:
                continue
            if answer.failure is not None:
                attempt.refusal = str(answer.failure)
            elif answer.value is False:
                attempt.refusal = "Its session ended before it began."

    # New soldiers

    def _begin(self) -> None:
        closed = self._gate.look()
        if closed and self._entries() == self._entered:
            return
        with self._registry.open() as register:
            if register is None:
                self._entered, self._room = None, 0
                return
            if not closed:
                self._fill(register)
            self._entered = self._entries()
            register.write(self._entered)
        for attempt in self._attempts.values():
            if attempt.spec is not None and attempt.begun_at is None:
                self._start_session(attempt)

    def _entries(self) -> list[Entry]:
        return [entry for one in self._attempts.values() if (entry := one.entry()) is not None]

    def _fill(self, register: Register) -> None:
        """As many as both limits allow, those already in hand first."""
        self._room = self._count_room(register) if self._gate.is_installed() else 0
        for attempt in list(self._attempts.values()):
            self._prepare(attempt)
        if self._room <= 0:
            return
        limit = min(self._room, _AT_ONCE)
        for claim in self._bus.claim(TASKS, self.name, limit, lease=self._lease):
            attempt = self._take(claim)
            self._tend(attempt)
            if claim.id in self._attempts:
                self._prepare(attempt)

    def _count_room(self, register: Register) -> int:
        limit, own = self._config.current.settings.king.concurrency, self._package.manifest
        running = sum(_takes_room(one) for one in self._attempts.values())
        room = limit.max_soldiers - register.others() - running
        if self._gate.on_trial:
            room = min(room, 1 - register.others() - running)
        return room if own.max_soldiers is None else min(room, own.max_soldiers - running)

    def _prepare(self, attempt: Attempt) -> None:
        id_, task = attempt.task.id, attempt.task
        if attempt.spec is not None or attempt.condemned or self._grounds.is_busy(id_):
            return
        if self._room <= 0 and not attempt.has_room:
            return
        if self._control.is_frozen(id_) or self._leftovers.has_predecessor(id_):
            return
        place = self._launcher.place_of(task, attempt.number)
        if not self._sweeper.lets_in(place):
            return
        if not attempt.told_of_start:
            self._reporter.started(attempt)
            attempt.told_of_start = True
        if not attempt.has_room:
            attempt.has_room = True
            self._room -= 1
        config = self._config.current
        repo = self._grounds.repo_of(task, self._package, config.settings.system.runtime.engine)
        if repo and attempt.checkout is None:
            self._grounds.prepare(task, place, repo, config)
            return
        try:
            attempt.spec = self._launcher.prepare(
                task, attempt.number, config, self._package, attempt.checkout
            )
        except KingdomError as error:
            self._fail(attempt, error.code, error.sentence)
        else:
            attempt.stage = Stage.STARTING

    def _start_session(self, attempt: Attempt) -> None:
        spec = attempt.spec
        assert spec is not None
        argv = self._launcher.argv(spec)
        attempt.begun_at = self._clock.monotonic()
        self._tmux.ask(spec.soldier_id, lambda tmux: tmux.start(spec.soldier_id, argv, spec.cwd))

    def _soldiers(self) -> set[str]:
        return {one.spec.soldier_id for one in self._attempts.values() if one.spec is not None}

    def _pause(self) -> float:
        """Until someone's lease, limit or patience needs a look."""
        now = self._clock.monotonic()
        moments = [one.renew_at - now for one in self._attempts.values()]
        moments += [self._tender.wanted_in, self._gate.rests_for(), _LONGEST_PAUSE]
        moments += [
            self._gate.engine_rests_for(),
            self._following.rests_for(self._attempts.values()),
        ]
        for one in self._attempts.values():
            if one.aftermath and one.aftermath.later and not self._grounds.is_busy(one.task.id):
                moments.append(one.try_again_at - now)
        if self._entered is None or any(map(self._waits_for_predecessor, self._attempts.values())):
            moments.append(_SOON)
        if self._attempts and not self._watch.available:
            moments.append(_WITHOUT_NOTIFICATION)
        return max(min(moments), 0.0)

    def _waits_for_predecessor(self, attempt: Attempt) -> bool:
        """Nobody tells when that one has ended."""
        if attempt.spec is not None or self._grounds.is_busy(attempt.task.id):
            return False  # it is under way, and grounds tell when they are done
        can_begin = self._room > 0 and not self._control.is_frozen(attempt.task.id)
        return can_begin or bool(attempt.condemned)


def _takes_room(attempt: Attempt) -> bool:
    """Whether a soldier is at it, or about to be."""
    return not attempt.has_ended and (attempt.spec is not None or attempt.has_room)


def _package_of(setting: Setting) -> Package:
    package = setting.config.current.generals.get(setting.name)
    if package is None:
        raise ConfigurationError(
            f"There is no general {setting.name}.",
            remedy=f"Its package belongs into config/generals/{setting.name}/.",
        )
    return package
