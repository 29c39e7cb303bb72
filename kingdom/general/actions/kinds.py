"""How each kind of thing that a general posts is looked for on GitHub, and how it is posted."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from kingdom.clients.github import GitHub, LineComment, Posted
from kingdom.clients.github_faults import GitHubRefused
from kingdom.errors import NeverWorks
from kingdom.general.actions import wording
from kingdom.models.action import Comment, PullRequest, Review
from kingdom.models.fields import Trust
from kingdom.outbound.mentions import without_github_mentions

MOST_LINE_COMMENTS = 100
_CLOCKS_DIFFER = timedelta(days=1)
_NO_WORDS = "No objections. Approving is left to a maintainer."


class ActionRefused(NeverWorks):
    """The kingdom itself does not do this."""

    code = "action_refused"


@dataclass(frozen=True)
class Sheet:
    """What a post is written on: where it goes, and how it is known again."""

    repo: str
    default_branch: str
    number: int | None
    commit: str | None
    branch: str
    trust: Trust
    born: datetime | None  # nothing of ours is older
    name: str
    digest: str
    mask: Callable[[str], str]
    about_to_post: Callable[[], None]  # from here on it may have been posted

    def signed(self, text: str) -> str:
        return wording.signed(self.clean(text), wording.marker(self.name, self.digest))

    def clean(self, text: str) -> str:
        """Without secrets; and work of less trusted people calls nobody by name."""
        text = self.mask(text)
        return text if self.trust == "member" else without_github_mentions(text)

    @property
    def subject(self) -> int:
        if self.number is None:
            raise ActionRefused("The task is about no issue and no pull request.")
        return self.number


class Posting(ABC):
    """`note` says what a person should know of how it was posted."""

    note = ""

    def __init__(self, sheet: Sheet) -> None:
        self.sheet = sheet

    @abstractmethod
    def find(self, hub: GitHub) -> Posted | None:
        """It, if it stands there already."""

    @abstractmethod
    def post(self, hub: GitHub) -> Posted: ...

    def digest_of(self, posted: Posted) -> str:
        return wording.digest_in(posted.body, self.sheet.name)

    def ours_among(self, found: Iterable[Posted], hub: GitHub) -> Posted | None:
        ours = (one for one in found if self.digest_of(one) and hub.is_mine(one))
        return next(ours, None)


class Commenting(Posting):
    def __init__(self, sheet: Sheet, comment: Comment) -> None:
        super().__init__(sheet)
        self._number = sheet.subject
        self._text = wording.cleaned(comment.body)
        if not self._text:
            raise ActionRefused("The comment says nothing.")

    def find(self, hub: GitHub) -> Posted | None:
        born = self.sheet.born
        since = born - _CLOCKS_DIFFER if born else None
        return self.ours_among(hub.comments(self.sheet.repo, self._number, since), hub)

    def post(self, hub: GitHub) -> Posted:
        body = self.sheet.signed(self._text)
        self.sheet.about_to_post()
        return hub.add_comment(self.sheet.repo, self._number, body)


class Opening(Posting):
    def __init__(self, sheet: Sheet, pull: PullRequest) -> None:
        super().__init__(sheet)
        self._pull = pull
        self._title = wording.one_line(sheet.clean(pull.title))
        if not self._title:
            raise ActionRefused("The pull request has no title.")

    def find(self, hub: GitHub) -> Posted | None:
        """Any from the task's own branch is its own, also one that a person has closed."""
        return next(hub.pulls_from(self.sheet.repo, self.sheet.branch), None)

    def post(self, hub: GitHub) -> Posted:
        pull, sheet = self._pull, self.sheet
        body = sheet.signed(wording.cleaned(pull.body))
        base = pull.base or sheet.default_branch
        sheet.about_to_post()
        try:
            return hub.open_pull(
                sheet.repo,
                head=sheet.branch,
                base=wording.one_line(base),
                title=self._title,
                body=body,
                draft=pull.draft,
            )
        except GitHubRefused as error:
            # A person was quicker, or GitHub's list was not up to date.
            found = self.find(hub) if error.status == 422 else None
            if found is None:
                raise
            return found


