"""What Jira says of a ticket, read with care: the text in it is other people's."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from kingdom.clients.jira import account_id
from kingdom.clients.jira_text import plain
from kingdom.clock import isoformat
from kingdom.models.fields import read_timestamp
from kingdom.sentinel.watchers.jira_state import Ticket

FIELDS = (
    "summary",
    "description",
    "status",
    "issuetype",
    "reporter",
    "assignee",
    "labels",
    "updated",
)
AT_ONCE = timedelta(seconds=2)  # from a comment to the update that it is
_LONGEST_TEXT = 20_000
_LONGEST_EARLIER = 2_000
_LONGEST_NAME = 500
_MOST_LABELS = 50
_WRITTEN = ("summary", "description", "labels")  # of what `FIELDS` has, that people write
_KEY = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,99}-[0-9]{1,18}")


def ticket_of(raw: Any) -> Ticket:
    fields, key = raw["fields"], str(raw["key"])
    if not isinstance(fields, dict) or not _KEY.fullmatch(key):
        raise ValueError("it is no ticket")
    status = fields.get("status")
    category = status.get("statusCategory") if isinstance(status, dict) else None
    return Ticket(
        id=str(raw["id"]),
        key=key,
        updated=read_timestamp(fields["updated"]),
        assignee=account_id(fields.get("assignee")),
        is_done=isinstance(category, dict) and category.get("key") == "done",
    )


def newest_of(issues: Sequence[Any]) -> datetime | None:
    return max(filter(None, map(_updated, issues)), default=None)


def identity_of(raw: Any) -> tuple[str, datetime | None]:
    """Of one update."""
    return (str(raw.get("id")), _updated(raw)) if isinstance(raw, dict) else ("", None)


def event_id(ticket: Ticket) -> str:
    return f"evt-jira-{ticket.key}-{ticket.updated.astimezone(UTC):%Y%m%d%H%M%S}"


def title_of(ticket: Ticket, fields: Mapping[str, Any]) -> str:
    return f"{ticket.key} {plain(fields.get('summary'), 80)}".strip()


def payload_of(ticket: Ticket, fields: Mapping[str, Any]) -> dict[str, Any]:
    labels = fields.get("labels")
    labels = labels[:_MOST_LABELS] if isinstance(labels, list) else []
    return {
        "key": ticket.key,
        "summary": plain(fields.get("summary"), _LONGEST_NAME),
        "description": plain(fields.get("description"), _LONGEST_TEXT),
        "status": _name(fields.get("status")),
        "issue_type": _name(fields.get("issuetype")),
        "project": ticket.project,
        "reporter": _name(fields.get("reporter")),
        "reporter_id": _id(fields.get("reporter")),
        "assignee": _name(fields.get("assignee")),
        "labels": [plain(one, _LONGEST_NAME) for one in labels],
        "updated_at": isoformat(ticket.updated),
    }


def between(
    comments: Sequence[dict[str, Any]], ticket: Ticket, since: datetime | None
) -> list[dict[str, Any]]:
    """Comments that are new with this update, the newest first. Of those that came after it, the
    next one will tell; on a ticket that was not known, only one that is the update itself is."""
    since = since or ticket.updated - AT_ONCE
    until = ticket.updated + timedelta(seconds=1)
    dated = [(created, one) for one in comments if (created := _moment(one, "created"))]
    recent = [pair for pair in dated if since < pair[0] < until]
    return [one for _, one in sorted(recent, key=lambda pair: pair[0], reverse=True)]


def is_the_update(comment: Mapping[str, Any], ticket: Ticket) -> bool:
    """And nothing came after it."""
    created = _moment(comment, "created")
    return created is not None and ticket.updated - created < AT_ONCE


def comments_told(comments: Sequence[Mapping[str, Any]], url: str) -> dict[str, Any]:
    """The newest, and beside it, shorter, those before it."""
    newest, *earlier = comments
    told = _comment_told(newest, url, _LONGEST_TEXT)
    if earlier:
        told["earlier_comments"] = [_comment_told(one, url, _LONGEST_EARLIER) for one in earlier]
    return told


def _comment_told(comment: Mapping[str, Any], url: str, longest: int) -> dict[str, Any]:
    return {
        "comment": plain(comment.get("body"), longest),
        "comment_by": _name(comment.get("author")),
        "comment_by_id": _id(comment.get("author")),
        "comment_url": f"{url}?focusedCommentId={plain(comment.get('id'), _LONGEST_NAME)}",
    }


def was_given(history: Sequence[Mapping[str, Any]], account: str, since: datetime) -> bool:
    """Whether the ticket was assigned to the account since then, whoever had it meanwhile."""
    for entry in history:
        moment, items = _moment(entry, "created"), entry.get("items")
        if moment is None or moment <= since or not isinstance(items, list):
            continue
        for one in items:
            if (
                isinstance(one, dict)
                and one.get("field") == "assignee"
                and one.get("to") == account
            ):
                return True
    return False


def editors(history: Sequence[Mapping[str, Any]]) -> Iterator[Any]:
    """Who changed a text of the ticket that soldiers read."""
    for entry in history:
        items = entry.get("items")
        for one in items if isinstance(items, list) else ():
            if isinstance(one, dict) and one.get("field") in _WRITTEN:
                yield entry.get("author")


def _updated(raw: Any) -> datetime | None:
    return _moment(raw.get("fields"), "updated") if isinstance(raw, dict) else None


def _moment(fields: Any, name: str) -> datetime | None:
    try:
        return read_timestamp(fields.get(name))
    except (ValueError, AttributeError):
        return None


def _name(value: Any) -> str | None:
    """As people call it, be it a person, a status or a type."""
    if not isinstance(value, dict):
        return None
    names = (plain(value.get(one), _LONGEST_NAME) for one in ("displayName", "name"))
    return next(filter(None, names), None)


def _id(user: Any) -> str | None:
    """As the setting `members` has it."""
    if not isinstance(user, dict):
        return None
    names = (plain(user.get(one), _LONGEST_NAME) for one in ("accountId", "name"))
    return next(filter(None, names), None)
