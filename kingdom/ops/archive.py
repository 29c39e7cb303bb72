"""What an archive looks like: `kingdom/…` for every file, then a manifest with their checksums."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field
from typing import Any

from kingdom.errors import InvalidFile

ROOT = "kingdom/"
MANIFEST = "kingdom-manifest.json"
ARCHIVE_FORMAT = 1


@dataclass
class Manifest:
    version: str
    format: int
    created_at: str
    files: dict[str, str] = field(default_factory=dict)  # sha256 by name
    archive_format: int = ARCHIVE_FORMAT

    def to_json(self) -> bytes:
        return json.dumps(asdict(self), indent=1).encode()

    @staticmethod
    def from_json(data: bytes) -> Manifest:
        try:
            found: Any = json.loads(data)
            return Manifest(**found)
        except (ValueError, TypeError):
            raise damaged("its manifest is not readable") from None


def checksum(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def damaged(what: str) -> InvalidFile:
    return InvalidFile(
        f"The archive is damaged or not one of kingdom's: {what}.",
        remedy="Nothing was changed; use another archive.",
        code="damaged_archive",
    )
