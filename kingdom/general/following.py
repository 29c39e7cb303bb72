"""What soldiers are doing while they work: for `state/sessions.json`, and for those who wait.

Messages are made by king, generals and chamberlain. The king hears of a soldier only when it has
ended, so its general publishes this `thread_update` itself; all ids come from one sequence, which
gives none twice. `context.progress` marks it: such a message never keeps a thread open.

What was told last stands in the soldier's spec, and goes with the checkpoint to the next attempt.
It is written before the message is published: a crash in between costs one message, and whoever
comes back keeps the pause. Nothing is added while the message before still waits to be sent: an
envoy that was down for hours then has one to show.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from kingdom.engines.choice import Engines
from kingdom.engines.wrapper import ANNOUNCED
from kingdom.errors import ConfigurationError, TryLater
from kingdom.general.attempt import Attempt, Stage
from kingdom.general.spec import SoldierFiles, Spec
from kingdom.models.message import ThreadUpdate
from kingdom.runtime.role import Setting
from kingdom.runtime.secrets import Masker
from kingdom.settings.loading import Settings
from kingdom.settings.system import Progress
from kingdom.topology import PENDING
from kingdom.words import Words
from kingdom.words.harmless import harmless

SECONDS = 2.0  # between two looks at what a soldier is doing
MESSAGES = "messages"
_LONGEST = 160  # characters of what it is doing
_PROGRESS = {"progress": True}
_TELLS_WITHIN = 60.0  # seconds; an engine that has told nothing by then never will


class Following:
    def __init__(self, setting: Setting, files: SoldierFiles, engines: Engines) -> None:
        self._setting = setting
        self._files = files
        self._engines = engines
        self._masker = Masker(setting.environment)

    def look(self, attempt: Attempt) -> None:
        now, spec = self._setting.clock.monotonic(), attempt.spec
        if spec is None or attempt.stage is not Stage.RUNNING:
            return
        if now - attempt.followed_at < SECONDS:
            return
        attempt.followed_at = now
        settings = self._setting.config.current.settings
        with suppress(ConfigurationError):  # its engine is configured no more
            attempt.doing = presentable(self._masker.text(self._doing(spec, settings)))
        at = self._setting.clock.now().timestamp()
        if attempt.doing and is_due(spec.told, spec.elapsed(at), at, settings.system.progress):
            self._tell(attempt, spec, at)

    def _doing(self, spec: Spec, settings: Settings) -> str:
        """In its engine's words; or which check runs, once it has ended."""
        checking = self._files.checking(spec)
        if checking is not None and checking.command:
            return f"{ANNOUNCED}{checking.command}"
        return self._engines.named(spec.engine, settings).progress(spec.stdout)

    def rests_for(self, attempts: Iterable[Attempt]) -> float:
        """Seconds until someone is to be looked at again."""
        now = self._setting.clock.now().timestamp()
        return SECONDS if any(_is_followed(one, now) for one in attempts) else float("inf")

    def _tell(self, attempt: Attempt, spec: Spec, now: float) -> None:
        if attempt.doing == spec.told.get("text") or self._waits(spec.told.get("message")):
            return
        try:
            id_ = self._setting.bus.next_id("msg")
            told = {"at": now, "text": attempt.doing, "message": id_}
            attempt.spec = replace(spec, told=told)
            self._files.change(attempt.spec)
            self._setting.bus.publish(MESSAGES, self._message(id_, attempt, attempt.spec, now))
        except (TryLater, OSError) as error:  # the work itself goes on
            facts = {"task_id": spec.task_id, "soldier_id": spec.soldier_id}
            self._setting.log.warning("progress.not_told", error=str(error), **facts)

    def _waits(self, message: object) -> bool:
        found = self._setting.bus.look(MESSAGES, message) if isinstance(message, str) else None
        return found is not None and found[0] == PENDING

    def _message(self, id_: str, attempt: Attempt, spec: Spec, now: float) -> ThreadUpdate:
        words = Words(self._setting.config.current.settings.system.language)
        name = "general_working" if spec.attempt == 1 else "general_working_again"
        told = {
            "general": spec.general,
            "doing": attempt.doing,
            "span": words.span(spec.elapsed(now)),
        }
        again = {} if spec.attempt == 1 else {"attempt": spec.attempt}
        return ThreadUpdate(
            id=id_,
            content=words(name, **told, **again),
            context=_PROGRESS,
            created_at=self._setting.clock.now(),
            task_id=spec.task_id,
            trace_id=attempt.task.trace_id,
        )


def _is_followed(attempt: Attempt, now: float) -> bool:
    if attempt.spec is None or attempt.stage is not Stage.RUNNING:
        return False
    return (
        bool(attempt.doing or attempt.spec.verify) or now - attempt.spec.started_at < _TELLS_WITHIN
    )


def is_due(told: Mapping[str, Any], worked: float, now: float, pace: Progress) -> bool:
    """Whether the thread may be told again; a moment that lies ahead is of a clock set back."""
    if not pace.thread_after_seconds or worked < pace.thread_after_seconds:
        return False
    at = told.get("at")
    if not isinstance(at, int | float):
        return True
    return pace.thread_every_seconds > 0 and not 0 <= now - at < pace.thread_every_seconds


def presentable(doing: str) -> str:
    """Chosen by the soldier, so it may hold anything: one short line that steers no terminal."""
    line = harmless(" ".join(doing.split()), keep="")
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"
