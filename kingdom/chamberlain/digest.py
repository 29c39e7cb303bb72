"""Durations in bounded space: how many, their mean and maximum, and quantiles within two percent.

Values fall into buckets whose bounds grow by a constant factor, so a thousand buckets reach from a
millisecond to longer than anything lasts, and two digests add up to the digest of all.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any

_GROWTH = 1.04
_LOG = math.log(_GROWTH)
_LEAST, _MOST = 0.001, 1e9

Digest = dict[str, Any]


def empty() -> Digest:
    return {"count": 0, "sum": 0.0, "max": 0.0, "buckets": {}}


def add(digest: Digest, many: Collection[float]) -> None:
    buckets, log = digest["buckets"], math.log
    # What is not a number is above nothing, so it counts as no time at all.
    within = [min(seconds, _MOST) if seconds > 0.0 else 0.0 for seconds in many]
    for seconds in within:
        key = str(math.ceil(log(seconds) / _LOG)) if seconds > _LEAST else "0ms"
        buckets[key] = buckets.get(key, 0) + 1
    digest["count"] += len(within)
    digest["sum"] += sum(within)
    digest["max"] = max(digest["max"], *within, 0.0)


def merged(digests: list[Digest]) -> Digest:
    whole = empty()
    for one in digests:
        whole["count"] += one["count"]
        whole["sum"] += one["sum"]
        whole["max"] = max(whole["max"], one["max"])
        for key, many in one["buckets"].items():
            whole["buckets"][key] = whole["buckets"].get(key, 0) + many
    return whole


def summary(digest: Mapping[str, Any]) -> dict[str, float | int]:
    """As people read it."""
    count = digest["count"]
    return {
        "count": count,
        "mean": round(digest["sum"] / count, 3) if count else 0.0,
        "p50": quantile(digest, 0.5),
        "p95": quantile(digest, 0.95),
        "max": digest["max"],
    }


def quantile(digest: Mapping[str, Any], share: float) -> float:
    rank = max(math.ceil(share * digest["count"]), 1)
    passed = 0
    for upper, many in sorted((_upper(key), many) for key, many in digest["buckets"].items()):
        passed += many
        if passed >= rank:
            middle = 2 * upper / (_GROWTH + 1)
            return float(round(min(middle, digest["max"]), 3))
    return 0.0


def _upper(key: str) -> float:
    return 0.0 if key == "0ms" else _GROWTH ** int(key)
