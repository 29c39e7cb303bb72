"""What work of each trust may use and do: the stricter of what the manifest gives to all work and
what it gives to work of this trust. The environment is an allow-list, never a credential of ours.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from kingdom.models.action import Kind
from kingdom.models.fields import Network, NetworkChoice, Trust
from kingdom.models.manifest import Manifest, Permissions
from kingdom.outbound.credentials import own_variables
from kingdom.settings.loading import Settings

BASIC = ("PATH", "HOME", "LANG", "TERM", "TZ", "TMPDIR", "USER", "SHELL")
_LOCALE = "LC_"
NOT_KNOWN: Trust = "outside"
_WIDER: tuple[Network, ...] = ("none", "engine", "full")
_SHELL = "Bash"


class Work(Protocol):
    """A task, of which only the trust counts here."""

    @property
    def trust(self) -> Trust | None: ...


def environment_for(
    work: Work,
    permissions: Permissions,
    settings: Settings,
    environment: Mapping[str, str],
    of_engine: Iterable[str] = (),
) -> dict[str, str]:
    """`of_engine` is what the engine's own program needs, such as its login."""
    named = {*variables_for(work, permissions), *BASIC, *of_engine}
    wanted = named - own_variables(settings)
    return {
        name: value
        for name, value in environment.items()
        if name in wanted or name.startswith(_LOCALE)
    }


def variables_for(work: Work, permissions: Permissions) -> tuple[str, ...]:
    """What the manifest passes on; work of less trusted people may get less of it, never more."""
    named = permissions.env or []
    narrowed = permissions.by_trust.get(work.trust or NOT_KNOWN)
    if narrowed is None or narrowed.env is None:
        return tuple(named)
    return tuple(name for name in named if name in narrowed.env)


def tools_for(work: Work, permissions: Permissions) -> tuple[str, ...] | None:
    narrowed = permissions.by_trust.get(work.trust or NOT_KNOWN)
    if narrowed is None or narrowed.tools is None:
        return None if permissions.tools is None else tuple(permissions.tools)
    if permissions.tools is None:
        return tuple(narrowed.tools)
    return tuple(tool for tool in permissions.tools if tool in narrowed.tools)


def without_shell(tools: tuple[str, ...] | None, default: tuple[str, ...]) -> tuple[str, ...]:
    """For soldiers that no sandbox surrounds."""
    return tuple(tool for tool in tools or default if tool.partition("(")[0] != _SHELL)


def network_for(work: Work, permissions: Permissions) -> Network:
    """The narrower of what the manifest says of all work, and of work of this trust."""
    narrowed = permissions.by_trust.get(work.trust or NOT_KNOWN)
    said = [_network(permissions.network)]
    if narrowed is not None and narrowed.network is not None:
        said.append(_network(narrowed.network))
    return min(said, key=_WIDER.index)


def _network(choice: NetworkChoice) -> Network:
    if choice is None or isinstance(choice, bool):
        return "full" if choice else "engine"
    return choice


def hosts_for(work: Work, permissions: Permissions) -> tuple[str, ...]:
    named = permissions.hosts or []
    narrowed = permissions.by_trust.get(work.trust or NOT_KNOWN)
    if narrowed is None or narrowed.hosts is None:
        return tuple(named)
    return tuple(host for host in named if host in narrowed.hosts)


def actions_for(work: Work, permissions: Permissions) -> tuple[Kind, ...]:
    """What its general may do outside on its word; nothing that the manifest does not name."""
    named = permissions.actions or []
    narrowed = permissions.by_trust.get(work.trust or NOT_KNOWN)
    if narrowed is None or narrowed.actions is None:
        return tuple(named)
    return tuple(kind for kind in named if kind in narrowed.actions)


def approved_first(work: Work, permissions: Permissions) -> frozenset[Kind]:
    """The actions that a person approves before they are done. Less trusted work may need more
    approval, never less. A pull request pushes, so it needs what a push needs."""
    narrowed = permissions.by_trust.get(work.trust or NOT_KNOWN)
    named = {*(permissions.approve or ()), *((narrowed and narrowed.approve) or ())}
    if "push" in named:
        named.add("pull_request")
    return frozenset(named)


def models_for(work: Work, manifest: Manifest) -> dict[str, str]:
    """By engine."""
    narrowed = manifest.permissions.by_trust.get(work.trust or NOT_KNOWN)
    named = manifest.model if narrowed is None else manifest.model | narrowed.model
    return {str(engine): model for engine, model in named.items()}


def budget_for(work: Work, manifest: Manifest) -> float | None:
    narrowed = manifest.permissions.by_trust.get(work.trust or NOT_KNOWN)
    named = (manifest.limits.budget_usd, narrowed.budget_usd if narrowed else None)
    return min((one for one in named if one is not None), default=None)
