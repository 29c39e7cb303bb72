"""The suite under a real systemd: started, killed, hung, changed, stopped; soldiers outlive it."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kingdom.ops.stopping import running
from kingdom.ops.systemd.units import target_name, unit_name
from kingdom.store.paths import BaseDir
from tests.support.cli import NOBODY, ROOT
from tests.support.household import internal_events
from tests.support.puppets import add_general, found_kingdom
from tests.support.systemd import UNITS, Systemd, systemd, why_not
from tests.support.waiting import eventually

REASON = why_not()
pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(bool(REASON), reason=f"no systemd can be run here: {REASON}"),
]
ROLES = ["sentinel", "envoy", "king", "gen-a"]


@pytest.fixture
def manager(home: BaseDir) -> Iterator[Systemd]:
    """It ends before the directory goes, in which its roles write."""
    with systemd() as made:
        yield made


@pytest.fixture
def home(scratch: Path) -> Iterator[BaseDir]:
    """A kingdom whose soldiers work until they are ended, in a place that takes some quoting."""
    base = BaseDir(scratch / 'a b%n$HOME"x')
    found_kingdom(base, "gen-a")
    Path(base.path("config", "local", "system.yaml")).write_text(
        "runtime: {engine: command, max_memory_mb: 512, command: {argv: [sleep, '3600']}}\n"
    )
    Path(base.path("config", "local", "chamberlain.yaml")).write_text(
        "heartbeat: {threshold_seconds: 30}\n"
        "thresholds: {yellow: 100, orange: 100, red: 100, disk: 100}\n"
    )
    yield base
    assert not running(base)


def status(manager: Systemd, base: BaseDir) -> dict[str, Any]:
    said = manager.kingdom("status", "--json", base=base)
    assert said.code == 0, said
    found: dict[str, Any] = json.loads(said.out)
    return found


def pid_of(manager: Systemd, base: BaseDir, role: str) -> str:
    return manager.shown(unit_name(base, role), "MainPID")


def installed(manager: Systemd, base: BaseDir) -> None:
    said = manager.kingdom("systemd", "install", base=base, env={"GH_TOKEN": "secret"})
    assert said.code == 0, said
    assert "Set here, and not in that file: GH_TOKEN." in said.out
    assert manager.ctl("is-enabled", target_name(base)) == "enabled"
    said = manager.kingdom("start", base=base)
    assert said.code == 0, said
    assert f"Running under systemd ({target_name(base)}): " in said.out, said
    for role in ROLES:
        assert manager.ctl("is-active", unit_name(base, role)) == "active"


def anew(manager: Systemd, base: BaseDir, role: str, before: str) -> bool:
    is_active = manager.ctl("is-active", unit_name(base, role)) == "active"
    return is_active and pid_of(manager, base, role) not in (before, "0")


def test_roles_that_die_or_hang_come_back_and_all_ends_in_order(
    manager: Systemd, home: BaseDir
) -> None:
    installed(manager, home)
    headline = manager.kingdom("status", base=home).lines[0]
    assert headline.endswith(f"running under systemd ({target_name(home)})")

    king = pid_of(manager, home, "king")
    manager.run("kill", "-9", king)
    eventually(lambda: anew(manager, home, "king", king), "the king runs anew")

    place = f"{UNITS}/{unit_name(home, 'envoy')}.d"
    quick = f"mkdir -p {place} && printf '[Service]\\nWatchdogSec=20\\n'"
    manager.run("sh", "-c", f"{quick} > {place}/quick.conf")
    manager.ctl("daemon-reload")
    said = manager.kingdom("restart", "envoy", base=home)
    assert said.code == 0, said
    envoy = pid_of(manager, home, "envoy")
    assert f"(pid {envoy})" in said.out
    manager.run("kill", "-STOP", envoy)
    eventually(lambda: anew(manager, home, "envoy", envoy), "the envoy runs anew", 120)

    sentinel = pid_of(manager, home, "sentinel")
    manager.run("kill", "-STOP", sentinel)
    eventually(lambda: anew(manager, home, "sentinel", sentinel), "the sentinel runs anew", 120)
    restarted = "recovery.session_restarted"
    eventually(lambda: internal_events(home, restarted), "the chamberlain tells of it", 120)
    (missed,) = internal_events(home, "system.heartbeat_missed")
    assert missed["data"]["target"] == "sentinel", "it was there before systemd"
    assert not internal_events(home, "system.shutdown")

    before = {role: pid_of(manager, home, role) for role in ROLES}
    said = manager.kingdom("restart", base=home)
    assert said.code == 0, said
    assert all(anew(manager, home, role, before[role]) for role in ROLES)

    foreground = manager.kingdom("start", "--foreground", base=home)
    assert foreground.code == 1
    assert "systemd keeps this kingdom" in foreground.err

    stopped = manager.kingdom("stop", base=home)
    assert stopped.code == 0, stopped
    assert "gen-a, king, envoy, sentinel" in stopped.out
    for role in ROLES:
        assert manager.ctl("is-active", unit_name(home, role)) == "inactive"
    assert manager.shown(unit_name(home, "king"), "Result") == "success"
    system = [one["type"] for one in internal_events(home) if one["actor"] == "system"]
    assert system == ["system.startup", "system.shutdown"] * 2, "once for each of both"

    gone = manager.kingdom("systemd", "uninstall", base=home)
    assert gone.code == 0, gone
    assert f"Left there, since others wrote it: {unit_name(home, 'envoy')}.d." in gone.out
    left = manager.run("find", UNITS, "-name", f"{home.name_on_host}*").out.split()
    assert left == [f"{UNITS}/{unit_name(home, 'envoy')}.d"]


def test_soldiers_outlive_every_role_in_scopes_of_their_own(
    manager: Systemd, home: BaseDir
) -> None:
    installed(manager, home)
    assert manager.kingdom("send", "test.gen-a", base=home).code == 0
    eventually(lambda: _soldier(manager, home), "a soldier is at work")
    soldier = _soldier(manager, home)
    scope = f"{home.name_on_host}-{soldier}.scope"
    eventually(lambda: len(_members(manager, scope)) >= 2, "its program runs")
    members = _members(manager, scope)
    assert manager.shown(scope, "MemoryMax") == str(512 * 1024 * 1024)
    assert manager.shown(scope, "Slice") == f"{home.name_on_host}-soldiers.slice"
    general = unit_name(home, "gen-a")
    assert len(_members(manager, general)) == 1, "the tmux server is not the general's"

    for act in ("restart", "kill --signal=KILL"):
        before = pid_of(manager, home, "gen-a")
        manager.ctl(*act.split(), general)
        eventually(lambda known=before: anew(manager, home, "gen-a", known), "it runs anew")
        assert _members(manager, scope) == members
    eventually(lambda: _soldier(manager, home) == soldier, "it is adopted")

    assert manager.kingdom("stop", base=home).code == 0
    assert _members(manager, scope) == members
    said = manager.kingdom("stop", "--soldiers", base=home)
    assert soldier in said.out, said
    eventually(lambda: manager.ctl("is-active", scope) != "active", "the scope is gone")


def test_generals_that_come_and_go(manager: Systemd, home: BaseDir) -> None:
    installed(manager, home)
    add_general(home, "gen-b")
    assert status(manager, home)["systemd"]["without_unit"] == ["gen-b"]
    said = manager.kingdom("systemd", "sync", base=home)
    assert "Started: gen-b." in said.out, said
    assert manager.ctl("is-active", unit_name(home, "gen-b")) == "active"
    assert status(manager, home)["systemd"]["without_unit"] == []
    Path(home.path("config", "generals", "gen-b")).rename(home.path("elsewhere"))
    said = manager.kingdom("systemd", "sync", base=home)
    assert "Stopped: gen-b." in said.out, said
    assert manager.ctl("is-active", unit_name(home, "gen-b")) == "inactive"
    again = manager.kingdom("systemd", "install", base=home)
    assert "are up to date" in again.out, again


def test_a_warden_and_systemd_never_keep_one_kingdom(manager: Systemd, home: BaseDir) -> None:
    assert manager.kingdom("start", base=home).code == 0
    refused = manager.kingdom("systemd", "install", base=home)
    assert refused.code == 1
    assert "kingdom stop" in refused.err
    assert manager.kingdom("stop", base=home).code == 0
    installed(manager, home)
    other = manager.kingdom("systemd", "install", "--user", base=home)
    assert other.code == 1


USER_UNITS = "/run/home/.config/systemd/user"


def user_manager(manager: Systemd) -> dict[str, str]:
    """One of root's own; what a login tells about it."""
    stubs = "for name in basic default shutdown; do printf '[Unit]\\n' > $0/$name.target; done"
    manager.run("sh", "-c", f"mkdir -p $0 /run/user/0 && {stubs}", USER_UNITS)
    mine = {"XDG_RUNTIME_DIR": "/run/user/0", "HOME": "/run/home"}
    variables = [f"--setenv={key}={value}" for key, value in mine.items()]
    options = [
        "-p",
        "Delegate=yes",
        "-p",
        "Type=notify",
        f"--setenv=SYSTEMD_UNIT_PATH={USER_UNITS}",
    ]
    unit = "--unit=user-manager"
    said = manager.run("systemd-run", unit, *options, *variables, "/lib/systemd/systemd", "--user")
    assert said.code == 0, said
    return mine


