"""gh, GitHub's own program: asked for the login that a person left on this machine."""

from __future__ import annotations

from collections.abc import Mapping

from kingdom.clients import programs

TIMEOUT = 10.0
# Where its login lies. Tokens of the environment are not among them: it would name one of those for
# any host that it does not know better.
OF_THE_LOGIN = (
    "PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "XDG_CONFIG_HOME", "GH_CONFIG_DIR",
    "DBUS_SESSION_BUS_ADDRESS",
)  # fmt: skip


def token_for(host: str, environment: Mapping[str, str]) -> str:
    """What it would use for this host; empty if there is no gh, or it has nothing."""
    words = ("gh", "auth", "token", "--hostname", host)
    try:
        said = programs.Run(words, environment, timeout=TIMEOUT)()
    except programs.Cut:
        return ""
    return said.text if said.code == 0 else ""
