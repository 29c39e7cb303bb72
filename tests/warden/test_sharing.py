"""Roles started by the warden share what they imported: the memory that is each one's own."""

from __future__ import annotations

import pytest

from kingdom.ops.init import init
from kingdom.store.paths import BaseDir
from tests.support.cli import COMMAND, kingdom
from tests.support.memory import NeedsRoot, private_megabytes
from tests.support.puppets import ended_afterwards, pid_of

MOST_OF_ALL = 200  # MB, with five generals
GENERALS = ("gen-briefing", "gen-herald", "gen-jira", "gen-pr", "gen-test")


def test_all_roles_with_five_generals_need_less_than_200_mb_of_their_own(base: BaseDir) -> None:
    init(base)
    with ended_afterwards(base):
        assert kingdom("start", base=base, command=COMMAND).code == 0
        names = ("warden", "chamberlain", "sentinel", "envoy", "king", *GENERALS)
        try:
            sizes = {name: private_megabytes(pid_of(base, name)) for name in names}
        except NeedsRoot as why:
            pytest.skip(str(why))
        print("MB of its own:", ", ".join(f"{name} {size:.1f}" for name, size in sizes.items()))
        print(f"five generals {sum(sizes[name] for name in GENERALS):.0f} MB,", end=" ")
        print(f"all {sum(sizes.values()):.0f} MB")
        assert sum(sizes.values()) < MOST_OF_ALL
