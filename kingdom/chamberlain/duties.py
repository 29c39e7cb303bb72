"""THE table of the chamberlain's duties, in the order in which they come round."""

from __future__ import annotations

from kingdom.chamberlain.abandoned import Abandoned
from kingdom.chamberlain.duty import MakeDuty
from kingdom.chamberlain.heartbeats import Heartbeats
from kingdom.chamberlain.mappings import Mappings
from kingdom.chamberlain.measuring import Measuring
from kingdom.chamberlain.metrics import Metrics
from kingdom.chamberlain.strays import Strays

DUTIES: tuple[MakeDuty, ...] = (Measuring, Heartbeats, Strays, Abandoned, Mappings, Metrics)