def test_the_manager_of_one_user_keeps_it_as_well(manager: Systemd, home: BaseDir) -> None:
    mine = user_manager(manager)
    said = manager.kingdom("systemd", "install", "--user", base=home, env=mine)
    assert said.code == 0, said
    assert "loginctl enable-linger" in said.out
    said = manager.kingdom("start", "--roles", "king", base=home, env=mine)
    assert f"Running under systemd ({target_name(home)}): king." in said.out, said
    said = manager.kingdom("start", base=home, env=mine)
    assert said.code == 0, said
    active = ["systemctl", "--user", "is-active", *(unit_name(home, role) for role in ROLES)]
    assert manager.run(*active, env=mine).lines == ["active"] * len(ROLES)
    assert manager.ctl("is-active", unit_name(home, "king")) == "inactive", "it is not the system's"
    said = manager.kingdom("stop", base=home, env=mine)
    assert "gen-a, king, envoy, sentinel" in said.out, said
    assert manager.run(*active, env=mine).lines == ["inactive"] * len(ROLES)
    said = manager.kingdom("systemd", "uninstall", base=home, env=mine)
    assert said.code == 0, said
    assert manager.run("find", USER_UNITS, "-name", f"{home.name_on_host}*").out == ""


def test_it_is_found_by_who_was_not_told_and_missed_when_it_is_gone(
    manager: Systemd, home: BaseDir
) -> None:
    mine = user_manager(manager)
    untold = {"HOME": mine["HOME"]}
    other = {**untold, "XDG_RUNTIME_DIR": "/run/user/1"}
    said = manager.kingdom("systemd", "install", "--user", base=home, env=untold)
    assert said.code == 0, said
    said = manager.kingdom("start", base=home, env=other)
    assert f"Running under systemd ({target_name(home)}): " in said.out, said
    assert "under systemd" in manager.kingdom("status", base=home, env=untold).lines[0]

    manager.run("mv", "/run/user/0/systemd/private", "/run/user/0/systemd/hidden")
    for words in (["start"], ["stop"], ["restart"], ["systemd", "uninstall", "--user"]):
        said = manager.kingdom(*words, base=home, env=untold)
        assert (said.code, said.out) == (1, ""), said
        assert "cannot be reached" in said.err
    said = manager.kingdom("status", base=home, env=untold)
    assert any(line.startswith("systemd ") and "reached" in line for line in said.lines), said
    manager.run("mv", "/run/user/0/systemd/hidden", "/run/user/0/systemd/private")
    assert manager.kingdom("stop", base=home, env=untold).code == 0
    manager.ctl("kill", "--signal=KILL", "user-manager")
    eventually(lambda: manager.ctl("is-active", "user-manager") != "active", "it is gone")
    assert "cannot be reached" in manager.kingdom("start", base=home, env=untold).err
    said = manager.kingdom("systemd", "uninstall", "--user", base=home, env=untold)
    assert said.code == 0, said
    assert manager.run("find", USER_UNITS, "-name", f"{home.name_on_host}*").out == ""


