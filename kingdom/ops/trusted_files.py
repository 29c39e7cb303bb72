"""Files that decide what runs here: settings, general packages, commands for soldiers, the program.

Those that other users may write are named and not obeyed. Settings and packages are refused where
they are read; here all of them are found, for `doctor`, and the program is refused at a start.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator

import kingdom
from kingdom.errors import ConfigurationError, KingdomError
from kingdom.ownership import (
    NOBODY_ELSE,
    ROOT,
    OthersMayWrite,
    Trusted,
    others_may_write,
    user_name,
)
from kingdom.runtime import own_command
from kingdom.settings.loading import trusted_in
from kingdom.store.paths import BaseDir

_PROGRAM = os.path.dirname(os.path.abspath(kingdom.__file__))


def found_open(base: BaseDir) -> Iterator[OthersMayWrite]:
    """All of them."""
    trusted = _trusted(base)
    for path in (base.root, *_below(base.config)):
        names_the_group = os.path.basename(path) == "system.yaml"
        yield from _open(path, trusted.without_group if names_the_group else trusted)
    for path in _below(os.path.dirname(own_command.path_of(base))):
        yield from _open(path, trusted.without_group)
    yield from _open_program()


def open_in_package(base: BaseDir, directory: str) -> Iterator[OthersMayWrite]:
    """Of one general, and of the directory that it lies in."""
    for path in (os.path.dirname(directory), *_below(directory)):
        yield from _open(path, _trusted(base))


def _trusted(base: BaseDir) -> Trusted:
    """Without a group where the settings cannot be read; that is told elsewhere."""
    found = trusted_in(base.config, {})

    def group() -> int | None:
        try:
            return found.group()
        except KingdomError:
            return None

    return Trusted(found.owners, group)


def refuse_to_obey_another(base: BaseDir) -> None:
    """Whoever owns a kingdom that root runs is root."""
    owner = os.stat(base.root).st_uid
    if os.geteuid() == ROOT != owner:
        name = user_name(owner)
        raise ConfigurationError(
            f"{base.root} belongs to {name}, whose settings root does not obey.",
            remedy=f"Run it as {name}: sudo -u {name} kingdom start; or: sudo chown -R root "
            f"{shlex.quote(base.root)}",
            code="others_may_write",
        )


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
        yield from _open(path, Trusted((owner,)))


def _below(root: str) -> Iterator[str]:
    yield root
    for directory, directories, names in os.walk(root):
        for name in (*directories, *names):
            yield os.path.join(directory, name)


def _open(path: str, trusted: Trusted = NOBODY_ELSE) -> Iterator[OthersMayWrite]:
    try:
        found = others_may_write(path, os.stat(path), trusted)
    except OSError:
        return  # it went meanwhile, or leads nowhere
    if found is not None:
        yield found
