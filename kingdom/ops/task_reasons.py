"""Why a task is where it is, and what its result means."""

from __future__ import annotations

from collections.abc import Iterator

from kingdom.failures import FAILURES, Failure
from kingdom.general import purse
from kingdom.ops.hold_ups import (
    Reason,
    burial,
    delivery_of,
    disk_hold_up,
    hold_ups,
    misconfigured,
    sentence,
    text,
    wishes,
)
from kingdom.ops.listing import seconds
from kingdom.ops.relations import TASK_LOG, Found, Journey
from kingdom.ops.stopping import is_running
from kingdom.ops.surroundings import Surroundings
from kingdom.ops.tracing import in_utc
from kingdom.ops.whereabouts import last_soldier
from kingdom.runtime import held_actions
from kingdom.settings.loading import Settings
from kingdom.store import disk
from kingdom.store.spending import read_day
from kingdom.topology import DEAD, PENDING
from kingdom.words.harmless import at_a_glance
from kingdom.words.spans import age

KING = "king"
CANCELLED = "cancelled"  # the same word for the task and for the failure
STARTS = "Start it with: kingdom start"
_CAME = {
    "resume": "to go on with an answer to",
    "approval": "to go on with an answer to",
    "release": "to do what was held of",
}


class TaskReasons:
    def __init__(self, around: Surroundings, journey: Journey) -> None:
        self._around = around
        self._journey = journey

    def task(self, one: Found) -> Iterator[Reason]:
        yield from self._cause(one)
        yield from self.course(one)

    def course(self, one: Found) -> Iterator[Reason]:
        """Without what it was made for."""
        soldier = last_soldier(self._around.base, one.id)
        lives = bool(soldier) and is_running(self._around.base, soldier)
        if one.state == PENDING and lives:
            yield from self._back_in_pending(one, soldier)
        elif one.state == PENDING:
            yield from hold_ups(self._around, one, text(one, "target_general"))
            yield from self._soldiers(one)
        elif one.state == "in_progress":
            yield from self._at_work(one)
        else:
            yield from burial(one) if one.state == DEAD else self._ended(one)
            if lives:
                yield self._still_running(one, soldier)

    def _ended(self, one: Found) -> Iterator[Reason]:
        result = self._journey.of("results", one.id)
        held = held_actions.read(self._around.base, one.id)
        if held is not None and held.reason:
            yield Reason(
                f"Not all of it was done, since it may hold a secret. {held.reason}",
                f"Do it as it is: kingdom release {one.id}; or never: kingdom queue drop {one.id}",
            )
        if result:
            yield from self.result(result)
        elif not _was_moved_by_hand(one):
            yield _without_result(one)
        else:
            yield Reason("Someone moved its file here by hand, and nobody has reported on it.")
            yield from self._to_be_closed()

    def _to_be_closed(self) -> Iterator[Reason]:
        if self._around.runs(KING):
            yield Reason("The king ends it in a moment, and says so in its thread.")
        else:
            yield Reason("The king, who would end it, is not running.", STARTS)

    def _back_in_pending(self, one: Found, soldier: str) -> Iterator[Reason]:
        general = text(one, "target_general")
        if not delivery_of(one).get("locked_by"):
            yield Reason(f"{soldier}, which was at it before, is being ended; then it begins anew.")
            return
        yield Reason(f"{soldier} still runs: someone moved the file here by hand meanwhile.")
        if self._around.runs(general):
            yield Reason(f"{general} puts it back, and goes on with that soldier.")
        else:
            yield Reason(f"{general}, which would go on with that soldier, is not running.", STARTS)

    def _still_running(self, one: Found, soldier: str) -> Reason:
        general = text(one, "target_general")
        if self._around.runs(general):
            return Reason(f"{soldier} still runs, and is being ended by {general}.")
        return Reason(f"{soldier} still runs, until {general} is back and ends it.", STARTS)

    def _cause(self, one: Found) -> Iterator[Reason]:
        event_id, general = text(one, "event_id"), text(one, "target_general")
        event = self._journey.of("events", event_id)
        if event_id.startswith("schedule-"):
            yield Reason(f"It was made for {general} by its schedule {event_id[9:]}.")
        elif text(one, "original_task_id"):
            came = _CAME.get(text(one, "type"), "to repeat")
            original = text(one, "original_task_id")
            yield Reason(f"It was made for {general} {came} {original} (by {event_id}).")
        else:
            what = text(event, "type") if event else text(one, "type")
            yield Reason(f"It was made for {general} because of {event_id} ({what}).")

    def _soldiers(self, one: Found) -> Iterator[Reason]:
        around, general = self._around, text(one, "target_general")
        if around.config is None or around.gates is None:
            yield misconfigured(around)
            return
        package = around.config.generals.get(general)
        if package is None:
            yield Reason(
                f"{general} is not installed, so nobody takes it up.",
                f"Put its package into config/generals/{general}, or: kingdom cancel {one.id}",
            )
            return
        if not around.gates.engine.available:
            yield Reason(around.gates.engine.reason, around.gates.engine.remedy)
        yield from self._money(general, around.config.settings)
        at_work = [str(entry.get("general")) for entry in around.soldiers()]
        own, limit = at_work.count(general), package.manifest.max_soldiers
        if limit is not None and own >= limit:
            yield Reason(f"All soldiers of {general} are at work ({limit}).", "It waits its turn.")
        elif len(at_work) >= around.gates.max_soldiers:
            yield Reason(f"All soldiers are at work ({len(at_work)}).", "It waits its turn.")

    def _money(self, general: str, settings: Settings) -> Iterator[Reason]:
        today = self._around.now.astimezone(settings.system.zone).date()
        day = read_day(self._around.base, today)
        said = purse.shortage(settings.chamberlain.token_limits, day, general)
        if said:
            yield Reason(said, f"{purse.REMEDY} See: kingdom budget")

    def _at_work(self, one: Found) -> Iterator[Reason]:
        around, general = self._around, text(one, "target_general")
        entry = next((e for e in around.soldiers() if e.get("task_id") == one.id), None)
        yield from wishes(around, one)
        yield from disk_hold_up(around)
        if not around.runs(general):
            soldier = str(entry.get("id")) if entry else ""
            if not is_running(around.base, soldier):
                sentence = f"{general} is not running, and neither is a soldier of it."
                yield Reason(sentence, "It is taken up again after: kingdom start")
                return
            yield Reason(
                f"{general} is not running: its soldier goes on, and is harvested later.",
                "Start it with: kingdom start",
            )
        if entry is None:
            yield Reason("Its soldier is being prepared, or what it did is being judged.")
            return
        soldier, at = str(entry.get("id")), str(entry.get("started_at"))
        beat = disk.facts_of(around.base.path("state", "results", f"{one.id}-heartbeat"))
        pulse = "" if beat is None else f", last sign of life {self._ago(beat.st_mtime)} ago"
        since = self._ago(seconds(at) or around.now.timestamp())
        said = f"{soldier} has been at it for {since} (attempt {entry.get('attempt', 1)}){pulse}."
        yield Reason(said, f"Look over its shoulder: kingdom attach {soldier}")
        if self._was_put_back(one, soldier):
            yield Reason(
                f"Someone moved its file to {PENDING}/ by hand; {general} put it back, for one "
                "soldier at a time may be at it.",
                f"To begin anew: kingdom cancel {one.id}, then kingdom retry {one.id}",
            )

    def _was_put_back(self, one: Found, soldier: str) -> bool:
        """During this attempt."""
        lines = (line for line in self._journey.lines if line.type == TASK_LOG)
        steps = [line.data for line in lines if line.data.get("soldier_id") == soldier]
        return any(
            (step["task_id"], step["step"]) == (one.id, "put_back")
            and f"found_in={PENDING}" in step["facts"]
            for step in steps
        )

    # Results

    def result(self, one: Found) -> Iterator[Reason]:
        status, code = text(one, "status"), text(one, "error_code")
        if status == "needs_human":
            yield from self._question(one)
            return
        yield from _outcome(one, FAILURES.get(code))
        if one.state == PENDING:
            yield from hold_ups(self._around, one, KING)

    def _question(self, one: Found) -> Iterator[Reason]:
        asked = f"It asked: {sentence(at_a_glance(text(one, 'question')))}"
        answer = self._journey.of("events", text(one, "answered_by"))
        if answer:
            said, goes_on = _settled(answer)
            yield Reason(f"{asked} {said}")
            successor = self._journey.of("tasks", text(answer, "task_id"))
            if successor:
                yield Reason(f"{successor.id} {goes_on}.")
                yield from self.course(successor)
        elif text(one, "answered_by"):
            yield Reason(f"{asked} {_answered_by(text(one, 'answered_by'))}")
        else:
            yield Reason(asked, f'Answer it with: kingdom answer {one.id} "..."')

    def _ago(self, moment: float) -> str:
        return age(self._around.now.timestamp() - moment)


