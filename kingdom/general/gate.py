"""Why a general begins nothing just now.

Its package was removed, all is frozen, there is no engine, the day's budget is spent, or tmux needs
a rest.
"""

from __future__ import annotations

from datetime import datetime

from kingdom.engines.choice import availability
from kingdom.errors import TryLater
from kingdom.general.control import Control
from kingdom.general.purse import Purse
from kingdom.runtime.role import Setting
from kingdom.runtime.waits import TMUX, Waits
from kingdom.store import disk

_FIRST_REST, _LONGEST_REST = 1.0, 60.0


class Gate:
    def __init__(self, setting: Setting, control: Control, purse: Purse) -> None:
        self._setting = setting
        self._purse = purse
        self._control = control
        self._rests_until = 0.0
        self._rest = _FIRST_REST
        self._why = ""
        self._waits = Waits(setting.base, setting.name, TMUX)
        self._waits.no_more()
        self.reason = ""
        self.on_trial = False  # whether the engine is
        self._engine_until: datetime | None = None

    def look(self) -> str:
        """The reason, or nothing; said in the log once, when it changes."""
        reason = self._find_reason()
        if reason and reason != self.reason:
            self._setting.log.warning("general.waits", reason=reason)
        elif self.reason and not reason:
            self._setting.log.info("general.goes_on")
        self.reason = reason
        return reason

    def is_installed(self) -> bool:
        """Whether its package is there at this very moment. Asked with the registry in hand: a
        warden that found it gone, and then no soldier in the registry, may dismiss its general."""
        package = self._setting.config.current.generals.get(self._setting.name)
        return package is not None and disk.exists(package.directory)

    def _find_reason(self) -> str:
        self._engine_until = None  # nobody waits for it while something else is in the way
        if not self.is_installed():
            return "Its package was removed; it only sees to the soldiers it has."
        if self._control.all_frozen:
            return "All work is frozen."
        if self.rests_for() < float("inf"):
            return f"tmux would not start a session, and is asked again in a while: {self._why}"
        setting = self._setting
        engine = availability(
            setting.config.current.settings,
            setting.environment,
            setting.base.root,
            setting.clock.now(),
        )
        self.on_trial = engine.on_trial
        self._engine_until = engine.until
        return self._purse.reason() if engine.available else f"{engine.reason} {engine.remedy}"

    def tmux_rests(self, why: str) -> None:
        """It failed: longer each time. What keeps soldiers from being started is told."""
        self._rests_until = self._setting.clock.monotonic() + self._rest
        self._rest = min(self._rest * 2, _LONGEST_REST)
        self._why = why
        self._waits.because(TryLater(f"No soldier can be started. {why}", code="tmux_failed"))

    def tmux_works(self) -> None:
        self._rest = _FIRST_REST
        self._waits.no_more()

    def engine_rests_for(self) -> float:
        """Seconds until the engine takes work again, if that is known."""
        if not self.reason or self._engine_until is None:
            return float("inf")
        left = (self._engine_until - self._setting.clock.now()).total_seconds()
        return max(left, 0.0)

    def rests_for(self) -> float:
        """Seconds; for ever when it does not rest, since nothing is to be waited for then."""
        left = self._rests_until - self._setting.clock.monotonic()
        return left if left > 0 else float("inf")
