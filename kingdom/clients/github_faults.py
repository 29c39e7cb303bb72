"""What GitHub's answers mean when they are none: limits, outages, refusals."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from kingdom.clients.waits import LONGEST_LIMIT, http_date, named_wait
from kingdom.errors import NeverWorks, TryLater
from kingdom.words.harmless import harmless

MASK = "***"
_LONGEST_SENTENCE = 400
_UNSAID_LIMIT = timedelta(seconds=60)  # what GitHub asks for when it names no moment
_LIMITED = re.compile(r"(?i)rate limit|abuse detection|retry your request again later")
_REMEDIES = {
    401: "Renew the token, or run: gh auth login",
    403: "The token may lack a permission for this repository.",
    404: "It answers so, too, when the token may not see the repository.",
    407: "It is a proxy that wants a login: write it into HTTP_PROXY.",
}


class GitHubLater(TryLater):
    """Not now: a limit, an outage, a line that broke.

    `not_before` is GitHub's own word, None if it said nothing. Unless `undone`, what was asked may
    have been done all the same.
    """

    code = "github_unavailable"

    def __init__(
        self,
        sentence: str,
        *,
        not_before: datetime | None = None,
        undone: bool = False,
        remedy: str = "",
    ) -> None:
        super().__init__(sentence, remedy=remedy)
        self.not_before = not_before
        self.undone = undone


class GitHubLimited(GitHubLater):
    """GitHub was asked too much, and did nothing."""

    code = "github_limited"
    is_limit = True

    def __init__(self, sentence: str, not_before: datetime) -> None:
        super().__init__(sentence, not_before=not_before, undone=True)


class GitHubRefused(NeverWorks):
    """GitHub says no, in its own words; nothing was done."""

    code = "github_refused"

    def __init__(self, sentence: str, *, status: int = 0, remedy: str = "") -> None:
        super().__init__(sentence, remedy=remedy, code="github_login" if status == 401 else "")
        self.status = status


def fault_in(
    status: int, headers: Mapping[str, str], body: str, *, token: str, now: datetime
) -> GitHubLater | GitHubRefused | None:
    """What an answer means for whoever asked; None if it is one. The token is not repeated."""
    if 200 <= status < 300:
        return None
    said = _words(body, token)
    if _is_limit(status, headers, said):
        until = _end_of_limit(headers, now)
        sentence = f"GitHub limits how much it is asked: {said or status}"
        return GitHubLimited(_ended(sentence), until)
    if status < 400:
        return GitHubLater("GitHub has moved what was asked for.", undone=True)
    if status >= 500 or status == 408:
        wait = named_wait(headers, now, LONGEST_LIMIT)
        return GitHubLater(
            f"GitHub has trouble: it answers with {status}.",
            not_before=now + wait if wait else None,
        )
    return GitHubRefused(
        _ended(f"GitHub refuses ({status}): {said or 'it does not say why'}"),
        status=status,
        remedy=_REMEDIES.get(status, ""),
    )


def decoded(body: str) -> Any:
    """What an answer has to say."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise GitHubLater(
            "GitHub answered with something else than JSON.",
            remedy="Look whether api_url leads to GitHub's API, not to a page or a login.",
        ) from None


def object_in(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise GitHubLater("GitHub answered something else where an object was expected.")
    return value


def _words(body: str, token: str) -> str:
    """GitHub's own sentence, with what it has against each field."""
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        return ""
    if not isinstance(data, dict):
        return ""
    errors = data.get("errors")
    details = [_detail(one) for one in errors] if isinstance(errors, list) else []
    sentence = ": ".join(filter(None, [text_of(data, "message"), ", ".join(details[:5])]))
    shown = harmless(" ".join(sentence.split())).replace(token, MASK)
    return shown if len(shown) <= _LONGEST_SENTENCE else f"{shown[:_LONGEST_SENTENCE]}…"


def _is_limit(status: int, headers: Mapping[str, str], said: str) -> bool:
    if status == 429:
        return True
    if status != 403:
        return False
    spent = headers.get("x-ratelimit-remaining") == "0"
    return spent or "retry-after" in headers or _LIMITED.search(said) is not None


def _end_of_limit(headers: Mapping[str, str], now: datetime) -> datetime:
    wait = named_wait(headers, now, LONGEST_LIMIT)
    if wait is None and headers.get("x-ratelimit-remaining") == "0":
        reset = headers.get("x-ratelimit-reset", "")
        if reset.isdecimal() and len(reset) < 12:
            # By GitHub's own clock: ours may be wrong. A second, since it tells no fractions.
            there = http_date(headers.get("date", "")) or now
            wait = datetime.fromtimestamp(int(reset), UTC) - there + timedelta(seconds=1)
    if wait is None or wait <= timedelta(0):
        wait = _UNSAID_LIMIT
    return now + min(wait, LONGEST_LIMIT)


def _detail(error: Any) -> str:
    if isinstance(error, str):
        return error
    if not isinstance(error, dict):
        return ""
    told = text_of(error, "message")
    return told or " ".join(filter(None, (text_of(error, key) for key in ("field", "code"))))


def text_of(raw: Mapping[str, Any], key: str) -> str:
    value = raw.get(key)
    return value if isinstance(value, str) else ""


def _ended(sentence: str) -> str:
    return sentence if sentence.endswith((".", "!", "?", "…")) else f"{sentence}."
