"""THE table of the chamberlain's duties, in the order in which they come round."""

from __future__ import annotations

from kingdom.chamberlain.budget import Budget
from kingdom.chamberlain.duty import MakeDuty
from kingdom.chamberlain.reading import ReadEvents
from kingdom.chamberlain.reporting import ReportDaily

DUTIES: tuple[MakeDuty, ...] = (Budget, ReadEvents, ReportDaily)
