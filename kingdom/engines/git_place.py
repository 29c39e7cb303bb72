"""Where git keeps what it knows of a workspace."""

from __future__ import annotations

import os


def git_directory(workspace: str) -> str:
    """The directory that a commit writes to; empty without one in the workspace itself."""
    own = os.path.join(workspace, ".git")
    return own if os.path.isdir(own) and not os.path.islink(own) else ""
