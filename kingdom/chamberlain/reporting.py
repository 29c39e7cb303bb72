"""The duty that reports: each morning of the day before, on Mondays of the week before.

Reads the ledger and `state/spending/`. Writes `logs/analysis/report-{date}.json` and a message.
What was reported is in `state/chamberlain/reports.json`; a message's id is written there before it
is published, so a crash in between publishes the same message again, and the bus knows its id.
After downtime only the last one that was missed is made up.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta, tzinfo
from typing import Any

from kingdom.chamberlain import daily
from kingdom.chamberlain.duty import Office
from kingdom.chamberlain.ledger import LEDGER, read_ledger
from kingdom.chamberlain.mending import is_day, is_message
from kingdom.chamberlain.telling import told_below_title
from kingdom.models.message import Report
from kingdom.settings.chamberlain import Reporting
from kingdom.store import disk
from kingdom.store.state import write_json

EVERY, SOON = 30.0, 1.0
FILE = "reports.json"
_KEYS = {"date", "message"}
_MESSAGE_KEYS = {"id", "content", "context"}


class ReportDaily:
    name = "report"

    def __init__(self, office: Office) -> None:
        self._office = office
        self._kept: dict[str, dict[str, Any]] = {}

    def start(self) -> None:
        kept = self._office.recall(FILE)
        self._kept = {kind: one for kind, one in kept.items() if _is_whole(one)}
        if len(self._kept) < len(kept):
            self._office.say_damaged(FILE)

    def step(self) -> float:
        for kind in self._kept:
            self._publish(kind)
        if not self._office.board.has_read_all:
            return SOON
        settings = self._settings
        for kind, days, is_wanted in (
            (daily.DAILY, [self._last_day()], settings.daily),
            (daily.WEEKLY, self._last_week(), settings.weekly),
        ):
            if self._is_due(kind, days[0]):
                self._make(kind, days, is_wanted=is_wanted)
        return EVERY

    def stop(self) -> None:
        """Nothing is open, and all is written."""

    @property
    def _settings(self) -> Reporting:
        return self._office.config.settings.chamberlain.report

    @property
    def _zone(self) -> tzinfo:
        return self._office.config.settings.system.zone

    def _last_day(self) -> date:
        """The last one whose hour to be reported has come."""
        local = self._office.local()
        back = 1 if f"{local:%H:%M}" >= self._settings.at else 2
        return local.date() - timedelta(days=back)

    def _last_week(self) -> list[date]:
        return daily.week_of(self._last_day() + timedelta(days=1) - timedelta(days=7))

    def _is_due(self, kind: str, day: date) -> bool:
        known = self._kept.get(kind, {}).get("date", "")
        if known >= self._office.today().isoformat():  # a clock that was ahead has come back
            self._keep(kind, day, None)
            return False
        return bool(known < day.isoformat())

    def _make(self, kind: str, days: Sequence[date], *, is_wanted: bool) -> None:
        """Of days of which nothing is known there is nothing to say."""
        office = self._office
        ledger = read_ledger(office.path(LEDGER), office.now(), self._zone).data
        spending = daily.spending_of(office.base)
        message = None
        if daily.knows(ledger, days, spending):
            make = daily.weekly if kind == daily.WEEKLY else daily.daily
            report = make(ledger, days[0], spending, self._zone)
            disk.make_directory(office.base.path("logs", "analysis"))
            write_json(daily.report_file(office.base, kind, days[0]), report)
            message = self._message(kind, report) if is_wanted else None
        self._keep(kind, days[0], message)
        self._publish(kind)

    def _message(self, kind: str, report: dict[str, Any]) -> dict[str, Any]:
        content = told_below_title(report, self._office.words, self._zone)
        context = {"kind": kind, **report}
        return {"id": self._office.bus.next_id("msg"), "content": content, "context": context}

    def _publish(self, kind: str) -> None:
        """If that is still to be done."""
        one = self._kept[kind]
        if one["message"] is None:
            return
        self._office.bus.publish(
            "messages", Report(**one["message"], created_at=self._office.now())
        )
        self._office.log.info("report.published", kind=kind, date=one["date"])
        one["message"] = None
        write_json(self._office.path(FILE), self._kept, sync=False)

    def _keep(self, kind: str, day: date, message: dict[str, Any] | None) -> None:
        """Known only when it is written: what cannot be is made again at the next step."""
        kept = {**self._kept, kind: {"date": day.isoformat(), "message": message}}
        write_json(self._office.path(FILE), kept)
        self._kept = kept


def _is_whole(one: Any) -> bool:
    if not isinstance(one, dict) or one.keys() != _KEYS or not is_day(one["date"]):
        return False
    return one["message"] is None or is_message(one["message"], _MESSAGE_KEYS, Report)
