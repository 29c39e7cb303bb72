"""What a check found: one sentence, and the exact repair."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from functools import cached_property

from kingdom.bus.files.bus import FileBus
from kingdom.bus.files.caretaker import Caretaker
from kingdom.store.paths import BaseDir


class Workshop:
    """What repairs work with. The bus is opened when first needed: opening it repairs by itself."""

    def __init__(self, base: BaseDir, open_bus: Callable[[], FileBus]) -> None:
        self.base = base
        self.caretaker = Caretaker(base)
        self._open_bus = open_bus
        self._opened: list[FileBus] = []

    @cached_property
    def bus(self) -> FileBus:
        bus = self._open_bus()
        self._opened.append(bus)
        return bus

    def close(self) -> None:
        for bus in self._opened:
            with closing(bus):
                pass


Fix = Callable[[Workshop], str]


@dataclass(frozen=True)
class Finding:
    """`fix` answers what it did, or raises a KingdomError that says why not.

    A note is worth knowing and needs no repair: it goes away by itself, or harms nobody.
    """

    check: str
    path: str
    sentence: str
    repair: str
    fix: Fix | None = field(default=None, compare=False)
    note: bool = False


def by_fix(what: str) -> str:
    """The repair of a finding that `--fix` takes care of."""
    return f"kingdom fsck --fix ({what})"
