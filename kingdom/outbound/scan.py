"""What in a text must not leave, and where. Pure; a finding never holds the secret itself.

Three things are looked for: values of credentials that the kingdom knows, in whatever form; tokens
of well-known forms; and, in work of less than `member`, strings that look random and that nobody
gave to it. `kingdom.outbound.diffs` says which part of a diff is looked at.
"""

from __future__ import annotations

import hashlib
import json
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice

from kingdom.models.fields import Trust
from kingdom.outbound.needles import Needles
from kingdom.outbound.patterns import tokens, visible
from kingdom.outbound.randomness import random_strings

LARGEST = 32 * 1024 * 1024  # characters; what is larger is not scanned, and not sent
_MOST = 5  # findings that are told
_ENOUGH = 1000  # strings that look random: who brings more brings too many


@dataclass(frozen=True)
class Text:
    """Something that is about to leave. `lines` are their places, if those are not counted from 1;
    `judges_random` is False for what is random by nature, such as a lock file."""

    place: str
    text: str
    lines: tuple[int, ...] = ()
    judges_random: bool = True

    def spot(self, line: int) -> str:
        if "\n" not in self.text and not self.lines:
            return self.place
        number = self.lines[line - 1] if 0 < line <= len(self.lines) else line
        return f"{self.place}, line {number}"


@dataclass(frozen=True)
class Finding:
    kind: str  # such as: a GitHub token
    spot: str  # such as: content, line 3

    def __str__(self) -> str:
        return f"{self.kind} in {self.spot}"


# Of these strings, those that were there before: in the base of a diff, in what a task was given.
Known = Callable[[frozenset[str]], frozenset[str]]


def nothing_known(strings: frozenset[str]) -> frozenset[str]:
    return frozenset()


def known_from(given: str) -> Known:
    return lambda strings: frozenset(one for one in strings if one in given)


def scan(
    texts: Iterable[Text], needles: Needles, trust: Trust, known: Known = nothing_known
) -> list[Finding]:
    """The first few that must not leave, each once."""
    texts = list(texts)
    if sum(len(one.text) for one in texts) > LARGEST:
        return [Finding("more than can be scanned", texts[0].place)]
    found = dict.fromkeys(_certain(texts, needles))
    if not found and trust != "member":
        found = dict.fromkeys(_random(texts, known))
    return [_without_secret(one, needles) for one in islice(found, _MOST)]


def _without_secret(finding: Finding, needles: Needles) -> Finding:
    """Where it is may be a file whose name has a secret itself."""
    spot = Text("", finding.spot)
    said = any(_certain([spot], needles)) or any(random_strings(spot.text))
    return Finding(finding.kind, "one of the files") if said else finding


def _certain(texts: Sequence[Text], needles: Needles) -> Iterator[Finding]:
    starts = list(accumulate((one.text.count("\n") + 1 for one in texts), initial=0))
    # All of it at once: a secret may be split between two files.
    for line, kind in needles.find("\n".join(one.text for one in texts)):
        which = bisect_left(starts, line) - 1
        yield Finding(kind, texts[which].spot(line - starts[which]))
    for one in texts:
        shown = visible(one.text)
        for at, kind in tokens(shown):
            yield Finding(kind, one.spot(shown.count("\n", 0, at) + 1))


def _random(texts: Sequence[Text], known: Known) -> Iterator[Finding]:
    candidates: dict[str, Finding] = {}
    for one in texts:
        if not one.judges_random:
            continue
        for at, token in random_strings(one.text):
            kind = f"a string of {len(token)} characters that looks random"
            candidates.setdefault(token, Finding(kind, one.spot(one.text.count("\n", 0, at) + 1)))
            if len(candidates) > _ENOUGH:
                yield Finding(f"more than {_ENOUGH} strings that look random", one.place)
                return
    if candidates:
        old = known(frozenset(candidates))
        yield from (finding for token, finding in candidates.items() if token not in old)


def sentence(findings: Iterable[Finding]) -> str:
    """For people and files: what was found where, and nothing of it."""
    said = "; ".join(map(str, findings))
    return f"{said[:1].upper()}{said[1:]}."


def digest(fields: Mapping[str, object]) -> str:
    """Of what is about to leave: a release holds for exactly this."""
    spelled = json.dumps(fields, sort_keys=True, default=str)
    return hashlib.sha256(spelled.encode()).hexdigest()
