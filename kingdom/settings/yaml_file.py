"""YAML as people write it, with the line of every key, so that an error can point at it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from kingdom.errors import ConfigurationError

Path = tuple[str | int, ...]
Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
MAX_BYTES = 1_000_000
MAX_DEPTH = 50


@dataclass(frozen=True)
class Document:
    """The content of one file, and the line of each of its keys."""

    name: str
    content: Mapping[str, Any]
    lines: dict[Path, int] = field(default_factory=dict)

    def has(self, path: Path) -> bool:
        inner: Any = self.content
        for key in path:
            if not isinstance(inner, Mapping) or key not in inner:
                return False
            inner = inner[key]
        return True

    def where(self, path: Path) -> str:
        """`file:line` of this key, or of the nearest one around it."""
        while path and path not in self.lines:
            path = path[:-1]
        line = self.lines.get(path)
        return f"{self.name}:{line}" if line else self.name


def read_document(data: bytes, name: str) -> Document:
    """The one mapping in `data`; an empty file is an empty mapping."""
    text = _text(data, name)
    walk = _Walk(name)
    try:
        _refuse_deep_nesting(text, name)
        content = walk.document(text)
    except yaml.YAMLError as error:
        raise _fault(name, text, error) from None
    if not isinstance(content, dict):
        raise ConfigurationError(
            f"{name}:1: a configuration file is a mapping of keys to values.",
            remedy="Write lines of the form key: value.",
        )
    return Document(name, content, walk.lines)


class _Walk:
    """Builds plain values from YAML's nodes and notes the line of each key."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.lines: dict[Path, int] = {}
        self._seen: set[int] = set()

    def document(self, text: str) -> Any:
        self._loader = Loader(text)
        try:
            root = self._loader.get_single_node()
            content = None if root is None else self._value(root, ())
            return {} if content is None else content
        finally:
            self._loader.dispose()

    def _value(self, node: yaml.Node, path: Path) -> Any:
        if id(node) in self._seen:
            raise self._error(
                node, "anchors and aliases (&name, *name) are not supported", "Repeat the value."
            )
        self._seen.add(id(node))
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            return [self._item(item, (*path, index)) for index, item in enumerate(node.value)]
        try:
            return self._loader.construct_object(node)
        except ValueError as error:
            raise self._error(node, f"{error}", "Put the value in quotes.") from None

    def _mapping(self, node: yaml.MappingNode, path: Path) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = key_node.value
            if not isinstance(key, str) or key_node.tag != "tag:yaml.org,2002:str":
                raise self._error(key_node, "a key must be plain text", "Put it in quotes.")
            if key in found:
                raise self._error(key_node, f"`{key}` is given twice", "Keep one of them.")
            self.lines[(*path, key)] = key_node.start_mark.line + 1
            found[key] = self._value(value_node, (*path, key))
        return found

    def _item(self, node: yaml.Node, path: Path) -> Any:
        self.lines[path] = node.start_mark.line + 1
        return self._value(node, path)

    def _error(self, node: yaml.Node, what: str, remedy: str) -> ConfigurationError:
        return ConfigurationError(f"{self.name}:{node.start_mark.line + 1}: {what}.", remedy=remedy)


def _text(data: bytes, name: str) -> str:
    if len(data) > MAX_BYTES:
        raise ConfigurationError(f"{name}: it is larger than any configuration.")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigurationError(
            f"{name}:{line}: it is not UTF-8.", remedy="Save it as UTF-8."
        ) from None


def _refuse_deep_nesting(text: str, name: str) -> None:
    # Composing recurses in C: a file that nests deeply enough would end the process.
    depth = 0
    for event in yaml.parse(text, Loader=Loader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > MAX_DEPTH:
            line = event.start_mark.line + 1
            raise ConfigurationError(
                f"{name}:{line}: it is nested too deeply.", remedy="Flatten it."
            )


def _fault(name: str, text: str, error: yaml.YAMLError) -> ConfigurationError:
    mark = getattr(error, "problem_mark", None)
    last_line = max(1, len(text.splitlines()))
    place = f"{name}:{min(mark.line + 1, last_line)}" if mark else name
    problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "unreadable"
    return ConfigurationError(
        f"{place}: it is not YAML: {problem}.",
        remedy="Check quotes, colons and that the indentation is made of spaces.",
    )
