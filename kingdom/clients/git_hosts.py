"""From the name of a repository to where it is fetched from, and with whose word.

Events come from outside and name repositories, so a name is `owner/name` and nothing else: it goes
into the configured address and cannot choose another. Addresses and paths are believed only if the
configuration itself spells them (`configured`). A token goes to the one host it is meant for, never
over plain http (the own machine excepted), and never further than git.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from urllib.parse import urljoin, urlsplit

from kingdom.clients import gh
from kingdom.clients.git import Access
from kingdom.clock import SystemClock
from kingdom.errors import ConfigurationError
from kingdom.settings.addresses import LONGEST, Remote, RepositoryRefused, long_form, read_url

_CLOCK = SystemClock()
GITHUB = "github.com"
_PART = re.compile(r"[A-Za-z0-9_.][A-Za-z0-9_.-]*")
_OWN_MACHINE = ("localhost", "127.0.0.1", "[::1]")
_GH_REMEMBERED = 300.0  # seconds


@dataclass(frozen=True)
class GitSettings:
    """How repositories are reached and kept; one field per setting."""

    url: str = f"https://{GITHUB}/{{repo}}.git"
    pull_ref: str = "refs/pull/{number}/head"
    token_env: str = "GH_TOKEN"
    tokens: Mapping[str, str] = field(default_factory=dict)  # host: variable
    use_gh: bool = True
    user_config: bool = False
    timeout_seconds: float = 900.0
    fresh_seconds: float = 1.0
    depth: int | None = None
    partial: bool = False
    submodules: bool = True
    lfs: bool = True
    max_checkout_mb: int = 4096
    max_checkout_files: int = 200_000
    max_outside_checkout_mb: int = 1024
    max_outside_checkout_files: int = 50_000
    name: str = "kingdom"
    email: str = "kingdom@localhost"


class Hosts:
    def __init__(
        self,
        settings: GitSettings,
        environment: Mapping[str, str],
        configured: frozenset[str] = frozenset(),
    ) -> None:
        """`configured`: what manifests and settings name, which may be addresses and paths."""
        if "{repo}" not in settings.url:
            raise ConfigurationError(f"git.url has no {{repo}} in it: {settings.url}.")
        self._settings = settings
        self._environment = environment
        self._of_the_login = {
            name: value for name, value in environment.items() if name in gh.OF_THE_LOGIN
        }
        self._configured = configured
        self._home = read_url(settings.url.replace("{repo}", "owner/name"))
        self._of_gh: dict[str, tuple[float, str]] = {}
        self._lock = threading.Lock()

    def remote(self, repo: str) -> Remote:
        if is_name(repo):
            return self._named(repo)
        if repo in self._configured:
            return read_url(repo)
        raise RepositoryRefused(
            f"{repo[:100]!r} is not a repository's name.",
            remedy="Tasks name a repository as owner/name; addresses and paths only count where "
            "a manifest spells them (default_repo, or a schedule's repo).",
        )

    def submodule(self, of: Remote, url: str) -> Remote:
        """The repository's content names it, so it gets less: no other protocol, and the token
        only beside the repository itself."""
        found = read_url(_relative_to(of.url, url) if url.startswith(("./", "../")) else url)
        if found.protocol == "ssh" and of.protocol != "ssh" and _is_like(found, self._home):
            repo = urlsplit(long_form(found.url)).path.strip("/").removesuffix(".git")
            found = self._named(repo) if is_name(repo) else found
        if found.protocol not in {"https", of.protocol}:
            raise RepositoryRefused(
                f"A submodule at {url[:100]!r} is not fetched: by {found.protocol}, from a "
                f"repository that is fetched by {of.protocol}.",
                remedy="Set git.submodules: false to work without submodules.",
            )
        same_owner = _owner(found) == _owner(of)
        return replace(found, may_use_token=of.may_use_token and same_owner)

    def access(self, remote: Remote) -> Access:
        return Access(
            protocols=(remote.protocol,),
            scope=remote.scope,
            token=self._token(remote),
            user_config=self._settings.user_config,
        )

    def renewed(self, remote: Remote, refused: Access) -> Access | None:
        """After a refusal: with what `gh` has by now, if that is something else."""
        with self._lock:
            if self._of_gh.get(remote.host, (0.0, ""))[1] == refused.token:
                self._of_gh.pop(remote.host, None)
        access = self.access(remote)
        return access if access.token not in ("", refused.token) else None

    def _named(self, repo: str) -> Remote:
        return read_url(self._settings.url.replace("{repo}", repo.removesuffix(".git")))

    def _token(self, remote: Remote) -> str:
        secure = remote.protocol == "https" or (
            remote.protocol == "http" and _without_port(remote.host) in _OWN_MACHINE
        )
        if not secure or not remote.may_use_token:
            return ""
        for variable in self._variables(remote.host):
            value = self._environment.get(variable, "").strip()
            if value:
                return value
        return self._token_of_gh(remote.host) if self._settings.use_gh else ""

    def _variables(self, host: str) -> list[str]:
        named = self._settings.tokens.get(host)
        if named:
            return [named]
        own = [self._settings.token_env] if host == self._home.host else []
        if host == GITHUB:
            return [*own, "GH_TOKEN", "GITHUB_TOKEN"]
        if host == self._home.host:
            return [*own, "GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN"]
        return own

    def _token_of_gh(self, host: str) -> str:
        with self._lock:
            asked, token = self._of_gh.get(host, (float("-inf"), ""))
            if _CLOCK.monotonic() - asked > _GH_REMEMBERED:
                token = gh.token_for(_without_port(host), self._of_the_login)
                if token:  # else it was too slow, or someone is about to log in
                    self._of_gh[host] = (_CLOCK.monotonic(), token)
            return token


def is_name(repo: str) -> bool:
    """owner/name, or group/…/name."""
    parts = repo.split("/")
    return (
        len(parts) >= 2
        and len(repo) <= LONGEST
        and all(_PART.fullmatch(part) and part.strip(".") for part in parts)
    )


def _relative_to(base: str, url: str) -> str:
    """As git reads it: beside the repository, not inside it."""
    long = long_form(base).rstrip("/") + "/"
    joined = urljoin(long, url) if "://" in long else ""
    if long.startswith("ssh://"):  # which urljoin does not know
        joined = "ssh" + urljoin("https" + long.removeprefix("ssh"), url).removeprefix("https")
    return joined or urljoin(f"file://{long}", url).removeprefix("file://")


def _owner(remote: Remote) -> tuple[str, str]:
    path = urlsplit(long_form(remote.url)).path
    return _without_port(remote.host), path.strip("/").partition("/")[0].lower()


def _is_like(one: Remote, other: Remote) -> bool:
    return _without_port(one.host) == _without_port(other.host)


def _without_port(host: str) -> str:
    return re.sub(r":[0-9]+\Z", "", host)
