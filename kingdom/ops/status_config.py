"""The configuration as `status` and `send` need it: checked once, then believed until it changes.

To check it takes a third of a second, most of it for imports. So what was found to hold is noted in
`state/config-checked.json`, with the stamps of all that was read. A note that is missing, damaged,
of yesterday or of other stamps costs one more check and nothing else. Faults are never noted.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import kingdom
from kingdom.store import disk
from kingdom.store.paths import BaseDir
from kingdom.store.state import read_json, write_json

if TYPE_CHECKING:
    from kingdom.runtime.config import Config
    from kingdom.settings.loading import Settings

OVERRIDES = ("KINGDOM_BUS",)  # what the environment sets is checked each time; it may be a secret
_BELIEVED_SECONDS = 86_400.0  # there is more to it than stamps show: the time zones known here
_SETTLED_SECONDS = 2.0  # clocks are coarse: what is younger may change and keep its stamp
_DEEPEST = 4  # config/local/generals/NAME/manifest.yaml
_PROGRAM = os.path.dirname(kingdom.__file__)
_CHECKERS = tuple(os.path.join(_PROGRAM, name) for name in ("settings", "models", "runtime"))

Stamp = list[Any]  # as JSON gives it back


def checked_file(base: BaseDir) -> str:
    return base.path("state", "config-checked.json")


def settings_in_force(
    base: BaseDir, environment: Mapping[str, str], now: float
) -> tuple[Settings, dict[str, str]]:
    """And the faults of general packages, by name; or what is wrong with the configuration. Of a
    note they have only what is asked for here: `system.runtime`, which is all that engines are
    told, `chamberlain.heartbeat`, `sentinel`."""
    settings, _, faults = _in_force(base, environment, now)
    return settings, faults


def subscriptions_in_force(
    base: BaseDir, environment: Mapping[str, str], now: float
) -> Sequence[str]:
    """The types that generals take up, and patterns of types."""
    return _in_force(base, environment, now)[1]


def _in_force(
    base: BaseDir, environment: Mapping[str, str], now: float
) -> tuple[Settings, list[str], dict[str, str]]:
    if any(environment.get(name) for name in OVERRIDES):
        return _checked(base, environment)
    stamps = list(_stamps(base))
    noted = _noted(base, stamps, now)
    if noted is not None:
        return cast("Settings", _tree(noted["settings"])), noted["subscribes"], {}
    settings, subscribes, faults = _checked(base, environment)
    if not faults and all(_is_settled(stamp, now) for stamp in stamps):
        _note(base, stamps, settings, subscribes)
    return settings, subscribes, faults


def _checked(
    base: BaseDir, environment: Mapping[str, str]
) -> tuple[Settings, list[str], dict[str, str]]:
    from kingdom.runtime.config import load_config

    found = load_config(base, environment)
    faults = {name: str(fault) for name, fault in found.faults.items()}
    return found.settings, _subscribes(found), faults


def _subscribes(config: Config) -> list[str]:
    return [one for general in config.generals.values() for one in general.manifest.subscribes]


def _noted(base: BaseDir, stamps: list[Stamp], now: float) -> dict[str, Any] | None:
    try:
        facts = disk.facts_of(checked_file(base))
        noted = read_json(checked_file(base))
    except OSError:  # another user's
        return None
    if facts is None or not 0.0 <= now - facts.st_mtime < _BELIEVED_SECONDS:
        return None
    if not isinstance(noted, dict) or noted.get("stamps") != stamps:
        return None
    is_whole = isinstance(noted.get("settings"), dict) and _is_words(noted.get("subscribes"))
    return noted if is_whole else None


def _is_words(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _note(base: BaseDir, stamps: list[Stamp], found: Settings, subscribes: list[str]) -> None:
    settings = {
        "system": {"runtime": found.system.runtime.model_dump(mode="json")},
        "chamberlain": {"heartbeat": found.chamberlain.heartbeat.model_dump(mode="json")},
        "sentinel": found.sentinel.model_dump(mode="json"),
    }
    noted = {"settings": settings, "subscribes": subscribes, "stamps": stamps}
    try:
        write_json(checked_file(base), noted, sync=False)
    except OSError:
        return  # a full disk, or a kingdom that this user may only look at: it is checked again


def _tree(value: Any) -> Any:
    """Sections as the settings have them: `runtime.command.argv`."""
    if not isinstance(value, dict):
        return value
    return SimpleNamespace(**{key: _tree(one) for key, one in value.items()})


def _stamps(base: BaseDir) -> Iterator[Stamp]:
    """Tells one state of the configuration, for one user and one program, from the next."""
    root = os.stat(base.root)
    yield [os.geteuid(), 0, root.st_mode, root.st_uid]
    for place in (base.config, *_CHECKERS):
        yield from _stamps_below(place, _DEEPEST)


def _stamps_below(path: str, depth: int) -> Iterator[Stamp]:
    """Of more than is ever read there, so that what counts need not be named here as well."""
    try:
        facts = os.stat(path)
        is_listed = stat.S_ISDIR(facts.st_mode) and depth > 0
        names = disk.names(path) if is_listed else []
    except OSError:  # a link to nowhere, say; if it counts, the check says so
        yield [path, 0]
        return
    if is_listed:  # by its names: its own times change when Python puts a __pycache__ there
        yield [path, 0, facts.st_ino, facts.st_mode, facts.st_uid]
    else:
        yield [path, facts.st_ctime_ns, facts.st_mtime_ns, facts.st_ino, facts.st_size]
    for name in sorted(names):
        if not name.startswith(".") and name != "__pycache__":
            yield from _stamps_below(os.path.join(path, name), depth - 1)


def _is_settled(stamp: Stamp, now: float) -> bool:
    changed: int = stamp[1]
    return changed < (now - _SETTLED_SECONDS) * 1e9
