"""`kingdom backup` and `kingdom restore` as a person meets them."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from kingdom.ops.init import init
from kingdom.store.paths import BaseDir
from tests.support.cli import kingdom, one_sentence
from tests.support.kingdom import counts


@pytest.fixture(autouse=True)
def kingdom_here(base: BaseDir) -> None:
    init(base)


def test_there_and_back(base: BaseDir, tmp_path: Path) -> None:
    kingdom("send", "a.b", "--id", "evt-1", base=base)
    said = kingdom("backup", base=base, cwd=tmp_path)
    assert said.code == 0
    name = os.path.basename(base.root)
    assert re.fullmatch(rf"{tmp_path}/{name}-\d{{8}}T\d{{6}}Z\.tar\.gz\n", said.out)
    assert re.fullmatch(
        r"kingdom: \d+ files, [\d,]+ bytes; logs/ and workspace/ left out\.\n", said.err
    )
    (archive,) = os.listdir(tmp_path)
    back = kingdom("restore", archive, "again", cwd=tmp_path)
    assert back.code == 0
    assert back.lines[0].startswith(f"{tmp_path / 'again'} is the kingdom of 20")
    restored = BaseDir(tmp_path / "again")
    assert counts(restored) == {"events/pending": 1}
    assert kingdom("fsck", base=restored).code == 0
    assert kingdom("send", "a.b", "--id", "evt-1", base=restored).err.endswith(
        "nothing was sent.\n"
    )


def test_a_directory_means_a_name_inside_it(base: BaseDir, tmp_path: Path) -> None:
    (tmp_path / "backups").mkdir()
    kingdom("backup", "backups", "--with-logs", base=base, cwd=tmp_path)
    assert len(os.listdir(tmp_path / "backups")) == 1
    refused = one_sentence(kingdom("backup", "none/k.tar.gz", base=base, cwd=tmp_path), 2)
    assert refused == f"There is no directory {tmp_path}/none. Make it, or choose another."


def test_what_is_there_is_never_overwritten(base: BaseDir, tmp_path: Path) -> None:
    assert kingdom("backup", "k.tar.gz", base=base, cwd=tmp_path).code == 0
    again = one_sentence(kingdom("backup", "k.tar.gz", base=base, cwd=tmp_path), 2)
    assert again.startswith(f"{tmp_path}/k.tar.gz exists already.")
    into = one_sentence(kingdom("restore", f"{tmp_path}/k.tar.gz", base=base), 2)
    assert into == (
        f"{base.root} is not empty, and restoring never overwrites. "
        f"Stop the kingdom there and move it aside: mv {base.root} {base.root}.old"
    )


def test_a_damaged_archive_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "k.tar.gz").write_bytes(b"\x1f\x8b nothing")
    refused = one_sentence(kingdom("restore", "k.tar.gz", "new", cwd=tmp_path), 1)
    assert refused.startswith("The archive is damaged or not one of kingdom's: ")
    assert refused.endswith("Nothing was changed; use another archive.")
    assert os.listdir(tmp_path) == ["k.tar.gz"]
    missing = one_sentence(kingdom("restore", "none.tar.gz", "new", cwd=tmp_path), 2)
    assert missing.startswith(f"There is no archive {tmp_path}/none.tar.gz.")


def test_a_full_disk_is_one_sentence_and_leaves_nothing(base: BaseDir) -> None:
    """No file of this process may grow beyond a few bytes, which is what a full disk looks like."""
    import subprocess

    from tests.support.cli import COMMAND, environment

    line = " ".join(
        [f'"{COMMAND[0]}"', "-m", "kingdom", "--base-dir", base.root, "backup", base.root]
    )
    limited = subprocess.run(
        ["bash", "-c", f"trap '' XFSZ; export PYTHONDONTWRITEBYTECODE=1; ulimit -f 1; exec {line}"],
        capture_output=True, text=True, env=environment(), cwd="/", check=False,
    )  # fmt: skip
    assert limited.returncode == 1, limited
    assert limited.stderr.startswith("kingdom: "), limited
    assert "Traceback" not in limited.stderr
    assert not [name for name in os.listdir(base.root) if "tar" in name or name.startswith(".tmp")]
