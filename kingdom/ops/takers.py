"""Whether anybody takes up what is sent, as the configuration stands at that moment."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence

from kingdom.errors import KingdomError
from kingdom.models.priority import EVENT_TYPES
from kingdom.ops.status_config import subscriptions_in_force
from kingdom.store.paths import BaseDir

_ALL_BELOW = ".*"
_SHOWN = 3


def nobody_takes(event_type: str, base: BaseDir, environment: Mapping[str, str], now: float) -> str:
    """What to say of a type that the king would discard; empty if somebody takes it up."""
    try:
        wanted = subscriptions_in_force(base, environment, now)
    except KingdomError:
        return ""  # the king goes by the last configuration that was right, and nobody else has it
    if _is_among(event_type, wanted) or _is_the_kings(event_type):
        return ""
    said = f"Sent, but no general takes up {event_type} now, so the king will discard it."
    near = ", ".join(_nearest(event_type, wanted))
    remedy = f"Taken up: {near}" if near else "See: kingdom general list"
    return f"{said} {remedy}"


def _is_among(event_type: str, wanted: Iterable[str]) -> bool:
    return any(
        event_type.startswith(one[:-1]) if one.endswith(_ALL_BELOW) else event_type == one
        for one in wanted
    )


def _is_the_kings(event_type: str) -> bool:
    """Handled by the king itself, or a person's words, which always get an answer."""
    from kingdom.king.chat import is_chat
    from kingdom.king.routing import is_own

    return is_own(event_type) or is_chat(event_type)


def _nearest(event_type: str, wanted: Sequence[str]) -> list[str]:
    known = [one for one in EVENT_TYPES if _is_among(one, wanted)]
    exact = [one for one in wanted if not one.endswith(_ALL_BELOW)]
    choice = dict.fromkeys([*exact, *known])
    return difflib.get_close_matches(event_type, choice, _SHOWN) or list(wanted)[:_SHOWN]
