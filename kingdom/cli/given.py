"""What a person hands to a command as a file, or on its standard input."""

from __future__ import annotations

import errno
import os
import sys

from kingdom.cli.call import Call
from kingdom.errors import InvalidFile, UsageError
from kingdom.store import disk

LARGEST = 16 * 1024 * 1024
STANDARD_INPUT = "-"


def content_of(call: Call, path: str) -> bytes:
    """Whole, or a sentence that says why not."""
    if path == STANDARD_INPUT:
        data = sys.stdin.buffer.read(LARGEST + 1)
        if len(data) > LARGEST:
            raise _too_large(name_of(path))
        return data
    try:
        return disk.read(os.path.realpath(os.path.join(call.working_dir, path)), LARGEST)[0]
    except FileNotFoundError:
        raise UsageError(
            f"There is no file {path}.", remedy="Check the path, or give - and pipe it in."
        ) from None
    except OSError as error:
        if error.errno == errno.EFBIG:
            raise _too_large(path) from None
        raise UsageError(f"{path} cannot be read: {error.strerror}.") from None


def name_of(path: str) -> str:
    """As a refusal calls it."""
    return "standard input" if path == STANDARD_INPUT else path


def _too_large(name: str) -> InvalidFile:
    return InvalidFile(
        f"{name} is larger than {LARGEST // 1024 // 1024} MiB.",
        remedy="Put large data elsewhere and name its path in the payload.",
    )
