"""What soldiers learn and the next ones are told.

Writes `memory/generals/{general}/learned-patterns.md`, one lesson a line, the oldest dropped when
there are too many. People may edit it, and add files beside it and in `memory/shared/`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from kingdom.store import disk
from kingdom.store.paths import BaseDir

LEARNED = "learned-patterns.md"
LARGEST = 32 * 1024
LONGEST_LESSON = 500


def remember(base: BaseDir, general: str, lessons: Iterable[str]) -> None:
    """Add those that are new."""
    directory = _of_general(base, general)
    path = os.path.join(directory, LEARNED)
    lines = _read(path).splitlines()
    fresh = [line for line in map(_as_line, lessons) if line and line not in lines]
    if not fresh:
        return
    lines += dict.fromkeys(fresh)
    while sum(len(line.encode()) + 1 for line in lines) > LARGEST:
        lines.pop(0)
    disk.make_directory(directory)
    disk.replace(path, ("\n".join(lines) + "\n").encode(), sync=False)


def _as_line(lesson: str) -> str:
    words = " ".join(lesson.split())[:LONGEST_LESSON]
    return f"- {words}" if words else ""


def recall(base: BaseDir, general: str) -> str:
    """All that this general's soldiers should know, cut to a size that a prompt can bear."""
    texts = []
    for directory in (os.path.join(base.memory, "shared"), _of_general(base, general)):
        for name in sorted(disk.names(directory)):
            if name.endswith(".md") and not name.startswith("."):
                texts.append(_read(os.path.join(directory, name)).strip())
    return "\n\n".join(filter(None, texts))[:LARGEST]


def _of_general(base: BaseDir, general: str) -> str:
    return os.path.join(base.memory, "generals", general)


def _read(path: str) -> str:
    """As far as it is of a size that makes sense; what cannot be read is no reason to stop."""
    try:
        data, _ = disk.read(path, 4 * LARGEST)
    except OSError:
        return ""
    return data.decode("utf-8", "replace")
