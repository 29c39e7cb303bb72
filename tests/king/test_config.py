"""General packages and settings, checked together; and read anew while a role runs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kingdom.errors import ConfigurationError
from kingdom.models.schemas import config_files
from kingdom.ops.shipped import PACKAGES, shipped_files
from kingdom.runtime.config import LiveConfig, load_config
from kingdom.store.paths import BaseDir
from tests.support.court import Court
from tests.support.kingdom import event

ROOT = Path(__file__).parents[2]


def refusal(court: Court) -> str:
    try:
        (fault,) = load_config(court.base, {}).faults.values()
    except ConfigurationError as error:
        fault = error
    message = str(fault)
    assert "\n" not in message
    return message.replace(court.base.config, "config")


def write(court: Court, name: str, text: str) -> None:
    path = Path(court.base.config, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


# What is shipped


def test_the_shipped_configuration_loads_and_routes() -> None:
    config = load_config(BaseDir(ROOT), {})
    assert sorted(config.generals) == [
        "gen-briefing",
        "gen-herald",
        "gen-jira",
        "gen-pr",
        "gen-test",
    ]
    routes = {
        "github.pr.review_requested": "gen-pr",
        "jira.ticket.assigned": "gen-jira",
        "test.requested": "gen-test",
        "briefing.requested": "gen-briefing",
        "slack.channel.message": "gen-herald",
    }
    for type_, name in routes.items():
        general = config.route(type_)
        assert general is not None
        assert general.name == name
        assert general.soul
    assert config.route("github.pr.comment") is None
    assert "KINGDOM_RESULT_PATH" in config.guide


def test_the_repository_s_own_configuration_is_what_init_writes() -> None:
    stale = [
        name
        for name, content in shipped_files().items()
        if not (ROOT / "config" / name).is_file()
        or (ROOT / "config" / name).read_text("utf-8") != content
    ]
    assert not stale, "run: python -m kingdom.ops.shipped"
    assert set(config_files()) < set(shipped_files())
    generals = {path.name for path in (ROOT / "config" / "generals").iterdir()}
    assert generals == {name for name in os.listdir(PACKAGES) if name.startswith("gen-")}


# General packages


def test_a_local_package_wins_as_a_whole(court: Court) -> None:
    write(court, "generals/gen-pr/soul.md", "Shipped soul.")
    write(
        court,
        "local/generals/gen-pr/manifest.yaml",
        "name: gen-pr\ndescription: Mine\nsubscribes: [my.own]\n",
    )
    write(court, "local/generals/gen-pr/prompt.md", "Mine: {{payload.a.b}}")
    config = load_config(court.base, {})
    general = config.generals["gen-pr"]
    assert (general.manifest.description, general.prompt) == ("Mine", "Mine: {{payload.a.b}}")
    assert general.soul is None
    assert config.route("github.pr.comment") is None
    assert general.directory.endswith("config/local/generals/gen-pr")


def test_the_guide_of_soldiers_may_be_one_s_own(court: Court) -> None:
    assert load_config(court.base, {}).guide == ""
    write(court, "workspace-claude.md", "Shipped.")
    assert load_config(court.base, {}).guide == "Shipped."
    write(court, "local/workspace-claude.md", "Mine.")
    assert load_config(court.base, {}).guide == "Mine."


def test_what_is_no_package_is_passed_over(court: Court) -> None:
    write(court, "generals/README.md", "text")
    write(court, "generals/.git/config", "text")
    assert list(load_config(court.base, {}).generals) == ["gen-pr"]


def test_two_generals_that_claim_one_type_are_named_with_both_files(court: Court) -> None:
    court.general("gen-rival", "jira.ticket.assigned, github.pr.*")
    assert refusal(court) == (
        "config/generals/gen-pr/manifest.yaml and config/generals/gen-rival/manifest.yaml both "
        "claim the type github.pr.*. Take it out of one of them."
    )


def test_a_pattern_and_a_type_below_it_are_no_conflict(court: Court) -> None:
    court.general("gen-rival", "github.pr.comment, github.*")
    config = load_config(court.base, {})
    routed = {
        type_: general.name if (general := config.route(type_)) else None
        for type_ in ("github.pr.comment", "github.pr.assigned", "github.issue.comment")
    }
    assert routed == {
        "github.pr.comment": "gen-rival",
        "github.pr.assigned": "gen-pr",
        "github.issue.comment": "gen-rival",
    }


def test_two_schedules_of_one_name_are_named_with_both_files(court: Court) -> None:
    line = "schedules: [{name: nightly, cron: 0 3 * * *, task_type: x}]\n"
    court.general("gen-a", more=line)
    court.general("gen-b", more=line)
    assert "gen-a/manifest.yaml and config/generals/gen-b" in refusal(court)
    assert "both have a schedule named nightly" in refusal(court)


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        (
            "manifest.yaml",
            "name: gen-pr\ndescription: x\nsubscribe: [a.b]\n",
            "config/generals/gen-pr/manifest.yaml:3: `subscribe` is not a setting. "
            "Did you mean `subscribes`?",
        ),
        (
            "manifest.yaml",
            "name: gen-pr\ndescription: x\nschedules:\n- name: s\n  cron: 61 * * * *\n"
            "  task_type: x\n",
            "config/generals/gen-pr/manifest.yaml:5: `schedules.0.cron`: '61 * * * *' is not a "
            "schedule: its minute cannot be read.",
        ),
        (
            "manifest.yaml",
            "name: gen-pr\ndescription: x\nschedules:\n- {name: s, cron: 0 0 30 2 *, "
            "task_type: x}\n",
            "is not a schedule: its day-of-month cannot be read.",
        ),
        (
            "manifest.yaml",
            "name: gen-other\ndescription: x\n",
            "`name` is gen-other, but its directory is gen-pr. Give both the same name.",
        ),
        (
            "manifest.yaml",
            "name: gen-pr\ndescription: x\nsubscribes: [kingdom.command]\n",
            "kingdom.command is handled by the king itself. Leave it out.",
        ),
        (
            "prompt.md",
            "Fine.\n\nDo {{TASK_ID}} in {{REPOSITORY}}.\n",
            "config/generals/gen-pr/prompt.md:3: {{REPOSITORY}} is not a placeholder. Known: "
            "TASK_ID, TASK_TYPE, REPO, REPO_DIR, BASE, GENERALS and payload.KEY, each in "
            "double braces.",
        ),
        ("prompt.md", "{{payload.}}", "{{payload.}} is not a placeholder."),
        ("prompt.md", "{{ TASK_ID }}", "{{ TASK_ID }} is not a placeholder."),
        ("prompt.md", "{{payload.a\n}}", ""),
    ],
)
def test_a_wrong_package_is_refused_in_one_sentence_with_its_file(
    court: Court, name: str, text: str, sentence: str
) -> None:
    write(court, f"generals/gen-pr/{name}", text)
    if sentence:
        assert sentence in refusal(court)
    else:
        load_config(court.base, {})


def test_a_package_that_is_not_whole_is_refused(court: Court) -> None:
    os.unlink(court.base.path("config/generals/gen-pr/prompt.md"))
    assert refusal(court) == (
        "config/generals/gen-pr: a general package without prompt.md. "
        "Add the file, or remove the directory."
    )
    Path(court.base.path("config/generals/gen-pr/prompt.md")).mkdir()
    assert "it cannot be read: Is a directory." in refusal(court)


@pytest.mark.parametrize("data", [b"\xff\xfe", b"x" * 1_000_001])
def test_a_prompt_that_is_no_text_is_refused(court: Court, data: bytes) -> None:
    Path(court.base.path("config/generals/gen-pr/prompt.md")).write_bytes(data)
    assert "prompt.md: it" in refusal(court)


# While a role runs


def test_changes_come_into_force_and_are_looked_for_once_a_second(court: Court) -> None:
    live = LiveConfig(court.base, {}, court.clock)
    court.general("gen-jira", "jira.*")
    assert not live.refresh()
    court.clock.advance(1)
    assert live.refresh()
    assert sorted(live.current.generals) == ["gen-jira", "gen-pr"]
    read = live.current
    court.clock.advance(1)
    assert not live.refresh()
    assert live.current is read, "read again for nothing"
    court.soldiers(7)
    court.clock.advance(1)
    assert live.refresh()
    assert live.current.settings.king.concurrency.max_soldiers == 7


def test_the_last_good_one_stays_in_force(court: Court) -> None:
    live = LiveConfig(court.base, {}, court.clock)
    before = live.current
    court.configure(king="concurrency: {max_soldiers: many}\n")
    court.clock.advance(1)
    assert not live.refresh()
    assert live.current is before
    assert "king.yaml:1" in str(live.problem)
    court.clock.advance(1)
    assert not live.refresh()
    assert live.problem is not None
    court.soldiers(4)
    court.clock.advance(1)
    assert live.refresh()
    assert live.problem is None


def test_a_wrong_file_that_is_put_right_again_is_no_change(court: Court) -> None:
    live = LiveConfig(court.base, {}, court.clock)
    court.general("gen-pr", "github.pr.*", "nonsense: 1\n")
    court.clock.advance(1)
    live.refresh()
    assert live.problem is not None
    court.general("gen-pr", "github.pr.*")
    court.clock.advance(1)
    assert not live.refresh()
    assert live.problem is None


def test_what_may_be_for_a_broken_general_waits_until_it_is_mended(court: Court) -> None:
    court.soldiers(9)
    court.general("gen-jira", "jira.ticket.*", "oops: 1\n")
    king = court.king()
    court.send(event("1", type="jira.ticket.updated"), event("2", type="github.pr.assigned"))
    king.step()
    assert [one["target_general"] for one in court.all("tasks")] == ["gen-pr"]
    told = Path(court.base.events_log).read_text()
    assert "general_unusable: No general takes it up, and gen-jira cannot be used: " in told
    court.general("gen-jira", "jira.ticket.*")
    court.clock.advance(2)
    king.step()
    assert sorted(one["target_general"] for one in court.all("tasks")) == ["gen-jira", "gen-pr"]


def test_every_file_counts(court: Court) -> None:
    write(court, "workspace-claude.md", "Guide.")
    live = LiveConfig(court.base, {}, court.clock)
    for name in (
        "local/system.yaml",
        "local/workspace-claude.md",
        "generals/gen-pr/soul.md",
        "local/generals/gen-pr/manifest.yaml",
    ):
        write(court, name, "name: gen-pr\ndescription: x\n" if "manifest" in name else "# x\n")
        if "manifest" in name:
            write(court, "local/generals/gen-pr/prompt.md", "x")
        court.clock.advance(1)
        live.refresh()
        assert live.problem is None
    assert live.current.guide == "# x\n"
    assert live.current.generals["gen-pr"].manifest.subscribes == []
    os.unlink(court.base.path("config/local/generals/gen-pr/manifest.yaml"))
    court.clock.advance(1)
    live.refresh()
    assert "without manifest.yaml" in str(live.problem)


def test_the_king_follows_what_changes_and_says_once_what_is_wrong(court: Court) -> None:
    court.soldiers(9)
    king = court.king()
    court.general("gen-jira", "jira.ticket.*")
    court.clock.advance(2)
    court.send(event("1", type="jira.ticket.updated"))
    king.step()
    assert court.all("tasks")[0]["target_general"] == "gen-jira"
    court.general("gen-jira", "jira.ticket.*", "oops: 1\n")
    for number in range(3):
        court.clock.advance(2)
        court.send(event(f"again{number}", type="jira.ticket.updated"))
        king.step()
    assert len(court.all("tasks")) == 4
    assert Path(court.base.system_log).read_text().count("config.refused") == 1
