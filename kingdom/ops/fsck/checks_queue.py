"""Checks of the streams' directories: names, contents, copies, and what does not belong there."""

from __future__ import annotations

import os
import shlex
from collections import defaultdict
from collections.abc import Iterator

from kingdom.bus.files.intake import PATIENCE, reason_path
from kingdom.errors import InvalidFile, TryLater
from kingdom.ops.fsck.finding import Finding, Fix, Workshop, by_fix
from kingdom.ops.fsck.survey import Seen, Survey, age_of
from kingdom.ops.listing import SUFFIX, Place, is_message, is_set_aside
from kingdom.ops.rewriting import rewrite
from kingdom.store import disk
from kingdom.store.leftovers import writer_is_gone
from kingdom.store.paths import REASON_SUFFIX, TEMPORARY_PREFIX
from kingdom.topology import DEAD, INBOX, PENDING, STREAMS

OPEN = (PENDING, "in_progress")
OF_SCHEDULES = "schedule-"
ABANDONED_AFTER = 3600.0  # seconds until a temporary without a writer's pid counts as left behind


def invalid_messages(survey: Survey) -> Iterator[Finding]:
    """Names that are no ids, files that cannot be read as what they should be, ids that differ."""
    for seen in survey.messages:
        if seen.fault is None:
            continue
        if seen.place.state != DEAD:
            repair, fix = by_fix("moves it to dead/ with the reason beside it"), _condemn(seen)
        elif not disk.exists(reason_path(seen.path)):
            repair, fix = by_fix("writes the reason beside it"), _explain(seen)
        else:
            continue
        path = survey.shown(seen.path)
        yield Finding("messages", path, _without_path(seen, seen.fault), repair, fix)


def _without_path(seen: Seen, fault: InvalidFile) -> str:
    sentence = fault.sentence.removeprefix(f"{seen.path}: ").removeprefix(f"{seen.path!r}: ")
    return sentence[:1].upper() + sentence[1:]


def _condemn(seen: Seen) -> Fix:
    def fix(workshop: Workshop) -> str:
        _let_copying_finish(seen.path)
        place = seen.place
        target = workshop.caretaker.condemn_invalid(place.stream, place.state, seen.name)
        return f"Moved to {target}." if target else "It is valid by now."

    return fix


def _let_copying_finish(path: str) -> None:
    age = age_of(path)
    if age is not None and abs(age) < PATIENCE:  # what comes from the future is not new either
        raise TryLater(
            "It changed a moment ago, someone may be copying it.", remedy="Run the command again."
        )


def _explain(seen: Seen) -> Fix:
    def fix(workshop: Workshop) -> str:
        assert seen.fault is not None
        workshop.caretaker.explain(seen.place.stream, seen.name, seen.fault)
        return f"Wrote {reason_path(seen.path)}."

    return fix


def statuses(survey: Survey) -> Iterator[Finding]:
    """`status` inside agrees with the directory."""
    for seen in survey.messages:
        if seen.is_message and not survey.has_status_words(seen):
            yield Finding(
                "status",
                survey.shown(seen.path),
                f"Its status is {seen.status or 'missing'}, its directory says {seen.place.state}.",
                by_fix("writes the status its directory says"),
                write_anew(seen),
            )


def write_anew(seen: Seen) -> Fix:
    def fix(workshop: Workshop) -> str:
        before = workshop.caretaker.read(seen.place.stream, seen.place.state, seen.path)
        rewrite(workshop.bus, seen.place.stream, before)
        return "Written anew."

    return fix


def copies(survey: Survey) -> Iterator[Finding]:
    """An id lies in one directory of its stream."""
    by_id: dict[tuple[str, str], list[Seen]] = defaultdict(list)
    for seen in survey.messages:
        if seen.id is not None and not is_set_aside(seen.place.state, seen.path):
            by_id[seen.place.stream, seen.id].append(seen)
    for (stream, id_), found in by_id.items():
        if len(found) > 1 and _are_two(survey, stream, id_):
            where = " and ".join(f"{stream}/{seen.place.state}" for seen in found)
            yield Finding(
                "copies",
                survey.shown(found[0].path),
                f"{id_} lies in {where}.",
                by_fix("keeps the one with the higher revision, the other goes to dead/"),
                _settle(stream, id_),
            )


def done_twice(survey: Survey) -> Iterator[Finding]:
    """One event has one task at a time; a schedule may have several."""
    by_event: dict[str, list[Seen]] = defaultdict(list)
    for seen in survey.messages:
        if seen.is_message and seen.place.stream == "tasks" and seen.place.state in OPEN:
            by_event[seen.event_id].append(seen)
    for event_id, found in by_event.items():
        if len(found) > 1 and not event_id.startswith(OF_SCHEDULES):
            first, *others = sorted(found, key=lambda seen: seen.name)
            for other in others:
                yield Finding(
                    "twice",
                    survey.shown(other.path),
                    f"{first.id} does the work of the same event already, {event_id}.",
                    f"kingdom cancel {other.id}",
                )


