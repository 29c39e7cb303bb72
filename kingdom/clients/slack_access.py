"""The tokens of a Slack app, from the environment."""

from __future__ import annotations

from collections.abc import Mapping

from kingdom.errors import ConfigurationError


def find_token(environment: Mapping[str, str], variable: str) -> str:
    token = environment.get(variable, "").strip()
    if not token:
        raise ConfigurationError(
            f"There is no token for Slack: {variable} is not set.",
            remedy=f"Set {variable} to the app's bot token (xoxb-...) and say: kingdom restart. "
            "Without Slack, transport in config/local/envoy.yaml is console.",
        )
    return _sound(token, variable)


def find_app_token(environment: Mapping[str, str], variable: str) -> str:
    """Empty if there is none: what people say is then looked for."""
    token = environment.get(variable, "").strip()
    return token and _sound(token, variable)


def _sound(token: str, variable: str) -> str:
    if not token.isascii() or not token.isprintable() or " " in token:
        raise ConfigurationError(
            f"What {variable} holds is not a token: it has spaces or other characters.",
            remedy=f"Set {variable} to the token alone.",
        )
    return token
