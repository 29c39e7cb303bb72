"""What Slack has against blocks, and whom a text would call."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

MOST_BLOCKS = 50
_LONGEST = {"section": 3000, "header": 150, "context": 3000}
_CALLED = re.compile(r"<(!(?:channel|here|everyone)|@[UW][A-Z0-9]+|!subteam\^\w+)(?:\|[^>]*)?>")
_LOOSE = re.compile(r"(?<!\w)@(channel|here|everyone)\b")
_LOOSE_AMPERSAND = re.compile(r"&(?!(?:amp|lt|gt);)")

Block = dict[str, Any]


def flaw_in(blocks: list[Block]) -> str:
    """The first thing Slack would refuse; empty if there is none."""
    if len(blocks) > MOST_BLOCKS:
        return f"no more than {MOST_BLOCKS} items allowed [json-pointer:/blocks]"
    ids = [block["block_id"] for block in blocks if "block_id" in block]
    if len(ids) != len(set(ids)):
        return "block_id already exists"
    return next((flaw for block in blocks if (flaw := _flaw_in_one(block))), "")


def _flaw_in_one(block: Block) -> str:
    if block["type"] == "actions":
        return _flaw_in_buttons(block.get("elements", []))
    if block["type"] not in (*_LONGEST, "divider"):
        return f"unsupported type: {block['type']}"
    for text in _texts(block):
        if not 0 < len(text["text"]) <= _LONGEST[block["type"]]:
            return f"must be between 1 and {_LONGEST[block['type']]} characters"
        if text["type"] == "mrkdwn" and _LOOSE_AMPERSAND.search(text["text"]):
            return "a cut or missing entity"
    return ""


def _flaw_in_buttons(elements: list[Block]) -> str:
    ids = [one["action_id"] for one in elements]
    if not 0 < len(elements) <= 25 or len(ids) != len(set(ids)):
        return "between 1 and 25 elements, each with an action_id of its own"
    for one in elements:
        text = one["text"]
        if text["type"] != "plain_text" or not 0 < len(text["text"]) <= 75:
            return "a button's text has between 1 and 75 characters"
        if len(one.get("value", "")) > 2000 or len(one["action_id"]) > 255:
            return "a button's value is too long"
    return ""


def _texts(block: Block) -> Iterator[dict[str, Any]]:
    if "text" in block:
        yield block["text"]
    yield from block.get("elements", [])


def mentions_in(text: str, blocks: list[Block], *, link_names: bool) -> list[str]:
    """Who is called by this message. Blocks are read if there are any, else the text."""
    if not blocks:
        return _CALLED.findall(text) + (_LOOSE.findall(text) if link_names else [])
    found: list[str] = []
    for one in (one for block in blocks if block["type"] != "actions" for one in _texts(block)):
        if one["type"] == "mrkdwn":
            found += _CALLED.findall(one["text"])
            found += [] if one.get("verbatim") else _LOOSE.findall(one["text"])
    return found


def shown_in(message: dict[str, Any]) -> str:
    """What a person reads, one block a line, with entities as the characters they stand for."""
    blocks = [block for block in message.get("blocks", []) if block["type"] != "actions"]
    texts = [one["text"] for block in blocks for one in _texts(block)]
    text = "\n".join(texts) if blocks else message["text"]
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
