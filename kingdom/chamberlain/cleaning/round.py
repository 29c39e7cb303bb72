"""One round: everything that has had its time and that nobody needs goes, a bit at each step.

It can be cut off anywhere; the next one finds the rest. A dry one only counts.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import datetime, timedelta

from kingdom.bus.files.bus import FileBus
from kingdom.chamberlain.cleaning.finds import JUDGE, LOOK, WAIT, Find, Tally
from kingdom.chamberlain.cleaning.kinds import AT_ONCE, Kind, kinds
from kingdom.chamberlain.cleaning.needs import Needs
from kingdom.chamberlain.cleaning.notices import Notices
from kingdom.errors import KingdomError
from kingdom.settings.chamberlain import Retention
from kingdom.store.paths import BaseDir

LOCK = ("state", "chamberlain", "clean.lock")


class Round:
    def __init__(
        self,
        base: BaseDir,
        bus: FileBus,
        retention: Retention,
        now: datetime,
        notices: Notices,
        *,
        dry: bool = False,
    ) -> None:
        self._base = base
        self._bus = bus
        self._retention = retention
        self._now = now
        self._notices = notices
        self._dry = dry
        self._needs = Needs(base, bus)
        self.tallies: dict[str, Tally] = {}
        self.deleted = 0

    def work(self) -> Iterator[int]:
        """Answers what each step cost."""
        # Nothing goes while a record about it is not applied and safe.
        while not self._dry and not self._bus.try_settle():
            yield WAIT
        yield from self._needs.gather()
        for kind in kinds(self._base, self._bus, self._retention, self._notices):
            rule = f"{kind.days} days"
            tally = self.tallies.setdefault(kind.name, Tally(kind.name, rule))
            yield from self._clear(kind, tally)

    def _clear(self, kind: Kind, tally: Tally) -> Iterator[int]:
        if not _lies_in(self._base, kind.place):
            tally.trouble = tally.trouble or f"{kind.place} leads elsewhere; it is left alone."
            return
        before = self._now - timedelta(days=kind.days)
        again = True
        while again:
            deleted, found = self.deleted, 0
            try:
                for find in kind.find(before, None if self._dry else AT_ONCE):
                    if find is not None:
                        found += 1
                        self._judge(find, tally)
                    yield LOOK if find is None else JUDGE
            except (OSError, KingdomError) as error:
                tally.trouble = tally.trouble or str(error)
                return
            again = not self._dry and found >= AT_ONCE and self.deleted > deleted

    def _judge(self, find: Find, tally: Tally) -> None:
        reason = find.objection or self._needs.reason(find.owners)
        if reason:
            tally.kept[reason] += find.files
        elif self._dry:
            tally.add(find, find.files)
        else:
            self._remove(find, tally)

    def _remove(self, find: Find, tally: Tally) -> None:
        try:
            files = find.remove()
        except (OSError, KingdomError) as error:  # what cannot be removed keeps nothing else
            tally.trouble = tally.trouble or str(error)
            return
        tally.add(find, files)
        self.deleted += files


def _lies_in(base: BaseDir, place: str) -> bool:
    """Whether no link leads out of the base directory on the way there."""
    root = os.path.realpath(base.root)
    return os.path.realpath(base.path(place)) == os.path.join(root, *place.split("/"))
