"""The secrets that the kingdom knows: values of variables, and of logins left on the machine.

Read again when a file or the settings change. Nothing of it is written anywhere.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping

from kingdom.outbound.needles import Needles, is_searched_for
from kingdom.runtime.secrets import looks_secret
from kingdom.settings.loading import Settings
from kingdom.settings.sentinel import GithubWatcher, JiraWatcher
from kingdom.settings.system import BUS_VARIABLE
from kingdom.store import disk

# What `gh` and git hosts go by, whatever the settings name.
_OF_HOSTS = ("GH_TOKEN", "GITHUB_TOKEN", "GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN")
LOGIN_FILES = (
    ".claude/.credentials.json",
    ".codex/auth.json",
    ".config/gh/hosts.yml",
    ".git-credentials",
    ".config/git/credentials",
    ".netrc",
    ".npmrc",
    ".pypirc",
    ".aws/credentials",
    ".docker/config.json",
)
_LARGEST_LOGIN = 256 * 1024
_IN_LOGIN = re.compile(
    r"(?i)(?:token|secret|password|passwd|[\w-]*key|auth)[\w-]{0,20}[\"']?\s{0,4}[:= ]\s{0,4}[\"']?"
    r"([^\s\"',]{12,4000})"
)
_IN_ADDRESS = re.compile(r"://[^/\s:@]*:([^/\s@]{8,400})@")

Stamp = tuple[int, int]


def own_variables(settings: Settings) -> set[str]:
    """The variables that hold the kingdom's own credentials; soldiers never get one."""
    watchers, slack = settings.sentinel.polling, settings.envoy.slack
    github = watchers.github or GithubWatcher()
    jira = watchers.jira or JiraWatcher.model_construct(url="")
    return {
        BUS_VARIABLE,
        slack.bot_token_env,
        slack.app_token_env,
        github.token_env,
        jira.email_env,
        jira.token_env,
        settings.system.git.token_env,
        *settings.system.git.tokens.values(),
        *_OF_HOSTS,
    }


class Credentials:
    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self._home = environment.get("HOME", "")
        self._files: dict[str, tuple[Stamp, dict[str, str]]] = {}
        self._learned: dict[str, str] = {}
        self._made: tuple[object, Needles] | None = None

    def learn(self, name: str, value: str) -> None:
        """One that was found out on the way, such as the login of `gh`."""
        self._learned[name] = value

    def needles(self, settings: Settings) -> Needles:
        """Made anew only when something changed: that takes longer than looking."""
        found = {**self._of_files(), **self._learned, **self._of_environment(settings)}
        if self._made is None or self._made[0] != found:
            self._made = found, Needles(found)
        return self._made[1]

    def _of_environment(self, settings: Settings) -> dict[str, str]:
        named = {*own_variables(settings), *settings.system.outbound.secret_env}
        found = {
            name: value
            for name, value in self._environment.items()
            if name in named or looks_secret(name.upper(), value)
        }
        for name, value in list(found.items()):
            if "://" in value:  # the address is no secret, a password in it is
                inside = _IN_ADDRESS.search(value)
                found[name] = inside[1] if inside else ""
        return found

    def _of_files(self) -> dict[str, str]:
        if not self._home:
            return {}
        found: dict[str, str] = {}
        for name in LOGIN_FILES:
            found |= self._of_file(name)
        return found

    def _of_file(self, name: str) -> dict[str, str]:
        path = os.path.join(self._home, name)
        try:
            facts = os.stat(path)
            stamp = (facts.st_mtime_ns, facts.st_size)
            if name not in self._files or self._files[name][0] != stamp:
                text = disk.read(path, _LARGEST_LOGIN)[0].decode("utf-8", "replace")
                values = dict.fromkeys(filter(is_searched_for, _secrets_in(text)))
                named = {f"~/{name}, {n}": value for n, value in enumerate(values, 1)}
                self._files[name] = stamp, named
            return self._files[name][1]
        except OSError:
            return {}  # there is none, or it is not ours to read


def _secrets_in(text: str) -> Iterator[str]:
    for form in (_IN_ADDRESS, _IN_LOGIN):
        yield from (match[1] for match in form.finditer(text))
