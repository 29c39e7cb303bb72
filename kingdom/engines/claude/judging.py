"""Judges a run by all it left: exit code, result line, error fields, standard error, tokens."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from kingdom.engines.claude import costs, limits, stream
from kingdom.engines.claude.stream import Account
from kingdom.engines.fault import NOT_STARTED, Fault, killed, last_words, verdict
from kingdom.engines.json_lines import number, object_in, text
from kingdom.engines.port import Evidence, Verdict
from kingdom.engines.standing import LIMIT, LOGIN, OUTAGE

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
_LOG_IN = (
    "Log in with claude auth login as the user that runs the kingdom, or pass ANTHROPIC_API_KEY or "
    "CLAUDE_CODE_OAUTH_TOKEN on in the manifest's permissions.env."
)


def judge(evidence: Evidence, account: Account) -> Verdict:
    message = text(account.result, "result") or account.last_text
    found = None if account.result.get("is_error") else _result(account, message)
    fault = _fault(evidence, account, message, has_result=evidence.has_result or found is not None)
    return verdict(
        evidence,
        fault,
        session_id=account.session_id or evidence.session_id,
        result=found,
        last_message=message,
        metrics=costs.metrics(account, evidence.earlier),
    )


def said(stdout_path: str) -> Mapping[str, Any] | None:
    """The result in this output, if it has one."""
    account = stream.read(stdout_path)
    if account.result.get("is_error"):
        return None
    return _result(account, text(account.result, "result") or account.last_text)


def _fault(evidence: Evidence, account: Account, message: str, *, has_result: bool) -> Fault | None:
    if not account.results:
        return _without_result_line(evidence, account)
    if account.result.get("is_error"):
        return _of_error(account, _error_of(account))
    if has_result:
        return None
    if limits.is_limit(message):  # a clean end, by the looks of it
        return Fault(LIMIT, message, limits.until(account, message))
    if not costs.spent(account, evidence.earlier)["output"]:
        return Fault("empty_run")
    denied = costs.denied_tools(account)
    return Fault("tools_denied", f"It wanted {', '.join(denied)}.") if denied else None


def _without_result_line(evidence: Evidence, account: Account) -> Fault | None:
    """It was killed, or never began. What neither explains is for the general to name."""
    words, ended = last_words(evidence), killed(evidence)
    if ended is not None:
        return ended
    if evidence.exit_code == NOT_STARTED and account.is_empty:
        return Fault("engine_missing", words)
    if account.is_empty and evidence.exit_code and _USAGE_ERROR.search(words):
        return Fault("engine_refused", words)
    return None


def _of_error(account: Account, error: str) -> Fault:
    code = _BY_SUBTYPE.get(text(account.result, "subtype")) or _code_of(account, error)
    if code == LIMIT:
        return Fault(code, error, limits.until(account, error))
    if code == LOGIN and _NOT_LOGGED_IN.search(error):
        return Fault(code, f"{error}. {_LOG_IN}")
    return Fault(code, error)


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


def _result(account: Account, message: str) -> Mapping[str, Any] | None:
    """What it said otherwise than in its file: as the program was asked for it, or in words."""
    structured = account.result.get("structured_output")
    return structured if isinstance(structured, dict) else object_in(message)
