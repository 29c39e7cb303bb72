"""git: the only code that runs it.

What a repository's own files say is never believed. Soldiers can write to the clone they work in,
its `config` and hooks included, so every run gets an environment of its own in which hooks, helpers
and all protocols are off, and a run that may reach a remote (`access`) is only ever given a git
directory that was made for this run; see `kingdom.general.checkouts.clone`. The credential goes to
git by a pipe, which a helper for one host reads, and by nothing else: no file, no URL, no argument,
no environment, which others of this user could read, and no message.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from fcntl import F_DUPFD_CLOEXEC, fcntl

from kingdom.clients import programs
from kingdom.clients.git_faults import (
    GitFailed,
    GitMissing,
    GitTooMuch,
    GitUnreachable,
    failure_of,
)
from kingdom.clients.programs import Said
from kingdom.errors import KingdomError
from kingdom.runtime.secrets import Masker

GIT = "git"
_TOKEN = "token"
_LEAST_DESCRIPTOR = 20
_ASKED_AT_MOST = 32  # times in one run: by git, by what it starts, and by git-lfs
OLDEST = (2, 32)  # which knows GIT_CONFIG_GLOBAL and GIT_CONFIG_COUNT
NAME, EMAIL = "kingdom", "kingdom@localhost"

# Nothing is heard from a remote for so long: git gives up by itself.
_SILENCE_SECONDS = 60

_PASSED = ("PATH", "HOME", "USER", "LOGNAME", "TMPDIR")
_PASSED_TO_REACH = (
    "SSH_AUTH_SOCK", "http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY",
    "no_proxy", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH",
    "XDG_CONFIG_HOME", "DBUS_SESSION_BUS_ADDRESS",
)  # fmt: skip
_ALWAYS = {
    "LC_ALL": "C",  # its complaints are read
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_SYSTEM": os.devnull,
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_EDITOR": "false",
    "GIT_PAGER": "cat",
    "GIT_DEFAULT_REF_FORMAT": "files",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_AUTHOR_NAME": NAME,
    "GIT_AUTHOR_EMAIL": EMAIL,
    "GIT_COMMITTER_NAME": NAME,
    "GIT_COMMITTER_EMAIL": EMAIL,
}
_NO_HELPER, _NO_PROMPT = ("credential.helper", ""), ("core.askPass", "")
# Said on the command's own level, which no file of a repository can outdo.
_CONFIG = (
    ("core.hooksPath", os.devnull),
    ("core.fsmonitor", "false"),
    ("core.excludesFile", os.devnull),
    ("core.attributesFile", os.devnull),
    _NO_PROMPT,
    _NO_HELPER,
    ("protocol.ext.allow", "never"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("submodule.recurse", "false"),
    ("fetch.recurseSubmodules", "false"),
    ("push.recurseSubmodules", "no"),
    ("commit.gpgSign", "false"),
    ("push.gpgSign", "false"),
    ("core.quotePath", "false"),
)
_HELPER = (
    '!f() {{ test "$1" = get || exit 0; read -r token < /dev/fd/{descriptor} || exit 0; '
    'echo username=x-access-token; echo "password=$token"; }}; f'
)
# What keeps the machine's and the user's own settings out, and what of theirs git itself reads.
_OTHERS_SETTINGS = (
    "GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_GLOBAL", "GIT_ATTR_NOSYSTEM",
)  # fmt: skip
_OF_THE_USER_S_GIT = ("GIT_SSH", "GIT_SSH_COMMAND", "GIT_ASKPASS")
_SSH = "ssh -oBatchMode=yes -oConnectTimeout=30 -oServerAliveInterval=15 -oServerAliveCountMax=4"


@dataclass(frozen=True)
class Place:
    """Where git works. Everything is named, so that it never looks for a repository by itself."""

    git_dir: str
    common_dir: str = ""
    work_tree: str = ""
    index: str = ""
    objects: str = ""

    def environment(self) -> dict[str, str]:
        named = {
            "GIT_DIR": self.git_dir,
            "GIT_COMMON_DIR": self.common_dir,
            "GIT_WORK_TREE": self.work_tree,
            "GIT_INDEX_FILE": self.index,
            "GIT_OBJECT_DIRECTORY": self.objects,
        }
        return {name: value for name, value in named.items() if value}


@dataclass(frozen=True)
class Access:
    """Leave to reach a remote: by which protocol, and with what for which host."""

    protocols: tuple[str, ...]
    scope: str = ""  # https://host: where the token may go
    token: str = field(default="", repr=False)
    user_config: bool = False  # the user's own ~/.gitconfig counts, too
    as_user: bool = False  # with all that the user's own git has: environment, logins, programs


class _Lent(threading.local):
    """To the programs that a thread starts."""

    descriptors: tuple[int, ...] = ()


class Git:
    def __init__(
        self,
        environment: Mapping[str, str],
        timeout_seconds: float = 900.0,
        largest_file: int | None = None,
    ) -> None:
        """`largest_file`: bytes that a run may write into one file, if there is a limit."""
        self._environment = environment
        self._timeout = timeout_seconds
        self._largest_file = largest_file
        self._is_new_enough = False
        self._lent = _Lent()

    @contextmanager
    def lending(self, *descriptors: int) -> Iterator[None]:
        """Whatever this thread runs meanwhile holds them open, too: a lock that is taken by one
        lasts until the last git has ended, also when we do not live to see that."""
        before = self._lent.descriptors
        self._lent.descriptors = (*before, *descriptors)
        try:
            yield
        finally:
            self._lent.descriptors = before

    @property
    def patience(self) -> float:
        """Seconds that one run may take."""
        return self._timeout

    def has(self, program: str) -> bool:
        return programs.find(program, self._environment) is not None

    def run(
        self,
        *words: str,
        at: Place | None = None,
        access: Access | None = None,
        stdin: bytes = b"",
        fine: tuple[int, ...] = (0,),
        most_output: int = programs.MOST_OUTPUT,
    ) -> Said:
        """Raises one of `kingdom.clients.git_faults`, unless the exit code is one of `fine`."""
        self._check_version()
        token = access.token if access is not None and access.scope else ""
        late = GitFailed if access is None else GitUnreachable
        with _piped(token) as descriptor, self.lending(*descriptor):
            told = self._told(at, access, *descriptor)
            said = self._execute(words, told, late, stdin, most_output)
        if said.code != 0:
            masker = Masker({_TOKEN: token}, (_TOKEN,))
            said = replace(said, complaint=masker.text(said.complaint))
        if said.code not in fine:
            verb = next(one for one in words if not one.startswith("-") and "=" not in one)
            raise failure_of(verb, said.complaint, access is not None)
        return said

    def version(self) -> tuple[int, ...]:
        said = self._execute(("version",), self._told(None, None), GitFailed)
        found = re.search(r"\d+(?:\.\d+)+", said.text)
        return tuple(map(int, found[0].split("."))) if found else ()

    def _check_version(self) -> None:
        """An older one would pass over what makes a run safe, without a word."""
        if self._is_new_enough:
            return
        version = self.version()
        if version < OLDEST:
            shown, needed = (".".join(map(str, one)) for one in (version, OLDEST))
            raise GitMissing(
                f"git is too old: {shown or 'of no known version'}.",
                remedy=f"Install git {needed} or newer.",
            )
        self._is_new_enough = True

    def _told(
        self, at: Place | None, access: Access | None, descriptor: int = -1
    ) -> dict[str, str]:
        known = self._environment
        told = {name: known[name] for name in _PASSED if name in known} | _ALWAYS
        config = [*_CONFIG]
        if access is None:
            told["GIT_NO_LAZY_FETCH"] = "1"  # the protocols are off anyway, and older ones try
        else:
            told["GIT_ALLOW_PROTOCOL"] = ":".join(access.protocols)
            told["GIT_HTTP_LOW_SPEED_LIMIT"] = "1"
            told["GIT_HTTP_LOW_SPEED_TIME"] = str(_SILENCE_SECONDS)
            if access.as_user:
                _speak_as_user(known, told, config)
            else:
                _speak_for_kingdom(access, known, told, config)
                if descriptor >= 0:
                    helper = _HELPER.format(descriptor=descriptor)
                    config.append((f"credential.{access.scope}.helper", helper))
        if at is not None:
            told |= at.environment()
        told["GIT_CONFIG_COUNT"] = str(len(config))
        for number, (key, value) in enumerate(config):
            told[f"GIT_CONFIG_KEY_{number}"] = key
            told[f"GIT_CONFIG_VALUE_{number}"] = value
        return told

    def _execute(
        self,
        words: tuple[str, ...],
        told: Mapping[str, str],
        late: type[KingdomError],
        stdin: bytes = b"",
        most_output: int = programs.MOST_OUTPUT,
    ) -> Said:
        try:
            return programs.Run(
                (GIT, *words),
                told,
                timeout=self._timeout,
                directory=told.get("GIT_WORK_TREE", "/"),
                largest_file=self._largest_file,
                on_leash=late is GitUnreachable,  # it waits for others as long as they like
                lend=self._lent.descriptors,
                most_output=most_output,
            )(stdin)
        except programs.Missing as error:
            raise GitMissing(f"{error}.", remedy="Install it with: apt-get install git.") from None
        except programs.Late as error:
            raise late(
                f"git {words[0]} {error}.",
                remedy="If the repository is large, raise git.timeout_seconds.",
            ) from None
        except programs.TooMuch as error:
            raise GitTooMuch(f"git {words[0]} {error}.") from None
        except programs.Cut as error:
            raise GitFailed(f"git {words[0]} {error}.") from None


@contextmanager
def _piped(token: str) -> Iterator[tuple[int, ...]]:
    """A descriptor from which the token is read, a line each time; none without a token."""
    if not token:
        yield ()
        return
    read, taken = os.pipe()
    given = fcntl(read, F_DUPFD_CLOEXEC, _LEAST_DESCRIPTOR)  # shells use the first ones themselves
    os.close(read)
    try:
        os.set_blocking(taken, False)  # one that does not fit so often is there less often
        with suppress(BlockingIOError):
            for _ in range(_ASKED_AT_MOST):
                os.write(taken, f"{token}\n".encode())
    finally:
        os.close(taken)
    try:
        yield (given,)
    finally:
        os.close(given)


def _speak_for_kingdom(
    access: Access, known: Mapping[str, str], told: dict[str, str], config: list[tuple[str, str]]
) -> None:
    told.update({name: known[name] for name in _PASSED_TO_REACH if name in known})
    told["GIT_SSH_COMMAND"] = _SSH
    if access.user_config:
        del told["GIT_CONFIG_GLOBAL"]
    if access.user_config and not access.token:
        config.remove(_NO_HELPER)


def _speak_as_user(
    known: Mapping[str, str], told: dict[str, str], config: list[tuple[str, str]]
) -> None:
    """What a git that runs us has set for itself is not meant for this one."""
    for name in _OTHERS_SETTINGS:
        del told[name]
    for name, value in known.items():
        if name in _OF_THE_USER_S_GIT or not name.startswith("GIT_"):
            told.setdefault(name, value)
    config.remove(_NO_HELPER)
    config.remove(_NO_PROMPT)
