"""What is said in a thread besides messages: what became of a reply, and that a question is over.

Both are a courtesy: what Slack refuses is logged, what it limits is said later, and nothing waits
for it.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from kingdom.clients.slack import Posted, Slack
from kingdom.clients.slack_faults import LONGEST_LIMIT, SlackLater, SlackRefused
from kingdom.clock import Clock, still_waits
from kingdom.envoy.questions import Question
from kingdom.envoy.transport import Reply
from kingdom.envoy.transports.slack.choices import SECTION
from kingdom.envoy.transports.slack.letters import cut_off
from kingdom.envoy.transports.slack.memory import Closing, Memory
from kingdom.envoy.transports.slack.mrkdwn import escaped
from kingdom.envoy.transports.slack.speaking import TS, part_of, text_of
from kingdom.outbound.mentions import without_calls_of_everybody

if TYPE_CHECKING:
    from structlog.typing import FilteringBoundLogger

NOTICE = "kingdom_notice"
CLOSED = "kingdom-closed"  # the block that a question has which is no longer asked
LONGEST_LINE = 300
_TIMES = {"option": 3, "button": 3}  # to one person in one thread; other notices come once
_OF_UNKNOWN = ("button", "closed", "stranger")  # said also where no question of ours is known
_MOST_WAITING = 200
_APART = timedelta(hours=1)  # how far Slack's clock and ours may be
_AT_ONCE = 5
_MOST_SHOWN = 1_000
_PAUSE = timedelta(minutes=1)


@dataclass(frozen=True)
class Notice:
    """What is to be said once, or a few times; `key` is what counts as the same."""

    key: str
    what: str
    text: str
    channel: str
    thread_ts: str = ""


class Notices:
    """`kingdom` is what our messages name as their sender's: others may use the same app."""

    def __init__(
        self, slack: Slack, memory: Memory, clock: Clock, log: FilteringBoundLogger, kingdom: str
    ) -> None:
        self._slack = slack
        self._memory = memory
        self._clock = clock
        self._log = log
        self._kingdom = kingdom
        self._waiting: deque[Notice] = deque()
        self._say_not_before: datetime | None = None
        self._not_before: datetime | None = None
        self._shown: deque[str] = deque(maxlen=_MOST_SHOWN)

    def tell(self, reply: Reply, what: str, text: str) -> None:
        key = f"{what} {reply.user} {reply.thread.channel} {reply.thread.thread_ts}"
        self.say(Notice(key, what, text, reply.thread.channel, reply.thread.thread_ts))

    def say(self, notice: Notice) -> None:
        if len(self._waiting) < _MOST_WAITING and all(
            one.key != notice.key for one in self._waiting
        ):
            self._waiting.append(notice)
        self._say_what_waits()

    def _say_what_waits(self) -> None:
        if self._is_left_alone(self._say_not_before):
            return
        self._say_not_before = None
        while self._waiting:
            try:
                self._say(self._waiting[0])
            except SlackLater as error:
                self._say_not_before = error.not_before or self._clock.now() + _PAUSE
                return
            self._waiting.popleft()

    def _is_left_alone(self, until: datetime | None) -> bool:
        return until is not None and still_waits(until, self._clock.now(), LONGEST_LIMIT)

    def _say(self, notice: Notice) -> None:
        """Rather not at all than twice. What Slack did not take is said later, if it says so."""
        if not self._memory.may_tell(notice.key, _TIMES.get(notice.what, 1)):
            return
        self._memory.save()
        payload = {"event_type": NOTICE, "event_payload": {"what": notice.what}}
        said = escaped(without_calls_of_everybody(notice.text))
        given = {"text": cut_off(said, 3_000), "metadata": payload}
        try:
            if notice.what not in _OF_UNKNOWN or self._is_ours(notice):
                self._slack.post(notice.channel, given, notice.thread_ts or None)
        except SlackLater as error:
            if error.undone:
                self._memory.untell(notice.key)
                raise
            self._log.warning("notice.not_said", what=notice.what, error=str(error))
        except SlackRefused as error:
            self._log.warning("notice.not_said", what=notice.what, error=str(error))

    def _is_ours(self, notice: Notice) -> bool:
        """Whether the thread was not begun by another kingdom, which has its own to say there. One
        that Slack does not show counts as ours."""
        now = f"{self._clock.now().timestamp():.6f}"
        try:
            first = next(self._slack.replies(notice.channel, notice.thread_ts, now), {})
        except (SlackLater, SlackRefused):
            return True
        payload = part_of(part_of(first, "metadata"), "event_payload")
        return text_of(payload, "kingdom") in ("", self._kingdom)

    def close(self, question: Question, line: str) -> None:
        """Shown soon, also if the process ends before. What was said of it first is kept."""
        known = question.msg_id in self._memory.closing or question.msg_id in self._shown
        if TS.fullmatch(question.thread_ts) and not known:
            closing = Closing(
                channel=question.channel,
                thread_ts=question.thread_ts,
                asked_at=question.asked_at,
                line=cut_off(" ".join(line.split()), LONGEST_LINE),
            )
            self._memory.close(question.msg_id, closing)
            self._memory.save()
        self._close_what_waits()

    def catch_up(self) -> None:
        self._say_what_waits()
        self._close_what_waits()

    def _close_what_waits(self) -> None:
        if self._is_left_alone(self._not_before):
            return
        self._not_before = None
        for message_id, closing in list(self._memory.closing.items())[:_AT_ONCE]:
            try:
                self._show(message_id, closing)
            except SlackLater as error:
                self._not_before = error.not_before or self._clock.now() + _PAUSE
                if error.not_before is not None:
                    return
                continue  # the others may be shown
            except SlackRefused as error:
                self._log.warning("question.not_closed", message_id=message_id, error=str(error))
            self._memory.closed(message_id)
            self._shown.append(message_id)
        self._memory.save()

    def _show(self, message_id: str, closing: Closing) -> None:
        me = self._slack.me()
        oldest = f"{(closing.asked_at - _APART).timestamp():.6f}"
        parts = []
        for said in self._slack.replies(closing.channel, closing.thread_ts, oldest):
            payload = part_of(part_of(said, "metadata"), "event_payload")
            if payload.get("id") == message_id and me.wrote(said):
                parts.append(said)
        if parts and _asks(parts[-1]):  # the last part says how to answer
            posted = Posted(closing.channel, text_of(parts[-1], "ts"))
            self._slack.update(posted, closed(parts[-1], closing.line))


def _asks(said: dict[str, Any]) -> bool:
    return all(one.get("block_id") != CLOSED for one in _blocks(said))


def closed(said: dict[str, Any], line: str) -> dict[str, Any]:
    """The question without its buttons and how to answer it, with what became of it."""
    line = escaped(without_calls_of_everybody(line))
    kept = [one for one in _blocks(said) if one.get("type") not in ("actions", "context")]
    shown = {"type": "mrkdwn", "text": line, "verbatim": True}
    if not kept:
        whole = shown | {"text": cut_off(text_of(said, "text"), SECTION)}
        kept = [{"type": "section", "text": whole}]
    blocks = [*kept, {"type": "context", "block_id": CLOSED, "elements": [shown]}]
    text = cut_off(f"{line}\n{text_of(said, 'text')}", 3_000)
    return {"text": text, "blocks": blocks, "metadata": dict(part_of(said, "metadata"))}


def _blocks(said: dict[str, Any]) -> list[dict[str, Any]]:
    found = said.get("blocks")
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []
