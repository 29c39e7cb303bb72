"""Whether the sentinel looks: marks of what it has seen grow old only while it does.

What is still listed outside is marked anew by every look. After a month without one, a mark may be
old while its notification is still listed.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from kingdom.models.fields import read_timestamp
from kingdom.store.paths import BaseDir
from kingdom.store.state import read_json

RECENT = timedelta(days=1)


def objection(base: BaseDir, now: datetime) -> str:
    """Why marks must stay; empty if each watcher that is on has looked of late."""
    found = read_json(base.path("state", "sentinel", "watchers.json"), {})
    watchers = found.items() if isinstance(found, dict) else ()
    blind = [name for name, one in watchers if not _looks(one, now)]
    return f"{' and '.join(sorted(blind))} did not look within a day." if blind else ""


def _looks(watcher: object, now: datetime) -> bool:
    if not isinstance(watcher, dict) or watcher.get("state") == "off":
        return True
    last = watcher.get("since" if watcher.get("state") == "trouble" else "last_look")
    try:
        return now - read_timestamp(last) < RECENT
    except ValueError:
        return False
