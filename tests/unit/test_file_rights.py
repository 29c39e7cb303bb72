"""What the kingdom makes is its user's alone, and what others could have written is not obeyed."""

from __future__ import annotations

import ctypes
import json
import os
import stat
import sys
from contextlib import closing, suppress
from pathlib import Path

import pytest

from kingdom.__main__ import main
from kingdom.bus.files.bus import FileBus
from kingdom.cli.call import Call
from kingdom.errors import ConfigurationError
from kingdom.ops import trusted_files
from kingdom.ops.general_changes import new
from kingdom.ops.generals import named
from kingdom.ops.init import init
from kingdom.ops.starting import close_to_others
from kingdom.ownership import Trusted, others_may_write
from kingdom.runtime import own_command
from kingdom.runtime.config import LiveConfig, load_config
from kingdom.settings.system import SystemSettings
from kingdom.store import disk
from kingdom.store.paths import BaseDir
from kingdom.store.rights import set_rights
from tests.support.calls import in_child
from tests.support.cli import NOBODY, kingdom, one_sentence
from tests.support.kingdom import MovableClock, counts, event

SYSTEM_USER = 1  # `daemon`, with a group of the same name and number, wherever there is Linux
NEEDS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
_PR_GET_DUMPABLE, _PR_SET_DUMPABLE = 3, 4


@pytest.fixture
def base(tmp_path: Path) -> BaseDir:
    """With nothing in it but an inbox."""
    made = BaseDir(tmp_path / "k")
    disk.make_directory(made.path("queue/inbox"))
    return made


@pytest.fixture
def realm(base: BaseDir) -> BaseDir:
    init(base)
    return base


def mode(path: str | Path) -> int:
    return stat.S_IMODE(os.stat(path).st_mode)


def open_to_others(root: str | Path) -> list[str]:
    """All that others have any right to, but for links."""
    found = []
    for directory, directories, names in os.walk(root):
        for path in (os.path.join(directory, name) for name in (".", *directories, *names)):
            if os.lstat(path).st_mode & 0o077 and not os.path.islink(path):
                found.append(path)
    return found


@pytest.mark.parametrize("umask", [0o000, 0o077])
def test_a_kingdom_is_its_user_s_alone_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    """Also with a broken package, which is named, while the others run."""
    base, before = BaseDir(tmp_path / "k"), os.umask(umask)
    try:
        assert kingdom("init", base.root).code == 0
        assert kingdom("general", "new", "gen-docs", base=base).code == 0
        write(base.path("config/local/generals/gen-docs/manifest.yaml"), "nonsense: 1\n")
        write(base.path("config/local/system.yaml"), "runtime: {engine: rehearsal}\n")
        write(base.path("config/local/chamberlain.yaml"), "")
        started = kingdom("start", "--roles", "king", base=base)
        assert kingdom("send", "slack.channel.message", base=base).code == 0
        assert kingdom("backup", str(tmp_path / "saved.tar.gz"), base=base).code == 0
        assert kingdom("stop", base=base).code == 0
    finally:
        os.umask(before)
    assert open_to_others(base.root) == []
    assert mode(tmp_path / "saved.tar.gz") == 0o600
    assert started.code == 1
    assert started.lines[0].endswith("): king.")
    assert "kingdom: gen-docs is not started: " in started.err
    assert "manifest.yaml:1: `nonsense` is not a setting." in started.err


def write(path: str, text: str) -> None:
    """As a careful person would."""
    Path(path).write_text(text)
    os.chmod(path, 0o600)


def test_directories_of_an_earlier_version_are_closed(base: BaseDir) -> None:
    for place in ("queue", "logs", "config"):
        os.makedirs(base.path(place), exist_ok=True)
        os.chmod(base.path(place), 0o755)
    os.mkdir(base.path("memory"))
    os.chmod(base.path("memory"), 0o550)
    close_to_others(base, SystemSettings())
    modes = [mode(base.path(one)) for one in ("queue", "logs", "config", "memory")]
    assert modes == [0o700, 0o700, 0o700, 0o500]


