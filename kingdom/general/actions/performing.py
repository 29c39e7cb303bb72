"""What a soldier asked to be done outside, done by its general: once, whatever happens meanwhile.

What is asked is the soldier's and not trusted; where it is done is the task's. `perform` may be cut
off anywhere and is simply called again: of each action the journal says whether it is done, and
before anything is posted GitHub is asked whether it stands there already, under our marker.

An action is known by the row of tasks it belongs to (attempts, answers and retries of one work),
its kind, and which of that kind it is. So a second attempt posts no second review: what was posted
stands, and if the words differ this is said. `kingdom retry --fresh` begins a new row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, assert_never

from kingdom.clients.github import GitHub, Posted, Repository
from kingdom.clients.github_faults import GitHubLater, GitHubRefused
from kingdom.clock import Clock
from kingdom.errors import NeverWorks, TryLater
from kingdom.general.actions.gate import PUSHES, HeldBack, OutboundGate
from kingdom.general.actions.jobs import Job
from kingdom.general.actions.journal import Entry, Journal, JournalFailed, moment
from kingdom.general.actions.kinds import (
    ActionRefused,
    Commenting,
    Opening,
    Posting,
    Reviewing,
    Sheet,
)
from kingdom.general.actions.orders import Order, Refused, read_actions
from kingdom.models.action import Comment, Kind, PullRequest, Push, Review
from kingdom.runtime.held_actions import Held
from kingdom.settings.wording import shown
from kingdom.store.paths import BaseDir
from kingdom.words.spans import age

INTENDED, DOUBTFUL, DONE, REFUSED = "intended", "doubtful", "done", "refused"
OWN_BRANCHES = ("kingdom/", "kingdom-")


@dataclass(frozen=True)
class Done:
    kind: Kind
    url: str = ""
    note: str = ""  # what a person should know of how it was done


@dataclass(frozen=True)
class Later:
    """The rest is to be tried again, not before this moment."""

    not_before: datetime
    reason: str
    code: str = TryLater.code


@dataclass(frozen=True)
class Outcome:
    done: tuple[Done, ...] = ()
    refused: tuple[Refused, ...] = ()
    later: Later | None = None
    held: tuple[Held, ...] = ()  # a person decides


@dataclass(frozen=True)
class Timing:
    settle: timedelta = timedelta(seconds=15)  # until what was under way has arrived, or never will
    first_pause: timedelta = timedelta(seconds=15)
    longest_pause: timedelta = timedelta(minutes=15)
    give_up: timedelta = timedelta(hours=24)
    least_tries: int = 10  # a clock that jumps is no reason to give up

    def pause(self, tries: int) -> timedelta:
        doublings: int = 2 ** min(max(tries - 1, 0), 16)
        return min(self.first_pause * doublings, self.longest_pause)


@dataclass(frozen=True)
class Means:
    """What it takes: `connect` and `push` raise `TryLater` or `NeverWorks`, and may wait."""

    base: BaseDir
    clock: Clock
    connect: Callable[[], GitHub]
    push: Callable[[], str]  # answers the commit that is on the branch now
    mask: Callable[[str], str] = str  # hides secrets in what is posted
    gate: OutboundGate = field(default_factory=OutboundGate)
    timing: Timing = Timing()
    sync: bool = True


def perform(job: Job, raw: Sequence[Any] | None, means: Means) -> Outcome:
    """Do all that is asked, allowed and not done yet."""
    orders, refused = read_actions(raw)
    if not orders:
        return Outcome(refused=tuple(refused))
    try:
        return _Performance(job, means).of(orders, refused)
    except JournalFailed as error:
        until = means.clock.now() + means.timing.first_pause
        return Outcome(refused=tuple(refused), later=Later(until, str(error), error.code))


class _Performance:
    def __init__(self, job: Job, means: Means) -> None:
        self._job = job
        self._means = means
        self._clock = means.clock
        self._hub: GitHub | None = None
        self._known_repository: Repository | None = None
        self._journal = Journal(means.base, job.lineage.id, job.lineage.name, sync=means.sync)

    def of(self, orders: list[Order], refused: list[Refused]) -> Outcome:
        done: list[Done] = []
        held: list[Held] = []
        for place, order in enumerate(orders):
            try:
                done.append(self._do(order))
            except HeldBack as error:
                held.append(error.held)
            except NeverWorks as error:
                refused.append(Refused(order.kind, str(error), error.code))
            except TryLater as error:
                later, given_up = self._put_off(orders[place:], error)
                return Outcome(tuple(done), tuple(refused + given_up), later, tuple(held))
        return Outcome(tuple(done), tuple(refused), held=tuple(held))

    def _put_off(self, rest: list[Order], error: TryLater) -> tuple[Later | None, list[Refused]]:
        """What is left waits together, in order, and not for ever."""
        now, timing = self._clock.now(), self._means.timing
        tries, since = self._journal.tries + 1, self._journal.waits_since or now
        if tries > timing.least_tries and now - since > timing.give_up:
            return None, [self._given_up(order, error, since) for order in rest]
        with suppress(JournalFailed):  # without it, the next try counts as the first
            self._journal.note_wait(now)
        named = getattr(error, "not_before", None)
        until = named if isinstance(named, datetime) else now + timing.pause(tries)
        return Later(until, str(error), error.code), []

    def _given_up(self, order: Order, error: TryLater, since: datetime) -> Refused:
        tried = age((self._clock.now() - since).total_seconds())
        is_doubtful = self._journal.entry(order.key).get("state") in (INTENDED, DOUBTFUL)
        perhaps = " It may have been posted all the same." if is_doubtful else ""
        return Refused(order.kind, f"Given up after {tried}: {error}{perhaps}", error.code)

    def _do(self, order: Order) -> Done:
        known = self._journal.entry(order.key)
        is_done = known.get("state") == DONE
        is_of_this_attempt = known.get("attempt") == self._job.attempt
        if is_done and (is_of_this_attempt or order.kind in ("review", "comment")):
            return self._done_before(order, known)
        if known.get("state") == REFUSED and is_of_this_attempt:
            raise NeverWorks(str(known.get("sentence")), code=str(known.get("code")))
        if order.kind not in self._job.allowed:
            raise ActionRefused(
                f"This general may not do it: its manifest does not name {order.kind} "
                "in permissions.actions for such a task."
            )
        self._check_branch(order)
        self._means.gate.check(order)
        match order.action:
            case Push():
                return self._pushed(order)
            case PullRequest() as pull:
                self._push_for_pull()  # also one that was opened: an attempt may have added to it
                if is_done:
                    return self._done_before(order, known)
                return self._once(order, lambda sheet: Opening(sheet, pull))
            case Review() as review:
                return self._once(order, lambda sheet: Reviewing(sheet, review))
            case Comment() as comment:
                return self._once(order, lambda sheet: Commenting(sheet, comment))
            case _:
                assert_never(order.action)

    def _done_before(self, order: Order, known: Entry) -> Done:
        note = str(known.get("note", ""))
        if order.kind != "push" and known.get("digest") != order.digest:
            note = "An earlier attempt did it in other words; those stand."
        return Done(order.kind, str(known.get("url", "")), note)

    # Pushing can be done any number of times

    def _check_branch(self, order: Order) -> None:
        if order.kind not in PUSHES:
            return
        if not self._job.branch:
            raise ActionRefused("There is nothing to push: the task has no repository.")
        if not self._job.branch.startswith(OWN_BRANCHES):
            raise ActionRefused(f"{self._job.branch} is not a branch of the task's own.")

    def _pushed(self, order: Order) -> Done:
        note = f"{self._job.branch} is at {self._means.push()[:12]}"
        self._journal.note(order.key, DONE, self._clock.now(), attempt=self._job.attempt, note=note)
        return Done(order.kind, note=note)

    def _push_for_pull(self) -> None:
        order = Order(Push(do="push"), 1)
        known = self._journal.entry(order.key)
        if known.get("state") == DONE and known.get("attempt") == self._job.attempt:
            return
        try:
            self._pushed(order)
        except ActionRefused:
            raise
        except NeverWorks as error:
            raise NeverWorks(f"Its branch is not pushed: {error}", code=error.code) from error

    # Posting must be done once

    def _once(self, order: Order, make: Callable[[Sheet], Posting]) -> Done:
        self._let_settle(order)
        hub = self._connected()
        posting = make(self._sheet(order, hub))
        found = posting.find(hub)
        if found is not None:
            self._note(order, DONE, url=found.url, digest=posting.digest_of(found) or order.digest)
            return self._done_before(order, self._journal.entry(order.key))
        posted = self._posted(order, posting, hub)
        note = posting.note
        self._note(order, DONE, url=posted.url, digest=order.digest, note=note)
        return Done(order.kind, posted.url, note)

    def _sheet(self, order: Order, hub: GitHub) -> Sheet:
        job, repository = self._job, self._repository(hub)
        return Sheet(
            repo=repository.name,
            default_branch=job.base_branch or repository.default_branch,
            number=job.number,
            commit=job.commit,
            branch=job.branch or "",
            trust=job.trust,
            born=job.lineage.born,
            name=f"{self._journal.name}:{order.key}",
            digest=order.digest,
            mask=str if self._means.gate.lets_pass_as_it_is(order) else self._means.mask,
            about_to_post=lambda: self._note(order, INTENDED),
        )

    def _let_settle(self, order: Order) -> None:
        """What a former life sent may still be on its way; until it is there, looking is no use."""
        known, now = self._journal.entry(order.key), self._clock.now()
        if known.get("state") not in (INTENDED, DOUBTFUL):
            return
        since = moment(str(known.get("at")))
        if known["state"] == INTENDED or since is None or since > now:
            self._note(order, DOUBTFUL)
            since = now
        until = since + self._means.timing.settle
        if now < until:
            raise GitHubLater("It may have been posted; that shows soon.", not_before=until)

    def _posted(self, order: Order, posting: Posting, hub: GitHub) -> Posted:
        try:
            return posting.post(hub)
        except GitHubLater as error:
            if error.undone:
                self._journal.forget(order.key)
            else:
                self._note(order, DOUBTFUL)
            raise
        except GitHubRefused as error:
            self._note(order, REFUSED, sentence=str(error), code=error.code)
            raise

    def _note(self, order: Order, state: str, **facts: str) -> None:
        attempt = self._job.attempt
        self._journal.note(order.key, state, self._clock.now(), attempt=attempt, **facts)

    def _connected(self) -> GitHub:
        if self._hub is None:
            self._hub = self._means.connect()
        return self._hub

    def _repository(self, hub: GitHub) -> Repository:
        if self._known_repository is None:
            if not self._job.repo:
                raise ActionRefused("The task has no repository.")
            self._known_repository = hub.repository(self._job.repo)
        if self._known_repository is None:
            named = shown(self._job.repo)
            raise ActionRefused(f"{named} is not a repository of the GitHub that is set.")
        return self._known_repository
