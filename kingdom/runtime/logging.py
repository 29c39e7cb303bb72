"""Logging, set up once per process: for people on a terminal, JSON lines otherwise.

Besides, every line goes to `logs/system.log` as `[time] [CATEGORY] [role] message`. No secret
passes: masking comes before anything is written. A log that cannot be written never stops a role.

structlog takes long to import, so only this module does, and only processes that log import it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping, MutableMapping
from typing import Any, Protocol

import structlog

from kingdom.clock import Clock, SystemClock, isoformat
from kingdom.runtime.own_output import goes_there
from kingdom.runtime.secrets import Masker
from kingdom.store import disk
from kingdom.store.paths import BaseDir

EventDict = MutableMapping[str, Any]

LEVELS = {"debug": 10, "info": 20, "warning": 30, "error": 40}
NO_COLOR_VARIABLE = "NO_COLOR"
_FIRST_WORD = re.compile(r"\w+")
_SHOWN_BEFORE = ("time", "level", "role", "event")


class Stream(Protocol):
    def write(self, text: str, /) -> object: ...

    def flush(self) -> None: ...

    def isatty(self) -> bool: ...


def configure(
    role: str,
    base: BaseDir,
    *,
    environment: Mapping[str, str],
    stream: Stream | None = None,
    clock: Clock | None = None,
    level: str = "info",
    secret_variables: Iterable[str] = (),
) -> None:
    """From here on, `get_logger()` writes for this role. `stream` is standard error by default."""
    target: Stream = sys.stderr if stream is None else stream
    people = target.isatty()
    is_doubled = stream is None and goes_there(base)
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.format_exc_info,
            _Head(role, clock or SystemClock()),
            _Masking(Masker(environment, secret_variables)),
            _SystemLog(base),
            *([_drop_written] if is_doubled else []),
            _for_people(environment) if people else _for_machines(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(LEVELS[level]),
        context_class=dict,
        logger_factory=lambda *_: _Output(target),
        cache_logger_on_first_use=False,
    )


def get_logger(**bound: Any) -> structlog.typing.FilteringBoundLogger:
    """A logger whose every line carries `bound`: ids always under the same keys."""
    logger: structlog.typing.FilteringBoundLogger = structlog.get_logger(**bound)
    return logger


class _Head:
    """Puts time, level, role and event first."""

    def __init__(self, role: str, clock: Clock) -> None:
        self._role = role
        self._clock = clock

    def __call__(self, logger: object, method: str, event: EventDict) -> EventDict:
        return {
            "time": isoformat(self._clock.now()),
            "level": event.pop("level", method),
            "role": event.pop("role", self._role),
            "event": str(event.pop("event", "")),
            **event,
        }


class _Masking:
    """Hides secrets, and whatever could steer a terminal or be refused by a stream."""

    def __init__(self, masker: Masker) -> None:
        self._masker = masker

    def __call__(self, logger: object, method: str, event: EventDict) -> EventDict:
        masked: EventDict = _harmless(self._masker.value(event))
        return masked


def _harmless(value: Any) -> Any:
    if isinstance(value, str):
        return _escaped(value, keep="\n\t")
    if isinstance(value, dict):
        return {_harmless(key): _harmless(item) for key, item in value.items()}
    return [_harmless(item) for item in value] if isinstance(value, list) else value


def _escaped(text: str, keep: str = "") -> str:
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() or c in keep else c.encode("unicode_escape").decode() for c in text
    )


class _SystemLog:
    """The text form in `logs/system.log`; says on the console when that cannot be written."""

    def __init__(self, base: BaseDir) -> None:
        self._path = base.system_log

    def __call__(self, logger: object, method: str, event: EventDict) -> EventDict:
        try:
            disk.append_line(self._path, text_line(event).encode() + b"\n")
        except OSError as error:
            event["system_log"] = f"not written: {error.strerror}"
        return event


def _drop_written(logger: object, method: str, event: EventDict) -> EventDict:
    """Nothing is kept twice: what went to `system.log` is not for the output's own log."""
    if "system_log" not in event:
        raise structlog.DropEvent
    return event


def text_line(event: Mapping[str, Any]) -> str:
    """`[time] [CATEGORY] [role] message`, whatever the message holds, on one line."""
    word = _FIRST_WORD.search(event["event"])
    category = word[0].split("_")[0].upper() if word else "SYSTEM"
    level = "" if event["level"] in ("info", "debug") else f"{event['level']}: "
    pairs = [f"{key}={_plain(event[key])}" for key in event if key not in _SHOWN_BEFORE]
    message = " ".join([level + event["event"], *pairs])
    return _escaped(f"[{event['time']}] [{category}] [{event['role']}] {message}")


def _plain(value: Any) -> str:
    text = value if isinstance(value, str) else repr(value)
    return repr(text) if " " in text and "\n" not in text else text


def _for_people(environment: Mapping[str, str]) -> structlog.typing.Processor:
    return structlog.dev.ConsoleRenderer(
        colors=not environment.get(NO_COLOR_VARIABLE),
        exception_formatter=structlog.dev.plain_traceback,
        timestamp_key="time",
    )


def _for_machines() -> structlog.typing.Processor:
    return structlog.processors.JSONRenderer(ensure_ascii=False)


class _Output:
    """One line per call; a closed pipe or a full disk behind it is nobody's business here."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream

    def msg(self, line: str) -> None:
        try:
            self._stream.write(f"{line}\n")
            self._stream.flush()
        except (OSError, ValueError):
            return

    debug = info = warning = error = critical = exception = log = msg
