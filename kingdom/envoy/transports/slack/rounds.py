"""Looks into Slack's histories for what no socket told: the only way to hear without an app token,
and the way to catch up after a line was lost.

A look at a channel takes a page or two of its history, however many threads are open there: the
first message of each thread says when someone last replied, and only threads with news are read.
The newest page is read in each round; of older ones, which matter only if a question is still open
there, each round takes the next that has an open question.

What Slack does not show is left for the next round, and keeps nobody from looking elsewhere.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING, Any

from kingdom.clients.slack import Slack
from kingdom.clients.slack_faults import LONGEST_LIMIT, SlackLater, SlackRefused
from kingdom.clock import Clock, still_waits
from kingdom.envoy.questions import Question, Questions
from kingdom.envoy.transports.slack.joined import Channels
from kingdom.envoy.transports.slack.memory import Memory
from kingdom.envoy.transports.slack.speaking import (
    TS,
    Said,
    later,
    order,
    part_of,
    said_in,
    text_of,
)

if TYPE_CHECKING:
    from structlog.typing import FilteringBoundLogger

Entry = dict[str, Any]

_AT_ONCE = 10  # channels in one step, so that what is to be sent does not wait long
_MOST_OTHERS = 10  # channels without a question that one round looks at
_MOST_SEEN = 5_000
_MOST_READ = 20  # threads that one look reads; the others have their news still
_PAGE = 100  # messages; of Slack's own most, 999, few would be read again and again
_MOST_PAGES = 40
_BEFORE = timedelta(days=1)  # how old a thread may be that someone calls us in
_OVERLAP = timedelta(minutes=5)  # what comes by the socket need not come in order
_APART = timedelta(hours=1)  # how far Slack's clock and ours may be
_SLACK_MINUTE = timedelta(minutes=1)


@dataclass
class Look:
    """What a channel showed; all of it until `newest` is known once `said` is taken. Without
    `newest`, only `threads` were looked at."""

    channel: str
    newest: str
    at: datetime
    said: list[Said] = field(default_factory=list)
    threads: list[str] = field(default_factory=list)  # with a question; nothing of them is left
    is_whole: bool = True  # else there are threads left to read
    failure: SlackLater | SlackRefused | None = None  # why some of them could not be


@dataclass
class Asked:
    """The questions of a channel that nobody has answered, by thread."""

    threads: dict[str, Question] = field(default_factory=dict)
    ordered: list[str] = field(default_factory=list)

    @property
    def oldest(self) -> str:
        return self.ordered[0] if self.ordered else ""

    def newest_before(self, ts: str) -> str:
        """The newest of them that was begun before; empty if none was."""
        at = bisect_left(self.ordered, order(ts), key=order)
        return self.ordered[at - 1] if at else ""


class Rounds:
    """`channels` are where people speak to the kingdom, besides the threads of its questions."""

    def __init__(
        self,
        slack: Slack,
        memory: Memory,
        clock: Clock,
        log: FilteringBoundLogger,
        channels: Channels,
    ) -> None:
        self._slack = slack
        self._memory = memory
        self._clock = clock
        self._log = log
        self._channels = channels
        self._todo: deque[str] = deque()
        self._has_others = False  # channels without a question are still to be added
        self._thorough = True
        self._not_before: datetime | None = None
        self._turn = 0
        self._seen: dict[tuple[str, str], str] = {}  # the last reply that was read, by thread
        self._older: dict[str, str] = {}  # where the next older page of a channel begins
        self._unread: dict[str, bool] = {}  # channels; whether not even their history was shown
        self._refused: set[str] = set()
        self._sorted: tuple[Questions, dict[str, Asked]] | None = None
        self._began = stamp(clock.now() - _SLACK_MINUTE)

    @property
    def is_over(self) -> bool:
        return not self._todo and not self._has_others

    @property
    def owes(self) -> bool:
        """Whether there are channels that it could not look at."""
        return bool(self._unread) or self._channels.is_incomplete

    def is_about_to_look(self, channel: str) -> bool:
        """Not while Slack does not let it."""
        is_kept = self._not_before is not None or channel in self._unread
        return channel in self._todo and not is_kept and channel not in self._refused

    def read(self, question: Question) -> list[Said]:
        """What was said to it since it was asked."""
        return self._read(question.channel, question.thread_ts, "0.0", question)

    def begin(self, questions: Questions, *, thorough: bool) -> None:
        """A round that was not over goes into this one. Channels with questions come first, and
        Slack is not asked which those are."""
        missed = not self.is_over or any(self._unread.values())
        self._thorough = thorough or (self._thorough and missed)
        asked = self._awaited(questions)
        if len(self._seen) > _MOST_SEEN:
            self._seen = {
                (channel, ts): replied
                for (channel, ts), replied in self._seen.items()
                if ts in asked.get(channel, Asked()).threads
            }
        self._todo = deque(dict.fromkeys([*self._todo, *asked]))
        self._has_others = True

    def _add_others(self, asked: dict[str, Asked]) -> None:
        others = [one for one in self._channels.known() if one not in asked]
        self._unread = {
            one: unseen for one, unseen in self._unread.items() if one in asked or one in others
        }
        left = [one for one in self._unread if one not in asked]
        if not self._thorough and len(others) > _MOST_OTHERS:
            start = self._turn % len(others)
            others = (others + others)[start : start + _MOST_OTHERS]
            self._turn += _MOST_OTHERS
        self._todo.extend(dict.fromkeys([*others, *left]))
        self._has_others = False

    def go_on(self, questions: Questions) -> Iterator[Look]:
        """A few looks, unless Slack wants to be left alone for now."""
        until, now = self._not_before, self._clock.now()
        if until is not None and still_waits(until, now, LONGEST_LIMIT):
            return
        self._not_before = None
        asked = self._awaited(questions)
        for _ in range(_AT_ONCE):
            if not self._todo and self._has_others:
                self._add_others(asked)
            if not self._todo:
                return
            channel = self._todo[0]
            try:
                look = self._look(channel, asked.get(channel, Asked()))
            except SlackLater as error:
                self._thorough = True  # by the time it works there may be more than a page
                if error.not_before is not None:
                    self._not_before = error.not_before
                    self._log.warning("slack.not_heard", channel=channel, error=str(error))
                    return
                self._leave(channel, error, unseen=True)
            except SlackRefused as refused:
                self._refuse(channel, refused)
            else:
                self._note(look)
                yield look
            self._todo.popleft()

    def _note(self, look: Look) -> None:
        self._refused.discard(look.channel)
        if look.failure is not None:
            self._leave(look.channel, look.failure, unseen=False)
            return
        self._unread.pop(look.channel, None)
        if not look.is_whole:
            self._todo.append(look.channel)

    def _leave(self, channel: str, error: SlackLater | SlackRefused, *, unseen: bool) -> None:
        """For the next round."""
        if channel not in self._unread:
            self._log.warning("slack.not_heard", channel=channel, error=str(error))
        self._unread[channel] = unseen

    def _awaited(self, questions: Questions) -> dict[str, Asked]:
        """By channel; sorted out again only when the questions are others."""
        if self._sorted is None or self._sorted[0] is not questions:
            self._sorted = questions, awaited(questions)
        return self._sorted[1]

    def _refuse(self, channel: str, refused: SlackRefused) -> None:
        if channel not in self._refused:
            self._refused.add(channel)
            self._log.warning("slack.not_heard", channel=channel, error=str(refused))

    def _look(self, channel: str, asked: Asked) -> Look:
        self._began = min(self._began, stamp(self._clock.now() - _SLACK_MINUTE), key=order)
        since = self._memory.since(channel, self._began)
        look = Look(channel, since, self._clock.now())
        me = self._slack.me()
        news: list[Entry] = []
        for entry in sorted(self._entries(channel, since, asked), key=_when):
            ts = text_of(entry, "ts")
            look.newest = later(look.newest, ts)
            said = said_in(entry, me, channel)
            if said and order(ts) > order(before(since, _OVERLAP)):
                look.said.append(said)
            if self._has_news(channel, entry, since, asked):
                news.append(entry)
            elif ts in asked.threads:
                look.threads.append(ts)
        self._read_threads(look, news[:_MOST_READ], since, asked)
        look.is_whole = look.failure is None and len(news) <= _MOST_READ
        look.newest = look.newest if look.is_whole else since
        look.said.sort(key=lambda one: order(one.ts))
        return look

    def _read_threads(self, look: Look, news: list[Entry], since: str, asked: Asked) -> None:
        for entry in news:
            ts, replied = text_of(entry, "ts"), text_of(entry, "latest_reply")
            try:
                look.said += self._read(look.channel, ts, since, asked.threads.get(ts))
            except SlackLater as error:
                look.failure = error
                continue
            except SlackRefused as refused:
                look.failure = refused if refused.is_of_method else look.failure
                continue  # else it is gone
            look.threads += [ts] if ts in asked.threads else []
            if TS.fullmatch(replied):
                self._seen[look.channel, ts] = replied
                look.newest = later(look.newest, replied)

    def _has_news(self, channel: str, entry: Entry, since: str, asked: Asked) -> bool:
        """Whether someone else than us may have replied there, and it was not read yet."""
        ts, replied = text_of(entry, "ts"), text_of(entry, "latest_reply")
        if entry.get("reply_users") in ([self._slack.me().user_id], []):
            return False
        if not TS.fullmatch(replied):  # then it is not said when someone did
            return ts in asked.threads and bool(entry.get("reply_count"))
        otherwise = "0.0" if ts in asked.threads else before(since, _OVERLAP)
        return order(replied) > order(self._seen.get((channel, ts), otherwise))

    def _entries(self, channel: str, since: str, asked: Asked) -> list[Entry]:
        floor = before(since, _BEFORE)
        if asked.oldest:
            floor = min(floor, before(asked.oldest), key=order)
        if self._thorough:
            return self._page(channel, floor, pages=_MOST_PAGES)
        newest = self._page(channel, floor)
        if len(newest) < _PAGE or not asked.oldest or _when(newest[-1]) <= order(asked.oldest):
            return newest
        return newest + self._older_page(channel, text_of(newest[-1], "ts"), asked)

    def _older_page(self, channel: str, latest: str, asked: Asked) -> list[Entry]:
        """Begins at an open question; after the oldest comes the newest again."""
        cursor = min(self._older.pop(channel, latest), latest, key=order)
        begins = asked.newest_before(cursor) or asked.newest_before(latest)
        older = self._page(channel, before(asked.oldest), _just_after(begins))
        if len(older) == _PAGE:
            self._older[channel] = text_of(older[-1], "ts")
        return older

    def _page(self, channel: str, oldest: str, latest: str = "", pages: int = 1) -> list[Entry]:
        said = self._slack.history(channel, oldest, latest, limit=_PAGE)
        found = list(islice(said, _PAGE * pages))
        return [one for one in found if TS.fullmatch(text_of(one, "ts"))]

    def _read(
        self, channel: str, thread_ts: str, since: str, question: Question | None
    ) -> list[Said]:
        me = self._slack.me()
        asked = question and stamp(question.asked_at - _APART)
        oldest = asked or before(since, _OVERLAP)
        replies = list(self._slack.replies(channel, thread_ts, oldest))
        if question is not None:
            replies = _after(question, replies, me.wrote)
        found = (said_in(one, me, channel) for one in replies)
        return [one for one in found if one is not None and one.thread_ts == thread_ts]


def _after(question: Question, replies: list[Entry], is_ours: Callable[[Entry], bool]) -> list[Any]:
    """What was said since it was asked."""
    for at, one in enumerate(replies):
        payload = part_of(part_of(one, "metadata"), "event_payload")
        if payload.get("id") == question.msg_id and is_ours(one):
            return replies[at + 1 :]
    asked = order(stamp(question.asked_at))
    return [one for one in replies if order(text_of(one, "ts")) > asked]


def awaited(questions: Questions) -> dict[str, Asked]:
    """Of several in one thread the first: what was said after it may be meant for any of them."""
    found: dict[str, Asked] = {}
    for one in sorted(questions.values(), key=lambda one: one.asked_at, reverse=True):
        if one.answered_at is None and TS.fullmatch(one.thread_ts):
            found.setdefault(one.channel, Asked()).threads[one.thread_ts] = one
    for asked in found.values():
        asked.ordered = sorted(asked.threads, key=order)
    return found


def stamp(moment: datetime) -> str:
    return f"{moment.timestamp():.6f}"


def before(ts: str, span: timedelta = timedelta(seconds=1)) -> str:
    whole, part = order(ts)
    return f"{max(whole - int(span.total_seconds()), 0)}.{part // 1000:06d}"


def _just_after(ts: str) -> str:
    """What Slack takes for an end, it leaves out."""
    whole, part = order(ts)
    return f"{whole + (part // 1000 + 1) // 1_000_000}.{(part // 1000 + 1) % 1_000_000:06d}"


def _when(entry: Entry) -> tuple[int, int]:
    return order(text_of(entry, "ts"))
