"""What work of each trust may use and do with a general, as its soldiers and the general get it."""

from __future__ import annotations

from typing import NamedTuple, get_args

from kingdom.general import allowance
from kingdom.models.action import Kind
from kingdom.models.fields import Network, Trust
from kingdom.models.manifest import Manifest

TRUSTS: tuple[Trust, ...] = get_args(Trust)


class Rights(NamedTuple):
    """`tools` is None for the engine's own default, `budget_usd` if only chamberlain.yaml limits
    it."""

    tools: tuple[str, ...] | None
    env: tuple[str, ...]
    network: Network
    hosts: tuple[str, ...]
    actions: tuple[Kind, ...]
    approve: tuple[Kind, ...]  # of the actions, those that a person approves first
    model: dict[str, str]
    budget_usd: float | None


class _Work(NamedTuple):
    trust: Trust | None


def rights(manifest: Manifest) -> dict[Trust, Rights]:
    return {trust: _of(manifest, _Work(trust)) for trust in TRUSTS}


def _of(manifest: Manifest, work: _Work) -> Rights:
    permissions = manifest.permissions
    actions = allowance.actions_for(work, permissions)
    network = allowance.network_for(work, permissions)
    first = allowance.approved_first(work, permissions)
    return Rights(
        tools=allowance.tools_for(work, permissions),
        env=allowance.variables_for(work, permissions),
        network=network,
        hosts=allowance.hosts_for(work, permissions) if network == "engine" else (),
        actions=actions,
        approve=tuple(kind for kind in actions if kind in first),
        model=allowance.models_for(work, manifest),
        budget_usd=allowance.budget_for(work, manifest),
    )
