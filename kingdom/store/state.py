"""Small JSON files in `state/` that one role writes and others read: whole, or the one before."""

from __future__ import annotations

import errno
import json
from collections.abc import Callable, Iterable
from typing import Any

from kingdom.store import disk

LARGEST = 16 * 1024 * 1024


def write_json(path: str, value: Any, *, sync: bool = True) -> None:
    """For people too: indented, not escaped."""
    text = json.dumps(value, ensure_ascii=False, indent=2) + "\n"
    disk.replace(path, text.encode("utf-8", "backslashreplace"), sync=sync)


def spelled(key: str, value: Any) -> str:
    """An entry of a file that `write_spelled` puts together."""
    return json.dumps({key: value}, ensure_ascii=False, indent=2)[2:-2]


def write_spelled(path: str, entries: Iterable[str], *, sync: bool = True) -> None:
    """As `write_json`, of entries most of which were spelled before."""
    text = ",\n".join(entries)
    whole = f"{{\n{text}\n}}\n" if text else "{}\n"
    disk.replace(path, whole.encode("utf-8", "backslashreplace"), sync=sync)


def read_json(path: str, default: Any = None, *, loads: Callable[[bytes], Any] = json.loads) -> Any:
    """What is there; `default` for a file that is missing, damaged or of another form.

    State can be made anew, so a damaged file is no reason to stop.
    """
    try:
        data, _ = disk.read(path, LARGEST)
    except FileNotFoundError:
        return default
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EINVAL, errno.EFBIG):
            return default
        raise
    try:
        return loads(data)
    except (ValueError, RecursionError):
        return default
