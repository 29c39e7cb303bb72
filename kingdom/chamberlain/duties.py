"""THE table of the chamberlain's duties, in the order in which they come round."""

from __future__ import annotations

from kingdom.chamberlain.cleaning.duty import Clean
from kingdom.chamberlain.duty import MakeDuty
from kingdom.chamberlain.rotating import Rotate

DUTIES: tuple[MakeDuty, ...] = (Rotate, Clean)
