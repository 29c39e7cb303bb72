"""Runs every check. What only seemed wrong because something moved meanwhile is not reported."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator

from kingdom.ops.fsck import checks_base, checks_bus, checks_queue, checks_time
from kingdom.ops.fsck.finding import Finding
from kingdom.ops.fsck.survey import Survey
from kingdom.store.paths import BaseDir

Check = Callable[[Survey], Iterator[Finding]]

# In the order they are repaired: the ground first, then what was committed, then single files.
CHECKS: dict[str, Check] = {
    "format": checks_base.format_file,
    "directories": checks_base.missing_directories,
    "file_system": checks_base.one_file_system,
    "rights": checks_base.rights,
    "files": checks_base.unusable_files,
    "commits": checks_bus.unshown_commits,
    "attic": checks_bus.attic,
    "messages": checks_queue.invalid_messages,
    "copies": checks_queue.copies,
    "twice": checks_queue.done_twice,
    "status": checks_queue.statuses,
    "leases": checks_bus.leases,
    "reasons": checks_queue.reasons,
    "temporaries": checks_queue.temporaries,
    "strangers": checks_queue.strangers,
    "sequences": checks_bus.sequences,
    "leftovers": checks_bus.leftovers_in_state,
    "times": checks_time.times,
}


def examine(base: BaseDir) -> list[Finding]:
    """What is wrong, in the order of repair. Nothing is held still meanwhile, so what is
    found is looked at twice: a message on its way is not out of place for long."""
    found = _examine_once(base)
    if not found:
        return []
    again = set(_examine_once(base))
    return [finding for finding in found if finding in again]


def _examine_once(base: BaseDir) -> list[Finding]:
    survey = Survey(base)
    first = _run(CHECKS["format"], survey)
    if first and first[0].fix is None:
        return first  # files of another version are not ours to judge
    every = (finding for check in CHECKS.values() for finding in _run(check, survey))
    found = list(dict.fromkeys(every))
    said = {one.path for one in found if one.check != "files"}
    return [one for one in found if one.check != "files" or one.path not in said]


def _run(check: Check, survey: Survey) -> list[Finding]:
    """What a check may not look at is a finding, and the others go on."""
    try:
        return list(check(survey))
    except PermissionError as error:
        return [checks_base.forbidden(survey, str(error.filename))]
    except OSError as error:
        if error.errno != errno.EROFS:
            raise
        return []  # a check of its own tells of the disk
