"""The general's side of the outbound gate: whether an action may be done, and why not.

First it is scanned, then, if work of its trust needs that, a person approves it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kingdom.errors import NeverWorks
from kingdom.general.actions import approval
from kingdom.general.actions.orders import Order
from kingdom.general.checkouts.outgoing import Outgoing
from kingdom.models.action import Kind
from kingdom.models.fields import Trust
from kingdom.outbound.diffs import Diff
from kingdom.outbound.needles import Needles
from kingdom.outbound.scan import Finding, Known, Text, digest, nothing_known, scan, sentence
from kingdom.runtime.held_actions import Held

PUSHES = ("push", "pull_request")


class HeldBack(NeverWorks):
    """It may hold a secret, or has to be approved: a person decides."""

    code = "outbound_held"

    def __init__(self, held: Held) -> None:
        super().__init__(held.reason)
        self.held = held


@dataclass(frozen=True)
class OutboundGate:
    """`outgoing` is what would be pushed; `released` has what a person let pass, by an order's key;
    `known`, of strings, those that the task was given or that its repository had. `approve` are the
    kinds that a person approves first; `approved` has what one did, as `released`."""

    needles: Callable[[], Needles] = lambda: Needles({})
    trust: Trust = "member"
    outgoing: Callable[[], Outgoing] | None = None
    known: Known = nothing_known
    released: Mapping[str, str] | None = None
    approve: frozenset[Kind] = frozenset()
    approved: Mapping[str, str] | None = None

    def check(self, order: Order) -> None:
        """Raises `HeldBack`, unless it may be done."""
        pushed = self.outgoing() if self.outgoing and order.kind in PUSHES else None
        exactly = digest({"action": order.action.model_dump(), "commit": pushed and pushed.sha})
        if (self.released or {}).get(order.key) == exactly:
            return
        found = self._findings(order, pushed)
        if found:
            raise HeldBack(Held(order.key, sentence(found), exactly))
        if order.kind in self.approve and (self.approved or {}).get(order.key) != exactly:
            shown = approval.shown(order, pushed)
            raise HeldBack(Held(order.key, approval.REASON, exactly, shown))

    def lets_pass_as_it_is(self, order: Order) -> bool:
        """Whether a person did: then nothing in it is masked."""
        return order.key in (self.released or {})

    def _findings(self, order: Order, pushed: Outgoing | None) -> list[Finding]:
        needles = self.needles()
        words = list(_texts(order.action.model_dump()))
        found = scan(words, needles, self.trust, self.known)
        if pushed is None:
            return found
        diff = Diff(pushed.log)
        texts = [Text("the commits", pushed.commits), *diff.texts, *_large(pushed)]

        def known(strings: frozenset[str]) -> frozenset[str]:
            old = frozenset(one for one in strings if one in diff.old)
            return old | pushed.known(strings - old) | self.known(strings - old)

        return found + scan(texts, needles, self.trust, known)


def _texts(fields: Mapping[str, Any]) -> Iterator[Text]:
    for name, value in fields.items():
        if isinstance(value, str):
            yield Text(name, value)
        elif isinstance(value, list):
            for number, one in enumerate(value, 1):
                for text in _texts(one if isinstance(one, Mapping) else {"": one}):
                    yield Text(f"{name} {number}, {text.place}", text.text)


def _large(pushed: Outgoing) -> Iterator[Text]:
    for name, content in pushed.large:
        yield Text(f"the large file {name[:12]}", content, judges_random=False)
