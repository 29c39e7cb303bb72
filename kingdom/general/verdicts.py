"""How an attempt is judged, and what follows: a report, another attempt, or a wait.

Pure: from what the attempt left behind to a decision. The same facts give the same judgement, so
a general that died in between comes to the same end.
"""

from __future__ import annotations

import errno
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

from kingdom.engines.port import Verdict
from kingdom.engines.same_call import SAME_CALL
from kingdom.engines.sandbox.metering import TOKENS
from kingdom.engines.time_limits import STUCK
from kingdom.engines.wrapper import FLOODED, LATE, NO_SANDBOX, REFUSED
from kingdom.errors import InvalidFile
from kingdom.failures import FAILURES, Failure
from kingdom.general import budget
from kingdom.general.grounds import Aftermath
from kingdom.general.purse import DAY, GENERAL, told_by_program
from kingdom.general.spec import LOST, Ended, Spec
from kingdom.models.manifest import Retry
from kingdom.models.reading import parse
from kingdom.models.result import (
    SAID_BY_SOLDIERS,
    Failed,
    Killed,
    NeedsHuman,
    ResultBase,
    Skipped,
    Success,
)
from kingdom.models.task import Task
from kingdom.runtime.control import CANCELLED, SUPERSEDED
from kingdom.store import disk

LARGEST_RESULT = 1024 * 1024
LONGEST_BACKOFF = 3600.0
_WRAPPER_S_MARGIN = 60.0  # seconds
KINDS: dict[str, type[ResultBase]] = {
    "success": Success,
    "failed": Failed,
    "needs_human": NeedsHuman,
    "skipped": Skipped,
    "killed": Killed,
}
TASK_STATUS = {
    "success": "completed",
    "failed": "failed",
    "needs_human": "needs_human",
    "skipped": "skipped",
    "killed": "failed",
}
STOPPED = "stopped"
SOLDIER_S = "soldier"
# After these the next attempt goes on in the same session of the engine, if there is one.
CONTINUED = (
    STOPPED,
    "few_processes",
    "day_budget_spent",
    "soldier_killed",
    "soldier_lost",
    "timed_out",
    "no_progress",
    "verification_failed",
    "reported_failure",
    "no_result",
    "engine_limited",
    "engine_overloaded",
)
ON_REQUEST = (CANCELLED, SUPERSEDED)
# Ended by force, not by a fault of its own.
_BY_FORCE = (
    *ON_REQUEST,
    "timed_out",
    "no_progress",
    SAME_CALL,
    "too_much_output",
    "soldier_killed",
)


@dataclass(frozen=True)
class Raw:
    """What a soldier wrote: a result, or why it is none."""

    result: ResultBase | None = None
    failure: str = ""
    error: str = ""


@dataclass(frozen=True)
class Judgement:
    """`failure` is None for work that is done, skipped or waiting for a person."""

    failure: Failure | None = None
    error: str = ""
    result: ResultBase | None = None
    until: datetime | None = None
    metrics: Mapping[str, Any] = field(default_factory=dict)
    session_id: str | None = None
    counted_usd: float = 0.0  # against the budget of its task


Next = Literal["report", "retry", "wait"]


def read_raw(path: str, task_id: str) -> Raw:
    try:
        data, _ = disk.read(path, LARGEST_RESULT)
    except FileNotFoundError:
        return Raw(failure="no_result")
    except OSError as error:
        if error.errno == errno.EFBIG:
            return Raw(
                failure="result_too_large", error=f"More than {LARGEST_RESULT:,} bytes are none."
            )
        return Raw(failure="result_unreadable", error=f"It cannot be read: {error.strerror}.")
    try:
        result = parse("result", data, path="the result")
    except InvalidFile as fault:
        code = "contradictory" if fault.code == "contradictory" else "unreadable"
        return Raw(failure=f"result_{code}", error=_sentence(fault.sentence))
    assert isinstance(result, ResultBase)
    if result.task_id != task_id:
        return Raw(failure="result_of_another_task", error=f"It names {result.task_id}.")
    return Raw(result)


