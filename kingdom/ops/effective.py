"""Effective settings for people's eyes: what is in force, where it comes from, no secret in it."""

from __future__ import annotations

from collections.abc import Mapping

from kingdom.errors import UsageError
from kingdom.runtime.secrets import MASK, SECRET_KEY, Masker
from kingdom.settings.loading import Settings, Value


def effective(settings: Settings, environment: Mapping[str, str]) -> list[Value]:
    """Every value, masked. Secrets belong in the environment, but people put them anywhere."""
    masker = Masker(environment)
    return [_masked(value, masker) for value in settings.values()]


def _masked(value: Value, masker: Masker) -> Value:
    secret = isinstance(value.value, str) and value.value and SECRET_KEY.search(value.key)
    return Value(value.key, MASK if secret else masker.value(value.value), value.source)


def below(values: list[Value], key: str) -> list[Value]:
    """The value of this key, or all in the section of this name."""
    found = [one for one in values if one.key == key or one.key.startswith(f"{key}.")]
    if found:
        return found
    raise UsageError(f"{key!r} is not a setting.", remedy=_suggestion(values, key))


def _suggestion(values: list[Value], key: str) -> str:
    import difflib

    keys = [value.key for value in values]
    near = difflib.get_close_matches(key, keys, n=1)
    ending = [one for one in keys if one.endswith(f".{key.rpartition('.')[2]}")]
    hint = (near or ending[:1] or [""])[0]
    return f"Did you mean: {hint}" if hint else "All of them: kingdom config"
