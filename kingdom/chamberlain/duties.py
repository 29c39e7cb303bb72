"""THE table of the chamberlain's duties, in the order in which they come round."""

from __future__ import annotations

from kingdom.chamberlain.abandoned import Abandoned
from kingdom.chamberlain.alerts import TellLate
from kingdom.chamberlain.budget import Budget
from kingdom.chamberlain.cleaning.duty import Clean
from kingdom.chamberlain.duty import MakeDuty
from kingdom.chamberlain.heartbeats import Heartbeats
from kingdom.chamberlain.mappings import Mappings
from kingdom.chamberlain.measuring import Measuring
from kingdom.chamberlain.metrics import Metrics
from kingdom.chamberlain.reading import ReadEvents
from kingdom.chamberlain.reporting import ReportDaily
from kingdom.chamberlain.rotating import Rotate
from kingdom.chamberlain.strays import Strays
from kingdom.chamberlain.troubles import TellTroubles

# What others are to know is found before it is told.
DUTIES: tuple[MakeDuty, ...] = (
    Budget,
    ReadEvents,
    Measuring,
    Heartbeats,
    Strays,
    Abandoned,
    Mappings,
    TellLate,
    Metrics,
    ReportDaily,
    Rotate,
    Clean,
    TellTroubles,
)
