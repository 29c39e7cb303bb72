"""What each call of the model uses, and whether the next one may be made.

Before a call, what it may cost is reserved; afterwards what it did cost counts instead. Both lie in
`state/soldiers/{soldier}.spent`, and all soldiers look and reserve under one lock, so that together
they stay within the day's budget. A crash leaves a reservation, which counts until the attempt's
own line is in `state/spending/`. A call that is refused leaves `.stopped`, with the limit's name.
So does one that was answered too often in a row already, word for word the same.
A usage limit that the model's side answers with closes the engine at once, for all soldiers.

Prices are those of the model's list, and the dearest of them for a model that is not on it. They
decide when to stop; what an attempt cost is what its engine says.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from kingdom.clock import SystemClock
from kingdom.engines.claude.limits import is_limit, reset_in
from kingdom.engines.same_call import SAME_CALL
from kingdom.engines.sandbox.bubblewrap import STOPPED
from kingdom.engines.standing import LIMIT, Standings
from kingdom.failures import FAILURES
from kingdom.store import disk, spending
from kingdom.store.locks import Lock
from kingdom.store.paths import BaseDir
from kingdom.store.spending import NOTHING, Day
from kingdom.store.state import read_json, write_json

TASK, TOKENS, GENERAL, DAY = "task", "tokens", "general", "day"
SPENT = ".spent"
_LOCK = "spending.lock"
_MILLION = 1_000_000
_BYTES_PER_TOKEN = 4
_USUAL_ANSWER = 2_000  # tokens; most that are asked for are never said
# Dollars for a million tokens: said to the model, said by it. The first that fits.
_PRICES = (
    ("haiku-3", "0.8", "4"),
    ("3-5-haiku", "0.8", "4"),
    ("haiku", "1", "5"),
    ("sonnet", "3", "15"),
    ("opus-4-1", "15", "75"),
    ("opus-4-2025", "15", "75"),
    ("3-opus", "15", "75"),
    ("opus", "5", "25"),
    ("", "15", "75"),
)
_LARGEST_ANSWER_KEPT = 4 * 1024 * 1024
_LARGEST_ERROR, _LONGEST_SENTENCE = 16 * 1024, 300
_COUNTED = ("input_tokens", "output_tokens", "cache_creation_input_tokens")
_CACHE_READ, _CACHE_WRITE = Decimal("0.1"), Decimal("1.25")


def cost_of(model: str, usage: Mapping[str, int]) -> Decimal:
    said_to, said_by = _price(model)
    fresh, kept = usage.get("input_tokens", 0), usage.get("cache_read_input_tokens", 0)
    written = usage.get("cache_creation_input_tokens", 0)
    total = said_to * (fresh + kept * _CACHE_READ + written * _CACHE_WRITE)
    return (total + said_by * usage.get("output_tokens", 0)) / _MILLION


def _price(model: str) -> tuple[Decimal, Decimal]:
    return next((Decimal(to), Decimal(by)) for name, to, by in _PRICES if name in model)


class Meter:
    """`limits`: `usd`, `tokens` and `same_call` of this attempt, and `day`, `day_usd`,
    `general_usd`; each may be missing."""

    def __init__(
        self,
        base: BaseDir,
        general: str,
        soldier: str,
        limits: Mapping[str, Any],
        engine: str = "",
    ) -> None:
        self._base = base
        self._engine = engine
        self._soldier = soldier
        self._general = general
        self._own = {TASK: spending.price(limits.get("usd")), TOKENS: limits.get("tokens")}
        self._shared = {
            DAY: spending.price(limits.get("day_usd")),
            GENERAL: spending.price(limits.get("general_usd")),
        }
        self._day = Day(base, str(limits.get("day") or ""))
        self._lock = Lock(base.path("state", _LOCK))
        self._here = threading.Lock()
        self._spent, self._reserved, self._tokens = NOTHING, NOTHING, 0
        self._same_call = limits.get(SAME_CALL)
        self._last, self._times = b"", 0  # what was answered last, and how often in a row

    def begin(self, path: str, body: bytes) -> Call:
        model, reserve = _estimate(body) if _asks_model(path) else ("", None)
        if reserve is None:
            return Call(None, "", NOTHING)
        digest = hashlib.sha256(body).digest()
        with self._here, self._lock:
            limit = self._repeats(digest) or self._exceeded(reserve)
            if not limit:
                self._reserved += reserve
                self._write()
        if limit:
            disk.replace(self._path(STOPPED), limit.encode(), sync=False)
            return Call(None, model, NOTHING, f"The limit of the {limit} does not allow this call.")
        return Call(self, model, reserve, digest=digest)

    def _repeats(self, digest: bytes) -> str:
        if self._same_call is None or digest != self._last:
            return ""
        return SAME_CALL if self._times >= self._same_call else ""

    def note_answer(self, digest: bytes) -> None:
        """A call that failed is tried again, and rightly so; this one was answered."""
        with self._here:
            self._times = self._times + 1 if digest == self._last else 1
            self._last = digest

    def _path(self, suffix: str) -> str:
        return os.path.join(self._base.soldiers, self._soldier + suffix)

    def _exceeded(self, reserve: Decimal) -> str:
        own = self._spent + self._reserved + reserve
        usd, tokens = self._own[TASK], self._own[TOKENS]
        if usd is not None and own > usd:
            return TASK
        if tokens is not None and self._tokens >= tokens:
            return TOKENS
        if all(limit is None for limit in self._shared.values()):
            return ""
        self._day.refresh()
        others = list(self._others())
        for name, general in ((DAY, ""), (GENERAL, self._general)):
            limit = self._shared[name]
            live = sum((usd for whose, usd in others if whose == general or not general), NOTHING)
            if limit is not None and self._day.cost(general) + live + own > limit:
                return name
        return ""

    def _others(self) -> Iterator[tuple[str, Decimal]]:
        """General, and what its soldier has spent or may be spending; those that have ended are
        in the day already."""
        ended = {one.soldier_id for one in self._day.attempts} | {self._soldier}
        for name in disk.names(self._base.soldiers):
            soldier, is_one, _ = name.partition(SPENT)
            raw = read_json(os.path.join(self._base.soldiers, name)) if is_one else None
            if isinstance(raw, dict) and soldier not in ended and raw.get("day") == self._day.date:
                parts = (spending.price(raw.get(key)) for key in ("spent", "reserved"))
                yield str(raw.get("general")), sum((one or NOTHING for one in parts), NOTHING)

    def settle(self, reserve: Decimal, cost: Decimal, tokens: int) -> None:
        """A call has ended."""
        with self._here, self._lock:
            self._reserved -= reserve
            self._spent += cost
            self._tokens += tokens
            self._write()

    def note_usage_limit(self, sentence: str, until: datetime | None) -> None:
        if self._engine:
            reason = f"{FAILURES[LIMIT].sentence} {sentence}"
            now = SystemClock().now()
            Standings(self._base).note_fault(self._engine, LIMIT, reason, until, now, told=False)

    def _write(self) -> None:
        told = {"general": self._general, "day": self._day.date, "tokens": self._tokens}
        money = {"spent": spending.spell(self._spent), "reserved": spending.spell(self._reserved)}
        write_json(self._path(SPENT), told | money, sync=False)


class Call:
    """One call, between the request and the end of its answer."""

    status = 402

    def __init__(
        self,
        meter: Meter | None,
        model: str,
        reserve: Decimal,
        refusal: str = "",
        digest: bytes = b"",
    ) -> None:
        self.refusal = refusal  # why it may not be made
        self._meter = meter
        self._model = model
        self._reserve = reserve
        self._digest = digest
        self._failed = True  # until it is answered
        self._usage: dict[str, int] = {}
        self._rest = b""
        self._limited_by: Mapping[str, str] | None = None  # the headers of a 429

    def answered(self, status: int, headers: Mapping[str, str]) -> None:
        self._failed = status >= 400
        self._limited_by = headers if status == 429 else None
        if self._meter is not None and not self._failed:
            self._meter.note_answer(self._digest)

    def read(self, part: bytes) -> None:
        """A part of the answer, as it passes."""
        if self._limited_by is not None and len(self._rest) < _LARGEST_ERROR:
            self._rest += part
        if self._meter is None or self._failed:
            return
        *lines, self._rest = (self._rest + part).split(b"\n")
        for line in lines:
            self._take(line)
        if len(self._rest) > _LARGEST_ANSWER_KEPT:
            self._rest = b""

    def _take(self, line: bytes) -> None:
        if b'"usage"' not in line:
            return
        try:
            said = json.loads(line.removeprefix(b"data:"))
        except (ValueError, RecursionError):
            return
        for place in (said, _part(said, "message"), _part(said, "response")):
            for name, many in _part(place, "usage").items():
                if type(many) is int:
                    self._usage[name] = max(self._usage.get(name, 0), many)

    def end(self) -> None:
        """An answer that was cut off counts as what was reserved for it."""
        if self._meter is None:
            return
        if self._limited_by is not None:
            met = usage_limit(self._rest, self._limited_by, SystemClock().now())
            if met is not None:
                self._meter.note_usage_limit(*met)
        self._take(self._rest)
        used = sum(self._usage.get(name, 0) for name in _COUNTED)
        cost = cost_of(self._model, self._usage) if self._usage else self._reserve
        self._meter.settle(self._reserve, NOTHING if self._failed else cost, used)


def usage_limit(
    body: bytes, headers: Mapping[str, str], now: datetime
) -> tuple[str, datetime | None] | None:
    """What a 429 says of a usage limit, and when it ends; None for a mere "slower, please"."""
    try:
        error = _part(json.loads(body), "error")
    except (ValueError, RecursionError):
        error = {}
    sentence, given = str(error.get("message") or "")[:_LONGEST_SENTENCE], dict(headers)
    is_one = (
        given.get("anthropic-ratelimit-unified-status") == "rejected"
        or error.get("type") == "usage_limit_reached"
        or is_limit(sentence)
    )
    if not is_one:
        return None
    named = given.get("anthropic-ratelimit-unified-reset") or error.get("resets_at")
    try:
        return sentence, datetime.fromtimestamp(float(named or ""), UTC)
    except (ValueError, TypeError, OverflowError, OSError):
        return sentence, reset_in(sentence, now)


def _part(value: Any, name: str) -> dict[str, Any]:
    """An object within an object; empty if it is none."""
    found = value.get(name) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}


def _asks_model(path: str) -> bool:
    return path.endswith(("/messages", "/responses"))


def _estimate(body: bytes) -> tuple[str, Decimal]:
    """The model, and what the call may cost."""
    try:
        said = json.loads(body)
    except (ValueError, RecursionError):
        said = {}
    said = said if isinstance(said, dict) else {}
    most = said.get("max_tokens")
    answer = min(most, _USUAL_ANSWER) if type(most) is int and most > 0 else _USUAL_ANSWER
    model = str(said.get("model") or "")
    usage = {"input_tokens": len(body) // _BYTES_PER_TOKEN, "output_tokens": answer}
    return model, cost_of(model, usage)
