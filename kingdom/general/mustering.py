"""Who may begin: how much room there is, and what must be ready before a soldier is."""

from __future__ import annotations

from collections.abc import Iterable

from kingdom.errors import KingdomError
from kingdom.general.attempt import Attempt, Stage
from kingdom.general.control import Control
from kingdom.general.gate import Gate
from kingdom.general.grounds import Grounds
from kingdom.general.launching import Launcher
from kingdom.general.leftovers import Leftovers
from kingdom.general.registry import Register
from kingdom.general.reporting import Reporter
from kingdom.general.sweeping.sweeper import Sweeper
from kingdom.models.manifest import Manifest
from kingdom.runtime.config import General as Package
from kingdom.runtime.role import Setting


class Muster:
    """`room` is for so many soldiers more."""

    def __init__(
        self,
        setting: Setting,
        control: Control,
        gate: Gate,
        grounds: Grounds,
        launcher: Launcher,
        leftovers: Leftovers,
        reporter: Reporter,
        sweeper: Sweeper,
    ) -> None:
        self._config = setting.config
        self._control = control
        self._gate = gate
        self._grounds = grounds
        self._launcher = launcher
        self._leftovers = leftovers
        self._reporter = reporter
        self._sweeper = sweeper
        self.room = 0

    def count(self, register: Register, attempts: Iterable[Attempt], own: Manifest) -> None:
        if not self._gate.is_installed():
            self.room = 0
            return
        limit = self._config.current.settings.king.concurrency
        running = sum(map(_takes_room, attempts))
        room = limit.max_soldiers - register.others() - running
        if self._gate.on_trial:
            room = min(room, 1 - register.others() - running)
        self.room = room if own.max_soldiers is None else min(room, own.max_soldiers - running)

    def prepare(self, attempt: Attempt, package: Package) -> KingdomError | None:
        """Makes it ready as far as that goes now; answers why it cannot be begun at all."""
        id_, task = attempt.task.id, attempt.task
        if not attempt.waits_for_soldier or attempt.condemned or self._grounds.is_busy(id_):
            return None
        if self.room <= 0 and not attempt.has_room:
            return None
        if self._control.is_frozen(id_) or self._leftovers.has_predecessor(id_):
            return None
        place = self._launcher.place_of(task, attempt.number)
        if not self._sweeper.lets_in(place):
            return None
        self._take_room(attempt)
        config = self._config.current
        repo = self._grounds.repo_of(task, package, config.settings.system.runtime.engine)
        if repo and attempt.checkout is None:
            self._grounds.prepare(task, place, repo, config)
            return None
        try:
            attempt.spec = self._launcher.prepare(
                task, attempt.number, config, package, attempt.checkout
            )
        except KingdomError as error:
            return error
        attempt.stage = Stage.STARTING
        return None

    def _take_room(self, attempt: Attempt) -> None:
        if not attempt.told_of_start:
            self._reporter.started(attempt)
            attempt.told_of_start = True
        if not attempt.has_room:
            attempt.has_room = True
            self.room -= 1

    def waits_for_predecessor(self, attempt: Attempt) -> bool:
        """Nobody tells when that one has ended."""
        if not attempt.waits_for_soldier or self._grounds.is_busy(attempt.task.id):
            return False  # it is under way, and grounds tell when they are done
        can_begin = self.room > 0 and not self._control.is_frozen(attempt.task.id)
        return can_begin or bool(attempt.condemned)


def _takes_room(attempt: Attempt) -> bool:
    """Whether a soldier is at it, or about to be."""
    return not attempt.has_ended and (attempt.spec is not None or attempt.has_room)
