"""The duty that measures: how the machine is, what roles and soldiers use, and health from both.

Writes `state/resources.json`, which decides what work is let in, and a line in `logs/metrics.log`.
A former life's file is where health goes on from. What cannot be written is said once; measuring
goes on, and whoever reads the file sees that it is old.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict

from kingdom.chamberlain import health, roll
from kingdom.chamberlain.alerts import Alerts
from kingdom.chamberlain.duty import Office
from kingdom.chamberlain.health import Standing, Verdict
from kingdom.chamberlain.machine import Machine, Reading
from kingdom.clock import isoformat
from kingdom.errors import KingdomError
from kingdom.models.part import spelled
from kingdom.models.resources import Health, Resources, Soldiers, read_resources
from kingdom.store import disk
from kingdom.store.state import read_json, write_json

FIRST_LOOK = 5.0  # seconds until there is a first figure of the processor: a start is no usual time
RED, DISK = "health", "disk"  # conditions that people are alerted to


class Measuring:
    name = "measuring"

    def __init__(self, office: Office, machine: Machine | None = None) -> None:
        self._office = office
        self._alerts = Alerts(office)
        self._machine = machine or Machine(office.base.root)
        self._health: Health = "green"
        self._standings: dict[str, Standing] = {}
        self._complaints: dict[str, str] = {}

    def start(self) -> None:
        disk.make_directory(self._office.base.logs)
        self._alerts.start()
        found = read_resources(read_json(self._office.base.resources_file))
        if found is None:
            return
        self._health = found.health
        if self._is_fresh(found):
            limits = health.limits_of(self._office.config.settings.chamberlain.thresholds)
            known = {name: one for name, one in found.levels.items() if name in limits}
            self._standings = {name: Standing(level) for name, level in known.items()}

    def _is_fresh(self, found: Resources) -> bool:
        """Whether it still tells how things are seen, or only how they once were."""
        age = (self._office.now() - found.updated_at).total_seconds()
        return 0 <= age <= self._office.config.settings.chamberlain.thresholds.stale_seconds

    def step(self) -> float:
        reading = self._machine.read()
        self._judge(reading)
        verdict = self._verdict(reading)
        self._note_change(verdict, reading)
        self._write(verdict, reading)
        self._try("alerts", lambda: self._alert(verdict, reading))
        if reading.cpu_percent is None:
            return FIRST_LOOK
        return self._office.config.settings.chamberlain.polling.interval_seconds

    def stop(self) -> None:
        """Nothing: what was measured stays, and grows old."""

    # Health

    def _judge(self, reading: Reading) -> None:
        limits = health.limits_of(self._office.config.settings.chamberlain.thresholds)
        for metric, of_metric in limits.items():
            before, value = self._standings.get(metric, Standing()), getattr(reading, metric)
            now = health.after(before, value, of_metric)
            self._standings[metric] = now
            if health.is_worse(now.level, before.level):
                threshold = health.threshold_of(now.level, of_metric)
                self._office.tell(
                    "system.resource_warning", metric=metric, value=value, threshold=threshold
                )

    def _verdict(self, reading: Reading) -> Verdict:
        limits = health.limits_of(self._office.config.settings.chamberlain.thresholds)
        return health.verdict(self._standings, asdict(reading), self._office.board.burdens, limits)

    def _note_change(self, verdict: Verdict, reading: Reading) -> None:
        before, self._health = self._health, verdict.health
        if verdict.health == before:
            return
        values = asdict(reading)
        reason = verdict.reason or ", ".join(health.spelled(one, values) for one in self._standings)
        self._office.tell(
            "system.health_changed", **{"from": before}, to=verdict.health, reason=reason
        )
        self._office.log.warning(
            "health.changed", before=before, health=verdict.health, reason=reason
        )

    def _alert(self, verdict: Verdict, reading: Reading) -> None:
        words, place = self._office.words, self._office.base.root
        if verdict.health == "red":
            self._alerts.begin(RED, words("chamberlain_health_red", reason=verdict.reason))
        else:
            self._alerts.end(RED, words("chamberlain_health_over", health=verdict.health))
        percent = f"{reading.disk_percent:.0f}"
        if self._standings["disk_percent"].level != "green":
            text = words("chamberlain_disk_full", place=place, percent=percent)
            self._alerts.begin(DISK, text)
        else:
            self._alerts.end(DISK, words("chamberlain_disk_room", place=place, percent=percent))

    # What is written

    def _write(self, verdict: Verdict, reading: Reading) -> None:
        office = self._office
        usage = self._machine.usage(roll.groups(office.base), office.clock.monotonic())
        active = sum(one.kind == "soldier" for one in usage.values())
        most = office.config.settings.king.concurrency.max_soldiers
        found = Resources(
            health=verdict.health,
            reason=verdict.reason or None,
            **asdict(reading),
            levels={name: one.level for name, one in self._standings.items()},
            soldiers=Soldiers(active=active, max=most),
            tokens=office.board.tokens,
            usage=usage,
            updated_at=office.now(),
        )
        told = found.written(usage={name: one.written() for name, one in usage.items()})
        path = office.base.resources_file
        self._try(path, lambda: write_json(path, told, sync=False))
        line = spelled({"ts": isoformat(office.now()), **told}) + b"\n"
        self._try(office.base.metrics_log, lambda: disk.append_line(office.base.metrics_log, line))

    def _try(self, what: str, act: Callable[[], None]) -> None:
        """What fails is said once, until it works or fails in another way."""
        try:
            act()
        except (KingdomError, OSError) as error:
            if self._complaints.get(what) != str(error):
                self._complaints[what] = str(error)
                self._office.log.error("measuring.not_written", what=what, error=str(error))
        else:
            self._complaints.pop(what, None)
