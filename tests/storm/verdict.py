"""What faults have left behind: findings by kind, each a sentence. None of any kind is right."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from tests.storm.faults import Scene
from tests.storm.kingdom import ANSWER, Land
from tests.storm.reckoning import names
from tests.storm.storm import send
from tests.support.processes import told
from tests.support.waiting import eventually, let_pass

KINDS = ("lost", "doubled", "stuck", "leaked", "broken", "grown")
OPEN = ("events/pending", "events/dispatched", "tasks/pending", "tasks/in_progress")
OPEN_MESSAGES = ("messages/pending", "messages/held")
PATIENCE = 180.0
DROPPED = "dropped"
_BROKE = ("duty.broke", "handling.failed", "Traceback")
# Memory: what is remembered on purpose (moments, what the day cost) takes up to 5 KiB an event,
# until its room is full. A leak takes more, and never stops.
WARM_UP, ROUNDS, PER_ROUND = 30, 4, 25
MOST_KIB = 768
MOST_PROCESSES = 16  # at once: roles, operators and what they start
LATER = 500 * 86_400  # seconds: everything has had its time

Found = Iterable[tuple[str, str]]  # kind, sentence


class Findings:
    def __init__(self) -> None:
        self.by_kind: dict[str, list[str]] = {kind: [] for kind in KINDS}

    def __len__(self) -> int:
        return sum(map(len, self.by_kind.values()))

    def add(self, found: Found) -> None:
        for kind, sentence in found:
            self.by_kind[kind].append(sentence)


class Lying(NamedTuple):
    state: str
    content: dict[str, Any]

    @property
    def code(self) -> str:
        return str(self.content.get("delivery", {}).get("last_error_code"))


def settle(scene: Scene) -> list[str]:
    """Until nothing is under way; what still is when patience ends."""
    land = scene.land

    def is_calm() -> bool:
        for name in names(land, "queue/messages/held"):
            land.say("release", name.removesuffix(".json"), check=False)
        if _open(land):
            return False
        asked = json.loads(land.say("ask", "--json").out)
        for one in asked:
            land.say("answer", one["task_id"], ANSWER, check=False)
        return not asked

    land.hurry()

    _thaw(land)
    try:
        eventually(is_calm, seconds=PATIENCE)
    except AssertionError:
        return [_why(land, place, name) for place, name in _open(land)] or ["questions stay open"]
    return []


def _why(land: Land, place: str, name: str) -> str:
    said = land.say("why", name.removesuffix(".json"), check=False)
    return f"{place}/{name}: {' '.join((said.out + said.err).split())}"


def _thaw(land: Land) -> None:
    land.say("thaw")
    for place in ("tasks/pending", "tasks/in_progress"):
        for name in names(land, f"queue/{place}"):
            land.say("thaw", name.removesuffix(".json"), check=False)


def _open(land: Land) -> list[tuple[str, str]]:
    return [
        (place, name) for place in (*OPEN, *OPEN_MESSAGES) for name in names(land, f"queue/{place}")
    ]


def judge_files(scene: Scene) -> Iterator[tuple[str, str]]:
    land = scene.land
    events, tasks = _all(land, "queue/events"), _all(land, "queue/tasks")
    results = _all(land, "state/results") | _all(land, "state", only="results")
    for stream, found in (("events", events), ("tasks", tasks)):
        for id_, copies in found.items():
            if len(copies) > 1:
                yield "doubled", f"{stream}/{id_} lies in {[one.state for one in copies]}"
    for id_ in scene.sent:
        yield from _judge_event(id_, events.get(id_, []))
    made = Counter(
        one.content["task_id"]
        for copies in events.values()
        for one in copies
        if one.content.get("task_id")
    )
    for id_ in made.keys() | tasks.keys():
        if made[id_] != 1:
            yield "doubled" if id_ in tasks else "lost", f"{id_} is named by {made[id_]} events"
        elif id_ not in tasks:
            yield "lost", f"{id_} is gone"
        else:
            yield from _judge_task(id_, tasks[id_][0], results)
    yield from _judge_messages(land)
    for line in land.runs.read_text().splitlines():
        if line.startswith("twice"):
            yield "doubled", f"two soldiers at once: {line}"


def _judge_event(id_: str, copies: list[Lying]) -> Iterator[tuple[str, str]]:
    if not copies:
        yield "lost", f"{id_} is gone"
    for one in copies:
        if one.state == "dead" and one.code != DROPPED:
            yield "lost", f"events/dead/{id_}: {one.code}: {_reason(one)}"


def _judge_task(id_: str, one: Lying, results: dict[str, Any]) -> Iterator[tuple[str, str]]:
    if one.state == "dead" and one.code != DROPPED:
        yield "lost", f"tasks/dead/{id_}: {one.code}: {_reason(one)}"
    if one.state == "completed" and id_ not in results:
        yield "lost", f"{id_} has no result"


def _judge_messages(land: Land) -> Iterator[tuple[str, str]]:
    messages = _all(land, "queue/messages")
    said = Counter(re.findall(r"msg-\d+-\d+", Path(land.base.path("logs/console.log")).read_text()))
    opened: Counter[str] = Counter()
    for id_, (one, *more) in messages.items():
        if more:
            yield "doubled", f"messages/{id_} lies in {[one.state, *(two.state for two in more)]}"
        if one.state == "dead" and one.code != DROPPED:
            yield "lost", f"messages/dead/{id_}: {one.code}: {_reason(one)}"
        if one.state == "sent" and not said[id_]:
            yield "lost", f"{id_} was never said"
        if said[id_] > 1:
            yield "doubled", f"{id_} was said {said[id_]} times"
        if one.content.get("type") == "thread_start" and one.content.get("task_id"):
            opened[one.content["task_id"]] += 1
    for task, times in opened.items():
        if times > 1:
            yield "doubled", f"{times} threads were opened for {task}"


def judge_logs(scene: Scene) -> Iterator[tuple[str, str]]:
    logs = Path(scene.land.base.path("logs"))
    for path in logs.glob("system.log*"):
        for line in path.read_text("utf-8", "replace").splitlines():
            if any(word in line for word in _BROKE):
                yield "broken", line
    if scene.complaints.exists():
        for line in scene.complaints.read_text().splitlines():
            yield "broken", line


def judge_leftovers(land: Land) -> Iterator[tuple[str, str]]:
    """After a stop."""
    try:
        eventually(lambda: not land.processes(), seconds=30)
    except AssertionError:
        for pid in land.processes():
            yield "leaked", f"process {pid}: {told(pid)[:200]!r}"
    if (held := json.loads(Path(land.base.path("state/sessions.json")).read_text())) != []:
        yield "leaked", f"state/sessions.json: {held}"
    for path in Path(land.base.root).rglob(".tmp-*"):
        yield "leaked", str(path)
    control = Path(land.base.path("state/control"))
    for path in control.rglob("*") if control.is_dir() else ():
        if path.is_file():
            yield "leaked", f"{path} after all tasks have ended"
    said = land.say("fsck", check=False)
    if said.code != 0:
        yield "leaked", f"fsck: {said.out}{said.err}"


# Growth


class Size(NamedTuple):
    kib: int
    descriptors: int


def judge_growth(scene: Scene) -> Iterator[tuple[str, str]]:
    """The same processes, with work and without faults."""
    before = _sizes_after(scene, WARM_UP)
    sizes = [_sizes_after(scene, PER_ROUND) for _ in range(ROUNDS)]
    for role, first in before.items():
        last = sizes[-1].get(role)
        if last is None:
            yield "broken", f"{role} is gone, without a fault"
            continue
        # Growth that never ends shows in each round.
        steps = [one[role].kib for one in (before, *sizes)]
        scene.counted[f"KiB more in {role}"] = last.kib - first.kib
        if last.kib - first.kib > MOST_KIB and all(a < b for a, b in pairwise(steps)):
            yield "grown", f"{role}: {steps} KiB, after {PER_ROUND} events each"
        if last.descriptors > first.descriptors:
            yield "grown", f"{role}: {first.descriptors} descriptors, then {last.descriptors}"


def work(scene: Scene, events: int) -> None:
    send(scene.land, [scene.new_event(("plain",)) for _ in range(events)])
    eventually(lambda: not _open(scene.land), "all is done", PATIENCE)


def _sizes_after(scene: Scene, events: int) -> dict[str, Size]:
    work(scene, events)
    let_pass(1.0)  # in which it comes to rest
    roles = {role: scene.land.pid_of(role) for role in (*scene.land.all_roles(), "warden")}
    return {role: _size(pid) for role, pid in roles.items() if pid is not None}


def _size(pid: int) -> Size:
    """Of rest: the least of several looks."""
    kib, descriptors = [], []
    for _ in range(5):
        rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
        kib.append(sum(int(n) for n in re.findall(r"Private_\w+:\s+(\d+)", rollup)))
        descriptors.append(len(list(Path(f"/proc/{pid}/fd").iterdir())))
        let_pass(0.1)
    return Size(min(kib), min(descriptors))


def state_after_retention(scene: Scene) -> Counter[str]:
    """The files in `state/` when all that happened has had its time; numbers are left out."""
    if scene.clock is None:
        return Counter()
    scene.clock.shift(LATER)
    scene.land.say("clean", "--clock-is-right")
    scene.clock.shift(0)
    root = Path(scene.land.base.path("state"))
    found = (str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())
    return Counter(re.sub(r"\d+", "N", name) for name in found)


def judge_state(before: Counter[str], after: Counter[str]) -> Iterator[tuple[str, str]]:
    """A file that there is once does not grow in number; a process has a journal."""
    for name, times in (after - before).items():
        most = MOST_PROCESSES if name.startswith("bus/journal/") else 0
        if "N" in name and after[name] > most:
            yield "grown", f"state/{name}: {times} more, though all has had its time"


def _all(land: Land, place: str, only: str = "*") -> dict[str, list[Lying]]:
    """Messages by id; what was set aside is none."""
    found: dict[str, list[Lying]] = {}
    for path in sorted(Path(land.base.path(place)).glob(f"{only}/*.json")):
        if path.name.endswith(".reason.json") or Path(f"{path}.reason.json").exists():
            continue
        content = json.loads(path.read_text())
        if isinstance(content, dict) and "delivery" in content:
            found.setdefault(path.stem, []).append(Lying(path.parent.name, content))
    return found


def _reason(one: Lying) -> str:
    return str(one.content.get("delivery", {}).get("last_error_message"))
