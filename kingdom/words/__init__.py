"""Every sentence that people read outside the logs, in each language.

`Words(language)` speaks one. A sentence is a template with named places; a test checks that all
languages know the same sentences with the same places.
"""

from __future__ import annotations

from importlib import import_module

LANGUAGES = ("en", "ko")


class Words:
    def __init__(self, language: str) -> None:
        self._sentences: dict[str, str] = import_module(f"kingdom.words.{language}").SENTENCES

    def __call__(self, name: str, /, **values: object) -> str:
        """The sentence of this name, with these values in its places, put in once."""
        return self._sentences[name].format(**{key: str(one) for key, one in values.items()})


def places(sentence: str) -> set[str]:
    from string import Formatter

    return {name for _, name, _, _ in Formatter().parse(sentence) if name}
