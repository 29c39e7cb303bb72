"""Removes what has had its time from a general's workspace, beside the general's loop.

What a soldier left uncommitted or unpushed is kept under private refs before its worktree goes;
what could not be kept is moved aside instead. Each step may be cut off anywhere and is done again
by the next round.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import assert_never

from kingdom.errors import KingdomError
from kingdom.general.checkouts import trees
from kingdom.general.checkouts.repositories import Repositories
from kingdom.general.spec import SoldierFiles
from kingdom.general.sweeping.places import home_of, places
from kingdom.general.sweeping.retention import Due, Found, due, undated
from kingdom.general.sweeping.rounds import Rounds
from kingdom.runtime.config import Config
from kingdom.runtime.errands import Errands
from kingdom.runtime.role import Setting
from kingdom.runtime.task_log import TaskLog
from kingdom.settings.chamberlain import Retention
from kingdom.store import disk


class Sweeper:
    def __init__(
        self, setting: Setting, files: SoldierFiles, connect: Callable[[Config], Repositories]
    ) -> None:
        self._setting = setting
        self._log = setting.log
        self._tasks_log = TaskLog(setting.base, setting.name, setting.clock)
        self._files = files
        self._connect = connect
        self._home = home_of(setting.base, setting.name)
        self._rounds = Rounds(setting.base, setting.name, setting.clock)
        self._errands = Errands("sweep")
        self._is_busy = False
        self._told: set[str] = set()  # what failed and was said once
        self._lock = threading.Lock()
        self._taken: set[str] = set()  # directories that work began in since the round did
        self._at = ""  # the directory that is being removed
        self.fileno = self._errands.fileno
        self.close = self._errands.close

    # In the general's loop

    def step(self) -> None:
        for answer in self._errands.answers():
            self._is_busy = False
            if answer.failure is not None:
                self._log.warning("sweep.failed", error=str(answer.failure))
        if self._is_busy or not self._rounds.is_due():
            self._tell_of_clock()
            return
        self._is_busy = True
        with self._lock:
            self._taken.clear()  # whoever began before is seen in the queue
        config = self._setting.config.current
        self._errands.ask("sweep", lambda: self.sweep(config))

    def _tell_of_clock(self) -> None:
        if self._rounds.clock_moved:
            self._rounds.clock_moved = False
            self._log.warning("sweep.put_off", error="The clock was moved, or stood still.")

    def lets_in(self, place: str) -> bool:
        """Whether work can begin in this directory; from now on it is left alone."""
        name = os.path.basename(place)
        with self._lock:
            if name == self._at:
                return False
            self._taken.add(name)
            return True

    # Beside it

    def sweep(self, config: Config) -> None:
        """One round; it blocks."""
        trees.clear_work(self._home)
        repositories = self._connect(config)
        for one in self._due(repositories, config.settings.chamberlain.retention):
            self._tried(one.path, partial(self._remove, one, repositories))
        self._tried(self._home, repositories.compact)

    def _tried(self, path: str, act: Callable[[], None]) -> None:
        try:
            act()
        except (KingdomError, OSError) as error:
            if path not in self._told:
                self._told.add(path)
                self._log.warning("sweep.refused", path=path, error=str(error))

    def _due(self, repositories: Repositories, retention: Retention) -> list[Due]:
        setting, now = self._setting, self._setting.clock.now()
        survey = repositories.survey()
        lying = places(setting.base, setting.name, setting.bus, self._files, survey)
        seen = self._rounds.remember(undated(survey), now)
        return due(Found(tuple(lying), survey, seen), now.timestamp(), retention)

    def _remove(self, one: Due, repositories: Repositories) -> None:
        match one.kind:
            case "aside":
                self._throw_away(one.path)
                self._log.info("aside.removed", path=one.path, why=one.why)
            case "ref":
                assert one.ref is not None
                repositories.forget_kept(one.ref, one.path)
                ref = one.ref
                self._log.info("ref.removed", path=one.path, ref=ref.name, sha=ref.sha, why=one.why)
            case "workspace":
                self._remove_place(one, repositories)
            case "clone":
                if repositories.discard(one.path):
                    self._log.info("clone.removed", path=one.path, why=one.why)
            case _:
                assert_never(one.kind)

    def _remove_place(self, one: Due, repositories: Repositories) -> None:
        with self._lock:
            if one.task in self._taken:
                return
            self._at = one.task
        try:
            kept = repositories.remove(one.task)
            if one.whole and not any(map(os.path.isabs, kept)):  # else some of it was moved aside
                self._throw_away(one.path)
        finally:
            with self._lock:
                self._at = ""
        told = ", ".join(kept) or None
        self._tasks_log.note(one.task, "removed", path=one.path, why=one.why, kept=told)
        self._log.info("workspace.removed", task_id=one.task, why=one.why, kept=kept)

    def _throw_away(self, path: str) -> None:
        """Out of sight in one step; the rest can be cut off."""
        with trees.work_directory(self._home) as work, suppress(FileNotFoundError):
            disk.move_anything(path, os.path.join(work, os.path.basename(path)))
