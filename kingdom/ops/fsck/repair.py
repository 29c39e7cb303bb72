"""Carries out repairs, one finding at a time, and says what became of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from kingdom.bus.files.bus import FileBus
from kingdom.errors import KingdomError
from kingdom.ops.fsck.examine import examine
from kingdom.ops.fsck.finding import Finding, Workshop
from kingdom.store.paths import BaseDir


@dataclass(frozen=True)
class Repaired:
    finding: Finding
    sentence: str


# One repair may bring up the next, three or four times at most. Where findings go on coming after
# these, somebody makes them faster than they are repaired.
ROUNDS = 8


def repair(base: BaseDir, open_bus: Callable[[], FileBus]) -> Iterator[Repaired]:
    """Repairs until a look finds nothing new that can be, each finding once."""
    tried: set[Finding] = set()
    workshop = Workshop(base, open_bus)
    try:
        for _ in range(ROUNDS):
            found = [f for f in examine(base) if f.fix and not f.note and f not in tried]
            if not found:
                return
            for finding in found:
                tried.add(finding)
                yield Repaired(finding, _carry_out(finding, workshop))
    finally:
        workshop.close()


def _carry_out(finding: Finding, workshop: Workshop) -> str:
    assert finding.fix is not None
    try:
        return finding.fix(workshop)
    except FileNotFoundError:
        return "It is gone."
    except KingdomError as error:
        return f"Not repaired: {error}"
    except OSError as error:
        return f"Not repaired: {error.strerror}."
