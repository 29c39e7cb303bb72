"""A GitHub with notifications, for tests: as its documentation says they behave.

Listed newest first, at most 50 a page, with links to the next one; `all`, `since`; an ETag for each
address and one Last-Modified, both of which make a request conditional; `X-Poll-Interval`, and a
quota that only answers with news use up. A thread keeps its reason, unless a stronger one comes.
`things` are what addresses in them lead to.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime, parsedate_to_datetime
from ssl import SSLContext
from typing import Any

from tests.support import github_objects as objects
from tests.support.github_objects import Entry
from tests.support.github_server import FakeGitHub
from tests.support.loopback import Answer

BEGAN = datetime(2026, 11, 15, 8, 0, tzinfo=UTC)
LARGEST_PAGE = 50
_STRONG = ("review_requested", "assign", "mention", "team_mention")
_SUBJECT = r"/repos/[^/]+/[^/]+/(?:pulls|issues)/\d+"


class Notifying(FakeGitHub):
    def __init__(self, *, prefix: str = "") -> None:
        super().__init__(prefix=prefix)
        self.threads: dict[str, Entry] = {}
        self.things: dict[str, Entry] = {}
        self.modified = BEGAN
        self.date: datetime | None = None  # what its clock says; else the moment of the last news
        self.poll_interval = ""
        self.limit = self.left = 5000
        self.marked: list[str] = []
        self.listings: list[Entry] = []  # what was asked, and how it was answered
        self._moments = BEGAN

    def secure(self, context: SSLContext) -> None:
        """Before it is entered: from now on it speaks TLS only."""
        self.front = self.url.replace("http://", "https://")
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)

    def notify(
        self,
        number: int,
        *,
        repo: str = "acme/web",
        reason: str = "",
        kind: str = "PullRequest",
        thread: str = "",
        updated: datetime | None = None,
        same_second: bool = False,
        **more: Any,
    ) -> str:
        """A thread is there, or has news, maybe in the second of the last ones; answers its id."""
        with self.lock:
            self._moments += timedelta(seconds=0 if same_second else 1)
            updated = updated or self._moments
            thread = thread or str(1000 + number)
            place = {"PullRequest": "pulls", "Issue": "issues"}.get(kind, "")
            address = f"{self.url}/repos/{repo}/{place}/{number}" if place else None
            subject = {
                "title": f"Change number {number}",
                "url": address,
                "latest_comment_url": address,
                "type": kind,
            } | more.pop("subject", {})
            told = {
                "reason": self._reason_of(thread, reason),
                "updated_at": f"{updated:%Y-%m-%dT%H:%M:%SZ}",
            }
            self.threads[thread] = objects.thread(
                self.url, thread, repo, subject=subject, **told, **more
            )
            self.modified = max(self.modified, self._moments)
            return thread

    def _reason_of(self, thread: str, reason: str) -> str:
        before = self.threads.get(thread, {}).get("reason", "")
        stays = before in _STRONG and reason not in _STRONG
        return before if stays else reason or before or "review_requested"

    def pull(
        self,
        number: int,
        *,
        repo: str = "acme/web",
        association: str = "MEMBER",
        head_repo: str | None = "acme/web",
        **more: Any,
    ) -> str:
        path = f"/repos/{repo}/pulls/{number}"
        head = objects.tip(self.url, head_repo, "topic", number)
        told = {"author_association": association, "head": head} | more
        self.things[path] = objects.pull(self.url, repo, number, **told)
        return path

    def issue(self, number: int, *, repo: str = "acme/web", **more: Any) -> str:
        path = f"/repos/{repo}/issues/{number}"
        self.things[path] = objects.issue(self.url, repo, number, **more)
        return path

    def comment(
        self,
        number: int,
        id_: int,
        *,
        by: str,
        repo: str = "acme/web",
        association: str = "NONE",
        at: datetime | None = None,
    ) -> str:
        """By somebody from outside, just now; answers its address."""
        moment = f"{at or self._moments:%Y-%m-%dT%H:%M:%SZ}"
        path = f"/repos/{repo}/issues/comments/{id_}"
        said = objects.comment(
            self.url,
            repo,
            number,
            id_,
            user=objects.user(self.url, by),
            author_association=association,
            created_at=moment,
            updated_at=moment,
        )
        self.things[path] = said
        self.comments.append(said | {"repo": repo, "number": number})
        return f"{self.url}{path}"

    def thing(self, path: str, **content: Any) -> str:
        self.things[path] = content
        return f"{self.url}{path}"

    def read(self, thread: str) -> None:
        """By the person, in a browser."""
        with self.lock:
            self.threads[thread]["unread"] = False
            self._moments += timedelta(seconds=1)
            self.modified = self._moments

    # What it answers

    def answer(
        self, verb: str, path: str, query: Entry, given: Entry, headers: Mapping[str, str]
    ) -> Answer:
        with self.lock:
            if verb == "GET" and path == "/notifications":
                found = self._listed(query, {k.lower(): v for k, v in headers.items()})
            elif verb == "PATCH" and path.startswith("/notifications/threads/"):
                found = self._mark(path.rpartition("/")[2])
            elif verb == "GET" and path in self.things:
                found = Answer(200, self.things[path])
            elif not self.moved and re.fullmatch(_SUBJECT, path):
                found = Answer(404, {"message": "Not Found"})
            else:
                found = super().answer(verb, path, query, given, headers)
            return self._counted(found)

    def _listed(self, query: Entry, headers: Mapping[str, str]) -> Answer:
        found = sorted(self.threads.values(), key=lambda one: one["updated_at"], reverse=True)
        if query.get("all") != "true":
            found = [one for one in found if one["unread"]]
        found = [one for one in found if one["updated_at"] >= query.get("since", "")]
        size = min(int(query.get("per_page", LARGEST_PAGE)), LARGEST_PAGE)
        page = int(query.get("page", 1))
        shown = found[(page - 1) * size : page * size]
        said = {
            "ETag": _etag(query, found),
            "Last-Modified": format_datetime(self.modified, usegmt=True),
            **({"X-Poll-Interval": self.poll_interval} if self.poll_interval else {}),
        }
        if page * size < len(found):
            said["Link"] = f'<{self.url}/notifications?page={page + 1}>; rel="next"'
        same = self._is_same(headers, said["ETag"])
        self.listings.append({"query": query, "headers": dict(headers), "same": same})
        return Answer(304, "", said) if same else Answer(200, shown, said)

    def _is_same(self, headers: Mapping[str, str], etag: str) -> bool:
        if "if-none-match" in headers:
            return headers["if-none-match"] == etag
        if "if-modified-since" in headers:
            return parsedate_to_datetime(headers["if-modified-since"]) >= self.modified
        return False

    def _mark(self, thread: str) -> Answer:
        if thread not in self.threads:
            return Answer(404, {"message": "Not Found"})
        self.marked.append(thread)
        self.read(thread)
        return Answer(205, "")

    def _counted(self, found: Answer) -> Answer:
        if found.status != 304:
            self.left -= 1
        quota = {"X-RateLimit-Limit": str(self.limit), "X-RateLimit-Remaining": str(self.left)}
        date = {"Date": format_datetime(self.date or self._moments, usegmt=True)}
        return Answer(found.status, found.data, {**quota, **date, **found.headers})


def _etag(query: Entry, found: list[Entry]) -> str:
    """Of all that this address leads to, whatever the page."""
    digest = hashlib.sha256(json.dumps(query, sort_keys=True).encode())
    for one in found:
        digest.update(f"{one['id']} {one['updated_at']} {one['unread']}\n".encode())
    return f'W/"{digest.hexdigest()[:20]}"'
