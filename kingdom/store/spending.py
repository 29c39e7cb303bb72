"""`state/spending/{date}.jsonl`: what each attempt cost, a line for each that ended.

Generals append, with the attempt's end on the kingdom's wall clock as date, before they commit what
follows from it: a crash may leave a line twice and never none, and whoever reads counts an attempt
once. Money is decimal and written as text. No cost means that nobody told a price.
"""

from __future__ import annotations

import errno
import json
import stat
from collections.abc import Iterable, Mapping
from datetime import date
from decimal import Decimal, InvalidOperation
from typing import Any, NamedTuple

from kingdom.store import disk
from kingdom.store.paths import BaseDir
from kingdom.store.state import note_unread

_CHUNK = 4 * 1024 * 1024
_MILLIONTH, _CENT = Decimal("0.000001"), Decimal("0.01")
_MOST = Decimal(10**9)
NOTHING = Decimal(0)


class Spent(NamedTuple):
    """One attempt."""

    at: str
    task_id: str
    soldier_id: str
    general: str
    repo: str
    engine: str
    models: tuple[str, ...]
    cost: Decimal | None
    tokens: Mapping[str, int]


def price(value: object) -> Decimal | None:
    """Zero is a price; what is negative, endless or no number is none."""
    if isinstance(value, bool) or not isinstance(value, str | int | float | Decimal):
        return None
    try:
        amount = Decimal(str(value))
    except InvalidOperation:
        return None
    is_price = amount.is_finite() and 0 <= amount <= _MOST
    return amount.quantize(_MILLIONTH) if is_price else None


def spell(amount: Decimal) -> str:
    """`12.30`, or as many digits as it has, to a millionth."""
    exact = amount.quantize(_MILLIONTH).normalize()
    return str(exact.quantize(_CENT) if exact == exact.quantize(_CENT) else exact)


def note(base: BaseDir, day: date, one: Spent) -> None:
    """Safe on return."""
    path = _path(base, day.isoformat())
    known = {**one._asdict(), "models": list(one.models), "tokens": dict(one.tokens)}
    told = {**known, "cost": None if one.cost is None else spell(one.cost)}
    told["cost_usd"] = told.pop("cost")
    is_new = not disk.exists(path)
    disk.make_directory(_directory(base))
    line = (json.dumps(told, ensure_ascii=False) + "\n").encode("utf-8", "backslashreplace")
    try:
        disk.append_line(path, line)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS):
            raise
        disk.replace(path, _kept(path) + line)
    disk.sync_file(path)
    if is_new:
        disk.sync_directory(_directory(base))


def _kept(path: str) -> bytes:
    """What others may still read of a file that may not be written to, as far as it can be."""
    try:
        return disk.read(path, _CHUNK)[0]
    except OSError:
        return b""


class Day:
    """What one day cost; new lines are read when it is refreshed."""

    def __init__(self, base: BaseDir, day: date | str) -> None:
        self.date = str(day)
        self._path = _path(base, self.date)
        self._offset = 0
        self._known: dict[str, Spent] = {}
        self._inode = 0

    def refresh(self) -> bool:
        """Whether there was something new."""
        facts = disk.facts_of(self._path)
        if facts is None or facts.st_ino != self._inode or facts.st_size < self._offset:
            self._offset, self._known = 0, {}
        if facts is None or facts.st_size == self._offset or not stat.S_ISREG(facts.st_mode):
            return False
        self._inode = facts.st_ino
        try:
            descriptor = disk.open_to_read(self._path)
        except PermissionError as error:
            note_unread(self._path, error)
            return False
        try:
            before = self._offset
            while lines := self._next(descriptor):
                for one in map(_read, lines):
                    if one is not None:
                        self._known[one.soldier_id] = one
        finally:
            disk.close_file(descriptor)
        return self._offset > before

    def _next(self, descriptor: int) -> list[bytes]:
        chunk = disk.read_at(descriptor, _CHUNK, self._offset)
        end = chunk.rfind(b"\n")
        self._offset += end + 1
        return chunk[:end].split(b"\n") if end >= 0 else []

    @property
    def attempts(self) -> Iterable[Spent]:
        return self._known.values()

    def cost(self, general: str = "") -> Decimal:
        """Of what has a price."""
        costs = (one.cost for one in self.attempts if not general or one.general == general)
        return sum((one for one in costs if one is not None), NOTHING)

    def __len__(self) -> int:
        return len(self._known)

    @property
    def unpriced(self) -> int:
        return sum(one.cost is None for one in self.attempts)


def read_day(base: BaseDir, day: date | str) -> Day:
    found = Day(base, day)
    found.refresh()
    return found


def _directory(base: BaseDir) -> str:
    return base.path("state", "spending")


def _path(base: BaseDir, day: str) -> str:
    return base.path("state", "spending", f"{day}.jsonl")


def _read(line: bytes) -> Spent | None:
    """None for a damaged line."""
    try:
        raw: dict[str, Any] = json.loads(line)
        at, task, soldier, general = (
            str(raw[name]) for name in ("at", "task_id", "soldier_id", "general")
        )
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    models, tokens = raw.get("models"), raw.get("tokens")
    return Spent(
        at=at,
        task_id=task,
        soldier_id=soldier,
        general=general,
        repo=str(raw.get("repo") or ""),
        engine=str(raw.get("engine") or ""),
        models=tuple(map(str, models)) if isinstance(models, list) else (),
        cost=price(raw.get("cost_usd")),
        tokens=counts(tokens) if isinstance(tokens, dict) else {},
    )


def counts(tokens: dict[str, Any]) -> dict[str, int]:
    return {name: many for name, many in tokens.items() if type(many) is int and many >= 0}
