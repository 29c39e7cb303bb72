"""Reading logs: the last lines, whose they are, and new ones over a rotation."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kingdom.ops.logs import (
    MOST,
    Follower,
    Source,
    everything,
    last_lines,
    of_role,
    of_start,
    with_id,
)
from kingdom.store import disk
from kingdom.store.paths import BaseDir


@pytest.fixture
def log(base: BaseDir) -> Path:
    os.makedirs(base.logs)
    return Path(base.system_log)


def line(role: str, text: str, second: int = 0) -> str:
    return f"[2026-02-07T10:00:{second:02d}.000Z] [ROLE] [{role}] {text}"


def append(log: Path, text: str) -> None:
    disk.append_line(str(log), f"{text}\n".encode())


def test_the_last_lines_are_those_of_the_end(log: Path) -> None:
    for number in range(50):
        append(log, line("king", f"number {number}"))
    found = last_lines([Source(str(log), everything)], 3)
    assert [one.rpartition(" ")[2] for one in found] == ["47", "48", "49"]


@pytest.mark.parametrize("before", ["", "hello\n"])
def test_of_a_line_longer_than_all_we_look_at_its_end_is_shown(log: Path, before: str) -> None:
    log.write_text(before + "x" * (MOST + 10) + "the end")
    (found,) = last_lines([Source(str(log), everything)], 3)
    assert (found[0], found.endswith("xthe end"), len(found) < 5000) == ("…", True, True)


def test_a_missing_log_has_no_lines(log: Path) -> None:
    assert last_lines([Source(str(log), everything)], 3) == []


def test_a_role_s_lines_are_its_own_and_those_about_it(log: Path) -> None:
    append(log, line("king", "role.started"))
    append(log, line("gen-pr", "says [king] in its text, far too late to be a head " + "x" * 99))
    append(log, line("warden", "role_ended target=king pid=7"))
    append(log, line("warden", "role_ended target=kings pid=7"))
    found = last_lines([Source(str(log), of_role("king"))], 9)
    assert [one.split("] ")[-1][:12] for one in found] == ["role.started", "role_ended t"]
    assert "kings" not in "".join(found)


def test_a_task_s_lines_are_not_those_of_one_that_begins_alike(log: Path) -> None:
    wanted = with_id("task-20260207-001")
    assert wanted(line("king", "made task-20260207-001, at once"))
    assert not wanted(line("king", "made task-20260207-0010"))
    assert not wanted(line("king", "sub-task-20260207-001"))


def test_several_logs_are_merged_by_time(log: Path) -> None:
    other = log.with_name("tasks.log")
    append(log, line("king", "one", 1))
    append(log, line("king", "three", 3))
    append(other, line("gen-pr", "two", 2))
    found = last_lines([Source(str(log), everything), Source(str(other), everything)], 9)
    assert [one.rpartition(" ")[2] for one in found] == ["one", "two", "three"]


def test_of_a_traceback_only_its_end_is_shown(base: BaseDir, log: Path) -> None:
    append(log, line("king", r"role.crashed exception=Traceback (most\n  File\nKeyError: 'x'"))
    assert of_start(base, "king", 5) == [line("king", "role.crashed KeyError: 'x'")]


def test_following_begins_at_the_end_and_gives_whole_lines(log: Path) -> None:
    append(log, "before")
    follower = Follower(Source(str(log), everything))
    with log.open("a") as file:
        file.write("one\ntw")
        file.flush()
        assert list(follower.lines()) == ["one"]
        file.write("o\n")
    assert list(follower.lines()) == ["two"]
    follower.close()


def test_following_goes_on_over_a_rotation_by_rename(log: Path) -> None:
    append(log, "before")
    follower = Follower(Source(str(log), everything))
    append(log, "last of the old")
    log.rename(log.with_suffix(".1"))
    assert list(follower.lines()) == ["last of the old"]
    append(log, "first of the new")
    append(log, "second")
    assert list(follower.lines()) == ["first of the new", "second"]
    follower.close()


def test_a_line_written_to_the_old_file_after_the_rename_is_not_lost(log: Path) -> None:
    append(log, "before")
    follower = Follower(Source(str(log), everything))
    with log.open("a") as writer:
        log.rename(log.with_suffix(".1"))
        append(log, "new")
        writer.write("late, without its end")
    assert list(follower.lines()) == ["late, without its end", "new"]
    follower.close()


def test_following_a_log_that_is_not_there_yet_or_was_emptied(log: Path) -> None:
    follower = Follower(Source(str(log), everything))
    assert list(follower.lines()) == []
    append(log, "first, and a long one")
    assert list(follower.lines()) == ["first, and a long one"]
    os.truncate(log, 0)
    append(log, "anew")
    assert list(follower.lines()) == ["anew"]
    follower.close()
