"""GitHub: the only code that knows PyGithub, which is imported when the first request is made.

One request at a time, paced as GitHub asks, and none at all while GitHub wants to be left alone.
Nothing is sent twice from here and nothing waits for a limit to pass: whoever asked hears by
`GitHubLater` when to ask again and whether what was asked may have been done meanwhile, or by
`GitHubRefused` that asking again is no use. The token is in neither of them, nor in any log.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from kingdom import __version__
from kingdom.clients.reach import why_unreached
from kingdom.clock import Clock, SystemClock, isoformat
from kingdom.errors import ConfigurationError, NeverWorks, TryLater
from kingdom.words.harmless import harmless

if TYPE_CHECKING:
    from github.Requester import Requester

API_URL = "https://api.github.com"
MASK = "***"
# GitHub itself ends what takes it more than ten seconds.
TIMEOUT = 15
PER_PAGE = 100
MOST_PAGES = 300
NOT_MODIFIED = 304
_GH_TIMEOUT = 10.0
_LONGEST_SENTENCE = 400
_LONGEST_URL = 500
_UNSAID_LIMIT = timedelta(seconds=60)  # what GitHub asks for when it names no moment
_LONGEST_LIMIT = timedelta(hours=2)  # a moment beyond this is not believed; limits last an hour
_LIMITED = re.compile(r"(?i)rate limit|abuse detection|retry your request again later")
_OWNER = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
_NAME = re.compile(r"(?!\.{1,2}$)[A-Za-z0-9._-]{1,100}")
_SCP = re.compile(r"(?:[^@/\s]+@)?(?P<host>[^:/\s]+):(?P<path>[^\s]+)")


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

    def __init__(self, sentence: str, not_before: datetime) -> None:
        super().__init__(sentence, not_before=not_before, undone=True)


class GitHubRefused(NeverWorks):
    """GitHub says no, in its own words; nothing was done."""

    code = "github_refused"

    def __init__(self, sentence: str, *, status: int = 0, remedy: str = "") -> None:
        super().__init__(sentence, remedy=remedy, code="github_login" if status == 401 else "")
        self.status = status


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


def find_token(environment: Mapping[str, str], variable: str, api_url: str = API_URL) -> str:
    """From this variable, else what `gh` has; raises `GitHubRefused` if there is none."""
    token = environment.get(variable, "").strip() or _token_of_gh(environment, web_host(api_url))
    if not token:
        raise GitHubRefused(
            f"There is no token for GitHub: {variable} is not set, and gh is not logged in.",
            status=401,
            remedy=f"Set {variable} where the kingdom is started, or run: gh auth login",
        )
    if not token.isprintable() or not token.isascii() or " " in token:
        raise GitHubRefused(
            f"What {variable} or gh holds is not a token: it has spaces or other characters.",
            status=401,
            remedy=f"Set {variable} to the token alone.",
        )
    return token


def _token_of_gh(environment: Mapping[str, str], host: str) -> str:
    program = shutil.which("gh", path=environment.get("PATH"))
    if program is None:
        return ""
    try:
        said = subprocess.run(
            [program, "auth", "token", "--hostname", host],
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_GH_TIMEOUT,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return said.stdout.decode("utf-8", "replace").strip() if said.returncode == 0 else ""


def web_host(api_url: str) -> str:
    """The host that people and git know: github.com for api.github.com."""
    return (urlsplit(api_url).hostname or "").removeprefix("api.")


def repository_named(text: str, api_url: str = API_URL) -> str:
    """`owner/name` of a repository that was named so, or by an address of this GitHub's; empty for
    one that is elsewhere: what is meant for another host must not be posted here."""
    host, path = "", text
    if "://" in text:
        parts = urlsplit(text)
        host, path = parts.hostname or "-", parts.path
    elif ":" in text and (match := _SCP.fullmatch(text)):
        host, path = match["host"], match["path"]
    if host and host != web_host(api_url):
        return ""
    owner, _, name = path.strip("/").removesuffix(".git").partition("/")
    is_one = _OWNER.fullmatch(owner) and _NAME.fullmatch(name)
    return f"{owner}/{name}" if is_one else ""


@dataclass(frozen=True)
class Reply:
    """What GitHub answered; no data if nothing changed since the state that was named."""

    is_news: bool
    headers: Mapping[str, str]  # names in lower case
    data: Any = None


class GitHub:
    """One account's view of GitHub. Every method waits for GitHub, each request at most a while.

    Threads may share one: their requests queue up. `pace` is the least time between two requests,
    and between two that change something.
    """

    def __init__(
        self,
        token: str,
        api_url: str = API_URL,
        *,
        clock: Clock | None = None,
        timeout: int = TIMEOUT,
        pace: tuple[float, float] = (0.25, 1.0),
    ) -> None:
        address = urlsplit(api_url)
        if address.scheme not in ("http", "https") or not address.hostname:
            raise ConfigurationError(
                "The api_url of GitHub is not an address.", remedy=f"Write it as {API_URL}"
            )
        self._token = token
        self._api_url = api_url.rstrip("/")
        self._clock = clock or SystemClock()
        self._timeout = timeout
        self._pace = pace
        self._lock = threading.Lock()
        self._requester: Requester | None = None
        self._left_alone_until: datetime | None = None
        self._me: str | None = None

    def close(self) -> None:
        with self._lock:
            if self._requester is not None:
                self._requester.close()
                self._requester = None

    # What stands there

    def repository(self, text: str) -> Repository | None:
        """The one of this name, as it is called today; None for what cannot be one here.

        Under a former name GitHub answers, too, but not every question to the end.
        """
        named = repository_named(text, self._api_url)
        if not named:
            return None
        found = _object(self._ask("GET", f"/repos/{named}"))
        today = repository_named(_text(found, "full_name"))
        if not today:
            raise GitHubLater("GitHub answered something else where a repository was expected.")
        return Repository(today, _text(found, "default_branch"))

    def is_mine(self, posted: Posted) -> bool:
        """Whether this account wrote it: anybody can copy what marks a text as ours.

        An app may not ask who it is; for it another app's is as good as its own.
        """
        if self._me is None:
            try:
                self._me = _text(_object(self._ask("GET", "/user")), "login")
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
        return {_text(one, "filename"): _text(one, "patch") for one in files}

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
        return Reply(False, said) if status == NOT_MODIFIED else Reply(True, said, _decoded(body))

    def mark_read(self, thread: str) -> None:
        self._answer("PATCH", f"/notifications/threads/{thread}", {})

    def _path_of(self, address: str) -> str:
        """Where the token may go: nowhere but here."""
        if address.startswith("/"):
            return address
        if not address.startswith(f"{self._api_url}/"):
            raise GitHubRefused("GitHub names an address that is not its own.")
        return address.removeprefix(self._api_url)

    # What changes something

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
        posted = _posted(_object(self._ask("POST", path, given=given)))
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
        return _decoded(body), headers.get("link", "")

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
            status, said, body = self._exchange(verb, path, asked, given, headers or {})
            fault = None if status == NOT_MODIFIED else self._fault(status, said, body)
            if isinstance(fault, GitHubLimited):
                self._left_alone_until = fault.not_before
        if fault is not None:
            raise fault
        return status, said, body

    def _respect_limits(self) -> None:
        until, now = self._left_alone_until, self._clock.now()
        if until is not None and now < until <= now + _LONGEST_LIMIT:  # else the clock was put back
            raise GitHubLimited("GitHub limits how much it is asked.", until)
        self._left_alone_until = None

    def _exchange(
        self,
        verb: str,
        path: str,
        asked: dict[str, str],
        given: dict[str, Any] | None,
        headers: Mapping[str, str],
    ) -> tuple[int, Mapping[str, str], str]:
        """One request, one answer. The failures of the libraries below hold the request with the
        token in it, so ours are raised when theirs are forgotten."""
        try:
            return self._connected().requestJson(
                verb,
                quote(path),
                parameters=asked,
                input=given,
                headers={"Accept": _ACCEPT, **headers},
            )
        except OSError as error:  # as those of requests are
            why = why_unreached(error, "GitHub", self._api_url)
            fault: TryLater | NeverWorks = GitHubLater(
                why.sentence, remedy=why.remedy, undone=why.undone
            )
        except RuntimeError:  # it does not follow where it is sent
            fault = GitHubRefused("GitHub's answer leads nowhere; api_url may be wrong.")
        except (ValueError, TypeError, AssertionError, LookupError) as error:
            fault = GitHubLater(f"GitHub's answer makes no sense: {type(error).__name__}.")
        raise fault

    def _connected(self) -> Requester:
        if self._requester is None:
            from github import Auth, Github

            self._requester = Github(
                auth=Auth.Token(self._token),
                base_url=self._api_url,
                timeout=self._timeout,
                user_agent=f"kingdom/{__version__}",
                retry=None,  # type: ignore[arg-type, unused-ignore]
                seconds_between_requests=self._pace[0],
                seconds_between_writes=self._pace[1],
            ).requester
        return self._requester

    def _fault(
        self, status: int, headers: Mapping[str, str], body: str
    ) -> GitHubLater | GitHubRefused | None:
        """What an answer means for whoever asked; None if it is one."""
        if 200 <= status < 300:
            return None
        said = self._words(body)
        if _is_limit(status, headers, said):
            until = _end_of_limit(headers, self._clock.now())
            sentence = f"GitHub limits how much it is asked: {said or status}"
            return GitHubLimited(_ended(sentence), until)
        if status < 400:
            return GitHubLater("GitHub has moved what was asked for.", undone=True)
        if status >= 500 or status == 408:
            now = self._clock.now()
            wait = _named_wait(headers, now)
            return GitHubLater(
                f"GitHub has trouble: it answers with {status}.",
                not_before=now + wait if wait else None,
            )
        return GitHubRefused(
            _ended(f"GitHub refuses ({status}): {said or 'it does not say why'}"),
            status=status,
            remedy=_REMEDIES.get(status, ""),
        )

    def _words(self, body: str) -> str:
        """GitHub's own sentence, with what it has against each field."""
        try:
            data = json.loads(body)
        except (ValueError, RecursionError):
            return ""
        if not isinstance(data, dict):
            return ""
        errors = data.get("errors")
        details = [_detail(one) for one in errors] if isinstance(errors, list) else []
        sentence = ": ".join(filter(None, [_text(data, "message"), ", ".join(details[:5])]))
        shown = harmless(" ".join(sentence.split())).replace(self._token, MASK)
        return shown if len(shown) <= _LONGEST_SENTENCE else f"{shown[:_LONGEST_SENTENCE]}…"


