"""Set-up and the system's packages: it installs what it may, asks on a terminal, names the rest."""

from __future__ import annotations

import os
import pty
import shutil
from pathlib import Path

import pytest

from tests.support.checkouts import SETTING_UP, Checkout, Toolbox

INSTALLING = "Installing tmux bubblewrap with apt-get …\n"
QUESTION = "Install tmux bubblewrap with apt-get? [Y/n] "
TMUX_NEEDED = "Soldiers need tmux: install with: sudo apt-get install tmux\n"
BUBBLEWRAP_MISSING = (
    "bubblewrap is optional and missing: install with: sudo apt-get install bubblewrap\n"
)

# Without lists it has nothing, like a fresh machine, and it never has what `lacking` names.
APT_GET = """
cd "${0%/*}"
echo "$@" >>calls
[ "$1" = update ] && exec touch lists
[ -e lists ] || exit 100
shift 2
for package; do
    ! [ "$package" = "$(cat lacking)" ] || exit 100
    case $package in bubblewrap) cp git bwrap ;; *) cp git "$package" ;; esac
done
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    """Lacks tmux and bubblewrap, and belongs to someone who may use sudo."""
    tools = Toolbox(tmp_path / "tools")
    tools.add("id", "echo 1000")
    tools.add("sudo", '[ "$1" = -n ] && shift; exec "$@"')
    tools.add("true", "exit 0")
    (tools.place / "env").symlink_to(shutil.which("env") or "env")
    tools.add("apt-get", APT_GET)
    (tools.place / "lacking").touch()
    checkout = Checkout(tmp_path / "kingdom of ours", tools)
    remove_tools(checkout)
    return checkout


def remove_tools(checkout: Checkout) -> None:
    for name in ("tools/tmux", "tools/bwrap", "tools/calls"):
        (checkout.tools.place.parent / name).unlink(missing_ok=True)
    (checkout.venv / "ready").unlink(missing_ok=True)


def calls_of(checkout: Checkout) -> list[str]:
    calls = checkout.tools.place / "calls"
    return calls.read_text().splitlines() if calls.exists() else []


def test_are_installed_where_that_is_allowed(checkout: Checkout) -> None:
    assert checkout.kingdom().err == SETTING_UP + INSTALLING
    tmux, bubblewrap = "install -y tmux", "install -y bubblewrap"
    assert calls_of(checkout) == [tmux, "update", tmux, bubblewrap]
    assert checkout.kingdom().err == ""

    remove_tools(checkout)
    (checkout.tools.place / "lacking").write_text("bubblewrap")
    without = checkout.kingdom()
    assert (without.status, without.err) == (0, SETTING_UP + INSTALLING + BUBBLEWRAP_MISSING)
    assert checkout.kingdom().err == ""


def test_are_asked_about_on_a_terminal(checkout: Checkout) -> None:
    for answer, agreed in (("\n", True), ("Yes\n", True), ("n\n", False), ("\x04", False)):
        remove_tools(checkout)
        told = told_on_a_terminal(checkout, answer)

        assert told.startswith(SETTING_UP + QUESTION)
        rest = told.removeprefix(SETTING_UP + QUESTION).removeprefix(answer).removeprefix("\n")
        assert rest == (INSTALLING if agreed else TMUX_NEEDED + BUBBLEWRAP_MISSING), answer
        assert bool(calls_of(checkout)) == agreed


def told_on_a_terminal(checkout: Checkout, answer: str) -> str:
    ours, theirs = pty.openpty()
    process = checkout.start(
        checkout.place / "bin/kingdom", stdin=theirs, stderr=theirs, start_new_session=True
    )
    os.close(theirs)
    told = b""
    try:
        while part := os.read(ours, 4096):
            told += part
            if told.endswith(QUESTION.encode()):
                os.write(ours, answer.encode())
    except OSError:
        pass  # how Linux tells that nobody has the terminal open any more
    os.close(ours)
    assert process.communicate(timeout=60)[0] == f"{checkout.place}\n"
    assert process.returncode == 0
    return told.decode().replace("\r\n", "\n").replace("^D\b\b", "")


@pytest.mark.parametrize(
    ("system", "manager", "missing"),
    [
        ("Linux", "pacman", "Soldiers need tmux: install with: sudo pacman -S tmux\n"
         "bubblewrap is optional and missing: install with: sudo pacman -S bubblewrap\n"),
        ("Linux", "brew", "Installing tmux with brew …\n"
         "Soldiers need tmux: install with: brew install tmux\n"),
        ("Darwin", "", "Soldiers need tmux: install with: your system's package manager (tmux)\n"),
    ],
    ids=["pacman", "brew", "no manager"],
)  # fmt: skip
def test_are_named_where_they_cannot_be_installed(
    checkout: Checkout, system: str, manager: str, missing: str
) -> None:
    for name in ("apt-get", "sudo"):
        (checkout.tools.place / name).unlink()
    checkout.tools.add("uname", f"echo {system}")
    if manager:
        checkout.tools.add(manager, "exit 1")

    first = checkout.kingdom()
    assert (first.status, first.err) == (0, SETTING_UP + missing)
    assert checkout.kingdom().err == ""
