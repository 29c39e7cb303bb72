"""Who may give work and answers in Slack: the owner, and whom `allowed_users` names.

An entry is a person (`U…`), a user group (`S…`), or a channel (`C…`), in which everybody
may. Nobody else.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from kingdom.clients.slack import Slack
from kingdom.clients.slack_faults import SlackRefused
from kingdom.clock import Clock
from kingdom.settings.envoy import Slack as SlackSettings

_FRESH = timedelta(minutes=5)  # how long what Slack said of a group or a person holds
_MOST_KNOWN = 1_000


class Permits:
    """`settings` is asked each time, since configuration may change."""

    def __init__(self, slack: Slack, clock: Clock, settings: Callable[[], SlackSettings]) -> None:
        self._slack = slack
        self._clock = clock
        self._settings = settings
        self._groups: dict[str, tuple[datetime, frozenset[str]]] = {}
        self._names: dict[str, tuple[datetime, str, bool]] = {}

    def people(self) -> list[str]:
        """Those named one by one."""
        given = self._settings()
        named = [given.owner, *given.allowed_users]
        return list(dict.fromkeys(one for one in named if one[:1] in ("U", "W")))

    def channels(self) -> list[str]:
        return [one for one in self._settings().allowed_users if one[:1] in ("C", "G")]

    def allows(self, user: str, channel: str) -> bool:
        if user in self.people() or channel in self.channels():
            return True
        groups = (one for one in self._settings().allowed_users if one[:1] == "S")
        return any(user in self._members(group) for group in groups)

    def name_of(self, user: str) -> str:
        return self._known(user)[0] or user

    def is_bot(self, user: str) -> bool:
        return self._known(user)[1]

    def _members(self, group: str) -> frozenset[str]:
        """A group that Slack does not show is empty."""
        at, members = self._groups.get(group, (None, frozenset[str]()))
        now = self._clock.now()
        if at is None or now - at > _FRESH:
            try:
                members = self._slack.group(group)
            except SlackRefused:
                members = frozenset()
            self._groups[group] = now, members
        return members

    def _known(self, user: str) -> tuple[str, bool]:
        now = self._clock.now()
        known = self._names.get(user)
        if known is None or now - known[0] > _FRESH:
            if len(self._names) > _MOST_KNOWN:
                self._names.clear()
            known = self._names[user] = now, *self._asked(user)
        return known[1], known[2]

    def _asked(self, user: str) -> tuple[str, bool]:
        try:
            told = self._slack.user(user)
        except SlackRefused:
            return "", False
        profile = told.get("profile")
        profile = profile if isinstance(profile, dict) else {}
        names = (profile.get("display_name"), profile.get("real_name"), told.get("name"))
        name = next((one for one in names if isinstance(one, str) and one.strip()), "")
        return " ".join(name.split())[:80], told.get("is_bot") is True
