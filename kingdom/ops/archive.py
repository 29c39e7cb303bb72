"""What an archive looks like: `kingdom/…` for every file and directory, then a manifest with the
files' checksums."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field, fields
from typing import IO, Any

from kingdom.errors import InvalidFile

ROOT = "kingdom/"
MANIFEST = "kingdom-manifest.json"
ARCHIVE_FORMAT = 2  # the first had no directories, and not every mode
LARGEST = 1024**3  # bytes of one file
# An archive gives no rights to other users, and no program the rights of one.
MODE_BITS = 0o700


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
            known = {one.name for one in fields(Manifest)}
            return Manifest(**{key: value for key, value in found.items() if key in known})
        except (ValueError, TypeError, AttributeError):
            raise damaged("its manifest is not readable") from None


class Summed:
    """A file that is read, and the checksum of what was read so far."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._sum = hashlib.sha256()
        self.size = 0

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(size)
        self._sum.update(data)
        self.size += len(data)
        return data

    @property
    def checksum(self) -> str:
        return self._sum.hexdigest()


def damaged(what: str) -> InvalidFile:
    return InvalidFile(
        f"The archive is damaged or not one of kingdom's: {what}.",
        remedy="Nothing was changed; use another archive.",
        code="damaged_archive",
    )
