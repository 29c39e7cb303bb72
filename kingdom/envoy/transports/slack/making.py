"""Puts the parts together that speak and listen in Slack."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from hashlib import sha256
from socket import gethostname

from kingdom.clients.slack import Slack
from kingdom.clients.slack_access import find_app_token, find_token
from kingdom.clients.slack_socket import SlackSocket
from kingdom.envoy.rendering import Rendering
from kingdom.envoy.transports.slack.carrier import SlackCarrier
from kingdom.envoy.transports.slack.crowd import Crowd
from kingdom.envoy.transports.slack.ear import Ear
from kingdom.envoy.transports.slack.joined import Channels
from kingdom.envoy.transports.slack.letters import Letters
from kingdom.envoy.transports.slack.marks import Marks
from kingdom.envoy.transports.slack.memory import Memory
from kingdom.envoy.transports.slack.notices import Notice, Notices
from kingdom.envoy.transports.slack.permits import Permits
from kingdom.envoy.transports.slack.places import Places, channel_of, default_channel
from kingdom.envoy.transports.slack.rounds import Rounds
from kingdom.runtime.role import Setting
from kingdom.settings.envoy import Slack as SlackSettings
from kingdom.store.paths import BaseDir
from kingdom.words import Words

_KNOCK_AGAIN = timedelta(seconds=60)  # with a token that Slack does not accept


def made(
    setting: Setting, masked: Callable[[str], str], rendering: Callable[[], Rendering]
) -> SlackCarrier:
    """What is configured is asked for each time, since it may change."""

    def given() -> SlackSettings:
        return setting.config.current.settings.envoy.slack

    def words() -> Words:
        return Words(setting.config.current.settings.system.language)

    def letters() -> Letters:
        return Letters(
            words(), rendering(), owner=given().owner, masked=masked, has_buttons=ear.hears_buttons
        )

    def crowded() -> None:
        day, place = f"{clock.now():%Y-%m-%d}", places.channel("")
        notices.say(Notice(f"crowded {day}", "crowded", words()("envoy_crowded"), place))

    clock, log, kingdom = setting.clock, setting.log, name_of(setting.base)
    slack = _slack(setting, given())
    sync = setting.config.current.settings.system.durability == "full"
    memory = Memory(setting.base, sync=sync)
    places = Places(slack, lambda: channel_of(given()))
    permits = Permits(slack, clock, given)
    notices = Notices(slack, memory, clock, log, kingdom)
    socket = _socket(setting)
    channels = Channels(slack, clock, socket, places=places, permits=permits, memory=memory)
    rounds = Rounds(slack, memory, clock, log, channels)

    def pace() -> float:
        return given().polling_seconds

    ear = Ear(slack, memory, permits, rounds, socket=socket, clock=clock, log=log, seconds=pace)
    return SlackCarrier(
        slack,
        letters,
        places=places,
        ear=ear,
        notices=notices,
        marks=Marks(slack, clock, log, setting.base),
        crowd=Crowd(socket, given().app_token_env, log, crowded),
        kingdom=kingdom,
        log=log,
    )


def name_of(base: BaseDir) -> str:
    """Not the same for any two kingdoms, also when one is a copy of the other."""
    return sha256(f"{gethostname()}:{base.root}".encode()).hexdigest()[:12]


def _slack(setting: Setting, given: SlackSettings) -> Slack:
    """As the app; refused here is what can never work."""
    variable = given.bot_token_env
    token = find_token(setting.environment, variable)
    default_channel(channel_of(given))
    return Slack(
        token, given.api_url, variable=variable, clock=setting.clock, knock_again=_KNOCK_AGAIN
    )


def _socket(setting: Setting) -> SlackSocket | None:
    """Begins to listen at once; None without an app token."""
    given = setting.config.current.settings.envoy.slack
    variable = given.app_token_env
    token = find_app_token(setting.environment, variable)
    if not token:
        return None
    socket = SlackSocket(Slack(token, given.api_url, variable=variable))
    socket.start()
    return socket
