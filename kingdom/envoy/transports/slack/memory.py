"""What the envoy remembers of its listening in Slack, in `state/envoy/slack.json`.

Up to when a channel was heard, who was told what, and which questions are still to be shown as
answered. A file that is lost costs a notice said twice, and what was said while nobody listened.
"""

from __future__ import annotations

from typing import Any

from kingdom.envoy.transports.slack.speaking import TS, later, order
from kingdom.errors import TryLater
from kingdom.models.fields import Timestamp
from kingdom.models.part import Part
from kingdom.store import disk
from kingdom.store.paths import BaseDir
from kingdom.store.state import read_json, write_json

MOST_CHANNELS, MOST_TOLD, MOST_CLOSING, MOST_IGNORED = 200, 1_000, 1_000, 200


class Closing(Part):
    """A question that is no longer asked, and does not show it yet; `line` is what to show."""

    channel: str
    thread_ts: str
    asked_at: Timestamp
    line: str


class Memory:
    """Kept in memory; `save` writes what changed."""

    def __init__(self, base: BaseDir, *, sync: bool = True) -> None:
        self._directory = base.path("state", "envoy")
        self._path = base.path("state", "envoy", "slack.json")
        self._ignored_path = base.path("state", "envoy", "ignored.json")
        self._sync = sync
        self._changed = False
        content = read_json(self._path, {})
        content = content if isinstance(content, dict) else {}
        self.heard = {c: t for c, t in _texts(content.get("heard")).items() if TS.fullmatch(t)}
        told = content.get("told")
        counts = told.items() if isinstance(told, dict) else ()
        self._told = {key: n for key, n in counts if isinstance(n, int)}
        self.closing = _closings(content.get("closing"))
        ignored = read_json(self._ignored_path, [])
        self._ignored = ignored if isinstance(ignored, list) else []

    def hear(self, channel: str, ts: str) -> None:
        """All that was said there until then is safe, or was ignored."""
        known = self.heard.get(channel)
        if known is None or order(known) < order(ts):
            self.heard[channel] = ts
            self._changed = True
        while len(self.heard) > MOST_CHANNELS:
            del self.heard[min(self.heard, key=lambda one: order(self.heard[one]))]

    def since(self, channel: str, otherwise: str) -> str:
        """Up to when it was heard; from now on, if it never was."""
        if channel not in self.heard:
            self.hear(channel, otherwise)
        return self.heard.get(channel, otherwise)  # it may be the one too many

    def is_heard(self, channel: str, ts: str) -> bool:
        known = self.heard.get(channel)
        return known is not None and later(known, ts) == known

    def may_tell(self, key: str, times: int) -> bool:
        """Whether this was not told so often already; counted as told from now on."""
        told = self._told.pop(key, 0)
        self._told[key] = min(told + 1, times)
        self._told = dict(list(self._told.items())[-MOST_TOLD:])
        self._changed = self._changed or told < times
        return told < times

    def untell(self, key: str) -> None:
        """It was not told after all."""
        if told := self._told.get(key, 0):
            self._told[key] = told - 1
            self._changed = True

    def close(self, message_id: str, closing: Closing) -> None:
        self.closing[message_id] = closing
        self.closing = dict(list(self.closing.items())[-MOST_CLOSING:])
        self._changed = True

    def closed(self, message_id: str) -> None:
        self._changed = self.closing.pop(message_id, None) is not None or self._changed

    def ignore(self, what: dict[str, str]) -> None:
        """Someone spoke who may not."""
        self._ignored = [*self._ignored, what][-MOST_IGNORED:]
        self._write(self._ignored_path, self._ignored)

    def save(self) -> None:
        if self._changed:
            closing = {id_: one.written() for id_, one in self.closing.items()}
            content = {"heard": self.heard, "told": self._told, "closing": closing}
            self._write(self._path, content)
            self._changed = False

    def _write(self, path: str, content: Any) -> None:
        try:
            disk.make_directory(self._directory)
            write_json(path, content, sync=self._sync)
        except OSError as error:
            raise TryLater(
                f"{path} cannot be written: {error.strerror}.",
                remedy="Free some disk space, or see to its permissions.",
                code="state_unwritable",
            ) from error


def _texts(raw: Any) -> dict[str, str]:
    given = raw.items() if isinstance(raw, dict) else ()
    return {key: value for key, value in given if isinstance(value, str)}


def _closings(raw: Any) -> dict[str, Closing]:
    given = raw.items() if isinstance(raw, dict) else ()
    found = ((id_, _closing(value)) for id_, value in given)
    return {id_: one for id_, one in found if one is not None}


def _closing(raw: Any) -> Closing | None:
    try:
        return Closing.model_validate(raw)
    except ValueError:
        return None
