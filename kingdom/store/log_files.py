"""What logs are called once they are put away.

`system.log.old`, and `events-20260207.log` for the events of a day. A second one of the same name
gets a number, so that it never takes the first one's place: `.old.2`, `events-20260207-2.log`.
"""

from __future__ import annotations

import os
import re
from datetime import date

from kingdom.store import disk
from kingdom.store.paths import BaseDir

_OLD = re.compile(r"(?P<log>.+\.log)\.old(?:\.(?P<number>[0-9]{1,9}))?")
_DAY = re.compile(r"events-(?P<day>[0-9]{8})(?:-(?P<number>[0-9]{1,9}))?\.log")


def is_put_away(name: str) -> bool:
    return _OLD.fullmatch(name) is not None or _DAY.fullmatch(name) is not None


def put_away(path: str) -> list[str]:
    """Those of this log, oldest first."""
    directory, log = os.path.split(path)
    found = (_OLD.fullmatch(name) for name in disk.names(directory))
    own = sorted((_number(one), one[0]) for one in found if one and one["log"] == log)
    return [os.path.join(directory, name) for _, name in own]


def put_away_events(base: BaseDir) -> list[str]:
    """Internal events of earlier days, and of today as far as they were put away; oldest first."""
    found = (_DAY.fullmatch(name) for name in disk.names(base.logs))
    days = sorted((one["day"], _number(one), one[0]) for one in found if one)
    return [*(base.path("logs", name) for *_, name in days), *put_away(base.events_log)]


def next_name(path: str) -> str:
    """Where this log goes now."""
    last = [_OLD.fullmatch(os.path.basename(one)) for one in put_away(path)[-1:]]
    return f"{path}.old" + "".join(f".{_number(one) + 1}" for one in last if one)


def next_events_name(base: BaseDir, day: date) -> str:
    """Where internal events go that begin on this day."""
    spelled = day.isoformat().replace("-", "")  # four digits also of a damaged line's year
    found = (_DAY.fullmatch(os.path.basename(one)) for one in put_away_events(base))
    numbers = [_number(one) for one in found if one and one["day"] == spelled]
    more = f"-{max(numbers) + 1}" if numbers else ""
    return base.path("logs", f"events-{spelled}{more}.log")


def _number(found: re.Match[str]) -> int:
    return int(found["number"] or 1)
