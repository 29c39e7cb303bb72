"""What a message looks like in Slack: within its limits, readable, calling nobody by accident."""

from __future__ import annotations

from datetime import UTC, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from slack_sdk.models.blocks import Block

from kingdom.envoy.rendering import Rendering
from kingdom.envoy.transports.slack.letters import FALLBACK, Letter, Letters, cut_off
from kingdom.envoy.transports.slack.mrkdwn import mrkdwn, pieces, width
from kingdom.words import LANGUAGES, Words
from tests.support.envoy import question, start
from tests.support.kingdom import START
from tests.support.slack_blocks import flaw_in, mentions_in, shown_in
from tests.support.slack_workspace import LONGEST_BLOCKS, LONGEST_TEXT, OWNER, Refusal, Workspace


def letter_of(
    message: Any, language: str = "en", owner: str = OWNER, *, has_buttons: bool = True
) -> Letter:
    words = Words(language)
    letters = Letters(words, Rendering(words, UTC), owner=owner, has_buttons=has_buttons)
    return letters.letter(message)


def said(message: Any, **options: Any) -> str:
    """All that a person reads of it, as one text."""
    parts = letter_of(message, **options).parts
    return "\n".join(shown_in({"text": one.text, "blocks": one.blocks}) for one in parts)


def judged(message: Any, **options: Any) -> Letter:
    """Slack takes every part of it, and so do the models of its library."""
    letter = letter_of(message, **options)
    workspace = Workspace()
    for part in letter.parts:
        for text, blocks in ((part.text, part.blocks), (part.whole, [])):
            try:
                workspace.post({"channel": "C0KINGDOM", "text": text, "blocks": blocks})
            except Refusal as refusal:
                pytest.fail(f"{refusal.answer}")
        for block in Block.parse_all(part.blocks):
            block.validate_json()
    return letter


# Nobody is called by accident


@pytest.mark.parametrize(
    "text",
    [
        "<!channel> look", "<!here|here>", "<!everyone>", "<@U0OWNER>", "<!subteam^S1|x>",
        "@channel look", "@here", "@everyone", "`@here` and <!channel>", "# @channel",
        "**@everyone**", "[@here](https://a.example/@channel)", "```\n<!channel> @here\n```",
        "- @channel", "&lt;!channel&gt;", "https://a.example/<!channel>", "\u2028@channel",
    ],
)  # fmt: skip
def test_text_that_looks_like_a_call_calls_nobody(text: str) -> None:
    for message in (start(content=text), question(content="?", options=[text], default=text)):
        for part in judged(message).parts:
            assert mentions_in(part.text, part.blocks, link_names=False) == []
            assert mentions_in(part.whole, [], link_names=False) == []


def test_urgent_calls_the_owner_and_nobody_else() -> None:
    (part,) = judged(start(content="<!channel> fire", urgency="urgent")).parts
    assert mentions_in(part.text, part.blocks, link_names=False) == [f"@{OWNER}"]
    assert mentions_in(part.whole, [], link_names=False) == [f"@{OWNER}"]
    (part,) = letter_of(start(urgency="high")).parts
    assert mentions_in(part.text, part.blocks, link_names=False) == []
    assert said(start(urgency="high")).startswith(":warning: *Important*")
    assert said(start(urgency="urgent"), owner="@ada> <!here>").startswith(":rotating_light:")
    assert "<!here>" not in said(start(urgency="urgent"), owner="@ada> <!here>")


# Readable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a < b & c > d", "a &lt; b &amp; c &gt; d"),
        ("&amp;", "&amp;amp;"),
        ("# Title\n- one\n* two", "*Title*\n• one\n• two"),
        ("**bold** and `**code** <x>`", "*bold* and `**code** &lt;x&gt;`"),
        ("see https://a.example/?a=1&b=2.", "see <https://a.example/?a=1&amp;b=2>."),
        ("[docs](https://a.example/x)", "docs (<https://a.example/x>)"),
        ("```python\n# **x** <y>\n```", "```\n# **x** &lt;y&gt;\n```"),
        ("2 * 3 ** 4", "2 * 3 ** 4"),
    ],
)
def test_markdown_becomes_what_slack_knows(text: str, shown: str) -> None:
    assert mrkdwn(text) == shown


@pytest.mark.parametrize("text", ["", "   ", "\n\n", "\u00a0"])
def test_an_empty_text_says_so(text: str) -> None:
    assert said(start(content=text)) == "(no text)"
    judged(start(content=text))


def test_characters_that_do_not_show_are_spelled() -> None:
    text = said(start(content="a\x00b\x1b[31mc\x7f\u202ed\r\ne"))
    assert text == "a\\u0000b\\u001b[31mc\\u007f\\u202ed\ne"


