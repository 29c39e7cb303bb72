"""GitHub: what stands there, and what is changed there.

One request at a time, paced as GitHub asks, and none at all while GitHub wants to be left alone.
Nothing is sent twice from here and nothing waits for a limit to pass: whoever asked hears by
`GitHubLater` when to ask again and whether what was asked may have been done meanwhile, or by
`GitHubRefused` that asking again is no use. The token is in neither of them, nor in any log.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from kingdom.clients.github_access import API_URL, repository_named
from kingdom.clients.github_faults import (
    GitHubLater,
    GitHubLimited,
    GitHubRefused,
    decoded,
    fault_in,
    object_in,
    text_of,
)
from kingdom.clients.github_line import Line
from kingdom.clients.waits import LONGEST_LIMIT
from kingdom.clock import Clock, SystemClock, isoformat
from kingdom.errors import ConfigurationError

# GitHub itself ends what takes it more than ten seconds.
TIMEOUT = 15
DEADLINE = 60.0  # for a whole answer
PER_PAGE = 100
MOST_PAGES = 300
NOT_MODIFIED, NOT_KNOWN = 304, 401
_LONGEST_URL = 500


@dataclass(frozen=True)
class Repository:
    name: str  # with its owner's
    default_branch: str


@dataclass(frozen=True)
class Posted:
    """Something that stands on GitHub: a review, a comment, a pull request."""

    url: str
    body: str = ""
    author: str = ""
    by_bot: bool = False


@dataclass(frozen=True)
class LineComment:
    """A remark on one line of a pull request's changes; `side` is LEFT for what was removed."""

    path: str
    line: int
    side: str
    body: str

    def spelled(self) -> dict[str, Any]:
        return {"path": self.path, "line": self.line, "side": self.side, "body": self.body}


@dataclass(frozen=True)
class Reply:
    """What GitHub answered; no data if nothing changed since the state that was named."""

    is_news: bool
    headers: Mapping[str, str]  # names in lower case
    data: Any = None


