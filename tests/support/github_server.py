"""A GitHub for tests: a real server on loopback that keeps what was posted, and fails on request.

It refuses what GitHub refuses, as far as the kingdom meets it: a wrong token, a line that is not in
the changes, a verdict on one's own pull request, a second one from the same branch, a text that is
too long. A fault is used up by the first request it fits.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

from tests.support import github_objects as objects
from tests.support.github_objects import Entry

LONGEST_BODY = 65_536
PATCH = "@@ -1,3 +1,3 @@\n a\n-b\n+c\n d"
TOKEN = "ghs_plantedplantedplantedplanted0001"


@dataclass
class Fault:
    """`lost`: "before" the line breaks and nothing was done, "after" it was done, "inside" the
    answer breaks off. `status` answers that without doing it; it is done when `held` is set."""

    verb: str = "POST"
    path: str = ""
    lost: str = ""
    status: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str | Mapping[str, Any] = ""
    held: threading.Event | None = None
    left: int = 1

    def fits(self, verb: str, path: str) -> bool:
        return self.left > 0 and verb == self.verb and re.search(self.path, path) is not None


class FakeGitHub:
    """`hook` is told of each request at each of its stages: received, done, answered."""

    def __init__(self, *, prefix: str = "") -> None:
        self.prefix = prefix
        self.front = ""  # the address it has for others, if something stands before it
        self.token = TOKEN
        self.login: str | None = "kingdom-bot"  # None: an app, which may not ask who it is
        self.author = "someone"  # of all pull requests that were there before
        self.reviews: list[Entry] = []
        self.comments: list[Entry] = []
        self.pulls: list[Entry] = []
        self.files: list[Entry] = [{"filename": "app.py", "patch": PATCH}]
        self.moved: dict[str, str] = {}  # repositories that have another name now
        self.asked: list[str] = []
        self.under_way = 0  # requests that are read, and not answered yet
        self.faults: list[Fault] = []
        self.most_per_page = 100
        self.hook: Callable[[str, str, str], None] = lambda stage, verb, path: None
        self.lock = threading.RLock()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.github = self
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def url(self) -> str:
        return self.front or f"http://127.0.0.1:{self._server.server_port}{self.prefix}"

    def posts(self) -> list[str]:
        return [one for one in self.asked if one.startswith("POST")]

    def counts(self) -> dict[str, int]:
        kept = {"reviews": self.reviews, "comments": self.comments, "pulls": self.pulls}
        return {name: len(entries) for name, entries in kept.items()}

    def fault_for(self, verb: str, path: str) -> Fault | None:
        with self.lock:
            self.asked.append(f"{verb} {path}")
            found = next((one for one in self.faults if one.fits(verb, path)), None)
            if found is not None:
                found.left -= 1
            return found

    # What it does

    def answer(
        self, verb: str, path: str, query: Entry, given: Entry, headers: Mapping[str, str]
    ) -> Answer:
        with self.lock:
            for old, new in self.moved.items():
                if path.startswith(f"/repos/{old}"):
                    there = f"{self.url}/repos/{new}{path.removeprefix(f'/repos/{old}')}"
                    status = 301 if verb == "GET" else 307
                    return Answer(status, {"message": "Moved"}, {"Location": there})
            for (wanted, pattern), act in _ROUTES.items():
                match = re.fullmatch(pattern, path)
                if wanted == verb and match:
                    return act(self, query, given, **match.groupdict())
        return Answer(404, {"message": "Not Found"})

    def user(self, query: Entry, given: Entry) -> Answer:
        if self.login is None:
            return Answer(403, {"message": "Resource not accessible by integration"})
        return Answer(200, objects.owner_of_token(self.url, self.login))

    def notifications(self, query: Entry, given: Entry) -> Answer:
        """None; see `tests.support.notifications` for some."""
        return Answer(200, [])

    def repository(self, query: Entry, given: Entry, repo: str) -> Answer:
        return Answer(200, objects.repository(self.url, repo))

    def list_reviews(self, query: Entry, given: Entry, repo: str, number: str) -> Answer:
        return self._page(self._spelled(_of(self.reviews, repo, number)), query)

    def add_review(self, query: Entry, given: Entry, repo: str, number: str) -> Answer:
        given = {"event": "PENDING"} | given
        event = given["event"]
        if event != "APPROVE" and not given.get("body"):
            return _refusal("Body is required")
        if event in _OWN and self.author == self.login:
            return _refusal(f"Can not {_OWN[event]} your own pull request")
        if given.get("commit_id", "").startswith("dead"):
            return _refusal("commit_id is not part of the pull request")
        for comment in given.get("comments", []):
            if not self._shows(comment):
                return _refusal("Line could not be resolved")
        return self._add(self.reviews, given, repo, number, "pull", "pullrequestreview")

    def list_comments(self, query: Entry, given: Entry, repo: str, number: str) -> Answer:
        since = query.get("since", "")
        found = [o for o in _of(self.comments, repo, number) if o["updated_at"] >= since]
        return self._page(self._spelled(found), query)

    def add_comment(self, query: Entry, given: Entry, repo: str, number: str) -> Answer:
        return self._add(self.comments, given, repo, number, "issues", "issuecomment")

    def list_files(self, query: Entry, given: Entry, repo: str, number: str) -> Answer:
        found = [objects.changed_file(self.url, repo, **one) for one in self.files]
        return self._page(found, query)

    def get_pull(self, query: Entry, given: Entry, repo: str, number: str) -> Answer:
        author = objects.user(self.url, self.author)
        return Answer(200, objects.pull(self.url, repo, int(number), user=author))

    def list_pulls(self, query: Entry, given: Entry, repo: str) -> Answer:
        head, state = query.get("head"), query.get("state", "open")
        found = [
            one
            for one in self.pulls
            if one["repo"] == repo
            and head in (None, one["head"]["label"])
            and state in ("all", one["state"])
        ]
        return self._page(self._spelled(found), query)

    def open_pull(self, query: Entry, given: Entry, repo: str) -> Answer:
        label = f"{repo.split('/')[0]}:{given['head']}"
        if any(o["head"]["label"] == label and o["state"] == "open" for o in self.pulls):
            said = f"A pull request already exists for {label}."
            return _refusal({"resource": "PullRequest", "code": "custom", "message": said})
        head = {"ref": given["head"], "label": label}
        number = str(100 + len(self.pulls))
        added = given | {"head": head, "state": "open"}
        return self._add(self.pulls, added, repo, number, "pull", "")

    def _add(
        self, kept: list[Entry], given: Entry, repo: str, number: str, place: str, anchor: str
    ) -> Answer:
        if len(given.get("body") or "") > LONGEST_BODY:
            return _refusal(f"body is too long (maximum is {LONGEST_BODY} characters)")
        if "\0" in json.dumps(given, ensure_ascii=False):
            return Answer(400, {"message": "Problems parsing JSON"})
        link = f"https://github.com/{repo}/{place}/{number}"
        entry = given | {
            "id": len(kept) + 1,
            "repo": repo,
            "number": int(number),
            "user": self._author(),
            "html_url": f"{link}#{anchor}-{len(kept) + 1}" if anchor else link,
            "updated_at": datetime.now(UTC).isoformat(timespec="milliseconds")[:-6] + "Z",
        }
        kept.append(entry)
        return Answer(200 if "event" in entry else 201, self._spelled([entry])[0])

    def _author(self) -> Entry:
        if self.login is None:
            return objects.user(self.url, "kingdom[bot]", type="Bot")
        return objects.user(self.url, self.login)

    def _spelled(self, kept: list[Entry]) -> list[Entry]:
        """With all that was not given, but that GitHub would tell."""
        return [self._whole(one, one["repo"], one["number"]) for one in kept]

    def _whole(self, one: Entry, repo: str, number: int) -> Entry:
        if "event" in one:
            return objects.review(self.url, repo, number, one["id"]) | one
        if "head" not in one:
            return objects.comment(self.url, repo, number, one["id"]) | one
        head = objects.tip(self.url, repo, one["head"]["ref"], number)
        tips = {"head": head | one["head"], "base": objects.tip(self.url, repo, one["base"])}
        return objects.pull(self.url, repo, number) | one | tips

    def _shows(self, comment: Entry) -> bool:
        """As the one patch has it."""
        return comment["path"] == "app.py" and comment["line"] in (1, 2, 3)

    def _page(self, found: list[Entry], query: Entry) -> Answer:
        size = min(int(query.get("per_page", 30)), self.most_per_page)
        page = int(query.get("page", 1))
        headers = {}
        if page * size < len(found):
            headers["Link"] = f'<{self.url}/x?page={page + 1}>; rel="next"'
        return Answer(200, found[(page - 1) * size : page * size], headers)


@dataclass
class Answer:
    status: int
    data: Any
    headers: Mapping[str, str] = field(default_factory=dict)


_OWN = {"APPROVE": "approve", "REQUEST_CHANGES": "request changes on"}
_WITHOUT_BODY = (204, 205, 304)
_REPO = r"/repos/(?P<repo>[^/]+/[^/]+)"
_NUMBER = r"(?P<number>\d+)"
_ROUTES: dict[tuple[str, str], Callable[..., Answer]] = {
    ("GET", "/user"): FakeGitHub.user,
    ("GET", "/notifications"): FakeGitHub.notifications,
    ("GET", _REPO): FakeGitHub.repository,
    ("GET", f"{_REPO}/pulls/{_NUMBER}"): FakeGitHub.get_pull,
    ("GET", f"{_REPO}/pulls/{_NUMBER}/reviews"): FakeGitHub.list_reviews,
    ("POST", f"{_REPO}/pulls/{_NUMBER}/reviews"): FakeGitHub.add_review,
    ("GET", f"{_REPO}/pulls/{_NUMBER}/files"): FakeGitHub.list_files,
    ("GET", f"{_REPO}/issues/{_NUMBER}/comments"): FakeGitHub.list_comments,
    ("POST", f"{_REPO}/issues/{_NUMBER}/comments"): FakeGitHub.add_comment,
    ("GET", f"{_REPO}/pulls"): FakeGitHub.list_pulls,
    ("POST", f"{_REPO}/pulls"): FakeGitHub.open_pull,
}


def _of(kept: list[Entry], repo: str, number: str) -> list[Entry]:
    return [one for one in kept if one["repo"] == repo and one["number"] == int(number)]


def _refusal(error: str | Entry) -> Answer:
    told = {"message": "Unprocessable Entity", "errors": [error]}
    return Answer(422, told | {"documentation_url": "https://docs.github.com/rest"})


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    github: FakeGitHub

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients are killed in the middle; that is what it is for."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # an answer in one piece
    server: _Server

    def do_GET(self) -> None:
        self._count_and_handle("GET")

    def do_POST(self) -> None:
        self._count_and_handle("POST")

    def do_PATCH(self) -> None:
        self._handle("PATCH")

    def log_message(self, format: str, *arguments: Any) -> None:
        pass

    def _count_and_handle(self, verb: str) -> None:
        github = self.server.github
        with github.lock:
            github.under_way += 1
        try:
            self._handle(verb)
        finally:
            with github.lock:
                github.under_way -= 1

    def _handle(self, verb: str) -> None:
        github = self.server.github
        length = int(self.headers.get("Content-Length", 0))
        sent = self.rfile.read(length)
        if len(sent) < length:  # whoever sent it is dead
            self._hang_up()
            return
        given = json.loads(sent or b"{}")
        address = urlsplit(self.path)
        path = address.path.removeprefix(github.prefix)
        query = {key: values[-1] for key, values in parse_qs(address.query).items()}
        fault = github.fault_for(verb, path) or Fault()
        github.hook("received", verb, path)
        if fault.held is not None:
            fault.held.wait()
        if fault.lost == "before":
            self._hang_up()
            return
        answer = self._answer(verb, path, query, given, fault)
        github.hook("done", verb, path)
        if fault.lost == "after":
            self._hang_up()
            return
        self._write(answer, cut=fault.lost == "inside")
        github.hook("answered", verb, path)

    def _answer(self, verb: str, path: str, query: Entry, given: Entry, fault: Fault) -> Answer:
        github = self.server.github
        if self.headers.get("Authorization") not in (
            f"token {github.token}",
            f"Bearer {github.token}",
        ):
            return Answer(401, {"message": "Bad credentials"})
        if fault.status:
            return Answer(fault.status, fault.body, fault.headers)
        answer = github.answer(verb, path, query, given, dict(self.headers))
        if fault.body:  # it was done, and something else is said
            return Answer(200, fault.body, fault.headers)
        return answer

    def _write(self, answer: Answer, *, cut: bool) -> None:
        plain = isinstance(answer.data, str)
        body = answer.data.encode() if plain else json.dumps(answer.data).encode()
        body = b"" if answer.status in _WITHOUT_BODY else body
        self.send_response_only(answer.status)  # which names no date: a test may
        if body:
            kind = "text/html" if plain else "application/json; charset=utf-8"
            self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body[: len(body) // 2] if cut else body)
        self.wfile.flush()
        if cut:
            self._hang_up()

    def _hang_up(self) -> None:
        self.close_connection = True
