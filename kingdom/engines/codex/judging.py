"""Judges a run by all it left: exit code, how its turn ended, the error's words, standard error.

The program names no kinds of errors, so they are known by their sentences.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from kingdom.engines.codex import limits, schemas, stream
from kingdom.engines.codex.stream import Account
from kingdom.engines.fault import NOT_STARTED, Fault, killed, last_words, verdict
from kingdom.engines.json_lines import object_in, part, text
from kingdom.engines.port import Evidence, Verdict
from kingdom.engines.standing import LIMIT, LOGIN, OUTAGE

_STATUS = re.compile(r"\bstatus:? (\d{3})\b")
_BY_WORDS = {
    "model_refused": re.compile(
        r"reason: content_filter|\bflagged\b|usage polic(?:y|ies)|safety reasons", re.IGNORECASE
    ),
    "prompt_too_large": re.compile(r"ran out of room|context window|too large", re.IGNORECASE),
    LOGIN: re.compile(
        r"quota exceeded|upgrade to plus: |could not be refreshed|sign in again|codex login"
        r"|not logged in|missing environment variable",
        re.IGNORECASE,
    ),
    "engine_refused": re.compile(r"\bmodel\b.{0,80}(?:does not exist|not supported)"),
    OUTAGE: re.compile(
        r"stream disconnected|connection failed|high demand|at capacity|idle timeout|timed out"
        r"|error sending request|reading the server response",
        re.IGNORECASE,
    ),
}
_NO_SESSION = re.compile(r"thread/resume failed|no rollout found|session .{0,60}not found", re.I)
_USAGE_ERROR = re.compile(
    r"^(?:(?-i:error: )|Error loading config|Error finding codex home"
    r"|Error: [^\n]*(?:\bunknown|undefined|not found|invalid|requires))",
    re.MULTILINE | re.IGNORECASE,
)
_LOG_IN = (
    "Log in with codex login as the user that runs the kingdom, or pass CODEX_API_KEY on in the "
    "manifest's permissions.env."
)


def judge(evidence: Evidence, account: Account) -> Verdict:
    found = object_in(account.last_text) if account.is_completed else None
    fault = _fault(evidence, account, has_result=evidence.has_result or found is not None)
    is_lost = fault is not None and fault.code == "session_lost"
    return verdict(
        evidence,
        fault,
        session_id=None if is_lost else account.session_id or evidence.session_id,
        result=None if found is None else schemas.without_nulls(found),
        last_message=account.last_text,
        metrics=_metrics(evidence, account),
    )


def said(stdout_path: str) -> Mapping[str, Any] | None:
    """The result in this output, if it has one."""
    account = stream.read(stdout_path)
    found = object_in(account.last_text) if account.is_completed else None
    return None if found is None else schemas.without_nulls(found)


def _metrics(evidence: Evidence, account: Account) -> dict[str, Any]:
    """Of this run alone, but for `session_tokens`. There is no cost: the program tells none."""
    known = part(earlier := _earlier(evidence, account), "session_tokens")
    found: dict[str, Any] = {"turns": len(account.deeds)}
    if account.is_completed:
        found["tokens"] = stream.spent(account, earlier)
        found["session_tokens"] = stream.tokens(account.usage)
    else:  # it counts at the end only; the next run of this session brings what this one used
        found["partial"] = True
        found |= {"session_tokens": known} if known else {}
    return found


def _earlier(evidence: Evidence, account: Account) -> Mapping[str, Any]:
    """Nothing, where another session was begun than the one that was to be continued."""
    is_other = evidence.session_id and account.session_id not in ("", evidence.session_id)
    return {} if is_other else evidence.earlier


def _fault(evidence: Evidence, account: Account, *, has_result: bool) -> Fault | None:
    if not account.has_ended:
        return _without_end(evidence, account)
    if account.is_failed:
        return _of_error(account)
    if has_result or stream.spent(account, _earlier(evidence, account))["output"]:
        return None
    return Fault("empty_run")


def _without_end(evidence: Evidence, account: Account) -> Fault | None:
    """It was killed, or never began. What neither explains is for the general to name."""
    words, ended = last_words(evidence), killed(evidence)
    if ended is not None:
        return ended
    if account.session_id and evidence.exit_code == 0:  # asked to end, it may do so in good order
        return Fault("soldier_killed", "It ended in the middle of its work.")
    if not account.is_empty or not evidence.exit_code:
        return None
    if evidence.exit_code == NOT_STARTED:
        return Fault("engine_missing", words)
    if _NO_SESSION.search(words):
        return Fault("session_lost", words)
    return Fault("engine_refused", words) if _USAGE_ERROR.search(words) else None


def _of_error(account: Account) -> Fault:
    error = _plain(account.error)
    code = _code_of(error, is_body=error != account.error)
    if code == LIMIT:
        said = datetime.fromtimestamp(account.last_written, UTC)
        return Fault(code, error, limits.until(error, said))
    is_unknown = code == LOGIN and "status 403" not in error and "uota" not in error
    return Fault(code, f"{error.rstrip('.')}. {_LOG_IN}" if is_unknown else error)


def _code_of(error: str, *, is_body: bool) -> str:
    if limits.is_limit(error):
        return LIMIT
    by_words = next((code for code, words in _BY_WORDS.items() if words.search(error)), "")
    status = _STATUS.search(error)
    if status is not None and by_words != "model_refused":
        return _by_status(int(status[1]))
    # A refused request (400) is quoted as the API's whole answer, without its number.
    return by_words or ("engine_refused" if is_body else "engine_failed")


def _by_status(status: int) -> str:
    if status in (401, 402, 403):
        return LOGIN
    if status == 413:
        return "prompt_too_large"
    return OUTAGE if status >= 500 or status == 408 else "engine_refused"


def _plain(error: str) -> str:
    """The sentence in an answer of the API's that the program quotes as it stands."""
    try:
        body = json.loads(error)
    except (ValueError, RecursionError):
        return error
    if not isinstance(body, dict):
        return error
    return text(part(body, "error"), "message") or text(body, "detail") or error
