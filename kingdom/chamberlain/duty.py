"""What every duty of the chamberlain is, and what it is given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any, Protocol

from kingdom.models.resources import Health, Tokens
from kingdom.runtime.config import Config
from kingdom.runtime.role import Setting
from kingdom.store import disk
from kingdom.store.state import read_json, write_json
from kingdom.words import Words


class Duty(Protocol):
    """One thing the chamberlain sees to. Its trouble is its own: the others go on."""

    name: str

    def start(self) -> None:
        """Once: know again what a former life did."""

    def step(self) -> float:
        """Do what is due now, a slice of it if it is long; seconds until it is wanted again.

        A slice takes a moment at most: heartbeat and measurements wait for it.
        """

    def stop(self) -> None:
        """An orderly end."""


@dataclass
class Board:
    """What duties let each other know; nothing of it needs to survive."""

    tokens: Tokens = field(default_factory=Tokens)
    # Reasons for health to be at least so bad, beside what is measured, by whoever says so.
    burdens: dict[str, tuple[Health, str]] = field(default_factory=dict)
    has_read_all: bool = False  # of the events log, so that its figures are of all that happened
    told: dict[str, dict[str, Any]] = field(default_factory=dict)  # by `Alerts`, for all duties
    troubles: dict[str, str] = field(default_factory=dict)  # duties that broke, and what of


class Office:
    """What all duties work with."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.base = setting.base
        self.bus = setting.bus
        self.clock = setting.clock
        self.log = setting.log
        self.board = Board()
        self._words: Words | None = None

    @property
    def config(self) -> Config:
        return self.setting.config.current

    @property
    def words(self) -> Words:
        language = self.config.settings.system.language
        if self._words is None or self._words.language != language:
            self._words = Words(language)
        return self._words

    def now(self) -> datetime:
        return self.clock.now()

    def local(self) -> datetime:
        """As the kingdom's wall clock shows it."""
        return self.now().astimezone(self.config.settings.system.zone)

    def today(self) -> date:
        return self.local().date()

    def path(self, *parts: str) -> str:
        """Of what the chamberlain keeps."""
        return self.base.path("state", "chamberlain", *parts)

    def recall(self, name: str) -> dict[str, Any]:
        """What a former life wrote there; nothing, which is said, if it is damaged."""
        found = read_json(self.path(name))
        if isinstance(found, dict):
            return found
        if disk.exists(self.path(name)):
            self.say_damaged(name)
            write_json(self.path(name), {})  # so that it is said once
        return {}

    def say_damaged(self, name: str) -> None:
        self.log.warning("state.damaged", file=self.path(name), error="What is wrong is left out.")

    def tell(self, type_: str, **data: Any) -> None:
        self.setting.tell(type_, data)


MakeDuty = Callable[[Office], Duty]
