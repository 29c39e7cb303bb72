"""Greetings, thanks, "what are you doing?": what needs no soldier, and what is said to it. Pure.

Only a text that is nothing else counts: whatever has more content is for a general. One without any
words, such as a file or a mere call, asks for some.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from kingdom.words import Words

Kind = Literal["greeting", "standing", "thanks", "wordless"]
MOST_NAMED = 5
_LONGEST = 100
_SHORTCODE = re.compile(r":[a-z0-9_+-]+:")
_APOSTROPHE = re.compile(r"['’‘`]")
_MARKS = re.compile(r"[^\w\s]|_")

_NAME = r"(?: (?:there|all|everyone|team|kingdom|킹덤|왕국|여러분))*"
_GREETING = (
    r"(?:hi+|hello+|hey+|hiya|yo|howdy|greetings|good (?:morning|afternoon|evening|day)|morning"
    r"|안녕(?:하세요|하십니까|하신가요|들 하세요)?|하이|헬로우?|반가워요?|반갑습니다"
    r"|좋은 (?:아침|오후|저녁)(?:이에요|입니다|이야)?|굿모닝)" + _NAME
)
_THANKS = (
    r"(?:thanks|thank you|thx|ty|cheers)(?: (?:a lot|so much|very much))?" + _NAME + "|"
    r"(?:정말 |너무 )?(?:고마워요?|고맙습니다|감사(?:해요?|합니다|드려요|드립니다)|땡큐)"
)
_NOW = r"(?: (?:now|right now|just now|today|currently|at the moment|these days))?"
_STANDING = (
    r"(?:so )?(?:what (?:are|r) (?:you|u|ya) (?:doing|up to|working on|busy with|at)"
    r"|what(?: i|)s (?:up|going on|happening|running|queued|waiting|the status|your status|new"
    r"|in the queue|everyone doing)"
    r"|sup|how(?: i|)s it going|how(?: are|re) (?:you|things)(?: doing)?|how do you do"
    r"|are you (?:there|alive|up|awake|busy|ok|okay|working|running|free)"
    r"|(?:your |current |the )?status(?: report| update)?|any news)" + _NOW + "|"
    r"(?:지금 |요즘 |너 |넌 |너는 |오늘 )*(?:뭐 ?(?:해요?|하니|하나요|하세요|하는 중이야"
    r"|하는 중이에요|하고 ?(?:있어요?|있니|있나요|있습니까|계세요))"
    r"|무엇을 하고 ?(?:있어요?|있니|있나요|있습니까|계신가요)|무슨 일을? ?하고 ?(?:있어요?|있나요)"
    r"|(?:현재 )?(?:상태|상황|현황|진행 ?상황)(?:은|는|이|가|을|를)?"
    r"(?: ?(?:어때요?|어떤가요|어떻습니까|뭐야|뭐예요|알려 ?줘요?|알려 ?주세요|보고|보여 ?줘요?))?"
    r"|어때요?|어떻게 지내(?:요|니|세요)?|잘 지내(?:요|니|세요)?"
    r"|어떻게 (?:돼|되어) ?가(?:요|고 ?있어요?|나요)?"
    r"|살아 ?있어요?|일하고 ?있어요?|바빠요?|바쁘세요|거기 있어요?)"
)
_PLEASE = r"(?: (?:please|pls|부탁해요?|부탁합니다))?"
_PATTERNS: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    ("greeting", re.compile(_GREETING)),
    ("thanks", re.compile(_THANKS)),
    ("standing", re.compile(rf"(?:{_GREETING} )?(?:{_STANDING}){_NAME}{_PLEASE}")),
)


@dataclass(frozen=True)
class Standing:
    """How the kingdom stands; each line is about one task or one question."""

    at_work: Sequence[str] = ()
    queued: Sequence[str] = ()  # tasks whose soldier has not begun
    waiting: int = 0  # events that are not let in yet
    questions: Sequence[str] = ()
    trouble: str = ""  # why no new work begins; empty if it does


def kind_of(text: str) -> Kind | None:
    if len(text) > _LONGEST:
        return None
    plain = _APOSTROPHE.sub("", _SHORTCODE.sub(" ", text.casefold()))
    plain = " ".join(_MARKS.sub(" ", plain).split())
    if not plain:
        return "wordless"
    return next((kind for kind, one in _PATTERNS if one.fullmatch(plain)), None)


def answer(kind: Kind, standing: Standing, words: Words) -> str:
    if kind == "thanks":
        return words("king_welcome")
    if kind == "wordless":
        return words("king_no_words")
    lines = [words("king_hello")] if kind == "greeting" else []
    lines += _listed("king_at_work", standing.at_work, words)
    lines += _listed("king_queued", standing.queued, words)
    if not standing.at_work and not standing.queued:
        lines.append(words("king_idle"))
    if standing.waiting:
        lines.append(words("king_waiting", count=standing.waiting))
    lines += _listed("king_questions", standing.questions, words)
    lines.append(standing.trouble or words("king_well"))
    return "\n".join(lines)


def _listed(name: str, entries: Sequence[str], words: Words) -> list[str]:
    if not entries:
        return []
    shown = [f"- {one}" for one in entries[:MOST_NAMED]]
    more = len(entries) - MOST_NAMED
    rest = [words("king_and_more", count=more)] if more > 0 else []
    return [words(name, count=len(entries)), *shown, *rest]
