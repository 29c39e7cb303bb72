"""Publishing, and the whole cycle of publish, claim and commit."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from contextlib import ExitStack

from tests.bench.contestants import Contestant, Store
from tests.bench.figures import Figure, at_least, compared
from tests.bench.floors import FILES, SQLITE
from tests.bench.ours import KINGDOM, Kingdom
from tests.bench.parcels import parcels
from tests.bench.peers import ON_FILES, ON_SQLITE
from tests.bench.place import own_place
from tests.bench.report import Rate
from tests.bench.rounds import Trial, rates

BATCH = 100
# The same number for all: a file system may charge for what was made and removed before.
_PUBLISHES = 1000
_CYCLES = 300
_BATCHED = "batch"


def publishing(directory: str, rounds: int) -> tuple[list[Figure], list[Rate]]:
    with ExitStack() as stack:
        floors = [_publish(one.name, _opened(one, directory, stack)) for one in (FILES, SQLITE)]
        single = _publish(KINGDOM.name, _opened(KINGDOM, directory, stack))
        batched = Kingdom(own_place(directory))
        stack.callback(batched.close)
        found = rates([single, _publish_batches(batched), *floors], rounds)
    ours = found[KINGDOM.name]
    figures = [
        compared("durable publish to a bare synced file", ours, found[FILES.name], at_least(1.0)),
        compared("durable publish to a bare SQLite insert", ours, found[SQLITE.name]),
        compared(
            f"publish in batches of {BATCH} to single ones", found[_BATCHED], ours, at_least(1.4)
        ),
    ]
    return figures, [_rate(f"publish: {name}", values) for name, values in found.items()]


def cycling(directory: str, rounds: int) -> tuple[list[Figure], list[Rate]]:
    contestants = (KINGDOM, FILES, SQLITE, *ON_FILES, *ON_SQLITE)
    with ExitStack() as stack:
        trials = [_cycle(one, _opened(one, directory, stack)) for one in contestants]
        found = rates(trials, rounds)
    ours = found[KINGDOM.name]
    figures = [
        compared("cycle to one of bare synced files", ours, found[FILES.name], at_least(1.8)),
        compared("cycle to one of bare SQLite", ours, found[SQLITE.name]),
    ]
    for peer in ON_FILES:
        figures.append(
            compared(f"cycle to {peer.name}", ours, found[peer.name], at_least(1.0), peer.note)
        )
    for peer in ON_SQLITE:
        figures.append(compared(f"cycle to {peer.name}", ours, found[peer.name], note=peer.note))
    return figures, [_rate(f"cycle: {name}", values) for name, values in found.items()]


def _opened(contestant: Contestant, directory: str, stack: ExitStack) -> Store:
    store = contestant.open(own_place(directory))
    stack.callback(store.close)
    return store


def _publish(name: str, store: Store) -> Trial:
    def prepare() -> Callable[[], None]:
        sent = parcels(_PUBLISHES)

        def work() -> None:
            for parcel in sent:
                store.put(parcel)
            store.settle()

        return work

    return Trial(name, _PUBLISHES, prepare, store.tidy)


def _publish_batches(store: Kingdom) -> Trial:
    def prepare() -> Callable[[], None]:
        batches = [parcels(BATCH) for _ in range(_PUBLISHES // BATCH)]

        def work() -> None:
            for batch in batches:
                store.put_all(batch)
            store.settle()

        return work

    return Trial(_BATCHED, _PUBLISHES, prepare, store.tidy)


def _cycle(contestant: Contestant, store: Store) -> Trial:
    def prepare() -> Callable[[], None]:
        sent = parcels(_CYCLES)

        def work() -> None:
            for parcel in sent:
                store.put(parcel)
                claimed = store.claim()
                assert claimed is not None, contestant.name
                store.done(claimed)
            store.settle()

        return work

    return Trial(contestant.name, _CYCLES, prepare, store.tidy)


def _rate(name: str, values: Sequence[float]) -> Rate:
    return Rate(name, statistics.median(values), "a second")
