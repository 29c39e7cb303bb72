"""Where everything lies inside a base directory. No other module spells these names.

Plain strings, not `pathlib`: the hot path joins names thousands of times a second, and `queue ls`
must start at once.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from kingdom.errors import ConfigurationError
from kingdom.ownership import user_name

TEMPORARY_PREFIX = ".tmp-"
REASON_SUFFIX = ".reason.json"
BASE_DIR_VARIABLE = "KINGDOM_BASE_DIR"
PLACES = ("config", "queue", "state", "logs", "workspace", "memory")


class BaseDir:
    """One kingdom's directory. It only names paths; nothing here touches the disk."""

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self.root = os.path.abspath(os.fspath(root))

    def __repr__(self) -> str:
        return f"BaseDir({self.root!r})"

    def path(self, *parts: str) -> str:
        return os.path.join(self.root, *parts)

    @property
    def name_on_host(self) -> str:
        """Of what it has beside its files: kingdoms on one host do not meet."""
        import hashlib

        place = os.path.realpath(self.root)
        return f"kingdom-{hashlib.sha256(os.fsencode(place)).hexdigest()[:12]}"

    @property
    def config(self) -> str:
        return self.path("config")

    @property
    def queue(self) -> str:
        return self.path("queue")

    @property
    def state(self) -> str:
        return self.path("state")

    @property
    def logs(self) -> str:
        return self.path("logs")

    @property
    def format_file(self) -> str:
        return self.path("state", "format")

    @property
    def events_log(self) -> str:
        return self.path("logs", "events.log")

    @property
    def system_log(self) -> str:
        return self.path("logs", "system.log")

    @property
    def tasks_log(self) -> str:
        return self.path("logs", "tasks.log")

    @property
    def metrics_log(self) -> str:
        return self.path("logs", "metrics.log")

    @property
    def resources_file(self) -> str:
        return self.path("state", "resources.json")

    @property
    def metrics(self) -> str:
        """What each role has handled, a file for each; the chamberlain makes metrics of it."""
        return self.path("state", "metrics")

    @property
    def control(self) -> str:
        """What people asked to be cancelled or frozen: files whose presence is the state."""
        return self.path("state", "control")

    @property
    def soldiers(self) -> str:
        """One spec, claim and exit file per attempt under way."""
        return self.path("state", "soldiers")

    @property
    def results(self) -> str:
        """Final results, and beside them what belongs to a task while it is worked on."""
        return self.path("state", "results")

    @property
    def prompts(self) -> str:
        return self.path("state", "prompts")

    @property
    def sessions_file(self) -> str:
        """All living soldiers, of all generals."""
        return self.path("state", "sessions.json")

    @property
    def session_logs(self) -> str:
        return self.path("logs", "sessions")

    @property
    def workspace(self) -> str:
        return self.path("workspace")

    @property
    def memory(self) -> str:
        return self.path("memory")

    @property
    def bus(self) -> str:
        """What the bus keeps to survive a crash: journals, locks, and its attic."""
        return self.path("state", "bus")

    def sequence_file(self, kind: str) -> str:
        return self.path("state", "king", f"{kind}-seq")


def find_base_dir(given: str | None, environment: Mapping[str, str], working_dir: str) -> BaseDir:
    """`--base-dir`, then `KINGDOM_BASE_DIR`, then the nearest parent with `config/system.yaml`."""
    named = given or environment.get(BASE_DIR_VARIABLE)
    if named:
        return _existing(BaseDir(named), "--base-dir" if given else BASE_DIR_VARIABLE)
    place = os.path.abspath(working_dir)
    while True:
        if _is_kingdom(place):
            return BaseDir(place)
        if all(os.path.isdir(os.path.join(place, one)) for one in PLACES):
            _refuse_closed(place)
        parent = os.path.dirname(place)
        if parent == place:
            raise ConfigurationError(
                f"There is no kingdom in {working_dir} or above it.",
                remedy="Make one with: kingdom init DIR, then work there or pass --base-dir DIR.",
            )
        place = parent


def _existing(base: BaseDir, source: str) -> BaseDir:
    if _is_kingdom(base.root):
        return base
    _refuse_closed(base.root)
    raise ConfigurationError(
        f"{base.root} (from {source}) is not a kingdom: it has no config/system.yaml.",
        remedy=f"Make it one with: kingdom init {base.root}",
    )


def _refuse_closed(place: str) -> None:
    """It may well be a kingdom, but not one of this user's."""
    for path in (place, os.path.join(place, "config")):
        if os.path.isdir(path) and not os.access(path, os.X_OK):
            owner = user_name(os.stat(path).st_uid)
            raise ConfigurationError(
                f"{path} belongs to {owner}, and this user may not look into it.",
                remedy=f"Run the command as {owner}: sudo -u {owner} kingdom …",
            )


def _is_kingdom(place: str) -> bool:
    """By its settings; one whose settings are gone can still be stopped."""
    settings = os.path.join(place, "config", "system.yaml")
    return os.path.isfile(settings) or os.path.lexists(os.path.join(place, "state", "format"))
