"""What stood against a run, and what becomes of it in the verdict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from kingdom.engines.port import Evidence, Verdict
from kingdom.store import disk

NOT_STARTED = 127
_KILLED = (129, 130, 137, 143)  # the programs' own way to end on a signal
_LONGEST_ERROR = 600
_LAST_WORDS = 4096


@dataclass(frozen=True)
class Fault:
    code: str
    error: str = ""
    until: datetime | None = None


def killed(evidence: Evidence) -> Fault | None:
    if evidence.signal is None and evidence.exit_code not in _KILLED:
        return None
    how = f"Signal {evidence.signal}." if evidence.signal else f"Exit {evidence.exit_code}."
    return Fault("soldier_killed", how)


def last_words(evidence: Evidence) -> str:
    """Of its standard error."""
    return disk.tail(evidence.stderr_path, _LAST_WORDS).decode("utf-8", "replace").strip()


def verdict(
    evidence: Evidence,
    fault: Fault | None,
    *,
    session_id: str | None,
    result: Mapping[str, Any] | None,
    last_message: str,
    metrics: Mapping[str, Any],
) -> Verdict:
    """A soldier that wrote its result is believed, however the program came to its end: the work is
    done, and its general has checks of its own. What is against it is kept in the metrics."""
    is_held = fault is not None and not evidence.has_result
    noted = {"engine_fault": fault.code} if fault is not None and evidence.has_result else {}
    return Verdict(
        failure=fault.code if fault is not None and is_held else None,
        error=_short(fault.error) if fault is not None else "",
        unavailable_until=fault.until if fault is not None else None,
        session_id=session_id,
        result=None if result is None else {"task_id": evidence.order_task_id, **result},
        last_message=last_message,
        metrics={**metrics, **noted},
    )


def _short(error: str) -> str:
    return error if len(error) <= _LONGEST_ERROR else error[: _LONGEST_ERROR - 1] + "…"
