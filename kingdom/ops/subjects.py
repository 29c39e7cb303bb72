"""`kingdom why`, by an id or an address: what the kingdom saw of a pull request, an issue or a
ticket, and what became of it; or why it saw nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

from kingdom.clock import Clock, isoformat
from kingdom.errors import NotFound, UsageError
from kingdom.models.ids import is_id
from kingdom.ops.hold_ups import Reason, misconfigured
from kingdom.ops.listing import places, stems
from kingdom.ops.reasons import Explanation, why
from kingdom.ops.status import watchers
from kingdom.ops.surroundings import Surroundings
from kingdom.sentinel.record import left_alone
from kingdom.sentinel.watchers.github_reading import out_of_scope
from kingdom.sentinel.watchers.jira_state import read, state_path
from kingdom.settings.sentinel import GithubWatcher, JiraWatcher
from kingdom.store.paths import BaseDir
from kingdom.store.state import read_json

GITHUB, JIRA = "github", "jira"
_HERE = re.compile(
    r"(?:/repos)?/(?P<repo>[^/]+/[^/]+)/(?:pulls?|issues)/(?P<number>\d+)(?:/.*)?", re.ASCII
)
_SHORT = re.compile(r"(?P<repo>[\w.-]+/[\w.-]+)#(?P<number>\d+)", re.ASCII)
_KEY = re.compile(r"[A-Z][A-Z0-9_]+-\d+", re.ASCII)
_WITHOUT_SCHEME = re.compile(r"[\w-]+(?:\.[\w-]+)+(?::\d+)?/.+", re.ASCII)


class Subject(NamedTuple):
    watcher: str
    name: str  # acme/web#42, or a ticket's key
    host: str = ""  # if it was named by an address

    @property
    def repo(self) -> str:
        return self.name.partition("#")[0]


def subject_in(typed: str) -> Subject | None:
    """What was typed, if it is an address or a name of something outside."""
    short = _SHORT.fullmatch(typed)
    if short:
        return Subject(GITHUB, typed)
    if _KEY.fullmatch(typed.upper()):
        return Subject(JIRA, typed.upper())
    if "://" in typed:
        found = _addressed(typed)
        if found is None:
            raise UsageError(
                "This is not the address of a pull request, an issue or a ticket.",
                remedy="Such as https://github.com/acme/web/pull/42 or https://…/browse/SHOP-128.",
            )
        return found
    return _addressed(f"https://{typed}") if _WITHOUT_SCHEME.fullmatch(typed) else None


def _addressed(typed: str) -> Subject | None:
    host = _host(typed)
    address = urlsplit(typed) if host else urlsplit("")
    found = _HERE.search(address.path)
    if found:
        return Subject(GITHUB, f"{found['repo']}#{found['number']}", host)
    selected = parse_qs(address.query).get("selectedIssue", [])
    keys = [*selected, *reversed(address.path.split("/"))]
    key = next((one.upper() for one in keys if _KEY.fullmatch(one.upper())), None)
    return Subject(JIRA, key, host) if key else None


def _host(address: str) -> str:
    try:
        return (urlsplit(address).hostname or "").removeprefix("www.")
    except ValueError:
        return ""


def why_anything(
    base: BaseDir, typed: str, environment: Mapping[str, str], clock: Clock
) -> list[Explanation]:
    """By its id, if something here bears it; else as what it is outside, newest first; and if
    nothing is known of it, why not."""
    subject = subject_in(typed)
    if subject is None or any(stem == typed for one in places(base) for stem in stems(one)):
        return why(base, typed, environment, clock)
    seen = sorted(_events_about(base, subject), reverse=True)
    told = [one for _, id_ in seen for one in why(base, id_, environment, clock)]
    if told:
        return told
    if is_id(typed):  # the logs may remember it
        try:
            return why(base, typed, environment, clock)
        except NotFound:
            if typed != subject.name:
                raise  # a slip of the keyboard rather than a ticket in small letters
    around = Surroundings(base, environment, clock.now(), [])
    return [Explanation(subject.name, "no event", list(_why_unseen(around, subject)))]


def _events_about(base: BaseDir, subject: Subject) -> Iterator[tuple[str, str]]:
    """When each was last changed outside, and its id."""
    for place in places(base, ("events",)):
        for stem in stems(place):
            content = read_json(f"{place.directory}/{stem}.json", {})
            payload = content.get("payload") if isinstance(content, dict) else None
            if isinstance(payload, dict) and _is_about(content.get("repo"), payload, subject):
                yield str(payload.get("updated_at") or content.get("created_at")), stem


def _is_about(repo: object, payload: Mapping[str, Any], subject: Subject) -> bool:
    links = [one for one in (payload.get("url"), payload.get("api_url")) if isinstance(one, str)]
    if subject.host and links and subject.host not in map(_host, links):
        return False
    if subject.watcher == JIRA:
        return payload.get("key") == subject.name
    return f"{repo}#{payload.get('number')}".lower() == subject.name.lower()


def _why_unseen(around: Surroundings, subject: Subject) -> Iterator[Reason]:
    base, name = around.base, subject.watcher
    yield Reason(f"No event about {subject.name} is kept here.")
    if around.config is None:
        yield misconfigured(around)
    if around.sentinel is None:
        return
    settings = getattr(around.sentinel.polling, name)
    if settings is None:
        yield Reason(
            f"Nothing watches {name}: sentinel.yaml does not name it.",
            f"Add polling.{name} to config/local/sentinel.yaml.",
        )
        return
    remembered = list(_left_alone(base, subject))
    yield from remembered
    if isinstance(settings, GithubWatcher) and not remembered:
        why_not = out_of_scope(settings.scope, subject.repo)
        if why_not:
            yield Reason(why_not, f"See: kingdom config sentinel.polling.{name}.scope")
    if isinstance(settings, JiraWatcher) and not remembered:
        yield from _since_when(base, subject, settings)
    yield from _of_watcher(around, name)
    yield Reason(
        f"If it should have been seen: kingdom sentinel try {name} shows what {name} tells now."
    )


def _left_alone(base: BaseDir, subject: Subject) -> Iterator[Reason]:
    for about, kept in left_alone(base, subject.watcher).items():
        if about.lower().split(" ")[0] == subject.name.lower() and isinstance(kept, dict):
            yield Reason(f"It was seen at {kept.get('at')} and left alone: {kept.get('reason')}")


def _since_when(base: BaseDir, subject: Subject, settings: JiraWatcher) -> Iterator[Reason]:
    known = read(state_path(base), settings.url.rstrip("/"))
    ticket = next((one for one in known.issues.values() if one.key == subject.name), None)
    if ticket is not None:
        yield Reason(f"It was dealt with as it stood at {isoformat(ticket.updated)}.")
    elif known.began is not None:
        yield Reason(
            f"If it was last updated before {isoformat(known.began)}, that was before the kingdom "
            "began to watch Jira with this scope: such tickets are left alone until they are "
            "updated next, and so is one that came into scope.jql_base without being updated, as "
            "with due <= 3d.",
            f"Comment on {subject.name}, or change it, and it is taken up if it is in scope.",
        )


def _of_watcher(around: Surroundings, name: str) -> Iterator[Reason]:
    if not around.runs("sentinel"):
        yield Reason("The sentinel is not running.", "Start it with: kingdom start")
        return
    for watcher, standing in watchers(around.base, around.now.timestamp()).items():
        if watcher == name and standing.get("state") != "ok":
            said = standing.get("sentence") or ""
            yield Reason(f"The {name} watcher looks in vain: {said}", standing.get("remedy") or "")
