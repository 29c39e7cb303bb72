"""A way to fail: a stable code, one sentence, what to do, and whether it is tried again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

# retry: another attempt may work. never: it cannot. wait: not the task's fault, no attempt counted.
Fate = Literal["retry", "never", "wait"]
FATES: dict[Fate, str] = {
    "retry": "it is tried again by itself, as often as the general's retry.max_attempts allows.",
    "never": "it is not tried again by itself.",
    "wait": "it waits and goes on by itself; no attempt is counted.",
}


@dataclass(frozen=True, slots=True)
class Failure:
    code: str
    fate: Fate
    sentence: str
    remedy: str
