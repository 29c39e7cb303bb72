"""systemd itself: where its units lie, whether this kingdom's are there, and what it is told."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from kingdom.errors import NeverWorks, TryLater
from kingdom.ops.systemd.units import target_name
from kingdom.store import disk
from kingdom.store.paths import BaseDir

RUNS = "/run/systemd/system"  # is there on a machine whose first process is systemd
OF_SYSTEM = "/etc/systemd/system"
PATIENCE = 360.0  # seconds; units have their own, shorter patience
_REFUSED = ("authentication required", "access denied")


@dataclass(frozen=True)
class Manager:
    """The system's, or that of one user."""

    of_user: bool
    environment: Mapping[str, str]

    @property
    def directory(self) -> str:
        if not self.of_user:
            return OF_SYSTEM
        home = self.environment.get("HOME") or os.path.expanduser("~")
        return os.path.join(
            self.environment.get("XDG_CONFIG_HOME") or os.path.join(home, ".config"),
            "systemd",
            "user",
        )

    def path(self, unit: str) -> str:
        return os.path.join(self.directory, unit)

    def has(self, base: BaseDir) -> bool:
        return disk.exists(self.path(target_name(base)))

    def is_there(self) -> bool:
        if not self.of_user:
            return os.path.isdir(RUNS)
        place = self.environment.get("XDG_RUNTIME_DIR")
        return bool(place) and os.path.exists(os.path.join(str(place), "systemd", "private"))

    def command(self, *words: str) -> str:
        """What a person types for the same."""
        lead = "systemctl --user" if self.of_user else "sudo systemctl"
        return " ".join((lead, *words))

    def tell(self, *words: str) -> str:
        """What `systemctl` says to that; back when it is done."""
        code, said = self._ask(*words)
        if code == 0:
            return said
        sentence = f"systemd refused ({' '.join(words[:2])}): {_in_a_line(said)}"
        if any(word in said.lower() for word in _REFUSED):
            raise NeverWorks(sentence, remedy=f"Type it yourself: {self.command(*words)}")
        raise TryLater(
            sentence, remedy=f"See: {self.command('status', words[-1])}, and kingdom logs"
        )

    def is_active(self, unit: str) -> bool:
        return self._ask("is-active", "--quiet", unit)[0] == 0

    def version(self) -> int:
        """0 where there is none."""
        words = self._ask("--version")[1].split()
        return int(words[1]) if len(words) > 1 and words[1].isdigit() else 0

    def _ask(self, *words: str) -> tuple[int | None, str]:
        from kingdom.clients.programs import ask

        lead = ["systemctl", *(["--user"] if self.of_user else []), "--no-ask-password"]
        answer = ask([*lead, *words], self.environment, PATIENCE)
        return answer.code, answer.said


def _in_a_line(said: str) -> str:
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    return " ".join(lines[:3]) or "it says nothing"


def managers(environment: Mapping[str, str]) -> tuple[Manager, Manager]:
    return Manager(True, environment), Manager(False, environment)


def keeper(base: BaseDir, environment: Mapping[str, str]) -> Manager | None:
    """The one that has this kingdom's units and runs; None without."""
    found = [one for one in managers(environment) if one.has(base)]
    return next((one for one in found if one.is_there()), None)
