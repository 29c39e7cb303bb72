"""The lock: every package that set-up installs, each file of it by hash, in a file per group.

    bin/lock                       pins what pyproject.toml asks for; what is pinned stays so
    bin/lock --upgrade             pins the newest versions; takes any option of `uv pip compile`
    requirements/lock.py --check   says what is not current, without a network; bin/check runs it
    requirements/lock.py --sbom    prints the software bill of materials (CycloneDX) of what runs

The groups are `runtime`, `build` and the extras of pyproject.toml. They are resolved together, for
every Python and system at once, and a package is pinned in the first group that needs it. What
needs it stands below it, after `# via`. A package without a wheel for a system is compiled there
from its locked source; what it is compiled with is not locked.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from typing import NamedTuple

PLACE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(PLACE)
HEADER = "# Written by bin/lock, from pyproject.toml: see lock.py.\n"
PIN = re.compile(r"^([\w.-]+)==([^\s;]+).*\n(?: .*\n)*", re.MULTILINE)
VIA = re.compile(r"^ +#(?: via|  ) ([\w.-]+)", re.MULTILINE)


class Pin(NamedTuple):
    name: str
    version: str
    text: str
    needed_by: frozenset[str]


def read(*path: str) -> str:
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


def pins_in(text: str) -> list[Pin]:
    return [
        Pin(found[1], found[2], found[0], frozenset(VIA.findall(found[0])))
        for found in PIN.finditer(text)
    ]


def locked() -> dict[str, str]:
    """The text of each file there is, by group."""
    names = sorted(name for name in os.listdir(PLACE) if name.endswith(".txt"))
    return {name.removesuffix(".txt"): read(PLACE, name) for name in names}


def requirements() -> dict[str, list[str]]:
    """What pyproject.toml asks for, by group."""
    project = tomllib.loads(read("pyproject.toml"))
    return {
        "runtime": project["project"]["dependencies"],
        "build": project["build-system"]["requires"],
        **project["project"]["optional-dependencies"],
    }


def name_of(requirement: str) -> str:
    found = re.match(r"[\w.-]+", requirement)
    assert found, requirement
    return re.sub(r"[-_.]+", "-", found[0]).lower()


def arrange(pins: list[Pin]) -> dict[str, str]:
    """What the files have to say, by group. A pin that no group needs is in none of them."""
    files = {}
    for group, asked in requirements().items():
        needed = {name_of(requirement) for requirement in asked}
        while more := {pin.name for pin in pins if pin.needed_by & needed} - needed:
            needed |= more
        files[group] = HEADER + "".join(pin.text for pin in pins if pin.name in needed)
        pins = [pin for pin in pins if pin.name not in needed]
    return files


def refresh(options: list[str]) -> None:
    project = tomllib.loads(read("pyproject.toml"))["project"]
    oldest = project["requires-python"].removeprefix(">=")
    before = locked()
    with tempfile.TemporaryDirectory() as directory:
        # What lies there already, uv keeps if it can.
        path = os.path.join(directory, "lock.txt")
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(pin.text for text in before.values() for pin in pins_in(text))
        command = ["uv", "pip", "compile", "-", "--output-file", path, "--quiet", "--no-header"]
        command += ["--universal", "--python-version", oldest, "--fork-strategy", "fewest"]
        command += ["--generate-hashes", *options]
        asked = "\n".join(line for group in requirements().values() for line in group)
        try:
            done = subprocess.run(command, input=asked, text=True, cwd=directory, check=False)
        except FileNotFoundError:
            sys.exit("bin/lock needs uv: install it with: python3 -m pip install uv")
        if done.returncode:
            sys.exit(done.returncode)
        files = arrange(pins_in(read(path)))
    for group in before.keys() - files.keys():
        os.unlink(os.path.join(PLACE, f"{group}.txt"))
    for group, text in files.items():
        # A file with a new date is installed anew.
        if text != before.get(group):
            with open(os.path.join(PLACE, f"{group}.txt"), "w", encoding="utf-8") as file:
                file.write(text)


def check() -> None:
    from packaging.requirements import Requirement

    texts = locked()
    pins = [pin for text in texts.values() for pin in pins_in(text)]
    complaints = []
    for group, asked in requirements().items():
        for requirement in map(Requirement, asked):
            pinned = [pin.version for pin in pins if pin.name == name_of(requirement.name)]
            if not pinned:
                complaints.append(f"{group}: {requirement} is not pinned")
            complaints += [
                f"{group}: {requirement} is pinned to {version}"
                for version in pinned
                if not requirement.specifier.contains(version, prereleases=True)
            ]
    files = arrange(pins)
    complaints += [
        f"{group}.txt does not have exactly what that group needs"
        for group in sorted(files.keys() | texts.keys())
        if files.get(group) != texts.get(group)
    ]
    if complaints:
        sys.exit("\n".join([*complaints, "The lock is not current: refresh it with: bin/lock"]))


def bill_of_materials() -> str:
    """The same text for the same lock and version, as a reproducible wheel needs it."""
    pins = pins_in(locked()["runtime"])
    version = re.search(r'__version__ = "(.+)"', read("kingdom", "__init__.py"))
    assert version
    itself = {"bom-ref": "kingdom", "type": "application", "name": "kingdom"}
    direct = {name_of(requirement) for requirement in requirements()["runtime"]}
    needs = {"kingdom": [purl(pin) for pin in pins if pin.name in direct]}
    for pin in pins:
        needs[purl(pin)] = [purl(other) for other in pins if pin.name in other.needed_by]
    bill = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": itself | {"version": version[1]}},
        "components": [
            {"bom-ref": purl(pin), "type": "library", "name": pin.name}
            | {"version": pin.version, "purl": purl(pin)}
            for pin in pins
        ],
        "dependencies": [{"ref": ref, "dependsOn": needed} for ref, needed in needs.items()],
    }
    return json.dumps(bill, indent=2) + "\n"


def purl(pin: Pin) -> str:
    return f"pkg:pypi/{pin.name}@{pin.version}"


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["--check"]:
            check()
        case ["--sbom"]:
            sys.stdout.write(bill_of_materials())
        case options:
            refresh(options)
