"""What a person wrote to the kingdom: where that was, and whom it is for, without a model. Pure.

A text that begins with a general's name goes to that one; a single link to a pull request, an issue
or a ticket goes to whoever takes up such things. What a link leads to was written by anybody, so
its task counts as `outside`, unless the person names the general and thereby answers for it.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from kingdom.clients.github_access import web_host
from kingdom.king.routing import APPROVAL, RESUME, first_payload
from kingdom.models.event import Event
from kingdom.models.task import Task
from kingdom.runtime.config import Config, General
from kingdom.settings.addresses import RepositoryRefused, read_url
from kingdom.settings.loading import Settings

CHAT = ("slack.channel.message", "slack.app_mention")
_LINKED = "link to what others wrote, for a general that was not named"
_HEARD = "evt-slack-"  # the ids of events that the envoy makes
ROUTED_BY = "routed_by"  # in a payload: the task whose soldier chose this one's general

_PERSON = re.compile(r"<[@!#][^<>]*>")
_LINK = re.compile(r"<(https?://[^<>|\s]+)(?:\|[^<>]*)?>")
_NAMED = re.compile(r"(?:@?kingdom\b[,:]?\s+)?@?(gen-[a-z0-9]+(?:-[a-z0-9]+)*)\b\s*[:,]?\s*", re.I)
_GITHUB = re.compile(r"https?://([^/\s]+)/([\w.-]+/[\w.-]+)/(pull|issues)/(\d{1,9})\b")
_KEY = r"/browse/([A-Z][A-Z0-9_]*-\d{1,9})\b"
_TYPES = {
    "pull": ("github.pr.review_requested", "github.pr.mentioned", "github.pr.assigned"),
    "issues": ("github.issue.assigned", "github.issue.mentioned"),
    "ticket": ("jira.ticket.assigned", "jira.ticket.updated"),
}


class Place(NamedTuple):
    """Where a person spoke; answers go there."""

    channel: str
    thread_ts: str


class Subject(NamedTuple):
    """What a link leads to."""

    kind: str  # pull, issues or ticket
    repo: str | None
    about: tuple[tuple[str, Any], ...]  # what a payload says of it


def is_chat(event_type: str, priority: str = "") -> bool:
    return event_type in CHAT


def place_in(payload: Mapping[str, Any]) -> Place | None:
    channel, ts = payload.get("channel"), payload.get("thread_ts") or payload.get("ts")
    spoken = isinstance(channel, str) and channel and isinstance(payload.get("ts"), str)
    return Place(str(channel), str(ts)) if spoken and isinstance(ts, str) and ts else None


def without_place(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Of work that names a place and may not: what continues it is not to get there either."""
    return {key: one for key, one in payload.items() if key != "channel"}


def place_heard(event: Event) -> Place | None:
    """Where an event was said, if it was said in Slack, or a member says so."""
    is_said = event.trust == "member" or event.id.startswith(_HEARD)
    return place_in(event.payload) if is_said else None


def place_of(task: Task) -> Place | None:
    """None for a task that did not begin with a person's message. Less trusted work names no
    channel by itself: only what was said in Slack has one."""
    heard = task.event_id.startswith(_HEARD) or task.type in (RESUME, APPROVAL)
    if task.trust != "member" and not heard:
        return None
    return place_in(first_payload(task))


def spoken(payload: Mapping[str, Any]) -> str:
    """The text without Slack's markup: whom it calls is left out, links are as one reads them."""
    text = payload.get("text")
    plain = _LINK.sub(r"\1", text if isinstance(text, str) else "")
    return html.unescape(_PERSON.sub(" ", plain)).strip()


def directed(event: Event, config: Config) -> tuple[General, Event] | None:
    """Whose it is, and the event as that one takes it up; None if only a model can tell."""
    text = spoken(event.payload)
    called = _NAMED.match(text)
    named = config.generals.get(called[1].lower()) if called else None
    subjects = set(_subjects(text, config.settings))
    subject = subjects.pop() if len(subjects) == 1 else None
    if named and called:
        rest = text[called.end() :].strip()
        return (named, _about(event, subject, rest, named, config)) if rest else None
    taker = _taker(subject, config) if subject else None
    if subject is None or taker is None:
        return None
    about = _about(event, subject, text, taker, config)
    if event.trust != "member":
        return taker, about
    return taker, about.revised(trust="outside", trust_reason=_LINKED)


def _about(
    event: Event, subject: Subject | None, text: str, general: General, config: Config
) -> Event:
    if subject is None:
        return event.revised(payload={**event.payload, "title": text})
    types = _TYPES[subject.kind]
    own = (one for one in types if config.route(one) is general)
    payload = {**event.payload, "title": text, **dict(subject.about)}
    if subject.kind == "ticket":
        payload["summary"] = text
    return event.revised(type=next(own, types[0]), repo=subject.repo, payload=payload)


def _taker(subject: Subject, config: Config) -> General | None:
    found = map(config.route, _TYPES[subject.kind])
    return next((one for one in found if one is not None), None)


def _subjects(text: str, settings: Settings) -> Iterator[Subject]:
    hosts = set(_github_hosts(settings))
    for found in _GITHUB.finditer(text):
        host, repo, kind, number = found.groups()
        if host.lower() in hosts:
            yield Subject(kind, repo, (("number", int(number)), ("url", found[0])))
    jira = settings.sentinel.polling.jira
    if jira is not None:
        for found in re.finditer(re.escape(jira.url.rstrip("/")) + _KEY, text):
            project = found[1].rpartition("-")[0]
            repo = jira.scope.repos.get(project)
            yield Subject("ticket", repo, (("key", found[1]), ("url", found[0])))


def _github_hosts(settings: Settings) -> Iterator[str]:
    github = settings.sentinel.polling.github
    if github is not None:
        yield web_host(github.api_url)
    try:
        yield read_url(settings.system.git.url.replace("{repo}", "owner/name")).host
    except RepositoryRefused:
        return
