"""How far an author is trusted: member > outside > fork > bot. Of several, the least counts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from kingdom.models.fields import Trust

_ORDER: tuple[Trust, ...] = ("member", "outside", "fork", "bot")
_MEMBERS = ("OWNER", "MEMBER", "COLLABORATOR")


def lowest(trusts: Iterable[Trust]) -> Trust:
    return max(trusts, key=_ORDER.index)


def of_author(subject: Mapping[str, Any]) -> Trust:
    """Of whoever wrote an issue, a pull request or a comment on GitHub."""
    user = subject.get("user")
    user = user if isinstance(user, dict) else {}
    if user.get("type") == "Bot" or str(user.get("login", "")).endswith("[bot]"):
        return "bot"
    return "member" if subject.get("author_association") in _MEMBERS else "outside"


def of_pull(pull: Mapping[str, Any]) -> Trust:
    """Of where its commits come from: another repository than they are meant for is a fork, also
    one that is gone."""
    source, target = (_repository(pull.get(side)) for side in ("head", "base"))
    return "member" if source and source == target else "fork"


def _repository(side: Any) -> str:
    repo = side.get("repo") if isinstance(side, dict) else None
    return str(repo.get("full_name", "")) if isinstance(repo, dict) else ""


_ACCOUNTS: dict[object, Trust] = {"atlassian": "member", "app": "bot"}


def of_jira_user(user: Any, members: Sequence[str]) -> Trust:
    """A cloud says what kind of account it is, customers included; other Jiras do not, so there
    those are members whom the settings name."""
    if not isinstance(user, dict):
        return "outside"
    kind = user.get("accountType")
    if kind is not None:
        return _ACCOUNTS.get(kind, "outside")
    names = [str(user.get(name, "")).lower() for name in ("name", "emailAddress")]
    is_member = any(name and fnmatchcase(name, one.lower()) for name in names for one in members)
    return "member" if is_member else "outside"
