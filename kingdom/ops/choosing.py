"""From what a person typed to the message that is meant, or to a sentence that helps."""

from __future__ import annotations

from itertools import islice

from kingdom.errors import NeverWorks, NotFound, UsageError
from kingdom.ops.listing import Listed, is_set_aside, known_ids, locate
from kingdom.store.paths import BaseDir
from kingdom.topology import STREAMS

_SHOWN = 3


def find(base: BaseDir, typed: str, wanted: str = "message") -> list[Listed]:
    """Every file of this id; `STREAM/ID` looks in one stream. A task and its result share an id.

    `wanted` is what the refusal calls it.
    """
    stream, _, id_ = typed.rpartition("/")
    if stream and stream not in STREAMS:
        raise UsageError(f"{stream!r} is not a stream.", remedy=f"There are: {', '.join(STREAMS)}.")
    found = locate(base, id_, stream or None)
    if not found:
        raise NotFound(f"There is no {wanted} {typed}.", remedy=_suggestion(base, id_))
    return found


def find_one(base: BaseDir, typed: str, states: set[str], verb: str) -> Listed | None:
    """The one of this id that lies in one of these states; None if it lies elsewhere."""
    everywhere = find(base, typed)
    found = [entry for entry in everywhere if entry.state in states]
    streams = [e.stream for e in everywhere if not is_set_aside(e.state, e.path)]
    if len(set(streams)) < len(streams):
        raise NeverWorks(
            f"{typed} lies in two places of one stream.",
            remedy="Settle it with: kingdom fsck --fix",
        )
    if len(found) > 1:
        forms = " or ".join(f"kingdom queue {verb} {entry.stream}/{entry.id}" for entry in found)
        raise UsageError(f"{typed} lies in more than one place.", remedy=f"Say which: {forms}")
    return found[0] if found else None


def _suggestion(base: BaseDir, id_: str) -> str:
    begun = sorted(islice(known_ids(base, id_), _SHOWN)) if id_ else []
    near = begun or _near(base, id_)
    if near:
        return f"Did you mean: {', '.join(near)}"
    return "All of them: kingdom queue ls --all"


def _near(base: BaseDir, id_: str) -> list[str]:
    import difflib

    return difflib.get_close_matches(id_, islice(known_ids(base), 10_000), n=_SHOWN)
