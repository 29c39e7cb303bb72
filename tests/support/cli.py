"""The command line as people use it: a process of its own, its output, its exit code."""

from __future__ import annotations

import codecs
import importlib
import os
import pkgutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

import kingdom as package
from kingdom.__main__ import main
from kingdom.bus.files.bus import FileBus
from kingdom.store.paths import BaseDir
from tests.support.calls import in_child

ROOT = Path(__file__).parents[2]
NOBODY = 65534
COMMAND = (sys.executable, "-m", "kingdom")
# The same for a user who is not root. Where root runs the tests, only root may be able to read the
# interpreter and its packages: so it is a copy of this process that steps down.
NORMAL_USER = ("nobody",) if os.geteuid() == 0 else COMMAND


for _module in pkgutil.walk_packages(package.__path__, "kingdom."):
    importlib.import_module(_module.name)
for _name in ("difflib", "importlib.metadata", "structlog"):
    importlib.import_module(_name)
for _name in ("ascii", "unicode_escape", "utf_8_sig", "utf_16_be"):
    codecs.lookup(_name)


@dataclass(frozen=True)
class Said:
    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()


def environment(**more: str) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ}
    return {**kept, "PYTHONPATH": str(ROOT), "LANG": "C.UTF-8", **more}


def undisturbed(root: str | Path) -> None:
    """Whoever works on this machine besides, health stays green there; unless a test says so."""
    path = Path(root, "config", "local", "chamberlain.yaml")
    if path.parent.parent.is_dir() and not path.exists():
        path.parent.mkdir(exist_ok=True)
        path.write_text("thresholds: {yellow: 100, orange: 100, red: 100, disk: 100}\n")


def kingdom(
    *words: str,
    base: BaseDir | None = None,
    stdin: str | bytes = b"",
    cwd: str | Path = "/",
    env: Mapping[str, str] | None = None,
    command: Sequence[str] = (),
    around: Callable[[Callable[[], object]], int] = in_child,
) -> Said:
    """Run it to its end. `base` is passed as `--base-dir` before the command.

    The process is a copy of this one, which has all imported already; with a `command`, one that
    begins from nothing. `around` makes the copy.
    """
    typed = [*(("--base-dir", base.root) if base else ()), *words]
    given = stdin.encode() if isinstance(stdin, str) else stdin
    surroundings = environment(**(env or {}))
    root = base.root if base else surroundings.get("KINGDOM_BASE_DIR")
    if root and words[:1] == ("start",):
        undisturbed(root)
    with TemporaryFile() as source, TemporaryFile() as out, TemporaryFile() as err:
        source.write(given)
        source.seek(0)
        files = (source, out, err)
        if command and command != ("nobody",):
            code = subprocess.run(
                [*command, *typed], stdin=source, stdout=out, stderr=err, cwd=cwd, env=surroundings,
                timeout=300, check=False,
            ).returncode  # fmt: skip
        else:
            descriptors = [file.fileno() for file in files]
            code = around(
                lambda: run_main(
                    typed, descriptors, str(cwd), surroundings, step_down=bool(command)
                )
            )
        said = [_content(file) for file in (out, err)]
    assert "Traceback" not in said[0] + said[1], said
    return Said(code, *said)


def run_main(
    words: list[str],
    descriptors: list[int],
    cwd: str,
    surroundings: dict[str, str],
    *,
    step_down: bool = False,
) -> None:
    """What the interpreter does at its start, and then what the program does."""
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - as long as the process
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, encoding="utf-8", errors="backslashreplace")  # noqa: SIM115
    os.environ.clear()
    os.environ.update(surroundings)
    os.chdir(cwd)
    if step_down:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    sys.argv = ["kingdom", *(os.fsdecode(word) for word in words)]
    try:
        code = main()
    except SystemExit as end:
        code = int(end.code or 0)
    sys.stdout.flush()
    os._exit(code)


def _content(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode("utf-8", "surrogateescape")


def one_sentence(said: Said, code: int) -> str:
    """What a refusal must be: nothing on standard output, one line that names the program."""
    assert said.code == code, said
    assert said.out == "", said
    assert said.err.startswith("kingdom: "), said
    assert said.err.count("\n") == 1, said
    return said.err.removeprefix("kingdom: ").strip()


def give_away(path: str | Path) -> None:
    """To the normal user, with all that is in it."""
    if os.geteuid() == 0:
        for directory, _, names in os.walk(path):
            for name in (".", *names):
                os.chown(os.path.join(directory, name), NOBODY, NOBODY)


def claim_and_die(base: BaseDir, stream: str, worker: str, *ids: str) -> None:
    """A worker takes these messages and is killed."""

    def work() -> None:
        bus = FileBus(base, durable=False)
        assert len(bus.claim(stream, worker, ids=list(ids))) == len(ids)
        os._exit(0)

    assert in_child(work) == 0