_ACCEPT = "application/vnd.github+json"
_REMEDIES = {
    401: "Renew the token, or run: gh auth login",
    403: "The token may lack a permission for this repository.",
    404: "It answers so, too, when the token may not see the repository.",
    407: "It is a proxy that wants a login: write it into HTTP_PROXY.",
}


def _is_limit(status: int, headers: Mapping[str, str], said: str) -> bool:
    if status == 429:
        return True
    if status != 403:
        return False
    spent = headers.get("x-ratelimit-remaining") == "0"
    return spent or "retry-after" in headers or _LIMITED.search(said) is not None


def _end_of_limit(headers: Mapping[str, str], now: datetime) -> datetime:
    wait = _named_wait(headers, now)
    if wait is None and headers.get("x-ratelimit-remaining") == "0":
        reset = headers.get("x-ratelimit-reset", "")
        if reset.isdecimal() and len(reset) < 12:
            # By GitHub's own clock: ours may be wrong. A second, since it tells no fractions.
            there = _moment(headers.get("date", "")) or now
            wait = datetime.fromtimestamp(int(reset), UTC) - there + timedelta(seconds=1)
    if wait is None or wait <= timedelta(0):
        wait = _UNSAID_LIMIT
    return now + min(wait, _LONGEST_LIMIT)


