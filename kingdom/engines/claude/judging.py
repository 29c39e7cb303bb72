"""Judges a run by all it left: exit code, result line, error fields, standard error, tokens.

A soldier that wrote its result is believed, however the program came to its end: the work is done,
and its general has checks of its own. What the program said against it is kept in the metrics.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from kingdom.engines.claude import costs, limits, stream
from kingdom.engines.claude.stream import Account
from kingdom.engines.json_lines import number, object_in, text
from kingdom.engines.port import Evidence, Verdict
from kingdom.engines.standing import LIMIT, LOGIN, OUTAGE
from kingdom.store import disk

# What the program calls the API's refusals, in the last message of a run.
_BY_WORD = {
    "authentication_failed": LOGIN,
    "oauth_org_not_allowed": LOGIN,
    "billing_error": LOGIN,
    "rate_limit": LIMIT,
    "overloaded": OUTAGE,
    "server_error": OUTAGE,
    "model_not_found": "engine_refused",
    "max_output_tokens": "engine_failed",
}
_BY_SUBTYPE = {
    "error_max_turns": "turns_exceeded",
    "error_max_budget_usd": "budget_exceeded",
    "error_max_structured_output_retries": "no_result",
}
_NOT_LOGGED_IN = re.compile(r"not logged in|run /login|invalid api key", re.IGNORECASE)
_TOO_LONG = re.compile(r"prompt is too long|request too large", re.IGNORECASE)
_NOT_YOUR_LIMIT = "not your usage limit"
_NO_SESSION = "No conversation found"
_USAGE_ERROR = re.compile(r"^\s*(?:error: |Error: (?:--|Invalid|Input must))", re.MULTILINE)
_KILLED = (129, 130, 137, 143)  # the program's own way to end on a signal
_NOT_STARTED = 127
_LONGEST_ERROR = 600
_LAST_WORDS = 4096
_LOG_IN = (
    "Log in with claude auth login as the user that runs the kingdom, or pass ANTHROPIC_API_KEY or "
    "CLAUDE_CODE_OAUTH_TOKEN on in the manifest's permissions.env."
)


@dataclass(frozen=True)
class _Fault:
    code: str
    error: str = ""
    until: datetime | None = None


def judge(evidence: Evidence, account: Account) -> Verdict:
    metrics = costs.metrics(account, evidence.earlier)
    message = text(account.result, "result") or account.last_text
    found = None if account.result.get("is_error") else _result(account, message)
    fault = _fault(evidence, account, message, has_result=evidence.has_result or found is not None)
    if fault is not None and evidence.has_result:
        metrics["engine_fault"] = fault.code
    is_held = fault is not None and not evidence.has_result
    return Verdict(
        failure=fault.code if fault is not None and is_held else None,
        error=_short(fault.error) if fault is not None else "",
        unavailable_until=fault.until if fault is not None else None,
        session_id=account.session_id or evidence.session_id,
        result=None if found is None else {"task_id": evidence.order_task_id, **found},
        last_message=message,
        metrics=metrics,
    )


def said(stdout_path: str) -> Mapping[str, Any] | None:
    """The result in this output, if it has one."""
    account = stream.read(stdout_path)
    if account.result.get("is_error"):
        return None
    return _result(account, text(account.result, "result") or account.last_text)


def _fault(
    evidence: Evidence, account: Account, message: str, *, has_result: bool
) -> _Fault | None:
    if not account.results:
        return _without_result_line(evidence, account)
    if account.result.get("is_error"):
        return _of_error(account, _error_of(account))
    if has_result:
        return None
    if limits.is_limit(message):  # a clean end, by the looks of it
        return _Fault(LIMIT, message, limits.until(account, message))
    if not costs.spent(account, evidence.earlier)["output"]:
        return _Fault("empty_run")
    denied = costs.denied_tools(account)
    return _Fault("tools_denied", f"It wanted {', '.join(denied)}.") if denied else None


def _without_result_line(evidence: Evidence, account: Account) -> _Fault | None:
    """It was killed, or never began. What neither explains is for the general to name."""
    words = disk.tail(evidence.stderr_path, _LAST_WORDS).decode("utf-8", "replace").strip()
    if evidence.signal is not None or evidence.exit_code in _KILLED:
        how = f"Signal {evidence.signal}." if evidence.signal else f"Exit {evidence.exit_code}."
        return _Fault("soldier_killed", how)
    if evidence.exit_code == _NOT_STARTED and account.is_empty:
        return _Fault("engine_missing", words)
    if account.is_empty and evidence.exit_code and _USAGE_ERROR.search(words):
        return _Fault("engine_refused", words)
    return None


def _of_error(account: Account, error: str) -> _Fault:
    code = _BY_SUBTYPE.get(text(account.result, "subtype")) or _code_of(account, error)
    if code == LIMIT:
        return _Fault(code, error, limits.until(account, error))
    if code == LOGIN and _NOT_LOGGED_IN.search(error):
        return _Fault(code, f"{error}. {_LOG_IN}")
    return _Fault(code, error)


def _code_of(account: Account, error: str) -> str:
    if error.startswith(_NO_SESSION):
        return "session_lost"
    if text(account.result, "stop_reason") == "refusal":
        return "model_refused"
    if _NOT_YOUR_LIMIT in error:
        return OUTAGE
    if limits.is_limit(error):
        return LIMIT
    known = _BY_WORD.get(account.error)
    return known or _by_status(int(number(account.result, "api_error_status")), error)


def _by_status(status: int, error: str) -> str:
    if status in (401, 403) or _NOT_LOGGED_IN.search(error):
        return LOGIN
    if status == 413 or _TOO_LONG.search(error):
        return "prompt_too_large"
    if status == 429:
        return LIMIT
    if status >= 500 or status == 408:
        return OUTAGE
    if status:
        return "engine_refused"
    # No answer at all: the network, or something that is not the API.
    return OUTAGE if error.startswith("API Error") else "engine_failed"


def _error_of(account: Account) -> str:
    errors = account.result.get("errors")
    listed = [one for one in errors if isinstance(one, str)] if isinstance(errors, list) else []
    return text(account.result, "result") or " ".join(listed) or account.last_text


def _short(error: str) -> str:
    return error if len(error) <= _LONGEST_ERROR else error[: _LONGEST_ERROR - 1] + "…"


def _result(account: Account, message: str) -> Mapping[str, Any] | None:
    """What it said otherwise than in its file: as the program was asked for it, or in words."""
    structured = account.result.get("structured_output")
    return structured if isinstance(structured, dict) else object_in(message)
