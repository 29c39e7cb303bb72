"""What people wrote in Jira becomes plain text, whatever it is."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kingdom.clients.jira_text import plain


def node(kind: str, *content: Any, **attrs: Any) -> dict[str, Any]:
    return {"type": kind, "content": list(content), "attrs": attrs}


def text(said: str, **link: str) -> dict[str, Any]:
    marks = [{"type": "strong"}] + ([{"type": "link", "attrs": link}] if link else [])
    return {"type": "text", "text": said, "marks": marks}


def test_a_document_reads_as_it_was_meant() -> None:
    row = node("tableRow", *(node("tableCell", node("paragraph", text(one))) for one in "ab"))
    inner = node("bulletList", node("listItem", node("paragraph", text("inner"))))
    document = node(
        "doc",
        node("heading", text("Why"), level=2),
        node(
            "paragraph",
            text("Ask "),
            {"type": "mention", "attrs": {"text": "@Ann"}},
            {"type": "hardBreak"},
            text("see docs", href="https://docs.example"),
        ),
        node(
            "orderedList",
            node("listItem", node("paragraph", text("one")), inner),
            node("listItem", node("paragraph", text("two"))),
        ),
        node("codeBlock", text("a = 1\n\n\nb = 2")),
        node("table", row, row),
        node("panel", node("paragraph", {"type": "inlineCard", "attrs": {"url": "https://x"}})),
    )
    assert plain(document, 1000).split("\n\n") == [
        "Why",
        "Ask @Ann\nsee docs (https://docs.example)",
        "- one\n  - inner\n- two",
        "a = 1",
        "\nb = 2",
        "a | b\na | b",
        "https://x",
    ]


def test_it_is_bounded() -> None:
    assert plain("x" * 100, 10) == "x" * 9 + "…"
    assert plain(node("doc", node("paragraph", text("x" * 100))), 10) == "x" * 9 + "…"


def test_a_document_without_end_is_read_to_some_depth() -> None:
    deep: dict[str, Any] = node("paragraph", text("bottom"))
    for _ in range(900):
        deep = node("blockquote", deep)
    assert plain(deep, 100) == ""


@pytest.mark.parametrize("value", [None, 7, ["x"], {}, {"type": 3}, {"content": "x"}])
def test_what_is_no_text_is_empty(value: Any) -> None:
    assert plain(value, 100) == ""


anything = st.recursive(
    st.none() | st.integers() | st.text(st.characters(codec=None), max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["type", "content", "text", "attrs", "marks"]), inner)
    ),
    max_leaves=20,
)


@given(anything)
def test_nothing_whatsoever_is_too_odd(value: Any) -> None:
    plain(value, 50).encode("utf-8")
