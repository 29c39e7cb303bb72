"""The journey of one event in a throw-away kingdom, as a sequence of things to be seen.

Everything is real: the roles, the files, tmux, the soldier's process. Only the soldier's mind is
a rehearsal. What is shown is read from the directories, as anyone could with `ls`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from typing import Any, NamedTuple

from kingdom.bus.opening import open_bus
from kingdom.clock import SystemClock
from kingdom.engines.choice import availability_of
from kingdom.engines.rehearsal import RehearsalEngine
from kingdom.errors import NeverWorks
from kingdom.models.ids import TASK_ID
from kingdom.ops.asking import Open, questions
from kingdom.ops.asking import answer as give
from kingdom.ops.init import init
from kingdom.ops.listing import ENDED, counts, locate, states
from kingdom.ops.logs import Follower, Source, everything
from kingdom.ops.sending import event_from, send
from kingdom.settings.loading import load_settings
from kingdom.store import disk
from kingdom.store.paths import BaseDir
from kingdom.store.state import read_json
from kingdom.store.watch import Watch
from kingdom.topology import DEAD, EVENTS, MESSAGES, RESULTS, TASKS

ENGINE = f"runtime:\n  engine: {RehearsalEngine.name}\n"
# The journey is short, and is shown on a busy machine, too.
HEALTH = "thresholds: {yellow: 100, orange: 100, red: 100, disk: 100}\n"
DIFF = """\
--- a/src/basket.py
+++ b/src/basket.py
@@ -12,7 +12,9 @@ class Basket:
     def total(self) -> Decimal:
-        return sum(item.price for item in self.items)
+        prices = (item.price * item.count for item in self.items)
+        total = sum(prices, Decimal(0))
+        return total - self.discount
--- a/tests/test_basket.py
+++ b/tests/test_basket.py
@@ -3,2 +3,4 @@
+def test_two_of_one_kind_cost_twice_as_much() -> None:
+    assert Basket(Item("tea", Decimal(3), count=2)).total() == 6
"""
EVENT = {
    "type": "github.pr.review_requested",
    "repo": "acme/shop",
    "payload": {
        "number": 7,
        "title": "Count items in the basket",
        "html_url": "https://github.com/acme/shop/pull/7",
        "diff": DIFF,
        "rehearsal": {
            "do": "ask",
            "seconds": 2,
            "question": "The total now takes off a discount that no test covers. Ask for one?",
            "options": ["yes", "no"],
            "default": "yes",
        },
    },
}
SPECS, EXITS = "state/soldiers", ".exit"
WATCHED = (*EVENTS.directories, *TASKS.directories, *MESSAGES.directories, RESULTS.root, SPECS)
ALIVE = {state for state in states() if state not in (*ENDED, DEAD)}


class Sight(NamedTuple):
    """Something that happened: a sentence, if it says more than the path, and the file that shows
    it, relative to the base directory."""

    sentence: str
    path: str


def make_kingdom(environment: Mapping[str, str]) -> BaseDir:
    """A new base directory of this user's alone, where soldiers rehearse; none if they cannot."""
    engine = availability_of(RehearsalEngine(), environment)
    if not engine.available:
        raise NeverWorks(engine.reason, remedy=engine.remedy, code="engine_missing")
    parent = environment.get("TMPDIR") or "/tmp"
    base = BaseDir(os.path.join(parent, f"kingdom-demo-{os.urandom(4).hex()}"))
    disk.make_private_directory(base.root)
    init(base)
    for name, text in {"system": ENGINE, "chamberlain": HEALTH}.items():
        disk.create(base.path("config", "local", f"{name}.yaml"), text.encode())
    for place in WATCHED:
        disk.make_directory(base.path(place))
    return base


def send_sample(base: BaseDir, environment: Mapping[str, str]) -> str:
    """The event's id."""
    event = event_from(dict(EVENT), SystemClock().now(), name="demo")
    with closing(open_bus(base, load_settings(base.config, environment))) as bus:
        send(bus, event)
    return str(event.id)


def answer(base: BaseDir, environment: Mapping[str, str], asked: Open, text: str, by: str) -> str:
    """As `kingdom answer` does it: the option that was meant, or `NeverWorks` with those there
    are."""
    with closing(open_bus(base, load_settings(base.config, environment))) as bus:
        return give(bus, asked, text, answered_by=by, now=SystemClock().now())[1]


