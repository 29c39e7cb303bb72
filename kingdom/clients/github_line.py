"""The line to GitHub: the only code that knows PyGithub, which is imported when the first request
is made. Paced as wanted; an answer that does not come to its end in time is none, nor is one that
is not ready, or that leads elsewhere again and again: the library would ask for ever."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from kingdom import __version__
from kingdom.clients.github_faults import GitHubLater, GitHubRefused
from kingdom.clients.reach import why_unreached

if TYPE_CHECKING:
    from github.Requester import (
        HTTPRequestsConnectionClass,
        HTTPSRequestsConnectionClass,
        Requester,
    )
    from requests import Response

    Connection = HTTPRequestsConnectionClass | HTTPSRequestsConnectionClass

_ACCEPT = "application/vnd.github+json"
_NOT_READY, _MOVED = 202, 301
_MOST_MOVES = 5


class _NotReady(Exception):
    """GitHub works at it."""


class Line:
    """For one thread at a time. `timeout` is for each piece of an answer, `deadline` for all."""

    def __init__(
        self, token: str, api_url: str, *, timeout: int, deadline: float, pace: tuple[float, float]
    ) -> None:
        self._token = token
        self._api_url = api_url
        self._timeout = timeout
        self._deadline = deadline
        self._pace = pace
        self._opened: tuple[Requester, Connection] | None = None
        self._moves = 0  # of the request under way

    def close(self) -> None:
        if self._opened is not None:
            requester, connection = self._opened
            requester.close()
            connection.close()
            self._opened = None

    def exchange(
        self,
        verb: str,
        path: str,
        asked: dict[str, str],
        given: dict[str, Any] | None,
        headers: Mapping[str, str],
    ) -> tuple[int, Mapping[str, str], str]:
        """One request, one answer, maybe from where that has moved to. The failures of the
        libraries below hold the request with the token in it, so ours are raised when theirs are
        forgotten."""
        self._moves = 0
        try:
            requester, connection = self._connected()
            return requester.requestJson(
                verb,
                quote(path),
                parameters=asked,
                input=given,
                headers={"Accept": _ACCEPT, **headers},
                cnx=connection,
            )
        except _NotReady:
            fault: GitHubLater | GitHubRefused = GitHubLater("GitHub's answer is not ready yet.")
        except OSError as error:  # as those of requests are
            why = why_unreached(error, "GitHub", self._api_url)
            fault = GitHubLater(why.sentence, remedy=why.remedy, undone=why.undone)
        except RuntimeError:  # it does not follow where it is sent
            fault = GitHubRefused("GitHub's answer leads nowhere; api_url may be wrong.")
        except (ValueError, TypeError, AssertionError, LookupError) as error:
            fault = GitHubLater(f"GitHub's answer makes no sense: {type(error).__name__}.")
        raise fault

    def _connected(self) -> tuple[Requester, Connection]:
        if self._opened is None:
            from github import Auth, Github

            requester = Github(
                auth=Auth.Token(self._token),
                base_url=self._api_url,
                timeout=self._timeout,
                user_agent=f"kingdom/{__version__}",
                retry=None,  # type: ignore[arg-type, unused-ignore]
                seconds_between_requests=self._pace[0],
                seconds_between_writes=self._pace[1],
            ).requester
            self._opened = requester, self._connection()
        return self._opened

    def _connection(self) -> Connection:
        """As the library would make it, but with a deadline."""
        from github.Requester import HTTPRequestsConnectionClass, HTTPSRequestsConnectionClass

        from kingdom.clients.deadline import limit

        address = urlsplit(self._api_url)
        is_secure = address.scheme == "https"
        kind = HTTPSRequestsConnectionClass if is_secure else HTTPRequestsConnectionClass
        made = kind(str(address.hostname), address.port, timeout=self._timeout)
        limit(made.session, self._deadline)
        made.session.hooks["response"].append(self._check)
        return made

    def _check(self, response: Response, **_: Any) -> None:
        if response.status_code == _NOT_READY and response.request.method == "GET":
            raise _NotReady
        self._moves += response.status_code == _MOVED
        if self._moves > _MOST_MOVES:
            raise RuntimeError("it moves on and on")
