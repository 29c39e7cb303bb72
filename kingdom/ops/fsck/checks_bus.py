"""Checks of what the bus keeps in `state/`: commits, attic, leases, sequences, leftovers."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing

from kingdom.bus.files.remains import only_in_attic, unshown_entries
from kingdom.bus.files.sequence import STREAMS_OF_KIND, Sequence
from kingdom.bus.lease import Holder
from kingdom.ops.fsck.checks_queue import is_abandoned, remove_abandoned, write_anew
from kingdom.ops.fsck.finding import Finding, Fix, Workshop, by_fix
from kingdom.ops.fsck.survey import Seen, Survey
from kingdom.ops.snapshot import leftovers
from kingdom.store import disk
from kingdom.store.leftovers import writer_is_gone
from kingdom.store.paths import TEMPORARY_PREFIX
from kingdom.store.trees import remove_tree
from kingdom.topology import PENDING, STREAMS

# A lost lease there is taken over by the next claim, which must see that it was lost.
CLAIMED_FROM = (PENDING, "in_progress")


def unshown_commits(survey: Survey) -> Iterator[Finding]:
    """What a process committed before it died is in the queue."""
    for entry in unshown_entries(survey.caretaker):
        yield Finding(
            "commits",
            f"{STREAMS[entry.stream].root}/{entry.state}/{entry.id}.json",
            "A process committed it and died before the queue showed it.",
            by_fix("shows it; so does the next start of any role"),
            _recover,
        )


def attic(survey: Survey) -> Iterator[Finding]:
    """No message is left in the attic alone."""
    for kept in only_in_attic(survey.caretaker):
        yield Finding(
            "attic",
            survey.shown(kept.path),
            f"{kept.id} is in no queue any more, only here.",
            by_fix("brings it back; so does the next start of any role"),
            _recover,
        )


def _recover(workshop: Workshop) -> str:
    workshop.bus.recover()
    return "Finished what the dead process had begun."


def leases(survey: Survey) -> Iterator[Finding]:
    """Nobody who is gone holds a message."""
    for seen in survey.messages:
        holder = Holder.parse(seen.locked_by)
        if holder is not None and seen.is_message and holder.is_gone():
            yield _lost_lease(survey, seen, holder)


def _lost_lease(survey: Survey, seen: Seen, holder: Holder) -> Finding:
    path = survey.shown(seen.path)
    sentence = f"{holder.worker} (pid {holder.pid}) held it and is gone."
    if seen.place.state in CLAIMED_FROM:
        return Finding("leases", path, sentence, "none: the next claim takes it over", note=True)
    return Finding("leases", path, sentence, by_fix("takes the lease away"), write_anew(seen))


def sequences(survey: Survey) -> Iterator[Finding]:
    """The last number given is not behind the highest id there is."""
    for kind in STREAMS_OF_KIND:
        path = survey.base.sequence_file(kind)
        try:
            last, highest = _numbers(survey, kind)
        except OSError:
            continue  # without the right to look; another check says so
        if last is None and (highest[1] or disk.exists(path)):
            sentence = "It is damaged." if disk.exists(path) else "It is missing."
        elif last is not None and last < highest:
            sentence = f"It is behind {kind}-{highest[0]}-{highest[1]:03d}, which would come twice."
        else:
            continue
        what = by_fix("sets it to the highest id there is")
        yield Finding("sequences", survey.shown(path), sentence, what, _mend_sequence(kind))


def _numbers(survey: Survey, kind: str) -> tuple[tuple[str, int] | None, tuple[str, int]]:
    with closing(Sequence(survey.caretaker.places, kind, sync=True)) as sequence:
        return sequence.last(), sequence.highest()


def _mend_sequence(kind: str) -> Fix:
    def fix(workshop: Workshop) -> str:
        with closing(Sequence(workshop.caretaker.places, kind, sync=True)) as sequence:
            sequence.mend()
        return "Set to the highest id there is."

    return fix


def leftovers_in_state(survey: Survey) -> Iterator[Finding]:
    """Nothing that an interrupted writer or backup left lies in `state/`."""
    for path in _temporaries(survey):
        what, fix = by_fix("removes it"), remove_abandoned(path)
        yield Finding("leftovers", survey.shown(path), "Its writer was interrupted.", what, fix)
    for path in leftovers(survey.base):
        what, fix = by_fix("removes it"), _remove_tree(path)
        yield Finding("leftovers", survey.shown(path), "A backup was interrupted.", what, fix)


def _temporaries(survey: Survey) -> Iterator[str]:
    flat = {place.directory for place in survey.places}
    for directory, directories, names in os.walk(survey.base.state):
        directories[:] = [name for name in directories if not name.startswith(".")]
        if directory in flat:
            continue  # those are looked at with the queues
        for name in names:
            path = os.path.join(directory, name)
            if name.startswith(TEMPORARY_PREFIX) and is_abandoned(path):
                yield path


def _remove_tree(path: str) -> Fix:
    def fix(workshop: Workshop) -> str:
        if writer_is_gone(os.path.basename(path)) is False:
            return "It is in use by now."
        remove_tree(path)
        return "Removed."

    return fix
