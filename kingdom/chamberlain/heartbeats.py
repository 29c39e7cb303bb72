"""The duty that ends what hangs: a role whose loop has not come round for too long.

It is asked to end, then killed; whoever keeps it starts it again, and if nobody does, people are
told so. Its own process is never judged here, and nobody is while its own heart leaves no trace:
then it is the disk that takes no heartbeats.

Reads `state/{role}/{lock,pid,heartbeat}`. A crash leaves an alert that is open; the next life ends
it when the role shows life.
"""

from __future__ import annotations

import signal
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from kingdom import pids
from kingdom.chamberlain import roll
from kingdom.chamberlain.alerts import Alerts
from kingdom.chamberlain.duty import Office
from kingdom.clock import isoformat
from kingdom.runtime.processes import PATIENCE, WARDEN, Seat, roles_file, send_signal
from kingdom.runtime.pulse import LONGEST_PAUSE, Pulse, Sign, longest_silence
from kingdom.store import disk
from kingdom.store.state import read_json
from kingdom.topology import GENERAL_PREFIX

CONDITION = "heartbeat:"
RETURNED = "returned:"  # with the moment at which the warden ended our former life
_SERVICE = b"/kingdom-"  # as the units of systemd are called


@dataclass
class Case:
    """A role that hangs, from then on until it is back."""

    pid: int
    start: int | None
    asked: float  # when it was asked to end
    text: str
    keeper: str  # who starts it again: the warden, systemd, or nobody


class Heartbeats:
    name = "heartbeats"

    def __init__(self, office: Office) -> None:
        self._office = office
        self._alerts = Alerts(office)
        self._pulse = Pulse()
        self._cases: dict[str, Case] = {}

    def start(self) -> None:
        self._alerts.start()

    def step(self) -> float:
        longest = threshold(self._office)
        pause = min(LONGEST_PAUSE, longest / 4)
        signs = self._signs()
        self._pulse.look(signs, self._office.clock.monotonic(), pause * 3)
        if self._pulse.silence(self._office.setting.name) < longest / 2:  # which spares ourselves
            for name, sign in signs.items():
                if name not in self._cases and self._pulse.hangs(name, longest):
                    self._begin(name, sign, longest)
        for name in list(self._cases):
            self._pursue(name, signs.get(name))
        self._see_to_alerts()
        self._tell_of_own_return()
        return min(pause, 1.0) if self._cases else pause

    def stop(self) -> None:
        """Nothing: what was asked to end is the keeper's now."""

    def _signs(self) -> dict[str, Sign]:
        seats = [*roll.seats(self._office.base), Seat(self._office.base, WARDEN)]
        held = ((seat, seat.holder()) for seat in seats)
        return {seat.name: Sign(pid, seat.last_beat()) for seat, pid in held if pid is not None}

    def _begin(self, name: str, sign: Sign, longest: float) -> None:
        keeper = self._keeper(sign.pid)
        words = f"chamberlain_hung_{'warden' if name == WARDEN else keeper}"
        text = self._office.words(words, role=name, seconds=f"{self._pulse.silence(name):.0f}")
        now = self._office.clock.monotonic()
        self._cases[name] = Case(sign.pid, pids.started(sign.pid), now, text, keeper)
        seen = None if sign.beat is None else isoformat(datetime.fromtimestamp(sign.beat, UTC))
        self._office.tell(
            "system.heartbeat_missed", target=name, last_seen=seen, threshold_seconds=longest
        )
        self._office.log.error("role.hung", target=name, pid=sign.pid, last_seen=seen)
        if name != WARDEN:
            send_signal(sign.pid, signal.SIGTERM)

    def _keeper(self, pid: int) -> str:
        """Who starts it again when it has ended."""
        warden = Seat(self._office.base, WARDEN).holder()
        if warden is not None and pids.parent(pid) == warden:
            return "warden_kept"
        return "systemd_kept" if is_a_service(disk.head(f"/proc/{pid}/cgroup", 4096)) else "alone"

    def _pursue(self, name: str, sign: Sign | None) -> None:
        case = self._cases[name]
        if name == WARDEN:
            self._leave_be(case, sign)
        elif sign is None and self._is_removed(name):
            del self._cases[name]
        elif sign is not None and sign.pid == case.pid:
            self._kill_if_overdue(name, case)
        elif sign is not None and sign.beat is not None:
            del self._cases[name]
            # What the warden starts again, it tells of itself.
            if case.keeper != "warden_kept":
                self._office.tell("recovery.session_restarted", target=name, pid=sign.pid)

    def _leave_be(self, case: Case, sign: Sign | None) -> None:
        """All roles end with the warden, this one too: that is for people to decide."""
        if sign is None or sign.pid != case.pid or self._pulse.silence(WARDEN) == 0.0:
            del self._cases[WARDEN]

    def _kill_if_overdue(self, name: str, case: Case) -> None:
        overdue = self._office.clock.monotonic() - case.asked >= PATIENCE
        if overdue and pids.started(case.pid) == case.start:
            self._office.log.error("role.killed", target=name, pid=case.pid)
            send_signal(case.pid, signal.SIGKILL)

    def _see_to_alerts(self) -> None:
        """Last of all: what cannot be told keeps nobody from being ended."""
        for name, case in self._cases.items():
            self._alerts.begin(CONDITION + name, case.text)
        for condition in self._alerts.open_ones(CONDITION):
            name = condition.removeprefix(CONDITION)
            if name in self._cases:
                continue
            if self._pulse.lives(name):
                self._alerts.end(condition, self._office.words("chamberlain_hung_over", role=name))
            elif self._is_removed(name) and not Seat(self._office.base, name).is_taken():
                self._alerts.end(condition, self._office.words("chamberlain_hung_gone", role=name))

    def _is_removed(self, name: str) -> bool:
        return name.startswith(GENERAL_PREFIX) and name not in self._office.config.generals

    def _tell_of_own_return(self) -> None:
        """Once for each time that the warden ended a chamberlain that hung."""
        ours = self._office.setting.name
        found = _hung(read_json(roles_file(self._office.base)), ours)
        current = RETURNED + found[0] if found else ""
        if found and not self._alerts.is_open(current):
            text = self._office.words("chamberlain_returned", role=ours, seconds=found[1])
            self._alerts.begin(current, text)
        for condition in self._alerts.open_ones(RETURNED):
            if condition != current:
                self._alerts.forget(condition)


def _hung(told: Any, name: str) -> tuple[str, str] | None:
    """When that role was last ended for it, and after how many seconds, as the warden tells."""
    for key in ("roles", name, "hung"):
        told = told.get(key) if isinstance(told, dict) else None
    return (str(told.get("at")), str(told.get("seconds"))) if isinstance(told, dict) else None


def threshold(office: Office) -> float:
    """Seconds without a sign of life after which a role counts as hung."""
    return longest_silence(office.config.settings.chamberlain.heartbeat.threshold_seconds)


def is_a_service(cgroup: bytes) -> bool:
    """Whether systemd runs it as one of ours, from what the kernel tells of its control group."""
    units = [line.rpartition(b"/")[2] for line in cgroup.splitlines() if _SERVICE in line]
    return any(unit.startswith(b"kingdom-") and unit.endswith(b".service") for unit in units)
