"""What is shipped and what it is made of: the lock, the bill of materials and the wheel."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import packaging
import pytest
from hatchling.build import get_requires_for_build_editable
from packaging.requirements import Requirement

from tests.support.checkouts import ROOT, Checkout, Toolbox

GROUPS = ("runtime", "build", "dev", "bench")
REMEDY = "The lock is not current: refresh it with: bin/lock"


def lock(*arguments: str, root: Path = ROOT) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(root / "requirements/lock.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def copy(place: Path) -> Path:
    """A copy of what a wheel is built from, without what is not part of the project."""
    for name in ("kingdom", "requirements"):
        shutil.copytree(ROOT / name, place / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE", "hatch_build.py", ".gitignore"):
        shutil.copy(ROOT / name, place)
    return place


def change(path: str, old: str, new: str) -> Callable[[Path], object]:
    def edit(root: Path) -> None:
        text = (root / path).read_text()
        assert re.search(old, text)
        (root / path).write_text(re.sub(old, new, text, count=1))

    return edit


class TestLock:
    CHANGES = (
        (
            "a package that is not pinned",
            change("pyproject.toml", '  "psutil', '  "ours[fast]>=1",\n\\g<0>'),
            ["runtime: ours[fast]>=1 is not pinned"],
        ),
        (
            "a build requirement that is not pinned",
            change("pyproject.toml", '"editables', '"setuptools", \\g<0>'),
            ["build: setuptools is not pinned"],
        ),
        (
            "a pin that is too old",
            change("requirements/dev.txt", "\nruff==[0-9.]+", "\nruff==0.7.4"),
            ["dev: ruff>=0.8 is pinned to 0.7.4"],
        ),
        (
            "a package that is not asked for any more",
            change("pyproject.toml", ', "litequeue>=0.9"', ""),
            ["bench.txt does not have exactly what that group needs"],
        ),
        (
            "a group that is not asked for any more",
            change("pyproject.toml", "\nbench = .*", ""),
            ["bench.txt does not have exactly what that group needs"],
        ),
        (
            "a group that has no file",
            lambda root: (root / "requirements/bench.txt").unlink(),
            ["bench: huey>=2.5 is not pinned", "bench: litequeue>=0.9 is not pinned"],
        ),
    )

    @pytest.mark.parametrize(
        ("edit", "complaints"), [case[1:] for case in CHANGES], ids=[case[0] for case in CHANGES]
    )
    def test_is_not_current_with(
        self, tmp_path: Path, edit: Callable[[Path], object], complaints: list[str]
    ) -> None:
        shutil.copytree(ROOT / "requirements", tmp_path / "requirements")
        shutil.copy(ROOT / "pyproject.toml", tmp_path)
        edit(tmp_path)
        checked = lock("--check", root=tmp_path)

        assert checked.returncode == 1
        lines = checked.stderr.splitlines()
        assert lines[: len(complaints)] == complaints
        assert lines[-1] == REMEDY

    def test_that_is_not_current_fails_the_checks(self, tmp_path: Path) -> None:
        checkout = Checkout(tmp_path / "kingdom", Toolbox(tmp_path / "tools"))
        change("pyproject.toml", '  "psutil', '  "ours>=1",\n\\g<0>')(checkout.place)
        checkout.run(checkout.place / "bin/test")
        site_packages = next(checkout.venv.glob("lib/python*/site-packages"))
        (site_packages / "packaging").symlink_to(Path(packaging.__file__).parent)
        checked = checkout.run(checkout.place / "bin/check")

        assert checked.status == 1
        assert re.search(rf"^lock +FAILED .*\n(.*\n)*{REMEDY}\n", checked.out, re.MULTILINE)

    def test_covers_what_the_build_asks_for(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(ROOT)
        pinned = (ROOT / "requirements/build.txt").read_text()
        for requirement in get_requires_for_build_editable():
            assert f"\n{Requirement(requirement).name}==" in pinned

    def test_names_files_by_hash_and_no_place_to_get_them_from(self) -> None:
        for group in GROUPS:
            text = (ROOT / f"requirements/{group}.txt").read_text()
            pins = re.findall(r"^[\w.-]+==.*\n(?: +--hash=sha256:[0-9a-f]{64}.*\n)+", text, re.M)
            assert len(pins) == text.count("==") - text.count(" == '") > 0
            assert not re.search("//|^ *-(?!-hash)", text, re.M)

    def test_is_refreshed_with_uv(self, tmp_path: Path) -> None:
        checkout = Checkout(tmp_path / "kingdom", Toolbox(tmp_path / "tools"))
        change("pyproject.toml", '  "psutil', '  "ours>=1",\n\\g<0>')(checkout.place)
        change("pyproject.toml", "\nbench = .*", "")(checkout.place)
        checkout.environment["KINGDOM_PYTHON"] = sys.executable
        without = checkout.run(checkout.place / "bin/lock")
        assert (without.status, without.err.count("\n")) == (1, 1)
        assert "needs uv: install it with: " in without.err

        # It gets what was pinned in its fifth argument, and what is asked for on its input.
        pin = f"ours==1.0 \\\\\\n    --hash=sha256:{'0' * 64}\\n"
        checkout.tools.add("uv", f"grep -Fx 'ours>=1' && printf '{pin}' >>\"$5\"")
        assert checkout.run(checkout.place / "bin/lock").status == 0
        assert lock("--check", root=checkout.place).returncode == 0
        assert sorted(os.listdir(checkout.place / "requirements")) == [
            "build.txt", "dev.txt", "lock.py", "runtime.txt",
        ]  # fmt: skip


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Built from two copies that differ in place, dates, permissions and what lies about."""
    first = copy(tmp_path_factory.mktemp("first"))
    second = copy(tmp_path_factory.mktemp("second") / "at another/place")
    (second / "kingdom/__pycache__").mkdir()
    (second / "kingdom/__pycache__/left.cpython-311.pyc").touch()
    for path in second.rglob("*"):
        path.chmod(0o700 if path.is_dir() else 0o600)
        os.utime(path, (10**9, 10**9))
    return [build(first, 0o022), build(second, 0o077)]


