"""Turns what pydantic found into one sentence with file, line, key, and a suggestion."""

from __future__ import annotations

import difflib
from collections.abc import Callable

from pydantic import ValidationError

from kingdom.errors import ConfigurationError
from kingdom.settings.model import FILES
from kingdom.settings.section import Section
from kingdom.settings.shape import field_at, keys, section_at
from kingdom.settings.wording import describe
from kingdom.settings.yaml_file import Path


def refusal(
    model: type[Section], error: ValidationError, where: Callable[[Path], str]
) -> ConfigurationError:
    """One fault, as people mend one at a time: a mistyped key before what seems missing for it."""
    faults = error.errors(include_url=False)
    fault = next((one for one in faults if one["type"] == "extra_forbidden"), faults[0])
    path = fault["loc"]
    key = ".".join(map(str, path))
    if fault["type"] == "extra_forbidden":
        return ConfigurationError(
            f"{where(path)}: `{key}` is not a setting.", remedy=suggestion(model, path)
        )
    named = f"`{key}`: " if key else ""
    return ConfigurationError(
        f"{where(path)}: {named}{describe(fault)}.", remedy=_expectation(model, path)
    )


def suggestion(model: type[Section], path: Path) -> str:
    """What the writer of an unknown key may have meant."""
    *around, wrong = map(str, path)
    section = section_at(model, tuple(around)) or model
    near = difflib.get_close_matches(wrong, section.model_fields, n=1)
    if near:
        return f"Did you mean `{near[0]}`?"
    elsewhere = _elsewhere(model, wrong)
    if elsewhere:
        return f"Did you mean {elsewhere}?"
    return f"Known here: {', '.join(section.model_fields)}."


def _elsewhere(model: type[Section], wrong: str) -> str:
    """The same word in another section or another file."""
    for path in keys(model):
        if path[-1] == wrong:
            return f"`{'.'.join(path)}`"
    for name, other in FILES.items():
        for path in keys(other):
            if path[-1] == wrong and other is not model and model in FILES.values():
                return f"`{'.'.join(path)}` in {name}.yaml"
    return ""


def _expectation(model: type[Section], path: Path) -> str:
    field = field_at(model, path)
    return f"It means: {field.description}" if field and field.description else ""
