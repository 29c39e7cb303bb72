"""The program behind an engine: where it lies, and what to say when it is not there."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping

from kingdom.engines.port import Availability


class Program:
    def __init__(self, name: str, environment: Mapping[str, str], root: str) -> None:
        """`name` is what the configuration calls it; `root`, the kingdom's base directory."""
        self.name = name
        self._search_path = environment.get("PATH", os.defpath)
        self._root = root

    def path(self) -> str | None:
        """In full: soldiers work elsewhere, so a relative one means one of the kingdom's."""
        name = self.name
        if os.sep in name:
            name = os.path.join(self._root, os.path.expanduser(name))
        return shutil.which(name, path=self._search_path)

    def word(self) -> str:
        """The first of a command line; one that is gone is named as it is configured."""
        return self.path() or self.name

    def availability(self, title: str, setting: str, install: str) -> Availability:
        """`title` is its maker's name for it; `setting`, where in `runtime` it is named."""
        if self.path() is not None:
            return Availability(True)
        return Availability(
            False,
            f"{title} is not installed: there is no program {self.name}.",
            f"Install it with: {install} (or name it in config/local/system.yaml: "
            f"runtime: {{{setting}: {{command: /path/to/{setting}}}}}).",
        )