@NEEDS_ROOT
def test_the_inbox_is_shared_with_a_group_if_that_is_chosen(realm: BaseDir) -> None:
    set_rights(realm, SYSTEM_USER)
    shared = [realm.root, realm.queue, realm.path("queue/inbox")]
    assert [mode(path) for path in shared] == [0o710, 0o710, 0o2770]
    assert {os.stat(path).st_gid for path in shared} == {SYSTEM_USER}
    assert mode(realm.state) == 0o700
    set_rights(realm, None)
    assert [mode(path) for path in shared[1:]] == [0o700, 0o700]


# What others may write


@pytest.mark.parametrize(
    ("owner", "group", "bits", "shared", "said"),
    [
        (0, 0, 0o644, None, None),
        (0, 0, 0o664, None, None),  # nobody else is in that group
        (0, 0, 0o666, None, "every user of this machine may write it"),
        (0, SYSTEM_USER, 0o664, None, "the group daemon may write it"),
        (0, SYSTEM_USER, 0o664, SYSTEM_USER, None),
        (NOBODY, 0, 0o600, None, "it belongs to nobody"),
        (NOBODY, 0, 0o600, SYSTEM_USER, "it belongs to nobody"),
        (SYSTEM_USER, 0, 0o600, SYSTEM_USER, None),
        (SYSTEM_USER, 0, 0o602, SYSTEM_USER, "every user of this machine may write it"),
    ],
)
@NEEDS_ROOT
def test_who_may_write_a_file(
    tmp_path: Path, owner: int, group: int, bits: int, shared: int | None, said: str | None
) -> None:
    path = tmp_path / "file"
    path.touch()
    os.chown(path, owner, group)
    path.chmod(bits)
    found = others_may_write(str(path), path.stat(), Trusted(group=lambda: shared))
    assert (found and found.sentence) == said


def test_settings_that_others_may_write_are_refused_with_the_command(realm: BaseDir) -> None:
    for name in (".", "config", "config/local", "config/king.yaml", "config/workspace-claude.md"):
        path = os.path.normpath(realm.path(name))
        before = mode(path)
        os.chmod(path, before | 0o002)
        with pytest.raises(ConfigurationError) as refused:
            load_config(realm, {})
        assert str(refused.value) == (
            f"{path} is not obeyed: every user of this machine may write it. See that it says "
            f"what you want, then type: chmod go-w {path}"
        )
        os.chmod(path, before)
    os.chmod(realm.path("config/king.yaml"), 0o666)
    assert "king.yaml is not obeyed" in one_sentence(kingdom("start", base=realm), 2)
    assert "config     " in kingdom("status", base=realm).lines[2]


def test_a_role_keeps_its_last_good_settings_until_the_file_is_closed(realm: BaseDir) -> None:
    clock, path = MovableClock(), Path(realm.path("config", "king.yaml"))
    live = LiveConfig(realm, {}, clock)

    def refresh() -> int:
        clock.advance(2)
        live.refresh()
        return live.current.settings.king.concurrency.max_soldiers

    before = refresh()
    path.chmod(0o666)
    path.write_text(f"concurrency: {{max_soldiers: {before + 3}}}\n")
    assert refresh() == before
    assert "king.yaml is not obeyed" in str(live.problem)
    path.chmod(0o600)
    assert refresh() == before + 3
    assert live.problem is None


def test_a_package_that_others_may_write_is_not_used_and_named(realm: BaseDir) -> None:
    package = new(realm, "gen-docs").directory
    for part in ("manifest.yaml", "prompt.md", "soul.md", "."):
        path = os.path.normpath(os.path.join(package, part))
        before = mode(path)
        os.chmod(path, before | 0o002)
        config = load_config(realm, {})
        assert list(config.unusable) == ["gen-docs"]
        assert "gen-pr" in config.generals
        assert [fault.where for fault in named(realm, "gen-docs").faults] == [path]
        if part != ".":
            os.chmod(path, before)
    told = kingdom("status", base=realm).out
    assert f"general    gen-docs is not used: {package} is not obeyed: every user" in told
    said = one_sentence(kingdom("run", "gen-docs", base=realm), 2)
    assert f"type: chmod go-w {package}" in said