AS_NOBODY = f"""
import os, subprocess, sys
sys.path.insert(0, {str(ROOT)!r})
from kingdom.clients.scopes import Scopes
if len(sys.argv) > 1:  # a session of this user's
    os.mkdir(f"{{sys.argv[1]}}/session")
    open(f"{{sys.argv[1]}}/session/cgroup.procs", "w").write(str(os.getpid()))
os.setgroups([]); os.setgid({NOBODY}); os.setuid({NOBODY})
scopes = Scopes({{"PATH": "/usr/bin:/bin", "XDG_RUNTIME_DIR": "/run/user/{NOBODY}"}}, "kingdom-x")
lead = scopes.around("kingdom-x-one", 64)
print(lead[:1])
print(subprocess.run([*lead, "cat", "/proc/self/cgroup"], capture_output=True, text=True).stdout)
lead = scopes.around("kingdom-x-two", 64)  # the first one's name may still be taken
print(subprocess.run([*lead, "env"], env={{"SEEN": "yes"}}, capture_output=True, text=True).stdout)
"""


def test_who_is_not_root_asks_the_manager_of_that_user(manager: Systemd) -> None:
    place = f"/run/user/{NOBODY}"
    manager.run("sh", "-c", f"mkdir -p {place} && chown {NOBODY} {place}")
    before = manager.run(sys.executable, "-c", AS_NOBODY)
    assert before.lines[0] == "[]", before
    options = [f"--uid={NOBODY}", "-p", "Delegate=yes", "-p", "Type=notify", "--unit=user-manager"]
    variables = [f"--setenv=XDG_RUNTIME_DIR={place}", f"--setenv=HOME={place}"]
    stub = f"mkdir -p {place}/u && printf '[Unit]\\n' > {place}/u/default.target"
    manager.run("sh", "-c", f"{stub} && cp {place}/u/default.target {place}/u/basic.target")
    variables.append(f"--setenv=SYSTEMD_UNIT_PATH={place}/u")
    said = manager.run("systemd-run", *options, *variables, "/lib/systemd/systemd", "--user")
    assert said.code == 0, said
    group = f"/sys/fs/cgroup{manager.shown('user-manager', 'ControlGroup')}"
    after = manager.run(sys.executable, "-c", AS_NOBODY, group)
    assert "user-manager.service/kingdom.slice/kingdom-x.slice/kingdom-x-one.scope" in after.out
    assert "SEEN=yes" in after.lines
    assert "XDG_RUNTIME_DIR" not in after.out


def _soldier(manager: Systemd, base: BaseDir) -> str:
    found = status(manager, base)["soldiers"]
    return str(found[0]["id"]) if found else ""


def _members(manager: Systemd, unit: str) -> list[str]:
    group = manager.shown(unit, "ControlGroup")
    return manager.run("cat", f"/sys/fs/cgroup{group}/cgroup.procs").out.split()
