"""All languages know the same sentences, with the same places."""

from __future__ import annotations

from importlib import import_module
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kingdom.settings.system import SystemSettings
from kingdom.words import LANGUAGES, Words, places
from kingdom.words.columns import cut, padded, width
from kingdom.words.harmless import harmless

SENTENCES = {name: import_module(f"kingdom.words.{name}").SENTENCES for name in LANGUAGES}


def test_the_languages_are_those_that_can_be_configured() -> None:
    assert get_args(SystemSettings.model_fields["language"].annotation) == LANGUAGES


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_knows_every_sentence_with_its_places(language: str) -> None:
    english, other = SENTENCES["en"], SENTENCES[language]
    assert other.keys() == english.keys()
    for name, sentence in other.items():
        assert sentence.strip(), name
        assert places(sentence) == places(english[name]), name


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_sentence_says_whose_it_is(language: str) -> None:
    for name in SENTENCES[language]:
        assert name.partition("_")[0] in ("envoy", "king", "general", "chamberlain"), name


def test_what_is_put_into_a_sentence_is_not_looked_at_again() -> None:
    words = Words("en")
    said = words("envoy_question", question="{default} {0} %s {{x}}")
    assert said == "Question: {default} {0} %s {{x}}"


def test_what_does_not_show_is_spelled() -> None:
    assert harmless("a\x1b[31mb\u202e\n\tc") == "a\\u001b[31mb\\u202e\n\tc"
    assert harmless("a\nb", keep="") == "a\\u000ab"


def test_korean_takes_two_columns_a_letter_and_marks_take_none() -> None:
    assert [width(text) for text in ("abc", "한글", "e\u0301", "한a…")] == [3, 4, 1, 4]
    assert padded("한", 4) == "한  "


@given(st.text(st.sampled_from("ab한글\u0301…"), max_size=12), st.integers(0, 12))
def test_what_is_cut_fits_and_says_so(text: str, columns: int) -> None:
    shown = cut(text, columns)
    assert width(shown) <= columns
    assert shown == text or not columns or shown.endswith("…")
    assert (shown == text) == (width(text) <= columns)


def test_spans_are_spelled_in_each_language() -> None:
    spans = (-1, 42, 420, 3 * 3600, 12 * 86400)
    assert [Words("en").span(one) for one in spans] == ["0s", "42s", "7m", "3h", "12d"]
    assert [Words("ko").span(one) for one in spans] == ["0초", "42초", "7분", "3시간", "12일"]
