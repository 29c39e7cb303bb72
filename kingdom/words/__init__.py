"""Every sentence that people read outside the logs, in each language.

`Words(language)` speaks one. A sentence is a template with named places; a test checks that all
languages know the same sentences with the same places. How failures are told lies in
`kingdom.failures`, in English; other languages have it beside their sentences.
"""

from __future__ import annotations

from importlib import import_module
from typing import NamedTuple

from kingdom.failures import FAILURES
from kingdom.words.spans import age

LANGUAGES = ("en", "ko")
ENGLISH = "en"  # what files and logs are written in


class Told(NamedTuple):
    """A failure as people read it: what happened, and what helps."""

    sentence: str
    remedy: str


class Words:
    def __init__(self, language: str) -> None:
        spoken = import_module(f"kingdom.words.{language}")
        self.language = language
        self._sentences: dict[str, str] = spoken.SENTENCES
        self._failures: dict[str, tuple[str, str]] = getattr(spoken, "FAILURES", {})

    def __call__(self, name: str, /, **values: object) -> str:
        """The sentence of this name, with these values in its places, put in once."""
        return self._sentences[name].format(**{key: str(one) for key, one in values.items()})

    def span(self, seconds: float) -> str:
        """How long something took or takes."""
        return age(seconds, self.language)

    def failure(self, code: str) -> Told | None:
        """None for a code that is not known."""
        if code in self._failures:
            return Told(*self._failures[code])
        known = FAILURES.get(code)
        return Told(known.sentence, known.remedy) if known else None


def places(sentence: str) -> set[str]:
    from string import Formatter

    return {name for _, name, _, _ in Formatter().parse(sentence) if name}
