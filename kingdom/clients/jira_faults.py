"""What goes wrong with Jira, in our words: what an answer means for whoever asked."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from kingdom.clients.reach import why_unreached
from kingdom.clients.waits import LONGEST_LIMIT, named_wait
from kingdom.errors import NeverWorks, TryLater
from kingdom.words.harmless import harmless

if TYPE_CHECKING:
    from kingdom.clients.jira import Credentials

MASK = "***"
_LONGEST_SENTENCE = 400
_UNSAID_LIMIT = timedelta(seconds=60)
LOGIN = "jira_login"
_DENIED = ("AUTHENTICATED_FAILED", "AUTHENTICATION_DENIED")


class JiraLater(TryLater):
    """Not now: a limit, an outage, a line that broke. `not_before` is Jira's own word, if any."""

    code = "jira_unavailable"

    def __init__(
        self, sentence: str, *, not_before: datetime | None = None, remedy: str = ""
    ) -> None:
        super().__init__(sentence, remedy=remedy)
        self.not_before = not_before


class JiraLimited(JiraLater):
    """Jira was asked too much."""

    code = "jira_limited"
    is_limit = True

    def __init__(self, sentence: str, not_before: datetime) -> None:
        super().__init__(sentence, not_before=not_before)


class JiraRefused(NeverWorks):
    """Jira says no, in its own words."""

    code = "jira_refused"

    def __init__(self, sentence: str, *, status: int = 0, remedy: str = "", code: str = "") -> None:
        super().__init__(sentence, remedy=remedy, code=code)
        self.status = status


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]  # names in lower case
    body: bytes


def of_answer(
    answer: Answer, now: datetime, credentials: Credentials, *, anonymous: bool
) -> JiraLater | JiraRefused | None:
    """None if it is one. Who is not known to Jira is answered all the same, as anybody would be:
    with no tickets."""
    status, headers = answer.status, answer.headers
    if not anonymous and (refused := _login_refused(answer, credentials)):
        return refused
    if 200 <= status < 300:
        return None
    said = _words(answer.body, credentials.token)
    if status == 429:
        until = _end_of_limit(headers, now)
        return JiraLimited(_ended(f"Jira limits how much it is asked: {said or status}"), until)
    if status < 400:
        return _redirected(headers)
    if status >= 500 or status == 408:
        wait = named_wait(headers, now, LONGEST_LIMIT)
        return JiraLater(
            _ended(f"Jira has trouble: it answers with {status}{said and ': '}{said}"),
            not_before=now + wait if wait else None,
        )
    return JiraRefused(
        _ended(f"Jira refuses ({status}): {said or 'it does not say why'}"),
        status=status,
        remedy=_REMEDIES.get(status, ""),
        code="jira_query" if status == 400 else "",
    )


_REMEDIES = {
    400: "Try it in Jira's own search, then correct polling.jira.scope.jql_base in sentinel.yaml.",
    403: "The account may lack a permission, or the token a scope; see docs/watching-jira.md.",
    404: "Look whether polling.jira.url in sentinel.yaml is the address of Jira itself.",
    410: "This Jira has removed what was asked for; a newer kingdom may know better.",
}


def _login_refused(answer: Answer, credentials: Credentials) -> JiraRefused | None:
    headers = answer.headers
    denied = headers.get("x-authentication-denied-reason", "")
    reason = headers.get("x-seraph-loginreason", "")
    if "CAPTCHA" in denied or "AUTHENTICATION_DENIED" in reason:
        return JiraRefused(
            "Jira wants a person to log in once, after too many logins that failed.",
            status=answer.status,
            remedy="Log in to Jira in a browser with the token's account and solve the CAPTCHA.",
            code=LOGIN,
        )
    is_anonymous = headers.get("x-ausername") == "anonymous"
    if answer.status != 401 and not is_anonymous and not any(one in reason for one in _DENIED):
        return None
    said = _words(answer.body, credentials.token) if answer.status >= 400 else ""
    return JiraRefused(
        _ended(f"Jira does not accept the token{said and ': '}{said}"),
        status=401,
        remedy=f"Make a new token and set {credentials.token_variable}; on a cloud "
        f"{credentials.email_variable} must be its account, and a token with scopes needs another "
        "url, see docs/watching-jira.md.",
        code=LOGIN,
    )


def _redirected(headers: Mapping[str, str]) -> JiraRefused:
    parts = urlsplit(headers.get("location", ""))
    there = f"{parts.scheme}://{parts.netloc}" if parts.netloc else parts.path or "nowhere"
    return JiraRefused(
        f"Jira's address leads elsewhere: to {_shown(there)}.",
        remedy="Write the address that Jira has now as polling.jira.url in sentinel.yaml.",
    )


def _end_of_limit(headers: Mapping[str, str], now: datetime) -> datetime:
    wait = named_wait(headers, now, LONGEST_LIMIT)
    if wait is None:
        try:
            reset = datetime.fromisoformat(headers.get("x-ratelimit-reset", ""))
            wait = (reset if reset.tzinfo else reset.replace(tzinfo=UTC)) - now
        except (ValueError, OverflowError):
            wait = _UNSAID_LIMIT
    if wait <= timedelta(0):
        wait = _UNSAID_LIMIT
    return now + min(wait, LONGEST_LIMIT)


def not_json(answer: Answer) -> JiraLater:
    is_page = answer.body.lstrip()[:1] == b"<"
    return JiraLater(
        f"Jira answered with {'a web page' if is_page else 'something else'}, not with the JSON "
        "that was asked for.",
        remedy="Look whether polling.jira.url leads to Jira itself, not to a login or a notice.",
    )


def not_a_jira(url: str) -> JiraRefused:
    return JiraRefused(f"What answers at {_shown(url)} is no Jira.", remedy=_REMEDIES[404])


def of_exchange(error: OSError, url: str) -> JiraLater:
    """No answer came at all. `error` is one of the library requests."""
    why = why_unreached(error, "Jira", url)
    return JiraLater(why.sentence, remedy=why.remedy)


def _words(body: bytes, token: str) -> str:
    """Jira's own, however this version of it puts them."""
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        return ""
    if not isinstance(data, dict):
        return ""
    errors = data.get("errors")
    found: list[Any] = [data.get("message"), data.get("errorMessage")]
    messages = data.get("errorMessages")
    found += messages if isinstance(messages, list) else [messages]
    if isinstance(errors, dict):
        found += [f"{name}: {value}" for name, value in errors.items()]
    sentence = " ".join(" ".join(one.split()) for one in found if isinstance(one, str))
    return _shown(sentence.replace(token, MASK))


def _shown(text: str) -> str:
    text = harmless(text)
    return text if len(text) <= _LONGEST_SENTENCE else f"{text[:_LONGEST_SENTENCE]}…"


def _ended(sentence: str) -> str:
    return sentence if sentence.endswith((".", "!", "?", "…")) else f"{sentence}."