def test_a_program_that_others_may_write_is_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "kingdom"
    (program / "king").mkdir(parents=True)
    (program / "king" / "daemon.py").touch()
    monkeypatch.setattr(trusted_files, "_PROGRAM", str(program))
    trusted_files.refuse_open_program()
    (program / "king" / "daemon.py").chmod(0o666)
    with pytest.raises(ConfigurationError, match=r"daemon\.py: every user .* chmod go-w"):
        trusted_files.refuse_open_program()


def test_the_command_for_soldiers_is_closed_or_left_alone(base: BaseDir) -> None:
    own_command.on_path(base, {"PATH": "/bin"})
    path = own_command.path_of(base)
    for one in (path, os.path.dirname(path)):
        os.chmod(one, 0o777)
    assert own_command.on_path(base, {"PATH": "/bin"})["PATH"].endswith(":/bin")
    assert {mode(path), mode(os.path.dirname(path))} == {0o700}
    if os.geteuid() == 0:
        os.chown(os.path.dirname(path), NOBODY, NOBODY)
        assert own_command.on_path(base, {"PATH": "/bin"})["PATH"] == "/bin"


# Whose files are taken


@NEEDS_ROOT
@pytest.mark.parametrize(
    ("owner", "shared", "place"),
    [
        (NOBODY, None, "dead"),
        (SYSTEM_USER, None, "dead"),
        (NOBODY, SYSTEM_USER, "dead"),
        (SYSTEM_USER, SYSTEM_USER, "pending"),
    ],
)
def test_a_file_of_another_user_is_a_dead_letter(
    base: BaseDir, owner: int, shared: int | None, place: str
) -> None:
    set_rights(base, shared)
    clock = MovableClock()
    path = base.path("queue/events/pending/evt-test-1.json")
    with closing(FileBus(base, durable=False, clock=clock)) as bus:
        bus.publish("events", event("1"))
        assert (mode(path), mode(os.path.dirname(path))) == (0o600, 0o700)
        os.chown(path, owner, -1)
    with closing(FileBus(base, durable=False, clock=clock)) as bus:
        taken = bus.claim("events", "king")
        clock.advance(3)
        taken += bus.claim("events", "king")
    assert counts(base) == {f"events/{place}": 1}
    assert len(taken) == (place == "pending")
    if place == "dead":
        reason = json.loads(
            Path(base.path("queue/events/dead/evt-test-1.json.reason.json")).read_text()
        )
        assert reason["code"] == "foreign_owner"


@NEEDS_ROOT
def test_root_can_look_after_another_user_s_queue(base: BaseDir) -> None:
    with closing(FileBus(base, durable=False)) as bus:
        bus.publish("events", event("1"))
    os.chown(base.queue, NOBODY, NOBODY)
    os.chown(base.path("queue/events/pending/evt-test-1.json"), NOBODY, NOBODY)
    with closing(FileBus(base, durable=False)) as bus:
        assert len(bus.claim("events", "king")) == 1


# Besides


def test_programs_that_a_command_starts_have_its_umask() -> None:
    def work() -> None:
        os.umask(0)
        sys.argv = ["kingdom", "version"]
        main()
        os._exit(os.umask(0))

    assert in_child(work) == 0o077


def test_no_other_process_reads_the_memory_of_a_command() -> None:
    libc = ctypes.CDLL(None)

    def work() -> None:
        libc.prctl(_PR_SET_DUMPABLE, 1, 0, 0, 0)
        with suppress(ConfigurationError):  # there is no kingdom
            Call([], None, {}, "/").base()
        os._exit(libc.prctl(_PR_GET_DUMPABLE, 0, 0, 0, 0))

    assert in_child(work) == 0
