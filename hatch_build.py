"""Puts a software bill of materials into each wheel, in `.dist-info/sboms/` (PEP 770)."""

from __future__ import annotations

import os
import runpy
import tempfile
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class BillOfMaterials(BuildHookInterface[Any]):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        lock = runpy.run_path(os.path.join(self.root, "requirements", "lock.py"))
        self.directory_of_bill = tempfile.TemporaryDirectory()
        path = os.path.join(self.directory_of_bill.name, "kingdom.cdx.json")
        with open(path, "w", encoding="utf-8") as file:
            file.write(lock["bill_of_materials"]())
        build_data["sbom_files"].append(path)

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        self.directory_of_bill.cleanup()
