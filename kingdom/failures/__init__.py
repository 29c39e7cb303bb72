"""Every failure that a person can meet. Results, logs and refused commands carry its code.

`kingdom errors CODE` prints an entry; `kingdom.words` has them in other languages. A test looks
for all codes in the source: one that is not here is a mistake.
"""

from __future__ import annotations

from kingdom.failures.failure import FATES, Failure, Fate
from kingdom.failures.ground import OF_GROUND
from kingdom.failures.services import OF_SERVICES
from kingdom.failures.tasks import OF_TASKS

__all__ = ["FAILURES", "FATES", "Failure", "Fate"]

FAILURES = {one.code: one for one in (*OF_TASKS, *OF_SERVICES, *OF_GROUND)}
