"""The king's process.

Reads `queue/events/pending`, `state/results`, `state/resources.json`, `state/control`, every
`dead/` and `held/`, `state/sentinel/watchers.json`, `state/envoy/awaiting-responses.json` and the
configuration. Writes events, tasks and messages through the bus, and `state/control`. Keeps
`schedule-sent.json`, `deferred.json`, `buried.json`, `watchers-told.json`, `reminded.json`,
`held.json` and `conversations.json` in `state/king/`; the rest of what it knows it learns again
from the queues when it starts.

A crash leaves at most an event, a result or a command that was taken and not finished. The next
king takes it again: everything that follows from one of them is one commit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from kingdom.bus.port import Accept
from kingdom.king.burials import Burials
from kingdom.king.conversation_state import Conversations
from kingdom.king.courtesy import Courtesy
from kingdom.king.desk import Desk
from kingdom.king.dispatch import Dispatch
from kingdom.king.gate import Deferrals, Gate
from kingdom.king.held import HeldItems
from kingdom.king.lookouts import Lookouts
from kingdom.king.new_heads import NewHeads
from kingdom.king.outstanding import Outstanding
from kingdom.king.petitions import Petitions
from kingdom.king.questions import OpenQuestions
from kingdom.king.reminders import Reminders
from kingdom.king.reports import Events, Reports
from kingdom.king.timetable import Timetable
from kingdom.king.vigil import Vigil
from kingdom.runtime.control import Control
from kingdom.runtime.role import Setting


class King:
    name = "king"
    streams = ("events", "results")

    def __init__(self, setting: Setting) -> None:
        desk, outstanding = Desk(setting), Outstanding()
        control, events = Control(setting.base), Events(desk)
        self._desk = desk
        self._control = control
        self._config = setting.config
        self._problem = ""
        self._gate = Gate(desk, outstanding, control)
        self._deferrals = Deferrals(desk, self._gate)
        self._conversations = Conversations(desk, outstanding)
        self._reports = Reports(desk, events, outstanding, control, self._conversations)
        self._petitions = Petitions(
            desk, self._gate, outstanding, control, self._deferrals, self._conversations
        )
        self._timetable = Timetable(desk, self._gate, outstanding, self._conversations)
        questions = OpenQuestions(setting.base)
        self._courtesy = Courtesy(desk, self._gate, outstanding, questions)
        self._dispatch = Dispatch(
            desk, self._gate, outstanding, self._deferrals, self._courtesy, self._conversations
        )
        self._new_heads = NewHeads(desk, outstanding, control, self._conversations)
        self._vigil = Vigil(desk, events, outstanding, control)
        self._burials = Burials(desk)
        self._lookouts = Lookouts(desk)
        self._reminders = Reminders(desk, questions)
        self._held = HeldItems(desk)

    def start(self) -> None:
        self._do("open tasks", self._vigil.start)
        self._do("conversations", self._conversations.start)
        self._do("deferred events", self._deferrals.start)
        self._do("schedules", self._timetable.start)
        self._do("dead letters", self._burials.start)
        self._do("watchers", self._lookouts.start)
        self._do("questions", self._reminders.start)
        self._do("held items", self._held.start)

    def step(self) -> float:
        interval = self._desk.config.settings.king.polling.interval_seconds
        self._desk.hands.settle()
        self._reload()
        self._do("admission", self._gate.refresh)
        self._do("results", self._reports.step)
        self._do("commands", self._petitions.step)
        self._do("open tasks", self._vigil.step, interval)
        self._do("dead letters", self._burials.step, interval)
        self._do("watchers", self._lookouts.step, interval)
        self._do("questions", self._reminders.step, interval)
        self._do("held items", self._held.step, interval)
        self._do("schedules", self._timetable.step)
        self._do("chat", self._courtesy.step)
        self._do("events", self._dispatch.step)
        self._do("new heads", self._new_heads.step)
        self._do("deferred events", self._deferrals.step)
        self._do("conversations", self._conversations.step)
        self._desk.reserve.refill()
        waits = (self._timetable, self._gate, self._courtesy, self._reminders)
        return min(interval, *(one.seconds_left() for one in waits))

    def _do(self, what: str, act: Callable[..., None], *given: float) -> None:
        """One of these that fails keeps none of the others from its work."""
        with self._desk.faults.contained(what):
            act(*given)

    def accepts(self) -> Mapping[str, Accept]:
        return {"events": self._gate.accept}

    def descriptors(self) -> Sequence[int]:
        return ()

    def stop(self) -> None:
        """What is in hand is taken again by the next king."""
        self._do("conversations", self._conversations.write)

    def _reload(self) -> None:
        if self._config.refresh():
            self._desk.log.info("config.reloaded")
            self._gate.refresh(now=True)
        problem = str(self._config.problem or "")
        if problem and problem != self._problem:
            self._desk.log.error("config.refused", error=problem)
        self._problem = problem


def make(setting: Setting) -> King:
    return King(setting)
