"""THE table of the chamberlain's duties, in the order in which they come round."""

from __future__ import annotations

from kingdom.chamberlain.duty import MakeDuty

DUTIES: tuple[MakeDuty, ...] = ()
