"""What servers say about time, sense and nonsense."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from kingdom.clients.waits import http_date, named_wait

NOW = datetime(2026, 11, 15, 8, 0, tzinfo=UTC)
LONGEST = timedelta(hours=2)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "soon",
        "Mon, 01 Jan 0100 00:00:00 GMT",
        "Mon, 01 Jan 0100 00:00:00 +1200",
        "Fri, 31 Dec 9999 23:59:59 -1200",
        "Fri, 31 Dec 9999 23:59:59 GMT",
        "Fri, 31 Dec 99999 23:59:59 GMT",
    ],
)
def test_a_date_that_is_none_or_beyond_reckoning(text: str) -> None:
    assert http_date(text) is None
    assert named_wait({"retry-after": text}, NOW, LONGEST) is None


def test_a_date() -> None:
    assert http_date("Sun, 15 Nov 2026 08:00:00 GMT") == NOW
    assert http_date("Sun, 15 Nov 2026 17:00:00 +0900") == NOW
    later = {"retry-after": "Sun, 15 Nov 2026 08:01:00 GMT"}
    assert named_wait(later, NOW, LONGEST) == timedelta(minutes=1)
