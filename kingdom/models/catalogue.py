"""The catalogue of internal events: each type, who may emit it, and the data it carries.

New internal events are added here first; nothing outside this table can be emitted. The words of
the workflow events are the seed's, dotted and in snake_case: there, `task_id` is a step's id.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType, NoneType

Types = tuple[type, ...]

TEXT: Types = (str,)
MAYBE_TEXT: Types = (str, NoneType)
WHOLE: Types = (int,)
NUMBER: Types = (int, float)
FLAG: Types = (bool,)
LIST: Types = (list,)

EVERY_ROLE = ("sentinel", "king", "general", "envoy", "chamberlain", "operator")


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the catalogue. Actors are roles: `general` stands for every `gen-…`."""

    type: str
    actors: tuple[str, ...]
    data: Mapping[str, Types]

    @property
    def category(self) -> str:
        return self.type.partition(".")[0]


def _entry(type_: str, actors: str, **data: Types) -> Entry:
    return Entry(type_, tuple(actors.split()), MappingProxyType(data))


EXTERNAL = (
    _entry(
        "event.detected", "sentinel envoy operator", event_id=TEXT, source=TEXT, event_type=TEXT
    ),
    _entry("event.dispatched", "king", event_id=TEXT, task_id=TEXT, target_general=TEXT),
    _entry("event.discarded", "king", event_id=TEXT, event_type=TEXT, reason=TEXT),
    _entry("event.deferred", "king", event_id=TEXT, event_type=TEXT, reason=TEXT),
    _entry("event.superseded", "king", event_id=TEXT, event_type=TEXT, superseded_by=TEXT),
)
TASKS = (
    _entry(
        "task.created",
        "king",
        task_id=TEXT,
        event_type=TEXT,
        target_general=TEXT,
        priority=TEXT,
    ),
    _entry("task.trust_lowered", "king", task_id=TEXT, trust=TEXT, reason=TEXT),
    _entry("task.started", "general", task_id=TEXT),
    _entry("task.completed", "general", task_id=TEXT, status=TEXT, duration_seconds=NUMBER),
    _entry("task.failed", "general", task_id=TEXT, error=TEXT, retry_count=WHOLE),
    _entry("task.needs_human", "general", task_id=TEXT, question=TEXT),
    _entry("task.resumed", "king", task_id=TEXT, original_task_id=TEXT),
    _entry("task.retried", "general", task_id=TEXT, error=TEXT, retry_count=WHOLE),
    _entry("task.cancelled", "king general", task_id=TEXT, reason=TEXT),
    _entry("task.actions_held", "general", task_id=TEXT, actions=LIST, reason=TEXT),
    _entry("task.actions_released", "king", task_id=TEXT, released_as=TEXT),
    _entry("task.actions_dropped", "operator", task_id=TEXT),
)
SOLDIERS = (
    _entry("soldier.spawned", "general", task_id=TEXT, soldier_id=TEXT),
    _entry("soldier.completed", "general", task_id=TEXT, soldier_id=TEXT, status=TEXT),
    _entry("soldier.timeout", "general", task_id=TEXT, soldier_id=TEXT, timeout_seconds=NUMBER),
    _entry("soldier.killed", "chamberlain", soldier_id=TEXT, reason=TEXT),
)
SYSTEM = (
    _entry("system.health_changed", "chamberlain", **{"from": TEXT}, to=TEXT, reason=TEXT),
    _entry(
        "system.heartbeat_missed",
        "chamberlain",
        target=TEXT,
        last_seen=MAYBE_TEXT,
        threshold_seconds=NUMBER,
    ),
    _entry("system.session_orphaned", "chamberlain", soldier_id=TEXT, task_id=MAYBE_TEXT),
    _entry("system.resource_warning", "chamberlain", metric=TEXT, value=NUMBER, threshold=NUMBER),
    # Money is text, as in the seed: a sum must not pick up a float's last digits.
    _entry(
        "system.token_status_changed",
        "chamberlain",
        **{"from": TEXT},
        to=TEXT,
        daily_cost_usd=TEXT,
    ),
    _entry("system.token_budget_reset", "chamberlain", date=TEXT, previous_cost=TEXT),
    _entry("system.startup", "system", version=TEXT),
    _entry("system.shutdown", "system", reason=TEXT),
    _entry(
        "system.engine_changed",
        "king general chamberlain",
        engine=TEXT,
        available=FLAG,
        until=MAYBE_TEXT,
    ),
)
RECOVERY = (
    _entry("recovery.session_restarted", "chamberlain warden", target=TEXT, pid=WHOLE),
    _entry("recovery.session_killed", "chamberlain", soldier_id=TEXT, reason=TEXT),
    _entry("recovery.log_rotated", "chamberlain", file=TEXT, size_mb=NUMBER),
    _entry("recovery.files_cleaned", "chamberlain operator", deleted_count=WHOLE),
    _entry("recovery.sessions_cleaned", "chamberlain", removed_count=WHOLE),
)
MESSAGES = (
    _entry("message.sent", "envoy", msg_id=TEXT, task_id=MAYBE_TEXT, channel=TEXT),
    _entry("message.human_response", "envoy", task_id=TEXT, thread_ts=MAYBE_TEXT),
    _entry("message.failed", "envoy", msg_id=TEXT, task_id=MAYBE_TEXT, error=TEXT),
    _entry("message.held", "envoy", msg_id=TEXT, task_id=MAYBE_TEXT, reason=TEXT),
    _entry("message.released", "operator", msg_id=TEXT, task_id=MAYBE_TEXT),
)
QUEUES = (
    _entry("queue.buried", " ".join(EVERY_ROLE), stream=TEXT, id=TEXT, code=TEXT, reason=TEXT),
)
WORKFLOWS = (
    _entry("git.created", "king", git_id=TEXT),
    _entry("git.deleted", "king", git_id=TEXT),
    _entry("mcp.unregistered", "king", mcp_server_id=TEXT),
    _entry("template.created", "king", template_id=TEXT),
    _entry("template.updated", "king", template_id=TEXT),
    _entry("template.deleted", "king", template_id=TEXT),
    _entry("workflow.created", "king", workflow_id=TEXT),
    _entry("workflow.started", "king", workflow_id=TEXT),
    _entry("workflow.paused", "king", workflow_id=TEXT),
    _entry("workflow.resumed", "king", workflow_id=TEXT, from_work_id=MAYBE_TEXT),
    _entry("workflow.completed", "king", workflow_id=TEXT),
    _entry("workflow.failed", "king", workflow_id=TEXT, reason=TEXT),
    _entry("workflow.cancelled", "king", workflow_id=TEXT),
    _entry(
        "workflow.git_refs_updated", "king", workflow_id=TEXT, added_refs=LIST, removed_refs=LIST
    ),
    _entry(
        "workflow.mcp_server_refs_updated",
        "king",
        workflow_id=TEXT,
        added_refs=LIST,
        removed_refs=LIST,
    ),
    _entry("work.status_changed", "king general", work_id=TEXT, workflow_id=TEXT, status=TEXT),
    _entry("work.started", "king general", work_id=TEXT, workflow_id=TEXT),
    _entry("work.completed", "general", work_id=TEXT, workflow_id=TEXT),
    _entry("agent.started", "general", work_id=TEXT),
    _entry("agent.stopped", "general", work_id=TEXT),
    _entry("agent.error", "general", work_id=TEXT, error=TEXT),
    _entry("step.started", "general", work_id=TEXT, task_id=TEXT),
    _entry("step.completed", "general", work_id=TEXT, task_id=TEXT),
    _entry("query.sent", "general", work_id=TEXT, task_id=TEXT),
    _entry("query.responded", "general", work_id=TEXT, task_id=TEXT, response=TEXT),
    _entry("query.failed", "general", work_id=TEXT, task_id=TEXT, error=TEXT),
    _entry("report.generation_started", "general", report_id=TEXT, task_id=TEXT),
    _entry("report.generated", "general", report_id=TEXT, task_id=TEXT, file_path=TEXT),
    _entry("report.failed", "general", report_id=TEXT, task_id=TEXT, error=TEXT),
    _entry("checkpoint.created", "general", checkpoint_id=TEXT, workflow_id=TEXT, work_id=TEXT),
    _entry("worktree.created", "general", work_tree_id=TEXT, workflow_id=TEXT),
    _entry("worktree.failed", "general", work_tree_id=TEXT, workflow_id=TEXT, error=TEXT),
    _entry(
        "worktree.pending_release",
        "king general",
        work_tree_id=TEXT,
        workflow_id=TEXT,
        git_id=TEXT,
    ),
    _entry("worktree.released", "general", work_tree_id=TEXT, workflow_id=TEXT),
    _entry("workspace.created", "general", work_space_id=TEXT, work_id=TEXT),
)

CATALOGUE: Mapping[str, Entry] = MappingProxyType(
    {
        entry.type: entry
        for group in (EXTERNAL, TASKS, SOLDIERS, SYSTEM, RECOVERY, MESSAGES, QUEUES, WORKFLOWS)
        for entry in group
    }
)
