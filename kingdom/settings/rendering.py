"""The shipped configuration files, written from the models: every key, its meaning, its default.

Sections stand there, values are commented out: what a person has not set follows the program's
defaults, and uncommenting one line is enough to set it.
"""

from __future__ import annotations

import textwrap
from typing import Any

import yaml
from pydantic.fields import FieldInfo

from kingdom.settings.model import FILES
from kingdom.settings.section import Section
from kingdom.settings.shape import section_in

WIDTH = 96
HEADER = (
    "Every key is here with its default, commented out. Set one by removing the # before it; or, "
    "where pulling never meets it, write it in config/local/{name}.yaml, which wins key by key."
)


def render_yaml(name: str) -> str:
    """`config/{name}.yaml` as it is shipped."""
    model = FILES[name]
    page = _Page()
    page.prose(f"yaml-language-server: $schema=./schema/{name}.schema.json")
    page.prose(_summary(model))
    page.lines.append("#")
    page.prose(HEADER.format(name=name))
    for key, field in model.model_fields.items():
        page.lines.append("")
        page.field(key, field, getattr(model(), key))
    return "\n".join(page.lines) + "\n"


class _Page:
    """Lines so far, and how the next one is to be indented or commented out."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._depth = 0
        self._off_from: int | None = None
        self._explained: dict[type[Section], str] = {}

    def field(self, name: str, field: FieldInfo, default: Any) -> None:
        section = section_in(field.annotation)
        if section in self._explained:
            self._put(f"{name}:  # as {self._explained[section]}")
            return
        self.prose(field.description or (_summary(section) if section else ""))
        if section is None:
            self._value(name, field, default)
        elif default is None:
            self._off_from = self._depth
            self._section(name, section, None)
            self._off_from = None
        else:
            self._section(name, section, default)

    def prose(self, text: str) -> None:
        width = WIDTH - len(self._prefix()) - 2
        self.lines += [f"{self._prefix()}# {line}" for line in textwrap.wrap(text, width)]

    def _section(self, name: str, section: type[Section], defaults: Section | None) -> None:
        self._put(f"{name}:")
        self._depth += 1
        for key, field in section.model_fields.items():
            default = getattr(defaults, key) if defaults else _default(field)
            self.field(key, field, default)
        self._depth -= 1
        self._explained[section] = name

    def _value(self, name: str, field: FieldInfo, default: Any) -> None:
        mark = "#" if self._off_from is None else ""
        example = default in (None, "", []) and field.examples
        shown = field.examples[0] if example and field.examples else default
        note = "  # for example" if example else ""
        self._put(f"{mark}{name}: {_spelled(shown)}{note}".rstrip())

    def _put(self, text: str) -> None:
        self.lines.append(self._prefix() + text)

    def _prefix(self) -> str:
        """Inside a section that is off, one # in a straight column stands before everything."""
        if self._off_from is None:
            return "  " * self._depth
        return "  " * self._off_from + "#" + "  " * (self._depth - self._off_from)


def _default(field: FieldInfo) -> Any:
    return None if field.is_required() else field.get_default(call_default_factory=True)


def _summary(model: type[Section]) -> str:
    own = model.__doc__ if model.__doc__ != Section.__doc__ else ""
    return " ".join((own or "").split())


def _spelled(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    text = yaml.safe_dump(value, default_flow_style=True, allow_unicode=True, width=1000)
    return text.removesuffix("\n").removesuffix("\n...")
