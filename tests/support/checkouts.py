"""A small checkout with the real scripts of bin/, and a directory of programs to be its PATH."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ("sh", "cat", "ls", "mkdir", "rm", "cp", "mv", "touch", "readlink", "grep", "sed")
PROGRAMS += ("head", "tail", "id", "uname")
SETTING_UP = "Setting up Kingdom (once) …\n"

PACKAGE_INIT = '__version__ = "0.1.0"\n'
PACKAGE_MAIN = """
import os, sys, kingdom
print(os.path.dirname(os.path.dirname(kingdom.__file__)), *sys.argv[1:], sep="|")
"""

PIP_THAT_INSTALLS = """
import os, pathlib, sys, sysconfig
calls = pathlib.Path(sys.prefix, "pip-calls")
with calls.open("a") as file:
    print(*sys.argv[1:], file=file)
site_packages = pathlib.Path(sysconfig.get_path("purelib"))
(site_packages / "kingdom.pth").write_text(os.getcwd() + "\\n")
(site_packages / "pytest.py").write_text("import sys; print(*sys.argv[1:], sep='|')")
"""


class Toolbox:
    """A directory of programs to be the whole PATH."""

    def __init__(self, place: Path) -> None:
        self.place = place
        place.mkdir()
        for name in PROGRAMS:
            found = shutil.which(name)
            assert found, name
            (place / name).symlink_to(found)
        for name in ("tmux", "git", "bwrap"):
            self.add(name, "exit 0")

    def add(self, name: str, script: str) -> Path:
        program = self.place / name
        program.unlink(missing_ok=True)
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        return program


class Checkout:
    """A copy of the scripts, around a package that is small enough to be set up in no time."""

    def __init__(self, place: Path, tools: Toolbox) -> None:
        self.place = place
        self.tools = tools
        self.environment = {"PATH": str(tools.place), "HOME": str(tools.place.parent)}
        for name in ("bin", "requirements"):
            shutil.copytree(ROOT / name, place / name)
        shutil.copy(ROOT / "pyproject.toml", place)
        (place / "kingdom").mkdir()
        (place / "kingdom/__init__.py").write_text(PACKAGE_INIT)
        (place / "kingdom/__main__.py").write_text(PACKAGE_MAIN)
        self.use_pip(PIP_THAT_INSTALLS)

    @property
    def venv(self) -> Path:
        return self.place / ".venv"

    @property
    def pip_calls(self) -> list[str]:
        return (self.venv / "pip-calls").read_text().splitlines()

    @property
    def set_ups(self) -> int:
        return sum(call.endswith(" --editable .") for call in self.pip_calls)

    def use_pip(self, source: str) -> None:
        """Environments made from now on have this for their pip."""
        package = self.tools.place.parent / "pip"
        package.mkdir(exist_ok=True)
        (package / "__init__.py").write_text("")
        (package / "__main__.py").write_text(source)
        self.make_environments_with(package)

    def make_environments_with(self, pip: Path) -> None:
        program = self.tools.add(
            "python-for-tests",
            f"'{sys.executable}' \"$@\" || exit\n"
            'case "$*" in *"-m venv"*)\n'
            "    for last; do :; done\n"
            '    cd "$last"/lib/python*/site-packages\n'
            f"    cp -rp '{pip}' pip ;;\n"
            "esac",
        )
        self.environment["KINGDOM_PYTHON"] = str(program)

    def start(self, *command: str | Path, **settings: object) -> subprocess.Popen[str]:
        options = {"stdin": subprocess.DEVNULL, "stderr": subprocess.PIPE, "env": self.environment}
        return subprocess.Popen(  # type: ignore[call-overload,no-any-return]
            [str(part) for part in command],
            stdout=subprocess.PIPE,
            text=True,
            **(options | settings),
        )

    def run(self, *command: str | Path, **settings: object) -> Outcome:
        process = self.start(*command, **settings)
        out, err = process.communicate(timeout=60)
        return Outcome(process.returncode, out, err)

    def kingdom(self, *arguments: str, **settings: object) -> Outcome:
        return self.run(self.place / "bin/kingdom", *arguments, **settings)


class Outcome:
    def __init__(self, status: int, out: str, err: str) -> None:
        self.status = status
        self.out = out
        self.err = err

    def __repr__(self) -> str:
        return f"status {self.status}\n{self.out}\n{self.err}"

    @property
    def complaint(self) -> str:
        """The one sentence of a set-up that failed, without the announcement."""
        assert self.status == 2, self
        assert self.out == ""
        sentence = self.err.removeprefix(SETTING_UP)
        assert sentence.count("\n") == 1, self
        assert "Traceback" not in sentence
        return sentence.rstrip("\n")
