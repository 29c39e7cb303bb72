"""`kingdom backup` and `kingdom restore` as a person meets them."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path

import pytest

from kingdom.ops.init import init
from kingdom.store.paths import BaseDir
from tests.support.cli import NORMAL_USER, give_away, kingdom, one_sentence
from tests.support.kingdom import counts, drop, files, load
from tests.support.puppets import ended_afterwards
from tests.support.waiting import eventually


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


def test_what_this_user_may_not_read_is_named_and_the_rest_is_saved(base: BaseDir) -> None:
    drop(base, "events/dead", "evt-1.json", "{}")
    for name in ("memory/closed/inside", "state/listed/inside", "memory/fixed/inside"):
        os.mkdir(os.path.dirname(base.path(name)))
        Path(base.path(name)).write_text("x")
    Path(base.path("config/local/system.yaml")).write_text("language: ko\n")
    modes = {
        "config/local/system.yaml": 0,
        "memory/closed": 0,
        "queue/events/dead/evt-1.json": 0,
        "state/listed": 0o400,
    }
    give_away(base.root)
    os.chmod(base.path("memory/fixed"), 0o500)
    for name, mode in modes.items():
        os.chmod(base.path(name), mode)
    said = kingdom("backup", base.path("k.tar.gz"), base=base, command=NORMAL_USER)
    assert (said.code, said.out) == (1, f"{base.path('k.tar.gz')}\n")
    told = said.err.splitlines()
    assert "system.yaml: it cannot be read: Permission denied." in told[0]
    assert told[0].endswith("The backup is made all the same.")
    why = "is not in the archive: this user may not read it. See what to do about it with: kingdom"
    left_out = [name for name in modes if name != "state/listed"] + ["state/listed/inside"]
    assert told[2:] == [f"kingdom: {name} {why} fsck" for name in left_out]
    kingdom("restore", base.path("k.tar.gz"), base.path("new"), command=NORMAL_USER)
    restored = BaseDir(base.path("new"))
    assert os.path.isfile(restored.path("config/system.yaml"))
    assert os.stat(restored.path("memory/closed")).st_mode & 0o777 == 0
    left = base.path(".tmp-999999999-1-kingdom-restore")
    os.rename(restored.root, left)  # as a restore that was killed at its end
    again = kingdom("restore", base.path("k.tar.gz"), restored.root, command=NORMAL_USER)
    assert (again.code, os.path.exists(left)) == (0, False)
    fsck = json.loads(kingdom("fsck", "--json", base=base, command=NORMAL_USER).out)
    found = {one["path"] for one in fsck["findings"] if one["check"] in ("rights", "files")}
    assert set(modes) <= found, "fsck names all of them, and mends them:"
    kingdom("fsck", "--fix", base=base, command=NORMAL_USER)
    assert kingdom("backup", base.path("all.tar.gz"), base=base, command=NORMAL_USER).code == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can own what others may not read")
def test_a_journal_of_another_user_is_named_and_the_rest_is_saved(base: BaseDir) -> None:
    kingdom("send", "a.b", "--id", "evt-1", base=base)
    os.rename(base.path("state/bus/journal/0.life"), base.path("state/bus/journal/7.life"))
    os.rename(base.path("state/bus/journal/0.journal"), base.path("state/bus/journal/7.journal"))
    give_away(base.root)
    for name in ("7.life", "7.journal"):
        os.chown(base.path("state/bus/journal", name), 0, 0)
        os.chmod(base.path("state/bus/journal", name), 0o600)
    said = kingdom("backup", base.path("k.tar.gz"), base=base, command=NORMAL_USER)
    assert said.code == 1
    assert "state/bus/journal/7." in said.err
    assert "what its process committed last may be missing" in said.err
    kingdom("restore", base.path("k.tar.gz"), base.path("new"), command=NORMAL_USER)
    assert counts(BaseDir(base.path("new"))) == {"events/pending": 1}


def test_a_restored_kingdom_starts_as_the_one_that_was_saved(base: BaseDir, tmp_path: Path) -> None:
    """It has a general of its own for what a shipped one takes up, which was removed."""
    own = Path(base.path("config/local/generals/gen-own"))
    shutil.copytree(base.path("config/generals/gen-pr"), own)
    manifest = (own / "manifest.yaml").read_text()
    (own / "manifest.yaml").write_text(manifest.replace("gen-pr", "gen-own"))
    for name in ("gen-pr", "gen-jira", "gen-test", "gen-herald"):
        shutil.rmtree(base.path("config/generals", name))
    Path(base.path("config/local/system.yaml")).write_text("runtime: {engine: rehearsal}\n")
    drop(base, "events/dead", "evt-dead.json", "{")
    kingdom("fsck", "--fix", base=base)
    assert kingdom("backup", "k.tar.gz", base=base, cwd=tmp_path).code == 0
    assert kingdom("restore", "k.tar.gz", "new", cwd=tmp_path).code == 0
    restored = BaseDir(tmp_path / "new")
    for words in (["general", "list", "--json"], ["config", "--json"], ["queue", "ls", "--all"]):
        before, after = (kingdom(*words, base=one) for one in (base, restored))
        assert after.out.replace(restored.root, base.root) == before.out
    with ended_afterwards(restored):
        assert kingdom("start", "--roles", "king", base=restored).code == 0
        kingdom("send", "github.pr.review_requested", "--repo", "acme/web", base=restored)
        eventually(lambda: "tasks/pending" in files(restored), "it is dispatched")
    (task,) = files(restored)["tasks/pending"]
    assert load(restored, "tasks/pending", task)["target_general"] == "gen-own"


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
