"""What of the general's environment a soldier sees: an allow-list, never a credential of ours."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kingdom.models.action import Kind
from kingdom.models.fields import Trust
from kingdom.models.manifest import Permissions
from kingdom.models.task import Task
from kingdom.outbound.credentials import own_variables
from kingdom.settings.loading import Settings

BASIC = ("PATH", "HOME", "LANG", "TERM", "TZ", "TMPDIR", "USER", "SHELL")
_LOCALE = "LC_"
NOT_KNOWN: Trust = "outside"


def environment_for(
    task: Task,
    permissions: Permissions,
    settings: Settings,
    environment: Mapping[str, str],
    of_engine: Iterable[str] = (),
) -> dict[str, str]:
    """`of_engine` is what the engine's own program needs, such as its login."""
    named = {*_variables(task, permissions), *BASIC, *of_engine}
    wanted = named - own_variables(settings)
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


def network_for(task: Task, permissions: Permissions) -> bool | None:
    narrowed = permissions.by_trust.get(task.trust or NOT_KNOWN)
    if permissions.network is False or narrowed is None or narrowed.network is None:
        return permissions.network
    return narrowed.network


def actions_for(task: Task, permissions: Permissions) -> tuple[Kind, ...]:
    """What its general may do outside on its word; nothing that the manifest does not name."""
    named = permissions.actions or []
    narrowed = permissions.by_trust.get(task.trust or NOT_KNOWN)
    if narrowed is None or narrowed.actions is None:
        return tuple(named)
    return tuple(kind for kind in named if kind in narrowed.actions)
