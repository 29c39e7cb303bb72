"""What each contestant loses when its process is killed.

A process puts, claims and finishes as fast as it can, with a few messages always waiting. Through a
pipe it tells what it was promised: `+` when a put returned, `!` before a done begins, `-` when it
returned. Once a seeded number of these has been read, and a seeded bit of computing later, so that
it may be anywhere in a step, it is killed. The store is opened anew and emptied. Lost is what was
put, whose done had not begun, and which is not there. Doubled is what was done and comes again.
"""

from __future__ import annotations

import os
import pickle
import random
import sqlite3
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from hashlib import sha256

from tests.bench.children import started
from tests.bench.contestants import Contestant, Store
from tests.bench.figures import Figure, at_most
from tests.bench.ours import KINGDOM
from tests.bench.parcels import Parcel, parcels
from tests.bench.peers import ON_FILES, ON_SQLITE
from tests.bench.place import own_place
from tests.bench.report import Toll

SEED = 20260207
_WAITING = 10
_MOST_REPORTS = 240
_LONGEST_WHILE = 2000  # hashes; about as long as the slowest step
_LINE = 32
_SPOILT = (sqlite3.Error, OSError, EOFError, pickle.UnpicklingError, ValueError, KeyError)


def killing(directory: str, kills: int) -> tuple[list[Figure], list[Toll]]:
    tolls = [_toll(one, directory, kills) for one in (KINGDOM, *ON_FILES, *ON_SQLITE)]
    figures = [
        Figure(
            f"{toll.name}: lost or doubled per kill",
            (toll.lost + toll.doubled) / kills,
            at_most(0.0) if toll.name == KINGDOM.name else None,
            note=f"{kills} kills",
        )
        for toll in tolls
    ]
    return figures, tolls


def _toll(contestant: Contestant, directory: str, kills: int) -> Toll:
    luck = random.Random(SEED)
    finished: set[str] = set()
    acknowledged = lost = doubled = spoilt = 0
    place = own_place(directory)
    for _ in range(kills):
        told = _live_and_die(contestant.open, place, luck)
        finished |= told["-"]
        acknowledged += len(told["+"])
        try:
            left = _emptied(contestant.open, place)
        except _SPOILT:
            # It cannot be opened any more, and all that waited in it is gone.
            spoilt, place, left = spoilt + 1, own_place(directory), Counter()
        lost += len(told["+"] - told["!"] - set(left))
        doubled += sum(count - (id_ not in finished) for id_, count in left.items())
        finished |= set(left)
    note = f"{spoilt} times it could not be opened afterwards" if spoilt else contestant.note
    return Toll(contestant.name, kills, acknowledged, lost, doubled, note)


def _live_and_die(
    opened: Callable[[str], Store], place: str, luck: random.Random
) -> dict[str, set[str]]:
    wanted = luck.randint(1, _MOST_REPORTS) * _LINE
    handling = random.Random(luck.random())
    sent = parcels(_MOST_REPORTS)  # one is left over whenever the kill comes
    reading, writing = os.pipe()
    told = b""
    with closing(os.fdopen(reading, "rb", buffering=0)) as reports:
        with started(lambda: _work(opened(place), sent, handling, writing)):
            os.close(writing)
            while len(told) < wanted:
                read = reports.read(wanted - len(told))
                if not read:
                    raise RuntimeError("the process to be killed ended by itself")
                told += read
            _compute(luck.randrange(_LONGEST_WHILE))
        told += reports.read()
    return _sorted(told.decode())


def _work(store: Store, sent: list[Parcel], luck: random.Random, reports: int) -> None:
    def report(sign: str, id_: str | None) -> None:
        os.write(reports, f"{sign}{id_}".ljust(_LINE - 1).encode() + b"\n")

    for number, parcel in enumerate(sent):
        store.put(parcel)
        report("+", parcel.id)
        if number >= _WAITING:
            claimed = store.claim()
            _compute(luck.randrange(_LONGEST_WHILE))  # handlers take their time
            report("!", store.id_of(claimed))
            store.done(claimed)
            report("-", store.id_of(claimed))


def _compute(effort: int) -> None:
    digest = b""
    for _ in range(effort):
        digest = sha256(digest).digest()


def _sorted(told: str) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {"+": set(), "!": set(), "-": set()}
    for line in told.splitlines():
        found[line[0]].add(line[1:].rstrip())
    return found


def _emptied(opened: Callable[[str], Store], place: str) -> Counter[str]:
    """How often each comes that is still there."""
    left: Counter[str] = Counter()
    store = opened(place)
    while (claimed := store.claim()) is not None:
        id_ = store.id_of(claimed)
        store.done(claimed)
        if id_ is not None:
            left[id_] += 1
    store.tidy()
    store.close()
    return left
