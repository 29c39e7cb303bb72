"""The duty that reads the events log: figures in the ledger, analyses for people, and alerts.

Reads `logs/events*.log`. Writes `state/chamberlain/{ledger.json,events-offset}` and
`logs/analysis/{stats,failures}.json`. The ledger alone is needed again, the others are made from
it. A crash leaves the ledger of the slice before.
"""

from __future__ import annotations

from datetime import tzinfo

from kingdom.chamberlain import analysis, anomalies
from kingdom.chamberlain.alerts import Alerts
from kingdom.chamberlain.anomalies import Condition
from kingdom.chamberlain.duty import Office
from kingdom.chamberlain.ledger import LEDGER, read_ledger
from kingdom.chamberlain.logfiles import LogFiles
from kingdom.clock import isoformat
from kingdom.models.fields import Urgency
from kingdom.models.ids import is_id
from kingdom.runtime.processes import Seat
from kingdom.store import disk
from kingdom.store.state import write_json

EVERY = 5.0  # seconds between two looks at a log that was read to its end
MOST_AT_ONCE = 6 * 1024 * 1024  # bytes of one slice
BURDEN = "timeouts"
_SLICES_PER_ANALYSIS = 32


class ReadEvents:
    name = "read_events"

    def __init__(self, office: Office) -> None:
        self._office = office
        self._alerts = Alerts(office)
        self._unanalysed = 0  # slices

    def start(self) -> None:
        office = self._office
        self._ledger = read_ledger(office.path(LEDGER), office.now(), self._zone)
        if not self._ledger.is_as_kept and disk.exists(office.path(LEDGER)):
            office.say_damaged(LEDGER)
        self._files = LogFiles(office.base, self._ledger.places)
        self._alerts.start()
        disk.make_directory(office.base.path("logs", "analysis"))
        self._write_analyses()

    def step(self) -> float:
        self._ledger.look_at_clock(self._office.now(), self._zone)
        passed = self._read_slice()
        is_behind = passed >= MOST_AT_ONCE
        self._office.board.has_read_all = not is_behind
        found = {} if is_behind else self._conditions()
        if passed or self._ledger.windows.has_news:
            self._save()
            self._unanalysed += 1
        if self._unanalysed >= (_SLICES_PER_ANALYSIS if is_behind else 1):
            self._write_analyses()
        if not is_behind:  # what is over by the end of a backlog is told in reports alone
            self._tell(found)
        return 0.0 if is_behind else EVERY

    def stop(self) -> None:
        """Nothing is open, and all is written."""

    @property
    def _zone(self) -> tzinfo:
        return self._office.config.settings.system.zone

    def _read_slice(self) -> int:
        """Bytes read; of a rotated file first what is left of it."""
        passed = 0
        for part in self._files.settle():
            while passed < MOST_AT_ONCE:
                piece = self._files.read(part)
                if not piece.size:
                    break
                self._ledger.take(piece.lines)
                self._ledger.note("too_long", piece.too_long)
                part, passed = part.at(piece.place), passed + piece.size
        return passed

    def _save(self) -> None:
        office, files = self._office, self._files
        self._ledger.note("restarted", files.restarted)
        self._ledger.note("copies", files.copies)
        files.restarted = files.copies = 0
        self._ledger.save(office.path(LEDGER), files.places)
        self._ledger.windows.has_news = False
        read = [{"file": name, **place.written()} for name, place in files.named()]
        write_json(office.path("events-offset"), read, sync=False)

    def _write_analyses(self) -> None:
        base, moment = self._office.base, isoformat(self._office.now())
        for name, found in (
            ("stats.json", analysis.stats(self._ledger.data, moment)),
            ("failures.json", analysis.failures(self._ledger.data, moment)),
        ):
            write_json(base.path("logs", "analysis", name), found, sync=False)
        self._unanalysed = 0

    # What is wrong

    def _conditions(self) -> dict[str, Condition]:
        now = self._office.now().timestamp()
        return {one.name: one for one in self._ledger.windows.conditions(now, self._is_pending)}

    def _tell(self, found: dict[str, Condition]) -> None:
        self._tell_burden(found.get(anomalies.TIMED_OUT))
        for name, one in found.items():
            if not self._alerts.is_open(name):
                self._alerts.begin(name, self._sentence(one), _URGENCY.get(one.kind, "high"))
        for name in self._alerts.open_ones():
            if name.partition(":")[0] in anomalies.KINDS and name not in found:
                self._alerts.end(name, self._all_clear(name))

    def _is_pending(self, event: str) -> bool:
        return is_id(event) and disk.exists(
            self._office.base.path("queue", "events", "pending", f"{event}.json")
        )

    def _tell_burden(self, timeouts: Condition | None) -> None:
        burdens = self._office.board.burdens
        if timeouts is None:
            burdens.pop(BURDEN, None)
        else:
            burdens[BURDEN] = ("yellow", f"soldier.timeout: {timeouts.count}")

    def _sentence(self, one: Condition) -> str:
        words = self._office.words
        if one.kind == anomalies.UNDISPATCHED:
            return words(f"chamberlain_undispatched_{self._king()}", **self._values(one))
        return words(f"chamberlain_{one.kind}", **self._values(one))

    def _values(self, one: Condition) -> dict[str, object]:
        if one.kind == anomalies.FAILURES:
            return {"general": one.subject, "count": one.count, "error": one.example}
        if one.kind == anomalies.TIMED_OUT:
            return {"count": one.count}
        return {"count": one.count, "event": one.example, "reason": one.reason}

    def _all_clear(self, name: str) -> str:
        kind, _, general = name.partition(":")
        values = {"general": general} if kind == anomalies.FAILURES else {}
        return self._office.words(f"chamberlain_{kind}_over", **values)

    def _king(self) -> str:
        """Whether its heart beats."""
        silence = Seat(self._office.base, "king").silence(self._office.clock)
        if silence is None:
            return "absent"
        limit = self._office.config.settings.chamberlain.heartbeat.threshold_seconds
        return "alive" if silence <= limit else "silent"


_URGENCY: dict[str, Urgency] = {anomalies.DEFERRED: "normal"}
