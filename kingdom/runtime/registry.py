"""Who has `state/sessions.json`, the registry of soldiers, in hand."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from kingdom.store.locks import Lock
from kingdom.store.paths import BaseDir


@contextmanager
def registry_of(base: BaseDir) -> Iterator[bool]:
    """Whether nobody else has `state/sessions.json` in hand just now; then nobody gets it."""
    lock = Lock(registry_lock(base))
    try:
        yield lock.try_acquire()
    finally:
        lock.close()


def registry_lock(base: BaseDir) -> str:
    """Held by whoever changes `state/sessions.json`, or must know that nobody does."""
    return f"{base.sessions_file.removesuffix('.json')}.lock"
