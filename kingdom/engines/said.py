"""A result that a soldier gave otherwise than in its file, written to where it belongs.

The wrapper asks for it once the program has ended, so that checks of a success can follow; the
general asks again, should the wrapper not have come to it. Only the standard library, as all that
the wrapper imports.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from typing import Any

from kingdom.store import disk


def write_said(engine: str, task_id: str, stdout: str, result_path: str) -> bool:
    """Whether there is a result file now."""
    if disk.exists(result_path):
        return True
    found = _said(engine, stdout)
    if found is None:
        return False
    text = json.dumps({"task_id": task_id, **found}, ensure_ascii=False, indent=2) + "\n"
    disk.make_directory(os.path.dirname(result_path))  # a soldier may have removed it
    disk.replace(result_path, text.encode("utf-8", "replace"), sync=False)
    return True


def _said(engine: str, stdout: str) -> Mapping[str, Any] | None:
    read = _reader(engine)
    return None if read is None else read(stdout)


def _reader(engine: str) -> Callable[[str], Mapping[str, Any] | None] | None:
    """By name, and imported only then: a wrapper starts for every soldier."""
    if engine == "claude":
        from kingdom.engines.claude import judging

        return judging.said
    if engine == "codex":
        from kingdom.engines.codex import judging as of_codex

        return of_codex.said
    return None
