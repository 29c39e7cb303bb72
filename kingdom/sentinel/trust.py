"""How far an author is trusted: member > outside > fork > bot. Of several, the least counts.

The settings say who is a member; GitHub and Jira are believed only where the settings name the
repository. Names are compared whole, and only ASCII letters without regard to case, so that no
other letter passes for one of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from kingdom.models.fields import Trust
from kingdom.settings.sentinel import Trusted

_ORDER: tuple[Trust, ...] = ("member", "outside", "fork", "bot")
_MEMBERS = ("OWNER", "MEMBER", "COLLABORATOR")
_LONGEST_NAME = 100


class Judged(NamedTuple):
    """How far something that was written is trusted, and what it was: comment of mallory."""

    trust: Trust
    what: str

    @property
    def reason(self) -> str | None:
        """Why it is not a member's."""
        return None if self.trust == "member" else self.what


def lowest(judged: Iterable[Judged]) -> Judged:
    """The first of those that are trusted least."""
    return max(judged, key=lambda one: _ORDER.index(one.trust))


def is_bot(subject: Mapping[str, Any]) -> bool:
    """Whether a bot wrote an issue, a pull request or a comment on GitHub."""
    user = subject.get("user")
    user = user if isinstance(user, dict) else {}
    return user.get("type") == "Bot" or str(user.get("login") or "").endswith("[bot]")


def of_author(subject: Mapping[str, Any], repo: str, trusted: Trusted) -> Trust:
    """Of whoever wrote an issue, a pull request or a comment in this repository on GitHub."""
    user = subject.get("user")
    login = str(user.get("login") or "") if isinstance(user, dict) else ""
    if is_bot(subject):
        return "bot"
    is_listed = _lower(login) in map(_lower, trusted.people)
    is_theirs = subject.get("author_association") in _MEMBERS and _is_listed(repo, trusted)
    return "member" if is_listed or is_theirs else "outside"


def _is_listed(repo: str, trusted: Trusted) -> bool:
    owner, slash, _ = _lower(repo).partition(b"/")
    if not slash:
        return False
    if owner in map(_lower, trusted.organisations):
        return True
    return any(fnmatchcase(_lower(repo), _lower(one)) for one in trusted.repos)


def _lower(text: str) -> bytes:
    return text.encode("utf-8", "replace").lower()


def of_pull(pull: Mapping[str, Any]) -> Judged:
    """Of where its commits come from: another repository than they are meant for is a fork, also
    one that is gone."""
    source, target = (_repository(pull.get(side)) for side in ("head", "base"))
    if source and source == target:
        return Judged("member", "commits")
    return Judged("fork", f"commits of {named(source)}")


def _repository(side: Any) -> str:
    repo = side.get("repo") if isinstance(side, dict) else None
    return str(repo.get("full_name", "")) if isinstance(repo, dict) else ""


def of_jira_user(user: Any, members: Sequence[str]) -> Trust:
    """A display name counts for nothing, since everybody chooses their own. A customer of a service
    desk is none of ours, whatever address they signed up with."""
    if not isinstance(user, dict):
        return "outside"
    kind = user.get("accountType")
    if kind == "app":
        return "bot"
    if kind == "customer":
        return "outside"
    if _lower(str(user.get("accountId") or "")) in [_lower(one) for one in members if one]:
        return "member"
    names = [_lower(str(user.get(name) or "")) for name in ("name", "emailAddress")]
    is_listed = any(name and fnmatchcase(name, _lower(one)) for name in names for one in members)
    return "member" if is_listed else "outside"


def jira_name(user: Any) -> str:
    """As people know it, and what `members` can name it by."""
    if not isinstance(user, dict):
        return named("")
    return f"{named(user.get('displayName'))} ({named(user.get('accountId') or user.get('name'))})"


def named(name: Any) -> str:
    """On one line, since others chose it; somebody without a name, too."""
    text = " ".join(name.split()) if isinstance(name, str) else ""
    return text[:_LONGEST_NAME] or "somebody unknown"
