"""The command line as people use it: a process of its own, its output, its exit code."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kingdom.bus.files.bus import FileBus
from kingdom.store.paths import BaseDir
from tests.support.calls import in_child

ROOT = Path(__file__).parents[2]
NOBODY = 65534
COMMAND = (sys.executable, "-m", "kingdom")
# The same for a user who is not root. Where root runs the tests, only root may be able to read the
# interpreter and its packages: all of them are imported before the process steps down.
_STEP_DOWN = f"""
import os, sys, importlib, pkgutil, difflib, encodings.ascii, kingdom, structlog
for module in pkgutil.walk_packages(kingdom.__path__, "kingdom."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
os.setgroups([])
os.setgid({NOBODY})
os.setuid({NOBODY})
sys.exit(kingdom.cli.main.run(sys.argv[1:]))
"""
NORMAL_USER = (sys.executable, "-c", _STEP_DOWN) if os.geteuid() == 0 else COMMAND


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


def kingdom(
    *words: str,
    base: BaseDir | None = None,
    stdin: str | bytes = b"",
    cwd: str | Path = "/",
    env: Mapping[str, str] | None = None,
    command: Sequence[str] = COMMAND,
) -> Said:
    """Run it to its end. `base` is passed as `--base-dir` before the command."""
    before = ("--base-dir", base.root) if base else ()
    done = subprocess.run(
        [*command, *before, *words],
        input=stdin.encode() if isinstance(stdin, str) else stdin,
        capture_output=True,
        cwd=cwd,
        env=environment(**(env or {})),
        timeout=60,
        check=False,
    )
    out, err = (stream.decode("utf-8", "surrogateescape") for stream in (done.stdout, done.stderr))
    assert "Traceback" not in out + err, out + err
    return Said(done.returncode, out, err)


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
