"""The engine `rehearsal`: a scripted soldier that needs no account and says that it is one."""

from __future__ import annotations

import os
import sys

from kingdom.engines import rehearsal_soldier
from kingdom.engines.port import Availability, Evidence, ModelAccess, Order, Plan, Verdict


class RehearsalEngine:
    name = "rehearsal"
    access = ModelAccess()

    def availability(self) -> Availability:
        return Availability(True)

    def plan(self, order: Order) -> Plan:
        program = os.path.abspath(rehearsal_soldier.__file__)
        return Plan((sys.executable, "-I", "-S", program))

    def progress(self, stdout_path: str) -> str:
        return ""

    def judge(self, evidence: Evidence) -> Verdict:
        return Verdict()
