"""The commands in bin/ on machines of every kind: fresh, set up, broken, moved, read-only, offline.

Each test has a small checkout of its own, with the real scripts and a package that tells where it
was run from. The interpreter is real; pip is real, or a stand-in where waiting for a registry or
breaking one would take long.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.checkouts import PIP_THAT_INSTALLS, ROOT, SETTING_UP, Checkout, Toolbox

NOBODY = 65534
PIP_THAT_WAITS = (
    """
import os, pathlib, sys
if "--editable" in sys.argv:
    gate = pathlib.Path(os.environ["PIP_GATE"])
    (gate / "reached").write_text("reached")
    (gate / "open").read_text()
"""
    + PIP_THAT_INSTALLS
)


def written(place: Path) -> dict[str, int]:
    """When everything below was last changed."""
    return {str(path): path.lstat().st_mtime_ns for path in place.rglob("*")}


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path / "kingdom of ours", Toolbox(tmp_path / "tools"))


@pytest.fixture(scope="module")
def ready(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """Set up already; for tests that leave it so."""
    place = tmp_path_factory.mktemp("ready")
    checkout = Checkout(place / "kingdom", Toolbox(place / "tools"))
    assert checkout.kingdom().status == 0
    return checkout


class TestFirstStart:
    def test_sets_up_and_then_runs(self, checkout: Checkout) -> None:
        first = checkout.kingdom("send", "a b", "", "*")

        assert (first.status, first.err) == (0, SETTING_UP)
        assert first.out == f"{checkout.place}|send|a b||*\n"

    def test_is_needed_once(self, checkout: Checkout) -> None:
        checkout.kingdom()
        second = checkout.kingdom()

        assert (second.status, second.err) == (0, "")
        assert checkout.set_ups == 1

    def test_ignores_where_a_person_lets_pip_and_python_look(self, checkout: Checkout) -> None:
        checkout.environment |= {"PYTHONHOME": "/nowhere", "PYTHONPATH": "/nowhere"}
        assert checkout.kingdom().out == f"{checkout.place}\n"

    def test_uses_an_environment_that_a_person_made(self, checkout: Checkout) -> None:
        python = checkout.environment["KINGDOM_PYTHON"]
        checkout.run(python, "-m", "venv", "--without-pip", checkout.venv)
        (checkout.venv / "theirs").touch()

        assert checkout.kingdom().status == 0
        assert (checkout.venv / "theirs").exists()

    def test_can_put_the_environment_elsewhere(self, checkout: Checkout, tmp_path: Path) -> None:
        checkout.environment["KINGDOM_VENV"] = str(tmp_path / "elsewhere")

        assert checkout.kingdom().out == f"{checkout.place}\n"
        assert not checkout.venv.exists()

    def test_leaves_a_directory_of_other_things_alone(
        self, checkout: Checkout, tmp_path: Path
    ) -> None:
        home = tmp_path / "home"
        (home / "lib").mkdir(parents=True)
        checkout.environment["KINGDOM_VENV"] = str(home)

        complaint = checkout.kingdom().complaint
        assert str(home) in complaint
        assert "KINGDOM_VENV" in complaint
        assert os.listdir(home) == ["lib"]


class TestLaterStart:
    def test_starts_no_program_but_python(self, ready: Checkout) -> None:
        started = ready.kingdom("version", env={"PATH": "/nowhere"})
        assert (started.status, started.err) == (0, "")

    def test_sets_nothing_up_again_and_becomes_python(self, checkout: Checkout) -> None:
        checkout.kingdom()
        (checkout.place / "kingdom/__main__.py").write_text("import os; print(os.getpid())")
        before = written(checkout.place)
        checkout.tools.add("python-for-tests", "exit 9")

        later = checkout.start(checkout.place / "bin/kingdom", "version")
        assert later.communicate(timeout=60) == (f"{later.pid}\n", "")
        assert written(checkout.place) == before
        assert checkout.set_ups == 1

    def test_works_through_symbolic_links(self, ready: Checkout, tmp_path: Path) -> None:
        (tmp_path / "absolute").symlink_to(ready.place / "bin/kingdom")
        (tmp_path / "relative").symlink_to("absolute")
        (tmp_path / "directory").symlink_to(ready.place / "bin")

        for command in ("./absolute", "./relative", "directory/kingdom"):
            assert ready.run(command, "x", cwd=tmp_path).out == f"{ready.place}|x\n"
        assert ready.run("sh", "kingdom", cwd=ready.place / "bin").out == f"{ready.place}\n"

    def test_is_not_misled_by_the_working_directory(self, ready: Checkout, tmp_path: Path) -> None:
        (tmp_path / "kingdom").mkdir()
        (tmp_path / "kingdom/__init__.py").write_text("raise SystemExit('the wrong one')")
        misleading = ready.environment | {"PYTHONPATH": str(tmp_path)}

        assert ready.kingdom(cwd=tmp_path, env=misleading).out == f"{ready.place}\n"

    def test_hands_on_the_status(self, ready: Checkout, tmp_path: Path) -> None:
        copy = Checkout(tmp_path / "copy", Toolbox(tmp_path / "tools"))
        (copy.place / "kingdom/__main__.py").write_text("raise SystemExit(7)")
        assert copy.kingdom().status == 7


class TestChanges:
    def test_a_newer_pyproject_or_lock_is_installed(self, checkout: Checkout) -> None:
        checkout.kingdom()
        for later, name in enumerate(("pyproject.toml", "requirements/runtime.txt"), start=1):
            date = time.time() + 1000 * later
            os.utime(checkout.place / name, (date, date))

            assert checkout.kingdom().err == SETTING_UP
            assert checkout.kingdom().err == ""
        assert checkout.set_ups == 3

    def test_a_moved_checkout_is_set_up_anew(self, checkout: Checkout) -> None:
        checkout.kingdom()
        checkout.place = checkout.place.rename(checkout.place.with_name("moved"))

        moved = checkout.kingdom()
        assert (moved.err, moved.out) == (SETTING_UP, f"{checkout.place}\n")

    def test_a_copied_checkout_runs_its_own_code(self, checkout: Checkout) -> None:
        checkout.kingdom()
        copy = checkout.place.with_name("copy")
        shutil.copytree(checkout.place, copy, symlinks=True)

        assert checkout.run(copy / "bin/kingdom").out == f"{copy}\n"
        assert checkout.kingdom().out == f"{checkout.place}\n"

    def test_an_environment_without_its_interpreter_is_made_anew(self, checkout: Checkout) -> None:
        checkout.kingdom()
        for link in checkout.venv.glob("bin/python*"):
            link.unlink()
            link.symlink_to("/nowhere/python3")

        repaired = checkout.kingdom()
        assert (repaired.err, repaired.out) == (SETTING_UP, f"{checkout.place}\n")


class Gate:
    """Holds a set-up inside pip until it is opened."""

    def __init__(self, place: Path) -> None:
        self.place = place
        place.mkdir()
        for name in ("reached", "open"):
            os.mkfifo(place / name)

    def wait_until_reached(self) -> None:
        # Nothing comes from one that was killed while it had the pipe open.
        while not (self.place / "reached").read_text():
            pass

    def open(self) -> None:
        (self.place / "open").write_text("open")


@pytest.fixture
def gate(checkout: Checkout, tmp_path: Path) -> Gate:
    checkout.use_pip(PIP_THAT_WAITS)
    gate = Gate(tmp_path / "gate")
    checkout.environment["PIP_GATE"] = str(gate.place)
    return gate


class TestInterruption:
    def test_of_the_installation_is_made_good(self, checkout: Checkout, gate: Gate) -> None:
        interrupted = checkout.start(checkout.place / "bin/kingdom", start_new_session=True)
        gate.wait_until_reached()
        os.killpg(interrupted.pid, signal.SIGKILL)
        interrupted.communicate()

        again = checkout.start(checkout.place / "bin/kingdom")
        gate.wait_until_reached()
        gate.open()
        out, err = again.communicate(timeout=60)
        assert (again.returncode, out, err) == (0, f"{checkout.place}\n", SETTING_UP)

    def test_of_making_the_environment_is_made_good(self, checkout: Checkout) -> None:
        checkout.kingdom()
        (checkout.venv / "unfinished").touch()
        (checkout.venv / "ready").unlink()
        shutil.rmtree(checkout.venv / "lib")

        assert checkout.kingdom().out == f"{checkout.place}\n"


class TestTwoAtOnce:
    def test_take_turns(self, checkout: Checkout, gate: Gate) -> None:
        first = checkout.start(checkout.place / "bin/kingdom", "first")
        gate.wait_until_reached()
        second = checkout.start(checkout.place / "bin/kingdom", "second")
        assert second.stderr is not None
        assert "waiting" in second.stderr.readline()
        gate.open()

        assert first.communicate(timeout=60) == (f"{checkout.place}|first\n", SETTING_UP)
        assert second.communicate(timeout=60) == (f"{checkout.place}|second\n", "")
        assert checkout.set_ups == 1


class TestPython:
    def test_missing(self, checkout: Checkout) -> None:
        del checkout.environment["KINGDOM_PYTHON"]
        checkout.tools.add("apt-get", "exit 1")
        complaint = checkout.kingdom().complaint

        assert "needs Python 3.11 or newer and found none" in complaint
        assert "apt-get install python3 python3-venv" in complaint

    def test_missing_where_no_package_manager_is_known(self, checkout: Checkout) -> None:
        del checkout.environment["KINGDOM_PYTHON"]
        assert "your system's package manager" in checkout.kingdom().complaint

    def test_too_old(self, checkout: Checkout) -> None:
        del checkout.environment["KINGDOM_PYTHON"]
        checkout.tools.add("python3", "echo Python 3.8.10")
        checkout.tools.add("dnf", "exit 1")
        complaint = checkout.kingdom().complaint

        assert "found python3 3.8.10" in complaint
        assert "dnf install python3.11" in complaint

    def test_too_old_beside_one_that_is_not(self, checkout: Checkout) -> None:
        checkout.tools.add("python3", "echo Python 3.8.10")
        (checkout.tools.place / "python3.12").symlink_to(checkout.environment.pop("KINGDOM_PYTHON"))
        assert checkout.kingdom().status == 0

    @pytest.mark.parametrize(
        ("script", "reason"),
        [("echo Python 3.8.10", "is Python 3.8.10"), ("exit 127", "does not run")],
    )
    def test_named_wrongly(self, checkout: Checkout, script: str, reason: str) -> None:
        named = checkout.tools.add("python-named", script)
        checkout.environment["KINGDOM_PYTHON"] = str(named)
        assert f"but {named} {reason}" in checkout.kingdom().complaint

    def test_without_the_venv_module(self, checkout: Checkout) -> None:
        del checkout.environment["KINGDOM_PYTHON"]
        checkout.tools.add("python3", '[ "$1" = --version ] && echo Python 3.12.4')
        checkout.tools.add("apt-get", "exit 1")
        complaint = checkout.kingdom().complaint

        assert "Python 3.12.4 (python3) lacks the venv module" in complaint
        assert "apt-get install python3.12-venv" in complaint


COMPLAINTS = {
    "a C compiler": (
        "  × Building wheel for PyYAML (pyproject.toml) did not run successfully.\n"
        "      building 'yaml._yaml' extension\n"
        "      error: [Errno 2] No such file or directory: 'gcc'\n"
        "  ERROR: Failed building wheel for PyYAML\n",
        "PyYAML must be compiled",
        "apt-get install build-essential python3-dev (",
    ),
    "a C compiler, said in the older way": (
        "      error: command 'aarch64-linux-gnu-gcc' failed: No such file or directory\n"
        "  ERROR: Failed building wheel for PyYAML\n",
        "PyYAML must be compiled",
        "apt-get install build-essential python3-dev (",
    ),
    "a Rust compiler": (
        "  × Preparing metadata (pyproject.toml) did not run successfully.\n"
        "      Rust not found, installing into a temporary directory\n"
        "      httpx.ConnectError: [Errno -2] Name or service not known\n"
        "error: metadata-generation-failed\n",
        "pydantic-core must be compiled",
        "apt-get install build-essential python3-dev cargo (",
    ),
    "room": (
        "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device\n",
        "The disk is full",
        "make room",
    ),
    "trust": (
        "WARNING: Retrying after connection broken by 'SSLError(SSLCertVerificationError("
        "1, '[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed'))'\n",
        "certificate",
        "PIP_CERT",
    ),
    "a package": (
        "ERROR: No matching distribution found for structlog>=99\n",
        "No matching distribution found for structlog>=99",
        "setup.log",
    ),
    "what nobody foresaw": ("Traceback (most recent call last):\nBoom\n", "status 1", "setup.log"),
}


class TestPip:
    @pytest.mark.parametrize("lacking", COMPLAINTS)
    def test_that_lacks(self, checkout: Checkout, lacking: str) -> None:
        said, reason, remedy = COMPLAINTS[lacking]
        checkout.use_pip(
            "import sys\n"
            "print('Collecting pydantic-core==2.50.4 (from pydantic>=2.10)')\n"
            f"sys.stderr.write({said!r})\n"
            "sys.exit(1)\n"
        )
        checkout.tools.add("apt-get", "exit 1")
        complaint = checkout.kingdom().complaint

        assert reason in complaint
        assert remedy in complaint
        assert said in (checkout.venv / "setup.log").read_text()

    def test_without_a_network(self, checkout: Checkout) -> None:
        import pip

        checkout.make_environments_with(Path(pip.__file__).parent)
        checkout.environment |= {
            "PIP_CONFIG_FILE": os.devnull,
            "PIP_INDEX_URL": "http://127.0.0.1:9/",
            "PIP_RETRIES": "1",
        }
        complaint = checkout.kingdom().complaint

        assert "registry cannot be reached: check the network" in complaint
        assert "127.0.0.1" not in complaint

    def test_that_gets_another_file_than_the_locked_one(self, checkout: Checkout) -> None:
        import pip

        checkout.make_environments_with(Path(pip.__file__).parent)
        wheel = checkout.place / "thing-1.0-py3-none-any.whl"
        with zipfile.ZipFile(wheel, "w") as file:
            file.writestr("thing-1.0.dist-info/METADATA", "Name: thing\nVersion: 1.0\n")
        lock = checkout.place / "requirements/runtime.txt"
        lock.write_text(f"thing==1.0 --hash=sha256:{'0' * 64}\n")
        checkout.environment |= {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": wheel.parent.as_uri()}
        complaint = checkout.kingdom().complaint

        assert "a file for thing==1.0 whose hash is not in requirements/" in complaint
        assert "run this again" in complaint

    def test_that_failed_is_tried_again(self, checkout: Checkout) -> None:
        checkout.use_pip("raise SystemExit(1)")
        assert checkout.kingdom().status == 2
        checkout.use_pip(PIP_THAT_INSTALLS)

        assert checkout.kingdom().status == 0


@pytest.fixture
def public_place() -> Iterator[Path]:
    """A place that other users reach, unlike the temporary directories of pytest."""
    place = Path(tempfile.mkdtemp())
    place.chmod(0o755)
    yield place
    for directory, _, _ in os.walk(place):
        os.chmod(directory, 0o755)
    shutil.rmtree(place)


def unprivileged() -> dict[str, object]:
    if os.getuid() != 0:
        return {}
    return {"user": NOBODY, "group": NOBODY, "extra_groups": []}


class TestReadOnly:
    def test_checkout(self, public_place: Path) -> None:
        checkout = Checkout(public_place / "kingdom", Toolbox(public_place / "tools"))
        checkout.place.chmod(0o555)
        complaint = checkout.kingdom(**unprivileged()).complaint

        assert f"cannot write to {checkout.venv}" in complaint
        assert "KINGDOM_VENV=" in complaint

    def test_environment_of_someone_else(self, public_place: Path) -> None:
        checkout = Checkout(public_place / "kingdom", Toolbox(public_place / "tools"))
        checkout.kingdom()
        later = time.time() + 1000
        os.utime(checkout.place / "pyproject.toml", (later, later))
        checkout.venv.chmod(0o555)

        assert "cannot write to" in checkout.kingdom(**unprivileged()).complaint


class TestTestCommand:
    def test_leaves_out_what_is_long_unless_told(self, checkout: Checkout) -> None:
        short = checkout.run(checkout.place / "bin/test", "-x", "tests/unit")
        full = checkout.run(checkout.place / "bin/test", "--full", "-x")

        assert short.err == SETTING_UP
        assert short.out.rstrip("\n").split("|")[-4:] == ["-m", "not long", "-x", "tests/unit"]
        assert full.out.rstrip("\n").split("|")[-3:] == ["-m", "", "-x"]
        locked, itself = (call.split(" --no-input ")[1] for call in checkout.pip_calls)
        assert locked == "--require-hashes" + "".join(
            f" -r requirements/{group}.txt" for group in ("runtime", "build", "dev")
        )
        assert itself == "--no-deps --no-build-isolation --editable ."

    def test_sets_up_what_the_launcher_needs_too(self, checkout: Checkout) -> None:
        checkout.run(checkout.place / "bin/test")
        assert checkout.kingdom().err == ""

    def test_adds_to_what_the_launcher_set_up(self, checkout: Checkout) -> None:
        checkout.kingdom()
        assert checkout.run(checkout.place / "bin/test").err == SETTING_UP
        assert checkout.set_ups == 2


@pytest.mark.long
class TestFreshClone:
    """The real thing, from the registry, as a normal user where that can be tried."""

    @pytest.fixture
    def clone(self, public_place: Path) -> Path:
        place = public_place / "clone"
        for name in ("bin", "kingdom", "config", "requirements"):
            ignored = shutil.ignore_patterns("__pycache__", "local")
            shutil.copytree(ROOT / name, place / name, ignore=ignored)
        for name in ("pyproject.toml", "README.md", "LICENSE", "hatch_build.py"):
            shutil.copy(ROOT / name, place)
        if os.getuid() == 0:
            subprocess.run(["chown", "-R", f"{NOBODY}:{NOBODY}", public_place], check=True)
        return place

    def kingdom(self, clone: Path, **more: str) -> subprocess.CompletedProcess[str]:
        environment = dict(os.environ) | {"HOME": str(clone.parent)} | more
        return subprocess.run(
            [clone / "bin/kingdom", "version"],
            env=environment,
            cwd=clone.parent,
            capture_output=True,
            text=True,
            check=False,
            **unprivileged(),  # type: ignore[call-overload,no-any-return]
        )

    def test_works_twice(self, clone: Path) -> None:
        first, second = self.kingdom(clone), self.kingdom(clone)

        assert (first.returncode, second.returncode) == (0, 0), first.stderr
        assert first.stdout == second.stdout
        assert second.stderr == ""

    def test_works_read_only(self, clone: Path) -> None:
        clone.chmod(0o555)
        first = self.kingdom(clone, KINGDOM_VENV=str(clone.parent / "venv"))

        assert first.returncode == 0, first.stderr
        assert not (clone / ".venv").exists()
