"""What systemd itself says of the units, and how their text follows the base directory."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from kingdom.ops.systemd.manager import Manager
from kingdom.ops.systemd.units import Account, Plan, target_name, texts, unit_name
from kingdom.store.paths import BaseDir
from tests.support.cli import kingdom, one_sentence
from tests.support.puppets import found_kingdom

ANALYZE = shutil.which("systemd-analyze")
needs_systemd = pytest.mark.skipif(ANALYZE is None, reason="systemd-analyze is not installed")


def printed(base: BaseDir, *options: str) -> dict[str, str]:
    said = kingdom("systemd", "print", "--json", *options, base=base)
    assert said.code == 0, said
    found: dict[str, str] = json.loads(said.out)
    return found


def plan(base: BaseDir, version: int = 252) -> Plan:
    return Plan(
        base=base,
        command=("/usr/bin/python3", "-m", "kingdom"),
        generals=("gen-a",),
        roles=("envoy", "king"),
        environment={"PATH": "/bin"},
        account=Account("ann", 1000),
        watchdog_seconds=120,
        beat_seconds=30,
        systemd=version,
    )


def verified(place: Path, found: dict[str, str], *options: str) -> str:
    """What `systemd-analyze verify` complains of."""
    place.mkdir()
    for name, text in found.items():
        (place / name).write_text(text)
    template = next(name for name in found if "@" in name)
    instance = place / template.replace("@.", "@gen-a.")
    instance.symlink_to(template)
    named = [str(place / name) for name in found if name != template]
    kind = "user" if options else "system"
    said = subprocess.run(
        [str(ANALYZE), *options, "verify", "--man=no", *named, str(instance)],
        env={
            **os.environ,
            "XDG_RUNTIME_DIR": str(place),
            "SYSTEMD_UNIT_PATH": f"{place}:/usr/lib/systemd/{kind}",
        },
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert said.returncode == 0 or said.stderr, said
    # Whoever runs the tests as nobody is told about that, which is no fault of a unit.
    return "".join(one for one in said.stderr.splitlines(True) if "Special user nobody" not in one)


@needs_systemd
@pytest.mark.parametrize("options", [[], ["--user"]])
@pytest.mark.parametrize("name", ["plain", "with space", "100%", 'a"b\\c$d', "한글"])
def test_systemd_finds_nothing_wrong_with_them(
    scratch: Path, options: list[str], name: str
) -> None:
    base = BaseDir(scratch / name)
    found_kingdom(base, "gen-a", "gen-b")
    assert verified(scratch / "units", printed(base, *options), *options) == ""


@needs_systemd
def test_systemd_would_find_what_is_wrong(base: BaseDir, scratch: Path) -> None:
    found_kingdom(base, "gen-a")
    damaged = {name: text.replace("Type=", "Typo=") for name, text in printed(base).items()}
    assert "Typo" in verified(scratch / "units", damaged)


def test_one_unit_for_each_role_and_one_template_for_generals(base: BaseDir) -> None:
    found = texts(plan(base))
    stem = base.name_on_host
    assert list(found) == [
        f"{stem}.target",
        f"{stem}-envoy.service",
        f"{stem}-king.service",
        f"{stem}-general@.service",
    ]
    wanted = [line for line in found[target_name(base)].splitlines() if line.startswith("Wants=")]
    assert wanted[-1] == f"Wants={stem}-general@gen-a.service"
    assert f"After=network-online.target {stem}-envoy.service\n" in found[f"{stem}-king.service"]


def test_two_kingdoms_on_a_host_do_not_meet(scratch: Path) -> None:
    one, other = (texts(plan(BaseDir(scratch / name))) for name in ("a", "b"))
    assert not one.keys() & other.keys()


def test_what_binds_a_soldier_is_not_asked_of_generals(base: BaseDir) -> None:
    found = texts(plan(base))
    general = found[f"{base.name_on_host}-general@.service"]
    king = found[f"{base.name_on_host}-king.service"]
    for option in ("NoNewPrivileges=", "ProtectSystem=", "RestrictNamespaces="):
        assert option in king
        assert option not in general
    assert "KillMode=process\n" in general


def test_systemd_is_more_patient_than_the_chamberlain_but_for_that_one(base: BaseDir) -> None:
    found = texts(replace(plan(base), roles=("chamberlain", "king")))
    lines = {name: text.splitlines() for name, text in found.items()}
    patience = {name: one for name in lines for one in lines[name] if "WatchdogSec=" in one}
    assert patience == {
        unit_name(base, "chamberlain"): "WatchdogSec=120",
        unit_name(base, "king"): "WatchdogSec=180",
        f"{base.name_on_host}-general@.service": "WatchdogSec=180",
    }


def test_pauses_grow_where_systemd_knows_how(base: BaseDir) -> None:
    name = f"{base.name_on_host}-king.service"
    assert "RestartSteps=" not in texts(plan(base, 252))[name]
    assert "RestartSteps=" in texts(plan(base, 254))[name]


def test_signs_that_mean_something_to_systemd_mean_nothing_in_a_path(scratch: Path) -> None:
    base = BaseDir(scratch / 'a b%n$c"d')
    king = texts(plan(base))[f"{base.name_on_host}-king.service"].splitlines()
    assert f'WorkingDirectory={scratch}/a b%%n$c"d' in king
    assert f'EnvironmentFile=-{scratch}/a b%%n$c"d/config/local/environment' in king
    (command,) = (line for line in king if line.startswith("ExecStart="))
    assert f'"{scratch}/a b%%n$$c\\"d"' in command


def test_a_directory_that_no_unit_can_name_is_refused(scratch: Path) -> None:
    base = BaseDir(scratch / "a\nb")
    found_kingdom(base)
    assert "plain name" in one_sentence(kingdom("systemd", "print", base=base), 1)


def test_without_systemd_it_says_so(base: BaseDir, tmp_path: Path) -> None:
    found_kingdom(base)
    if Manager(True, {"XDG_RUNTIME_DIR": str(tmp_path)}).is_there():
        pytest.skip("a systemd of this user's runs")
    said = one_sentence(kingdom("systemd", "install", "--user", base=base), 1)
    assert "does not run here" in said
    said = one_sentence(kingdom("systemd", "sync", base=base), 1)
    assert "has no units" in said
