"""What of the general's environment a soldier sees: an allow-list, never a credential of ours."""

from __future__ import annotations

from collections.abc import Mapping

from kingdom.models.fields import Trust
from kingdom.models.manifest import Permissions
from kingdom.models.task import Task
from kingdom.settings.loading import Settings
from kingdom.settings.model import BUS_VARIABLE

BASIC = ("PATH", "HOME", "LANG", "TERM", "TZ", "TMPDIR", "USER", "SHELL")
_LOCALE = "LC_"
NOT_KNOWN: Trust = "outside"


def environment_for(
    task: Task,
    permissions: Permissions,
    settings: Settings,
    environment: Mapping[str, str],
) -> dict[str, str]:
    wanted = (set(_variables(task, permissions)) | set(BASIC)) - credentials(settings)
    return {
        name: value
        for name, value in environment.items()
        if name in wanted or name.startswith(_LOCALE)
    }


def _variables(task: Task, permissions: Permissions) -> list[str]:
    """What the manifest passes on; work of less trusted people may get less of it, never more."""
    named = permissions.env or []
    narrowed = permissions.by_trust.get(task.trust or NOT_KNOWN)
    if narrowed is None or narrowed.env is None:
        return named
    return [name for name in named if name in narrowed.env]


def tools_for(task: Task, permissions: Permissions) -> tuple[str, ...] | None:
    narrowed = permissions.by_trust.get(task.trust or NOT_KNOWN)
    if narrowed is None or narrowed.tools is None:
        return None if permissions.tools is None else tuple(permissions.tools)
    if permissions.tools is None:
        return tuple(narrowed.tools)
    return tuple(tool for tool in permissions.tools if tool in narrowed.tools)


def credentials(settings: Settings) -> set[str]:
    """The variables that hold the kingdom's own; a manifest that names one does not get it."""
    watchers, slack = settings.sentinel.polling, settings.envoy.slack
    names = {BUS_VARIABLE, slack.bot_token_env, slack.app_token_env}
    if watchers.github is not None:
        names.add(watchers.github.token_env)
    if watchers.jira is not None:
        names |= {watchers.jira.email_env, watchers.jira.token_env}
    return names
