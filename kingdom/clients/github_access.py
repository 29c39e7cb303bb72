"""Which GitHub is meant, which repository there, and with whose token."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import urlsplit

from kingdom.clients import gh
from kingdom.clients.github_faults import GitHubRefused

API_URL = "https://api.github.com"
_OWNER = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
_NAME = re.compile(r"(?!\.{1,2}$)[A-Za-z0-9._-]{1,100}")
_SCP = re.compile(r"(?:[^@/\s]+@)?(?P<host>[^:/\s]+):(?P<path>[^\s]+)")


def find_token(environment: Mapping[str, str], variable: str, api_url: str = API_URL) -> str:
    """From this variable, else what `gh` has; raises `GitHubRefused` if there is none."""
    token = environment.get(variable, "").strip() or gh.token_for(web_host(api_url), environment)
    if not token:
        raise GitHubRefused(
            f"There is no token for GitHub: {variable} is not set, and gh is not logged in.",
            status=401,
            remedy=f"Set {variable} where the kingdom is started, or run: gh auth login",
        )
    if not token.isprintable() or not token.isascii() or " " in token:
        raise GitHubRefused(
            f"What {variable} or gh holds is not a token: it has spaces or other characters.",
            status=401,
            remedy=f"Set {variable} to the token alone.",
        )
    return token


def web_host(api_url: str) -> str:
    """The host that people and git know: github.com for api.github.com."""
    return (urlsplit(api_url).hostname or "").removeprefix("api.")


def repository_named(text: str, api_url: str = API_URL) -> str:
    """`owner/name` of a repository that was named so, or by an address of this GitHub's; empty for
    one that is elsewhere: what is meant for another host must not be posted here."""
    host, path = "", text
    if "://" in text:
        parts = urlsplit(text)
        host, path = parts.hostname or "-", parts.path
    elif ":" in text and (match := _SCP.fullmatch(text)):
        host, path = match["host"], match["path"]
    if host and host != web_host(api_url):
        return ""
    owner, _, name = path.strip("/").removesuffix(".git").partition("/")
    is_one = _OWNER.fullmatch(owner) and _NAME.fullmatch(name)
    return f"{owner}/{name}" if is_one else ""
