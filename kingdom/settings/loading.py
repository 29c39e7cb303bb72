"""From `config/*.yaml`, `config/local/*.yaml` and the environment to settings that hold.

Every effective value knows where it comes from; a wrong one is refused with file, line and key.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from kingdom.errors import ConfigurationError
from kingdom.ownership import NOBODY_ELSE, ROOT, OthersMayWrite, Trusted, others_may_write
from kingdom.settings.chamberlain import ChamberlainSettings
from kingdom.settings.envoy import EnvoySettings
from kingdom.settings.king import KingSettings
from kingdom.settings.layers import Layers
from kingdom.settings.model import FILES
from kingdom.settings.section import Section
from kingdom.settings.sentinel import SentinelSettings
from kingdom.settings.shape import leaves
from kingdom.settings.system import BUS_VARIABLE, SystemSettings
from kingdom.settings.yaml_file import MAX_BYTES, Document, read_document

DEFAULT = "default"
_SYSTEM = "system"
# Variables that win over the files: name, file, top-level key.
VARIABLES = ((BUS_VARIABLE, "system", "bus"),)


@dataclass(frozen=True)
class Value:
    """One effective value, as `kingdom config` lists it."""

    key: str
    value: Any
    source: str


@dataclass(frozen=True)
class Settings:
    """Everything in `config/`, checked. `sources` tells where each value that is set comes from."""

    system: SystemSettings = field(default_factory=SystemSettings)
    king: KingSettings = field(default_factory=KingSettings)
    sentinel: SentinelSettings = field(default_factory=SentinelSettings)
    envoy: EnvoySettings = field(default_factory=EnvoySettings)
    chamberlain: ChamberlainSettings = field(default_factory=ChamberlainSettings)
    sources: Mapping[str, str] = field(default_factory=dict)

    def values(self) -> Iterator[Value]:
        """Every leaf of every file, in the order of the models."""
        for name in FILES:
            for path, value in leaves(getattr(self, name)):
                key = ".".join((name, *path))
                yield Value(key, value, self.sources.get(key, DEFAULT))


def load_settings(config_dir: str, environment: Mapping[str, str]) -> Settings:
    """The settings in force for this configuration directory. Missing files are all defaults."""
    directory = os.path.abspath(config_dir)
    trusted = trusted_in(directory, environment)
    refuse_open_directories(trusted, os.path.dirname(directory), directory, _local(directory))
    models: dict[str, Any] = {}
    sources: dict[str, str] = {}
    for name, model in FILES.items():
        layers = _layers(name, model, directory, environment)
        models[name] = layers.checked()
        for path, document in layers.origins.items():
            source = document.where(path).removeprefix(f"{os.path.dirname(directory)}/")
            sources[".".join((name, *path))] = source
    return Settings(**models, sources=sources)


def load_some(names: Iterable[str], config_dir: str, environment: Mapping[str, str]) -> Settings:
    """Of these files alone; of the others the defaults, whatever they say."""
    models: dict[str, Any] = {name: load_file(name, config_dir, environment) for name in names}
    return Settings(**models)


def load_file(name: str, config_dir: str, environment: Mapping[str, str]) -> Section:
    """One of them alone, whatever the others say."""
    return _layers(name, FILES[name], os.path.abspath(config_dir), environment).checked()


def _layers(
    name: str, model: type[Section], directory: str, environment: Mapping[str, str]
) -> Layers[Section]:
    layers = Layers(model)
    # The file that names the group cannot be one that a group may write.
    trusted = trusted_in(directory, environment)
    trusted = trusted.without_group if name == _SYSTEM else trusted
    for place in (directory, _local(directory)):
        path = os.path.join(place, f"{name}.yaml")
        data = read_trusted(path, trusted)
        if data is not None:
            layers.add(read_document(data, path))
    for variable, file, key in VARIABLES:
        if file == name and environment.get(variable):
            layers.add(Document(f"environment {variable}", {key: environment[variable]}))
    return layers


def _local(directory: str) -> str:
    return os.path.join(directory, "local")


def trusted_in(config_dir: str, environment: Mapping[str, str]) -> Trusted:
    """The group that `system.yaml` names, read when it matters. Root looks after the kingdoms of
    others: there the owner of the base directory may write its files."""

    @cache
    def group() -> int | None:
        system = load_file(_SYSTEM, config_dir, environment)
        assert isinstance(system, SystemSettings)
        return system.group_id

    owners: tuple[int, ...] = ()
    if os.geteuid() == ROOT:
        with suppress(OSError):
            owners = (os.stat(os.path.dirname(os.path.abspath(config_dir))).st_uid,)
    return Trusted(owners, group)


def refuse_open_directories(trusted: Trusted, *paths: str) -> None:
    """Whoever may write a directory can put another file in the place of any in it."""
    for path in paths:
        try:
            open_to = others_may_write(path, os.stat(path), trusted)
        except OSError:
            continue  # reading what is in it says what is wrong
        if open_to is not None:
            raise not_obeyed(open_to)


def not_obeyed(found: OthersMayWrite) -> ConfigurationError:
    return ConfigurationError(
        f"{found.path} is not obeyed: {found.sentence}.",
        remedy=f"See that it says what you want, then type: {found.remedy}",
        code="others_may_write",
    )


def read_trusted(path: str, trusted: Trusted = NOBODY_ELSE) -> bytes | None:
    """The same as `read_if_there`, for what decides what runs here: refused if others may write
    it."""
    data, facts = _read(path)
    if facts is not None and (open_to := others_may_write(path, facts, trusted)) is not None:
        raise not_obeyed(open_to)
    return data


def read_if_there(path: str) -> bytes | None:
    """A configuration file, bounded; None if it is missing."""
    return _read(path)[0]


def _read(path: str) -> tuple[bytes | None, os.stat_result | None]:
    try:
        with open(path, "rb") as file:
            return file.read(MAX_BYTES + 1), os.fstat(file.fileno())
    except FileNotFoundError:
        return None, None
    except OSError as error:
        raise ConfigurationError(
            f"{path}: it cannot be read: {error.strerror}.",
            remedy="Make it a file that this user may read.",
        ) from None