def _named_wait(headers: Mapping[str, str], now: datetime) -> timedelta | None:
    """What Retry-After says, in seconds or as a date."""
    named = headers.get("retry-after", "").strip()
    if named.isdecimal() and len(named) < 8:
        return min(timedelta(seconds=int(named)), _LONGEST_LIMIT)
    moment = _moment(named)
    if moment is None:
        return None
    wait = moment - (_moment(headers.get("date", "")) or now)
    return min(wait, _LONGEST_LIMIT) if wait > timedelta(0) else None


def _moment(text: str) -> datetime | None:
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def _decoded(body: str) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise GitHubLater("GitHub answered with something else than JSON.") from None


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise GitHubLater("GitHub answered something else where an object was expected.")
    return value


def _posted(raw: Mapping[str, Any]) -> Posted:
    user = raw.get("user")
    author: Mapping[str, Any] = user if isinstance(user, dict) else {}
    url = _text(raw, "html_url")
    is_link = url.startswith(("https://", "http://")) and url.isprintable() and " " not in url
    return Posted(
        url=url if is_link and len(url) <= _LONGEST_URL else "",
        body=_text(raw, "body"),
        author=_text(author, "login"),
        by_bot=author.get("type") == "Bot",
    )


def _detail(error: Any) -> str:
    if isinstance(error, str):
        return error
    if not isinstance(error, dict):
        return ""
    told = _text(error, "message")
    return told or " ".join(filter(None, (_text(error, key) for key in ("field", "code"))))


def _text(raw: Mapping[str, Any], key: str) -> str:
    value = raw.get(key)
    return value if isinstance(value, str) else ""


def _ended(sentence: str) -> str:
    return sentence if sentence.endswith((".", "!", "?", "…")) else f"{sentence}."
