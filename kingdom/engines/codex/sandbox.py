"""What a soldier's commands and edits may touch: a permission profile of the program's.

The workspace, the place of its own result and the workspace's git can be written, the rest of the
disk only read, and credentials not even that. The program cannot allow or forbid single commands.
"""

from __future__ import annotations

import os
from typing import Any

from kingdom.engines.git_place import git_directory
from kingdom.engines.port import Order

NAME = "kingdom"
_EDITING = ("Edit", "MultiEdit", "NotebookEdit", "Write")
_COMMANDS = "Bash"
_NOT_READ = (
    ".ssh",
    ".aws",
    ".config/gh",
    ".config/gcloud",
    ".kube",
    ".azure",
    ".docker/config.json",
    ".pypirc",
    ".netrc",
    ".git-credentials",
    ".config/git/credentials",
    ".claude/.credentials.json",
)
# The same within a base directory: specs hold the environments of other soldiers. The environments
# of processes are hidden by the program, which shows a soldier no others than its own.
_NOT_READ_OF_BASE = ("state/soldiers", "config/local")
_TEMPORARY = (":tmpdir", ":slash_tmp")


def settings(order: Order, home: str, root: str, *, network: bool) -> dict[str, Any]:
    """`home` is the program's own, `root` the base directory. A soldier with a list of tools
    gets no network unless it may run any command."""
    profile = {
        "extends": ":workspace" if _may_write(order) else ":read-only",
        "filesystem": {**_written(order), **_hidden(order, home, root)},
        "network": {"enabled": network and order.network is not False and _may_run(order)},
    }
    return {"default_permissions": NAME, f"permissions.{NAME}": profile}


def none() -> dict[str, Any]:
    return {"default_permissions": ":danger-full-access"}


def _may_run(order: Order) -> bool:
    return order.tools is None or _COMMANDS in order.tools


def _may_write(order: Order) -> bool:
    return order.tools is None or any(tool in (*_EDITING, _COMMANDS) for tool in order.tools)


def _written(order: Order) -> dict[str, str]:
    """The directory of its own result: a file that is not there yet cannot be named. Signs of life
    are given by a hook, which runs outside."""
    places = [os.path.dirname(order.result_path)]
    places += [git_directory(order.workspace)] if _may_write(order) else _TEMPORARY
    return dict.fromkeys(filter(None, places), "write")


def _hidden(order: Order, home: str, root: str) -> dict[str, str]:
    user = order.environment.get("HOME")
    places = [os.path.join(user, name) for name in _NOT_READ] if user else []
    places += [os.path.join(root, name) for name in _NOT_READ_OF_BASE]
    return dict.fromkeys([*places, os.path.join(home, "auth.json")], "deny")
