"""What a notification of GitHub's means: whether it concerns the kingdom, and what it is."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any

from kingdom.settings.sentinel import GithubScope

_REASONS = {
    "review_requested": "review_requested",
    "assign": "assigned",
    "mention": "mentioned",
    "team_mention": "mentioned",
    "comment": "comment",
    "state_change": "state_change",
}
KINDS = {"PullRequest": ("pr", "pull"), "Issue": ("issue", "issues")}


def out_of_scope(scope: GithubScope, repo: str, reason: str | None = None) -> str:
    """Why this is none of the kingdom's business; empty if it is."""
    names = [one.lower() for one in scope.repos]
    if names and not any(fnmatchcase(repo.lower(), one) for one in names):
        return f"{repo} is not among scope.repos."
    if scope.filter_reasons and reason and reason not in scope.filter_reasons:
        return f"The reason {reason} is not among scope.filter_reasons."
    return ""


def type_of(kind: str, reason: str) -> str:
    word = _REASONS.get(reason)
    if kind not in KINDS or word is None or (kind == "Issue" and word == "review_requested"):
        return f"github.notification.{reason}"
    return f"github.{KINDS[kind][0]}.{word}"


def login_of(subject: Mapping[str, Any]) -> str | None:
    user = subject.get("user")
    login = user.get("login") if isinstance(user, dict) else None
    return login if isinstance(login, str) else None


def head_and_base(pull: Mapping[str, Any]) -> dict[str, Any]:
    head, base = pull.get("head") or {}, pull.get("base") or {}
    return {
        "head_sha": head.get("sha"),
        "head_branch": head.get("ref"),
        "base_branch": base.get("ref"),
        "draft": pull.get("draft"),
    }
