"""The engine `command`: any program that reads a prompt and writes a result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kingdom.engines.port import Availability, Evidence, ModelAccess, Order, Plan, Verdict
from kingdom.engines.program import Program


class CommandEngine:
    name = "command"
    access = ModelAccess()

    def __init__(self, argv: Sequence[str], environment: Mapping[str, str], root: str = "") -> None:
        self._argv = tuple(argv)
        self._program = Program(self._argv[0] if argv else "", environment, root)

    def availability(self) -> Availability:
        if not self._argv:
            return Availability(
                False,
                "runtime.command.argv names no program.",
                "Name one in config/local/system.yaml: runtime: {command: {argv: [./my-agent]}}.",
            )
        if self._program.path() is None:
            return Availability(
                False,
                f"The program {self._argv[0]} of runtime.command.argv is not installed.",
                "Install it, or name another one in config/local/system.yaml.",
            )
        return Availability(True)

    def program(self) -> str | None:
        return self._program.path()

    def plan(self, order: Order) -> Plan:
        return Plan((self._program.word(), *self._argv[1:]))

    def progress(self, stdout_path: str) -> str:
        return ""

    def judge(self, evidence: Evidence) -> Verdict:
        """The program's own result is all that is known of it."""
        return Verdict()
