"""What a soldier sees of the disk, as arguments of bubblewrap.

Inside lie the system's programs (read-only), a small `/etc`, and what its general names. Everything
else of the owner's is absent: neither hidden nor forbidden, but not there. A path is the same
inside as outside.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from glob import glob

_SYSTEM = "/usr"
_LINKED = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")  # into /usr, or their own
# What programs need to find users, hosts, libraries, time zones and certificates. No file that
# holds a secret, also when the owner is root.
_ETC = (
    *("passwd", "group", "nsswitch.conf", "hosts", "host.conf", "protocols", "services"),
    *("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives", "localtime", "timezone"),
    *("os-release", "debian_version", "lsb-release", "mime.types", "magic", "locale.alias"),
    *("ssl/certs", "ssl/openssl.cnf", "ca-certificates", "ca-certificates.conf"),
    *("pki/tls/certs", "pki/ca-trust/extracted", "crypto-policies", "fonts", "perl"),
    *("java-*-openjdk", "maven", "gradle", "bash.bashrc", "inputrc", "shells"),
)
_RESOLVER = "resolv.conf"
_LARGEST_TEMPORARY = 4 * 1024**3  # bytes in /tmp, and in the home: they lie in memory
_DEEPEST_LINK = 16
_SCRIPT_HEAD = 256


@dataclass(frozen=True)
class Bind:
    """One path of the owner's that the soldier has."""

    path: str
    writable: bool = False
    source: str = ""  # where it lies outside, if that is elsewhere


def arguments(
    home: str, binds: Iterable[Bind], *, network: bool, version: tuple[int, ...] = (0, 8)
) -> list[str]:
    """All that bubblewrap is told, but for the command itself. `network`: that of the host."""
    words = ["--unshare-all", *(["--share-net"] if network else [])]
    words += ["--die-with-parent", "--new-session", "--hostname", "kingdom"]
    words += [*_system(), *_etc(network), "--proc", "/proc", "--dev", "/dev"]
    words += [*_temporary("/tmp", version), *_temporary("/var/tmp", version)]
    words += _temporary(home, version) if _may_be_covered(home) else []
    for bind in sorted(binds, key=lambda one: one.path.count(os.sep)):  # what contains others first
        source = bind.source or bind.path
        if os.path.lexists(source):
            words += ["--bind" if bind.writable else "--ro-bind", source, bind.path]
    return words


def _system() -> Iterator[str]:
    yield from ("--ro-bind", _SYSTEM, _SYSTEM)
    for path in _LINKED:
        if os.path.islink(path):
            yield from ("--symlink", os.readlink(path), path)
        elif os.path.isdir(path):
            yield from ("--ro-bind", path, path)


def _etc(network: bool) -> Iterator[str]:
    for name in (*_ETC, *([_RESOLVER] if network else [])):
        for path in sorted(glob(f"/etc/{name}")):
            yield from ("--ro-bind", os.path.realpath(path), path)


def _temporary(path: str, version: tuple[int, ...]) -> list[str]:
    size = ["--size", str(_LARGEST_TEMPORARY)] if version >= (0, 7) else []
    return [*size, "--tmpfs", path]


def _may_be_covered(home: str) -> bool:
    """A home such as `/` or `/usr` (of accounts without one) would hide what is needed."""
    return os.path.isabs(home) and home != "/" and not is_visible(home)


def is_visible(path: str) -> bool:
    """Whether every soldier sees it anyway."""
    return any(path == top or path.startswith(top + os.sep) for top in (_SYSTEM, *_LINKED))


# Programs


def of_program(argv: Sequence[str], search_path: str, home: str) -> list[Bind]:
    """What it takes to run this command: each file on the way to it, its interpreter, and its
    package. Arguments that name files are its own, too."""
    found = dict.fromkeys(_of_executable(argv[0], search_path, home))
    for word in argv[1:]:
        if os.path.isabs(word) and os.path.lexists(word) and not _is_too_much(word, home):
            found.update(dict.fromkeys(_hops(word)))
    return [Bind(path, source=os.path.realpath(path)) for path in found if not is_visible(path)]


def _of_executable(name: str, search_path: str, home: str, depth: int = 0) -> Iterator[str]:
    path = shutil.which(name, path=search_path)
    if path is None or depth > 2:
        return
    for hop in _hops(path):
        yield hop
        yield from _package(hop, home)
    interpreter = _interpreter(path)
    if interpreter:
        yield from _of_executable(interpreter, search_path, home, depth + 1)


def _hops(path: str) -> Iterator[str]:
    """The path itself, and each place that a chain of links leads through."""
    for _ in range(_DEEPEST_LINK):
        yield path
        if not os.path.islink(path):
            break
        path = os.path.normpath(os.path.join(os.path.dirname(path), os.readlink(path)))
    yield os.path.realpath(path)


def _package(path: str, home: str) -> Iterator[str]:
    """What lies beside a program and belongs to it: packages of Node, libraries of a prefix."""
    before, inside, _ = path.partition("/node_modules/")
    if inside:
        yield f"{before}/node_modules"
    prefix, place = os.path.split(os.path.dirname(path))
    if place != "bin" or is_visible(path) or _is_too_much(prefix, home):
        return
    for name in ("bin", "lib", "lib64", "pyvenv.cfg"):
        if os.path.lexists(os.path.join(prefix, name)):
            yield os.path.join(prefix, name)


def _is_too_much(path: str, home: str) -> bool:
    """The home, and whatever contains it, is never shown as a whole."""
    return f"{os.path.realpath(home)}/".startswith(os.path.realpath(path).rstrip("/") + "/")


def _interpreter(path: str) -> str:
    """The program that a script's first line names; none for one that is no script."""
    try:
        with open(path, "rb") as file:
            head = file.read(_SCRIPT_HEAD)
    except OSError:
        return ""
    if not head.startswith(b"#!"):
        return ""
    words = os.fsdecode(head[2:].split(b"\n", 1)[0]).split()
    if words and os.path.basename(words[0]) == "env":
        words = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
    return words[0] if words else ""


def expanded(paths: Iterable[str], environment: Mapping[str, str]) -> list[str]:
    """As a manifest writes them: `~` is the owner's home. Those that are missing are left out."""
    home = environment.get("HOME", "")
    full = (home + path[1:] if path == "~" or path.startswith("~/") else path for path in paths)
    return [os.path.normpath(path) for path in full if os.path.isabs(path)]