class GitHub:
    """One account's view of GitHub. Every method waits for GitHub, each request at most a while.

    Threads may share one: their requests queue up. `pace` is the least time between two requests,
    and between two that change something. `renew` is asked for the token again when it is refused.
    """

    def __init__(
        self,
        token: str,
        api_url: str = API_URL,
        *,
        clock: Clock | None = None,
        timeout: int = TIMEOUT,
        deadline: float = DEADLINE,
        pace: tuple[float, float] = (0.25, 1.0),
        renew: Callable[[], str] | None = None,
    ) -> None:
        address = urlsplit(api_url)
        if address.scheme not in ("http", "https") or not address.hostname:
            raise ConfigurationError(
                "The api_url of GitHub is not an address.", remedy=f"Write it as {API_URL}"
            )
        self._token = token
        self._api_url = api_url.rstrip("/")
        self._clock = clock or SystemClock()
        self._renew = renew
        self._open = partial(
            Line, api_url=self._api_url, timeout=timeout, deadline=deadline, pace=pace
        )
        self._line = self._open(token)
        self._lock = threading.Lock()
        self.left_alone_until: datetime | None = None  # as it asked for
        self._me: str | None = None

    def close(self) -> None:
        with self._lock:
            self._line.close()

    # What stands there

    def repository(self, text: str) -> Repository | None:
        """The one of this name, as it is called today; None for what cannot be one here.

        Under a former name GitHub answers, too, but not every question to the end.
        """
        named = repository_named(text, self._api_url)
        if not named:
            return None
        found = object_in(self._ask("GET", f"/repos/{named}"))
        today = repository_named(text_of(found, "full_name"))
        if not today:
            raise GitHubLater("GitHub answered something else where a repository was expected.")
        return Repository(today, text_of(found, "default_branch"))

    def is_mine(self, posted: Posted) -> bool:
        """Whether this account wrote it: anybody can copy what marks a text as ours.

        An app may not ask who it is; for it another app's is as good as its own.
        """
        if self._me is None:
            try:
                self._me = text_of(object_in(self._ask("GET", "/user")), "login")
            except GitHubRefused as refused:
                if refused.status != 403:
                    raise
                self._me = ""
        return posted.author == self._me if self._me else posted.by_bot

    def reviews(self, repo: str, number: int) -> Iterator[Posted]:
        return map(_posted, self._pages(f"/repos/{repo}/pulls/{number}/reviews", {}))

    def comments(self, repo: str, number: int, since: datetime | None) -> Iterator[Posted]:
        """Of an issue or a pull request, not those on lines."""
        asked = {"since": isoformat(since)} if since else {}
        return map(_posted, self._pages(f"/repos/{repo}/issues/{number}/comments", asked))

    def pulls_from(self, repo: str, branch: str) -> Iterator[Posted]:
        """Those from this branch of the same repository, closed ones too."""
        owner = repo.partition("/")[0]
        asked = {"head": f"{owner}:{branch}", "state": "all"}
        for pull in self._pages(f"/repos/{repo}/pulls", asked):
            head = pull.get("head")
            if isinstance(head, dict) and head.get("ref") == branch:
                yield _posted(pull)

    def patches(self, repo: str, number: int) -> dict[str, str]:
        """What a pull request changes, by path; a file too large for that has none."""
        files = self._pages(f"/repos/{repo}/pulls/{number}/files", {})
        return {text_of(one, "filename"): text_of(one, "patch") for one in files}

    def look(
        self,
        path: str,
        asked: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Reply:
        """Whatever stands there; `headers` may make it conditional. A path, or an address here."""
        status, said, body = self._answer(
            "GET", self._path_of(path), dict(asked or {}), headers=headers
        )
        return Reply(False, said) if status == NOT_MODIFIED else Reply(True, said, decoded(body))

    def _path_of(self, address: str) -> str:
        """Where the token may go: nowhere but here."""
        if address.startswith("/"):
            return address
        if not address.startswith(f"{self._api_url}/"):
            raise GitHubRefused("GitHub names an address that is not its own.")
        return address.removeprefix(self._api_url)

    # What changes something

    def mark_read(self, thread: str) -> None:
        self._answer("PATCH", f"/notifications/threads/{thread}", {})

    def add_review(
        self,
        repo: str,
        number: int,
        *,
        event: str,
        body: str,
        comments: list[LineComment],
        commit: str | None = None,
    ) -> Posted:
        given: dict[str, Any] = {"event": event, "body": body}
        if comments:
            given["comments"] = [one.spelled() for one in comments]
        if commit:
            given["commit_id"] = commit
        return self._post(f"/repos/{repo}/pulls/{number}/reviews", given)

    def add_comment(self, repo: str, number: int, body: str) -> Posted:
        return self._post(f"/repos/{repo}/issues/{number}/comments", {"body": body})

    def open_pull(
        self, repo: str, *, head: str, base: str, title: str, body: str, draft: bool
    ) -> Posted:
        given = {"head": head, "base": base, "title": title, "body": body, "draft": draft}
        return self._post(f"/repos/{repo}/pulls", given)

    # How it is asked

    def _post(self, path: str, given: dict[str, Any]) -> Posted:
        posted = _posted(object_in(self._ask("POST", path, given=given)))
        if not posted.url:
            raise GitHubLater("GitHub did not answer what was posted.")
        return posted

    def _pages(self, path: str, asked: dict[str, str]) -> Iterator[dict[str, Any]]:
        for page in range(1, MOST_PAGES + 1):
            wanted = asked | {"per_page": str(PER_PAGE), "page": str(page)}
            found, links = self._ask_with_links("GET", path, wanted)
            if not isinstance(found, list):
                raise GitHubLater("GitHub answered something else where a list was expected.")
            yield from (one for one in found if isinstance(one, dict))
            if 'rel="next"' not in links:
                return
        raise GitHubRefused(f"There are more than {MOST_PAGES} pages of {path}.")

    def _ask(self, verb: str, path: str, *, given: dict[str, Any] | None = None) -> Any:
        return self._ask_with_links(verb, path, {}, given)[0]

    def _ask_with_links(
        self,
        verb: str,
        path: str,
        asked: dict[str, str],
        given: dict[str, Any] | None = None,
    ) -> tuple[Any, str]:
        _, headers, body = self._answer(verb, path, asked, given)
        return decoded(body), headers.get("link", "")

    def _answer(
        self,
        verb: str,
        path: str,
        asked: dict[str, str],
        given: dict[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> tuple[int, Mapping[str, str], str]:
        with self._lock:
            self._respect_limits()
            status, said, body = self._line.exchange(verb, path, asked, given, headers or {})
            if status == NOT_KNOWN and self._has_new_token():
                status, said, body = self._line.exchange(verb, path, asked, given, headers or {})
            now = self._clock.now()
            fault = fault_in(status, said, body, token=self._token, now=now)
            if isinstance(fault, GitHubLimited):
                self.left_alone_until = fault.not_before
        if fault is not None and status != NOT_MODIFIED:
            raise fault
        return status, said, body

    def _has_new_token(self) -> bool:
        """Whether there is another than the one that was refused; from here on it is used."""
        try:
            token = self._renew() if self._renew is not None else ""
        except GitHubRefused:
            return False
        if token in ("", self._token):
            return False
        self._line.close()
        self._token, self._line, self._me = token, self._open(token), None
        return True

    def _respect_limits(self) -> None:
        until, now = self.left_alone_until, self._clock.now()
        if until is not None and now < until <= now + LONGEST_LIMIT:  # else the clock was put back
            raise GitHubLimited("GitHub limits how much it is asked.", until)
        self.left_alone_until = None


def _posted(raw: Mapping[str, Any]) -> Posted:
    user = raw.get("user")
    author: Mapping[str, Any] = user if isinstance(user, dict) else {}
    url = text_of(raw, "html_url")
    is_link = url.startswith(("https://", "http://")) and url.isprintable() and " " not in url
    return Posted(
        url=url if is_link and len(url) <= _LONGEST_URL else "",
        body=text_of(raw, "body"),
        author=text_of(author, "login"),
        by_bot=author.get("type") == "Bot",
    )
