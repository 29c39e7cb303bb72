"""What Slack's answers mean when they are none: limits, outages, refusals."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from kingdom.errors import NeverWorks, TryLater
from kingdom.words.harmless import harmless

MASK = "***"
_LONGEST_WORD = 200
_UNSAID_LIMIT = timedelta(seconds=30)
LONGEST_LIMIT = timedelta(hours=1)  # a wait beyond this is not believed
_LIMITS = ("ratelimited", "rate_limited", "message_limit_exceeded")
_PASSING = (
    "accesslimited", "fatal_error", "internal_error", "request_timeout", "service_unavailable",
    "team_added_to_org",
)  # fmt: skip
_LOGIN = (
    "account_inactive", "invalid_auth", "not_authed", "not_allowed_token_type", "token_expired",
    "token_revoked", "org_login_required", "ekm_access_denied",
)  # fmt: skip
_NO_CHANNEL = ("channel_not_found", "user_not_found", "users_not_found", "user_disabled")
APP_TOKEN = (
    "Make a token under Basic Information, App-Level Tokens, with the scope connections:write, "
    "and set {variable} to it."
)
NEW_TOKEN = "Install the app in the workspace again, and set {variable} to its new token."
SENDS = "chat.postMessage"
# With these words Slack refuses a method whatever it is asked for.
_OF_METHOD = (
    "access_denied", "deprecated_endpoint", "feature_not_enabled", "method_deprecated",
    "missing_scope", "no_permission", "paid_only", "paid_teams_only", "team_access_not_granted",
    "unknown_method", *_LOGIN,
)  # fmt: skip
IN_PLACE_OF_SLACK = (
    "Something else may answer in Slack's place: check slack.api_url in config/local/envoy.yaml, "
    "and the proxy."
)
NOT_REACHED = "Check the network and the proxy of this machine."


class SlackLater(TryLater):
    """Not now: a limit, an outage, a line that broke.

    `not_before` is None if the trouble may lie in what was asked. Unless `undone`, it may have
    been done all the same. `method` is the one that fails while Slack is well otherwise.
    """

    code = "slack_unavailable"

    def __init__(
        self,
        sentence: str,
        *,
        not_before: datetime | None = None,
        undone: bool = False,
        method: str = "",
        remedy: str = "",
    ) -> None:
        super().__init__(sentence, remedy=remedy)
        self.not_before = not_before
        self.undone = undone
        self.method = method
        self.only_this = method not in ("", SENDS)


class SlackLimited(SlackLater):
    """Slack was asked too much, and did nothing."""

    code = "slack_limited"

    def __init__(self, method: str, not_before: datetime) -> None:
        sentence = f"Slack limits how often {method} is called."
        super().__init__(sentence, not_before=not_before, undone=True, method=method)


class SlackShut(SlackLater):
    """Slack lets nobody in with this token; what was to be said waits until it does."""

    code = "slack_login"

    def __init__(self, refused: SlackRefused, not_before: datetime) -> None:
        super().__init__(refused.sentence, not_before=not_before, undone=True)
        self.remedy = refused.remedy


class SlackRefused(NeverWorks):
    """Slack says no, and nothing was done; `error` is its own word for why."""

    code = "slack_refused"

    def __init__(self, sentence: str, *, error: str, remedy: str = "", code: str = "") -> None:
        super().__init__(sentence, remedy=remedy, code=code)
        self.error = error

    @property
    def is_of_method(self) -> bool:
        """Whether it would be refused whatever it is asked for."""
        return self.error in _OF_METHOD

    def with_remedy(self, remedy: str) -> SlackRefused:
        return SlackRefused(self.sentence, error=self.error, remedy=remedy, code=self.code)


class SlackCrowded(NeverWorks):
    """Slack gives each thing that people do to one of all lines with the same app token."""

    code = "slack_crowded"

    def __init__(self, variable: str) -> None:
        super().__init__(
            f"Another program listens with the token in {variable}, too, so some of what people "
            "say and press never arrives here.",
            remedy="One app, one kingdom: stop the other one, or make an app of its own for it "
            "with: kingdom envoy manifest",
        )


def limit_in(
    method: str, status: int, headers: Mapping[str, str], error: str, now: datetime
) -> SlackLimited | None:
    if status != 429 and error not in _LIMITS:
        return None
    return SlackLimited(method, now + (wait_named(headers) or _UNSAID_LIMIT))


def wait_named(headers: Mapping[str, str]) -> timedelta | None:
    """What Retry-After says."""
    named = next((v for k, v in headers.items() if k.lower() == "retry-after"), "").strip()
    if not named.isdecimal() or len(named) > 8:
        return None
    return min(timedelta(seconds=max(int(named), 1)), LONGEST_LIMIT)


def is_trouble(status: int, data: Any) -> bool:
    """Whether Slack has trouble of its own, or something else answers in its place."""
    if status >= 500 or status in (404, 405, 408, 410) or not isinstance(data, dict):
        return True
    error = data.get("error")
    return not isinstance(error, str) or error in _PASSING or " " in error


def refusal_in(
    data: Mapping[str, Any], *, method: str, about: str, variable: str, token: str
) -> SlackRefused:
    """`about` is the channel or person that was asked for; the token is not repeated."""
    error = _word(data.get("error"), token)
    about = _word(about, token) or "the channel"
    if error == "missing_scope":
        return _missing_scope(_word(data.get("needed"), token), method, variable)
    if error in _LOGIN:
        return SlackRefused(
            f"Slack does not accept the token in {variable} for {method}: {error}.",
            error=error,
            remedy=NEW_TOKEN.format(variable=variable),
            code="slack_login",
        )
    if error in _NO_CHANNEL:
        return SlackRefused(
            f"Slack knows no {about}, or the app may not see it: {error}.",
            error=error,
            remedy="Name a channel that exists; a private one must have the app invited.",
            code="slack_no_channel",
        )
    if error == "not_in_channel":
        return SlackRefused(
            f"The app is not in {about}.",
            error=error,
            remedy="Invite it there with: /invite @kingdom",
            code="slack_not_in_channel",
        )
    if error == "is_archived":
        return SlackRefused(
            f"{about} is archived.",
            error=error,
            remedy="Unarchive it, or name another one in config/local/envoy.yaml.",
            code="slack_no_channel",
        )
    remedy = IN_PLACE_OF_SLACK if error == "unknown_method" else ""
    return SlackRefused(f"Slack refuses {method}: {error}.", error=error, remedy=remedy)


def _missing_scope(needed: str, method: str, variable: str) -> SlackRefused:
    scope = needed or "one that Slack does not name"
    return SlackRefused(
        f"The Slack app lacks a scope: {scope} (for {method}).",
        error="missing_scope",
        remedy=f"Add it under OAuth & Permissions, then: {NEW_TOKEN.format(variable=variable)}",
        code="slack_scope",
    )


def _word(value: Any, token: str) -> str:
    text = value if isinstance(value, str) else ""
    shown = harmless(" ".join(text.split()))
    return (shown.replace(token, MASK) if token else shown)[:_LONGEST_WORD]
