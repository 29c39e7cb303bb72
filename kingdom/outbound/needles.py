"""The forms in which a known secret may be written, and where one of them is in a text. Pure.

Text and forms are both reduced to letters and digits in lower case. So whatever splits a secret
(spaces, line ends, quotes, signs, characters that show nothing) is gone, and one reduced text is
searched for each form: no combination is tried.
"""

from __future__ import annotations

import base64
import codecs
import html
import json
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import quote

SHORTEST = 8  # letters and digits of a secret; a shorter one is in every text
_GRAM = 5
_STEP = SHORTEST - _GRAM + 1
_SIGNS = re.compile(r"[\W_]+")
_ASCII_SIGNS = bytes(c for c in range(128) if not chr(c).isalnum())
_LOWER = bytes(ord(chr(c).lower()) if c < 128 else c for c in range(256))
_WORD = re.compile(r"[A-Za-z]{1,14}|\d{1,9}|/.*|[\w.+-]+@[\w-]+\.[\w.-]+")


def reduced(text: str) -> str:
    if text.isascii():
        return text.encode().translate(_LOWER, _ASCII_SIGNS).decode()
    return _SIGNS.sub("", unicodedata.normalize("NFKC", text).lower())


class Needles:
    """What is looked for, of all secrets that are known. `secrets` are values by their names."""

    def __init__(self, secrets: Mapping[str, str]) -> None:
        found: dict[str, str] = {}
        for name, value in secrets.items():
            if not is_searched_for(value):
                continue
            for how, form in _forms(value.strip()):
                needle = reduced(form)
                if len(needle) >= SHORTEST:
                    found.setdefault(needle, f"the value of {name}{how}")
        self._kinds = found
        self._by_gram: dict[str, set[str]] = {}
        for needle in found:
            for at in range(_STEP):
                self._by_gram.setdefault(needle[at : at + _GRAM], set()).add(needle)

    def __bool__(self) -> bool:
        return bool(self._kinds)

    def find(self, text: str) -> Iterator[tuple[int, str]]:
        """The line, counted from 1, and what is there."""
        if not self._kinds:
            return
        small = reduced(text)
        starts: list[int] = []
        for needle in self._perhaps_in(small):
            at = small.find(needle)
            if at >= 0:
                starts = starts or _line_starts(text)
                yield bisect_right(starts, at), self._kinds[needle]

    def _perhaps_in(self, small: str) -> list[str]:
        """Few texts have any of them: whatever is as long as a needle has one of its first pieces
        at a place that is looked at."""
        pieces = {small[at : at + _GRAM] for at in range(0, len(small), _STEP)}
        found = set().union(*(self._by_gram[one] for one in pieces & self._by_gram.keys()))
        return [needle for needle in self._kinds if needle in found]


def is_searched_for(value: str) -> bool:
    """Not what is too short, an ordinary word or number, a path, or somebody's address."""
    value = value.strip()
    return len(reduced(value)) >= SHORTEST and not _WORD.fullmatch(value)


def _line_starts(text: str) -> list[int]:
    """Where each line begins in the reduced text."""
    starts, at = [], 0
    for line in text.split("\n"):
        starts.append(at)
        at += len(reduced(line))
    return starts


def _forms(value: str) -> Iterable[tuple[str, str]]:
    raw = value.encode()
    yield "", value
    for line in value.splitlines():  # of a key, each is one
        if len(line) >= 24:
            yield "", line
    yield ", reversed", value[::-1]
    yield ", in ROT13", codecs.encode(value, "rot13")
    for form in (quote(value, safe=""), quote(value), html.escape(value), json.dumps(value)):
        yield ", escaped", form
    for name, width, encode in (
        ("base64", 3, base64.b64encode),
        ("base32", 5, base64.b32encode),
    ):
        for form in _aligned(raw, width, encode):
            yield f", in {name}", form
        yield f", reversed in {name}", encode(raw[::-1]).decode().rstrip("=")[:-1]
    for before in ("", "x", "0x", "u00"):
        yield ", in hexadecimal", "".join(f"{before}{byte:02x}" for byte in raw)
    yield ", in decimal", "".join(map(str, raw))
    yield ", in octal", "".join(f"{byte:03o}" for byte in raw)
    yield ", in binary", "".join(f"{byte:08b}" for byte in raw)


def _aligned(raw: bytes, width: int, encode: object) -> Iterator[str]:
    """As it is spelled inside of a longer text: without the signs that its neighbours change."""
    assert callable(encode)
    signs = {3: 4, 5: 8}[width]
    for before in range(width):
        whole = encode(b"\0" * before + raw).decode()
        begin = -(-before * 8 // (width * 8 // signs)) if before else 0
        end = (before + len(raw)) * 8 // (width * 8 // signs)
        yield whole[begin:end]
