"""Carries messages to Slack. Each part of one has the message's id in its metadata, where it is
looked for when an earlier attempt may have posted it: killed at any moment, nothing is said twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import astuple, dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from kingdom.clients.slack import Posted, Slack
from kingdom.clients.slack_faults import SlackLater, SlackRefused
from kingdom.clock import isoformat
from kingdom.envoy.questions import Question, Questions
from kingdom.envoy.transport import Heard, Reply, Thread
from kingdom.envoy.transports.slack.crowd import Crowd
from kingdom.envoy.transports.slack.ear import Ear
from kingdom.envoy.transports.slack.letters import Attachment, Letter, Letters, Part
from kingdom.envoy.transports.slack.marks import Marks
from kingdom.envoy.transports.slack.notices import Notice, Notices
from kingdom.envoy.transports.slack.places import Place, Places
from kingdom.errors import KingdomError
from kingdom.models.message import MessageBase

if TYPE_CHECKING:
    from structlog.typing import FilteringBoundLogger

EVENT_TYPE = "kingdom_message"
_APART = timedelta(hours=1)  # how far Slack's clock and ours may be
_THREAD_GONE = (
    "cannot_reply_to_message", "invalid_thread_ts", "message_not_found",
    "restricted_action_thread_locked", "thread_not_found",
)  # fmt: skip
_BLOCKS_REFUSED = ("invalid_blocks", "invalid_blocks_format", "msg_blocks_too_long")


@dataclass
class Found:
    """What of a message stands in Slack already."""

    parts: dict[int, Posted] = field(default_factory=dict)
    attached: bool = False


class SlackCarrier:
    leaves = True
    at_once = 1  # a request takes far longer than recording it, and a crash leaves one to look for

    def __init__(
        self,
        slack: Slack,
        letters: Callable[[], Letters],
        *,
        places: Places,
        ear: Ear,
        notices: Notices,
        marks: Marks,
        crowd: Crowd,
        kingdom: str,
        log: FilteringBoundLogger,
    ) -> None:
        """`letters` are asked for each time, since configuration may change; `kingdom` tells our
        messages from those of another that uses the same app."""
        self._slack = slack
        slack.begin_step()
        self._letters = letters
        self._places = places
        self._ear = ear
        self._notices = notices
        self._crowd = crowd
        self._kingdom = kingdom
        self._log = log
        self._marks = marks

    def send(
        self, message: MessageBase, thread: Thread | None, *, perhaps_sent: bool = False
    ) -> Thread:
        place = self._places.place(message, thread)
        letter = self._letters().letter(message)
        try:
            parent = self._carry(message, place, letter, perhaps_sent)
        except SlackRefused as refused:
            if place.thread_ts is None or refused.error not in _THREAD_GONE:
                raise
            self._log.warning("thread.gone", id=message.id, error=refused.error)
            anew = Place(place.channel, None)
            parent = self._carry(message, anew, letter, perhaps_sent)
        self._marks.mark(parent, message)
        return Thread(parent.channel, parent.ts)

    def _carry(
        self, message: MessageBase, place: Place, letter: Letter, perhaps_sent: bool
    ) -> Posted:
        found = self._find(message, place, letter) if perhaps_sent else Found()
        parent = self._post(message, place, letter, found)
        if letter.attachment and not found.attached:
            self._attach(parent, letter.attachment, is_first=not perhaps_sent)
        return parent

    def _attach(self, parent: Posted, file: Attachment, *, is_first: bool) -> None:
        """What is said stands there already, and counts: a file that Slack does not take, also when
        it is tried again, is replaced by a line that says where to read it."""
        try:
            self._slack.attach(parent, file.name, file.content, file.title)
        except SlackLater as later:
            if not later.method:
                raise
            if is_first:
                raise SlackLater(later.sentence, method=later.method, remedy=later.remedy) from None
            error: KingdomError = later
        except SlackRefused as refused:
            error = refused
        else:
            return
        self._log.warning("file.not_attached", file=file.name, error=str(error))
        key = f"not_attached {file.name}"
        self._notices.say(Notice(key, "not_attached", file.otherwise, *astuple(parent)))

    def _post(self, message: MessageBase, place: Place, letter: Letter, found: Found) -> Posted:
        """What is missing, in order; answers the thread's first message."""
        channel, thread_ts = place
        for number, part in enumerate(letter.parts, 1):
            posted = found.parts.get(number)
            if posted is None:
                metadata = self._metadata(message, number)
                posted = self._post_part(channel, part, metadata, thread_ts)
                self._places.learn(place.channel, posted)
            channel, thread_ts = posted.channel, thread_ts or posted.ts
        return Posted(channel, thread_ts or "")

    def _post_part(
        self, channel: str, part: Part, metadata: dict[str, Any], thread_ts: str | None
    ) -> Posted:
        given = {"text": part.text, "blocks": part.blocks, "metadata": metadata}
        try:
            return self._slack.post(channel, given, thread_ts)
        except SlackRefused as refused:
            if refused.error not in _BLOCKS_REFUSED:
                raise
        return self._slack.post(channel, {"text": part.whole, "metadata": metadata}, thread_ts)

    # What was posted before

    def _find(self, message: MessageBase, place: Place, letter: Letter) -> Found:
        found = Found()
        channel = self._places.id_of(place.channel)
        if not channel:
            return found
        oldest = f"{(message.created_at - _APART).timestamp():.6f}"
        thread_ts = place.thread_ts
        if thread_ts is None:
            history = self._slack.history(channel, oldest)
            self._note(found, message, channel, history, enough=1)
            if 1 not in found.parts:
                return found
            thread_ts = found.parts[1].ts
        if len(found.parts) < len(letter.parts) or letter.attachment:
            replies = self._replies(channel, thread_ts, oldest)
            enough = len(letter.parts) + (letter.attachment is not None)
            self._note(found, message, channel, replies, enough)
        return found

    def _replies(self, channel: str, ts: str, oldest: str) -> Iterator[dict[str, Any]]:
        try:
            yield from self._slack.replies(channel, ts, oldest)
        except SlackRefused as refused:
            if refused.error != "thread_not_found":
                raise

    def _note(
        self,
        found: Found,
        message: MessageBase,
        channel: str,
        said: Iterator[dict[str, Any]],
        enough: int,
    ) -> None:
        me = self._slack.me()
        for one in said:
            if not me.wrote(one):
                continue
            number = self._number(one, message)
            if number:
                found.parts[number] = Posted(channel, str(one.get("ts")))
            found.attached = found.attached or _attaches(one, message)
            if len(found.parts) + found.attached >= enough:
                return

    def _metadata(self, message: MessageBase, number: int) -> dict[str, Any]:
        """Another kingdom may speak in the same channel and count its messages alike."""
        made = isoformat(message.created_at)
        payload = {"id": message.id, "created_at": made, "part": number, "kingdom": self._kingdom}
        return {"event_type": EVENT_TYPE, "event_payload": payload}

    def _number(self, said: dict[str, Any], message: MessageBase) -> int:
        """Which part of the message this is; 0 if none. Earlier versions named no kingdom."""
        metadata = said.get("metadata")
        payload = metadata.get("event_payload") if isinstance(metadata, dict) else None
        number = payload.get("part") if isinstance(payload, dict) else None
        if not isinstance(number, int) or not isinstance(payload, dict):
            return 0
        known = {"kingdom": self._kingdom, **payload}
        told = {**metadata, "event_payload": known} if isinstance(metadata, dict) else {}
        return number if told == self._metadata(message, number) else 0

    # The rest of the seam

    def settle(self) -> None:
        """Slack keeps what it has answered for."""

    def poll(self, questions: Questions) -> Sequence[Heard]:
        self._slack.begin_step()
        heard = self._ear.poll(questions)
        if not heard:  # whoever said something waits for nothing else
            self._marks.catch_up()
            self._notices.catch_up()
            self._crowd.look()
        return heard

    def has_heard(self, question: Question) -> bool:
        return self._ear.has_heard(question)

    def taken(self, heard: Heard) -> None:
        self._ear.taken(heard)

    def tell(self, reply: Reply, what: str, text: str) -> None:
        self._notices.tell(reply, what, text)

    def close_question(self, question: Question, line: str) -> None:
        self._notices.close(question, line)

    def descriptors(self) -> Sequence[int]:
        return self._ear.descriptors()

    def trouble(self) -> KingdomError | None:
        return self._slack.shut or self._ear.trouble or self._crowd.trouble

    def failing(self) -> Sequence[KingdomError]:
        return self._slack.failing()

    def close(self) -> None:
        self._ear.close()


def _attaches(said: dict[str, Any], message: MessageBase) -> bool:
    files = said.get("files")
    names = (one.get("name") for one in files or () if isinstance(one, dict))
    return any(isinstance(name, str) and name.startswith(f"{message.id}.") for name in names)
