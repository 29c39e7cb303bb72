"""The real programs that tests run, pinned.

The newer Claude Code comes with a Python package: the virtual environment's, or one of our own
beside it. The others come from npm. What is missing is installed once, into
`programs/` in the virtual environment; that needs the package registries.
"""

from __future__ import annotations

import fcntl
import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

NEW_CLAUDE = "claude-agent-sdk==0.2.182"  # brings 2.1.325
OLD_CLAUDE = "@anthropic-ai/claude-code@2.1.197"
CODEX = "@openai/codex@0.166.0"
PRISM = "@stoplight/prism-cli@5.16.0"
GITHUB_API = "@octokit/openapi@23.0.2"
EMULATE = "emulate@0.11.2"
_PLACE = Path(sys.prefix, "programs")
_SECONDS = 600
_BUNDLED = Path("claude_agent_sdk", "_bundled", "claude")


@cache
def new_claude() -> str:
    """A test that needs it fails without it: it is what soldiers run on."""
    found = importlib.util.find_spec("claude_agent_sdk")
    if found is not None and found.origin is not None:
        program = Path(found.origin).parent.parent / _BUNDLED
        if _version_in(program.parent.parent) == NEW_CLAUDE.rpartition("=")[2]:
            return str(program)
    argv = [sys.executable, "-m", "pip", "install", "--no-deps", "--no-input", "-q"]
    place, fault = _installed(NEW_CLAUDE, lambda to: [*argv, "--target", str(to), NEW_CLAUDE])
    if fault:
        pytest.fail(f"The tests of soldiers need {NEW_CLAUDE} from PyPI: {fault}", pytrace=False)
    return str(place / _BUNDLED)


@cache
def old_claude() -> str:
    return str(_from_npm(OLD_CLAUDE) / ".bin" / "claude")


@cache
def codex() -> str:
    return str(_from_npm(CODEX) / ".bin" / "codex")


@cache
def prism() -> str:
    """Stands before a server, and compares what passes with a description of it."""
    return str(_from_npm(PRISM) / ".bin" / "prism")


@cache
def github_api() -> Path:
    """GitHub's own description of it."""
    return _from_npm(GITHUB_API) / "@octokit/openapi/generated/api.github.com.json"


@cache
def emulate() -> Path:
    """A module for Node: GitHub and others, emulated by others."""
    return _from_npm(EMULATE) / "emulate/dist/api.js"


def _from_npm(package: str) -> Path:
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip(f"{package} is missing, and npm, which would install it, is not installed")
    argv = [npm, "install", "--no-audit", "--no-fund", "--loglevel", "error"]
    place, fault = _installed(package, lambda to: [*argv, "--prefix", str(to), package])
    if fault:
        pytest.skip(f"{package} is missing, and npm could not install it: {fault}")
    return place / "node_modules"


def _version_in(package: Path) -> str:
    """Of an installed package, without running it."""
    found = sorted(package.parent.glob(f"{package.name}-*.dist-info"))
    return found[-1].name.removesuffix(".dist-info").rpartition("-")[2] if found else ""


def _installed(package: str, argv: Callable[[Path], list[str]]) -> tuple[Path, str]:
    """Where it is, and what went wrong; whole or not at all, by one of many test processes."""
    place = _PLACE / package.replace("/", "-").replace("=", "-").strip("@")
    if place.exists():
        return place, ""
    _PLACE.mkdir(parents=True, exist_ok=True)
    with open(_PLACE / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if place.exists():
            return place, ""
        part = place.with_name(f".tmp-{place.name}")
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir()
        try:
            done = subprocess.run(argv(part), capture_output=True, text=True, timeout=_SECONDS)
        except subprocess.TimeoutExpired:
            return place, f"it took longer than {_SECONDS} s"
        if done.returncode != 0:
            words = (done.stderr or done.stdout).strip().splitlines()
            return place, words[-1] if words else f"it ended with {done.returncode}"
        os.rename(part, place)
    return place, ""
