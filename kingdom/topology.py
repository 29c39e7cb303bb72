"""THE table: which streams there are, which roles, and what each role reads and writes.

Plain data. `status`, the README and the documentation print it; the bus makes its directories from
it; the models' `status` words are tested against it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["event", "task", "message", "result"]


@dataclass(frozen=True, slots=True)
class State:
    """One directory of a stream and the `status` words a file in it may carry, usual one first."""

    directory: str
    statuses: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Stream:
    """A queue: messages of one kind that move through its directories, first to last."""

    name: str
    kind: Kind
    root: str
    states: tuple[State, ...]
    consumer: str

    @property
    def flat(self) -> bool:
        """Whether its files lie in `root` itself and stay there when they are handled."""
        return not self.states

    @property
    def directories(self) -> tuple[str, ...]:
        """Relative to the base directory, in the order a message passes through them."""
        return tuple(f"{self.root}/{state.directory}" for state in self.states) or (self.root,)

    def state(self, directory: str) -> State:
        return next(state for state in self.states if state.directory == directory)


@dataclass(frozen=True, slots=True)
class Role:
    """One long-running process. Paths are relative to the base directory."""

    name: str
    purpose: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    poll_seconds: float


PENDING = "pending"
HELD = "held"  # stopped by the outbound gate, until a person decides
DEAD = "dead"


def _state(name: str, *more_statuses: str) -> State:
    """A directory whose files usually have its own name as their status."""
    return State(name, (name, *more_statuses))


EVENTS = Stream(
    name="events",
    kind="event",
    root="queue/events",
    states=(
        _state(PENDING),
        _state("dispatched"),
        _state("completed", "failed"),
        _state(DEAD),
    ),
    consumer="king",
)
TASKS = Stream(
    name="tasks",
    kind="task",
    root="queue/tasks",
    states=(
        _state(PENDING),
        _state("in_progress"),
        _state("completed", "failed", "needs_human", "skipped", "cancelled"),
        _state(DEAD),
    ),
    consumer="general",
)
MESSAGES = Stream(
    name="messages",
    kind="message",
    root="queue/messages",
    states=(_state(PENDING), _state(HELD), _state("sent"), _state(DEAD)),
    consumer="envoy",
)
RESULTS = Stream(name="results", kind="result", root="state/results", states=(), consumer="king")

STREAMS = {stream.name: stream for stream in (EVENTS, TASKS, MESSAGES, RESULTS)}
INBOX = "queue/inbox"
WATCHERS = ("github", "jira", "inbox")  # what the sentinel can watch

# In the order they start; they stop in reverse. "general" stands for one process per general.
ROLES = {
    role.name: role
    for role in (
        Role(
            name="chamberlain",
            purpose="measures, restarts what hangs, cleans, keeps the budget, reports",
            reads=("logs/events.log", "state", "queue"),
            writes=("state/resources.json", "state/chamberlain", "queue/messages/pending", "logs"),
            poll_seconds=30,
        ),
        Role(
            name="sentinel",
            purpose="watches GitHub, Jira and the inbox, and writes events",
            reads=(INBOX,),
            writes=("queue/events/pending", "state/sentinel"),
            poll_seconds=60,
        ),
        Role(
            name="envoy",
            purpose="speaks with people, and turns their answers into events",
            reads=("queue/messages/pending",),
            writes=("queue/messages", "queue/events/pending", "state/envoy", "logs/console.log"),
            poll_seconds=5,
        ),
        Role(
            name="king",
            purpose="routes events, makes tasks, acts on results, runs schedules",
            reads=("queue/events/pending", "state/results", "state/resources.json"),
            writes=(
                "queue/events",
                "queue/tasks/pending",
                "queue/messages/pending",
                "state/king",
                "state/control",
            ),
            poll_seconds=10,
        ),
        Role(
            name="general",
            purpose="runs soldiers for its tasks, verifies their work, reports",
            reads=("queue/tasks/pending", "memory"),
            writes=(
                "queue/tasks",
                "queue/messages/pending",
                "state/results",
                "state/soldiers",
                "state/prompts",
                "state/sessions.json",
                "state/spending",
                "state/bin",
                "workspace",
                "memory",
            ),
            poll_seconds=10,
        ),
    )
}
START_ORDER = tuple(ROLES)
GENERAL_PREFIX = "gen-"
# Who else may sign an internal event: the suite as a whole, its keeper, and a person at a shell.
OTHER_ACTORS = ("system", "warden", "operator")


def role_of(actor: str) -> str:
    """The role behind a name in a log: every `gen-…` is a general."""
    return "general" if actor.startswith(GENERAL_PREFIX) else actor
