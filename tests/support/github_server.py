"""A GitHub for tests: a real server on loopback that keeps what was posted, and fails on request.

It refuses what GitHub refuses, as far as the kingdom meets it: a wrong token, a line that is not in
the changes, a verdict on one's own pull request, a second one from the same branch, a text that is
too long.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from tests.support import github_objects as objects
from tests.support.github_objects import Entry
from tests.support.loopback import Answer, Fault, Loopback, Request

LONGEST_BODY = 65_536
PATCH = "@@ -1,3 +1,3 @@\n a\n-b\n+c\n d"
TOKEN = "ghs_plantedplantedplantedplanted0001"


class FakeGitHub(Loopback):
    def __init__(self, *, prefix: str = "") -> None:
        super().__init__(prefix=prefix)
        self.token = TOKEN
        self.login: str | None = "kingdom-bot"  # None: an app, which may not ask who it is
        self.author = "someone"  # of all pull requests that were there before
        self.reviews: list[Entry] = []
        self.comments: list[Entry] = []
        self.pulls: list[Entry] = []
        self.files: list[Entry] = [{"filename": "app.py", "patch": PATCH}]
        self.moved: dict[str, str] = {}  # repositories that have another name now
        self.most_per_page = 100

    def posts(self) -> list[str]:
        return [one for one in self.asked if one.startswith("POST")]

    def counts(self) -> dict[str, int]:
        kept = {"reviews": self.reviews, "comments": self.comments, "pulls": self.pulls}
        return {name: len(entries) for name, entries in kept.items()}

    # What it does

    def respond(self, request: Request, fault: Fault) -> Answer:
        if request.headers.get("Authorization") not in (
            f"token {self.token}",
            f"Bearer {self.token}",
        ):
            return Answer(401, {"message": "Bad credentials"})
        if fault.status:
            return Answer(fault.status, fault.body, fault.headers)
        answer = self.answer(
            request.verb, request.path, request.query, request.given, request.headers
        )
        if fault.body:  # it was done, and something else is said
            return Answer(200, fault.body, fault.headers)
        return answer

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


_OWN = {"APPROVE": "approve", "REQUEST_CHANGES": "request changes on"}
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
