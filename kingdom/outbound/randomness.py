"""Whether a string looks made by a random generator, and which such strings a text has. Pure.

Names, paths and words repeat the letter pairs of a language; keys do not. Digests are random as
well and no secret, so strings of a digest's form are passed over.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

SHORTEST = 20
# A longer one is judged in pieces: neither its beginning nor its end hides the rest.
_TOKEN = re.compile(r"[A-Za-z0-9+/_=-]{20,256}")
_PARTS = re.compile(r"[+/_=-]+")
_DIGEST = re.compile(
    r"(?i)(?:0x)?(?:[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{56}|[0-9a-f]{64}|[0-9a-f]{96}|[0-9a-f]{128})"
)
_UUID = re.compile(r"(?i)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
# What stands before a digest that is not in hexadecimal: `sha512-…`, `SHA256:…`, go.sum's `h1:…`,
# an `integrity` attribute.
_BEFORE_DIGEST = re.compile(
    r"""(?i)(?:sha(?:1|224|256|384|512)|md5|h1|integrity)["']?\s*[-:=]\s*["']?$"""
)
_OF_DIGEST = re.compile(r"(?i)sha(?:1|224|256|384|512)[-_=]")
# Letter pairs of nine tenths of all words in program texts; of random letters, three tenths.
_PAIRS = (
    "a:bcdgiklmnprstuvy b:aelou c:aehiklortu d:aeilosu e:acdefglmnprstvx f:aefioru g:ehirs h:aeiot "
    "i:abcdefglmnoprstvz k:e l:adeilostuy m:aeiop n:acdefgiostu o:bcdlmnoprstuvw p:aeiloprt q:u "
    "r:acdegimnorstuy s:acehiopstu t:aehiorstuy u:beilmnprst v:aei w:ahi x:ct y:pt z:e"
)
_FOLLOWS = {one[0]: frozenset(one[2:]) for one in _PAIRS.split()}


def random_strings(text: str) -> Iterator[tuple[int, str]]:
    """Each string that looks random, and where it begins."""
    for match in _TOKEN.finditer(text):
        token = match[0].strip("-_=/")
        if not is_random(token):
            continue
        if _BEFORE_DIGEST.search(text, max(match.start() - 24, 0), match.start()):
            continue
        yield match.start(), token


def is_random(token: str) -> bool:
    token = _UUID.sub("", token)
    if len(token) < SHORTEST or _is_digest(token):
        return False
    parts = [part for part in _PARTS.split(token) if part and not _DIGEST.fullmatch(part)]
    letters = sum(map(len, parts))
    if letters < SHORTEST * 0.9 or letters / len(parts) < 9:  # a path, or words with dashes
        return False
    has_digit = any(c.isdigit() for c in token)
    if not has_digit and (len(token) < 24 or len(set(token)) < 16):
        return False
    return bits_each(token) >= 3.4 and _wordiness(parts) < (0.58 if has_digit else 0.5)


def bits_each(text: str) -> float:
    """Shannon's entropy of its characters."""
    size = len(text)
    return -sum(n / size * math.log2(n / size) for n in Counter(text).values())


def _is_digest(token: str) -> bool:
    return bool(_DIGEST.fullmatch(token) or _OF_DIGEST.match(token)) or token.isdecimal()


def _wordiness(parts: list[str]) -> float:
    """How many neighbours in it are a common pair of letters, two digits, or follow each other in
    the alphabet. Where a word of camelCase begins says nothing."""
    common = pairs = 0
    for part in parts:
        for one, other in pairwise(part):
            if one.islower() and other.isupper():
                continue
            pairs += 1
            both = one.isdigit() and other.isdigit()
            follows = other.lower() in _FOLLOWS.get(one.lower(), ())
            common += both or follows or ord(other) == ord(one) + 1
    return common / pairs if pairs else 1.0
