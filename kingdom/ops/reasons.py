"""Why something happened, or has not happened yet: one sentence each, and what helps.

The gates are asked with the king's own functions, so what is said here is what the king decides.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from kingdom.bus.due import LONGEST_DEFERRAL
from kingdom.clock import Clock
from kingdom.errors import NotFound
from kingdom.king.admission import deferral, nobody_yet
from kingdom.king.routing import is_own
from kingdom.models.priority import NORMAL
from kingdom.ops.hold_ups import (
    Reason,
    age_of,
    burial,
    damage,
    delivery_of,
    hold_ups,
    misconfigured,
    order_of,
    sentence,
    text,
)
from kingdom.ops.listing import ENDED, wait_of
from kingdom.ops.relations import SOLDIER, Found, Journey, Line, files, journey_of
from kingdom.ops.surroundings import Surroundings
from kingdom.ops.task_reasons import KING, TaskReasons
from kingdom.ops.tracing import Moment, in_utc, trace
from kingdom.store.paths import BaseDir
from kingdom.topology import DEAD, HELD, PENDING

ENVOY = "envoy"
_SHOWN = 3


class Explanation(NamedTuple):
    about: str
    where: str
    reasons: list[Reason]


def why(
    base: BaseDir, typed: str, environment: Mapping[str, str], clock: Clock
) -> list[Explanation]:
    """About the thing of this id; of a trace id, about all that has not come to its end."""
    name = typed.rpartition("/")[2]
    everything = list(files(base))
    journey = journey_of(base, name, everything)
    around = Surroundings(base, environment, clock.now(), everything)
    teller = _Teller(around, journey)
    if SOLDIER.fullmatch(name):
        return teller.soldier(name)
    named = [one for one in journey.files if one.id == name]
    if named:
        return [teller.explain(_most_telling(named))]
    if not journey.files and not journey.lines:
        trace(base, typed)  # which says that nothing is known
    of_trace = [one for one in journey.files if one.content.get("trace_id") == name]
    if of_trace:
        open_ones = [one for one in of_trace if one.state not in (*ENDED, DEAD)]
        return [teller.explain(one) for one in open_ones or [_first(of_trace)]]
    return [_remembered(name, trace(base, typed).moments)]


def _most_telling(same_id: list[Found]) -> Found:
    """A task and its result share an id, and the task knows more."""
    return min(same_id, key=lambda one: (one.stream == "results", one.state == DEAD))


def _first(found: list[Found]) -> Found:
    order = ("events", "tasks", "messages", "results")
    return min(found, key=lambda one: (order.index(one.stream), text(one, "created_at")))


def _remembered(name: str, moments: list[Moment]) -> Explanation:
    own = [one for one in moments if one.about == name] or moments
    last = own[-1]
    said = f"The last the logs tell of it is from {in_utc(last.at)}: {last.text}."
    gone = Reason("Its file is no longer kept.", f"The whole story: kingdom trace {name}")
    return Explanation(name, "no longer kept", [gone, Reason(said)])


class _Teller:
    def __init__(self, around: Surroundings, journey: Journey) -> None:
        self._around = around
        self._journey = journey
        self._tasks = TaskReasons(around, journey)

    def explain(self, one: Found) -> Explanation:
        tellers = {"events": self._event, "tasks": self._tasks.task, "messages": self._message}
        teller = tellers.get(one.stream, self._tasks.result)
        told = list(damage(one)) or list(teller(one))
        return Explanation(one.id, f"{one.stream}/{one.state}", told)

    # Events

    def _event(self, one: Found) -> Iterator[Reason]:
        task = self._journey.of("tasks", text(one, "task_id"))
        if one.state == PENDING:
            yield from hold_ups(self._around, one, KING)
            yield from self._admission(one)
        elif one.state == DEAD:
            yield from burial(one)
        elif text(one, "reason"):
            yield Reason(sentence(text(one, "reason")))
        elif task:
            yield Reason(f"It became {task.id}, a task of {text(task, 'target_general')}.")
            yield from self._tasks.course(task)
        else:
            yield from self._without_task(one)

    def _without_task(self, one: Found) -> Iterator[Reason]:
        name = text(one, "task_id") or "a task"
        result = self._journey.of("results", name)
        yield Reason(f"It became {name}, which is no longer kept.")
        if result:
            yield from self._tasks.result(result)
        elif one.state == "completed":
            yield Reason(f"It ended: {text(one, 'status')}.")

    def _admission(self, one: Found) -> Iterator[Reason]:
        around, type_ = self._around, text(one, "type")
        if around.config is None or around.gates is None:
            yield misconfigured(around)
            return
        if is_own(type_):
            if delivery_of(one).get("next_retry_at"):  # then what it waits for is said
                return
            yield Reason("The king handles it itself, as soon as it looks.")
            return
        general = around.config.route(type_)
        if general is None and (held := nobody_yet(around.config.unusable)) is not None:
            yield Reason(held.reason, held.remedy)
            return
        if general is None:
            wanted = ", ".join(sorted(around.config.generals)) or "none is installed"
            yield Reason(
                f"No general subscribes to {type_}: the king will discard it.",
                f"Add it to `subscribes` in a manifest. Generals: {wanted}.",
            )
            return
        priority = text(one, "priority") or NORMAL
        held = deferral(around.gates, general.manifest, priority)
        if held:
            yield Reason(f"{held.reason}", held.remedy)
        ahead = [other for other in around.ahead_of(one) if order_of(other) < order_of(one)]
        if ahead:
            names = ", ".join(other.id for other in sorted(ahead, key=order_of)[:_SHOWN])
            yield Reason(f"{len(ahead)} come before it, by priority, then age: {names}.")
        due = wait_of(one.content).until(around.now, LONGEST_DEFERRAL)
        if not held and around.runs(KING) and (due is None or due <= around.now):
            yield Reason(f"Nothing holds it back: it goes to {general.name} next.")

    # Messages

    def _message(self, one: Found) -> Iterator[Reason]:
        if text(one, "task_id"):
            yield Reason(f"It is about {text(one, 'task_id')}.")
        if one.state == "sent" and text(one, "duplicate_of"):
            other = text(one, "duplicate_of")
            yield Reason(f"It was not shown: {other} had brought the same report.")
        elif one.state == "sent":
            moment = in_utc(str(delivery_of(one).get("processed_at", "")))
            yield Reason(f"It was shown in {text(one, 'channel')} at {moment}.")
        elif one.state == DEAD:
            yield from burial(one)
        elif one.state == HELD:
            why = str(delivery_of(one).get("last_error_message", ""))
            yield Reason(
                f"It is held, since it may hold a secret. {why}".strip(),
                f"Send it: kingdom release {one.id}; or never: kingdom queue drop {one.id}",
            )
        else:
            yield from hold_ups(self._around, one, ENVOY)
            task = text(one, "task_id")
            ahead = [
                other
                for other in self._around.ahead_of(one)
                if task and text(other, "task_id") == task and age_of(other) < age_of(one)
            ]
            if ahead:
                first = min(ahead, key=age_of)
                yield Reason(
                    f"{first.id} of the same task has to be shown before it.",
                    f"See why that waits: kingdom why {first.id}",
                )
            elif self._around.runs(ENVOY) and not delivery_of(one).get("next_retry_at"):
                yield Reason("Nothing holds it back: it is shown next.")

    # Soldiers

    def soldier(self, name: str) -> list[Explanation]:
        """It, and the task it was at."""
        entry = next((e for e in self._around.soldiers() if e.get("id") == name), None)
        tasks = [one for one in self._journey.files if one.stream == "tasks"]
        lines = self._journey.about(name)
        if entry is None and not lines and not tasks:
            raise NotFound(
                f"Nothing is known of {name}.", remedy="See who is at work: kingdom status"
            )
        task_id = str(entry.get("task_id")) if entry else _task_named(lines, tasks)
        told = [Reason(f"It was set to work on {task_id}.")]
        told += [Reason(f"It ended: {line.data['status']}.") for line in lines if _is_end(line)]
        task = self._journey.of("tasks", task_id)
        itself = Explanation(name, "at work" if entry else "ended", told)
        return [itself, self.explain(task)] if task else [itself]


def _is_end(line: Line) -> bool:
    return line.type == "soldier.completed" and isinstance(line.data.get("status"), str)


def _task_named(lines: list[Line], tasks: list[Found]) -> str:
    named = [line.data["task_id"] for line in lines if isinstance(line.data.get("task_id"), str)]
    return str(named[0]) if named else tasks[0].id
