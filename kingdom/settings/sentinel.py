"""`config/sentinel.yaml`: what is watched outside."""

from __future__ import annotations

import re
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from kingdom.settings.section import Seconds, Section, Variable
from kingdom.settings.wording import shown

REASONS = (
    "approval_requested",
    "assign",
    "author",
    "ci_activity",
    "comment",
    "invitation",
    "manual",
    "member_feature_requested",
    "mention",
    "review_requested",
    "security_advisory_credit",
    "security_alert",
    "state_change",
    "subscribed",
    "team_mention",
)
_REPOSITORY = r"[^/\s]+/[^/\s]+"
_OWNER = r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}"
_OWNED = rf"{_OWNER}/[^/\s]+"


def _reason(text: str) -> str:
    if text in REASONS:
        return text
    import difflib

    near = difflib.get_close_matches(text.lower(), REASONS, n=1)
    meant = f" (did you mean {near[0]}?)" if near else ""
    said = f"{shown(text)} is no reason of GitHub's{meant}; there are {', '.join(REASONS)}"
    raise PydanticCustomError("reason", "{said}", {"said": said})


def _repository(glob: str) -> str:
    if re.fullmatch(_REPOSITORY, glob) is None:
        said = f"{shown(glob)} must have the form owner/name, such as acme/web or acme/*"
        raise PydanticCustomError("repository", "{said}", {"said": said})
    return glob


def _owner(name: str) -> str:
    if re.fullmatch(_OWNER, name) is None:
        said = f"{shown(name)} must be one name on GitHub, such as ada or acme, without globs"
        raise PydanticCustomError("owner", "{said}", {"said": said})
    return name


def _owned(glob: str) -> str:
    if re.fullmatch(_OWNED, glob) is None or not glob.isascii():
        said = (
            f"{shown(glob)} must have the form owner/name, such as acme/web or acme/*, with the "
            "whole name of the owner"
        )
        raise PydanticCustomError("owned", "{said}", {"said": said})
    return glob


def _web_address(url: str) -> str:
    """It is not repeated: people write passwords into addresses."""
    try:
        parts = urlsplit(url)
        is_one = parts.scheme in ("http", "https") and parts.hostname and not parts.username
    except ValueError:
        is_one = False
    if not is_one or not url.isprintable() or " " in url:
        raise PydanticCustomError(
            "web_address",
            "must be an address that begins with https:// or http://, without a name or password",
        )
    return url


Reason = Annotated[str, AfterValidator(_reason), Field(json_schema_extra={"enum": list(REASONS)})]
Repository = Annotated[
    str, AfterValidator(_repository), Field(json_schema_extra={"pattern": f"^{_REPOSITORY}$"})
]
Owner = Annotated[str, AfterValidator(_owner), Field(json_schema_extra={"pattern": f"^{_OWNER}$"})]
OwnedRepository = Annotated[
    str, AfterValidator(_owned), Field(json_schema_extra={"pattern": f"^{_OWNED}$"})
]
WebAddress = Annotated[
    str, AfterValidator(_web_address), Field(json_schema_extra={"pattern": "^https?://"})
]


class GithubScope(Section):
    """What of GitHub concerns the kingdom."""

    repos: list[Repository] = Field(
        default_factory=list,
        description="Repositories (owner/name), as globs. Empty: all.",
        examples=[["acme/frontend", "acme/service-*"]],
    )
    filter_reasons: list[Reason] = Field(
        default_factory=list,
        description="Notification reasons to take up. Empty: all.",
        examples=[["review_requested", "assign", "mention"]],
    )


class GithubWatcher(Section):
    """GitHub notifications of the token's owner."""

    interval_seconds: Seconds = 60.0
    api_url: WebAddress = "https://api.github.com"
    token_env: Variable = Field(default="GH_TOKEN", description="Variable that holds the token.")
    scope: GithubScope = Field(default_factory=GithubScope)
    mark_read: bool = Field(
        default=False,
        description="Mark notifications as read once they are events; it clears your own inbox.",
    )


class JiraScope(Section):
    """What of Jira concerns the kingdom."""

    jql_base: str = Field(
        default="assignee = currentUser()",
        description="JQL that tickets must match. An ORDER BY in it is passed over.",
    )
    repos: dict[str, str] = Field(
        default_factory=dict,
        description="The repository of each project's tickets. Others: the general's default_repo.",
        examples=[{"SHOP": "acme/shop"}],
    )


class JiraWatcher(Section):
    """Jira tickets."""

    interval_seconds: Seconds = 300.0
    url: WebAddress = Field(examples=["https://example.atlassian.net"])
    email_env: Variable = Field(
        default="JIRA_USER_EMAIL", description="Variable that holds the account (cloud only)."
    )
    token_env: Variable = Field(
        default="JIRA_API_TOKEN", description="Variable that holds the token."
    )
    scope: JiraScope = Field(default_factory=JiraScope)
    first_days: int = Field(
        default=1,
        ge=0,
        le=3650,
        description="At the very first look: tickets updated in so many days before it. Older ones "
        "are taken up when they are updated next.",
    )
    members: list[str] = Field(
        default_factory=list,
        description="Whose tickets and comments count as a member's: account ids, and names or "
        "e-mail addresses as globs. A cloud often hides e-mail addresses; kingdom sentinel try "
        "jira shows account ids.",
        examples=[["5b10ac8d82e05b22cc7d4ef5", "*@acme.example"]],
    )


class InboxWatcher(Section):
    """JSON files that scripts drop into queue/inbox/."""

    interval_seconds: Seconds = 10.0


class Watchers(Section):
    """A watcher that is not named here is off."""

    github: GithubWatcher | None = Field(
        default=None, description="Watches GitHub notifications; needs a token."
    )
    jira: JiraWatcher | None = Field(
        default=None, description="Watches Jira tickets; needs a token."
    )
    inbox: InboxWatcher | None = Field(
        default=None, description="Takes up files that scripts drop into queue/inbox/."
    )


class Trusted(Section):
    """Whose words on GitHub count as a member's. Forks and bots never do."""

    people: list[Owner] = Field(
        default_factory=list,
        description="GitHub logins: members wherever they write.",
        examples=[["ada", "grace"]],
    )
    repos: list[OwnedRepository] = Field(
        default_factory=list,
        description="Repositories (owner/name, the name as a glob) in which those are members whom "
        "GitHub calls owner, member or collaborator.",
        examples=[["acme/frontend", "acme/service-*"]],
    )
    organisations: list[Owner] = Field(
        default_factory=list,
        description="The same for all repositories of these owners.",
        examples=[["acme"]],
    )


class SentinelSettings(Section):
    """The sentinel: what it watches outside."""

    trust: Trusted = Field(
        default_factory=Trusted,
        description="Whose words on GitHub count as a member's; nobody's while it is empty.",
    )
    polling: Watchers = Field(
        default_factory=lambda: Watchers(inbox=InboxWatcher()),
        description="The watchers. One that is not named here is off.",
    )
