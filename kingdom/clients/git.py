"""git: the only code that runs it.

What a repository's own files say is never believed. Soldiers can write to the clone they work in,
its `config` and hooks included, so every run gets an environment of its own in which hooks, helpers
and all protocols are off, and a run that may reach a remote (`access`) is only ever given a git
directory that was made for this run; see `kingdom.general.checkouts.clones`. The credential goes to
git in its environment, scoped to one host, and to nothing else: no file, no URL, no argument, no
message.
"""

from __future__ import annotations

import os
import re
import selectors
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import IO

from kingdom.clients.leash import descriptor, leashed
from kingdom.clock import SystemClock
from kingdom.errors import KingdomError, NeverWorks, TryLater
from kingdom.runtime.secrets import Masker

_CLOCK = SystemClock()
GIT = "git"
TOKEN_VARIABLE = "KINGDOM_GIT_TOKEN"
OLDEST = (2, 32)  # which knows GIT_CONFIG_GLOBAL and GIT_CONFIG_COUNT
NAME, EMAIL = "kingdom", "kingdom@localhost"

_MB = 1024 * 1024
_OUTPUT_LIMIT = 256 * _MB
_COMPLAINT_LIMIT = 16 * 1024
_CHUNK = 65536
# Nothing is heard from a remote for so long: git gives up by itself.
_SILENCE_SECONDS = 60

