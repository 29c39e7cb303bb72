"""The work all contestants do: put, claim, done; and how one of them is opened."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.bench.parcels import Parcel


class Store(ABC):
    """One open queue. What is claimed is opaque: each has its own word for it."""

    @abstractmethod
    def put(self, parcel: Parcel) -> None: ...

    @abstractmethod
    def claim(self) -> Any:
        """The next; None when there is none."""

    @abstractmethod
    def done(self, claimed: Any) -> None: ...

    @abstractmethod
    def id_of(self, claimed: Any) -> str | None: ...

    def settle(self) -> None:  # noqa: B027 (most put nothing off)
        """Do what was put off. It belongs to the work, so it is timed."""

    def tidy(self) -> None:  # noqa: B027 (most need no upkeep)
        """The upkeep that a contestant's documentation asks for. It is not timed."""

    @abstractmethod
    def close(self) -> None: ...


@dataclass(frozen=True)
class Contestant:
    name: str
    open: Callable[[str], Store]  # given a directory of its own
    note: str = ""


def sync_file(path: str) -> None:
    _sync(path, os.O_RDONLY)


def sync_directory(path: str) -> None:
    """Opened each time, as a careful writer does who keeps nothing open."""
    _sync(path, os.O_RDONLY | os.O_DIRECTORY)


def _sync(path: str, flags: int) -> None:
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
