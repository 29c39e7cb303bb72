"""A kingdom that has lived, one damaged path at a time, and what must hold all the same."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import stat
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryFile

from kingdom.errors import EXIT_USAGE
from kingdom.ops.init import init
from kingdom.store.paths import BaseDir
from tests.support.cli import NOBODY, Said, environment, run_main, undisturbed
from tests.support.ordinary_user import step_down
from tests.support.waiting import eventually

LONGEST = 40.0  # seconds for a command: none may hang
GENERALS = ("gen-pr", "gen-briefing")
# Where files grow in number with the work: doctor and fsck name them, status does not look.
MANY = ("queue/", "logs/sessions/", "state/results/", "state/prompts/", "state/sentinel/seen/")
_ID = re.compile(r"\d+|[0-9a-f]{12,}")


# What can become of a path


def _unreadable(path: str) -> None:
    os.chmod(path, 0)


def _unwritable(path: str) -> None:
    os.chmod(path, 0o555 if os.path.isdir(path) else 0o444)


def _closed(path: str) -> None:
    """A file that may not be written, in a directory in which nothing may be made."""
    os.chmod(path, 0o444)
    os.chmod(os.path.dirname(path), 0o555)


def _foreign(path: str) -> None:
    os.chown(path, NOBODY, NOBODY)
    os.chmod(path, 0o700 if os.path.isdir(path) else 0o600)


def _gone(path: str) -> None:
    if os.path.isdir(path):
        shutil.rmtree(path)
    else:
        os.unlink(path)


def _directory(path: str) -> None:
    os.unlink(path)
    os.mkdir(path)
    Path(path, "inside").write_text("of someone's")


def _empty(path: str) -> None:
    os.truncate(path, 0)


def _half(path: str) -> None:
    os.truncate(path, os.path.getsize(path) // 2)


def _noise(path: str) -> None:
    Path(path).write_bytes(random.Random(7).randbytes(700))


def _link(path: str) -> None:
    _gone(path)
    os.symlink("/nowhere/at/all", path)


def _fifo(path: str) -> None:
    _gone(path)
    os.mkfifo(path)


def _file(path: str) -> None:
    shutil.rmtree(path)
    Path(path).write_text("not a directory\n")


OF_FILES: dict[str, Callable[[str], None]] = {
    "unreadable": _unreadable,
    "unwritable": _unwritable,
    "closed": _closed,
    "foreign": _foreign,
    "directory": _directory,
    "empty": _empty,
    "half": _half,
    "noise": _noise,
    "deleted": _gone,
    "link": _link,
    "fifo": _fifo,
}
OF_DIRECTORIES: dict[str, Callable[[str], None]] = {
    "unreadable": _unreadable,
    "unwritable": _unwritable,
    "foreign": _foreign,
    "deleted": _gone,
    "file": _file,
    "link": _link,
}


# A life


def typed(base: BaseDir, *words: str, seconds: float = LONGEST) -> Said:
    """A command as an ordinary user types it; code -1 if it did not come to its end."""
    surroundings = environment()
    with TemporaryFile() as source, TemporaryFile() as out, TemporaryFile() as err:
        descriptors = [file.fileno() for file in (source, out, err)]
        child = os.fork()
        if child == 0:
            try:
                step_down()
                run_main(["--base-dir", base.root, *words], descriptors, "/", surroundings)
            finally:
                os._exit(70)
        code = _end_of(child, seconds)
        said = []
        for file in (out, err):
            file.seek(0)
            said.append(file.read().decode("utf-8", "surrogateescape"))
    return Said(code, *said)


def _end_of(child: int, seconds: float) -> int:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return -1


def made(root: Path) -> BaseDir:
    """It has had events, a question, dead letters, a schedule, memory and a backup."""
    base = BaseDir(root)
    root.mkdir()
    init(base)
    for package in Path(base.path("config", "generals")).iterdir():
        if package.name not in GENERALS:
            shutil.rmtree(package)
    local = Path(base.path("config", "local"))
    local.joinpath("system.yaml").write_text("runtime: {engine: rehearsal}\n")
    undisturbed(base.root)
    assert typed(base, "start").code == 0
    for name, part in (("1", {}), ("2", {"do": "ask"}), ("3", {"do": "fail"})):
        send(base, name, part)
    Path(base.path("queue", "events", "pending", "broken.json")).write_text("{")
    Path(base.path("queue", "inbox", "evt-in.json")).write_text(
        json.dumps({"id": "evt-in", "type": "test.inbox", "source": "x"})
    )
    eventually(lambda: is_done(base, "evt-1"))
    eventually(lambda: len(os.listdir(base.path("queue", "events", "dead"))) >= 2)
    eventually(lambda: json.loads(typed(base, "status", "--json").out)["questions"])
    for name in ("shared", "generals/gen-pr"):
        os.makedirs(base.path("memory", name), exist_ok=True)
        Path(base.path("memory", name, "notes.md")).write_text("# Notes\n\nBe brief.\n")
    assert typed(base, "backup", base.path("kept.tar.gz")).code in (0, 2)
    assert typed(base, "stop").code == 0
    return base


def send(base: BaseDir, name: str, part: dict[str, str] | None = None) -> Said:
    payload = json.dumps({"number": 1, **({"rehearsal": part} if part else {})})
    kind = "github.pr.review_requested"
    return typed(base, "send", kind, "--id", f"evt-{name}", "--payload", payload)


def is_done(base: BaseDir, event: str) -> bool:
    return os.path.lexists(base.path("queue", "events", "completed", f"{event}.json"))


def kind_of(path: str) -> str:
    """Paths of one kind are written and read by the same code."""
    shown = re.sub(r"gen-(pr|briefing)", "gen-X", path)
    return _ID.sub("#", shown)


def paths_in(base: BaseDir) -> Iterator[str]:
    """Relative ones, directories with a slash; the workspaces of soldiers are their own."""
    for directory, directories, names in os.walk(base.root):
        if directory == base.workspace:
            directories.clear()
        for name in sorted(names):
            yield os.path.relpath(os.path.join(directory, name), base.root)
        for name in sorted(directories):
            yield os.path.relpath(os.path.join(directory, name), base.root) + "/"


def representatives(base: BaseDir) -> dict[str, str]:
    found: dict[str, str] = {}
    for path in paths_in(base):
        found.setdefault(kind_of(path), path)
    return found


# A trial


Damages = Mapping[str, str]  # what becomes of each path


class Trial:
    """One kingdom, damaged before it starts or while it runs; `faults` says what did not hold."""

    def __init__(self, base: BaseDir, damages: Damages, *, running: bool) -> None:
        self.base = base
        self.damages = damages
        self.running = running
        # Much may need what lies in a directory; it is named, and everything can be stopped.
        self.is_of_directory = any(p.endswith("/") or d == "closed" for p, d in damages.items())
        self.faults: list[str] = []

    def run(self) -> list[str]:
        try:
            if self.running:
                self._start()
            self._damage()
            if not self.running:
                self._start()
            if self.started.code == EXIT_USAGE and not self.is_of_directory:
                self._is_refused()
            elif not self.is_of_directory:
                self._event()
                self._roles()
            self._looks()
        finally:
            self._stop()
        return self.faults

    def _damage(self) -> None:
        for path, damage in self.damages.items():
            whole = self.base.path(path.rstrip("/"))
            if os.path.lexists(whole):  # else it has moved on by itself
                (OF_DIRECTORIES if path.endswith("/") else OF_FILES)[damage](whole)

    def _type(self, *words: str, codes: Sequence[int] = (0,)) -> Said:
        said = typed(self.base, *words)
        told = said.out + said.err
        if said.code == -1:
            self.faults.append(f"{words[0]} hung")
        elif "Traceback" in told or "is a bug in kingdom" in told or said.code not in codes:
            self.faults.append(f"{words[0]} exited with {said.code}: {told.strip()[-300:]}")
        return said

    def _start(self) -> None:
        codes = (0, EXIT_USAGE) if all(map(_is_setting, self.damages)) else (0,)
        codes = (0, 1, EXIT_USAGE) if self.is_of_directory else codes
        self.started = self._type("start", codes=codes)

    def _is_refused(self) -> None:
        """Settings that cannot be read are not guessed: a start names them, and so does status."""
        for said in (self.started.err, self._type("status").out):
            self.faults += [
                f"not named: {said}" for path in self.damages if _bare(path) not in said
            ]

    def _event(self) -> None:
        said = send(self.base, "after")
        if said.code:
            self.faults.append(f"send: {said.err.strip()}")
        elif not _comes(lambda: is_done(self.base, "evt-after")):
            self.faults.append("the event is not done")

    def _roles(self) -> None:
        up: list[str] = []

        def all_up() -> bool:
            up[:] = _up(self._type("status", "--json").out)
            return len(up) == 4 + len(GENERALS)

        if not _comes(all_up):
            self.faults.append(f"only {up} are up")

    def _looks(self) -> None:
        for command, codes in {"status": (0,), "doctor": (0, 1), "fsck": (0, 1)}.items():
            more = ("--json",) if len(self.damages) > 1 else ()  # a terminal shows the first few
            said = self._type(command, *more, codes=codes).out
            for path, damage in self.damages.items():
                is_seen = command != "status" or not path.startswith(MANY)
                is_named = _bare(path) in said
                if is_seen and not is_named and is_damaged(self.base.path(_bare(path)), damage):
                    self.faults.append(f"{command} does not name {path}")

    def _stop(self) -> None:
        self._type("stop")
        _comes(lambda: not processes_at(self.base))
        left = processes_at(self.base)
        if left:
            self.faults.append(f"stop: {len(left)} processes are left")
        for pid in left:
            os.kill(pid, signal.SIGKILL)


def _bare(path: str) -> str:
    return path.rstrip("/")


def _is_setting(path: str) -> bool:
    return path.startswith("config/")


def _up(status: str) -> list[str]:
    roles = json.loads(status or '{"roles": []}')["roles"]
    return [one["name"] for one in roles if one["state"] == "up"]


def _comes(holds: Callable[[], bool], seconds: float = 15.0) -> bool:
    """Whether it does in time: what is damaged may be in the way, and that is told, not raised."""
    try:
        eventually(holds, seconds=seconds)
    except AssertionError:
        return False
    return True


def is_damaged(path: str, damage: str) -> bool:
    """Whether it still is: what is written anew is whole again."""
    try:
        facts = os.lstat(path)
    except FileNotFoundError:
        return False
    if stat.S_ISDIR(facts.st_mode) and damage != "directory":
        return facts.st_uid != os.geteuid() or stat.S_IMODE(facts.st_mode) & 0o700 != 0o700
    if not stat.S_ISREG(facts.st_mode):
        return True
    return facts.st_uid != os.geteuid() or stat.S_IMODE(facts.st_mode) & 0o600 != 0o600


def processes_at(base: BaseDir) -> list[int]:
    """Roles and wardens of it; soldiers work elsewhere."""
    found = []
    for name in filter(str.isdecimal, os.listdir("/proc")):
        try:
            if os.readlink(f"/proc/{name}/cwd") == base.root and int(name) != os.getpid():
                found.append(int(name))
        except OSError:
            continue
    return found


def copied(snapshot: str, root: str) -> BaseDir:
    shutil.rmtree(root, ignore_errors=True)
    shutil.copytree(snapshot, root, symlinks=True)
    return BaseDir(root)