def test_json_is_no_wall() -> None:
    content = '{"status": "ok", "files": 3, "tree": {"a": [1, 2]}, "long": "' + "x" * 9000 + '"}'
    letter = judged(start(content=content))
    shown = said(start(content=content))
    assert shown.startswith("*status*: ok\n*files*: 3\n*long*: xxx")
    assert len(shown) < 500
    assert letter.attachment
    assert letter.attachment.name.endswith(".json")
    assert letter.attachment.content.decode() == content
    listed = said(start(content=f"[{'1, ' * 200}2]"))
    assert listed == "The whole text is attached (603 characters)."
    assert said(start(content="[1, 2]")) == "[1, 2]"
    assert said(start(content="[brackets] and {braces}")) == "[brackets] and {braces}"


# Questions


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_question_has_buttons_and_names_default_and_deadline(language: str) -> None:
    asked = question(options=["yes", "no"], default="no", expires_at=START + timedelta(hours=1))
    (part,) = letter_of(asked, language).parts
    (actions,) = [block for block in part.blocks if block["type"] == "actions"]
    assert [one["text"]["text"] for one in actions["elements"]] == ["yes", "no"]
    assert [one["value"] for one in actions["elements"]] == [f"{asked.id} 1", f"{asked.id} 2"]
    assert [one.get("style") for one in actions["elements"]] == [None, "primary"]
    words = Words(language)
    moment = "<!date^1770462000^{date_short_pretty} {time}|2026-02-07 11:00:00>"
    assert words("envoy_default_until", moment=moment, default="no") in part.whole
    assert words("envoy_choose_here", task_id=asked.task_id) in said(asked, language=language)
    assert "1. yes\n2. no" in part.text, "for whoever sees no buttons"
    judged(asked)


def test_options_too_long_for_buttons_are_listed_and_numbered() -> None:
    asked = question(options=["keep <it>", "x" * 80])
    (part,) = judged(asked).parts
    (actions,) = [block for block in part.blocks if block["type"] == "actions"]
    assert [one["text"]["text"] for one in actions["elements"]] == ["1", "2"]
    assert f"1. keep <it>\n2. {'x' * 80}" in said(asked)


@pytest.mark.parametrize("count", [1, 25, 26, 50, 51, 500])
def test_many_options(count: int) -> None:
    asked = question(options=[f"option {number}" for number in range(count)])
    letter = judged(asked)
    shown = "\n".join(part.whole for part in letter.parts)
    assert all(f"option {number}" in shown for number in range(count))


def test_a_long_question_has_its_buttons_at_the_end() -> None:
    letter = judged(question(content="why?\n" * 4000, options=["a", "b"]))
    kinds = [{block["type"] for block in part.blocks} for part in letter.parts]
    assert len(kinds) > 1
    assert ["actions" in one for one in kinds] == [False] * (len(kinds) - 1) + [True]


# Long ones


UNITS = [
    "x", "<", "&", "한", "😀", '"', "word ", "a\n", "\n", "://", "](", "https://a.example/ ",
    "`", "```\n", "**b** ", "\\", "\t",
]  # fmt: skip


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("size", [2_890, 2_900, 3_001, 9_000, 36_000, 100_000])
def test_any_length_stays_within_the_limits(unit: str, size: int) -> None:
    letter = judged(start(content="." + unit * (size // len(unit)) + "."))
    assert len(letter.parts) <= 4
    assert all(len(part.text) <= FALLBACK for part in letter.parts)


@given(st.text(max_size=4000), st.integers(100, 3000))
def test_pieces_lose_nothing_and_are_never_too_wide(text: str, limit: int) -> None:
    found = list(pieces(text, limit))
    assert all(len(mrkdwn(one)) <= width(one) <= limit for one in found)
    assert not flaw_in([{"type": "section", "text": {"type": "mrkdwn", "text": mrkdwn(one)}}
                        for one in found[:50]])  # fmt: skip
    assert _solid("".join(found)) == _solid(text)


def _solid(text: str) -> str:
    return "".join(text.replace("```", "").split())


def test_code_that_is_cut_stays_code() -> None:
    text = "before\n```\n" + "\n".join(f"x = {n}" for n in range(400)) + "\n```\nafter"
    found = list(pieces(text, 1000))
    assert len(found) > 3
    assert all(one.count("```") % 2 == 0 for one in found)
    assert found[1].startswith("```\n")


def test_what_is_cut_off_is_not_cut_within_a_mark() -> None:
    for limit in range(5, 60):
        cut = cut_off("ab &amp; <https://a.example/x> and so on, and on &lt; on " * 2, limit)
        assert len(cut) <= limit
        assert not flaw_in([{"type": "section", "text": {"type": "mrkdwn", "text": cut}}])


def test_the_limits_of_the_tests_are_those_of_slack() -> None:
    assert (LONGEST_TEXT, LONGEST_BLOCKS) == (40_000, 13_000)
