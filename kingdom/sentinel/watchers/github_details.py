"""What a notification does not say itself: who wrote what it is about, and who caused it.

GitHub keeps a thread's reason: where a review was once requested, each comment that follows comes
as a request again, and names the comment. And it tells of the last one only, so all comments since
the last look are asked for: the least of those who wrote them counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from kingdom.clients.github import GitHub, Posted
from kingdom.clients.github_faults import GitHubRefused
from kingdom.models.event import Event
from kingdom.models.fields import read_timestamp
from kingdom.models.priority import priority_of
from kingdom.sentinel.trust import Judged, is_bot, lowest, named, of_author, of_pull
from kingdom.sentinel.watchers.github_reading import head_and_base, login_of, type_of
from kingdom.settings.sentinel import Trusted

AT_ONCE = timedelta(seconds=5)  # from a comment to the update that it is
AT_OPENING = timedelta(minutes=1)
_LATE = timedelta(minutes=1)  # that a notification may come after its comment
MOST_COMMENTS = 100  # of one page
_RESERVE = 0.1  # of the hourly quota, which is not spent on details
_BY_AUTHOR = ("review_requested", "assign")  # where the subject says who wants it
_MENTIONS = ("mention", "team_mention")  # where the subject itself may be what was said


class Details:
    def __init__(self, hub: GitHub, log: Any, trusted: Callable[[], Trusted]) -> None:
        """`trusted` is asked each time, since configuration may change."""
        self._hub = hub
        self._log = log
        self._trusted = trusted
        self._is_short = False  # of quota
        self._refusals: set[int] = set()  # codes that were told of

    def note_quota(self, headers: Mapping[str, str]) -> None:
        left, limit = (headers.get(f"x-ratelimit-{name}", "") for name in ("remaining", "limit"))
        if left.isdecimal() and limit.isdecimal():
            self._is_short = int(left) < int(limit) * _RESERVE

    def added_to(self, event: Event, comment_url: str | None, looked: datetime | None) -> Event:
        """`looked`: when GitHub was looked at before this, if it was."""
        told = event.payload
        subject = None if self._is_short else self._object(told["api_url"])
        if subject is None:
            return event
        trusts = [self._judged("author", subject, event)]
        details: dict[str, Any] = {"author": login_of(subject), "state": subject.get("state")}
        if told["subject_type"] == "PullRequest":
            trusts.append(of_pull(subject))
            details |= head_and_base(subject)
        comment = None
        if comment_url != told["api_url"]:
            comment = self._object(comment_url)
        if comment is not None:
            trusts.append(self._judged("comment of", comment, event))
            trusts += self._meanwhile(event, looked, comment_url)
            details |= {"comment_url": comment.get("html_url"), "by": login_of(comment)}
        elif not _is_by_author(event, subject, comment_url):
            trusts.append(Judged("outside", "GitHub does not say who caused it"))
        details["by_bot"] = self._is_by_bot(subject, comment)
        if isinstance(subject.get("html_url"), str):
            details["url"] = subject["html_url"]
        known = {name: value for name, value in details.items() if value is not None}
        type_ = event.type
        if comment is not None and _is_but(comment, event) and not self._is_wanted(event, subject):
            type_ = type_of(told["subject_type"], "comment")
        least = lowest(trusts)
        changes = {
            "type": type_,
            "priority": priority_of(type_),
            "trust": least.trust,
            "trust_reason": least.reason,
        }
        return event.model_copy(update={"payload": told | known, **changes})

    def _judged(self, what: str, written: Mapping[str, Any], event: Event) -> Judged:
        trust = of_author(written, event.repo or "", self._trusted())
        return Judged(trust, f"{what} {named(login_of(written))}")

    def _meanwhile(
        self, event: Event, looked: datetime | None, comment_url: str | None
    ) -> Iterator[Judged]:
        """How far others are trusted who commented since; our own words are nobody's."""
        number = event.payload["number"]
        if looked is None or number is None:
            return
        since = f"{(looked - _LATE).astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
        asked = {"since": since, "per_page": str(MOST_COMMENTS)}
        found = self._ask(f"/repos/{event.repo}/issues/{number}/comments", asked)
        if not isinstance(found, list) or len(found) >= MOST_COMMENTS:
            yield Judged("outside", "GitHub does not tell all who commented")
            return
        for one in found:
            if isinstance(one, dict) and one.get("url") != comment_url and not self._is_ours(one):
                yield self._judged("comment of", one, event)

    def _is_by_bot(self, subject: Mapping[str, Any], comment: Mapping[str, Any] | None) -> bool:
        """Whether a bot caused it, as far as anybody can tell: GitHub tells nobody of what they
        wrote themselves, so behind a comment of ours it is whoever wrote the subject."""
        is_ours = comment is not None and not is_bot(comment) and self._is_ours(comment)
        return is_bot(subject if comment is None or is_ours else comment)

    def _is_ours(self, comment: Mapping[str, Any]) -> bool:
        author, by_bot = login_of(comment) or "", is_bot(comment)
        return self._hub.is_mine(Posted("", author=author, by_bot=by_bot))

    def _is_wanted(self, event: Event, subject: Mapping[str, Any]) -> bool:
        """Whether a review is still asked for: whoever comments may have asked at the same time."""
        if event.payload["reason"] != "review_requested":
            return False
        asked = subject.get("requested_reviewers")
        people = asked if isinstance(asked, list) else []
        return bool(subject.get("requested_teams")) or any(
            self._is_ours({"user": one}) for one in people if isinstance(one, dict)
        )

    def _object(self, address: str | None) -> dict[str, Any] | None:
        found = self._ask(address) if address else None
        return found if isinstance(found, dict) else None

    def _ask(self, address: str, asked: Mapping[str, str] | None = None) -> Any:
        """None for what is gone, or is not for us."""
        try:
            reply = self._hub.look(address, asked)
        except GitHubRefused as error:
            if error.status == 401:
                raise
            self._note_refusal(address, error)
            return None
        self.note_quota(reply.headers)
        return reply.data

    def _note_refusal(self, address: str, error: GitHubRefused) -> None:
        """Once for each code: many that are gone are no news."""
        if error.status not in self._refusals:
            self._refusals.add(error.status)
            told = {"address": address, "status": error.status, "error": str(error)}
            self._log.info("github.refused", **told)


def _is_by_author(event: Event, subject: Mapping[str, Any], comment_url: str | None) -> bool:
    """Whether the subject's author is who caused it, as far as anybody can tell."""
    if event.payload["reason"] in _BY_AUTHOR:
        return True
    if event.payload["reason"] not in _MENTIONS or comment_url != event.payload["api_url"]:
        return False
    return _is_near(event, subject, "created_at", AT_OPENING)


def _is_but(comment: Mapping[str, Any], event: Event) -> bool:
    """Whether an update of a known thread is this comment, whatever the thread's reason."""
    if event.payload["reason"] not in _BY_AUTHOR or _is_first(event):
        return False
    moments = ("created_at", "updated_at", "submitted_at")
    return any(_is_near(event, comment, one, AT_ONCE) for one in moments)


def _is_first(event: Event) -> bool:
    return event.id == f"evt-{event.source}-{event.payload['thread_id']}"


def _is_near(event: Event, thing: Mapping[str, Any], name: str, most: timedelta) -> bool:
    try:
        moment = read_timestamp(thing.get(name))
    except ValueError:
        return False
    return abs(moment - read_timestamp(event.payload["updated_at"])) <= most
