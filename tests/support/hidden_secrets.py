"""Finds a secret in a text, also if it was encoded, turned round, split or packed."""

from __future__ import annotations

import base64
import binascii
import codecs
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from urllib.parse import unquote_to_bytes

_SPACES = re.compile(r"[\s\u200b-\u200f\u2060-\u2064\ufeff\u00ad]+")
_LETTERS = re.compile(r"[^a-z0-9]+")
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{12,}")
_BASE32 = re.compile(r"[A-Z2-7]{16,}")
_HEX = re.compile(r"(?:[0-9a-fA-F]{2}[\s:,%\\x]*){8,}")
_NUMBERS = re.compile(r"(?:\d{2,3}\D{1,3}){8,}\d{2,3}")
_GZIP = b"\x1f\x8b\x08"
_LARGEST = 1_000_000


def secrets_in(text: str, secrets: Iterable[str]) -> set[str]:
    needles = {spelled: one for one in secrets for spelled in _spellings(one)}
    shown = "|".join(map(_plain, _views(text)))
    return {one for spelled, one in needles.items() if spelled in shown}


def _spellings(secret: str) -> list[str]:
    plain = _plain(secret)
    turned = [plain, plain[::-1]]
    return [*turned, *(codecs.encode(one, "rot13") for one in turned)]


def _plain(text: str) -> str:
    """Letters and digits only, so that nothing in between can hide it."""
    return _LETTERS.sub("", text.lower())


def _views(text: str, depth: int = 2) -> Iterator[str]:
    yield text
    joined = _SPACES.sub("", text)
    for one in {text, joined, joined[::-1]}:
        for data in _decoded(one):
            yield data.decode("latin-1")
            if _GZIP in data:
                yield from _unpacked(data)
            if depth > 1 and data.isascii():
                yield from _views(data.decode("latin-1"), depth - 1)


def _decoded(text: str) -> Iterator[bytes]:
    if "%" in text:
        yield unquote_to_bytes(text.encode("utf-8", "replace"))
    for match in _BASE64.finditer(text):
        run = match[0].replace("-", "+").replace("_", "/")
        for start in range(4):
            part = run[start : start + (len(run) - start) // 4 * 4]
            with_padding = part + run[start + len(part) :].ljust(4, "=") if part else ""
            yield _lenient(base64.b64decode, with_padding) or _lenient(base64.b64decode, part)
    for match in _BASE32.finditer(text):
        for start in range(8):
            length = (len(match[0]) - start) // 8 * 8
            yield _lenient(base64.b32decode, match[0][start : start + length])
    for match in _HEX.finditer(text):
        digits = re.sub(r"[^0-9a-fA-F]+", "", match[0])
        for start in range(2):
            yield _lenient(bytes.fromhex, digits[start : start + (len(digits) - start) // 2 * 2])
    for match in _NUMBERS.finditer(text):
        yield bytes(int(one) % 256 for one in re.findall(r"\d+", match[0]))


def _lenient(decode: Callable[[str], bytes], text: str) -> bytes:
    try:
        return decode(text)
    except (binascii.Error, ValueError):
        return b""


def _unpacked(data: bytes) -> Iterator[str]:
    """As much as there is: its end may be cut."""
    for match in re.finditer(re.escape(_GZIP), data):
        with suppress(zlib.error):
            stream = zlib.decompressobj(zlib.MAX_WBITS | 16)
            yield stream.decompress(data[match.start() :], _LARGEST).decode("latin-1")
