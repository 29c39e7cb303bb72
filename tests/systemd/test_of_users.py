"""Managers of users: of the caller's own, of somebody else's, and what roles of theirs find."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from kingdom.ops.systemd.units import target_name, unit_name
from kingdom.store.paths import BaseDir
from tests.support.cli import NOBODY, ROOT
from tests.support.systemd import NEEDED, ROLES, UNITS, Systemd
from tests.support.waiting import eventually

pytestmark = NEEDED
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


ANN = 61234  # somebody else, in this machine's eyes alone


def somebody(manager: Systemd, base: BaseDir) -> str:
    """Has this kingdom, a home with a program of her own, and a systemd; the home."""
    home, place = "/run/ann", f"/run/user/{ANN}"
    script = f"""
    cp /etc/passwd /run/passwd && mount --bind /run/passwd /etc/passwd
    echo 'ann:x:{ANN}:{ANN}::{home}:/bin/sh' >> /etc/passwd
    mkdir -p {home}/.local/bin {home}/.config/systemd/user {place}
    printf '#!/bin/sh\\n' > {home}/.local/bin/claude && chmod +x {home}/.local/bin/claude
    for name in basic default shutdown; do
        printf '[Unit]\\n' > {home}/.config/systemd/user/$name.target
    done
    chown -R {ANN} {home} {place} "$0"
    """
    assert manager.run("sh", "-ec", script, base.root).code == 0
    return home


def test_roles_that_run_as_somebody_else_find_that_user_s_programs(
    manager: Systemd, home: BaseDir
) -> None:
    own = somebody(manager, home)
    Path(home.path("config", "local", "system.yaml")).write_text("runtime: {engine: claude}\n")
    Path(home.path("config", "local", "sentinel.yaml")).write_text(
        "polling: {jira: {url: 'https://jira.example'}}\n"
    )
    short = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "GH_TOKEN": "x"}
    said = manager.kingdom("systemd", "install", base=home, env=short)
    assert said.code == 0, said
    assert "Set here, and not in that file: GH_TOKEN." in said.lines
    assert "Wanted by the configuration, and set nowhere: JIRA_API_TOKEN." in said.lines
    assert "Not on the PATH" not in said.out
    general = unit_name(home, "gen-a")
    assert f"PATH={own}/.local/bin:{short['PATH']}" in manager.shown(general, "Environment")
    assert manager.shown(general, "User") == "ann"

    manager.run("rm", f"{own}/.local/bin/claude")
    Path(home.path("config", "local", "environment")).write_text("JIRA_API_TOKEN=y\n")
    said = manager.kingdom("systemd", "install", base=home, env=short)
    assert "set nowhere" not in said.out
    assert "Not on the PATH of the units: claude." in said.out, said
    place = f"{UNITS}/{general}.d"
    script = 'mkdir -p "$0" && printf \'[Service]\\nEnvironment=GH_TOKEN=z\\n\' > "$0/own.conf"'
    manager.run("sh", "-c", script, place)
    said = manager.kingdom("systemd", "install", base=home, env=short)
    assert "GH_TOKEN" not in said.out, "it is told to the unit in another way"


def test_the_manager_of_another_user_is_neither_asked_nor_passed_over(
    manager: Systemd, home: BaseDir
) -> None:
    own = somebody(manager, home)
    said = manager.kingdom("systemd", "print", "--user", "--json", base=home)
    for name, text in json.loads(said.out).items():
        manager.run("sh", "-c", 'printf %s "$0" > "$1"', text, f"{own}/.config/systemd/user/{name}")
    options = [f"--uid={ANN}", "-p", "Delegate=yes", "-p", "Type=notify", "--unit=user-manager"]
    told = {"XDG_RUNTIME_DIR": f"/run/user/{ANN}", "HOME": own}
    told["SYSTEMD_UNIT_PATH"] = f"{own}/.config/systemd/user"
    variables = [f"--setenv={key}={value}" for key, value in told.items()]
    said = manager.run("systemd-run", *options, *variables, "/lib/systemd/systemd", "--user")
    assert said.code == 0, said
    for words in (["start"], ["stop"], ["systemd", "uninstall"], ["systemd", "sync"]):
        said = manager.kingdom(*words, base=home)
        assert (said.code, said.out) == (1, ""), said
        assert "The systemd of ann keeps this kingdom, and answers nobody else." in said.err
        assert "sudo -u ann" in said.err
    said = manager.kingdom("systemd", "install", base=home)
    assert "kingdom systemd uninstall --user" in said.err, said
    assert "The systemd of ann keeps" in manager.kingdom("status", base=home).out


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
