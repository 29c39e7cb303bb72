"""Small JSON files in `state/` that one role writes and others read: whole, or the one before."""

from __future__ import annotations

import errno
import json
import math
from collections.abc import Callable, Iterable
from typing import Any

from kingdom.store import disk
from kingdom.store.rights import give_back_rights

LARGEST = 16 * 1024 * 1024

_NO_FILE = (errno.ELOOP, errno.EINVAL, errno.EFBIG, errno.EISDIR, errno.ENXIO, errno.ENOTDIR)

# What this process could not read and went on without, until it is said.
unread: dict[str, str] = {}


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


def json_of(data: bytes) -> Any:
    """`ValueError` for what is not JSON; so are numbers without end, which few can reckon with."""
    return json.loads(data, parse_float=_finite, parse_constant=_finite)


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} has no end")
    return number


def read_json(
    path: str,
    default: Any = None,
    *,
    loads: Callable[[bytes], Any] = json_of,
    needed: bool = False,
) -> Any:
    """What is there; `default` for a file that is missing, damaged, of another form, or another
    user's. State can be made anew, so none of that is a reason to stop.

    With `needed`, a file that is there and may not be read is an OSError: it is worth to wait until
    someone gives the right to it.
    """
    try:
        data = _content(path)
    except FileNotFoundError:
        return default
    except OSError as error:
        if error.errno not in _NO_FILE and (needed or not isinstance(error, PermissionError)):
            raise
        note_unread(path, error)
        return default
    try:
        return loads(data)
    except (ValueError, RecursionError):
        return default


def note_unread(path: str, error: OSError) -> None:
    """This process goes on without it, and says so."""
    unread[path] = error.strerror or str(error)


def _content(path: str) -> bytes:
    try:
        return disk.read(path, LARGEST)[0]
    except PermissionError:
        if not give_back_rights(path):
            raise
        return disk.read(path, LARGEST)[0]
