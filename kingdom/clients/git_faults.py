"""What can go wrong with git, and what its complaints mean for whoever asked."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kingdom.errors import KingdomError, NeverWorks, TryLater


class GitFailed(TryLater):
    """git would not do what it was asked, and does not say anything that is known here."""

    code = "git_failed"


class GitTooMuch(GitFailed):
    """git says more than anyone could read."""


class GitMissing(TryLater):
    """There is no git."""

    code = "git_missing"


class GitUnreachable(TryLater):
    """The remote does not answer, answers with an error of its own, or takes too long."""

    code = "git_unreachable"


class GitBusy(TryLater):
    """Another git holds a lock."""

    code = "git_busy"


class DiskRefused(TryLater):
    """The disk is full, or not writable."""

    code = "workspace_failed"


class CloneBroken(TryLater):
    """What git keeps on disk cannot be read."""

    code = "clone_broken"


class GitRefused(NeverWorks):
    """The remote does not accept who we are, or we have nothing to say who we are."""

    code = "git_refused"


class RepositoryMissing(NeverWorks):
    """There is no such repository, or it is hidden from us."""

    code = "repository_missing"


class RefMissing(NeverWorks):
    """The repository has no such branch, pull request or commit."""

    code = "ref_missing"


class PushRejected(NeverWorks):
    """The remote has something that this push would overwrite, or does not allow it."""

    code = "push_rejected"


_Known = tuple[str, type[KingdomError], str]
# The first that is found in what git says decides; what the remote itself says does not count.
_ANYWHERE: tuple[_Known, ...] = (
    (
        r"No space left on device|Disk quota exceeded|Read-only file system|Input/output error"
        r"|unable to write|insufficient permission for adding an object",
        DiskRefused,
        "See whether the disk is full: df -h.",
    ),
    (
        r"\.lock': File exists|Another git process seems|cannot lock ref|unable to lock",
        GitBusy,
        "It is tried again.",
    ),
)
_OF_REMOTES: tuple[_Known, ...] = (
    (
        r"Authentication failed|could not read (?:Username|Password)|terminal prompts disabled"
        r"|Permission denied \(|Host key verification failed|returned error: 40[13]\b"
        r"|HTTP 40[13] |(?:^|: )access denied",
        GitRefused,
        "Give the general a token in GH_TOKEN, log in with: gh auth login, or use an SSH agent.",
    ),
    (
        r"repository '.*' not found|does not appear to be a git repository|does not exist"
        r"|Repository not found|returned error: 404\b",
        RepositoryMissing,
        "See whether its name is right, and whether the general's account may see it.",
    ),
    (
        r"couldn't find remote ref|not our ref|unadvertised object|no such remote ref",
        RefMissing,
        "It may have been deleted or renamed meanwhile.",
    ),
    (
        r"unable to access|Could not resolve|Failed to connect|Connection (?:refused|reset|timed)"
        r"|timed out|early EOF|hung up unexpectedly|unexpected disconnect|RPC failed|too slow"
        r"|returned error: (?:429|5\d\d)|Could not read from remote|Network is unreachable"
        r"|[Ee]xpected flush|invalid index-pack output|fetch-pack: (?:invalid|unexpected)",
        GitUnreachable,
        "It is tried again; see whether the git host can be reached from here.",
    ),
)
_OF_CLONES: tuple[_Known, ...] = (
    (
        r"not a git repository|bad config|bad object|bad tree|bad signature|index file smaller"
        r"|corrupt|unable to read (?:tree|sha1|[0-9a-f]{40})|object file .* is empty|inflate"
        r"|[Mm]issing (?:blob|tree|commit)|could not parse|failed to (?:read|parse) object"
        r"|packfile .* (?:cannot|is far|does not|claims)|did not send all necessary objects"
        r"|unknown repository extension|Failed to (?:traverse|resolve) |failed to unpack tree"
        r"|unable to (?:open|map|get size of) .*(?:objects|pack)|index-pack failed",
        CloneBroken,
        "It is made anew.",
    ),
)


def failure_of(verb: str, complaint: str, reached_out: bool) -> KingdomError:
    """What git's complaint means for whoever asked."""
    lines = [line.strip() for line in re.split(r"[\r\n]+", complaint) if line.strip()]
    own = "\n".join(line for line in lines if not line.startswith("remote:"))
    known = _ANYWHERE + (_OF_REMOTES if reached_out else ()) + _OF_CLONES
    for pattern, kind, remedy in known:
        if re.search(pattern, own):
            return kind(_sentence(verb, lines, pattern), remedy=remedy)
    return GitFailed(_sentence(verb, lines, "fatal:|error:"), remedy="See logs/system.log.")


def _sentence(verb: str, lines: Sequence[str], pattern: str) -> str:
    """The line that says it, and what the remote says about it."""
    telling = [line for line in lines if re.search(pattern, line)] or list(lines[-1:])
    remote = [line for line in lines if line.startswith("remote:") and len(line) > 8][-2:]
    said = "; ".join(dict.fromkeys([*remote, *telling[:1]])) or "it does not say why"
    return f"git {verb} failed: {said[:500].rstrip('.')}."
