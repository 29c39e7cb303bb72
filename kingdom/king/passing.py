"""The general that answers people may say who should do it instead (`route` in its result). Pure.

It goes one step and no further. The new task has the same payload, thread and trace; it is no new
work to be let in, since the one that it comes from has ended.
"""

from __future__ import annotations

from datetime import datetime

from kingdom.king.chat import CHAT, ROUTED_BY, is_chat
from kingdom.king.commands import Refusal
from kingdom.king.outcomes import AnyResult, Draft
from kingdom.king.routing import first_payload
from kingdom.models.message import ThreadUpdate
from kingdom.models.priority import NORMAL
from kingdom.models.result import Skipped, Success
from kingdom.models.task import Task
from kingdom.runtime.config import Config
from kingdom.words import Words
from kingdom.words.harmless import at_a_glance


def wanted(result: AnyResult, task: Task, config: Config) -> str:
    """The general it is to go to; empty if it stays where it is."""
    if not isinstance(result, Success | Skipped) or not result.route:
        return ""
    takers = (config.route(one) for one in CHAT)
    hears = any(one is not None and one.name == task.target_general for one in takers)
    return result.route if hears and result.route != task.target_general else ""


def check(name: str, task: Task, config: Config) -> None:
    """Raises `Refusal` if that one may not have it."""
    shown = at_a_glance(name)
    if name not in config.generals:
        raise Refusal("king_route_unknown", general=shown)
    if ROUTED_BY in first_payload(task):
        raise Refusal("king_route_again", general=shown)
    if task.trust != "member":
        raise Refusal("king_route_not_yours", general=shown)


def successor(name: str, task: Task, config: Config, task_id: str, now: datetime) -> Task:
    manifest = config.generals[name].manifest
    return Task(
        id=task_id,
        event_id=task.event_id,
        target_general=name,
        type=task.type if is_chat(task.type) else CHAT[0],
        payload={**first_payload(task), ROUTED_BY: task.id},
        priority=manifest.priority or NORMAL,
        created_at=now,
        repo=task.repo or manifest.default_repo,
        trust=task.trust,
        trust_reason=task.trust_reason,
        trace_id=task.trace_id,
    )


def announcement(summary: str, original: Task, task: Task, words: Words) -> Draft:
    """In the thread of the task that passed it on, which the new one inherits."""
    said = words("king_routed", general=task.target_general, task=task.id)
    context = {"inherits": original.id, "answers": original.id}
    return Draft(ThreadUpdate, f"{summary}\n{said}".lstrip(), {"context": context})
