"""Takes commits of a worktree to a branch of the remote."""

from __future__ import annotations

import os
import re

from kingdom.clients.git import Place
from kingdom.clients.git_faults import GitUnreachable, PushRejected, RefMissing, failure_of
from kingdom.clients.programs import Said
from kingdom.general.checkouts.clone import Clone
from kingdom.general.checkouts.clones import Clones
from kingdom.general.checkouts.refs import BRANCHES, REMOTE_BRANCHES, checked_branch, is_sha
from kingdom.general.checkouts.takeover import take_large_files, taken_over
from kingdom.general.checkouts.worktree import Worktree
from kingdom.settings.addresses import Remote
from kingdom.store import disk


def push(
    clones: Clones,
    clone: Clone,
    remote: Remote,
    branch: str,
    *,
    sha: str,
    force_with_lease: bool,
) -> str:
    """The commit that the remote's branch is at now."""
    target = f"{BRANCHES}{checked_branch(branch)}"
    tracking = f"{REMOTE_BRANCHES}{branch}"
    words = ["push", "--porcelain", "--no-verify", "--progress"]
    if force_with_lease:
        words.append(f"--force-with-lease={target}:{clone.resolve(tracking)}")
    with clone.view(clone.refs("refs/remotes")) as view:
        _push_large_files(clones, clone, remote, view, sha)
        words += [remote.url, f"{sha}:{target}"]
        at = Place(view)
        said = clones.reach(clone, remote, *words, at=at, fine=(0, 1))
    _check_push(said, branch)
    clone.update((tracking, sha))
    clone.mark_used()
    return sha


def bring(worktree: Worktree, source: str) -> str:
    """The commit, taken from the soldier's git directory into the clone, with its large files."""
    refs = worktree.data.refs()
    named = [worktree.head()] if source == "HEAD" else [refs.get(f"{BRANCHES}{source}", ""), source]
    wanted = next(filter(is_sha, named), "")
    with taken_over(worktree) as taken:
        sha = taken.commits([wanted]).get(wanted, "") if wanted else ""
        if not sha or taken.bring([sha]):
            raise RefMissing(f"There is no commit {source} to push.")
    take_large_files(worktree)
    return sha


def _push_large_files(clones: Clones, clone: Clone, remote: Remote, view: str, sha: str) -> None:
    if disk.exists(clone.lfs) and clone.git.has("git-lfs"):
        disk.replace(os.path.join(view, "HEAD"), f"{sha}\n".encode(), sync=False)
        clones.reach(clone, remote, "lfs", "push", "origin", "HEAD", at=Place(view))


def _check_push(said: Said, branch: str) -> None:
    refused = [line for line in said.text.split("\n") if line.startswith("!")]
    if not refused and said.code == 0:
        return
    if not refused:
        raise failure_of("push", said.complaint, True)
    reason = refused[0].rpartition("\t")[2]
    if re.search(r"failed to (?:update ref|lock)|cannot lock|unpacker|[Ii]nternal", reason):
        raise GitUnreachable(f"The remote could not take the push to {branch}: {reason}.")
    raise PushRejected(
        f"The remote does not take the push to {branch}: {reason}.",
        remedy="Someone else pushed meanwhile, or the branch is protected; the commits are kept.",
    )
