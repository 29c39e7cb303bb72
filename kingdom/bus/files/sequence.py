"""Task and message ids: `state/king/task-seq` and `msg-seq` hold `date:seq` of the last one given.

The number is safe on disk before it is handed out. The file is overwritten in place (it fits one
sector) and synced, which costs a fraction of a rename. The date never goes back when the clock
does; a missing or damaged file is rebuilt from the highest id that can be found.
"""

from __future__ import annotations

import re
from datetime import date, datetime, tzinfo

from kingdom.bus.files.places import Places, id_in
from kingdom.store import disk
from kingdom.store.locks import Lock
from kingdom.topology import STREAMS

_FORM = re.compile(rb"(\d{8}):(\d{1,18})\n")
STREAMS_OF_KIND = {"task": ("tasks", "results"), "msg": ("messages",)}


class Sequence:
    def __init__(self, places: Places, kind: str, *, sync: bool) -> None:
        if kind not in STREAMS_OF_KIND:
            raise ValueError(f"ids are made for task and msg, not {kind}")
        self._places = places
        self._kind = kind
        self._sync = sync
        self._lock = Lock(f"{places.locks}/{kind}-seq")

    def take(self, now: datetime, zone: tzinfo, count: int = 1) -> list[str]:
        """So many ids, never handed out before."""
        today = now.astimezone(zone).strftime("%Y%m%d")
        path = self._places.base.sequence_file(self._kind)
        with self._lock:
            try:
                descriptor = disk.open_file(path)
            except PermissionError:  # another user's: one of ours comes in its place
                day, last = _of_day(today, self.last() or self.highest())
                disk.replace(path, f"{day}:{last + count:03d}\n".encode(), sync=self._sync)
            else:
                day, last = self._take_in_place(descriptor, today, count)
        return [f"{self._kind}-{day}-{number:03d}" for number in range(last + 1, last + count + 1)]

    def _take_in_place(self, descriptor: int, today: str, count: int) -> tuple[str, int]:
        try:
            day, last = _of_day(today, _last_in(disk.read_at(descriptor, 64, 0)) or self.highest())
            disk.write_at(descriptor, f"{day}:{last + count:03d}\n".encode(), 0)
            if self._sync:
                disk.sync_data(descriptor)
        finally:
            disk.close_file(descriptor)
        return day, last

    def last(self) -> tuple[str, int] | None:
        """Day and number of the id given last; None if the file is missing or damaged."""
        try:
            data, _ = disk.read(self._places.base.sequence_file(self._kind), 4096)
        except OSError:
            return None
        return _last_in(data)

    def mend(self) -> None:
        """See to it that the file is not behind the highest id there is."""
        with self._lock:
            path, highest = self._places.base.sequence_file(self._kind), self.highest()
            day, number = max(self.last() or highest, highest)
            if number:
                disk.replace(path, f"{day}:{number:03d}\n".encode(), sync=self._sync)
            else:
                disk.remove(path)  # damaged, and no id was ever given

    def highest(self) -> tuple[str, int]:
        """Day and number of the highest id of this kind in any of its directories."""
        form = re.compile(rf"{self._kind}-(\d{{8}})-(\d{{3,18}})$")
        found = ("00000000", 0)
        for stream in STREAMS_OF_KIND[self._kind]:
            for state in self._places.states(STREAMS[stream].name):
                for name in disk.names(self._places.directory(stream, state)):
                    match = form.match(id_in(name) or "")
                    if match and _is_date(match[1]):
                        found = max(found, (match[1], int(match[2])))
        return found

    def close(self) -> None:
        self._lock.close()


def _of_day(today: str, last: tuple[str, int]) -> tuple[str, int]:
    """A new day begins with the first number; the date never goes back."""
    return (today, 0) if today > last[0] else last


def _last_in(data: bytes) -> tuple[str, int] | None:
    match = _FORM.match(data)
    if match and _is_date(match[1].decode()):
        return match[1].decode(), int(match[2])
    return None


def _is_date(text: str) -> bool:
    try:
        date(int(text[:4]), int(text[4:6]), int(text[6:]))
    except ValueError:
        return False
    return True
