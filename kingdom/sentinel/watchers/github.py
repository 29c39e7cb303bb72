"""GitHub: the notifications of the token's owner, each update of a thread one event.

The first round takes what is unread. Later ones ask for everything since the newest update that was
dealt with, read or not, less an overlap: a person may have read it in the browser before us; only
what was read before the very first look stays so. The listing is asked for with what GitHub gave to
recognise it by, so that one without news costs neither time nor quota. That is of one address, so
from when it is asked for moves on rarely.

`state/sentinel/github-state.json` has that. It moves on when all events of a listing are durable.
Which update of a thread was the first lies beside it, in marks: see `github_ids`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from kingdom.clients.github import GitHub, Reply
from kingdom.clients.github_access import find_token, web_host
from kingdom.clients.github_faults import GitHubRefused
from kingdom.clients.waits import LONGEST_LIMIT, http_date, pause_in
from kingdom.clock import isoformat
from kingdom.models.event import Event
from kingdom.models.fields import read_timestamp
from kingdom.models.priority import priority_of
from kingdom.runtime.role import Setting
from kingdom.sentinel.post import WatcherOff
from kingdom.sentinel.seen import FRESH_SECONDS, Seen
from kingdom.sentinel.watcher import Finish, Sighting
from kingdom.sentinel.watchers.github_details import Details
from kingdom.sentinel.watchers.github_ids import SOURCE, Ids
from kingdom.sentinel.watchers.github_reading import KINDS, out_of_scope, type_of
from kingdom.sentinel.watchers.github_state import Known
from kingdom.sentinel.watchers.github_unread import Unread
from kingdom.settings.sentinel import GithubWatcher, Trusted

PER_PAGE = 50  # the most that GitHub gives of notifications
MOST_PAGES = 1000
OVERLAP = timedelta(minutes=10)
STRIDE = timedelta(hours=1)  # what the overlap grows by before the listing's address changes
_PACE = (0.05, 0.05)
_NOT_ALLOWED = (
    "Notifications need a classic token with the scope notifications, or repo for private "
    "repositories, and polling.github.api_url must be that of the API; see docs/watching-github.md."
)
_NOT_AN_API = "Look whether polling.github.api_url leads to GitHub's API, not to a page or a login."
_NUMBER = re.compile(r"/(?:pulls|issues)/(\d+)$")


def make(settings: GithubWatcher, setting: Setting) -> GitHubWatcher:
    token = partial(find_token, setting.environment, settings.token_env, settings.api_url)
    try:
        known = token()
    except GitHubRefused as error:
        raise WatcherOff(error.sentence, remedy=error.remedy) from None
    hub = GitHub(known, settings.api_url, clock=setting.clock, pace=_PACE, renew=token)
    return GitHubWatcher(settings, setting, hub)


@dataclass
class _Listing:
    """What a pass has met so far."""

    asked: dict[str, str]
    reply: Reply | None = None  # to the first page
    pages: int = 0
    newest: datetime | None = None


class GitHubWatcher:
    name = "github"

    def __init__(self, settings: GithubWatcher, setting: Setting, hub: GitHub) -> None:
        self._settings = settings
        self._setting = setting
        self._hub = hub
        self._path = setting.base.path("state", "sentinel", "github-state.json")
        self._seen = Seen(setting.base, setting.bus, setting.clock)
        api_url = settings.api_url.rstrip("/")
        self._known = Known.read(self._path, api_url)
        hub.left_alone_until = self._known.limited_until
        self._ids = Ids(self._seen, setting.bus, self._known)
        self._unread = Unread(hub, self._known.unmarked, setting.log)
        self._at_least = 0.0  # seconds until the next round
        self._listing = _Listing({})
        self._kept_at: datetime | None = None  # when marks were last kept from growing old
        self._looked: datetime | None = None  # in this life, by GitHub's clock
        self._details = Details(hub, setting.log, self._trusted)

    def _trusted(self) -> Trusted:
        return self._setting.config.current.settings.sentinel.trust

    # The listing

    def fetch(self, *, afresh: bool = False) -> Iterator[Sequence[Any]]:
        self._listing = listing = _Listing(self.asked())
        if not afresh:
            self._keep_marks()
        conditions = {} if afresh else self.conditions(listing.asked)
        for page in range(1, MOST_PAGES + 1):
            asked = listing.asked | {"per_page": str(PER_PAGE), "page": str(page)}
            reply = self._listed(asked, conditions if page == 1 else None)
            self._details.note_quota(reply.headers)
            self._at_least = pause_in(reply.headers.get("x-poll-interval", ""), LONGEST_LIMIT)
            listing.reply = listing.reply or reply
            if page == 1 and not self._known.believe(self._moment_of(reply)):
                yield from self.fetch(afresh=afresh)
                return
            if self._known.floor is None and not afresh:
                self._begin(reply)
            if not reply.is_news:
                return
            listing.pages = page
            yield reply.data
            if 'rel="next"' not in reply.headers.get("link", ""):
                return
        raise GitHubRefused(
            f"There are more than {MOST_PAGES * PER_PAGE:,} notifications.",
            remedy="Mark those as read that need nobody any more: https://github.com/notifications",
        )

    def _begin(self, reply: Reply) -> None:
        """The first look. Its moment is durable before anything becomes an event: whatever is
        updated from now on counts, however often this look has to be repeated."""
        if self._known.cursor is None:
            self._known.floor = self._moment_of(reply)
            self._write()

    def _moment_of(self, reply: Reply) -> datetime:
        """By GitHub's clock: ours may be wrong."""
        return http_date(reply.headers.get("date", "")) or self._setting.clock.now()

    def _keep_marks(self) -> None:
        """Once a day: nothing tells how long it will be until a listing is looked at again."""
        now, oldest = self._setting.clock.now(), self._known.since or self._known.cursor
        is_fresh = self._kept_at and abs((now - self._kept_at).total_seconds()) < FRESH_SECONDS
        if oldest is not None and not is_fresh:
            self._ids.keep_all_since(oldest - OVERLAP)
            self._kept_at = now

    def _listed(self, asked: dict[str, str], conditions: dict[str, str] | None) -> Reply:
        """One page, or why there is none, with what helps about notifications."""
        try:
            reply = self._hub.look("/notifications", asked, conditions)
        except GitHubRefused as error:
            if error.status not in (403, 404):
                raise
            raise GitHubRefused(error.sentence, status=error.status, remedy=_NOT_ALLOWED) from None
        if reply.is_news and not isinstance(reply.data, list):
            raise GitHubRefused(
                "GitHub answered something else where a list was expected.", remedy=_NOT_AN_API
            )
        return reply

    def asked(self) -> dict[str, str]:
        if self._known.cursor is None:
            return {"all": "false"}
        since = self._known.cursor - OVERLAP
        used = self._known.since
        if used is not None and used <= since <= used + STRIDE:
            since = used
        return {"all": "true", "since": f"{since.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"}

    def conditions(self, asked: dict[str, str]) -> dict[str, str]:
        """An ETag is that of one address. A date alone would not do: it hides what comes in the
        second of the last news, or late."""
        known = self._known
        if known.scope != self._settings.scope.model_dump():
            return {}  # what was left alone may be wanted now
        if not known.etag or known.asked != asked:
            return {}
        dated = {"If-Modified-Since": known.last_modified} if known.last_modified else {}
        return {"If-None-Match": known.etag} | dated

    # One notification

    def parse(self, raw: Any) -> Sighting:
        thread, reason = str(raw["id"]), str(raw["reason"])
        repo, subject = str(raw["repository"]["full_name"]), raw["subject"]
        updated = read_timestamp(raw["updated_at"])
        self._listing.newest = max(self._listing.newest or updated, updated)
        api_url = subject.get("url") or ""
        match = _NUMBER.search(api_url)
        number = int(match[1]) if match else None
        about = f"{repo}#{number} {reason}" if number else f"{repo} {subject['type']} {reason}"
        sighting = Sighting(about, raw=raw)
        if why := out_of_scope(self._settings.scope, repo, reason):
            return sighting.left_alone(why)
        type_ = type_of(str(subject["type"]), reason)
        payload = {
            "reason": reason,
            "title": subject["title"],
            "number": number,
            "url": self._web_url(repo, str(subject["type"]), number),
            "api_url": api_url or None,
            "updated_at": isoformat(updated),
            "subject_type": subject["type"],
            "thread_id": thread,
        }
        event = Event(
            id=self._ids.of(thread, updated),
            type=type_,
            source=SOURCE,
            repo=repo,
            payload=payload,
            priority=priority_of(type_),
            created_at=self._setting.clock.now(),
            trust="outside",
            trust_reason="GitHub was not asked who wrote it",
        )
        if self._was_read_before_us(raw, updated) and not self._seen.is_duplicate(event.id):
            return sighting.left_alone("It was read before GitHub was first looked at.")
        return replace(sighting, event=event)

    def _was_read_before_us(self, raw: Any, updated: datetime) -> bool:
        floor = self._known.floor
        return raw.get("unread") is False and floor is not None and updated < floor

    def _web_url(self, repo: str, kind: str, number: int | None) -> str:
        address = f"https://{web_host(self._settings.api_url)}/{repo}"
        return f"{address}/{KINDS[kind][1]}/{number}" if number and kind in KINDS else address

    def complete(self, sighting: Sighting) -> Sighting:
        event, subject = sighting.event, sighting.raw["subject"]
        assert event is not None
        looked, comment = self._looked or self._known.cursor, subject.get("latest_comment_url")
        return replace(sighting, event=self._details.added_to(event, comment, looked))

    # What is known

    def remember(self, fresh: Sequence[Sighting]) -> None:
        self._keep(fresh)
        self._seen.settle()

    def _keep(self, sightings: Sequence[Sighting]) -> None:
        for one in sightings:
            if one.event is not None:
                updated = read_timestamp(one.raw["updated_at"])
                self._ids.keep(one.event.id, str(one.raw["id"]), updated)

    def acknowledge(self, done: Sequence[Sighting]) -> None:
        self._keep(done)
        for one in done:
            if one.event is None:
                self._known.unmarked.discard(str((one.raw or {}).get("id")))
            elif self._settings.mark_read and one.raw.get("unread") is True:
                self._known.unmarked.add(str(one.raw["id"]))

    def finish(self, *, emitted: int) -> Finish:
        listing, reply = self._listing, self._listing.reply
        assert reply is not None
        if listing.pages > 1 and emitted:
            # While pages were read, one may have gone from an earlier page, and another slipped in.
            return Finish(again=True)
        self._looked = self._moment_of(reply)
        if reply.is_news:
            self._move_on(reply)
        self._mark_read()
        return Finish(at_least=self._pause())

    def _move_on(self, reply: Reply) -> None:
        listing, known = self._listing, self._known
        if known.cursor is None:
            known.cursor = known.floor  # what was unread does not tell what was read before
        else:
            newest = min(listing.newest or known.cursor, self._moment_of(reply))
            known.cursor = max(newest, known.cursor)
        known.asked, known.etag = listing.asked, reply.headers.get("etag", "")
        known.last_modified = reply.headers.get("last-modified", "")
        known.scope = self._settings.scope.model_dump()
        known.first = None
        self._seen.settle()
        self._write()

    def break_off(self) -> float:
        if self._known.limited_until != self._hub.left_alone_until:
            self._write()
        return self._pause()

    def _pause(self) -> float:
        """As GitHub asked for in this round."""
        at_least, self._at_least = self._at_least, 0.0
        return at_least

    def _write(self) -> None:
        self._known.limited_until = self._hub.left_alone_until
        self._known.write(self._path)

    def _mark_read(self) -> None:
        """Where that is wanted: it clears the person's own inbox."""
        unmarked = self._known.unmarked
        if not unmarked:
            return
        if self._settings.mark_read:
            self._unread.mark()
        else:
            unmarked.clear()
        self._write()

    def close(self) -> None:
        self._hub.close()
