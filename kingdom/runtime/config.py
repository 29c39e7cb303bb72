"""The configuration as a role holds it: settings, and the general packages, checked together.

`config/generals/{name}/` defines a general; a package of the same name in `config/local/generals/`
wins as a whole. A package that has a fault, or that others may write, is named and not used; all
others are. `LiveConfig` reads anew when a file changed, and keeps the last good one otherwise.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from kingdom.clock import Clock
from kingdom.errors import ConfigurationError, KingdomError
from kingdom.models.manifest import Manifest, read_manifest
from kingdom.ownership import NOBODY_ELSE, Trusted
from kingdom.settings.loading import (
    Settings,
    load_settings,
    read_trusted,
    refuse_open_directories,
    trusted_in,
)
from kingdom.settings.model import FILES
from kingdom.settings.yaml_file import MAX_BYTES
from kingdom.store import disk
from kingdom.store.paths import BaseDir

MANIFEST, PROMPT, SOUL = "manifest.yaml", "prompt.md", "soul.md"
GUIDE = "workspace-claude.md"
# What a prompt may name; a general puts it in once, and never looks at what it put in.
PLACEHOLDER = re.compile(r"\{\{(.*?)\}\}")
TASK_PLACEHOLDERS = ("TASK_ID", "TASK_TYPE", "REPO", "REPO_DIR", "BASE", "GENERALS")
PAYLOAD_PLACEHOLDER = re.compile(r"payload(?:\.[A-Za-z0-9_-]+)+\Z")
# The king handles these itself, so no general can have them.
COMMAND = "kingdom.command"
ANSWER = "slack.human_response"
OWN_TYPES = (COMMAND, "workflow.command", ANSWER)
_ALL_BELOW = ".*"
_LOOK_SECONDS = 1.0

Stamp = tuple[str, int, int, int, int]


@dataclass(frozen=True)
class General:
    """One general package, as it was read."""

    manifest: Manifest
    directory: str
    prompt: str
    soul: str | None = None

    @property
    def name(self) -> str:
        return self.manifest.name


@dataclass(frozen=True)
class Config:
    """Everything in `config/`. `guide` is what every soldier is told, before its general's soul."""

    settings: Settings
    generals: Mapping[str, General] = field(default_factory=dict)
    guide: str = ""
    faults: Mapping[str, ConfigurationError] = field(  # of packages that cannot be used, by name
        default_factory=dict, compare=False
    )
    _exact: dict[str, General] = field(init=False, repr=False, compare=False, default_factory=dict)
    _below: list[tuple[str, General]] = field(
        init=False, repr=False, compare=False, default_factory=list
    )

    def __post_init__(self) -> None:
        for general in self.generals.values():
            for wanted in general.manifest.subscribes:
                if wanted.endswith(_ALL_BELOW):
                    self._below.append((wanted[:-1], general))
                else:
                    self._exact[wanted] = general
        self._below.sort(key=lambda one: -len(one[0]))

    def route(self, event_type: str) -> General | None:
        """Who subscribes: an exact type beats a pattern, a longer pattern a shorter one."""
        exact = self._exact.get(event_type)
        if exact is not None:
            return exact
        return next((one for start, one in self._below if event_type.startswith(start)), None)

    @property
    def unusable(self) -> dict[str, ConfigurationError]:
        """Faults of packages of which no earlier version is in force either."""
        return {name: fault for name, fault in self.faults.items() if name not in self.generals}

    def general(self, name: str) -> General:
        found = self.generals.get(name)
        if found is None and name in self.faults:
            raise self.faults[name]
        if found is None:
            raise ConfigurationError(
                f"There is no general {name}.",
                remedy=f"Its package belongs in config/generals/{name}/.",
            )
        return found

    def roster(self, besides: str) -> str:
        """The other generals, a line each."""
        others = (one.manifest for name, one in self.generals.items() if name != besides)
        return "\n".join(f"- {one.name}: {' '.join(one.description.split())}" for one in others)


def load_config(
    base: BaseDir, environment: Mapping[str, str], before: Mapping[str, General] | None = None
) -> Config:
    """What is in force now, or `ConfigurationError` with the file, the key and what helps. Of a
    package that has a fault now, what it was `before` is kept."""
    settings = load_settings(base.config, environment)
    trusted = trusted_in(base.config, environment)
    generals, faults = {}, {}
    for name, place in sorted(_packages(base).items()):
        try:
            generals[name] = _general(name, place, trusted)
        except ConfigurationError as fault:
            faults[name] = fault
            if before and name in before:
                generals[name] = before[name]
    _refuse_rivals(generals)
    return Config(settings, generals, guide_of(base, trusted), faults)


def _packages(base: BaseDir) -> dict[str, str]:
    """The directory of each general; one in `config/local/` comes instead of the shipped one."""
    found = {}
    for root in _package_roots(base):
        for name in _names(root):
            directory = os.path.join(root, name)
            if not name.startswith(".") and os.path.isdir(directory):
                found[name] = directory
    return found


def _names(root: str) -> list[str]:
    try:
        return disk.names(root)
    except OSError as error:
        raise ConfigurationError(
            f"{root}: it cannot be read: {error.strerror}.",
            remedy="Make it a directory that this user may read.",
        ) from None


def _package_roots(base: BaseDir) -> tuple[str, str]:
    return os.path.join(base.config, "generals"), os.path.join(base.config, "local", "generals")


