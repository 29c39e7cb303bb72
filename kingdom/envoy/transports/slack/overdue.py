"""Before a default is taken, the thread of its question is read once more: an answer that was given
in time counts, also if no line told of it.

While a thread cannot be read its default waits. That is said once, and by `kingdom status` as long
as it lasts. Where it was asked nobody can answer any more if Slack knows no such thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING

from kingdom.clients.slack_faults import LONGEST_LIMIT, SlackLater, SlackRefused
from kingdom.clock import Clock, is_ahead, still_waits
from kingdom.envoy.questions import Question, Questions
from kingdom.envoy.transport import Thread
from kingdom.envoy.transports.slack.rounds import Look
from kingdom.envoy.transports.slack.speaking import TS, Said
from kingdom.errors import KingdomError, TryLater

if TYPE_CHECKING:
    from structlog.typing import FilteringBoundLogger

_AT_ONCE = 10  # threads in one step, so that what is to be sent does not wait long
_PAUSE = timedelta(minutes=1)
_GONE = ("thread_not_found", "message_not_found", "channel_not_found")


class Overdue:
    def __init__(
        self, read: Callable[[Question], list[Said]], clock: Clock, log: FilteringBoundLogger
    ) -> None:
        self._read = read
        self._clock = clock
        self._log = log
        self._looked: dict[Thread, datetime] = {}
        self._put_off: dict[Thread, datetime] = {}  # threads that Slack does not show
        self._not_before: datetime | None = None
        self._dated: tuple[Questions, list[tuple[datetime, Question]]] | None = None
        self.trouble: KingdomError | None = None  # why defaults wait

    def note(self, look: Look) -> None:
        """All that was said in these threads before that moment has come."""
        for thread_ts in look.threads:
            self._looked[Thread(look.channel, thread_ts)] = look.at

    def is_read(self, question: Question) -> bool:
        """Whether its thread was read after its time was over."""
        looked = self._looked.get(question.thread)
        if looked is None or is_ahead(looked, self._clock.now()):
            return False
        return looked >= (question.expires_at or looked)

    def look(self, questions: Questions) -> Iterator[Look]:
        """At a few of those that are due."""
        if self._rests():
            return
        due = list(islice(self._due(questions), _AT_ONCE))
        for question in due:
            try:
                look = self._look(question)
            except SlackLater as error:
                self._not_before = error.not_before or self._clock.now() + _PAUSE
                self._wait(error)
                return
            except SlackRefused as refused:
                self._put_off[question.thread] = self._clock.now() + _PAUSE
                self._wait(refused)
            else:
                self.note(look)
                yield look
        if not self._put_off:
            self.trouble = None

    def _look(self, question: Question) -> Look:
        at = self._clock.now()
        try:
            said = self._read(question)
        except SlackRefused as refused:
            if refused.error not in _GONE:
                raise
            said = []
        return Look(question.channel, "", at, said, [question.thread_ts])

    def _due(self, questions: Questions) -> Iterator[Question]:
        now = self._clock.now()
        for due_at, question in self._by_deadline(questions):
            if now < due_at:
                return
            if not self.is_read(question) and question.thread not in self._put_off:
                yield question

    def _by_deadline(self, questions: Questions) -> list[tuple[datetime, Question]]:
        """Sorted out again only when the questions are others."""
        if self._dated is None or self._dated[0] is not questions:
            asked = [one for one in questions.values() if TS.fullmatch(one.thread_ts)]
            dated = [(one.default_at, one) for one in asked if one.default_at is not None]
            self._dated = questions, sorted(dated, key=lambda pair: (pair[0], pair[1].msg_id))
            known = {one.thread for one in asked}
            self._looked = {one: at for one, at in self._looked.items() if one in known}
            self._put_off = {one: at for one, at in self._put_off.items() if one in known}
        return self._dated[1]

    def _rests(self) -> bool:
        now = self._clock.now()
        if self._not_before is not None and still_waits(self._not_before, now, LONGEST_LIMIT):
            return True
        self._not_before = None
        put_off = self._put_off.items()
        self._put_off = {one: until for one, until in put_off if still_waits(until, now, _PAUSE)}
        return False

    def _wait(self, error: SlackLater | SlackRefused) -> None:
        if self.trouble is None or self.trouble.code != error.code:
            self._log.warning("question.default_waits", error=str(error), code=error.code)
        said = f"A default waits until its thread can be read. {error.sentence}"
        self.trouble = TryLater(said, remedy=error.remedy, code=error.code)
