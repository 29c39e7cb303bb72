"""The forms that tokens of well-known services have. Pure.

Each has a word without which it cannot be there; one look for that is all most texts cost. None may
begin at every letter of a long word and read on to its end: texts are large, and come from outside.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from kingdom.outbound.randomness import bits_each

_HIDDEN = re.compile(r"[\u00ad\u200b-\u200f\u2060-\u2064\ufeff]")


class Pattern(NamedTuple):
    """What it is called, the words that hint at it, and its form. The first group, if there is one,
    is the part that must not look made up."""

    kind: str
    hints: tuple[str, ...]
    form: re.Pattern[str]
    is_typed: bool = False  # by people: then it must also look like more than a word


def _pattern(kind: str, hints: str, form: str, *, is_typed: bool = False) -> Pattern:
    return Pattern(kind, tuple(hints.split()), re.compile(form), is_typed)


PATTERNS = (
    _pattern("an AWS access key", "AKIA ASIA", r"\b(?:AKIA|ASIA)([0-9A-Z]{16})\b"),
    _pattern("a GitHub token", "gh", r"\bgh[pousr]_([A-Za-z0-9]{36,255})\b"),
    _pattern("a GitHub token", "github_pat_", r"\bgithub_pat_(\w{60,255})\b"),
    _pattern(
        "a GitLab token", "gl", r"\bgl(?:pat|dt|rt|cbt|ptt|ft|oas|soat|agent)-([\w-]{20,255})"
    ),
    _pattern("a Slack token", "xox", r"\bxox[a-z](?:\.xox[a-z])?-([\w-]{20,300})"),
    _pattern("a Slack token", "xapp-", r"\bxapp-([\w-]{20,300})"),
    _pattern("a Slack webhook", "hooks.slack.com", r"hooks\.slack\.com/\w{1,20}/([\w/-]{20,200})"),
    _pattern("an Anthropic key", "sk-ant-", r"(?<![\w-])sk-ant-([\w-]{20,300})"),
    _pattern("an OpenAI key", "sk-", r"(?<![\w-])sk-(?!ant-)(?:\w{2,10}-)?([A-Za-z0-9_]{32,300})"),
    _pattern("a Google key", "AIza", r"\bAIza([\w-]{35})(?![\w-])"),
    _pattern("a Google token", "ya29. GOCSPX-", r"\b(?:ya29\.|GOCSPX-)([\w-]{20,500})"),
    _pattern(
        "a Stripe key", "k_live_ k_test_ whsec_",
        r"\b(?:[sr]k_(?:live|test)|whsec)_([A-Za-z0-9]{20,255})",
    ),
    _pattern("an npm token", "npm_", r"\bnpm_([A-Za-z0-9]{36})\b"),
    _pattern("a PyPI token", "pypi-", r"\bpypi-(AgE[\w-]{50,500})"),
    _pattern("an Atlassian token", "ATATT3 ATCTT3", r"\bAT[AC]TT3([\w=-]{20,300})"),
    _pattern("a Hugging Face token", "hf_", r"\bhf_([A-Za-z0-9]{34})\b"),
    _pattern("a SendGrid key", "SG.", r"\bSG\.([\w-]{22}\.[\w-]{43})\b"),
    _pattern("a DigitalOcean token", "_v1_", r"\bdo[opr]_v1_([a-f0-9]{64})\b"),
    _pattern("a Telegram token", ":AA", r"\b\d{8,10}:(AA[\w-]{33})\b"),
    _pattern("an Azure key", "AccountKey=", r"\bAccountKey=([A-Za-z0-9+/]{80,90}={0,2})"),
    _pattern("an age key", "AGE-SECRET-KEY-", r"\bAGE-SECRET-KEY-1([0-9A-Z]{58})\b"),
    _pattern(
        "a JSON Web Token", "eyJ",
        r"\beyJ[\w-]{8,2000}+\.(eyJ[\w-]{8,4000}+\.[\w-]{16,1000})",
    ),
    _pattern(
        "a private key", "-----BEGIN",
        r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:\s|\\[nr]|[A-Za-z-]{1,30}: "
        r"[^\n]{0,200}\n|[\"'+,])*+[A-Za-z0-9+/=]{40}",
    ),
    _pattern(
        "a password in an address", "://",
        r"\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@'\"<>{}$]{0,80}:([^\s/:@'\"<>{}$()\[\]\\]{8,128})@\w",
        is_typed=True,
    ),
)  # fmt: skip
# An assignment to something that is called so: what is assigned is quoted, or ends its line.
_KEYWORD = re.compile(
    r"passw(?:or)?d|passphrase|secret|api[_-]?key|access[_-]?key|auth[_-]?token|access[_-]?token"
    r"|private[_-]?key|credential|_token"
)
_ASSIGNED = re.compile(
    r"\w{0,20}[\"']?[ \t]{0,4}(?::=|=>|[:=])[ \t]{0,4}"
    r"(?:[\"']([^\s\"'<>{}$()]{12,200})[\"']|([^\s\"'<>{}$()\[\],;]{12,200}+)[ \t]{0,20}+(?:\n|\Z))"
)
_MADE_UP = re.compile(
    r"(?i)example|sample|dummy|fake|placeholder|change.?me|your.?|xxxx|0000|1234567|abcdef|aaaa|"
    r"\.\.\.|\*\*\*|not.a.|insert|redacted|secret|passw|token|dead.?beef|cafe.?babe|test|mock|"
    r"obviously|(.)\1{4}"
)
_LEAST_BITS = 2.8
_JUDGED = 100  # characters of a token are enough to judge it


def visible(text: str) -> str:
    """Without characters that show nothing, which would cut a token in two."""
    return text if text.isascii() else _HIDDEN.sub("", text)


def tokens(text: str) -> Iterator[tuple[int, str]]:
    """Where each token begins in this text, and what it is called."""
    for pattern in PATTERNS:
        if any(hint in text for hint in pattern.hints):
            for match in pattern.form.finditer(text):
                if not match.re.groups or _is_meant(match[1], is_typed=pattern.is_typed):
                    yield match.start(), pattern.kind
    for match in _KEYWORD.finditer(_lowered(text)):
        value = _ASSIGNED.match(text, match.end())
        if value and _is_meant(value[1] or value[2], is_typed=True):
            yield match.start(), "a password"


def _lowered(text: str) -> str:
    """As long as the text, which a few letters of other languages would not be."""
    lower = text.lower()
    return lower if len(lower) == len(text) else "".join(c.lower()[:1] for c in text)


def _is_meant(value: str, *, is_typed: bool) -> bool:
    """Not one that stands for a token in a text about tokens."""
    value = value[:_JUDGED]
    if _MADE_UP.search(value) or bits_each(value) < _LEAST_BITS:
        return False
    if not is_typed:
        return any(c.isdigit() for c in value)
    kinds = (str.islower, str.isupper, str.isdigit)
    several = sum(any(map(kind, value)) for kind in kinds) == len(kinds)
    plain = re.fullmatch(r"[\w./:-]*[./:_-][\w./:-]*", value)  # a path, a name, a version
    return several and not plain
