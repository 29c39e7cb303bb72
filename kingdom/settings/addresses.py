"""Addresses of repositories: what configuration may spell, and what git would make of it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from kingdom.errors import NeverWorks

LONGEST = 500
_SCP = re.compile(
    r"(?P<user>[A-Za-z0-9_.-]+@)?(?P<host>[A-Za-z0-9][A-Za-z0-9.-]*):(?P<path>[^/:-].*)"
)
_HOST = re.compile(r"(?:[A-Za-z0-9][A-Za-z0-9.-]*|\[[0-9a-fA-F:.]+\])(?::[0-9]{1,5})?")


class RepositoryRefused(NeverWorks):
    """What a task names as its repository is not one that may be fetched."""

    code = "repository_refused"


@dataclass(frozen=True)
class Remote:
    """A repository somewhere else."""

    url: str
    protocol: str  # https, http, ssh or file
    host: str = ""  # with its port; none for file
    may_use_token: bool = True

    @property
    def scope(self) -> str:
        return f"{self.protocol}://{self.host}"


def read_url(url: str) -> Remote:
    """Raises `RepositoryRefused` for what git could take for something else than an address."""
    if len(url) > LONGEST or not url.isprintable() or url.startswith("-"):
        raise _refused(url, "it is no address")
    if url.startswith("/"):
        return Remote(url, "file")
    if " " in url:
        raise _refused(url, "there is a space in it")
    parts = _split(long_form(url))
    if parts.scheme == "file" and not parts.netloc and parts.path.startswith("/"):
        return Remote(parts.path, "file")
    if parts.scheme not in ("https", "http", "ssh"):
        raise _refused(url, "only https, http, ssh and files are known")
    user, _, host = parts.netloc.rpartition("@")
    if not _HOST.fullmatch(host) or not parts.path.strip("/") or "/-" in parts.path:
        raise _refused(url, "it names no host, or no repository")
    if ":" in user or (user and parts.scheme != "ssh") or user.startswith("-"):
        raise RepositoryRefused(
            f"The address of a repository on {host} has a user or password in it.",
            remedy="Take it out; the token belongs into the environment, see git.token_env.",
        )
    return Remote(url, parts.scheme, host.lower())


def _split(url: str) -> SplitResult:
    try:
        return urlsplit(url)
    except ValueError:
        raise _refused(url, "it is no address") from None


def _refused(url: str, reason: str) -> RepositoryRefused:
    shown = re.sub(r"//[^/@]*@", "//", url)[:100]
    return RepositoryRefused(f"{shown!r} is not fetched: {reason}.")


def long_form(url: str) -> str:
    """git@host:path in the long form."""
    found = None if "://" in url else _SCP.fullmatch(url)
    return url if found is None else f"ssh://{found['user'] or ''}{found['host']}/{found['path']}"
