"""Actions that a person approves first: what they are shown, and how they are asked.

What is approved is exactly what was shown: the text, and for a push the commit. Anything else is
asked anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kingdom.general.actions.jobs import Job
from kingdom.general.actions.kinds import ActionRefused
from kingdom.general.actions.orders import Order
from kingdom.general.checkouts.outgoing import Outgoing
from kingdom.models.action import Comment, PullRequest, Push, Review
from kingdom.outbound.diffs import Diff
from kingdom.runtime.held_actions import Held
from kingdom.words import LANGUAGES, Words

REASON = "A person approves it first."
LARGEST = 1_000_000  # characters; nobody reads more
_IN_QUESTION = 6_000  # characters of all that is shown: one or two messages in Slack
_FENCE, _NO_FENCE = "```", "'''"


class Approval(NamedTuple):
    """A question, and its two answers. Without one it is rejected."""

    question: str
    approve: str
    reject: str


def is_given(answer: object) -> bool:
    """The language may have changed since it was asked."""
    return answer in {Words(one)("general_approve") for one in LANGUAGES}


def shown(order: Order, pushed: Outgoing | None) -> str:
    """All that would leave, as a person reads it."""
    text = "\n\n".join(filter(None, (_words(order), _commits(pushed) if pushed else "")))
    if len(text) > LARGEST:
        raise ActionRefused(
            f"It has {len(text):,} characters; more than {LARGEST:,} are not put before a person."
        )
    return text.encode("utf-8", "backslashreplace").decode()


def _words(order: Order) -> str:
    match order.action:
        case Comment(body=body):
            return body
        case Review() as review:
            remarks = (f"{one.path}:{one.line or ''} {one.body}" for one in review.comments)
            return "\n\n".join((review.event, *filter(None, (review.body, *remarks))))
        case PullRequest() as pull:
            facts = [f"base: {pull.base}"] if pull.base else []
            facts += ["draft"] if pull.draft else []
            return "\n".join(filter(None, (pull.title, *facts, pull.body)))
        case Push():
            return ""


def _commits(pushed: Outgoing) -> str:
    large = (f"{name[:12]} (large file)" for name, _ in pushed.large)
    stat = "\n".join((*Diff(pushed.log).stat, *large))
    return "\n\n".join((f"commit {pushed.sha}", stat, pushed.log, pushed.commits)).strip()


def asked(job: Job, held: Sequence[Held], words: Words) -> Approval | None:
    """None if nothing of it waits for approval."""
    waiting = [one for one in held if one.shown]
    if not waiting:
        return None
    kinds = [one.kind for one in waiting]
    if "pull_request" in kinds:  # it pushes, and shows what
        waiting = [one for one in waiting if one.kind != "push"]
    place = f"{job.repo or '?'}#{job.number}" if job.number else job.repo or "?"
    room = _IN_QUESTION // len(waiting)
    parts = [
        words("general_asks_approval", actions=", ".join(kinds), place=place, trust=job.trust),
        *(f"{one.kind}:\n{_block(one.shown, room)}" for one in waiting),
    ]
    if any(len(one.shown) > room for one in waiting):
        parts.append(words("general_approval_cut", task=job.task_id))
    return Approval("\n".join(parts), words("general_approve"), words("general_reject"))


def _block(text: str, room: int) -> str:
    """As code, which it cannot end by itself."""
    cut = text if len(text) <= room else f"{text[:room].rstrip()}\n[…]"
    return f"{_FENCE}\n{cut.replace(_FENCE, _NO_FENCE)}\n{_FENCE}"
