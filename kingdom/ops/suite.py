"""THE table of what runs: each role, and where the function lies that makes it.

Generals come from the configuration, one process each; those added to it later are started, those
taken out of it are stopped, once they have no soldier any more.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from kingdom.errors import UsageError
from kingdom.store import disk
from kingdom.store.paths import BaseDir
from kingdom.store.state import read_json
from kingdom.topology import GENERAL_PREFIX, START_ORDER

if TYPE_CHECKING:  # completion and `status` read the table, and need none of this
    from kingdom.runtime.children import Post
    from kingdom.runtime.config import LiveConfig
    from kingdom.runtime.role import Make

GENERAL = "general"
TABLE = {
    "chamberlain": "kingdom.chamberlain.daemon:make",
    "sentinel": "kingdom.sentinel.daemon:make",
    "envoy": "kingdom.envoy.daemon:make",
    "king": "kingdom.king.daemon:make",
    GENERAL: "kingdom.general.daemon:make",
}


def role_names(base: BaseDir) -> list[str]:
    """Every role there could be, by the directories of the generals: none of them is read."""
    places = [base.path("config", "generals"), base.path("config", "local", "generals")]
    found = {name for place in places for name in _directories(place)}
    generals = sorted(name for name in found if name.startswith(GENERAL_PREFIX))
    return [name for role in TABLE for name in (generals if role == GENERAL else [role])]


def _directories(place: str) -> list[str]:
    if not os.path.isdir(place):
        return []
    return [name for name in disk.names(place) if os.path.isdir(os.path.join(place, name))]


class Suite:
    """The roles that are wanted. Making one imports all of them, so that forks can share it."""

    def __init__(
        self, config: LiveConfig, only: Sequence[str] = (), table: Mapping[str, str] = TABLE
    ) -> None:
        self.config = config
        self.only = tuple(only)
        self._makes = {role: _load(table[role]) for role in START_ORDER if role in table}
        _refuse_unknown(self.only, self.names())

    def names(self) -> list[str]:
        """Every role there could be, in the order they start."""
        return [name for role in self._makes for name in self._named(role)]

    def posts(self) -> list[Post]:
        from kingdom.runtime.children import Post

        return [
            Post(name, make)
            for role, make in self._makes.items()
            for name in self._named(role)
            if not self.only or name in self.only or role in self.only
        ]

    def make_of(self, name: str) -> Make:
        if name in self.config.current.unusable:
            raise self.config.current.unusable[name]
        _refuse_unknown([name], self.names(), also=())
        return next(post.make for post in self.posts() if post.name == name)

    def refresh(self) -> bool:
        return self.config.refresh()

    def is_busy(self, base: BaseDir, name: str) -> bool:
        """Whether it has soldiers. A file that is damaged keeps nobody; one that cannot be read
        just now may name some."""
        try:
            found = read_json(base.sessions_file, [], needed=True)
        except OSError:
            return True
        entries = found if isinstance(found, list) else []
        return any(isinstance(one, dict) and one.get("general") == name for one in entries)

    def _named(self, role: str) -> Sequence[str]:
        return sorted(self.config.current.generals) if role == GENERAL else (role,)


def _load(place: str) -> Make:
    module, _, name = place.partition(":")
    make: Make = getattr(import_module(module), name)
    return make


def _refuse_unknown(
    typed: Sequence[str], names: Iterable[str], also: Sequence[str] = (GENERAL,)
) -> None:
    known = [*names, *also]
    for name in typed:
        if name not in known:
            raise unknown_role(name, known)


def unknown_role(name: str, known: Sequence[str]) -> UsageError:
    import difflib

    near = difflib.get_close_matches(name, known, n=1)
    hint = f"Did you mean: {near[0]}" if near else f"There are: {', '.join(known)}."
    return UsageError(f"{name!r} is not a role of this kingdom.", remedy=hint)