def judge(
    spec: Spec,
    ended: Ended,
    raw: Raw,
    verdict: Verdict,
    *,
    condemned: str,
    why: str = "",
    last_words: str = "",
) -> Judgement:
    """One attempt. `condemned` is a failure decided already, such as a cancellation; `last_words`
    is what the program said last on standard error."""
    code, error = condemned, why
    if not condemned:
        code, error = _fault(spec, ended, raw, verdict, last_words)
    if code == "budget_exceeded" and spec.budget_of in (GENERAL, DAY):
        code = "day_budget_spent"  # its own budget is not what ended it
    has_a_say = code in ("", "reported_failure")
    metrics = _metrics(spec, raw, verdict)
    guess = budget.share(ended.reason, ended.worked(spec), spec.timeout_seconds)
    return Judgement(
        failure=FAILURES[code] if code else None,
        error=error,
        result=raw.result if has_a_say else None,
        until=_moment(ended) if code == STOPPED else verdict.unavailable_until,
        metrics=metrics,
        counted_usd=budget.counted(metrics, spec.budget_usd, guess),
        session_id=verdict.session_id or spec.session_id,
    )


def _metrics(spec: Spec, raw: Raw, verdict: Verdict) -> dict[str, Any]:
    """What a soldier says of itself stands apart: the kingdom acts upon the rest."""
    said = raw.result.metrics if raw.result is not None else None
    if not said:
        return dict(verdict.metrics)
    return {**told_by_program(spec.engine, said), **verdict.metrics, SOLDIER_S: said}


def without_soldier_s(metrics: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in metrics.items() if name != SOLDIER_S}


def _fault(
    spec: Spec, ended: Ended, raw: Raw, verdict: Verdict, last_words: str
) -> tuple[str, str]:
    """Code and details; no code when there is nothing to say against it."""
    code, error = _found_fault(spec, ended, raw, verdict, last_words)
    # Whatever is wrong with one that was stopped may come of just that.
    return (STOPPED, "") if code and ended.reason == STOPPED else (code, error)


def _found_fault(
    spec: Spec, ended: Ended, raw: Raw, verdict: Verdict, last_words: str
) -> tuple[str, str]:
    if ended.reason == REFUSED:
        return "few_processes", last_words
    code, error = _ended_by_us(spec, ended)
    if code:
        return code, error
    if ended.over_budget and raw.result is None:
        return _over_budget(ended.over_budget)
    if verdict.failure:
        return verdict.failure, verdict.error
    if raw.result is None:
        return _without_result(ended, raw, last_words)
    return _of_result(spec, ended, raw.result)


def _over_budget(limit: str) -> tuple[str, str]:
    if limit in (DAY, GENERAL):
        return "day_budget_spent", "It was stopped before a call that might have exceeded it."
    if limit == SAME_CALL:
        return SAME_CALL, "It asked the model the same, word for word."
    what = "tokens (per_task_tokens)" if limit == TOKENS else "budget"
    return "budget_exceeded", f"It was stopped before a call beyond the {what} of its task."


def _ended_by_us(spec: Spec, ended: Ended) -> tuple[str, str]:
    """Whoever was ended for its time or its noise has no say any more, whatever it wrote."""
    if ended.reason == FLOODED:
        return "too_much_output", f"It printed more than {spec.max_output_bytes or 0:,} bytes."
    if ended.reason == NO_SANDBOX:
        return "sandbox_failed", ""
    if ended.reason == STUCK:
        return "no_progress", ""
    if ended.reason == SAME_CALL:
        return SAME_CALL, f"It was ended after {spec.same_call} in a row."
    if ended.reason not in ("asked", "deadline"):
        return "", ""
    worked = ended.worked(spec)
    if ended.reason == "deadline" or worked >= spec.timeout_seconds:
        return (
            "timed_out",
            f"It was ended after {worked:.0f} s; {spec.timeout_seconds:g} s are set.",
        )
    return "soldier_killed", "Someone asked its wrapper to end."


