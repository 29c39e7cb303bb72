"""The general packages there are: where each comes from, what it does, and all that is wrong.

Roles refuse a configuration at its first fault; here a person sees every one, with file and line.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import ValidationError

from kingdom.errors import ConfigurationError, NotFound
from kingdom.models.manifest import Manifest, read_manifest
from kingdom.ops.shipped import shipped_files
from kingdom.ops.trusted_files import open_in_package
from kingdom.runtime.config import (
    MANIFEST,
    OWN_TYPES,
    PLACEHOLDER,
    PROMPT,
    SOUL,
    TASK_PLACEHOLDERS,
    General,
    is_placeholder,
)
from kingdom.settings.loading import read_if_there
from kingdom.settings.refusal import suggestion
from kingdom.settings.wording import describe
from kingdom.settings.yaml_file import MAX_BYTES, Document, read_document
from kingdom.store import disk
from kingdom.store.paths import BaseDir

SHIPPED, CONFIG, LOCAL = "shipped", "config", "local"
EXAMPLE = "example.json"


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong: where, at which key, what, and what helps."""

    where: str  # file, or file:line
    what: str
    key: str = ""
    remedy: str = ""

    def __str__(self) -> str:
        key = f"`{self.key}`: " if self.key else ""
        return f"{self.where}: {key}{self.what}. {self.remedy}".strip()


@dataclass(frozen=True)
class Package:
    """A directory that defines a general. Without a manifest that can be read it has none."""

    name: str
    directory: str
    origin: str
    manifest: Manifest | None = None
    prompt: str = ""
    soul: str | None = None
    faults: tuple[Fault, ...] = ()
    hides: str = ""  # the directory of the package that this one comes instead of

    @property
    def manifest_path(self) -> str:
        return os.path.join(self.directory, MANIFEST)

    @property
    def example(self) -> str | None:
        path = os.path.join(self.directory, EXAMPLE)
        return path if os.path.isfile(path) else None

    def general(self) -> General:
        """As the general itself has it; `ConfigurationError` if it is not fit for one."""
        if self.faults or self.manifest is None:
            raise ConfigurationError(str(self.faults[0]))
        return General(self.manifest, self.directory, self.prompt, self.soul)


def own_root(base: BaseDir) -> str:
    """Where people's own packages go: git ignores it, and a pull never meets it."""
    return base.path("config", "local", "generals")


def roots(base: BaseDir) -> tuple[str, str]:
    return base.path("config", "generals"), own_root(base)


def packages(base: BaseDir) -> list[Package]:
    """Those in force, by name, each with its own faults and those it has with others."""
    found: dict[str, Package] = {}
    for root in roots(base):
        for name in _directories(root):
            hidden = found.get(name)
            origin = LOCAL if root == own_root(base) else _origin(root, name)
            hides = hidden.directory if hidden else ""
            found[name] = examine(name, os.path.join(root, name), origin=origin, hides=hides)
    ordered = [found[name] for name in sorted(found)]
    return [
        _with(package, (*rivalries(package, ordered), *_open_to_others(base, package)))
        for package in ordered
    ]


def _open_to_others(base: BaseDir, package: Package) -> Iterator[Fault]:
    for found in open_in_package(base, package.directory):
        remedy = f"See that it says what you want, then type: {found.remedy}"
        yield Fault(found.path, found.sentence, "", remedy)


def _directories(root: str) -> list[str]:
    if not os.path.isdir(root):
        return []
    names = (name for name in disk.names(root) if not name.startswith("."))
    return [name for name in names if os.path.isdir(os.path.join(root, name))]


def _origin(root: str, name: str) -> str:
    """`shipped` as long as it is what was shipped; changed, it is one's own."""
    mine = {path: text for path, text in shipped_files().items() if _is_of(path, name)}
    if not mine:
        return CONFIG
    for path, text in mine.items():
        there = read_if_there(os.path.join(os.path.dirname(root), path))
        if there != text.encode():
            return CONFIG
    return SHIPPED


def is_shipped(name: str) -> bool:
    return any(_is_of(path, name) for path in shipped_files())


def _is_of(path: str, name: str) -> bool:
    return path.startswith(f"generals/{name}/")


def _with(package: Package, faults: Iterable[Fault]) -> Package:
    return replace(package, faults=(*package.faults, *faults))


def named(base: BaseDir, name: str) -> Package:
    there = packages(base)
    for package in there:
        if package.name == name:
            return package
    import difflib

    names = [package.name for package in there]
    near = difflib.get_close_matches(name, names, n=1)
    hint = f"Did you mean: {near[0]}" if near else f"There are: {', '.join(names) or 'none'}."
    raise NotFound(f"There is no general {name!r}.", remedy=hint)


def at_path(base: BaseDir, path: str) -> Package:
    """A package that may lie anywhere, as it would be here."""
    if not os.path.isdir(path):
        raise NotFound(f"There is no directory {path}.", remedy="Name a general or a directory.")
    there = packages(base)
    for package in there:
        if os.path.realpath(package.directory) == os.path.realpath(path):
            return package
    name = os.path.basename(path)
    found = examine(name, path)
    if found.manifest is not None and found.manifest.name != name:
        found = examine(found.manifest.name, path)  # it gets that name when it is installed
    return _with(found, rivalries(found, there))