@dataclass(frozen=True)
class _Draft:
    """A review as it is about to be posted."""

    event: str
    text: str
    lines: tuple[LineComment, ...]
    commit: str | None

    def moved(self, which: Callable[[LineComment], bool]) -> _Draft:
        """With these remarks in its text instead of at their lines."""
        gone = [one for one in self.lines if which(one)]
        text = wording.with_remarks(self.text, ((c.path, c.line, c.body) for c in gone))
        return replace(self, text=text, lines=tuple(c for c in self.lines if c not in gone))


class Reviewing(Posting):
    def __init__(self, sheet: Sheet, review: Review) -> None:
        super().__init__(sheet)
        self._number = sheet.subject
        self._compared = False
        self._draft = self._drafted(review)

    def find(self, hub: GitHub) -> Posted | None:
        return self.ours_among(hub.reviews(self.sheet.repo, self._number), hub)

    def post(self, hub: GitHub) -> Posted:
        """GitHub refuses a whole review for one line that is not in the changes, which soldiers
        name easily, and any verdict on a pull request of one's own. Neither loses the review."""
        draft = self._draft
        while True:
            try:
                return self._try(draft, hub)
            except GitHubRefused as error:
                milder = self._milder(draft, error, hub) if error.status == 422 else None
                if milder is None:
                    raise
                draft = milder

    def _try(self, draft: _Draft, hub: GitHub) -> Posted:
        body = self.sheet.signed(draft.text)
        lines = [
            replace(one, body=wording.bounded(self.sheet.clean(one.body))) for one in draft.lines
        ]
        self.sheet.about_to_post()
        return hub.add_review(
            self.sheet.repo,
            self._number,
            event=draft.event,
            body=body,
            comments=lines,
            commit=draft.commit,
        )

    def _milder(self, draft: _Draft, error: GitHubRefused, hub: GitHub) -> _Draft | None:
        """What GitHub may take instead; None when nothing is left to give up."""
        if draft.event != "COMMENT" and "your own pull request" in error.sentence:
            return self._as_comment(draft, "the pull request is this account's own")
        if draft.commit and "commit" in error.sentence:  # the branch was rewritten meanwhile
            return replace(draft, commit=None)
        return self._with_remarks_moved(draft, hub) if draft.lines else None

    def _drafted(self, review: Review) -> _Draft:
        text = wording.cleaned(review.body)
        remarks = [
            (wording.one_line(one.path, 4096), one.line, one.side, words)
            for one in review.comments
            if (words := wording.cleaned(one.body))
        ]
        lines = [LineComment(p, line, s, words) for p, line, s, words in remarks if line]
        about_files = ((path, None, words) for path, line, _, words in remarks if not line)
        text = wording.with_remarks(text, about_files)
        draft = _Draft(review.event, text, tuple(lines), self.sheet.commit)
        if draft.event == "APPROVE" and self.sheet.trust != "member":
            whose = f"the work came from less trusted people ({self.sheet.trust})"
            draft = self._as_comment(draft, whose)
        if draft.event != "APPROVE" and not draft.text and not draft.lines:
            raise ActionRefused("The review says nothing.")
        kept = frozenset(lines[:MOST_LINE_COMMENTS])
        return draft.moved(lambda one: one not in kept)

    def _as_comment(self, draft: _Draft, why: str) -> _Draft:
        self._say(f"Posted as a comment, not as {draft.event}: {why}.")
        return replace(draft, event="COMMENT", text=draft.text or _NO_WORDS)

    def _with_remarks_moved(self, draft: _Draft, hub: GitHub) -> _Draft:
        """First those whose lines the pull request does not show; then, if that was not it, all."""
        patches = {} if self._compared else hub.patches(self.sheet.repo, self._number)
        self._compared = True
        moved = draft.moved(lambda one: not wording.can_stand(one, patches))
        if moved.lines == draft.lines:
            moved = draft.moved(lambda one: True)
        self._say("Remarks on lines outside the changes are in the review's text.")
        return moved

    def _say(self, sentence: str) -> None:
        if sentence not in self.note:
            self.note = f"{self.note} {sentence}".strip()
