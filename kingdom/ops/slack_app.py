"""The Slack app that speaks for a kingdom: how it is made, and whether it can do its work."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from kingdom.clients.slack import Posted, Slack
from kingdom.clients.slack_access import find_app_token, find_token
from kingdom.clients.slack_faults import SlackCrowded, SlackLater, SlackRefused
from kingdom.clock import Clock, SystemClock
from kingdom.envoy.transports.slack.marks import SEEN
from kingdom.envoy.transports.slack.places import Places, channel_of
from kingdom.errors import ConfigurationError, KingdomError, NeverWorks, TryLater
from kingdom.ops.slack_speakers import Speaker, speakers_in
from kingdom.ops.status import transport_problem
from kingdom.runtime.config import load_config
from kingdom.settings.envoy import Slack as SlackSettings
from kingdom.store.paths import BaseDir
from kingdom.words import Words

# What the app must be allowed to do, and what for.
SCOPES = {
    "app_mentions:read": "to hear when it is called",
    "channels:history": "to read replies, and to say nothing twice",
    "channels:read": "to find a channel by its name",
    "chat:write": "to speak",
    "files:write": "to attach what is too long",
    "groups:history": "the same in private channels",
    "groups:read": "the same in private channels",
    "im:history": "the same in direct messages",
    "im:write": "to begin a direct message",
    "metadata.message:read": "to know its own messages again",
    "reactions:write": "to show how a task stands",
    "usergroups:read": "to know who is in a user group that may speak",
    "users:read": "to name who answered",
}
EVENTS = ("app_mention", "message.channels", "message.groups", "message.im")


def manifest() -> dict[str, Any]:
    """As Slack takes it under "Create an app", "From a manifest"."""
    return {
        "display_information": {
            "name": "Kingdom",
            "description": "An AI colleague that settles on a dev box.",
        },
        "features": {
            "app_home": {"messages_tab_enabled": True, "messages_tab_read_only_enabled": False},
            "bot_user": {"display_name": "kingdom", "always_online": True},
        },
        "oauth_config": {"scopes": {"bot": sorted(SCOPES)}},
        "settings": {
            "event_subscriptions": {"bot_events": list(EVENTS)},
            "interactivity": {"is_enabled": True},
            "org_deploy_enabled": False,
            "socket_mode_enabled": True,
            "token_rotation_enabled": False,
        },
    }


def trial(
    base: BaseDir, environment: Mapping[str, str], clock: Clock | None = None
) -> Iterator[str]:
    """What was tried and went well, a sentence each; raises what did not. Calls that the envoy can
    do without for a while are tried to the last, so that each that fails is named."""
    clock = clock or SystemClock()
    settings = load_config(base, environment).settings
    given = settings.envoy.slack
    token = find_token(environment, given.bot_token_env)
    slack = Slack(token, given.api_url, variable=given.bot_token_env, clock=clock)
    me = slack.me()
    yield f"The token in {given.bot_token_env} is that of {me.name} in {me.team}."
    if (problem := missing_scopes(slack.scopes)) is not None:
        raise problem
    if slack.scopes:
        yield f"The app has all of the {len(SCOPES)} scopes that it needs."
    place = Places(slack, lambda: channel_of(given)).channel("")
    hello = Words(settings.system.language)("envoy_trial")
    posted = slack.post(place, {"text": hello})
    try:
        yield f"A test message stands in {place} ({posted.channel})."
        failed = failures(_calls_about(slack, posted, hello))
        if not failed:
            yield "It was found again, and has a reaction."
    finally:
        slack.delete(posted)
    yield "It was removed."
    failed += failures(reading_calls(slack, given))
    if failed:
        raise _all_of(failed)
    speakers = speakers_in(given, slack)
    yield _listens_to(speakers)
    yield _try_to_listen(given, environment, clock)
    for problem in (_unknown(speakers), crowded(base, given), _unused(settings.envoy.transport)):
        if problem is not None:
            raise problem


def failures(calls: Iterable[Callable[[], object]]) -> list[KingdomError]:
    """Why each of these that fails does."""
    found: list[KingdomError] = []
    for call in calls:
        try:
            call()
        except (SlackLater, SlackRefused) as error:
            found.append(error)
    return found


def reading_calls(slack: Slack, given: SlackSettings) -> list[Callable[[], object]]:
    """Those of the envoy's that change nothing in Slack, or nothing that anybody sees."""
    places = Places(slack, lambda: channel_of(given))

    def newest() -> object:
        channel = places.id_of("")
        return channel and next(slack.history(channel, "0", limit=1), {})

    return [
        lambda: next(slack.joined(), ""),
        lambda: slack.channel_named("#general"),
        newest,
        lambda: slack.user(slack.me().user_id),
        *([lambda: slack.open_with(given.owner)] if given.owner else []),
    ]


