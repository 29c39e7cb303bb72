"""How the refs of a clone are named, and which branches are a task's own."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kingdom.clients.git_faults import RefMissing

PRIVATE = "refs/kingdom/"
BORROWED = "refs/kingdom-borrowed/"  # one per checkout: what its git directory needs of the clone
BRANCHES = "refs/heads/"
REMOTE_BRANCHES = "refs/remotes/origin/"
REMOTE_HEAD = f"{REMOTE_BRANCHES}HEAD"  # names the default branch
PULLS = "refs/remotes/pull/"
_SHA = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


def is_sha(text: str) -> bool:
    return _SHA.fullmatch(text) is not None


def checked_branch(name: str) -> str:
    """Names come from outside: what git could take for something else is refused."""
    bad = re.search(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|/\.|\.lock(?:/|\Z)|\.\Z|/\Z", name)
    if not name or bad or name.startswith(("-", "/", ".")) or name in ("@", "HEAD"):
        raise RefMissing(f"{name[:80]!r} is not the name of a branch.")
    return name


def ref_of_commit(pull_request: int | None, sha: str) -> str:
    """For one that no branch of the remote leads to."""
    return f"{PULLS}{pull_request or 'commit'}-{sha[:12]}"


def ref_word(id_: str) -> str:
    """An id as part of a ref's name; no two ids become the same."""
    escaped = re.sub(r"[:_]", lambda found: "__" if found[0] == "_" else "_.", id_)
    return f"{escaped}_" if escaped.endswith((".", ".lock")) else escaped


def branches_for(task_id: str) -> Iterator[str]:
    """Names to choose from, the best first."""
    first = f"kingdom/{ref_word(task_id)}"
    yield first
    for number in range(2, 1_000_000):
        yield f"{first}-{number}"


def is_branch_of(task_id: str, branch: str) -> bool:
    return re.fullmatch(rf"kingdom[/-]{re.escape(ref_word(task_id))}(?:-\d+)?", branch) is not None
