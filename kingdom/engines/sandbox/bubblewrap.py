"""bubblewrap: whether it works on this machine, and a program started in it.

Only the standard library, since the wrapper of every soldier imports this.
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import resource
import shutil
import signal
import socket
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

PROGRAM = "bwrap"
STOPPED = ".stopped"  # beside a spec: which limit refused a call of the model
PORT = "{proxy_port}"  # stands in a command or its environment for where the proxy listens
_TRIAL = (
    *("--unshare-all", "--die-with-parent", "--ro-bind", "/", "/", "--dev", "/dev"),
    *("/bin/sh", "-c", ":"),
)
_TRIAL_SECONDS = 10
_NS_GET_USERNS = 0xB701
_CLONE_NEWUSER, _CLONE_NEWNET = 0x10000000, 0x40000000
_IP_FREEBIND = 15
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE = 1, 4
INSIDE_PORT = 8118  # of a network of its own, so it is always free
_INSTALL = "Install it with: apt-get install bubblewrap (or this system's own package manager)."
_ALLOW = (
    "Allow user namespaces (sysctl -w user.max_user_namespaces=10000 and, where there is one, "
    "kernel.apparmor_restrict_unprivileged_userns=0), then: kingdom doctor"
)


@dataclass(frozen=True)
class Found:
    """Whether soldiers can be put into a sandbox here; if not, why, and what helps."""

    path: str = ""
    version: tuple[int, ...] = ()
    reason: str = ""
    remedy: str = ""

    @property
    def works(self) -> bool:
        return not self.reason


def probe(environment: Mapping[str, str]) -> Found:
    """Tries it: that it is installed does not mean that the kernel allows it."""
    import subprocess  # not in wrappers

    path = shutil.which(PROGRAM, path=environment.get("PATH", os.defpath))
    if path is None:
        return Found(reason="bubblewrap is not installed.", remedy=_INSTALL)

    def run(*words: str) -> subprocess.CompletedProcess[bytes]:
        argv, quiet = [path, *words], subprocess.DEVNULL
        return subprocess.run(
            argv, stdin=quiet, capture_output=True, timeout=_TRIAL_SECONDS, check=False
        )

    try:
        tried = run(*_TRIAL)
        said = tried.stderr.decode("utf-8", "replace").strip().splitlines()
        version = run("--version").stdout
    except (OSError, subprocess.SubprocessError) as error:
        return Found(path, reason=f"bubblewrap cannot be started: {error}.", remedy=_INSTALL)
    if tried.returncode:
        why = said[-1].removeprefix("bwrap: ").rstrip(".") if said else "it does not say why"
        return Found(path, reason=f"bubblewrap is refused by this machine: {why}.", remedy=_ALLOW)
    return Found(path, _numbers(version))


def _numbers(said: bytes) -> tuple[int, ...]:
    words = said.decode("ascii", "replace").split()
    parts = words[-1].split(".") if words else []
    return tuple(int(part) for part in parts if part.isdecimal())


# In the wrapper


class Box:
    """One run of bubblewrap, between its start and the moment its program may begin.

    bubblewrap waits on `gate` before it runs the command, so that limits and the proxy are there
    first. It tells in `news` which process is the first inside.
    """

    def __init__(self, program: str, arguments: Sequence[str]) -> None:
        self._argv = [program, *arguments]
        self._news, self._told = os.pipe()
        self._waits, self._gate = os.pipe()
        self.pids: tuple[int, ...] = ()  # bubblewrap's own processes

    def argv(self, directory: str, command: Sequence[str]) -> list[str]:
        descriptors = ["--info-fd", str(self._told), "--block-fd", str(self._waits)]
        return [*self._argv, *descriptors, "--chdir", directory, "--", *command]

    def inherit(self) -> None:
        """In the child that becomes bubblewrap."""
        for descriptor in (self._told, self._waits):
            os.set_inheritable(descriptor, True)

    def opened(self, pid: int) -> int | None:
        """The first process inside; None if bubblewrap ended before there was one. `pid` is that
        of bubblewrap itself."""
        os.close(self._told)
        os.close(self._waits)
        said = b""
        while part := os.read(self._news, 4096):
            said += part
            if said.rstrip().endswith(b"}"):
                break
        os.close(self._news)
        inside = json.loads(said)["child-pid"] if said else None
        self.pids = (pid, inside) if inside else (pid,)
        return inside

    def begin(self) -> None:
        """The command may run."""
        with suppress(OSError):  # it has ended already
            os.write(self._gate, b"1")
        os.close(self._gate)


def limit(pid: int, limits: Mapping[str, int]) -> None:
    """For a process and all it will start. A limit that is lower already stays."""
    for name, value in limits.items():
        number = getattr(resource, name)
        with suppress(OSError, ValueError):
            _, hard = resource.prlimit(pid, number)
            least = value if hard == resource.RLIM_INFINITY else min(value, hard)
            resource.prlimit(pid, number, (least, least))


def listener_for(pid: int | None) -> socket.socket:
    """Listens on the loopback of the network that this process is in; None: of our own.

    A socket stays in the network it was made in, whoever accepts connections on it. So nothing of
    ours has to run inside, and the only way out is what we do with the connection.
    """
    if pid is None:
        return _listening(0)
    ours, theirs = socket.socketpair()
    child = os.fork()
    if child == 0:
        _send_listener(theirs, pid)
    theirs.close()
    with ours:
        said, descriptors, _, _ = socket.recv_fds(ours, 512, 1)
    os.waitpid(child, 0)
    if not descriptors:
        raise OSError(said.decode("utf-8", "replace") or "the sandbox has no network of its own")
    return socket.socket(fileno=descriptors[0])


def _send_listener(to: socket.socket, pid: int) -> None:
    """In a child, which does nothing else: it cannot come back from that network."""
    try:
        _enter_network(pid)
        listener = _listening(INSIDE_PORT)
        socket.send_fds(to, [b"1"], [listener.fileno()])
    except OSError as error:
        to.sendall(str(error).encode()[:512])
    finally:
        os._exit(0)


def _enter_network(pid: int) -> None:
    with open(f"/proc/{pid}/ns/net", "rb") as network:
        owner = fcntl.ioctl(network, _NS_GET_USERNS)
        if not _same(owner, "/proc/self/ns/user"):
            _set_namespace(owner, _CLONE_NEWUSER)
        _set_namespace(network.fileno(), _CLONE_NEWNET)


def _same(descriptor: int, path: str) -> bool:
    return os.path.samestat(os.fstat(descriptor), os.stat(path))


def _set_namespace(descriptor: int, kind: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.setns(descriptor, kind) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _listening(port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
    listener.setsockopt(socket.IPPROTO_IP, _IP_FREEBIND, 1)  # its loopback may not be up yet
    listener.bind(("127.0.0.1", port))
    listener.listen(64)
    return listener


def die_with(parent: int) -> None:
    """This process ends when its parent does, which may have happened already."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(0)


def keep_memory_private() -> None:
    """No other process of this user reads our memory or environment: keys are in it."""
    ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def with_port(words: Sequence[str], port: int) -> list[str]:
    return [word.replace(PORT, str(port)) for word in words]