# What is wrong with one


def examine(
    name: str, directory: str, *, origin: str = CONFIG, hides: str = "", shown: str = ""
) -> Package:
    """The package in this directory. `shown` is what to call the directory in faults."""
    place = shown or directory
    reading = _Reading(place)
    manifest = reading.manifest(_content(directory, MANIFEST), name)
    prompt = reading.text(_content(directory, PROMPT), PROMPT, needed=True)
    soul = reading.text(_content(directory, SOUL), SOUL)
    reading.placeholders(prompt or "")
    faults = tuple(reading.faults)
    return Package(name, directory, origin, manifest, prompt or "", soul, faults, hides)


def _content(directory: str, name: str) -> bytes | None:
    """None also for what is no file: a pipe would be waited on for ever."""
    path = os.path.join(directory, name)
    return read_if_there(path) if os.path.isfile(path) else None


@dataclass
class _Reading:
    place: str
    faults: list[Fault] = field(default_factory=list)

    def manifest(self, data: bytes | None, name: str) -> Manifest | None:
        path = os.path.join(self.place, MANIFEST)
        if data is None:
            self._missing(MANIFEST)
            return None
        try:
            manifest = read_manifest(data, path)
        except ConfigurationError as refused:
            self.faults += _all_faults(data, path) or [_fault(refused)]
            return None
        lines = read_document(data, path)
        if manifest.name != name:
            what = f"{manifest.name} is not the name of its directory, {name}"
            remedy = "Give both the same name."
            self.faults.append(Fault(lines.where(("name",)), what, "name", remedy))
        for number, wanted in enumerate(manifest.subscribes):
            if wanted in OWN_TYPES:
                where, key = lines.where(("subscribes", number)), f"subscribes.{number}"
                what = f"{wanted} is handled by the king itself"
                self.faults.append(Fault(where, what, key, "Leave it out."))
        return manifest

    def text(self, data: bytes | None, name: str, *, needed: bool = False) -> str | None:
        path = os.path.join(self.place, name)
        if data is None:
            if needed:
                self._missing(name)
            return None
        if len(data) > MAX_BYTES:
            self.faults.append(Fault(path, f"it has more than {MAX_BYTES:,} bytes"))
            return None
        try:
            return data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            self.faults.append(Fault(f"{path}:{line}", "it is not UTF-8", "", "Save it as UTF-8."))
            return None

    def placeholders(self, prompt: str) -> None:
        path = os.path.join(self.place, PROMPT)
        known = f"Known: {', '.join(TASK_PLACEHOLDERS)} and payload.KEY, each in double braces."
        for number, line in enumerate(prompt.splitlines(), 1):
            for match in PLACEHOLDER.finditer(line):
                if not is_placeholder(match[1]):
                    what = f"{match[0]} is not a placeholder"
                    self.faults.append(Fault(f"{path}:{number}", what, "", known))

    def _missing(self, name: str) -> None:
        remedy = "Add the file, or remove the directory."
        self.faults.append(Fault(os.path.join(self.place, name), "it is missing", "", remedy))


def _fault(refused: ConfigurationError) -> Fault:
    where, _, what = refused.sentence.partition(": ")
    return Fault(where, what.removesuffix("."), "", refused.remedy)


def _all_faults(data: bytes, path: str) -> list[Fault]:
    """Everything that the model has against the manifest; nothing if it is no YAML at all."""
    try:
        document = read_document(data, path)
        Manifest.model_validate(_without_nulls(document.content))
    except ConfigurationError:
        return []
    except ValidationError as error:
        return [_of_model(document, fault) for fault in error.errors(include_url=False)]
    return []


def _without_nulls(content: Mapping[str, Any]) -> dict[str, Any]:
    """`permissions:` with nothing below means what leaving it out means."""
    return {
        key: _without_nulls(value) if isinstance(value, Mapping) else value
        for key, value in content.items()
        if value is not None
    }


def _of_model(document: Document, fault: Mapping[str, Any]) -> Fault:
    path = fault["loc"]
    key = ".".join(map(str, path))
    if fault["type"] == "extra_forbidden":
        return Fault(document.where(path), "it is not a setting", key, suggestion(Manifest, path))
    return Fault(document.where(path), describe(fault), key)


# What is wrong between two


def rivalries(package: Package, others: Sequence[Package]) -> Iterator[Fault]:
    """What it claims and another does, too: nobody could say whose it is."""
    for other in others:
        if other.name == package.name or package.manifest is None or other.manifest is None:
            continue
        types = set(package.manifest.subscribes) & set(other.manifest.subscribes)
        for wanted in sorted(types):
            yield _rivalry(package, other, "subscribes", f"claims the type {wanted}")
        schedules = {one.name for one in other.manifest.schedules}
        for schedule in package.manifest.schedules:
            if schedule.name in schedules:
                what = f"has a schedule named {schedule.name}"
                yield _rivalry(package, other, "schedules", what)


def _rivalry(package: Package, other: Package, key: str, what: str) -> Fault:
    remedy = "Take it out of one of them."
    return Fault(package.manifest_path, f"{other.manifest_path} also {what}", key, remedy)
