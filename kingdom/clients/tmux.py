"""tmux: the sessions that soldiers run in, on a server of this kingdom's own.

Every call gets a clean environment, because the first one starts the server, and what that one was
given all sessions would inherit. The server ends with its last session.

A tmux that hangs hangs whoever asks it: roles ask through `TmuxThread`.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import libtmux
from libtmux.common import tmux_cmd
from libtmux.exc import LibTmuxException

from kingdom.clients.scopes import Scopes
from kingdom.errors import TryLater
from kingdom.limits import limit_in, no_more_processes
from kingdom.runtime.errands import Errands
from kingdom.store.paths import BaseDir

TMUX = "tmux"
_ENV = "/usr/bin/env"
_PASSED = ("PATH", "HOME", "LANG", "TERM", "USER", "SHELL")
# A server that is just ending refuses new sessions.
_ATTEMPTS, _PAUSE = 5, 0.1
_NO_FORK = "Resource temporarily unavailable"
_NO_SERVER = ("no server running", "error connecting", "server exited", "lost server")


class TmuxFailed(TryLater):
    """tmux is missing, or would not do what it was asked."""

    code = "tmux_failed"


def socket_name(base: BaseDir) -> str:
    return base.name_on_host


class _Server(libtmux.Server):
    """libtmux's own, with every command in a clean environment."""

    def __init__(self, base: BaseDir, environment: Mapping[str, str]) -> None:
        super().__init__(socket_name=socket_name(base), config_file=os.devnull)
        kept = {name: environment[name] for name in _PASSED if environment.get(name)}
        kept.setdefault("TERM", "screen")
        self._environment = [f"{name}={value}" for name, value in kept.items()]
        self._path = environment.get("PATH", os.defpath)
        self._scopes = Scopes(environment, f"{base.name_on_host}-soldiers")

    def argv(self, *words: str, lead: Sequence[str] = ()) -> list[str]:
        program = shutil.which(TMUX, path=self._path)
        if program is None:
            raise TmuxFailed(
                "tmux is not installed.", remedy="Install it with: apt-get install tmux."
            )
        given = [f"-L{self.socket_name}", f"-f{self.config_file}"]
        return [_ENV, "-i", *self._environment, *lead, program, *given, *words]

    def cmd(self, cmd: str, *args: Any, target: str | int | None = None) -> tmux_cmd:
        words = ["-t", str(target), *args] if target is not None else list(args)
        return _said(self.argv(cmd, *map(str, words)))

    def start(
        self, name: str, argv: Sequence[str], directory: str, memory_mb: int | None
    ) -> tmux_cmd:
        """The first session starts the server, which must not belong to whoever asked for it."""
        lead = self._scopes.around()
        if lead and self.is_alive():
            lead = []
        within = self._scopes.around(f"{self.socket_name}-{name}", memory_mb)
        words = ("-d", "-E", "-s", name, "-c", directory, "-x", "200", "-y", "50")
        return _said(self.argv("new-session", *words, *within, *argv, lead=lead))


def _said(argv: Sequence[str]) -> tmux_cmd:
    program, *rest = argv
    return tmux_cmd(*rest, tmux_bin=program)


class Tmux:
    """The sessions of one kingdom. Every method waits for tmux."""

    def __init__(self, base: BaseDir, environment: Mapping[str, str]) -> None:
        self._server = _Server(base, environment)

    def start(
        self, name: str, argv: Sequence[str], directory: str, memory_mb: int | None = None
    ) -> None:
        """A new session that runs this program, and nothing else; its memory is limited where
        there is someone to see to it."""
        for left in reversed(range(_ATTEMPTS)):
            said = self._server.start(name, argv, directory, memory_mb)
            if said.returncode == 0:
                return
            if any(_NO_FORK in line for line in said.stderr):
                raise no_more_processes()
            if not left or not _is_gone(said.stderr):
                raise TmuxFailed(
                    f"tmux would not start {name}: {' '.join(said.stderr) or 'it says nothing'}.",
                    remedy="See whether tmux itself works here: tmux new-session.",
                )
            time.sleep(_PAUSE)

    def sessions(self) -> set[str]:
        said = self._server.cmd("list-sessions", "-F", "#{session_name}")
        if said.returncode != 0 and not _is_gone(said.stderr):
            raise TmuxFailed(f"tmux does not list its sessions: {' '.join(said.stderr)}.")
        return set(said.stdout) if said.returncode == 0 else set()

    def end(self, name: str) -> None:
        """No error if there is no such session."""
        self._server.cmd("kill-session", target=f"={name}")

    def end_server(self) -> None:
        """With all its sessions; their programs are told by a hang-up."""
        self._server.cmd("kill-server")

    def attach_argv(self, name: str) -> list[str]:
        """What shows this session on the terminal of the process that becomes it."""
        return self._server.argv("attach-session", "-t", f"={name}")


def _is_gone(said: Sequence[str]) -> bool:
    return any(sentence in line for line in said for sentence in _NO_SERVER)


class TmuxThread:
    """Asks tmux from a thread of its own, so that whoever wants something of it never waits."""

    def __init__(self, tmux: Tmux) -> None:
        self._tmux = tmux
        self._errands = Errands("tmux")
        self.fileno = self._errands.fileno
        self.answers = self._errands.answers
        self.close = self._errands.close

    def ask(self, key: str, act: Callable[[Tmux], Any]) -> None:
        """What fails, fails as `TmuxFailed`."""
        self._errands.ask(key, lambda: _asked(act, self._tmux))


def _asked(act: Callable[[Tmux], Any], tmux: Tmux) -> Any:
    try:
        return act(tmux)
    except (LibTmuxException, OSError) as error:
        raise limit_in(error, starting=True) or TmuxFailed(
            f"tmux could not be asked: {error}."
        ) from error
