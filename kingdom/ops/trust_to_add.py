"""What to add to the settings while they name no members: `start`, `status` and `sentinel try` say
it. Whoever was seen is named in a comment only, since strangers are seen as well.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from kingdom.ops.listing import places, stems
from kingdom.store.paths import BaseDir
from kingdom.store.state import read_json
from kingdom.topology import DEAD
from kingdom.words.harmless import at_a_glance

if TYPE_CHECKING:
    from kingdom.settings.sentinel import SentinelSettings

Events = Iterable[Mapping[str, Any]]

_GITHUB = "Nobody on GitHub is a member yet. In config/local/sentinel.yaml, say whom you trust:"
_JIRA = "Nobody in Jira is a member yet. In config/local/sentinel.yaml, below jira:, say who is:"
_OWNED = re.compile(r"[A-Za-z0-9][\w-]*/\S+", re.ASCII)  # as `trust.repos` takes it
_WATCHED = ("evt-github-", "evt-jira-")
_MOST_NAMES = 8
_MOST_FILES = 50


def trust_to_add(sentinel: SentinelSettings, events: Events) -> list[str]:
    """The lines, with what they are for above them; none where nothing is watched, or somebody is
    listed."""
    given, github, jira = sentinel.trust, sentinel.polling.github, sentinel.polling.jira
    is_listed = given.people or given.repos or given.organisations
    wants_github = github is not None and not is_listed
    wants_jira = jira is not None and not jira.members
    seen = list(events) if wants_github or wants_jira else []
    lines: list[str] = []
    if github is not None and wants_github:
        repos = [one for one in github.scope.repos if one.isascii() and _OWNED.fullmatch(one)]
        elsewhere = [] if repos else _met(seen, "github", ("repo",))
        people = _met(seen, "github", ("author", "by"))
        lines += [_GITHUB, "trust:", f"  repos: {json.dumps(repos)}{_seen(elsewhere)}"]
        lines.append(f"  people: []{_seen(people)}")
    if wants_jira:
        people = _met(seen, "jira", ("reporter", "comment_by"))
        who = f"{_seen(people)}{_in_projects(_met(seen, 'jira', ('project',)))}"
        lines += [_JIRA, f"    members: []{who}"]
    return lines


def recent_events(base: BaseDir) -> Iterator[dict[str, Any]]:
    """Some of those that GitHub and Jira were the source of, the newest first."""
    left = _MOST_FILES
    for place in places(base, ("events",)):
        names: list[str] = []
        if place.state != DEAD:
            with suppress(OSError):
                names = [one for one in stems(place) if one.startswith(_WATCHED)]
        for name in sorted(names, reverse=True)[:left]:
            with suppress(OSError):
                found = read_json(f"{place.directory}/{name}.json")
                if isinstance(found, dict):
                    yield found
        left = max(left - len(names), 0)


def _met(events: Events, source: str, keys: tuple[str, ...]) -> list[str]:
    """Names in these events, each once; of people in Jira with what `members` knows them by."""
    found: dict[str, None] = {}
    for event in events:
        payload = event.get("payload")
        if event.get("source") != source or not isinstance(payload, dict):
            continue
        for key in keys:
            name, id_ = event.get(key) or payload.get(key), payload.get(f"{key}_id")
            if isinstance(name, str):
                found[f"{id_} is {name}" if isinstance(id_, str) else name] = None
    return [at_a_glance(one) for one in found]


def _in_projects(names: list[str]) -> str:
    return f" in {', '.join(names[:_MOST_NAMES])}" if names else ""


def _seen(names: list[str]) -> str:
    more = ", …" if len(names) > _MOST_NAMES else ""
    return f"  # seen so far: {', '.join(names[:_MOST_NAMES])}{more}" if names else ""
