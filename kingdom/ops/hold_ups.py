"""What may hold up any message, and the words in which it is told."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from kingdom.bus.due import LONGEST_DEFERRAL
from kingdom.bus.lease import Holder
from kingdom.models.ids import sequence_number
from kingdom.models.priority import NORMAL, RANKS
from kingdom.ops.listing import read_reason, seconds, wait_of
from kingdom.ops.relations import Found
from kingdom.ops.surroundings import Surroundings
from kingdom.store.room import disk_problem
from kingdom.topology import DEAD
from kingdom.words.spans import age


class Reason(NamedTuple):
    sentence: str
    remedy: str = ""


def hold_ups(around: Surroundings, one: Found, role: str) -> Iterator[Reason]:
    """Why `role`, whose turn it is, has not handled it."""
    yield from disk_hold_up(around)
    if not around.runs(role):
        yield Reason(f"{the(role)} is not running.", "Start it with: kingdom start")
    holder = Holder.parse(str(delivery_of(one).get("locked_by") or ""))
    if holder and holder.is_gone():
        yield Reason(f"{the(holder.worker)} died while it had it; it is taken up again.")
    elif holder:
        yield Reason(f"{the(holder.worker)} (pid {holder.pid}) is at it just now.")
    yield from _not_due(one, around.now)
    if one.stream == "tasks":
        yield from wishes(around, one)


def disk_hold_up(around: Surroundings) -> Iterator[Reason]:
    if problem := disk_problem(around.base):
        yield Reason(problem.sentence, problem.remedy)


def _not_due(one: Found, now: datetime) -> Iterator[Reason]:
    delivery = delivery_of(one)
    due = wait_of(one.content).until(now, LONGEST_DEFERRAL)
    tries = max(_number(delivery, "attempt_count"), _number(one.content, "retry_count"))
    said = [f"It was tried {_times(tries)} without success."] if tries else []
    said += [sentence(str(delivery["last_error_message"]))] if has_error(delivery) else []
    if due is not None and due > now:
        said.append(f"It is due again in {age((due - now).total_seconds())}.")
    if said:
        yield Reason(" ".join(said))


def wishes(around: Surroundings, one: Found) -> Iterator[Reason]:
    """What people asked for it."""
    if around.control.is_asked("cancel", one.id):
        yield Reason("It is being cancelled.")
    if around.is_frozen:
        yield Reason("The kingdom is frozen.", "Go on with: kingdom thaw")
    elif around.control.is_frozen(one.id):
        yield Reason("It is frozen.", f"Go on with: kingdom thaw {one.id}")


def misconfigured(around: Surroundings) -> Reason:
    problem = around.problem
    said = problem.sentence if problem else ""
    return Reason(f"The configuration is wrong: {said}", problem.remedy if problem else "")


def damage(one: Found) -> Iterator[Reason]:
    if not one.content and one.state != DEAD:
        remedy = f"See it with: kingdom queue show {one.id}"
        yield Reason("Its file cannot be read. If it stays so, it goes to dead/.", remedy)


def burial(one: Found) -> Iterator[Reason]:
    beside = read_reason(one.path)
    why_so = delivery_of(one).get("last_error_message") or beside.get("reason")
    again = f"Mend what is wrong, then: kingdom queue retry {one.id}"
    yield Reason(f"It was given up: {sentence(str(why_so or 'no reason is given'))}", again)


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"


def the(role: str) -> str:
    return role if role.startswith("gen-") else f"The {role}"


def sentence(said: str) -> str:
    line = " ".join(said.split())
    return line if not line or line[-1] in ".!?…" else f"{line}."


def order_of(one: Found) -> tuple[int, float, int, str]:
    rank = RANKS.get(text(one, "priority"), RANKS[NORMAL])
    return (rank, *age_of(one))


def age_of(one: Found) -> tuple[float, int, str]:
    return seconds(text(one, "created_at")) or 0.0, sequence_number(one.id), one.id


def delivery_of(one: Found) -> dict[str, Any]:
    found = one.content.get("delivery")
    return found if isinstance(found, dict) else {}


def text(one: Found | None, key: str) -> str:
    value = one.content.get(key) if one else None
    return value if isinstance(value, str) else ""


def has_error(delivery: Mapping[str, Any]) -> bool:
    return bool(delivery.get("last_error_message"))


def _number(content: Mapping[str, Any], key: str) -> int:
    value = content.get(key)
    return value if isinstance(value, int) else 0
