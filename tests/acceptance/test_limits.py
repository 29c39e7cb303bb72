"""Few open files, few processes, little memory, small files: one sentence that names the limit and
how to raise it, and nothing is lost."""

from __future__ import annotations

import marshal
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kingdom.errors import EXIT_DONE, EXIT_FAILED
from kingdom.runtime.processes import WARDEN, Seat
from kingdom.store.paths import BaseDir
from tests.support.cli import ROOT, Said, environment, kingdom, one_sentence
from tests.support.few_processes import as_user, limit, owned
from tests.support.kingdom import counts
from tests.support.puppets import (
    ended_afterwards,
    found_kingdom,
    order,
    pid_of,
    start_puppets,
)
from tests.support.waiting import eventually

SEND = ("send", "test.gen-a", "--payload", "{}")


@pytest.fixture(autouse=True)
def _kingdom_here(base: BaseDir) -> Iterator[None]:
    found_kingdom(base, "gen-a")
    with ended_afterwards(base):
        yield


def limited(options: str, *words: str, base: BaseDir, checkout: Path = ROOT) -> Said:
    here = f"import runpy, sys; sys.path.insert(0, {str(checkout)!r})"
    start = (
        f"{here}; runpy.run_path({str(checkout / 'kingdom/__main__.py')!r}, run_name='__main__')"
    )
    program = (sys.executable, "-I", "-c", start)
    shell = ("/bin/sh", "-c", f'ulimit {options}; exec "$@"', "sh")
    return kingdom(*words, base=base, command=(*shell, *program))


@pytest.mark.parametrize(
    ("options", "words", "sentence"),
    [
        ("-n 32", ("start",), "A process may have only 32 files open here. Raise the limit with: "
                              "ulimit -n 4096 (under systemd: LimitNOFILE)"),
        ("-n 32", ("run", "king"), "only 32 files open here"),
        ("-n 9", SEND, "ulimit"),
        ("-f 1", ("start",), "A file may have only"),
        ("-f 1", SEND, "bytes here. Raise the limit with: ulimit -f unlimited"),
        ("-v 400000", ("start",), "only 390 MB of memory here. Raise the limit with: ulimit -v"),
        ("-v 30000", SEND, "use only 29 MB of memory here."),
    ],
)  # fmt: skip
def test_a_limit_is_named_in_one_sentence(
    base: BaseDir, options: str, words: tuple[str, ...], sentence: str
) -> None:
    said = one_sentence(limited(options, *words, base=base), EXIT_FAILED)
    assert sentence in said
    assert counts(base) == {}, "nothing is half done"
    assert kingdom(*SEND, base=base).code == EXIT_DONE
    assert counts(base) == {"events/pending": 1}


def test_a_soft_limit_is_raised_by_itself(base: BaseDir) -> None:
    said = limited("-S -n 32", "start", "--roles", "king", base=base)
    assert (said.code, said.err) == (EXIT_DONE, "")
    limits = Path(f"/proc/{pid_of(base, 'king')}/limits").read_text()
    (files,) = [line.split() for line in limits.splitlines() if line.startswith("Max open files")]
    assert int(files[3]) >= 64


def test_a_limit_on_files_leaves_no_module_cut_off(base: BaseDir, scratch: Path) -> None:
    package = scratch / "checkout" / "kingdom"
    shutil.copytree(ROOT / "kingdom", package, ignore=shutil.ignore_patterns("__pycache__"))
    assert limited("-f 4", "status", base=base, checkout=package.parent).code == EXIT_DONE
    compiled = list(package.rglob("*.pyc"))
    for path in compiled:
        marshal.loads(path.read_bytes()[16:])
    said = limited("-n 1000", "status", base=base, checkout=package.parent)
    assert (said.code, said.err) == (EXIT_DONE, "")
    (whole,) = package.glob("cli/__pycache__/status.*.pyc")
    whole.write_bytes(whole.read_bytes()[:100])
    said = limited("-n 1000", "status", base=base, checkout=package.parent)
    assert f"Remove them with: find {package} -name '*.pyc' -delete" in one_sentence(said, 1)


def test_the_launcher_says_it_too(base: BaseDir) -> None:
    """A shell that cannot even open what it is to read has the last word itself."""
    command = f'ulimit -n 12; exec "{ROOT}/bin/kingdom" --base-dir {base.root} status'
    said = subprocess.run(
        ["/bin/sh", "-c", command], capture_output=True, text=True, env=environment(), check=False
    )
    assert said.returncode == EXIT_DONE or "ulimit -n 4096" in said.stdout + said.stderr


# Few processes


@pytest.mark.parametrize("most", [1, 2], ids=["none", "one"])
def test_a_start_that_is_not_allowed_any_process_says_so(base: BaseDir, most: int) -> None:
    """A warden is the child of a child."""
    owned(base.root)
    said = kingdom("start", base=base, around=lambda work: as_user(work, most))
    sentence = one_sentence(said, EXIT_FAILED)
    assert f"No more processes or threads can be started by this user (limit: {most})" in sentence
    assert "ulimit -u 4096" in sentence
    doctor = kingdom("doctor", base=base, around=lambda work: as_user(work, most))
    assert f"This user may have {most} processes and threads, and has" in doctor.out


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to be a user without other processes")
def test_roles_that_cannot_be_started_are_named_and_start_when_they_can(base: BaseDir) -> None:
    owned(base.root)
    roles = ("--roles", "king,envoy,gen-a")
    said = kingdom("start", *roles, base=base, around=lambda work: as_user(work, 3))
    assert said.code == EXIT_FAILED
    assert " did not start: No more processes or threads can be started by this user" in said.err
    waits = "waiting    gen-a: No more processes or threads can be started"
    eventually(lambda: waits in kingdom("status", base=base).out, "there was room for one more")
    warden = pid_of(base, WARDEN)
    assert as_user(lambda: limit(pid=warden), -1) == 0
    eventually(lambda: Seat(base, "gen-a").last_beat() is not None, "it is started by itself")
    assert "waiting" not in kingdom("status", base=base).out


# While it runs


def test_a_running_role_that_meets_a_limit_waits_and_status_says_so(base: BaseDir) -> None:
    order(base, "king", "few files")
    start_puppets(base, "king")

    def waits() -> bool:
        return "waiting    king: A process may have only" in kingdom("status", base=base).out

    eventually(waits, "it is told")
    king = pid_of(base, "king")
    order(base, "king", "")
    _, hard = resource.prlimit(king, resource.RLIMIT_NOFILE)
    resource.prlimit(king, resource.RLIMIT_NOFILE, (hard, hard))
    eventually(lambda: not waits(), "it goes on")
    assert pid_of(base, "king") == king, "in the same life"
