"""The duty that tells of duties that broke: a defect of ours, and nothing that passes by itself.

Comes last of all, so it knows of each what its last step was like. People are told once, and once
more when it works again. Writes `state/chamberlain/troubles.json`, which `kingdom status` reads; it
is made anew in each life.
"""

from __future__ import annotations

from kingdom.chamberlain.alerts import Alerts
from kingdom.chamberlain.duty import Office
from kingdom.store.state import write_json

EVERY = 5.0
FILE = "troubles.json"
CONDITION = "duty:"


class TellTroubles:
    name = "troubles"

    def __init__(self, office: Office) -> None:
        self._office = office
        self._alerts = Alerts(office)
        self._written: dict[str, str] | None = None

    def start(self) -> None:
        self._alerts.start()

    def step(self) -> float:
        troubles = self._office.board.troubles
        if troubles != self._written:
            write_json(self._office.path(FILE), troubles, sync=False)
            self._written = dict(troubles)
        words = self._office.words
        for duty, error in troubles.items():
            self._alerts.begin(
                CONDITION + duty, words("chamberlain_duty_broken", duty=duty, error=error)
            )
        for condition in self._alerts.open_ones(CONDITION):
            duty = condition.removeprefix(CONDITION)
            if duty not in troubles:
                self._alerts.end(condition, words("chamberlain_duty_mended", duty=duty))
        return EVERY

    def stop(self) -> None:
        """Nothing: whoever reads what is written sees that nobody is there."""