class Journey:
    """What there is to see, in the order it comes."""

    def __init__(self, base: BaseDir) -> None:
        self._base = base
        self._seen: set[str] = set()
        self._watch = Watch()
        for place in WATCHED:
            self._watch.add(base.path(place))
        self._console = Follower(Source(base.path("logs", "console.log"), everything))

    def sights(self) -> Iterator[Sight]:
        """What came since the last call; each file once in each place."""
        for directory, name in self._watch.changes() or self._all():
            path = os.path.relpath(os.path.join(directory, name), self._base.root)
            if path not in self._seen and self._is_worth_a_look(path):
                self._seen.add(path)
                yield Sight(self._sentence(path), path)

    def said(self) -> list[str]:
        """What people were told since the last call: the lines of the console."""
        return list(self._console.lines())

    def _all(self) -> list[tuple[str, str]]:
        """Where no notification comes, or some were lost, looking must do."""
        places = [self._base.path(place) for place in WATCHED]
        return [(place, name) for place in places for name in sorted(disk.names(place))]

    @staticmethod
    def _is_worth_a_look(path: str) -> bool:
        place, name = os.path.split(path)
        if name.startswith(".") or "-raw-" in name:
            return False
        return name.endswith(".json") or (place == SPECS and name.endswith(EXITS))

    def _sentence(self, path: str) -> str:
        place, name = os.path.split(path)
        tell = SENTENCES.get(place)
        stem = os.path.splitext(name)[0]
        return tell(stem, self._content(path, stem)) if tell else ""

    def _content(self, path: str, stem: str) -> dict[str, Any]:
        """Of the file that was seen, wherever it has moved meanwhile."""
        places = [self._base.path(path), *(one.path for one in locate(self._base, stem))]
        found: Any = next((content for content in map(read_json, places) if content), {})
        return found if isinstance(found, dict) else {}

    @property
    def doing(self) -> str:
        """What takes its time just now, in a few words."""
        names = [os.path.splitext(path) for path in self._seen if path.startswith(SPECS)]
        ended = {stem for stem, end in names if end == EXITS}
        at_work = [stem for stem, end in names if end != EXITS and stem not in ended]
        return "the soldier is at work" if at_work else ""

    def question(self) -> Open | None:
        """The one that was shown and waits for a person, if any."""
        return next((one for one in questions(self._base).open if one.shown), None)

    def ended_tasks(self) -> int:
        return counts(self._base, (TASKS.name,), set(ENDED)).get(TASKS.name, {}).get("completed", 0)

    def is_quiet(self) -> bool:
        """Nothing is under way, and nobody is asked anything."""
        streams = (EVENTS.name, TASKS.name, MESSAGES.name)
        return not counts(self._base, streams, ALIVE) and self.question() is None

    def fileno(self) -> int:
        return self._watch.fileno()

    def close(self) -> None:
        self._watch.close()
        self._console.close()


def _event(id_: str, content: dict[str, Any]) -> str:
    if content.get("type") == "slack.human_response":
        return "The answer comes in as an event, too"
    return f"An event arrives, as if from GitHub: {content.get('type')}, {content.get('repo')}"


def _dispatched(id_: str, content: dict[str, Any]) -> str:
    return f"The king makes a task of it: {content.get('task_id')}"


def _acted_on(id_: str, content: dict[str, Any]) -> str:
    return "The king acts on the result, and the event is done"


def _claimed(id_: str, content: dict[str, Any]) -> str:
    return f"{content.get('target_general')} takes the task up"


def _soldier(id_: str, content: dict[str, Any]) -> str:
    if content.get("task_id"):
        return f"It starts a soldier, in a tmux session of its own: {id_}"
    return "The soldier has ended; its general looks at what it left"


def _result(id_: str, content: dict[str, Any]) -> str:
    return f"The result: {content.get('status')}" if TASK_ID.fullmatch(id_) else ""


SENTENCES: dict[str, Callable[[str, dict[str, Any]], str]] = {
    "queue/events/pending": _event,
    "queue/events/dispatched": _dispatched,
    "queue/events/completed": _acted_on,
    "queue/tasks/in_progress": _claimed,
    SPECS: _soldier,
    RESULTS.root: _result,
}
