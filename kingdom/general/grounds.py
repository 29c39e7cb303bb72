"""What is slow around a soldier, done beside the general's loop: its repository before it begins,
and after it ended, what it left there and what it wants done outside.

Each errand may be cut off anywhere and is simply done again by the next life of its general.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

from kingdom.clients.git import Git
from kingdom.clients.git_hosts import GitSettings
from kingdom.clients.github import GitHub
from kingdom.clients.github_access import find_token
from kingdom.errors import KingdomError
from kingdom.general import allowance
from kingdom.general.actions import approval
from kingdom.general.actions.approval import Approval
from kingdom.general.actions.gate import OutboundGate
from kingdom.general.actions.jobs import Job, Lineage, number_of
from kingdom.general.actions.performing import Means, Outcome, perform
from kingdom.general.checkouts.outgoing import Outgoing
from kingdom.general.checkouts.repositories import Checkout, Repositories
from kingdom.general.origin import origin_of
from kingdom.limits import limit_in
from kingdom.models.action import Kind
from kingdom.models.task import Task
from kingdom.outbound.credentials import Credentials
from kingdom.runtime import held_actions
from kingdom.runtime.config import Config, General
from kingdom.runtime.errands import Errands
from kingdom.runtime.held_actions import Held
from kingdom.runtime.role import Setting
from kingdom.runtime.secrets import Masker
from kingdom.settings.sentinel import GithubWatcher
from kingdom.words import Words

BEFORE, AFTER = "before", "after"
TASKS = "tasks"
_HANDS = 4
_REHEARSAL = "rehearsal"  # it needs no account, so it touches nobody's repository


@dataclass(frozen=True)
class Aftermath:
    """What became of what a soldier left: refs that keep it, and sentences for people."""

    kept_refs: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    held: tuple[str, ...] = ()  # what the outbound gate stopped, or a person approves first
    asks: Approval | None = None
    later: datetime | None = None  # the rest is to be tried again then


@dataclass(frozen=True)
class Heard:
    when: str  # BEFORE or AFTER
    task_id: str
    value: Any
    failure: Exception | None


@dataclass(frozen=True)
class Wanted:
    """What is to be done outside: on whose word, from where, and what a person let pass, or
    approved."""

    attempt: str  # the soldier's id
    checkout: Checkout | None
    actions: Sequence[Any] | None
    released: Mapping[str, str] = field(default_factory=dict)
    approved: Mapping[str, str] = field(default_factory=dict)


class _Pushing:
    """Exactly the commit that was looked at is pushed."""

    def __init__(self, repositories: Repositories, checkout: Checkout | None) -> None:
        self._repositories = repositories
        self._checkout = checkout
        self._sha = ""

    def outgoing(self) -> Outgoing:
        found = self._repositories.outgoing(_existing(self._checkout), self._sha or "HEAD")
        self._sha = found.sha
        return found

    def push(self) -> str:
        checkout = _existing(self._checkout)
        return self._repositories.push(checkout, checkout.branch, source=self._sha)

    def known(self, strings: frozenset[str]) -> frozenset[str]:
        if self._checkout is None or not strings:
            return frozenset()
        try:
            return self._repositories.known_in(self._checkout, strings)
        except KingdomError:  # then all of it counts as new
            return frozenset()


class Grounds:
    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self._masker = Masker(setting.environment)
        self._credentials = Credentials(setting.environment)
        self._errands = Errands("errand", _HANDS)
        self._busy: set[str] = set()
        self._hub: tuple[object, GitHub] | None = None
        self._lock = threading.Lock()
        self._opened: tuple[object, Repositories] | None = None
        self.fileno = self._errands.fileno

    def close(self) -> None:
        """Nobody waits: an errand may be in the middle of a request."""
        if self._hub is not None:
            self._errands.ask("", self._disconnect)
        self._errands.close()

    def is_busy(self, task_id: str) -> bool:
        """One task's errands come one after the other."""
        return task_id in self._busy

    def heard(self) -> Iterator[Heard]:
        for answer in self._errands.answers():
            when, _, task_id = answer.key.partition(" ")
            self._busy.discard(task_id)
            yield Heard(when, task_id, answer.value, answer.failure)

    # Before

    @staticmethod
    def repo_of(task: Task, general: General, engine: str) -> str | None:
        """What is to be checked out for this task, if anything."""
        return None if engine == _REHEARSAL else task.repo or general.manifest.default_repo

    def prepare(self, task: Task, place: str, repo: str, config: Config) -> None:
        wish = origin_of(task, self.known_task).wish()
        wish["trusted"] = task.trust == "member"
        ground = os.path.basename(place)
        self._ask(BEFORE, task.id, lambda: self.repositories(config).prepare(repo, ground, **wish))

    def known_task(self, id_: str) -> Task | None:
        found = self._setting.bus.look(TASKS, id_)
        return found[1] if found is not None and isinstance(found[1], Task) else None

    def repositories(self, config: Config) -> Repositories:
        """The same as long as the settings are: it remembers what was fetched, and logins."""
        settings, named = GitSettings(**config.settings.system.git.model_dump()), _named(config)
        with self._lock:
            if self._opened is None or self._opened[0] != (settings, named):
                self._opened = (settings, named), self._open(settings, named)
            return self._opened[1]

    def _open(self, settings: GitSettings, named: frozenset[str]) -> Repositories:
        environment = self._setting.environment
        return Repositories(
            self._setting.base,
            self._setting.name,
            Git(environment, settings.timeout_seconds),
            environment,
            settings,
            configured=named,
        )

    # After

    def wind_up(self, task: Task, wanted: Wanted, lineage: Lineage, config: Config) -> None:
        general = config.generals.get(self._setting.name)
        permissions = general.manifest.permissions if general is not None else None
        allowed = allowance.actions_for(task, permissions) if permissions is not None else ()
        checkout = wanted.checkout
        job = Job(
            task_id=task.id,
            attempt=wanted.attempt,
            lineage=lineage,
            trust=task.trust or allowance.NOT_KNOWN,
            allowed=frozenset(allowed),
            repo=checkout.repo if checkout else task.repo,
            number=number_of(task),
            commit=checkout.head if checkout else None,
            branch=checkout.branch if checkout else None,
        )

        def act() -> Aftermath:
            repositories = self.repositories(config)
            means = self._means(repositories, task, wanted, config)
            outcome = perform(job, wanted.actions, means)
            if outcome.later is not None:
                return Aftermath((), tuple(_notes(outcome)), later=outcome.later.not_before)
            self._note_held(task, wanted, outcome, sync=means.sync)
            kept, notes = self._keep(repositories, checkout)
            held = tuple(f"{one.kind}: {one.reason}" for one in outcome.held)
            told = (*_notes(outcome), *notes, *_decide(task, outcome.held))
            words = Words(config.settings.system.language)
            return Aftermath(tuple(kept), told, held, approval.asked(job, outcome.held, words))

        self._ask(AFTER, task.id, act)

    def _note_held(self, task: Task, wanted: Wanted, outcome: Outcome, *, sync: bool) -> None:
        """Before it is reported: whoever hears of it finds it."""
        if not outcome.held:
            held_actions.remove(self._setting.base, task.id)
            return
        found = held_actions.HeldActions(
            task.id,
            wanted.attempt,
            outcome.held,
            list(wanted.actions or ()),
            dict(spelled(wanted.checkout)),
            task.trace_id,
        )
        held_actions.write(self._setting.base, found, self._setting.clock.now(), sync=sync)

    def _means(
        self, repositories: Repositories, task: Task, wanted: Wanted, config: Config
    ) -> Means:
        pushing = _Pushing(repositories, wanted.checkout)
        given = json.dumps(task.payload, ensure_ascii=False)

        def known(strings: frozenset[str]) -> frozenset[str]:
            found = frozenset(one for one in strings if one in given)
            return found | pushing.known(strings - found)

        return Means(
            self._setting.base,
            self._setting.clock,
            connect=lambda: self._connected(config),
            push=pushing.push,
            mask=self._masker.text,
            gate=OutboundGate(
                needles=lambda: self._credentials.needles(config.settings),
                trust=task.trust or allowance.NOT_KNOWN,
                outgoing=pushing.outgoing,
                known=known,
                released=wanted.released,
                approve=self._approved_first(task, config),
                approved=wanted.approved,
            ),
            sync=config.settings.system.durability == "full",
        )

    def _approved_first(self, task: Task, config: Config) -> frozenset[Kind]:
        general = config.generals.get(self._setting.name)
        if general is None:  # nothing is allowed then
            return frozenset()
        return allowance.approved_first(task, general.manifest.permissions)

    def _keep(
        self, repositories: Repositories, checkout: Checkout | None
    ) -> tuple[list[str], list[str]]:
        """Refs, and sentences. Where it fails, what lies in the worktree is all there is."""
        if checkout is None:
            return [], []
        try:
            return repositories.keep(os.path.basename(os.path.dirname(checkout.path))), []
        except Exception as error:
            if (limit := limit_in(error)) is not None:
                raise limit from error  # all of it is tried again; what is done is not done twice
            # What was done outside is told all the same.
            self._setting.log.error("task.not_kept", path=checkout.path, error=str(error))
            why = self._masker.text(code_of(error)[1])
            return [checkout.path], [f"what it left in {checkout.path} could not be kept: {why}"]

    def _connected(self, config: Config) -> GitHub:
        """One for all, so that its pauses hold for all; another when the settings change."""
        watcher = config.settings.sentinel.polling.github or GithubWatcher()
        wanted = (watcher.api_url, watcher.token_env)
        if self._hub is not None and self._hub[0] != wanted:
            self._disconnect()
        with self._lock:
            if self._hub is None or self._hub[0] != wanted:
                self._hub = wanted, self._opened_hub(watcher)
            return self._hub[1]

    def _disconnect(self) -> None:
        """From the one that is open; a request under way is waited for."""
        with self._lock:
            left, self._hub = self._hub, None
        if left is not None:
            left[1].close()

    def _opened_hub(self, watcher: GithubWatcher) -> GitHub:
        def token() -> str:
            found = find_token(self._setting.environment, watcher.token_env, watcher.api_url)
            self._credentials.learn("the GitHub login", found)
            return found

        return GitHub(token(), watcher.api_url, clock=self._setting.clock, renew=token)

    def _ask(self, when: str, task_id: str, act: Any) -> None:
        self._busy.add(task_id)
        self._errands.ask(f"{when} {task_id}", act)


