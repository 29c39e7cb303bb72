"""Jira, as the sentinel reads it: the only code that knows the library `jira`.

Of the library only its session is used, imported when the first request is made, and told not to
try again: it would sleep in our thread, and it falls over a `Retry-After` that is a date, over
errors that are not worded as it expects, and asks for every field's name before it searches. What
Jira answered counts, not what the library makes of it.

Nothing waits here: whoever asked hears by `JiraLater` when to ask again, or by `JiraRefused` that
asking again is no use. The token is in neither of them, nor in any log.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from http.cookiejar import DefaultCookiePolicy
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from kingdom import __version__
from kingdom.clients import jira_faults as faults
from kingdom.clients.jira_faults import Answer, JiraLater, JiraLimited, JiraRefused
from kingdom.clients.waits import LONGEST_LIMIT, http_date
from kingdom.clock import Clock, SystemClock
from kingdom.errors import ConfigurationError

if TYPE_CHECKING:
    from jira.resilientsession import ResilientSession

TIMEOUT = (10.0, 30.0)  # to connect, and for each part of an answer
DEADLINE = 120.0  # for a whole one
PER_PAGE = 100  # the most that a cloud gives with fields
MOST_COMMENTS = 20
MOST_CHANGES = 100  # that a cloud tells of one ticket
_GATEWAY = "/ex/jira/"  # where tokens with scopes go, which is no address for people


@dataclass(frozen=True)
class Credentials:
    """Whose view it is: an account and its token on a cloud, a personal token alone elsewhere."""

    email: str
    token: str
    email_variable: str
    token_variable: str


@dataclass(frozen=True)
class Site:
    is_cloud: bool
    address: str  # that people know

    @property
    def api(self) -> str:
        return "/rest/api/3" if self.is_cloud else "/rest/api/2"


@dataclass(frozen=True)
class Account:
    id: str
    zone: str  # in which dates are understood; empty if it is not told


@dataclass(frozen=True)
class Page:
    issues: Sequence[Any]
    after: str | int | None = None  # what to ask the next one with, if there is one


def find_credentials(
    environment: Mapping[str, str], email_variable: str, token_variable: str
) -> Credentials:
    """Raises `JiraRefused` if there is no token, or what is there cannot be one."""
    email, token = (environment.get(one, "").strip() for one in (email_variable, token_variable))
    if not token:
        raise JiraRefused(
            f"There is no token for Jira: {token_variable} is not set.",
            status=401,
            remedy=f"Set {token_variable} where the kingdom is started, and for a cloud "
            f"{email_variable}, too.",
        )
    for variable, value in ((email_variable, email), (token_variable, token)):
        if not value.isascii() or not value.isprintable() or " " in value:
            raise JiraRefused(
                f"What {variable} holds cannot be used: it has spaces or other characters.",
                status=401,
                remedy=f"Set {variable} to the bare value.",
            )
    return Credentials(email, token, email_variable, token_variable)


class Jira:
    """One account's view of a Jira. For one thread; each request waits at most a while."""

    def __init__(
        self,
        url: str,
        credentials: Credentials,
        *,
        clock: Clock | None = None,
        timeout: tuple[float, float] = TIMEOUT,
        deadline: float = DEADLINE,
    ) -> None:
        address = urlsplit(url)
        if address.scheme not in ("http", "https") or not address.hostname or address.username:
            raise ConfigurationError(
                "The url of Jira is not an address.",
                remedy="Write it as https://example.atlassian.net",
            )
        self.url = url.rstrip("/")
        self._credentials = credentials
        self._clock = clock or SystemClock()
        self._timeout = timeout
        self._deadline = deadline
        self._session: ResilientSession | None = None
        self._site: Site | None = None
        self.left_alone_until: datetime | None = None  # as it asked for
        self.now = self._clock.now()  # by Jira's own clock, when it answered last

    @property
    def has_email(self) -> bool:
        return bool(self._credentials.email)

    def close(self) -> None:
        if self._session is not None:
            self._session.close()
            self._session = None

    # What stands there

    def site(self) -> Site:
        """Asked without the token first, since its kind tells how the token is to be shown; a
        token that is shown in the wrong way counts as a failed login."""
        if self._site is None:
            path = "/rest/api/2/serverInfo"
            try:
                said = self._ask("GET", path, anonymous=True)
            except JiraRefused as refused:
                if refused.status not in (401, 403):
                    raise
                said = self._ask("GET", path)
            self._site = self._site_of(said)
        return self._site

    def _site_of(self, said: Mapping[str, Any]) -> Site:
        if "version" not in said and "deploymentType" not in said:
            raise faults.not_a_jira(self.url)
        address = said.get("baseUrl") if _GATEWAY in self.url else None
        return Site(
            is_cloud=said.get("deploymentType") == "Cloud",
            address=(address if isinstance(address, str) else self.url).rstrip("/"),
        )

    def account(self) -> Account:
        found = self._ask("GET", f"{self.site().api}/myself")
        id_ = account_id(found)
        if not id_:
            raise JiraLater("Jira does not say whose token it is.")
        zone = found.get("timeZone")
        return Account(id_, zone if isinstance(zone, str) else "")

    def search(self, jql: str, fields: Sequence[str], after: str | int | None = None) -> Page:
        """A page of what matches. On a cloud it is continued by a token, elsewhere by a number."""
        site = self.site()
        given: dict[str, Any] = {"jql": jql, "fields": list(fields), "maxResults": PER_PAGE}
        if after is not None:
            given["nextPageToken" if site.is_cloud else "startAt"] = after
        path = f"{site.api}/search/jql" if site.is_cloud else f"{site.api}/search"
        try:
            found = self._ask("POST", path, given=given)
        except JiraRefused as refused:
            if refused.status in (404, 405, 410):
                self._site = None  # what kind it is was asked long ago
            raise
        issues = found.get("issues")
        if not isinstance(issues, list):
            raise JiraLater("Jira answered something else where tickets were expected.")
        if site.is_cloud:
            token = found.get("nextPageToken")
            has_more = isinstance(token, str) and token and found.get("isLast") is not True
            return Page(issues, token if has_more else None)
        total, end = found.get("total"), int(after or 0) + len(issues)
        has_more = bool(issues) and isinstance(total, int) and end < total
        return Page(issues, end if has_more else None)

    def comments(self, issue_id: str) -> list[dict[str, Any]]:
        """The last ones on a ticket."""
        asked = {"orderBy": "-created", "maxResults": str(MOST_COMMENTS)}
        found = self._ask("GET", f"{self._issue(issue_id)}/comment", asked=asked)
        return _objects(found.get("comments"))

    def history(self, issue_id: str) -> list[dict[str, Any]]:
        """What was changed of a ticket; on a cloud, the last hundred times."""
        asked = {"fields": "updated", "expand": "changelog"}
        log = self._ask("GET", self._issue(issue_id), asked=asked).get("changelog")
        return _objects(log.get("histories")) if isinstance(log, dict) else []

    def _issue(self, issue_id: str) -> str:
        return f"{self.site().api}/issue/{quote(issue_id, safe='')}"

    # How it is asked

    def _ask(
        self,
        verb: str,
        path: str,
        *,
        asked: Mapping[str, str] | None = None,
        given: Mapping[str, Any] | None = None,
        anonymous: bool = False,
    ) -> Mapping[str, Any]:
        self._respect_limits()
        now = self._clock.now()
        answer = self._exchange(verb, path, asked, given, anonymous)
        fault = faults.of_answer(answer, now, self._credentials, anonymous=anonymous)
        if isinstance(fault, JiraLimited):
            self.left_alone_until = fault.not_before
        if fault is not None:
            raise fault
        self.now = http_date(answer.headers.get("date", "")) or now
        try:
            found = json.loads(answer.body)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise faults.not_json(answer)
        return found

    def _respect_limits(self) -> None:
        until, now = self.left_alone_until, self._clock.now()
        if until is not None and now < until <= now + LONGEST_LIMIT:  # else the clock was put back
            raise JiraLimited("Jira limits how much it is asked.", until)
        self.left_alone_until = None

    def _exchange(
        self,
        verb: str,
        path: str,
        asked: Mapping[str, str] | None,
        given: Mapping[str, Any] | None,
        anonymous: bool,
    ) -> Answer:
        """One request, one answer. The failures of the libraries below hold the request with the
        token in it, so ours are raised when theirs are forgotten."""
        from jira.exceptions import JIRAError

        heard: list[Answer] = []
        fault: JiraLater | JiraRefused | None = None
        try:
            self._connected().request(
                verb,
                f"{self.url}{path}",
                params=asked,
                json=given,
                auth=_nobody if anonymous else self._shown,
                allow_redirects=False,
                hooks={"response": lambda response, **_: heard.append(_answer_of(response))},
            )
        except OSError as error:  # as those of requests are
            fault = faults.of_exchange(error, self.url)
        except (JIRAError, ValueError, TypeError, LookupError, AttributeError):
            pass  # the library objects to the answer, or cannot read it; it was heard
        if fault is not None:
            raise fault
        if not heard:
            raise JiraLater("Jira's answer makes no sense.")
        return heard[0]

    def _shown(self, request: Any) -> Any:
        """The token, as this kind of Jira wants it. An object of our own as `auth` also keeps the
        library from looking for a password in ~/.netrc."""
        from requests.auth import HTTPBasicAuth

        mine = self._credentials
        is_cloud = self._site.is_cloud if self._site is not None else bool(mine.email)
        if is_cloud:
            return HTTPBasicAuth(mine.email, mine.token)(request)
        request.headers["Authorization"] = f"Bearer {mine.token}"
        return request

    def _connected(self) -> ResilientSession:
        if self._session is None:
            from jira.resilientsession import ResilientSession

            from kingdom.clients.deadline import limit

            session = ResilientSession(timeout=self._timeout, max_retries=0)
            limit(session, self._deadline)
            # A session that Jira keeps for us would outlive the token.
            session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
            session.headers.update(
                {
                    "Accept": "application/json",
                    "User-Agent": f"kingdom/{__version__}",
                    "X-Atlassian-Token": "no-check",  # a search is a POST, and changes nothing
                }
            )
            self._session = session
        return self._session


def account_id(user: Any) -> str:
    """What tells accounts apart: `accountId` on a cloud, `key` elsewhere."""
    if not isinstance(user, dict):
        return ""
    found = next((user[name] for name in ("accountId", "key", "name") if user.get(name)), "")
    return found if isinstance(found, str) else ""


def _nobody(request: Any) -> Any:
    return request


def _answer_of(response: Any) -> Answer:
    headers = {name.lower(): value for name, value in response.headers.items()}
    return Answer(response.status_code, headers, response.content)


def _objects(value: Any) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
