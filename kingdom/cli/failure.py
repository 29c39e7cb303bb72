"""What a person reads when something went wrong: one sentence, and the command that helps.

A traceback never reaches the terminal. That of a bug goes to `logs/system.log`.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterable

from kingdom.cli.call import Call
from kingdom.errors import EXIT_FAILED, KingdomError

TRACEBACK_VARIABLE = "KINGDOM_TRACEBACK"

_CUT_OFF = "A full disk has cut off modules that Python compiled."
# What the machine may refuse; any other refusal is a mistake of ours.
REMEDIES = {
    errno.EACCES: "Give this user the right to it, or run the command as the one who has it.",
    errno.EPERM: "Give this user the right to it, or run the command as the one who has it.",
    errno.EROFS: "Mount it writable, or choose another place.",
    errno.ENOSPC: "Make room on the disk, then run the command again.",
    errno.EDQUOT: "Make room in this user's quota, then run the command again.",
    errno.EFBIG: "See what makes it so large.",
    errno.EIO: "Look at the disk: dmesg says what is wrong with it.",
    errno.ESTALE: "Mount the network file system again.",
    errno.EXDEV: "See what is wrong with: kingdom doctor",
    errno.ENOTDIR: "See what is wrong with: kingdom fsck",
    errno.ELOOP: "See what is wrong with: kingdom fsck",
    errno.ENAMETOOLONG: "Choose a shorter name.",
}


def report(error: Exception, call: Call) -> int:
    """Says what happened on standard error; answers the exit code."""
    if isinstance(error, KingdomError):
        say(str(error))
        return error.exit_code
    if isinstance(error, OSError) and error.errno in REMEDIES:
        say(f"{_named(error)}{error.strerror}. {REMEDIES[error.errno]}")
        return EXIT_FAILED
    if isinstance(error, EOFError) and "marshal" in str(error):
        say(f"{_CUT_OFF} Remove them with: find {_package()} -name '*.pyc' -delete")
        return EXIT_FAILED
    say(f"This is a bug in kingdom: {_short(error)}. {_where_to_look(error, call)}")
    return EXIT_FAILED


def _package() -> str:
    return os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def say(text: str) -> None:
    from kingdom.cli.output import harmless

    print(harmless(f"kingdom: {text}", keep=""), file=sys.stderr)


def _named(error: OSError) -> str:
    return f"{error.filename}: " if error.filename else ""


def _short(error: Exception) -> str:
    text = f"{type(error).__name__}: {error}".splitlines()[0]
    return text if len(text) <= 200 else f"{text[:197]}..."


def _where_to_look(error: Exception, call: Call) -> str:
    if call.environment.get(TRACEBACK_VARIABLE):
        import traceback

        traceback.print_exception(error)
    path = _log(error, call)
    if path:
        return f"Its traceback is in {path}."
    return f"Run it again with {TRACEBACK_VARIABLE}=1 to see where."


def _log(error: Exception, call: Call) -> str | None:
    """The log it was written to; None without a base directory or when that cannot be written."""
    try:
        from kingdom.runtime.logging import configure, get_logger

        base, silent = call.base_of_any_format(), _Silent()
        configure("operator", base, environment=call.environment, stream=silent)
        get_logger().error("cli.crashed", exc_info=error)
    except Exception:  # noqa: BLE001 - one bug is enough: whatever fails here, the first is told
        return None
    return None if "system_log" in silent.text else base.system_log


class _Silent:
    """Keeps what logging would print, to see whether it says that the log could not be written."""

    def __init__(self) -> None:
        self.text = ""

    def write(self, text: str, /) -> None:
        self.text += text

    def flush(self) -> None: ...

    def isatty(self) -> bool:
        return False


def did_you_mean(word: str, known: Iterable[str], form: str = "{}") -> str:
    """A suggestion, or nothing when no known word comes near."""
    import difflib

    near = difflib.get_close_matches(word, list(known), n=1)
    return f"Did you mean: {form.format(near[0])}" if near else ""