def _named(config: Config) -> frozenset[str]:
    """The repositories that manifests spell."""
    manifests = [one.manifest for one in config.generals.values()]
    named = {one.default_repo for one in manifests}
    named |= {plan.repo for one in manifests for plan in one.schedules}
    return frozenset(name for name in named if name)


def checkout_of(found: Mapping[str, Any]) -> Checkout | None:
    """As `spelled` wrote it."""
    return Checkout(**{**found, "borrows": tuple(found.get("borrows", ()))}) if found else None


def spelled(checkout: Checkout | None) -> Mapping[str, Any]:
    return asdict(checkout) if checkout is not None else {}


def _existing(checkout: Checkout | None) -> Checkout:
    assert checkout is not None  # without one, pushing is refused before it comes to this
    return checkout


def _decide(task: Task, held: Sequence[Held]) -> Iterator[str]:
    yield from (f"held, {one.kind}: {one.reason}" for one in held)
    if any(not one.shown for one in held):
        yield (
            f"let it pass with: kingdom release {task.id}; or decide against it with: "
            f"kingdom queue drop {task.id}"
        )


def _notes(outcome: Outcome) -> Iterator[str]:
    for done in outcome.done:
        yield " ".join(filter(None, (f"{done.kind}: {done.url or 'done'}", done.note)))
    for refused in outcome.refused:
        yield f"not done, {refused.kind}: {refused.sentence}"


def code_of(failure: Exception) -> tuple[str, str]:
    """The failure's code and what is known of it, for an errand before a soldier."""
    if isinstance(failure, KingdomError):
        return failure.code, failure.sentence
    return "workspace_failed", f"{type(failure).__name__}: {failure}"
