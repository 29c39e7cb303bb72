"""The engine `command`: any program that reads a prompt and writes a result."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence

from kingdom.engines.port import Availability, Evidence, Order, Plan, Verdict


class CommandEngine:
    name = "command"

    def __init__(self, argv: Sequence[str], environment: Mapping[str, str], root: str = "") -> None:
        self._argv = tuple(argv)
        self._path = environment.get("PATH", os.defpath)
        self._root = root

    def availability(self) -> Availability:
        if not self._argv:
            return Availability(
                False,
                "runtime.command.argv names no program.",
                "Name one in config/system.yaml: runtime: {command: {argv: [./my-agent]}}.",
            )
        if self.program() is None:
            return Availability(
                False,
                f"The program {self._argv[0]} of runtime.command.argv is not installed.",
                "Install it, or name another one in config/system.yaml.",
            )
        return Availability(True)

    def plan(self, order: Order) -> Plan:
        return Plan((self.program() or self._argv[0], *self._argv[1:]))

    def program(self) -> str | None:
        """Its full path: soldiers work elsewhere, so a relative one means one of the kingdom's."""
        name = self._argv[0]
        if os.sep in name:
            name = os.path.join(self._root, name) if self._root else name
        return shutil.which(name, path=self._path)

    def progress(self, stdout_path: str) -> str:
        return ""

    def judge(self, evidence: Evidence) -> Verdict:
        """The program's own result is all that is known of it."""
        return Verdict()
