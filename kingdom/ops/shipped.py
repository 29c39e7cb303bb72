"""`python -m kingdom.ops.shipped [DIR]` writes the shipped `config/` anew when a model changed."""

from __future__ import annotations

import os
import sys

from kingdom.models.schemas import config_files
from kingdom.store import disk


def main(directory: str) -> None:
    for name, content in config_files().items():
        path = os.path.join(directory, name)
        disk.make_directory(os.path.dirname(os.path.abspath(path)))
        disk.replace(os.path.abspath(path), content.encode())


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "config")
