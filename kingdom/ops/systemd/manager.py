"""systemd itself: where its units lie, whether this kingdom's are there, and what it is told."""

from __future__ import annotations

import os
import pwd
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass

from kingdom.errors import NeverWorks, TryLater
from kingdom.ops.systemd.units import target_name
from kingdom.store import disk
from kingdom.store.paths import BaseDir

RUNS = "/run/systemd/system"  # is there on a machine whose first process is systemd
OF_SYSTEM = "/etc/systemd/system"
PATIENCE = 360.0  # seconds; units have their own, shorter patience
_REFUSED = ("authentication required", "access denied")
_RUNTIME = "XDG_RUNTIME_DIR"
_BUS = "DBUS_SESSION_BUS_ADDRESS"
_OF_USERS = os.path.join("systemd", "user")


@dataclass(frozen=True)
class Manager:
    """The system's, or that of one user."""

    of_user: bool
    environment: Mapping[str, str]
    uid: int | None = None  # whose, and then by the list of users; None: the caller's, as told here

    @property
    def directory(self) -> str:
        if not self.of_user:
            return OF_SYSTEM
        if self.uid is not None:
            return os.path.join(_home(self.uid), ".config", _OF_USERS)
        home = self.environment.get("HOME") or os.path.expanduser("~")
        config = self.environment.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
        return os.path.join(config, _OF_USERS)

    def path(self, unit: str) -> str:
        return os.path.join(self.directory, unit)

    def has(self, base: BaseDir) -> bool:
        return disk.exists(self.path(target_name(base)))

    def is_there(self) -> bool:
        """It runs, and the caller may ask it; a user's own answers nobody else."""
        return self.runs() and (not self.of_user or self.whose() == os.geteuid())

    def runs(self) -> bool:
        return self._place() is not None if self.of_user else os.path.isdir(RUNS)

    def who(self) -> str:
        """The user whose own it is."""
        return _name(self.whose())

    def unreachable(self) -> NeverWorks:
        """Nobody may act as if there were no units: systemd may keep the kingdom all the same."""
        where, who = f"The units of this kingdom are in {self.directory}", self.who()
        if not self.of_user:
            return NeverWorks(
                f"{where}, and systemd does not run here.",
                remedy="To do without it: kingdom systemd uninstall",
            )
        if self.runs():
            return NeverWorks(
                f"The systemd of {who} keeps this kingdom, and answers nobody else.",
                remedy=f"Type the same as {who}, for example with: sudo -u {who}",
            )
        return NeverWorks(
            f"{where}, and the systemd of {who} that runs them cannot be reached.",
            remedy=f"Have it run with: loginctl enable-linger {who}; or do without it: "
            "kingdom systemd uninstall --user",
        )

    def whose(self) -> int:
        return os.geteuid() if self.uid is None else self.uid

    def _place(self) -> str | None:
        """Where a user's own listens. Not every shell is told: those of su, sudo and cron are not,
        or are told somebody else's."""
        told = self.environment.get(_RUNTIME)
        places = [*([told] if told else []), f"/run/user/{self.whose()}"]
        return next((place for place in places if _listens(place, self.whose())), None)

    def _surroundings(self) -> Mapping[str, str]:
        place = self._place() if self.of_user else None
        if place is None or place == self.environment.get(_RUNTIME):
            return self.environment
        return {**self.environment, _RUNTIME: place, _BUS: f"unix:path={place}/bus"}

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
        answer = ask([*lead, *words], self._surroundings(), PATIENCE)
        return answer.code, answer.said


def _in_a_line(said: str) -> str:
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    return " ".join(lines[:3]) or "it says nothing"


def _listens(place: str, uid: int) -> bool:
    import socket  # only where units lie: `kingdom status` is to be there at once

    path = os.path.join(place, "systemd", "private")
    try:
        if os.stat(path).st_uid != uid:
            return False
        with closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as end:
            end.setblocking(False)
            end.connect(path)
    except BlockingIOError:
        return True  # so many wait for it that there is no room for one more
    except OSError:
        return False
    return True


def _name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def _home(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_dir
    except KeyError:
        return "/nonexistent"


def managers(base: BaseDir, environment: Mapping[str, str]) -> list[Manager]:
    """All that may keep this kingdom: the caller's, its owner's, the system's."""
    whose = dict.fromkeys((None, os.geteuid(), os.stat(base.root).st_uid))
    found = [*(Manager(True, environment, uid) for uid in whose), Manager(False, environment)]
    return list({one.directory: one for one in reversed(found)}.values())[::-1]


def holder(
    base: BaseDir, environment: Mapping[str, str], of_user: bool | None = None
) -> Manager | None:
    """The one that has this kingdom's units, whether or not it can be asked; None without."""
    known = [one for one in managers(base, environment) if of_user in (None, one.of_user)]
    found = [one for one in known if one.has(base)]
    return next((one for one in found if one.is_there()), found[0] if found else None)


def keeper(base: BaseDir, environment: Mapping[str, str]) -> Manager | None:
    """The same, to be told something: raises if it cannot be reached."""
    manager = holder(base, environment)
    if manager is not None and not manager.is_there():
        raise manager.unreachable()
    return manager
