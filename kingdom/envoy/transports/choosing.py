"""Which transport carries the envoy's words, as `config/envoy.yaml` says."""

from __future__ import annotations

import sys
from typing import assert_never

from kingdom.envoy.rendering import Rendering
from kingdom.envoy.transport import Transport
from kingdom.envoy.transports.console import Console
from kingdom.runtime.role import Setting
from kingdom.runtime.secrets import Masker
from kingdom.settings.loading import Settings
from kingdom.words import Words


def chosen_transport(setting: Setting) -> Transport:
    settings = setting.config.current.settings
    slack = settings.envoy.slack
    masker = Masker(setting.environment, (slack.bot_token_env, slack.app_token_env))
    match settings.envoy.transport:
        case "console":
            return _console(setting, masker)
        case "slack":
            return _slack(setting, masker)
        case other:
            assert_never(other)


def _console(setting: Setting, masker: Masker) -> Transport:
    return Console(
        setting.base,
        setting.clock,
        lambda: _rendering(setting.config.current.settings),
        channel=lambda: setting.config.current.settings.envoy.slack.default_channel,
        masked=masker.text,
        sync=setting.config.current.settings.system.durability == "full",
        terminal=sys.stderr if sys.stderr and sys.stderr.isatty() else None,
    )


def _slack(setting: Setting, masker: Masker) -> Transport:
    from kingdom.envoy.transports.slack.making import made

    return made(setting, masker.text, lambda: _rendering(setting.config.current.settings))


def _rendering(settings: Settings) -> Rendering:
    return Rendering(Words(settings.system.language), settings.system.zone)
