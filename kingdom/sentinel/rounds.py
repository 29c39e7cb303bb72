"""One round of a watcher: page by page, what is new becomes events.

The order of writes decides what a crash can do. What a watcher must know beforehand is durable
first, then the events are, then they are marked as seen, then the place outside is told, and last
the watcher moves on. Cut off anywhere, the next round looks at the same things again, and those
that were emitted are known.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from kingdom.errors import KingdomError, TryLater
from kingdom.models.event import Event
from kingdom.runtime.role import Setting
from kingdom.sentinel.record import Record
from kingdom.sentinel.seen import Seen
from kingdom.sentinel.watcher import Finish, Sighting, Watcher

_MOST_PASSES = 5
_NAME = re.compile(r"[\w.-]{1,100}", re.ASCII)
_PATIENCE = 3  # rounds that an event waits for its details


@dataclass(frozen=True)
class Looked:
    """What came of a round."""

    emitted: int
    finish: Finish


@dataclass
class _Pass:
    emitted: int = 0
    put_off: list[TryLater] = field(default_factory=list)


class Rounds:
    """Those of one watcher, one after the other."""

    def __init__(self, watcher: Watcher, setting: Setting) -> None:
        self._watcher = watcher
        self._setting = setting
        self._seen = Seen(setting.base, setting.bus, setting.clock)
        self._seen.make()
        self._record = Record(setting.base, watcher.name)
        self._waited: Counter[str] = Counter()
        self.at_least = 0.0  # the pause that is asked for after a round that failed

    def look(self) -> Looked:
        try:
            return self._look()
        except Exception:
            self.at_least = self._watcher.break_off()
            raise

    def _look(self) -> Looked:
        emitted = 0
        for _ in range(_MOST_PASSES):
            done = self._pass()
            emitted += done.emitted
            if done.put_off:
                raise done.put_off[0]
            self._seen.settle()
            finish = self._watcher.finish(emitted=done.emitted)
            if not finish.again:
                break
        return Looked(emitted, finish)

    def _pass(self) -> _Pass:
        done = _Pass()
        for page in self._watcher.fetch():
            found = [parsed(self._watcher, raw) for raw in page]
            fresh = self._completed(list(_distinct(self._new(found))), done)
            if fresh:
                self._watcher.remember(fresh)
                done.emitted += self._emit([one.event for one in fresh if one.event is not None])
            self._note([*found, *(one for one in fresh if one.event is None)])
            self._watcher.acknowledge(
                [one for one in found if one.event is None or one.event.id not in self._waited]
            )
        return done

    def _note(self, found: Sequence[Sighting]) -> None:
        log = self._setting.log
        for one in found:
            if one.event is None:
                is_news = one.is_odd and not (one.version and self._record.knows(one))
                tell = log.warning if is_news else log.debug
                tell("sighting.left_alone", about=one.about, reason=one.reason)
        self._record.add(found, self._setting.clock.now())

    def _new(self, found: Sequence[Sighting]) -> Iterator[Sighting]:
        for one in found:
            if one.event is not None and not self._seen.is_duplicate(one.event.id):
                yield one

    def _completed(self, fresh: list[Sighting], done: _Pass) -> list[Sighting]:
        """With their details; without, when those do not come after several rounds."""
        completed = []
        for one in fresh:
            assert one.event is not None
            try:
                completed.append(self._complete(one))
            except TryLater as error:
                # A limit is of the place, and is waited for however often.
                self._waited[one.event.id] += not getattr(error, "is_limit", False)
                if self._waited[one.event.id] < _PATIENCE:
                    done.put_off.append(error)
                    continue
                completed.append(one)
            self._waited.pop(one.event.id, None)
        return completed

    def _complete(self, one: Sighting) -> Sighting:
        try:
            return self._watcher.complete(one)
        except (KingdomError, OSError):
            raise
        except Exception as error:
            self._setting.log.error("sighting.without_details", about=one.about, exc_info=error)
            return one

    def _emit(self, events: list[Event]) -> int:
        setting = self._setting
        news = setting.bus.publish("events", *events)
        self._seen.mark(event.id for event in events)
        for event, is_new in zip(events, news, strict=True):
            if is_new:
                self._tell(event)
        return sum(news)

    def _tell(self, event: Event) -> None:
        setting = self._setting
        facts = {"event_id": event.id, "source": event.source, "event_type": event.type}
        setting.tell("event.detected", facts, event.trace_id)
        trust = {"trust": event.trust, "trust_reason": event.trust_reason}
        setting.log.info("event.detected", **trust, repo=event.repo, **facts)


def parsed(watcher: Watcher, raw: Any) -> Sighting:
    """What cannot be understood is left alone, and does not keep the others waiting."""
    try:
        return watcher.parse(raw)
    except OSError:
        raise
    except Exception as error:  # noqa: BLE001 - it comes from outside, and may be anything
        version = hashlib.sha256(repr(raw).encode("utf-8", "replace")).hexdigest()[:12]
        about = _name_of(raw) or f"something {version}"
        return Sighting(about, reason=_cannot_be(error), is_odd=True, version=version)


def _name_of(raw: Any) -> str:
    """As people or the place outside call it, if it has such a name at all."""
    if not isinstance(raw, dict):
        return ""
    names = (raw.get(one) for one in ("key", "id"))
    return next((one for one in names if isinstance(one, str) and _NAME.fullmatch(one)), "")


def _cannot_be(error: Exception) -> str:
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        said = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    else:
        said = f"{type(error).__name__}: {error}".splitlines()[0]
    return f"It cannot be understood ({said})."


def _distinct(sightings: Iterator[Sighting]) -> Iterator[Sighting]:
    known: set[str] = set()
    for one in sightings:
        assert one.event is not None
        if one.event.id not in known:
            known.add(one.event.id)
            yield one
