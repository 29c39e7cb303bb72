"""Checks of the ground everything stands on: version, directories, file systems, rights."""

from __future__ import annotations

import os
import shlex
import stat
from collections.abc import Iterator

from kingdom.errors import ConfigurationError
from kingdom.ops.fsck.finding import Finding, Fix, Workshop, by_fix
from kingdom.ops.fsck.survey import Survey
from kingdom.ops.init import directories
from kingdom.store import disk
from kingdom.store.formats import FORMAT, format_of, read_format, write_format
from kingdom.store.room import is_read_only, unfit
from kingdom.store.unusable import Unusable, mend, unusable

_FILE = stat.S_IRUSR | stat.S_IWUSR
_DIRECTORY = stat.S_IRWXU


def format_file(survey: Survey) -> Iterator[Finding]:
    """`state/format` names the version this program knows."""
    path = survey.shown(survey.base.format_file)
    if _closed(survey, survey.base.format_file) != survey.base.format_file:
        yield forbidden(survey, survey.base.format_file)
        return
    try:
        named, found = read_format(survey.base), format_of(survey.base)
    except ConfigurationError as error:
        yield Finding("format", path, error.sentence, error.remedy)
        return
    if found > FORMAT:
        sentence = f"The files are of format {found}, and this program knows {FORMAT} at most."
        yield Finding("format", path, sentence, "upgrade kingdom on this machine")
    elif found < FORMAT:
        sentence = f"The files are of format {found}, and this program works with {FORMAT}."
        yield Finding("format", path, sentence, "kingdom migrate")
    elif named is None:
        yield Finding("format", path, "It is missing.", by_fix(f"writes {FORMAT}"), _write_format)


def _write_format(workshop: Workshop) -> str:
    return "Written." if write_format(workshop.base) else "It is there by now."


def missing_directories(survey: Survey) -> Iterator[Finding]:
    """Every place is there, and is a directory."""
    for path in directories(survey.base):
        if os.path.isdir(path) or _closed(survey, path) != path:
            continue
        if disk.exists(path):
            yield Finding(
                "directories",
                survey.shown(path),
                "It should be a directory.",
                f"mv {shlex.quote(path)} {shlex.quote(path)}.aside && kingdom fsck --fix",
            )
        else:
            fix, what = _make(path), by_fix("makes it")
            yield Finding("directories", survey.shown(path), "It is missing.", what, fix)


def _make(path: str) -> Fix:
    def fix(workshop: Workshop) -> str:
        disk.make_directory(path)
        return "Made."

    return fix


def one_file_system(survey: Survey) -> Iterator[Finding]:
    """Queues and state lie on one file system, which can be written to."""
    for path, said, remedy in unfit(survey.base):
        yield Finding("file_system", survey.shown(path), f"It {said}", remedy)


def rights(survey: Survey) -> Iterator[Finding]:
    """This user may read and write everything."""
    for path in directories(survey.base):
        write = 0 if is_read_only(path) else os.W_OK
        if os.path.isdir(path) and not os.access(path, os.R_OK | os.X_OK | write):
            yield forbidden(survey, path)
    for place, names in survey.names.items():
        for name in names:
            path = os.path.join(place.directory, name)
            if os.path.isfile(path) and not os.access(path, os.R_OK):
                yield forbidden(survey, path)


def unusable_files(survey: Survey) -> Iterator[Finding]:
    """Every file is one, and this user may work with it."""
    for one in unusable(survey.base, everything=True):
        if disk.exists(survey.base.path(one.path)):
            fix = _mend(one) if one.fix else None
            repair = by_fix(one.remedy) if one.fix else one.remedy
            yield Finding("files", one.path, one.sentence, repair, fix, note=one.is_aside)


def _mend(one: Unusable) -> Fix:
    return lambda workshop: mend(workshop.base, one)


def forbidden(survey: Survey, path: str) -> Finding:
    """A finding about what this user may not read and write, or about what it lies in."""
    path = _closed(survey, path)
    wanted = _DIRECTORY if os.path.isdir(path) else _FILE
    letters = "rwx" if wanted == _DIRECTORY else "rw"
    sentence = "This user may not read and write it."
    facts = disk.facts_of(path)
    if facts and facts.st_uid == os.geteuid():
        what = f"chmod u+{letters} {shlex.quote(path)}"
        return Finding("rights", survey.shown(path), sentence, by_fix(what), _allow(path, wanted))
    owner = f"sudo chown {os.geteuid()} {shlex.quote(path)}"
    return Finding("rights", survey.shown(path), sentence, owner)


def _closed(survey: Survey, path: str) -> str:
    """The first directory on the way there that this user may not look into; else the path."""
    place = survey.base.root
    for part in os.path.relpath(path, place).split(os.sep):
        place = os.path.join(place, part)
        if os.path.isdir(place) and not os.access(place, os.R_OK | os.X_OK):
            return place
    return path


def _allow(path: str, wanted: int) -> Fix:
    def fix(workshop: Workshop) -> str:
        facts = disk.facts_of(path)
        if facts is None:
            return "It is gone."
        disk.set_mode(path, stat.S_IMODE(facts.st_mode) | wanted)
        return "This user may read and write it now."

    return fix
