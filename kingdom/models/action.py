"""What a soldier asks its general to do outside: an entry of a result's `actions`.

Only what and in which words. Where (repository, number, branch) is the task's, never the soldier's.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, ConfigDict, Field, StringConstraints, TypeAdapter

from kingdom.models.part import Part

Kind = Literal["comment", "review", "push", "pull_request"]
KINDS: tuple[Kind, ...] = ("comment", "review", "push", "pull_request")
Verdict = Literal["COMMENT", "APPROVE", "REQUEST_CHANGES"]

Words = Annotated[str, StringConstraints(min_length=1)]


def _in_capitals(value: object) -> object:
    return value.upper() if isinstance(value, str) else value


class ReviewComment(Part):
    """A remark on a line; one without a line is about the file."""

    path: Annotated[str, StringConstraints(min_length=1, max_length=4096)]
    line: Annotated[int, Field(ge=1, le=10_000_000)] | None = None
    side: Annotated[Literal["LEFT", "RIGHT"], BeforeValidator(_in_capitals)] = Field(
        default="RIGHT", description="LEFT: the line as it was before the change."
    )
    body: Words


class Review(Part):
    """A review of the task's pull request."""

    do: Literal["review"]
    event: Annotated[Verdict, BeforeValidator(_in_capitals)] = "COMMENT"
    body: str = ""
    comments: list[ReviewComment] = Field(default_factory=list)


class Comment(Part):
    """A comment on the task's issue or pull request."""

    do: Literal["comment"]
    body: Words


class Push(Part):
    """What was committed, to the task's own branch."""

    do: Literal["push"]


class PullRequest(Part):
    """A pull request from the task's own branch, which is pushed first."""

    do: Literal["pull_request"]
    title: Words
    body: str = ""
    base: Annotated[str, StringConstraints(min_length=1, max_length=255)] | None = Field(
        default=None, description="Absent: the repository's default branch."
    )
    draft: bool = False


Action = Annotated[Review | Comment | Push | PullRequest, Field(discriminator="do")]
ACTION: TypeAdapter[Review | Comment | Push | PullRequest] = TypeAdapter(
    Action, config=ConfigDict(defer_build=True)
)
