"""Jira: tickets in scope, each update of one an event.

Every round asks for what was updated since the newest update that was dealt with, less an overlap,
the oldest first. Each page is asked for by date anew, so that nothing slips away when tickets move
to the end of the listing meanwhile; only what was updated within one minute is paged through, and
that until it shows nothing new.

A ticket is `assigned` when it is open, belongs to the account that asks, and did not when it was
last dealt with, or was given away and back since; `commented` when somebody else has commented
since; else `updated`. What the account itself comments is no event.

`state/sentinel/jira-state.json` moves on page by page, after the page's events are durable
(`kingdom.sentinel.watchers.jira_state`).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from kingdom.clients.jira import (
    MOST_CHANGES,
    MOST_COMMENTS,
    Account,
    Jira,
    account_id,
    find_credentials,
)
from kingdom.clients.jira_faults import LOGIN, JiraLater, JiraRefused
from kingdom.models.event import Event
from kingdom.models.priority import priority_of
from kingdom.runtime.role import Setting
from kingdom.sentinel.post import WatcherOff
from kingdom.sentinel.seen import Seen
from kingdom.sentinel.trust import Judged, jira_name, lowest, of_jira_user
from kingdom.sentinel.watcher import Finish, Sighting
from kingdom.sentinel.watchers import jira_reading as reading
from kingdom.sentinel.watchers.jira_query import composed, zone_of
from kingdom.sentinel.watchers.jira_state import Ticket, read, state_path
from kingdom.settings.sentinel import JiraWatcher

SOURCE = "jira"
ASSIGNED, COMMENTED, UPDATED = (
    "jira.ticket.assigned",
    "jira.ticket.commented",
    "jira.ticket.updated",
)
OVERLAP = timedelta(minutes=10)  # a cloud's search lags behind what it searches
SETTLE = timedelta(seconds=2)  # an id tells seconds: what a second brought is known when it is over
IDENTIFY_EVERY = 3600.0
OWN_COMMENT = "The comment is the account's own."
_COMMENTS_UNKNOWN = Judged("outside", "Jira does not tell all who commented")
_MOST_SKEW = timedelta(minutes=1)
_MOST_READINGS = 5
_MOST_PAGES = 1000  # of one minute


def make(settings: JiraWatcher, setting: Setting) -> TicketWatcher:
    try:
        mine = find_credentials(setting.environment, settings.email_env, settings.token_env)
    except JiraRefused as error:
        raise WatcherOff(error.sentence, remedy=error.remedy) from None
    return TicketWatcher(settings, setting, Jira(settings.url, mine, clock=setting.clock))


@dataclass
class _Pass:
    """One time through the listing."""

    met: set[tuple[str, datetime | None]] = field(default_factory=set)
    tickets: int = 0  # on the page at hand, that were not met before
    newest: datetime | None = None
    is_held: bool = False  # something waits for its details: the cursor stays
    is_changing: bool = False


class TicketWatcher:
    name = "jira"

    def __init__(self, settings: JiraWatcher, setting: Setting, jira: Jira) -> None:
        self._settings = settings
        self._setting = setting
        self._jira = jira
        self._path = state_path(setting.base)
        self._seen = Seen(setting.base, setting.bus, setting.clock)
        self._known = read(self._path, jira.url)
        self._position = self._known.position
        jira.left_alone_until = self._known.limited_until
        self._unmarked: list[str] = []
        self._me = Account("", "")
        self._identify_at = -float("inf")
        self._pass = _Pass()

    # The listing

    def fetch(self, *, afresh: bool = False) -> Iterator[Sequence[Any]]:
        self._pass = _Pass()
        known = self._known
        self._unmarked += known.settle(self._was_published)
        is_news = self._identify()
        began = self._jira.now - timedelta(days=self._settings.first_days)
        known.believe(self._jira.now)
        known.begin(self._settings.scope.jql_base, began, began + OVERLAP)
        if is_news:
            known.live_in(self._me.zone)
        assert known.cursor is not None
        since: datetime | None = known.cursor - OVERLAP
        while since is not None:
            since = yield from self._stretch(since, afresh)

    def _was_published(self, event_id: str) -> bool:
        is_marked = self._seen.marked_at(event_id) is not None
        return is_marked or self._setting.bus.look("events", event_id) is not None

    def _identify(self) -> bool:
        """Now and then again: the account's zone can be changed, and dates with it."""
        now = self._setting.clock.monotonic()
        if now < self._identify_at:
            return False
        if self._jira.site().is_cloud and not self._jira.has_email:
            name = self._settings.email_env
            raise WatcherOff(
                f"There is no account for Jira: {name} is not set.",
                remedy=f"Set {name} to the e-mail address of the token's account where the "
                "kingdom is started.",
            )
        self._me = self._jira.account()
        self._identify_at = now + IDENTIFY_EVERY
        return True

    def _stretch(
        self, since: datetime, afresh: bool
    ) -> Generator[Sequence[Any], None, datetime | None]:
        """Pages from there on, until one reaches beyond that minute: then from where to go on."""
        jql = composed(self._settings.scope.jql_base, since, zone_of(self._me.zone))
        met = self._pass.met = {one for one in self._pass.met if one[1] and one[1] >= since}
        for _ in range(_MOST_READINGS):
            known, pages = len(met), 0
            beyond, after = None, None
            tokens: set[str | int] = set()
            while beyond is None:
                page = self._jira.search(jql, reading.FIELDS, after)
                newest, after = reading.newest_of(page.issues), page.after
                updates = {reading.identity_of(one): one for one in page.issues}
                fresh = [one for update, one in updates.items() if update not in met]
                if not afresh:
                    fresh = [one for one in fresh if self._is_due(*reading.identity_of(one))]
                self._pass.tickets, self._pass.newest = len(fresh), newest
                met.update(updates)
                pages += 1
                yield fresh
                if after is None:
                    break
                if newest is not None and _minute(newest) > since:
                    beyond = _minute(newest)
                elif after in tokens or pages == _MOST_PAGES:
                    raise JiraLater("Jira's listing of tickets does not come to an end.")
                tokens.add(after)
            if pages == 1 or len(met) == known:
                return beyond
        raise JiraLater("Jira's tickets change faster than they can be listed.")

    def _is_due(self, id_: str, updated: datetime | None) -> bool:
        """It was not dealt with yet, and is not being changed this very moment."""
        known = self._known.issues.get(id_)
        if updated is None:
            return True
        if known is not None and updated <= known.updated:
            return False
        is_changing = -_MOST_SKEW < self._jira.now - updated < SETTLE
        self._pass.is_changing |= is_changing
        return not is_changing

    # One ticket

    def parse(self, raw: Any) -> Sighting:
        ticket, fields = reading.ticket_of(raw), raw["fields"]
        known = self._known.issues.get(ticket.id)
        was_mine = known is not None and known.is_with(self._me.id)
        is_news = ticket.is_with(self._me.id) and not was_mine
        event = self._event(ticket, ASSIGNED if is_news else UPDATED, fields)
        about = reading.title_of(ticket, fields)
        return Sighting(about, event=event, raw=(ticket, fields.get("reporter")))

    def _event(self, ticket: Ticket, type_: str, fields: Mapping[str, Any]) -> Event:
        site, whose = self._jira.site(), self._judged("reporter", fields.get("reporter"))
        addresses = {
            "url": f"{site.address}/browse/{ticket.key}",
            "api_url": f"{self._jira.url}{site.api}/issue/{ticket.key}",
        }
        return Event(
            id=reading.event_id(ticket),
            type=type_,
            source=SOURCE,
            repo=self._settings.scope.repos.get(ticket.project),
            payload=reading.payload_of(ticket, fields) | addresses,
            priority=priority_of(type_),
            created_at=self._setting.clock.now(),
            trust=lowest([_COMMENTS_UNKNOWN, whose]).trust,
            trust_reason=lowest([_COMMENTS_UNKNOWN, whose]).reason,
        )

    def _judged(self, what: str, user: Any) -> Judged:
        trust = of_jira_user(user, self._settings.members)
        return Judged(trust, f"{what} {jira_name(user)}")

    # Its last comments

    def complete(self, sighting: Sighting) -> Sighting:
        event = sighting.event
        assert event is not None
        ticket, reporter = sighting.raw
        type_ = ASSIGNED if self._came_back(ticket) else event.type
        recent = self._new_comments(ticket)
        trusts = [self._judged("reporter", reporter)]
        if recent is None or len(recent) >= MOST_COMMENTS:
            trusts.append(_COMMENTS_UNKNOWN)
        recent = recent or []
        theirs = [one for one in recent if account_id(one.get("author")) != self._me.id]
        payload = event.payload
        if theirs:
            type_ = COMMENTED if type_ == UPDATED else type_
            trusts += [self._judged("comment of", one.get("author")) for one in theirs]
            edited = [one["updateAuthor"] for one in theirs if one.get("updateAuthor")]
            trusts += [self._judged("comment changed by", one) for one in edited]
            payload = payload | reading.comments_told(theirs, payload["url"])
            if type_ == COMMENTED:
                payload["by_bot"] = self._judged("", theirs[0].get("author")).trust == "bot"
        elif type_ == UPDATED and any(reading.is_the_update(one, ticket) for one in recent):
            return sighting.left_alone(OWN_COMMENT)
        if lowest(trusts).trust == "member":  # else it would be asked for nothing
            trusts += self._editors(ticket)
        least = lowest(trusts)
        changes = {
            "type": type_,
            "priority": priority_of(type_),
            "payload": payload,
            "trust": least.trust,
            "trust_reason": least.reason,
        }
        return replace(sighting, event=event.model_copy(update=changes))

    def _editors(self, ticket: Ticket) -> Iterator[Judged]:
        """How far those are trusted who changed what the reporter wrote; not the account itself."""
        history = self._asked(lambda: self._jira.history(ticket.id))
        if history is None or (len(history) >= MOST_CHANGES and self._jira.site().is_cloud):
            yield Judged("outside", "Jira does not tell all who changed it")
        for author in reading.editors(history or []):
            if account_id(author) != self._me.id:
                yield self._judged("changed by", author)

    def _came_back(self, ticket: Ticket) -> bool:
        """It was ours and is ours; in between it may have been another's, out of our scope."""
        known = self._known.issues.get(ticket.id)
        if known is None or not (known.is_with(self._me.id) and ticket.is_with(self._me.id)):
            return False
        history = self._asked(lambda: self._jira.history(ticket.id))
        return reading.was_given(history or [], self._me.id, known.updated)

    def _new_comments(self, ticket: Ticket) -> list[dict[str, Any]] | None:
        known = self._known.issues.get(ticket.id)
        comments = self._asked(lambda: self._jira.comments(ticket.id))
        if comments is None:
            return None
        return reading.between(comments, ticket, known.updated if known is not None else None)

    def _asked(self, ask: Callable[[], list[dict[str, Any]]]) -> list[dict[str, Any]] | None:
        """None where this is refused, and not the account: the other tickets do not wait for it."""
        try:
            return ask()
        except JiraRefused as error:
            if error.code == LOGIN or not 400 <= error.status < 500:
                raise
            return None

    # What is known

    def remember(self, fresh: Sequence[Sighting]) -> None:
        self._known.intended = {one.event.id: one.raw[0] for one in fresh if one.event is not None}
        self._write()

    def acknowledge(self, done: Sequence[Sighting]) -> None:
        known, passed = self._known, self._pass
        tickets = [one.raw[0] for one in done if one.raw is not None]
        for ticket in tickets:
            known.note(ticket)
        known.intended.clear()
        passed.is_held |= len(done) < passed.tickets
        if not passed.is_held and passed.newest is not None:
            newest = min(passed.newest, self._jira.now)
            known.cursor = max(newest, known.cursor or newest)
        if tickets or known.position != self._position:
            self._write()

    def finish(self, *, emitted: int) -> Finish:
        self._seen.mark(self._unmarked)
        self._seen.settle()
        self._unmarked.clear()
        if emitted:
            self._known.forget_old(self._jira.now)
        self._write_if_moved()
        return Finish(at_most=2 * SETTLE.total_seconds() if self._pass.is_changing else None)

    def _write_if_moved(self) -> None:
        self._known.limited_until = self._jira.left_alone_until
        if self._known.position != self._position:
            self._write()

    def _write(self) -> None:
        self._known.write(self._path)
        self._position = self._known.position

    def break_off(self) -> float:
        if self._known.limited_until != self._jira.left_alone_until:
            self._write_if_moved()
        return 0.0

    def close(self) -> None:
        self._jira.close()


def _minute(moment: datetime) -> datetime:
    return moment.replace(second=0, microsecond=0)
