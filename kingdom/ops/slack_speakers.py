"""Whom the settings let speak to the kingdom in Slack, and what Slack knows of each."""

from __future__ import annotations

from dataclasses import dataclass

from kingdom.clients.slack import Slack
from kingdom.clients.slack_faults import SlackRefused
from kingdom.settings.envoy import Slack as SlackSettings

_STRANGE = "(Slack knows no such {kind})"
_KINDS = {"S": "user group", "C": "channel", "G": "channel"}


@dataclass(frozen=True)
class Speaker:
    """A person, a user group, or a channel; `flaw` says why nobody is heard by it."""

    id: str
    shown: str = ""
    flaw: str = ""

    def __str__(self) -> str:
        return f"{self.shown} ({self.id})" if self.shown else f"{self.id} {self.flaw}".strip()


def speakers_in(given: SlackSettings, slack: Slack) -> list[Speaker]:
    named = dict.fromkeys(filter(None, (given.owner, *given.allowed_users)))
    return [_speaker(one, slack) for one in named]


def _speaker(id_: str, slack: Slack) -> Speaker:
    kind = _KINDS.get(id_[:1], "person")
    try:
        if kind == "channel":
            return _channel(id_, slack)
        if kind == "user group":
            return Speaker(id_, f"{len(slack.group(id_))} people")
        return Speaker(id_, _name(slack, id_) or id_)
    except SlackRefused as refused:
        if refused.is_of_method:
            raise
        return Speaker(id_, flaw=_STRANGE.format(kind=kind))


def _channel(id_: str, slack: Slack) -> Speaker:
    told = slack.channel(id_)
    if told.get("is_archived") is True:
        return Speaker(id_, flaw="(archived)")
    if told.get("is_member") is not True:
        return Speaker(id_, flaw="(the app is not in it)")
    return Speaker(id_, f"#{told.get('name') or id_}")


def _name(slack: Slack, id_: str) -> str:
    told = slack.user(id_)
    profile = told.get("profile")
    profile = profile if isinstance(profile, dict) else {}
    names = (profile.get("display_name"), profile.get("real_name"), told.get("name"))
    return next((" ".join(one.split()) for one in names if isinstance(one, str) and one), "")
