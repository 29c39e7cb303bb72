"""`config/sentinel.yaml`: what is watched outside."""

from __future__ import annotations

from pydantic import Field

from kingdom.settings.section import Seconds, Section, Variable


class GithubScope(Section):
    """What of GitHub concerns the kingdom."""

    repos: list[str] = Field(
        default_factory=list,
        description="Repositories, as globs. Empty: all.",
        examples=[["acme/frontend", "acme/service-*"]],
    )
    filter_reasons: list[str] = Field(
        default_factory=list,
        description="Notification reasons to take up. Empty: all.",
        examples=[["review_requested", "assign", "mention"]],
    )


class GithubWatcher(Section):
    """GitHub notifications of the token's owner."""

    interval_seconds: Seconds = 60.0
    api_url: str = "https://api.github.com"
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
    url: str = Field(min_length=1, examples=["https://example.atlassian.net"])
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
        description="Whose tickets and comments count as a member's where Jira itself does not "
        "tell (server, data center): names or e-mail addresses, as globs.",
        examples=[["*@acme.example"]],
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


class SentinelSettings(Section):
    """The sentinel: what it watches outside."""

    polling: Watchers = Field(
        default_factory=lambda: Watchers(inbox=InboxWatcher()),
        description="The watchers. One that is not named here is off.",
    )
