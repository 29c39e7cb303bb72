"""What is written for people agrees with the program."""

from __future__ import annotations

import re
from pathlib import Path

from kingdom.cli.table import COMMANDS
from kingdom.topology import STREAMS

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
SECURITY = ROOT / "SECURITY.md"
PAGES = [ROOT / "README.md", SECURITY, *sorted((ROOT / "docs").rglob("*.md"))]


def test_the_readme_is_short_and_names_every_command() -> None:
    assert len(README.splitlines()) < 150
    missing = [name for name in COMMANDS if f"`kingdom {name}" not in README]
    assert missing == ["version", "help"]


def test_every_directory_of_every_queue_is_explained() -> None:
    for page in (README, (ROOT / "docs" / "file-bus.md").read_text()):
        for stream in STREAMS.values():
            states = r"\s+".join(state.directory for state in stream.states)
            assert re.search(rf"{stream.root}/\s+{states}", page), stream.name


def test_links_lead_somewhere_and_commands_exist() -> None:
    for page in PAGES:
        text = page.read_text()
        for link in re.findall(r"\]\(([^)#:]+)\)", text):
            assert (page.parent / link).exists(), f"{page}: {link}"
        for command in re.findall(r"(?:^|[`(]|&& )(?:bin/)?kingdom ([a-z]+)\b", text, re.MULTILINE):
            assert command in COMMANDS, f"{page}: kingdom {command}"


def test_each_promise_about_security_names_a_test_that_exists() -> None:
    promises = re.findall(r"^- .*?(?=\n\n|\n- |\Z)", SECURITY.read_text(), re.MULTILINE | re.DOTALL)
    kept, _, not_kept = SECURITY.read_text().partition("## What is not defended")
    assert not_kept
    for promise in (one for one in promises if one in kept):
        named = re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", promise)
        assert named, promise
        for path, name in named:
            assert re.search(rf"def {name}\(", (ROOT / path).read_text()), f"{path}: {name}"
