"""The suite under a real systemd: started, killed, hung, changed, stopped; soldiers outlive it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from kingdom.ops.systemd.units import target_name, unit_name
from kingdom.store.paths import BaseDir
from tests.support.household import internal_events
from tests.support.puppets import add_general
from tests.support.systemd import NEEDED, ROLES, UNITS, Systemd
from tests.support.waiting import eventually

pytestmark = NEEDED


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


def _soldier(manager: Systemd, base: BaseDir) -> str:
    found = status(manager, base)["soldiers"]
    return str(found[0]["id"]) if found else ""


def _members(manager: Systemd, unit: str) -> list[str]:
    group = manager.shown(unit, "ControlGroup")
    return manager.run("cat", f"/sys/fs/cgroup{group}/cgroup.procs").out.split()
