"""However long a question and its options are: what can be answered stands in the message that has
the buttons, and what was shortened is whole in its file."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kingdom.envoy.transports.slack.letters import Letter
from kingdom.models.message import HumanInputRequest
from tests.envoy.test_slack_letters import judged
from tests.support.envoy import question
from tests.support.kingdom import START
from tests.support.slack_blocks import shown_in
from tests.support.slack_scene import Scene

FILLERS = ("x", "한", "&", "<b>", "word ", "😀")
BEGINNING = 11


def option(number: int, size: int) -> str:
    filler = FILLERS[number % len(FILLERS)]
    return f"o{number} {filler * (size // len(filler))}".strip()


def asked(content: str, sizes: list[int], default: int = 0) -> HumanInputRequest:
    options = [option(number, size) for number, size in enumerate(sizes, 1)]
    if not options:
        return question(content=content)
    until = START + timedelta(hours=1)
    return question(content=content, options=options, default=options[default], expires_at=until)


def shown_of(letter: Letter, first: int = 0) -> str:
    parts = letter.parts[first:]
    return "\n".join(shown_in({"text": one.text, "blocks": one.blocks}) for one in parts)


def labels(letter: Letter) -> list[str]:
    rows = [one for one in letter.parts[-1].blocks if one["type"] == "actions"]
    return [one["text"]["text"] for row in rows for one in row["elements"]]


def agrees(message: HumanInputRequest, *, has_buttons: bool = True) -> None:
    letter = judged(message, has_buttons=has_buttons)
    options = message.options or []
    last = shown_of(letter, -1)
    if len(options) <= 50 and has_buttons:
        numbers = [str(number) for number in range(1, len(options) + 1)]
        assert labels(letter) in (options, numbers)
        shown = last
    else:
        assert labels(letter) == []
        shown = shown_of(letter)
    if labels(letter) != options:
        lines = shown.split("\n")
        for number, one in enumerate(options, 1):
            begins = f"{number}. {one[:BEGINNING]}"
            assert any(line.startswith(begins) for line in lines), begins
    if options:
        assert "<!date^1770462000^" in last
        assert f"it will be: {(message.default or '')[:BEGINNING]}" in last
    if "…" in shown_of(letter) or len(message.content) > 35_000:
        assert letter.attachment
        text = letter.attachment.content.decode()
        assert message.content.strip() in text
        assert all(f"{n}. {one}" in text for n, one in enumerate(options, 1))
        assert not message.default or message.default in text


SIZES = st.one_of(st.integers(0, 90), st.integers(0, 90), st.integers(60, 4_000))


@settings(max_examples=150)
@given(
    st.lists(SIZES, max_size=60),
    st.integers(0, 50_000),
    st.sampled_from(["lorem ipsum\n", "x", "한 ", "<&>", "```\ncode\n"]),
    st.data(),
)
def test_every_option_default_and_deadline_are_where_it_is_answered(
    sizes: list[int], length: int, unit: str, data: Any
) -> None:
    default = data.draw(st.integers(0, max(len(sizes) - 1, 0)))
    content = ("Why? " + unit * (length // len(unit))).strip()
    agrees(asked(content, sizes, default), has_buttons=data.draw(st.booleans()))


@pytest.mark.parametrize("length", [5, 2_800, 8_600, 30_000, 100_000])
@pytest.mark.parametrize(
    "sizes",
    [[], [70], [70] * 25, [40] * 50, [70] * 50, [80] * 50, [3_000] * 3, [30_000] * 4, [3_000] * 50,
     [100] * 51, [60] * 300, [5, 20_000, 5]],
    ids=lambda sizes: f"{len(sizes)} of {max(sizes, default=0)}",
)  # fmt: skip
def test_the_limits_hold_at_their_edges(sizes: list[int], length: int) -> None:
    agrees(asked("lorem ipsum\n" * (length // 12 + 1), sizes))


def test_a_question_of_many_pages_can_be_answered(polled: Scene) -> None:
    polled.ask(content="lorem ipsum\n" * 4000, options=["deploy to prod", "roll back"])
    assert "1. deploy to prod\n2. roll back" in shown_in(polled.question)
    (file,) = polled.server.uploads.values()
    assert file["content"].decode().endswith("1. deploy to prod\n2. roll back\n")
