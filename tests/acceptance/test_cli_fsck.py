"""`kingdom fsck` as a person meets it; each check by itself is in test_ops_fsck."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from kingdom.bus.files.bus import FileBus
from kingdom.ops.init import init
from kingdom.store.paths import BaseDir
from tests.support.cli import NORMAL_USER, give_away, kingdom, one_sentence
from tests.support.kingdom import counts, drop, event


@pytest.fixture(autouse=True)
def kingdom_here(base: BaseDir) -> None:
    init(base)


def break_it(base: BaseDir) -> None:
    os.rmdir(base.path("queue/tasks/dead"))
    path = drop(base, "events/completed", "evt-1.json", "{")
    os.utime(path, (1, 1))
    os.mkdir(base.path("queue/events/failed"))


def test_clean_is_said_and_is_exit_code_0(base: BaseDir) -> None:
    said = kingdom("fsck", base=base)
    assert (said.code, said.out, said.err) == (0, "Everything is as it should be.\n", "")


def test_each_finding_is_a_sentence_and_its_repair(base: BaseDir) -> None:
    break_it(base)
    before = counts(base)
    said = kingdom("fsck", base=base)
    assert said.code == 1
    assert said.lines[:2] == [
        "queue/tasks/dead: It is missing.",
        "    repair: kingdom fsck --fix (makes it)",
    ]
    assert said.lines[-1] == "3 findings in all."
    assert counts(base) == before, "looking changes nothing"


def test_fix_says_what_it_did_and_what_is_left(base: BaseDir) -> None:
    break_it(base)
    said = kingdom("fsck", "--fix", base=base)
    assert said.code == 1
    dead = base.path("queue/events/dead/evt-1.json")
    assert said.lines[0] == "queue/tasks/dead: It is missing. Made."
    assert said.lines[1].startswith("queue/events/completed/evt-1.json: It is not JSON")
    assert said.lines[1].endswith(f"Moved to {dead}.")
    assert said.lines[2] == "queue/events/failed: Nobody reads what lies there."
    assert said.lines[-1] == "1 finding left."
    os.rmdir(base.path("queue/events/failed"))
    assert kingdom("fsck", "--fix", base=base).code == 0


def test_json_says_the_same(base: BaseDir) -> None:
    break_it(base)
    found = json.loads(kingdom("fsck", "--json", base=base).out)
    assert not found["clean"]
    assert [(one["check"], one["fixable"]) for one in found["findings"]] == [
        ("directories", True),
        ("messages", True),
        ("strangers", False),
    ]
    fixed = json.loads(kingdom("fsck", "--fix", "--json", base=base).out)
    assert fixed["repaired"][0]["done"] == "Made."
    assert [one["check"] for one in fixed["findings"]] == ["strangers"]


def test_a_newer_format_is_a_finding_here_and_a_refusal_elsewhere(base: BaseDir) -> None:
    Path(base.format_file).write_text("7\n")
    said = kingdom("fsck", "--fix", base=base)
    assert said.code == 1
    assert "    repair: upgrade kingdom on this machine" in said.lines
    sentence = (
        f"{base.root} has files of format 7, and this program knows 1 at most. "
        "Upgrade kingdom on this machine, then try again."
    )
    for words in (["queue", "ls"], ["send", "a.b"], ["config"], ["backup"], ["migrate"]):
        assert one_sentence(kingdom(*words, base=base, cwd=base.root), 2) == sentence
    assert counts(base) == {}


def test_an_older_format_names_the_remedy(base: BaseDir) -> None:
    os.unlink(base.format_file)
    drop(base, "events/pending", "evt-1.json", "{}")
    for words in (["queue", "ls"], ["send", "a.b"], ["queue", "retry", "evt-1"]):
        assert one_sentence(kingdom(*words, base=base), 2).endswith(
            "Upgrade them with: kingdom migrate"
        )


def test_rights_are_given_back_where_they_are_ours_to_give(base: BaseDir) -> None:
    path = drop(base, "events/pending", "evt-1.json", '{"id": "evt-1"}')
    drop(base, "events/pending", "evt-2.json", "{}")
    give_away(base.root)
    os.chmod(path, 0)
    os.chmod(base.path("queue/tasks/pending"), 0)
    found = json.loads(kingdom("fsck", "--json", base=base, command=NORMAL_USER).out)["findings"]
    rights = [(one["path"], one["repair"]) for one in found if one["check"] == "rights"]
    assert rights == [
        (name, f"kingdom fsck --fix (chmod u+{letters} {base.path(name)})")
        for name, letters in (
            ("queue/tasks/pending", "rwx"),
            ("queue/events/pending/evt-1.json", "rw"),
        )
    ]
    done = json.loads(kingdom("fsck", "--fix", "--json", base=base, command=NORMAL_USER).out)
    assert "rights" not in {one["check"] for one in done["findings"]}
    assert os.stat(path.parent).st_uid == os.stat(base.path("queue/tasks/pending")).st_uid
    assert os.access(base.path("queue/tasks/pending"), os.R_OK)


@pytest.mark.parametrize("name", ["state", "state/bus", "queue"])
def test_of_a_closed_directory_nothing_else_is_said(base: BaseDir, name: str) -> None:
    give_away(base.root)
    os.chmod(base.path(name), 0)
    said = kingdom("fsck", base=base, command=NORMAL_USER)
    assert said.lines == [
        f"{name}: This user may not read and write it.",
        f"    repair: kingdom fsck --fix (chmod u+rwx {base.path(name)})",
        "1 finding in all.",
    ]
    assert kingdom("fsck", "--fix", base=base, command=NORMAL_USER).code == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can own what others may not read")
def test_rights_that_are_not_ours_to_give_are_named(base: BaseDir) -> None:
    give_away(base.root)
    os.chown(base.path("queue/tasks/pending"), 0, 0)
    os.chmod(base.path("queue/tasks/pending"), 0o700)
    said = kingdom("fsck", "--fix", base=base, command=NORMAL_USER)
    assert said.code == 1
    chown = f"sudo chown 65534 {base.path('queue/tasks/pending')}"
    assert f"    repair: {chown}" in said.lines


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can own what others may not read")
def test_what_a_check_may_not_open_does_not_stop_the_others(base: BaseDir, bus: FileBus) -> None:
    bus.publish("events", event("1"))
    os.rmdir(base.path("queue/tasks/dead"))
    give_away(base.root)
    life = base.path("state/bus/journal/0.life")
    os.chown(life, 0, 0)
    os.chmod(life, 0o600)
    said = kingdom("fsck", base=base, command=NORMAL_USER)
    assert said.code == 1
    assert f"    repair: sudo chown 65534 {life}" in said.lines
    assert "queue/tasks/dead: It is missing." in said.lines
