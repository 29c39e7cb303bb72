"""`kingdom init`: a whole base directory, made once, never overwritten."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kingdom.ops.init import READMES, contents, directories
from kingdom.store.paths import BaseDir
from tests.support.cli import NORMAL_USER, ROOT, environment, kingdom, one_sentence


def tree(root: str | Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in Path(root).rglob("*")
        if path.is_file()
    }


def test_a_new_kingdom_is_whole_and_clean(tmp_path: Path) -> None:
    said = kingdom("init", "sub/my kingdom", cwd=tmp_path)
    base = BaseDir(tmp_path / "sub" / "my kingdom")
    assert said.code == 0
    assert said.lines[0] == f"Made in {base.root}:"
    assert f"  cd '{base.root}'" in said.lines
    assert all(os.path.isdir(path) for path in directories(base))
    expected = {name: text.encode() for name, text in contents().items()}
    assert tree(base.root) == expected | {"state/format": b"1\n"}
    assert kingdom("fsck", base=base).code == 0


def test_what_it_tells_to_type_next_works(tmp_path: Path) -> None:
    said = kingdom("init", "k", cwd=tmp_path)
    steps = said.out.partition("Next:\n")[2].splitlines()
    assert steps[-1].split()[:2] == ["kingdom", "start"]
    typed = [f'kingdom() {{ "{sys.executable}" -m kingdom "$@"; }}', *steps, "kingdom stop"]
    script = "\n".join(typed)
    done = subprocess.run(
        ["bash", "-ec", script], cwd=tmp_path, env=environment(), capture_output=True, check=True
    )
    assert b"github.pr.review_requested" in done.stdout


@pytest.mark.parametrize("is_command", [False, True])
def test_it_tells_how_to_type_it_where_that_is_no_command_yet(
    tmp_path: Path, is_command: bool
) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    if is_command:
        (programs / "kingdom").write_text("#!/bin/sh\n")
        (programs / "kingdom").chmod(0o755)
    said = kingdom("init", "k", cwd=tmp_path, env=environment(PATH=str(programs)))
    first = said.out.partition("Next:\n")[2].splitlines()[0]
    assert (first == f"  alias kingdom={ROOT}/bin/kingdom") is not is_command


def test_the_places_of_the_repository_say_the_same() -> None:
    for place, text in READMES.items():
        assert (ROOT / place / "README.md").read_text() == text


def test_a_second_time_changes_nothing(tmp_path: Path) -> None:
    kingdom("init", cwd=tmp_path)
    before = tree(tmp_path)
    said = kingdom("init", cwd=tmp_path)
    assert said.code == 0
    assert said.lines[0] == f"There already, and left as it was: {len(before)} files."
    assert tree(tmp_path) == before


def test_what_is_there_already_is_kept_and_the_rest_is_added(tmp_path: Path) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "system.yaml").write_text("timezone: Asia/Seoul\n")
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "own.md").write_text("mine too")
    said = kingdom("init", cwd=tmp_path)
    assert "There already, and left as it was: 1 file." in said.lines
    after = tree(tmp_path)
    assert after["config/system.yaml"] == b"timezone: Asia/Seoul\n"
    assert (after["notes.txt"], after["memory/own.md"]) == (b"mine", b"mine too")
    assert "config/king.yaml" in after
    assert "config/system.yaml" not in said.out.partition("Next:")[0]


def test_a_kingdom_of_the_predecessor_is_not_passed_off_as_a_new_one(tmp_path: Path) -> None:
    pending = tmp_path / "queue" / "events" / "pending"
    pending.mkdir(parents=True)
    (pending / "evt-1.json").write_text("{}")
    said = kingdom("init", cwd=tmp_path)
    assert not (tmp_path / "state" / "format").exists()
    assert "  kingdom migrate        # its messages are of an older version" in said.lines


@pytest.mark.parametrize("name", ["k", "k/queue", "k/queue/events/dead"])
def test_a_file_where_a_directory_should_be_is_one_sentence(tmp_path: Path, name: str) -> None:
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text("in the way")
    sentence = one_sentence(kingdom("init", "k", cwd=tmp_path), 2)
    assert (
        sentence == f"{tmp_path / name} is not a directory. Move it aside, or choose another place."
    )


def test_a_place_that_cannot_be_written_is_one_sentence() -> None:
    sentence = one_sentence(kingdom("init", "/proc/kingdom"), 2)
    assert sentence == "/proc/kingdom/config cannot be made there. Choose another place."


def test_a_place_this_user_may_not_write_is_one_sentence() -> None:
    sentence = one_sentence(kingdom("init", "/kingdom", command=NORMAL_USER), 1)
    assert sentence.startswith("/kingdom: Permission denied. Give this user the right to it")
