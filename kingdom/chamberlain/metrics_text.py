"""Prometheus text, as its exposition format 0.0.4 wants it. A library would bring its own registry
of counters, and ours are in files that other processes wrote."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
Kind = Literal["gauge", "counter", "histogram"]
Labels = Mapping[str, str]
_ESCAPES = str.maketrans({"\\": "\\\\", "\n": "\\n", '"': '\\"'})


@dataclass
class Family:
    """One metric with all its series."""

    name: str
    kind: Kind
    help: str
    lines: list[str] = field(default_factory=list)

    def add(self, value: float, labels: Labels | None = None, suffix: str = "") -> None:
        spelled = ",".join(f'{key}="{text.translate(_ESCAPES)}"' for key, text in _items(labels))
        braces = f"{{{spelled}}}" if spelled else ""
        self.lines.append(f"{self.name}{suffix}{braces} {_number(value)}")

    def add_histogram(
        self, bounds: Sequence[float], counts: Sequence[int], total: float, labels: Labels
    ) -> None:
        """`counts` of each bucket alone, the last one without a bound."""
        so_far = 0
        for bound, count in zip((*map(_number, bounds), "+Inf"), counts, strict=True):
            so_far += count
            self.add(so_far, {**labels, "le": bound}, "_bucket")
        self.add(total, labels, "_sum")
        self.add(so_far, labels, "_count")


def _items(labels: Labels | None) -> list[tuple[str, str]]:
    return list((labels or {}).items())


def _number(value: float) -> str:
    if not math.isfinite(value):  # only a damaged file holds one
        return "NaN"
    return repr(int(value)) if value == int(value) else repr(round(value, 6))


def rendered(families: Sequence[Family]) -> bytes:
    """Those that have something to tell."""
    lines = []
    for one in families:
        if one.lines:
            lines += [f"# HELP {one.name} {one.help}", f"# TYPE {one.name} {one.kind}", *one.lines]
    return ("\n".join(lines) + "\n").encode("utf-8", "backslashreplace")