def _are_two(survey: Survey, stream: str, id_: str) -> bool:
    """Not just one that is being moved: whoever moves it has the stream's lock."""
    try:
        with survey.caretaker.locked(stream):
            return len(survey.caretaker.places.lying_in(stream, id_)) > 1
    except OSError:
        return True  # we may not lock; then it has to be seen twice, as everything else


def _settle(stream: str, id_: str) -> Fix:
    def fix(workshop: Workshop) -> str:
        return " ".join(workshop.caretaker.settle(stream, id_)) or "There is one copy by now."

    return fix


def reasons(survey: Survey) -> Iterator[Finding]:
    """A reason file explains a file that is there."""
    for place, names in survey.names.items():
        for name in names:
            if place.state != DEAD or not name.endswith(SUFFIX + REASON_SUFFIX):
                continue
            path = os.path.join(place.directory, name)
            explained = path.removesuffix(REASON_SUFFIX)
            if not disk.exists(explained):
                yield Finding(
                    "reasons",
                    survey.shown(path),
                    "The file it explains is not there.",
                    by_fix("removes it"),
                    _remove_reason(place.stream, path, explained),
                )


def _remove_reason(stream: str, path: str, explained: str) -> Fix:
    def fix(workshop: Workshop) -> str:
        gone = workshop.caretaker.remove_orphan_reason(stream, path, explained)
        return "Removed." if gone else "Its file is there by now."

    return fix


def temporaries(survey: Survey) -> Iterator[Finding]:
    """Nothing that an interrupted writer left lies in a queue."""
    for place, names in survey.names.items():
        for name in names:
            path = os.path.join(place.directory, name)
            if _is_temporary(path) and is_abandoned(path):
                yield Finding(
                    "temporaries",
                    survey.shown(path),
                    "Its writer was interrupted, and it is never read.",
                    by_fix("removes it"),
                    remove_abandoned(path),
                )


def _is_temporary(path: str) -> bool:
    is_directory = os.path.isdir(path) and not os.path.islink(path)
    return os.path.basename(path).startswith(TEMPORARY_PREFIX) and not is_directory


def is_abandoned(path: str) -> bool:
    gone = writer_is_gone(os.path.basename(path))
    age = age_of(path)
    if gone is not None or age is None:
        return bool(gone)
    return abs(age) > ABANDONED_AFTER  # one from the future is of a clock that was ahead


def remove_abandoned(path: str) -> Fix:
    def fix(workshop: Workshop) -> str:
        return "Removed." if is_abandoned(path) and disk.remove(path) else "It is gone."

    return fix


def strangers(survey: Survey) -> Iterator[Finding]:
    """Nothing but messages lies in a queue, and no directory that nobody reads."""
    for place, names in survey.names.items():
        if STREAMS[place.stream].flat:
            continue  # state/results/ holds other files of a task as well
        for name in names:
            path = os.path.join(place.directory, name)
            if _is_ignored(name):
                yield from _ignored(survey, path)
            elif not _belongs(place, name):
                yield Finding(
                    "strangers",
                    survey.shown(path),
                    "It is not a message, and nobody reads it.",
                    by_fix("moves it to dead/ with the reason beside it"),
                    _set_aside(place, path),
                )
    yield from _strange_directories(survey)


def _is_ignored(name: str) -> bool:
    """Whether it is hidden, or an editor's copy: no message, and nobody's mistake. Who moved it
    would only disturb the editor, or the system that keeps it."""
    return name.startswith(".") or name.endswith("~") or (name[0] == name[-1] == "#")


def _ignored(survey: Survey, path: str) -> Iterator[Finding]:
    if not _is_temporary(path):  # another check looks at those
        yield Finding(
            "strangers",
            survey.shown(path),
            "It is hidden or an editor's copy, so nobody reads it.",
            f"none needed; when nobody edits there: rm -r {shlex.quote(path)}",
            note=True,
        )


def _belongs(place: Place, name: str) -> bool:
    return name.endswith(SUFFIX + REASON_SUFFIX) or is_message(place, name)


def _set_aside(place: Place, path: str) -> Fix:
    fault = InvalidFile(
        f"{path}: it is not a message.",
        remedy=f"A message is a file whose name is its id and {SUFFIX}.",
        code="not_a_message",
    )

    def fix(workshop: Workshop) -> str:
        _let_copying_finish(path)
        target = workshop.caretaker.condemn(place.stream, path, fault)
        return f"Moved to {target}." if target else "It is gone."

    return fix


def _strange_directories(survey: Survey) -> Iterator[Finding]:
    """What lies between the directories we know."""
    known = {survey.base.path(INBOX), survey.base.path("queue", "README.md")}
    known |= {place.directory for place in survey.places}
    roots = [STREAMS[name].root for name in STREAMS if not STREAMS[name].flat]
    known |= {survey.base.path(root) for root in roots}
    for root in ("queue", *roots):
        for name in disk.names(survey.base.path(root)):
            path = survey.base.path(root, name)
            if _is_ignored(name):
                yield from _ignored(survey, path)
            elif path not in known:
                yield Finding(
                    "strangers",
                    survey.shown(path),
                    "Nobody reads what lies there.",
                    f"mv {shlex.quote(path)} elsewhere, or into a {PENDING}/ if it is a message",
                )
