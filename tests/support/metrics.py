"""Reads Prometheus text as strictly as its format is written."""

from __future__ import annotations

import re

_NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
_LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*"'
_SAMPLE = re.compile(rf"({_NAME})((?:{{{_LABEL}(?:,{_LABEL})*}})?) (-?[0-9.e+-]+|NaN)")
_HELP = re.compile(rf"# HELP ({_NAME}) \S.*")
_TYPE = re.compile(rf"# TYPE ({_NAME}) (gauge|counter|histogram)")
_SUFFIXES = {"histogram": ("_bucket", "_sum", "_count"), "counter": ("",), "gauge": ("",)}


def read_metrics(text: str) -> dict[str, float]:
    """Value by name with labels."""
    assert text.endswith("\n")
    found: dict[str, float] = {}
    names: set[str] = set()
    allowed: tuple[str, ...] = ()
    for line in text.splitlines():
        if described := _HELP.fullmatch(line):
            assert described[1] not in names, f"{described[1]} comes twice"
            names.add(described[1])
        elif typed := _TYPE.fullmatch(line):
            assert typed[1] in names
            assert (typed[2] == "counter") == typed[1].endswith("_total")
            allowed = tuple(typed[1] + suffix for suffix in _SUFFIXES[typed[2]])
        else:
            sample = _SAMPLE.fullmatch(line)
            assert sample is not None, f"not a sample: {line!r}"
            assert sample[1] in allowed, f"{line!r} is not announced"
            series = sample[1] + sample[2]
            assert series not in found, f"{series} comes twice"
            found[series] = float(sample[3])
    return found
