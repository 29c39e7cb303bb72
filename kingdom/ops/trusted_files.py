"""Files that decide what runs here: settings, general packages, commands for soldiers, the program.

Those that other users may write are named and not obeyed. Settings and packages are refused where
they are read; here all of them are found, for `doctor`, and the program is refused at a start.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import kingdom
from kingdom.errors import ConfigurationError, KingdomError
from kingdom.ownership import OthersMayWrite, SharedGroup, no_group, others_may_write
from kingdom.runtime import own_command
from kingdom.settings.loading import shared_group
from kingdom.store.paths import BaseDir

_PROGRAM = os.path.dirname(os.path.abspath(kingdom.__file__))


def group_of(base: BaseDir) -> SharedGroup:
    """None also where the settings cannot be read; that is told elsewhere."""
    group = shared_group(base.config, {})

    def known() -> int | None:
        try:
            return group()
        except KingdomError:
            return None

    return known


def found_open(base: BaseDir) -> Iterator[OthersMayWrite]:
    """All of them."""
    group = group_of(base)
    for path in (base.root, *_below(base.config)):
        is_system = os.path.basename(path) == "system.yaml"  # it names the group
        yield from _open(path, no_group if is_system else group)
    for path in _below(os.path.dirname(own_command.path_of(base))):
        yield from _open(path)
    yield from _open_program()


def open_in_package(base: BaseDir, directory: str) -> Iterator[OthersMayWrite]:
    """Of one general, and of the directory that it lies in."""
    group = group_of(base)
    for path in (os.path.dirname(directory), *_below(directory)):
        yield from _open(path, group)


def refuse_open_program() -> None:
    for found in _open_program():
        raise ConfigurationError(
            f"The program is not run: {found.path}: {found.sentence}.",
            remedy=f"See that it is what you installed, then type: {found.remedy}",
            code="others_may_write",
        )


def _open_program() -> Iterator[OthersMayWrite]:
    """Whoever runs it trusts the one it belongs to."""
    above = os.path.dirname(_PROGRAM)
    owner = os.stat(_PROGRAM).st_uid
    for path in (above, *_below(os.path.join(above, "bin")), *_below(_PROGRAM)):
        yield from _open(path, owners=(owner,))


def _below(root: str) -> Iterator[str]:
    yield root
    for directory, directories, names in os.walk(root):
        for name in (*directories, *names):
            yield os.path.join(directory, name)


def _open(
    path: str, group: SharedGroup = no_group, owners: tuple[int, ...] = ()
) -> Iterator[OthersMayWrite]:
    try:
        found = others_may_write(path, os.stat(path), group, owners)
    except OSError:
        return  # it went meanwhile, or leads nowhere
    if found is not None:
        yield found