def _outcome(one: Found, failure: Failure | None) -> Iterator[Reason]:
    said = text(one, "error") or text(one, "reason") or text(one, "summary")
    ended = f"It ended: {text(one, 'status')}. {sentence(said)}".strip()
    if failure is None:
        yield Reason(ended)
        return
    remedy = failure.remedy.replace("TASK", one.id)
    soldier = _within(one, "metrics", "soldier_id")
    remedy = remedy.replace("SOLDIER", soldier) if soldier else remedy
    explained = "" if failure.sentence in ended else f" {failure.sentence}"
    yield Reason(f"{ended}{explained}", remedy)


def _without_result(one: Found) -> Reason:
    status = text(one, "status")
    ended, kept = f"It ended: {status}.", "Its result is no longer kept."
    if status != CANCELLED:
        return Reason(f"{ended} {kept}")
    failure = FAILURES[CANCELLED]
    return Reason(f"{ended} {failure.sentence} {kept}", failure.remedy.replace("TASK", one.id))


def _was_moved_by_hand(one: Found) -> bool:
    """Where ended ones lie, and no verb of the bus brought it there: those take the lease away and
    note when that was."""
    delivery = delivery_of(one)
    return bool(delivery.get("locked_by")) or not delivery.get("processed_at")


def _settled(answer: Found) -> tuple[str, str]:
    """How a question came to its end, and what the next task does then."""
    words, until = _within(answer, "payload", "text"), _within(answer, "payload", "until")
    if until:
        said = f"Nobody answered it until {in_utc(until)}, so its default was taken:"
        return f"{said} {sentence(words)}", "goes on with that"
    if _within(answer, "payload", "command") == "retry":
        return f"Nobody answered it: it was tried again ({answer.id}).", "tries it again"
    said = f"It was answered: {sentence(words)}" if words.strip() else _answered_by(answer.id)
    return said, "goes on with that"


def _answered_by(event_id: str) -> str:
    return f"It was answered ({event_id})."


def _within(one: Found, part: str, key: str) -> str:
    inner = one.content.get(part)
    value = inner.get(key) if isinstance(inner, dict) else None
    return value if isinstance(value, str) else ""
