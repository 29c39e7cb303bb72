"""Who may give work and answers in Slack: the owner, and whom `allowed_users` names.

An entry is a person (`U…`), a user group (`S…`), or a channel (`C…`), in which everybody of the
workspace may; people of other companies, who share a channel, only by their own id. Nobody else.
Slack is asked only about those whom it does not name one by one: nobody waits for a name, and where
it is not known the id does instead.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from kingdom.clients.slack import Me, Slack
from kingdom.clients.slack_faults import LONGEST_LIMIT, SlackLater, SlackRefused
from kingdom.clock import Clock, still_waits
from kingdom.settings.envoy import Slack as SlackSettings

_FRESH = timedelta(minutes=5)  # how long what Slack said of a group or a person holds
_FRESH_NAME = timedelta(hours=1)
_PAUSE = timedelta(minutes=1)  # before it is asked again what Slack did not answer
_MOST_KNOWN = 1_000
_MOST_LEARNT = 20  # of those who are named one by one, before they say anything
_AT_ONCE = 5
_RESERVED = "default"  # who answered if nobody did


class Person(NamedTuple):
    """What Slack said of somebody, and when."""

    at: datetime
    name: str = ""
    is_bot: bool = False
    is_ours: bool | None = None  # of our workspace or its enterprise; None: Slack did not say


class Permits:
    """`settings` is asked each time, since configuration may change."""

    def __init__(self, slack: Slack, clock: Clock, settings: Callable[[], SlackSettings]) -> None:
        self._slack = slack
        self._clock = clock
        self._settings = settings
        self._groups: dict[str, tuple[datetime, frozenset[str]]] = {}
        self._unknown: dict[str, tuple[datetime, SlackLater]] = {}  # groups; until then
        self._persons: dict[str, Person] = {}
        self._unasked: SlackLater | None = None  # why Slack did not say who somebody is
        self._wanted: dict[str, None] = {}  # people who said something, in their order
        self._not_before: datetime | None = None

    def people(self) -> list[str]:
        """Those named one by one."""
        given = self._settings()
        named = [given.owner, *given.allowed_users]
        return list(dict.fromkeys(one for one in named if one[:1] in ("U", "W")))

    def channels(self) -> list[str]:
        return [one for one in self._settings().allowed_users if one[:1] in ("C", "G")]

    def allows(
        self, user: str, channel: str, *, is_ours: bool | None = None, patient: bool = True
    ) -> bool:
        """`is_ours`: that they are of our workspace, if what they said shows it. `patient`: raises
        SlackLater if Slack does not say now who is in a group, or whose people somebody is.
        Otherwise nobody is."""
        if user in self.people():
            return True
        groups = [one for one in self._settings().allowed_users if one[:1] == "S"]
        is_among = channel in self.channels() or any(
            user in self._members(group, patient) for group in groups
        )
        return is_among and (is_ours or self._is_ours(user, patient))

    def _is_ours(self, user: str, patient: bool) -> bool:
        is_ours = self._known(user).is_ours
        if is_ours is None and patient and self._unasked is not None:
            raise self._unasked.with_traceback(None)
        return is_ours is True

    def name_of(self, user: str) -> str:
        name = self._known(user).name
        return f"{name} ({user})" if name.casefold() == _RESERVED else name or user

    def is_bot(self, user: str) -> bool:
        return self._known(user).is_bot

    def learn(self) -> None:
        """A few names, when there is time."""
        now = self._clock.now()
        if self._not_before is not None and still_waits(self._not_before, now, _PAUSE):
            return
        missing = [
            one for one in (*self._wanted, *self.people()[:_MOST_LEARNT]) if self._is_old(one)
        ]
        self._not_before, self._wanted = None, {}
        for user in missing[:_AT_ONCE]:
            if not self._ask(user):
                self._not_before = now + _PAUSE
                return

    def _members(self, group: str, patient: bool) -> frozenset[str]:
        """A group that Slack does not show is empty."""
        at, members = self._groups.get(group, (None, frozenset[str]()))
        now = self._clock.now()
        if at is not None and abs(now - at) <= _FRESH:
            return members
        until, error = self._unknown.get(group, (None, None))
        try:
            if until is not None and error is not None and still_waits(until, now, LONGEST_LIMIT):
                raise error.with_traceback(None)
            members = self._slack.group(group)
        except SlackRefused:
            members = frozenset()
        except SlackLater as later:
            if later is not error:
                self._unknown[group] = later.not_before or now + _PAUSE, later
            if patient:
                raise
            return frozenset()
        self._groups[group] = now, members
        return members

    def _known(self, user: str) -> Person:
        if self._is_old(user):
            if user in self.people():
                self._wanted[user] = None
            else:
                self._ask(user)
        return self._persons.get(user) or Person(self._clock.now())

    def _is_old(self, user: str) -> bool:
        known = self._persons.get(user)
        return known is None or abs(self._clock.now() - known.at) > _FRESH_NAME

    def _ask(self, user: str) -> bool:
        """Whether Slack answered; if not, what was known of them before stays for a while."""
        if len(self._persons) > _MOST_KNOWN:
            self._persons.clear()
        now = self._clock.now()
        known = self._persons.get(user) or Person(now)
        try:
            self._persons[user] = self._asked(user, now)
        except SlackLater as later:
            self._persons[user] = known._replace(at=now - _FRESH_NAME + _PAUSE)
            self._unasked = later
            return False
        return True

    def _asked(self, user: str, now: datetime) -> Person:
        try:
            told, me = self._slack.user(user), self._slack.me()
        except SlackRefused:
            return Person(now, is_ours=False)
        profile = told.get("profile")
        profile = profile if isinstance(profile, dict) else {}
        names = (profile.get("display_name"), profile.get("real_name"), told.get("name"))
        name = next((one for one in names if isinstance(one, str) and one.strip()), "")
        shown = " ".join(name.split())[:80]
        return Person(now, shown, told.get("is_bot") is True, _is_ours(told, me))


def _is_ours(told: Mapping[str, Any], me: Me) -> bool:
    """Not of another company, whose people Slack shows in a channel that both share."""
    if told.get("is_stranger") is True:
        return False
    enterprise = told.get("enterprise_user")
    enterprise = enterprise if isinstance(enterprise, dict) else {}
    teams = ((told.get("team_id"), me.team_id), (enterprise.get("enterprise_id"), me.enterprise_id))
    return any(theirs == ours != "" for theirs, ours in teams)