_PASSED = ("PATH", "HOME", "USER", "LOGNAME", "TMPDIR")
_PASSED_TO_REACH = (
    "SSH_AUTH_SOCK", "http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY",
    "no_proxy", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH",
    "XDG_CONFIG_HOME", "DBUS_SESSION_BUS_ADDRESS",
)  # fmt: skip
_ALWAYS = {
    "LC_ALL": "C",  # its messages are read below
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
# Said on the command's own level, which no file of a repository can outdo.
_CONFIG = (
    ("core.hooksPath", os.devnull),
    ("core.fsmonitor", "false"),
    ("core.excludesFile", os.devnull),
    ("core.attributesFile", os.devnull),
    ("core.askPass", ""),
    ("credential.helper", ""),
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
    '!f() { test "$1" = get || exit 0; echo username=x-access-token; '
    f'echo "password=${TOKEN_VARIABLE}"; }}; f'
)
_SSH = "ssh -oBatchMode=yes -oConnectTimeout=30 -oServerAliveInterval=15 -oServerAliveCountMax=4"


class GitFailed(TryLater):
    """git would not do what it was asked, and does not say anything that is known here."""

    code = "git_failed"


class GitMissing(TryLater):
    """There is no git."""

    code = "git_missing"


class GitUnreachable(TryLater):
    """The remote does not answer, answers with an error of its own, or takes too long."""

    code = "git_unreachable"


class GitBusy(TryLater):
    """Another git holds a lock."""

    code = "git_busy"


class DiskRefused(TryLater):
    """The disk is full, or not writable."""

    code = "workspace_failed"


class CloneBroken(TryLater):
    """What git keeps on disk cannot be read."""

    code = "clone_broken"


class GitRefused(NeverWorks):
    """The remote does not accept who we are, or we have nothing to say who we are."""

    code = "git_refused"


class RepositoryMissing(NeverWorks):
    """There is no such repository, or it is hidden from us."""

    code = "repository_missing"


class RefMissing(NeverWorks):
    """The repository has no such branch, pull request or commit."""

    code = "ref_missing"


class PushRejected(NeverWorks):
    """The remote has something that this push would overwrite, or does not allow it."""

    code = "push_rejected"


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


@dataclass(frozen=True)
class Said:
    code: int
    out: bytes
    complaint: str

    @property
    def text(self) -> str:
        return self.out.decode("utf-8", "surrogateescape").strip()


class Git:
    def __init__(self, environment: Mapping[str, str], timeout_seconds: float = 900.0) -> None:
        self._environment = environment
        self._timeout = timeout_seconds
        self._is_new_enough = False

    @property
    def patience(self) -> float:
        """Seconds that one run may take."""
        return self._timeout

    def has(self, program: str) -> bool:
        return shutil.which(program, path=self._environment.get("PATH", os.defpath)) is not None

    def run(
        self,
        *words: str,
        at: Place | None = None,
        access: Access | None = None,
        stdin: bytes = b"",
        fine: tuple[int, ...] = (0,),
    ) -> Said:
        """Raises one of the errors above, unless the exit code is one of `fine`."""
        self._check_version()
        told = self._told(at, access)
        late = GitFailed if access is None else GitUnreachable
        said = self._execute((GIT, *words), told, late)(stdin)
        if said.code != 0:
            masker = Masker(told, (TOKEN_VARIABLE,))
            said = replace(said, complaint=masker.text(said.complaint))
        if said.code not in fine:
            raise failure_of(words[0], said.complaint, access is not None)
        return said

    def version(self) -> tuple[int, ...]:
        said = self._execute((GIT, "version"), self._told(None, None), GitFailed)(b"")
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

    def token_of_gh(self, host: str) -> str:
        """What `gh` would use for this host; empty if there is no gh, or it has nothing."""
        if not self.has("gh"):
            return ""
        passed = {*_PASSED, *_PASSED_TO_REACH}
        told = {name: value for name, value in self._environment.items() if name in passed}
        try:
            words = ("gh", "auth", "token", "--hostname", host)
            said = self._execute(words, told, GitFailed)(b"")
        except KingdomError:
            return ""
        return said.text if said.code == 0 else ""

    def _told(self, at: Place | None, access: Access | None) -> dict[str, str]:
        known = self._environment
        told = {name: known[name] for name in _PASSED if name in known} | _ALWAYS
        config = [*_CONFIG]
        if access is None:
            told["GIT_NO_LAZY_FETCH"] = "1"  # the protocols are off anyway, and older ones try
        else:
            told |= {name: known[name] for name in _PASSED_TO_REACH if name in known}
            told["GIT_ALLOW_PROTOCOL"] = ":".join(access.protocols)
            told["GIT_SSH_COMMAND"] = _SSH
            told["GIT_HTTP_LOW_SPEED_LIMIT"] = "1"
            told["GIT_HTTP_LOW_SPEED_TIME"] = str(_SILENCE_SECONDS)
            config += _credential(access)
            if access.user_config:
                del told["GIT_CONFIG_GLOBAL"]
            if access.token:
                told[TOKEN_VARIABLE] = access.token
            elif access.user_config:
                config.remove(("credential.helper", ""))
        if at is not None:
            told |= at.environment()
        told["GIT_CONFIG_COUNT"] = str(len(config))
        for number, (key, value) in enumerate(config):
            told[f"GIT_CONFIG_KEY_{number}"] = key
            told[f"GIT_CONFIG_VALUE_{number}"] = value
        return told

    def _execute(
        self, argv: Sequence[str], environment: Mapping[str, str], late: type[KingdomError]
    ) -> _Run:
        program = shutil.which(argv[0], path=environment.get("PATH", os.defpath))
        if program is None:
            raise GitMissing(
                f"{argv[0]} is not installed.", remedy="Install it with: apt-get install git."
            )
        return _Run([program, *argv[1:]], environment, self._timeout, late)


def _credential(access: Access) -> list[tuple[str, str]]:
    if not access.token or not access.scope:
        return []
    return [(f"credential.{access.scope}.helper", _HELPER)]


class _Run:
    """One process: fed, heard and, when its time is over, ended with all it started."""

    def __init__(
        self,
        argv: Sequence[str],
        environment: Mapping[str, str],
        timeout: float,
        late: type[KingdomError],
    ) -> None:
        self._verb = " ".join(argv[1:2])
        self._late = late
        self._timeout = timeout
        self._out = bytearray()
        self._complaint = bytearray()
        waits_for_others = late is GitUnreachable  # for as long as they like
        try:
            self._process = subprocess.Popen(
                leashed(argv) if waits_for_others else argv,
                env=environment,
                cwd=environment.get("GIT_WORK_TREE", "/"),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
                pass_fds=(descriptor(),) if waits_for_others else (),
                bufsize=0,
            )
        except OSError as error:
            raise GitFailed(f"git could not be started: {error.strerror}.") from None

    def __call__(self, stdin: bytes) -> Said:
        with self._process:
            try:
                self._converse(stdin)
                code = self._process.wait()
            except BaseException:
                self._end()
                raise
        return Said(code, bytes(self._out), self._complaint.decode("utf-8", "replace"))

    def _converse(self, stdin: bytes) -> None:
        process, left = self._process, memoryview(stdin)
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        deadline = _CLOCK.monotonic() + self._timeout
        os.set_blocking(process.stdin.fileno(), False)
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdin, selectors.EVENT_WRITE)
            selector.register(process.stdout, selectors.EVENT_READ)
            selector.register(process.stderr, selectors.EVENT_READ)
            while selector.get_map():
                for key, _ in self._ready(selector, deadline):
                    if key.fileobj is process.stdin:
                        left = self._feed(process.stdin, left)
                        goes_on = bool(left)
                    else:
                        goes_on = self._hear(key.fd, key.fileobj is process.stdout)
                    if not goes_on:
                        selector.unregister(key.fileobj)
                    if not left:
                        process.stdin.close()

    def _ready(
        self, selector: selectors.BaseSelector, deadline: float
    ) -> list[tuple[selectors.SelectorKey, int]]:
        ready = selector.select(max(deadline - _CLOCK.monotonic(), 0.0))
        if not ready and _CLOCK.monotonic() >= deadline:
            raise self._late(
                f"git {self._verb} took longer than {self._timeout:g} seconds.",
                remedy="If the repository is large, raise git.timeout_seconds.",
            )
        return ready

    def _feed(self, pipe: IO[bytes], left: memoryview) -> memoryview:
        try:
            left = left[os.write(pipe.fileno(), left[:_CHUNK]) if left else 0 :]
        except BlockingIOError:
            return left
        except BrokenPipeError:  # it wants no more; its exit code says why
            left = left[:0]
        return left

    def _hear(self, descriptor: int, is_output: bool) -> bool:
        data = os.read(descriptor, _CHUNK)
        if not is_output:
            self._complaint += data
            del self._complaint[: max(len(self._complaint) - _COMPLAINT_LIMIT, 0)]
            return bool(data)
        self._out += data
        if len(self._out) > _OUTPUT_LIMIT:
            raise GitFailed(f"git {self._verb} says more than {_OUTPUT_LIMIT // _MB} MB.")
        return bool(data)

    def _end(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


_Known = tuple[str, type[KingdomError], str]
# The first that is found in what git says decides; what the remote itself says does not count.
_ANYWHERE: tuple[_Known, ...] = (
    (
        r"No space left on device|Disk quota exceeded|Read-only file system|Input/output error"
        r"|unable to write|insufficient permission for adding an object",
        DiskRefused,
        "See whether the disk is full: df -h.",
    ),
    (
        r"\.lock': File exists|Another git process seems|cannot lock ref|unable to lock",
        GitBusy,
        "It is tried again.",
    ),
)
_OF_REMOTES: tuple[_Known, ...] = (
    (
        r"Authentication failed|could not read (?:Username|Password)|terminal prompts disabled"
        r"|Permission denied \(|Host key verification failed|returned error: 40[13]\b"
        r"|HTTP 40[13] |(?:^|: )access denied",
        GitRefused,
        "Give the general a token in GH_TOKEN, log in with: gh auth login, or use an SSH agent.",
    ),
    (
        r"repository '.*' not found|does not appear to be a git repository|does not exist"
        r"|Repository not found|returned error: 404\b",
        RepositoryMissing,
        "See whether its name is right, and whether the general's account may see it.",
    ),
    (
        r"couldn't find remote ref|not our ref|unadvertised object|no such remote ref",
        RefMissing,
        "It may have been deleted or renamed meanwhile.",
    ),
    (
        r"unable to access|Could not resolve|Failed to connect|Connection (?:refused|reset|timed)"
        r"|timed out|early EOF|hung up unexpectedly|unexpected disconnect|RPC failed|too slow"
        r"|returned error: (?:429|5\d\d)|Could not read from remote|Network is unreachable"
        r"|[Ee]xpected flush|invalid index-pack output|fetch-pack: (?:invalid|unexpected)",
        GitUnreachable,
        "It is tried again; see whether the git host can be reached from here.",
    ),
)
_OF_CLONES: tuple[_Known, ...] = (
    (
        r"not a git repository|bad config|bad object|bad tree|bad signature|index file smaller"
        r"|corrupt|unable to read (?:tree|sha1|[0-9a-f]{40})|object file .* is empty|inflate"
        r"|[Mm]issing (?:blob|tree|commit)|could not parse|failed to (?:read|parse) object"
        r"|packfile .* (?:cannot|is far|does not|claims)|did not send all necessary objects"
        r"|unknown repository extension|Failed to (?:traverse|resolve) |failed to unpack tree"
        r"|unable to (?:open|map|get size of) .*(?:objects|pack)|index-pack failed",
        CloneBroken,
        "It is made anew.",
    ),
)


def failure_of(verb: str, complaint: str, reached_out: bool) -> KingdomError:
    """What git's complaint means for whoever asked."""
    lines = [line.strip() for line in re.split(r"[\r\n]+", complaint) if line.strip()]
    own = "\n".join(line for line in lines if not line.startswith("remote:"))
    known = _ANYWHERE + (_OF_REMOTES if reached_out else ()) + _OF_CLONES
    for pattern, kind, remedy in known:
        if re.search(pattern, own):
            return kind(_sentence(verb, lines, pattern), remedy=remedy)
    return GitFailed(_sentence(verb, lines, "fatal:|error:"), remedy="See logs/system.log.")


def _sentence(verb: str, lines: Sequence[str], pattern: str) -> str:
    """The line that says it, and what the remote says about it."""
    telling = [line for line in lines if re.search(pattern, line)] or list(lines[-1:])
    remote = [line for line in lines if line.startswith("remote:") and len(line) > 8][-2:]
    said = "; ".join(dict.fromkeys([*remote, *telling[:1]])) or "it does not say why"
    return f"git {verb} failed: {said[:500].rstrip('.')}."
