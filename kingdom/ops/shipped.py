"""The shipped `config/`: what the models generate, and the general packages that lie beside this.

`python -m kingdom.ops.shipped [DIR]` writes it anew when a model or a package changed.
"""

from __future__ import annotations

import os
import sys
from functools import cache

from kingdom.models.schemas import config_files
from kingdom.store import disk

PACKAGES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "general_packages")
GUIDE = "workspace-claude.md"
_LIMIT = 1_000_000


@cache
def shipped_files() -> dict[str, str]:
    """Each file's path inside `config/`, and its content."""
    packages = {
        f"generals/{name}/{part}": _content(name, part)
        for name in sorted(disk.names(PACKAGES))
        if name.startswith("gen-")
        for part in sorted(disk.names(os.path.join(PACKAGES, name)))
    }
    return config_files() | {GUIDE: _content(GUIDE)} | packages


def _content(*parts: str) -> str:
    return disk.read(os.path.join(PACKAGES, *parts), _LIMIT)[0].decode()


def main(directory: str) -> None:
    for name, content in shipped_files().items():
        path = os.path.join(directory, name)
        disk.make_directory(os.path.dirname(os.path.abspath(path)))
        disk.replace(os.path.abspath(path), content.encode())


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "config")