def _general(name: str, directory: str, trusted: Trusted) -> General:
    refuse_open_directories(trusted, os.path.dirname(directory), directory)
    path = os.path.join(directory, MANIFEST)
    manifest = read_manifest(_needed(path, trusted), path)
    if manifest.name != name:
        raise ConfigurationError(
            f"{path}: `name` is {manifest.name}, but its directory is {name}.",
            remedy="Give both the same name.",
        )
    _refuse_own_types(manifest, path)
    prompt_path = os.path.join(directory, PROMPT)
    prompt = _text(_needed(prompt_path, trusted), prompt_path)
    _refuse_unknown_placeholders(prompt, prompt_path)
    soul_path = os.path.join(directory, SOUL)
    soul = read_trusted(soul_path, trusted)
    return General(manifest, directory, prompt, None if soul is None else _text(soul, soul_path))


def _needed(path: str, trusted: Trusted) -> bytes:
    data = read_trusted(path, trusted)
    if data is None:
        raise ConfigurationError(
            f"{os.path.dirname(path)}: a general package without {os.path.basename(path)}.",
            remedy="Add the file, or remove the directory.",
        )
    return data


def _text(data: bytes, path: str) -> str:
    if len(data) > MAX_BYTES:
        raise ConfigurationError(f"{path}: it has more than {MAX_BYTES:,} bytes.")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ConfigurationError(f"{path}: it is not UTF-8.", remedy="Save it as UTF-8.") from None


def guide_of(base: BaseDir, trusted: Trusted = NOBODY_ELSE) -> str:
    """What every soldier is told."""
    for place in (os.path.join(base.config, "local"), base.config):
        path = os.path.join(place, GUIDE)
        data = read_trusted(path, trusted)
        if data is not None:
            return _text(data, path)
    return ""


def _refuse_own_types(manifest: Manifest, path: str) -> None:
    for wanted in manifest.subscribes:
        if wanted in OWN_TYPES:
            raise ConfigurationError(
                f"{path}: `subscribes`: {wanted} is handled by the king itself.",
                remedy="Leave it out.",
            )


def _refuse_unknown_placeholders(prompt: str, path: str) -> None:
    for number, line in enumerate(prompt.splitlines(), 1):
        for match in PLACEHOLDER.finditer(line):
            if not is_placeholder(match[1]):
                raise ConfigurationError(
                    f"{path}:{number}: {match[0]} is not a placeholder.",
                    remedy=f"Known: {', '.join(TASK_PLACEHOLDERS)} and payload.KEY, "
                    "each in double braces.",
                )


def is_placeholder(name: str) -> bool:
    return name in TASK_PLACEHOLDERS or PAYLOAD_PLACEHOLDER.match(name) is not None


def _refuse_rivals(generals: Mapping[str, General]) -> None:
    """Two that claim one type, or one schedule's name: nobody could say whose it is."""
    types: dict[str, General] = {}
    schedules: dict[str, General] = {}
    for general in generals.values():
        for wanted in dict.fromkeys(general.manifest.subscribes):
            _refuse_rival(types, wanted, general, "claim the type")
        for schedule in general.manifest.schedules:
            _refuse_rival(schedules, schedule.name, general, "have a schedule named")


def _refuse_rival(taken: dict[str, General], name: str, general: General, what: str) -> None:
    other = taken.setdefault(name, general)
    if other is not general:
        raise ConfigurationError(
            f"{_manifest_of(other)} and {_manifest_of(general)} both {what} {name}.",
            remedy="Take it out of one of them.",
        )


def _manifest_of(general: General) -> str:
    return os.path.join(general.directory, MANIFEST)


class LiveConfig:
    """The configuration of a running role. `problem` says why the newest files are not in force."""

    def __init__(
        self,
        base: BaseDir,
        environment: Mapping[str, str],
        clock: Clock,
        first: Config | None = None,
    ) -> None:
        """`first` is in force until a file changes; else what the files say."""
        self._base = base
        self._environment = environment
        self._clock = clock
        self._looked_at = clock.monotonic()
        # Before reading: what changes meanwhile is then seen as a change.
        self._stamps = frozenset(_stamps(base))
        self.current = first or load_config(base, environment)
        self.problem: KingdomError | None = _first_fault(self.current)

    def refresh(self, *, at_once: bool = False) -> bool:
        """Whether another configuration is in force than before."""
        now = self._clock.monotonic()
        if now - self._looked_at < _LOOK_SECONDS and not at_once:
            return False
        self._looked_at = now
        stamps = frozenset(_stamps(self._base))
        if stamps == self._stamps:
            return False
        self._stamps = stamps
        try:
            fresh = load_config(self._base, self._environment, self.current.generals)
        except KingdomError as error:
            self.problem = error
            return False
        self.problem = _first_fault(fresh)
        changed = fresh != self.current
        self.current = fresh
        return changed


def _first_fault(config: Config) -> ConfigurationError | None:
    return next(iter(config.faults.values()), None)


def _stamps(base: BaseDir) -> Iterator[Stamp]:
    """Tells one state of all configuration files from the next, without reading them."""
    for path in _files(base):
        try:
            facts = os.stat(path)
        except OSError:
            continue  # reading says what is wrong with it
        yield path, facts.st_ino, facts.st_mtime_ns, facts.st_ctime_ns, facts.st_size


def _files(base: BaseDir) -> Iterator[str]:
    yield base.root
    for place in (base.config, os.path.join(base.config, "local")):
        yield place
        for name in (*(f"{one}.yaml" for one in FILES), GUIDE):
            yield os.path.join(place, name)
    for root in _package_roots(base):
        yield root
        for name in disk.names(root) if os.path.isdir(root) else []:
            directory = os.path.join(root, name)
            yield directory  # one that is empty is a change, too
            for part in (MANIFEST, PROMPT, SOUL):
                yield os.path.join(directory, part)
