"""Our own bus, opened as a role opens it.

A commit puts work off: files are written without a sync, and a checkpoint makes them safe when the
journal is full. So that no round escapes that, each ends with a checkpoint inside its time, several
times as often as the bus itself would ask for one.
"""

from __future__ import annotations

from kingdom.bus.files.bus import FileBus
from kingdom.bus.port import Claim, Move
from kingdom.store.paths import BaseDir
from tests.bench.contestants import Contestant, Store
from tests.bench.parcels import Parcel

STREAM = "tasks"
WORKER = "bench"


class Kingdom(Store):
    def __init__(self, directory: str) -> None:
        self.bus = FileBus(BaseDir(directory))
        self.bus.recover()

    def put(self, parcel: Parcel) -> None:
        self.bus.publish(STREAM, parcel.task)

    def put_all(self, parcels: list[Parcel]) -> None:
        self.bus.publish(STREAM, *(parcel.task for parcel in parcels))

    def claim(self) -> Claim | None:
        claims = self.bus.claim(STREAM, WORKER)
        return claims[0] if claims else None

    def done(self, claimed: Claim) -> None:
        self.bus.commit([Move(claimed, "completed")])

    def id_of(self, claimed: Claim) -> str:
        return claimed.id

    def settle(self) -> None:
        self.bus.checkpoint()

    def close(self) -> None:
        self.bus.close()


KINGDOM = Contestant("kingdom", Kingdom)