def build(root: Path, umask: int) -> Path:
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "--target", "wheel"],
        cwd=root, umask=umask, capture_output=True, check=True,
    )  # fmt: skip
    (wheel,) = (root / "dist").iterdir()
    return wheel


class TestWheel:
    def test_is_the_same_wherever_it_is_built(self, wheels: list[Path]) -> None:
        first, second = wheels
        assert first.name == second.name
        assert first.read_bytes() == second.read_bytes()

    def test_has_a_bill_of_materials(self, wheels: list[Path]) -> None:
        with zipfile.ZipFile(wheels[0]) as wheel:
            (name,) = (name for name in wheel.namelist() if ".dist-info/sboms/" in name)
            text = wheel.read(name).decode()
        assert name.endswith("/kingdom.cdx.json")
        assert text == lock("--sbom").stdout

        bill = json.loads(text)
        assert (bill["bomFormat"], bill["specVersion"], bill["version"]) == ("CycloneDX", "1.6", 1)
        pins = re.findall(
            r"^([\w.-]+)==([^ ;]+)", (ROOT / "requirements/runtime.txt").read_text(), re.M
        )
        assert [(part["name"], part["version"]) for part in bill["components"]] == pins
        for part in bill["components"]:
            assert part["type"] == "library"
            assert part["bom-ref"] == part["purl"] == f"pkg:pypi/{part['name']}@{part['version']}"
        assert "//" not in text

        needs = {entry["ref"]: entry["dependsOn"] for entry in bill["dependencies"]}
        reached, next_ones = set(), {bill["metadata"]["component"]["bom-ref"]}
        while next_ones:
            reached |= next_ones
            next_ones = {ref for one in next_ones for ref in needs[one]} - reached
        assert (
            reached == needs.keys() == {"kingdom", *(part["purl"] for part in bill["components"])}
        )