def _without_result(ended: Ended, raw: Raw, last_words: str) -> tuple[str, str]:
    if raw.failure != "no_result":
        return raw.failure, raw.error
    said = f" It last said: {last_words}" if last_words else ""
    if ended.reason in (LOST, "hangup"):
        return "soldier_lost", said.strip()
    if ended.signal is not None:
        return "soldier_killed", f"Signal {ended.signal}.{said}"
    if ended.code:
        return "soldier_crashed", f"Exit code {ended.code}.{said}"
    return "no_result", said.strip()


def _of_result(spec: Spec, ended: Ended, result: ResultBase) -> tuple[str, str]:
    if result.status in ("failed", "killed"):
        return "reported_failure", result.error or ""
    if result.status != "success":
        return "", ""
    for check in ended.verify:
        if check.get(LATE):
            return "verification_failed", (
                f"{check['command']!r} had not ended after {check[LATE]:g} s; "
                "verify_timeout_seconds in the manifest says how long it may take."
            )
        if check["code"] != 0:
            return "verification_failed", f"{check['command']!r} ended with {check['code']}."
    if len(ended.verify) < len(spec.verify):
        return "soldier_lost", "It ended before its success could be checked."
    return "", ""


def longest_attempt(spec: Spec) -> float:
    """Seconds that its wrapper lets pass at most, checks included, and some to end it: only one
    that does not work any more takes longer."""
    checks = len(spec.verify) * spec.verify_timeout_seconds
    return 2 * spec.timeout_seconds + checks + _WRAPPER_S_MARGIN


def follow(judgement: Judgement, attempt: int, retry: Retry) -> Next:
    """Only the general tries again, and only what may work another time."""
    if judgement.failure is None or judgement.failure.fate == "never":
        return "report"
    if judgement.failure.fate == "wait":
        return "wait"
    return "retry" if attempt < retry.max_attempts else "report"


def backoff(attempt: int, retry: Retry) -> float:
    """Seconds after this many attempts: doubling."""
    return float(min(retry.backoff_seconds * 2 ** min(attempt - 1, 32), LONGEST_BACKOFF))


def final_result(
    task: Task, judgement: Judgement, metrics: Mapping[str, Any], now: datetime
) -> ResultBase:
    """What the king reads: the soldier's own words where it has a say, else the failure's."""
    ours: dict[str, Any] = {
        "task_id": task.id,
        "trace_id": task.trace_id,
        "created_at": now,
        "metrics": {**judgement.metrics, **metrics},
    }
    failure, said = judgement.failure, judgement.result
    if said is not None:
        words: dict[str, Any] = {name: getattr(said, name) for name in SAID_BY_SOLDIERS}
        code = failure.code if failure else None
        return KINDS[said.status](**words, **ours, error_code=code)
    assert failure is not None
    kind = Killed if failure.code in _BY_FORCE else Failed
    error = f"{failure.sentence} {judgement.error}".strip()
    return kind(summary=failure.sentence, error=error, error_code=failure.code, **ours)


def with_aftermath(result: ResultBase, aftermath: Aftermath) -> ResultBase:
    """Where what it left is kept, and what was done outside, or not. If a person has to approve the
    rest first, it is a question."""
    told = "\n".join(f"- {note}" for note in aftermath.notes)
    more: dict[str, Any] = {
        "held": list(aftermath.held) or None,
        "kept_refs": list(aftermath.kept_refs) or None,
        "summary": f"{result.summary}\n{told}".strip() if told else result.summary,
    }
    if aftermath.asks is None or result.status != "success":  # cancelled meanwhile
        return result.model_copy(update=more)
    question, approve, reject = aftermath.asks
    more |= {"question": question, "options": [approve, reject], "default": reject}
    kept = {name: getattr(result, name) for name in type(result).model_fields if name != "status"}
    return NeedsHuman(**(kept | more))


def _moment(ended: Ended) -> datetime:
    return datetime.fromtimestamp(ended.ended_at, UTC)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]
