"""A Jira for tests: a real server on loopback, as a cloud or as a server of one's own.

It searches as documented: JQL dates are minutes in the zone of the account that asks, a cloud pages
by tokens and has removed the old search, others page by numbers. Its pages are by position, so a
ticket that is updated while they are read moves the others up. Somebody whom it does not know is
answered as a cloud does it: with no tickets, and a header.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any
from zoneinfo import ZoneInfo

from tests.support.kingdom import START
from tests.support.loopback import Answer, Entry, Fault, Loopback, Request

EMAIL = "kingdom@acme.example"
TOKEN = "ATATT3planted-planted-planted-0001"
ME = "account-me"
ANN = "account-ann"
GATEWAY = "/ex/jira/0000-1111"
_FAILED = {"X-Seraph-LoginReason": "AUTHENTICATED_FAILED"}
_UPDATED = re.compile(r'updated >= "(\d{4}/\d\d/\d\d \d\d:\d\d)" ORDER BY updated ASC, key ASC$')
_REMOVED = "The requested API has been removed. Please migrate to the /rest/api/3/search/jql API."


class FakeJira(Loopback):
    def __init__(self, *, cloud: bool = True, prefix: str = "") -> None:
        super().__init__(prefix=prefix)
        self.cloud = cloud
        self.email, self.token = EMAIL, TOKEN
        self.zone = "UTC"
        self.fold = 0  # which of two hours of the same name is meant
        self.now = START
        self.issues: dict[str, Entry] = {}
        self.per_page = 100
        self.failed_logins = 0
        self.queries: list[str] = []

    # What people do in it

    def advance(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)

    def create(self, key: str, at: datetime | None = None, **fields: Any) -> Entry:
        """By Ann, for the account that asks, unless said otherwise."""
        with self.lock:
            id_ = str(10_000 + len(self.issues))
            issue = {
                "id": id_,
                "key": key,
                "summary": f"About {key}",
                "description": "It is broken.",
                "assignee": ME,
                "reporter": ANN,
                "status": "To Do",
                "category": "new",
                "labels": [],
                "updated": at or self.now,
                "visible": None,  # when the search knows of its state
                "comments": [],
                "histories": [],
            } | fields
            self.issues[id_] = issue
            return issue

    def change(
        self, issue: Entry, at: datetime | None = None, by: str = ANN, **fields: Any
    ) -> None:
        with self.lock:
            at = at or self.now
            for name, value in fields.items():
                item = {"field": name, "from": issue[name], "to": value}
                entry = {"created": self.spelled(at), "author": self.user(by), "items": [item]}
                issue["histories"].insert(0, entry)
            issue.update(fields | {"updated": at})

    def comment(self, issue: Entry, text: str, by: str = ANN, at: datetime | None = None) -> None:
        with self.lock:
            at = at or self.now
            number = str(500 + sum(len(one["comments"]) for one in self.issues.values()))
            issue["comments"].append(
                {
                    "id": number,
                    "author": self.user(by),
                    "body": self.written(text),
                    "created": self.spelled(at),
                }
            )
            issue["updated"] = at

    # How it spells things

    def spelled(self, moment: datetime) -> str:
        local = moment.astimezone(ZoneInfo(self.zone))
        return f"{local:%Y-%m-%dT%H:%M:%S}.{local.microsecond // 1000:03}{local:%z}"

    def user(self, id_: str | None) -> Entry | None:
        if id_ is None:
            return None
        name = id_.removeprefix("account-")
        if not self.cloud:
            mail = f"{name}@acme.example"
            return {"key": id_, "name": name, "emailAddress": mail, "displayName": name.title()}
        kinds = {"app": "app", "customer": "customer"}
        return {
            "accountId": id_,
            "accountType": kinds.get(name, "atlassian"),
            "displayName": name.title(),
        }

    def written(self, text: str) -> Any:
        if not self.cloud:
            return text
        paragraph = {"type": "paragraph", "content": [{"type": "text", "text": text}]}
        return {"type": "doc", "version": 1, "content": [paragraph]}

    def shown(self, issue: Entry) -> Entry:
        text = issue["description"]
        category = {"key": issue["category"], "name": issue["category"]}
        return {
            "id": issue["id"],
            "key": issue["key"],
            "self": f"{self.url}/rest/api/2/issue/{issue['id']}",
            "fields": {
                "summary": issue["summary"],
                "description": self.written(text) if isinstance(text, str) else text,
                "status": {"name": issue["status"], "statusCategory": category},
                "issuetype": {"name": "Bug"},
                "assignee": self.user(issue["assignee"]),
                "reporter": self.user(issue["reporter"]),
                "labels": issue["labels"],
                "updated": self.spelled(issue["updated"]),
            },
        }

    # What it answers

    def respond(self, request: Request, fault: Fault) -> Answer:
        if fault.status:
            return Answer(fault.status, fault.body, fault.headers)
        shown = request.headers.get("Authorization", "")
        return self.answer(request.verb, request.path, request.query, request.given, shown)

    def headers(self, answer: Answer) -> Mapping[str, str]:
        return {"Date": format_datetime(self.now, usegmt=True)}

    def knows(self, shown: str) -> bool:
        both = base64.b64encode(f"{self.email}:{self.token}".encode()).decode()
        return shown == (f"Basic {both}" if self.cloud else f"Bearer {self.token}")

    def answer(self, verb: str, path: str, query: Entry, given: Entry, shown: str) -> Answer:
        with self.lock:
            is_known = self.knows(shown)
            refused = None if is_known else self._stranger(path, shown)
            if refused is not None:
                return refused
            for (wanted, pattern), act in _ROUTES.items():
                match = re.fullmatch(pattern, path)
                if wanted == verb and match:
                    return act(self, query, given, **match.groupdict())
        return Answer(404, {"errorMessages": ["Not found."], "errors": {}})

    def _stranger(self, path: str, shown: str) -> Answer | None:
        """Anybody may know what it is. Too many failed logins, and it wants a person."""
        headers = _FAILED if shown else {}
        if path.endswith("/serverInfo") and not shown and GATEWAY not in self.prefix:
            return None
        if self.cloud and shown.startswith("Bearer"):
            return Answer(403, {"error": "Failed to parse Connect Session Auth Token"})
        if not self.cloud and shown:
            self.failed_logins += 1
            if self.failed_logins > 3:
                denied = {"X-Authentication-Denied-Reason": "CAPTCHA_CHALLENGE; login-url=/login"}
                return Answer(403, "<html>Forbidden</html>", _FAILED | denied)
        if self.cloud and "/search/jql" in path:
            return Answer(200, {"issues": [], "isLast": True}, headers)
        return Answer(
            401, {"message": "Client must be authenticated.", "status-code": 401}, headers
        )

    def server_info(self, query: Entry, given: Entry) -> Answer:
        kind = "Cloud" if self.cloud else "Server"
        base = "https://acme.atlassian.net" if GATEWAY in self.prefix else self.url
        return Answer(200, {"baseUrl": base, "version": "1001.0.0", "deploymentType": kind})

    def myself(self, query: Entry, given: Entry) -> Answer:
        return Answer(200, (self.user(ME) or {}) | {"timeZone": self.zone})

    def old_search(self, query: Entry, given: Entry) -> Answer:
        if self.cloud:
            return Answer(410, {"errorMessages": [_REMOVED], "errors": {}})
        found = self._found(given["jql"])
        if isinstance(found, Answer):
            return found
        start = given.get("startAt", 0)
        size = min(given.get("maxResults", 50), self.per_page)
        page = [self.shown(one) for one in found[start : start + size]]
        numbers = {"startAt": start, "maxResults": size, "total": len(found)}
        return Answer(200, {"issues": page} | numbers)

    def search(self, query: Entry, given: Entry) -> Answer:
        if not self.cloud:
            return Answer(404, {"errorMessages": ["Not found."]})
        found = self._found(given["jql"])
        if isinstance(found, Answer):
            return found
        start = 0
        if token := given.get("nextPageToken"):
            jql, _, position = base64.b64decode(token).decode().rpartition("#")
            if jql != given["jql"]:
                return Answer(400, {"errorMessages": ["The page token is of another query."]})
            start = int(position)
        end = start + min(given.get("maxResults", 50), self.per_page)
        answer: Entry = {"issues": [self.shown(one) for one in found[start:end]]}
        if end >= len(found):
            return Answer(200, answer | {"isLast": True})
        token = base64.b64encode(f"{given['jql']}#{end}".encode()).decode()
        return Answer(200, answer | {"isLast": False, "nextPageToken": token})

    def _found(self, jql: str) -> list[Entry] | Answer:
        self.queries.append(jql)
        match = _UPDATED.search(jql)
        if match is None or "nonsense" in jql:
            said = "Error in the JQL Query: Expecting operator but got 'nonsense'."
            return Answer(400, {"errorMessages": [said], "errors": {}})
        since = datetime.strptime(match[1], "%Y/%m/%d %H:%M")
        since = since.replace(tzinfo=ZoneInfo(self.zone), fold=self.fold).astimezone(UTC)
        found = [one for one in self.issues.values() if since <= one["updated"]]
        found = [one for one in found if one["visible"] is None or one["visible"] <= self.now]
        if match := _PROJECTS.search(jql):
            names = re.findall(r"\w+", match[1] or match[2])
            found = [one for one in found if one["key"].partition("-")[0] in names]
        if "currentUser()" in jql:
            found = [one for one in found if one["assignee"] == ME]
        return sorted(found, key=lambda one: (one["updated"], int(one["id"])))

    def comments(self, query: Entry, given: Entry, id: str) -> Answer:
        if id not in self.issues:
            return Answer(404, {"errorMessages": ["Issue does not exist."], "errors": {}})
        found = self.issues[id]["comments"]
        if query.get("orderBy") == "-created":
            found = sorted(found, key=lambda one: str(one["created"]), reverse=True)
        page = found[: int(query.get("maxResults", 50))]
        return Answer(200, {"comments": page, "total": len(found)})

    def issue(self, query: Entry, given: Entry, id: str) -> Answer:
        if id not in self.issues:
            return Answer(404, {"errorMessages": ["Issue does not exist."], "errors": {}})
        found = self.issues[id]
        log = {"histories": found["histories"]} if query.get("expand") == "changelog" else None
        return Answer(200, self.shown(found) | ({"changelog": log} if log else {}))


_PROJECTS = re.compile(r"project (?:= (\w+)|in \(([^)]*)\))")
_API = r"/rest/api/[23]"
_ROUTES: dict[tuple[str, str], Callable[..., Answer]] = {
    ("GET", f"{_API}/serverInfo"): FakeJira.server_info,
    ("GET", f"{_API}/myself"): FakeJira.myself,
    ("POST", f"{_API}/search"): FakeJira.old_search,
    ("POST", f"{_API}/search/jql"): FakeJira.search,
    ("GET", rf"{_API}/issue/(?P<id>[^/]+)"): FakeJira.issue,
    ("GET", rf"{_API}/issue/(?P<id>[^/]+)/comment"): FakeJira.comments,
}
