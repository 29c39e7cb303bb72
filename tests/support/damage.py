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
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryFile

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


@dataclass
class Trial:
    base: BaseDir
    path: str
    damage: str
    running: bool
    faults: list[str] = field(default_factory=list)

    def run(self) -> list[str]:
        whole = self.base.path(self.path.rstrip("/"))
        kinds = OF_DIRECTORIES if self.path.endswith("/") else OF_FILES
        try:
            if self.running:
                self._start()
            kinds[self.damage](whole)
            if not self.running:
                self._start()
            self._event()
            self._looks(whole)
        finally:
            self._stop()
        return self.faults

    def _type(self, *words: str, codes: Sequence[int] = (0,)) -> Said:
        said = typed(self.base, *words)
        told = said.out + said.err
        if said.code == -1:
            self.faults.append(f"{words[0]} hung")
        elif "Traceback" in told or "is a bug in kingdom" in told:
            self.faults.append(f"{words[0]}: {told.strip()[-300:]}")
        elif said.code not in codes:
            self.faults.append(f"{words[0]} exited with {said.code}: {told.strip()[-300:]}")
        return said

    def _start(self) -> None:
        self.started = self._type("start", codes=(0, 1, 2))
        if self.started.code:
            self.faults.append(f"start: {self.started.err.strip()[:400]}")

    def _event(self) -> None:
        said = send(self.base, "after")
        if said.code:
            self.faults.append(f"send: {said.err.strip()[:300]}")
            return
        deadline = time.monotonic() + 12.0
        while not is_done(self.base, "evt-after"):
            if time.monotonic() > deadline:
                self.faults.append("event: it is not done")
                return
            time.sleep(0.01)

    def _looks(self, whole: str) -> None:
        deadline = time.monotonic() + 12.0
        while len(up := self._up()) < 4 + len(GENERALS) and time.monotonic() < deadline:
            time.sleep(0.1)
        if len(up) < 4 + len(GENERALS):
            self.faults.append(f"roles: only {up}")
        shown = self._type("status")
        is_shown = self.path.rstrip("/") in shown.out or self.path.startswith(MANY)
        if is_damaged(whole, self.damage) and not is_shown:
            self.faults.append("status: it is not named")
        if is_damaged(whole, self.damage):
            for command in ("doctor", "fsck"):
                if self.path.rstrip("/") not in self._type(command, codes=(0, 1)).out:
                    self.faults.append(f"{command}: it is not named")

    def _up(self) -> list[str]:
        try:
            found = json.loads(self._type("status", "--json").out)
        except ValueError:
            self.faults.append("status --json is not JSON")
            return ["?"] * 9
        return [one["name"] for one in found["roles"] if one["state"] == "up"]

    def _stop(self) -> None:
        self._type("stop")
        deadline = time.monotonic() + 10
        while (left := processes_at(self.base)) and time.monotonic() < deadline:
            time.sleep(0.02)
        if left:
            self.faults.append(f"stop: {len(left)} processes are left")
        for pid in left:
            os.kill(pid, signal.SIGKILL)


def is_damaged(path: str, damage: str) -> bool:
    """Whether it still is: what is written anew is whole again."""
    try:
        facts = os.lstat(path)
    except FileNotFoundError:
        return False
    if stat.S_ISDIR(facts.st_mode) and damage not in ("directory",):
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
