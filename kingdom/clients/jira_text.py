"""What people wrote in Jira, as plain text: on a cloud it comes as a document of nested nodes."""

from __future__ import annotations

from typing import Any

_DEEPEST = 40
# What stands between the parts of a node; between those of any other, an empty line.
_BETWEEN = {
    **dict.fromkeys(("paragraph", "heading", "codeBlock", "taskItem", "decisionItem"), ""),
    **dict.fromkeys(("bulletList", "orderedList", "taskList", "decisionList", "table"), "\n"),
    "listItem": "\n",
    "tableRow": " | ",
    "tableCell": " ",
    "tableHeader": " ",
}
_ITEMS = {"listItem", "taskItem", "decisionItem"}
_SAID = {"mention": "text", "emoji": "shortName", "status": "text", "date": "timestamp"}
_SAID |= dict.fromkeys(("inlineCard", "blockCard", "embedCard"), "url")


def plain(value: Any, most: int) -> str:
    """At most so many characters; empty for what is neither text nor a document."""
    if isinstance(value, dict):
        value = _read(value, 0)
    if not isinstance(value, str):
        return ""
    # Half a pair of surrogates is JSON, but no text that a file can hold.
    text = value.encode("utf-8", "replace").decode("utf-8").replace("\r\n", "\n").strip()
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _read(node: Any, depth: int) -> str:
    if not isinstance(node, dict) or depth > _DEEPEST:
        return ""
    kind = str(node.get("type"))
    if kind == "text":
        return _text(node)
    if kind == "hardBreak":
        return "\n"
    if kind in _SAID:
        return _attribute(node, _SAID[kind])
    content = node.get("content")
    parts = [_read(one, depth + 1) for one in content] if isinstance(content, list) else []
    whole = _BETWEEN.get(kind, "\n\n").join(part for part in parts if part)
    return "- " + whole.replace("\n", "\n  ") if kind in _ITEMS else whole


def _text(node: dict[str, Any]) -> str:
    """With the address of what it links to, where that is not what it says."""
    said, marks = node.get("text"), node.get("marks")
    if not isinstance(said, str):
        return ""
    links = [one for one in marks if isinstance(one, dict)] if isinstance(marks, list) else []
    targets = [_attribute(one, "href") for one in links if one.get("type") == "link"]
    return said + "".join(f" ({target})" for target in targets if target and target != said)


def _attribute(node: dict[str, Any], name: str) -> str:
    attributes = node.get("attrs")
    value = attributes.get(name) if isinstance(attributes, dict) else None
    return value if isinstance(value, str) else ""
