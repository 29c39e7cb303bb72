"""How urgent each type of event is, and in which order priorities go.

A waiting human and commands come first; what the kingdom was asked to do comes next; what it is
merely told comes last. No pydantic here: listing needs none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kingdom.models.fields import Priority

HIGH: Priority = "high"
NORMAL: Priority = "normal"
LOW: Priority = "low"
PRIORITIES = (HIGH, NORMAL, LOW)
# The smaller goes first. Messages say `urgency` where events and tasks say `priority`.
RANKS = {"urgent": 0, HIGH: 1, NORMAL: 2, LOW: 3}

EVENT_TYPES: dict[str, Priority] = {
    "slack.human_response": HIGH,
    "kingdom.command": HIGH,
    "workflow.command": HIGH,
    "github.pr.review_requested": NORMAL,
    "github.pr.assigned": NORMAL,
    "github.pr.mentioned": NORMAL,
    "github.issue.assigned": NORMAL,
    "github.issue.mentioned": NORMAL,
    "jira.ticket.assigned": NORMAL,
    "jira.ticket.updated": NORMAL,
    "slack.app_mention": NORMAL,
    "slack.channel.message": NORMAL,
    "github.pr.comment": LOW,
    "github.pr.state_change": LOW,
    "github.issue.comment": LOW,
    "github.issue.state_change": LOW,
    "jira.ticket.commented": LOW,
}
OTHER_NOTIFICATIONS = "github.notification."


def priority_of(event_type: str) -> Priority:
    """The priority an event of this type has unless it says otherwise."""
    if event_type.startswith(OTHER_NOTIFICATIONS):
        return LOW
    return EVENT_TYPES.get(event_type, NORMAL)
