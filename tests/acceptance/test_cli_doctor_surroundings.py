"""`kingdom doctor` judges what the roles will see: this shell, or what systemd gives to them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kingdom.ops.init import init
from kingdom.ops.systemd.units import environment_file
from kingdom.store.paths import BaseDir
from tests.support import slack_workspace
from tests.support.cli import kingdom
from tests.support.slack_server import FakeSlack

VARIABLE = "SLACK_BOT_TOKEN"
TOKEN = {VARIABLE: slack_workspace.TOKEN}
BY_SHELL = "Programs and tokens are judged by this shell's environment."


class Place:
    def __init__(self, scratch: Path) -> None:
        self.base, self.home = BaseDir(scratch / "realm"), scratch / "home"
        self.units = self.home / ".config/systemd/user"
        init(self.base)

    def configure(self, slack: FakeSlack) -> None:
        Path(self.base.config, "local", "envoy.yaml").write_text(
            f"transport: slack\nslack: {{api_url: '{slack.url}', default_channel: '#kingdom'}}\n"
        )

    def install(self, **env: str) -> None:
        words = ("systemd", "print", "--user", "--json")
        said = kingdom(*words, base=self.base, env={"HOME": str(self.home), **env})
        self.units.mkdir(parents=True)
        for name, text in json.loads(said.out).items():
            (self.units / name).write_text(text)

    def write(self, content: str) -> None:
        path = Path(environment_file(self.base))
        path.write_text(content)
        path.chmod(0o600)

    def of(self, what: str, **env: str) -> list[tuple[str, str]]:
        said = kingdom("doctor", "--json", base=self.base, env={"HOME": str(self.home), **env})
        checks = json.loads(said.out)["checks"]
        return [(one["state"], one["sentence"]) for one in checks if one["what"] == what]


@pytest.fixture
def place(scratch: Path) -> Place:
    return Place(scratch)


def test_without_units_the_shell_decides(place: Place) -> None:
    with FakeSlack() as slack:
        place.configure(slack)
        assert place.of("slack", **TOKEN)[0][0] == "ok"
        assert place.of("environment") == [("ok", BY_SHELL)]
        place.write(f"{VARIABLE}={TOKEN[VARIABLE]}\n")
        assert place.of("slack")[0][0] == "problem", "nobody reads that file"


def test_with_units_the_file_of_the_units_decides(place: Place) -> None:
    place.install()
    with FakeSlack() as slack:
        place.configure(slack)
        (state, sentence), *_ = place.of("slack", **TOKEN)
        assert state == "problem"
        assert f"{VARIABLE} is not set" in sentence
        (told, hidden) = place.of("environment", **TOKEN)
        assert environment_file(place.base) in told[1]
        assert hidden == ("warning", f"Set in this shell, and not seen by the roles: {VARIABLE}.")
        place.write(f'# Slack\n\n{VARIABLE} = "{TOKEN[VARIABLE]}"\n')
        assert place.of("slack")[0][0] == "ok", "the shell knows nothing of it"
        assert len(place.of("environment")) == 1


def test_a_line_that_systemd_passes_over_is_no_token(place: Place) -> None:
    place.install()
    with FakeSlack() as slack:
        place.configure(slack)
        place.write(f"; before\nexport {VARIABLE}={TOKEN[VARIABLE]}\n")
        assert place.of("slack")[0][0] == "problem"
    (_, passed) = place.of("environment")
    assert "Line 2 of " in passed[1]


def test_programs_are_looked_for_where_the_units_do(place: Place, scratch: Path) -> None:
    own = place.home / ".local/bin"
    own.mkdir(parents=True)
    (own / "claude").write_text("#!/bin/sh\necho 2.1.325\n")
    (own / "claude").chmod(0o755)
    assert "is not installed" in place.of("claude", PATH="/usr/bin:/bin")[0][1]
    place.install(PATH="/usr/bin:/bin")
    assert f"2.1.325, {own}/claude" in place.of("claude", PATH="/usr/bin:/bin")[0][1]
    (own / "claude").unlink()
    elsewhere = scratch / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "claude").symlink_to("/bin/true")
    path = f"{elsewhere}:/usr/bin:/bin"
    assert "is not installed" in place.of("claude", PATH=path)[0][1], "only this shell finds it"
