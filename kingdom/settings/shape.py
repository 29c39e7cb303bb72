"""What a configuration model looks like from outside: its sections, its keys, its leaves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args, get_origin

from pydantic.fields import FieldInfo

from kingdom.settings.section import Section
from kingdom.settings.yaml_file import Path


def section_in(annotation: Any) -> type[Section] | None:
    """The section that a field of this type holds, also when it may be absent."""
    candidates = (annotation,) if _is_container(annotation) else (annotation, *get_args(annotation))
    for candidate in candidates:
        if isinstance(candidate, type) and issubclass(candidate, Section):
            return candidate
    return None


def section_at(model: type[Section], path: Path) -> type[Section] | None:
    """The section that lies at this path, if one does."""
    return _walk(model, path)[0]


def field_at(model: type[Section], path: Path) -> FieldInfo | None:
    """The field at this path; for an item of a list or mapping, the field that holds them."""
    return _walk(model, path)[1]


def _walk(model: type[Section], path: Path) -> tuple[type[Section] | None, FieldInfo | None]:
    section: type[Section] | None = model
    field: FieldInfo | None = None
    items: type[Section] | None = None
    for key in path:
        if items is not None:
            section, items = items, None
            continue
        field = section.model_fields.get(str(key)) if section else None
        annotation = field.annotation if field else None
        section = section_in(annotation)
        items = section_in(get_args(annotation)[-1]) if _is_container(annotation) else None
    return section, field


def _is_container(annotation: Any) -> bool:
    return get_origin(annotation) in (list, dict)


def leaves(section: Section, at: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every value that is not a section itself; an absent optional section counts as one."""
    for name in type(section).model_fields:
        value = getattr(section, name)
        if isinstance(value, Section):
            yield from leaves(value, (*at, name))
        else:
            yield (*at, name), value


def keys(model: type[Section], at: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Every key a file of this model may have, sections included."""
    for name, field in model.model_fields.items():
        yield (*at, name)
        inner = section_in(field.annotation)
        if inner:
            yield from keys(inner, (*at, name))