def _calls_about(slack: Slack, posted: Posted, text: str) -> list[Callable[[], object]]:
    """With a message of one's own: it has a thread and a reaction, and can be changed."""
    oldest = f"{float(posted.ts) - 1:.6f}"
    return [
        lambda: slack.react(posted, SEEN),
        lambda: slack.unreact(posted, SEEN),
        lambda: _read_back(slack, posted, oldest),
        lambda: list(slack.replies(posted.channel, posted.ts, oldest)),
        lambda: slack.update(posted, {"text": text}),
        lambda: slack.prepare_upload("kingdom.txt", text.encode()),
    ]


def _all_of(failed: list[KingdomError]) -> KingdomError:
    """One sentence after the other; what helps is often the same for all."""
    remedies = dict.fromkeys(one.remedy for one in failed if one.remedy)
    sentence = " ".join(dict.fromkeys(one.sentence for one in failed))
    return NeverWorks(sentence, remedy=" ".join(remedies), code=failed[0].code)


def _listens_to(speakers: list[Speaker]) -> str:
    if not speakers:
        return (
            "Nobody may give it work or answers: set slack.owner in config/local/envoy.yaml to "
            "your member id."
        )
    return f"Those may give it work and answers: {', '.join(map(str, speakers))}."


def _unknown(speakers: list[Speaker]) -> NeverWorks | None:
    wrong = ", ".join(f"{one.id} {one.flaw}" for one in speakers if one.flaw)
    if not wrong:
        return None
    return NeverWorks(
        f"slack.owner and slack.allowed_users name some that cannot speak to it: {wrong}.",
        remedy="Correct them in config/local/envoy.yaml; a channel must have the app invited.",
        code="slack_no_channel",
    )


def calls_failing(base: BaseDir | None) -> list[KingdomError]:
    """As the envoy that runs has found."""
    known = (transport_problem(base) if base else None) or {}
    calls = known.get("calls")
    return [
        TryLater(str(one.get("sentence")), remedy=str(one.get("remedy") or ""))
        for one in (calls if isinstance(calls, list) else ())
        if isinstance(one, dict)
    ]


def crowded(base: BaseDir, given: SlackSettings) -> NeverWorks | None:
    """As the envoy that runs has found; a line of our own would take what is meant for it."""
    known = transport_problem(base) or {}
    return SlackCrowded(given.app_token_env) if known.get("code") == SlackCrowded.code else None


def _unused(transport: str) -> ConfigurationError | None:
    if transport == "slack":
        return None
    return ConfigurationError(
        f"The app is in order, but Slack is not used: transport is {transport}.",
        remedy="Set transport: slack in config/local/envoy.yaml, then: kingdom restart",
    )


def _try_to_listen(given: SlackSettings, environment: Mapping[str, str], clock: Clock) -> str:
    variable = given.app_token_env
    token = find_app_token(environment, variable)
    if not token:
        seconds = f"{given.polling_seconds:g}"
        return f"{variable} is not set: it looks for replies every {seconds} s, and has no buttons."
    Slack(token, given.api_url, variable=variable, clock=clock).socket_address()
    return f"With the token in {variable} it hears replies at once."


def missing_scopes(granted: frozenset[str]) -> NeverWorks | None:
    """What the app may not do and must; nothing is known of one that told no scopes."""
    missing = sorted(set(SCOPES) - granted) if granted else []
    if not missing:
        return None
    named = ", ".join(f"{scope} ({SCOPES[scope]})" for scope in missing)
    return NeverWorks(
        f"The Slack app lacks {'a scope' if len(missing) == 1 else 'scopes'}: {named}.",
        remedy="Put what kingdom envoy manifest prints into the app's manifest, and install it "
        "in the workspace again.",
        code="slack_scope",
    )


def _read_back(slack: Slack, posted: Posted, oldest: str) -> None:
    if not any(one.get("ts") == posted.ts for one in slack.history(posted.channel, oldest)):
        raise SlackRefused(
            "Slack does not show what was just posted.", error="not_shown", code="slack_refused"
        )
