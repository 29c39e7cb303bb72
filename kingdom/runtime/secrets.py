"""Finds secrets in text and puts `***` in their place: what the environment holds, known shapes.

Everything that leaves the kingdom for a log or a terminal may pass through here; it prefers to
hide a harmless word over showing a password.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote

MASK = "***"
SHORTEST_SECRET = 6
MAX_DEPTH = 20

SECRET_NAME = re.compile(
    r"TOKEN|SECRET|PASSW|PASSPHRASE|CREDENTIAL|COOKIE|(?:API|ACCESS|PRIVATE|SIGNING|AUTH)_?KEY"
    r"|_PWD$|_PASS$"
)
# Such a variable names a place or a count, not the secret itself.
HARMLESS_NAME = re.compile(r"_(?:SOCK|FILE|PATH|DIR|ENV|NAME|TTL|LIMIT|BUDGET)$|TOKENS$")
SECRET_KEY = re.compile(
    r"(?i)(?:^|_|-)(?:token|secret|password|passwd|passphrase|api[_-]?key|private[_-]?key|authorization"
    r"|cookie|credentials?)$"
)
# Each shape: what stays of it, then what is hidden. None may begin at every letter of a long word
# and read on to its end: what is masked may be large, and comes from outside.
SHAPES = (
    r"()-----BEGIN [A-Z ]*PRIVATE KEY-----(?s:.*?)(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
    r"([a-zA-Z][a-zA-Z0-9+.-]{0,30}://)[^/\s:@]*:[^/\s]*(?=@)",
    r"([a-zA-Z][a-zA-Z0-9+.-]{0,30}://)[^/\s:@]{16,}(?=@)",
    r"(\b(?i:authorization)['\"]?\s*[:=]\s*['\"]?(?i:basic|token|bearer)\s+)[^\s'\",;]+",
    r"(\b(?i:bearer)\s+)[A-Za-z0-9._~+/=-]{6,}",
    r"([?&](?i:access_token|token|api_?key|key|secret|password|sig|signature)=)[^&\s'\"]+",
    r"(https://hooks\.slack\.com/)[\w/-]+",
    r"()\bgh[a-z]_[A-Za-z0-9]{10,}",
    r"()\bgithub_pat_\w{10,}",
    r"()\bglpat-[\w-]{10,}",
    r"()\bxox[a-z](?:\.[a-z]+)?-[\w-]{6,}",
    r"()\bxapp-[\w-]{6,}",
    r"()(?<![\w-])sk-[\w-]{16,}",
    r"()\bATATT[\w=-]{10,}",
    r"()\b(?:AKIA|ASIA)[0-9A-Z]{16}\b",
    r"()\bAIza[\w-]{30,}",
    r"()\beyJ[\w-]{8,500}+\.[\w-]{4,}\.[\w-]*",
)
_SHAPES = tuple(re.compile(shape) for shape in SHAPES)
# No shape without one of these. Most texts have none, and one look is enough for them.
_HINT = re.compile(
    r"-----BEGIN|://|[?&]|(?i:authorization|bearer)|\b(?:gh[a-z]_|github_pat_|glpat-|xox|xapp-)"
    r"|(?<![\w-])sk-|\b(?:ATATT|AKIA|ASIA|AIza|eyJ)"
)


class Masker:
    """Hides the secrets of one environment, and whatever looks like one."""

    def __init__(self, environment: Mapping[str, str], also: Iterable[str] = ()) -> None:
        """`also` names further variables whose values are secret, such as a `token_env`."""
        known = set(_secret_values(environment, frozenset(also)))
        spelled = {form for value in known for form in _spellings(value)}
        longest_first = sorted(map(re.escape, spelled), key=len, reverse=True)
        self._known = re.compile("|".join(longest_first)) if longest_first else None

    def text(self, text: str) -> str:
        if self._known:
            text = self._known.sub(MASK, text)
        if _HINT.search(text):
            for shape in _SHAPES:
                text = shape.sub(rf"\1{MASK}", text)
        return text

    def value(self, value: Any, depth: int = 0) -> Any:
        """`value` for a log: plain data with its secrets hidden, anything else as masked text."""
        if isinstance(value, str):
            return self.text(value)
        if value is None or isinstance(value, bool | int | float):
            return value
        if depth >= MAX_DEPTH:
            return "..."
        if isinstance(value, Mapping):
            return {self._key(key): self._under(key, value[key], depth) for key in value}
        if isinstance(value, list | tuple | set | frozenset):
            return [self.value(item, depth + 1) for item in value]
        return self.text(_spelled(value))

    def _key(self, key: object) -> str:
        return self.text(str(key))

    def _under(self, key: object, value: Any, depth: int) -> Any:
        """A value under a key such as `password` is secret whatever it looks like."""
        if isinstance(key, str) and isinstance(value, str | bytes) and SECRET_KEY.search(key):
            return MASK
        return self.value(value, depth + 1)


def _secret_values(environment: Mapping[str, str], also: frozenset[str]) -> Iterable[str]:
    for name, value in environment.items():
        if name in also or looks_secret(name.upper(), value):
            stripped = value.strip()
            if len(stripped) >= SHORTEST_SECRET:
                yield stripped


def looks_secret(name: str, value: str) -> bool:
    """Whether a variable of this name, in capitals, holds a secret."""
    if not SECRET_NAME.search(name) or HARMLESS_NAME.search(name):
        return False
    return not value.startswith("/")


def _spellings(value: str) -> set[str]:
    """The same secret as it shows in a URL, in a `repr`, or one line at a time."""
    lines = {line for line in value.splitlines() if len(line) >= SHORTEST_SECRET}
    return {value, quote(value, safe=""), quote(value), repr(value)[1:-1], *lines}


def _spelled(value: object) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    return f"{type(value).__name__}: {value}" if isinstance(value, BaseException) else repr(value)
