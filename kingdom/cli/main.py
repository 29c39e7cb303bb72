"""From the words typed to the command's module, and from whatever happens to an exit code."""

from __future__ import annotations

import os
import signal
import sys
from importlib import import_module

from kingdom.cli.call import Call
from kingdom.cli.table import COMMANDS, HIDDEN
from kingdom.errors import KingdomError, UsageError
from kingdom.limits import limit_in

EXIT_PIPE_CLOSED = 141


def run(words: list[str]) -> int:
    call = Call([], None, os.environ, _working_dir())
    _hear_signals()
    try:
        _survive_any_encoding()
        code = _dispatch(words, call)
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        # Whoever read has seen enough. The interpreter would complain while closing, so it may not.
        os._exit(EXIT_PIPE_CLOSED)
    except Exception as error:  # noqa: BLE001 - whatever it is, nobody wants a traceback
        if (limit := limit_in(error)) is not None:  # then nothing more may be read either
            print(f"kingdom: {limit}", file=sys.stderr)
            return _leave(limit.exit_code)
        from kingdom.cli.failure import report

        return _leave(report(error, call))


def _hear_signals() -> None:
    """Whoever started us may have blocked them all: a role would be deaf when it is asked to end.
    With the end of children ignored, nobody could tell how a program ended."""
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    if signal.getsignal(signal.SIGCHLD) == signal.SIG_IGN:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)


def _leave(code: int) -> int:
    """With what was printed so far, if that can be had: else the interpreter would complain too."""
    try:
        sys.stdout.flush()
    except OSError:
        os._exit(code)
    return code


def _working_dir() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError:
        return "/"  # it was removed under our feet


def _survive_any_encoding() -> None:
    """A name that is no UTF-8, or a terminal without Korean, must not stop a listing."""
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure:
        reconfigure(errors="backslashreplace")


def _dispatch(words: list[str], call: Call) -> int:
    command, call.base_dir, call.arguments = split(words)
    if command not in COMMANDS and command not in HIDDEN:
        raise unknown_command(command)
    entry = COMMANDS.get(command) or HIDDEN[command]
    code: int = import_module(f"kingdom.cli.{entry.module}").run(call)
    return code


def split(words: list[str]) -> tuple[str, str | None, list[str]]:
    """The command, the base directory if given before it, and the words after it."""
    base_dir = None
    rest = list(words)
    while rest and rest[0].startswith("-"):
        option, _, value = rest.pop(0).partition("=")
        if option in ("-h", "--help"):
            return "help", base_dir, rest
        if option == "--version":
            return "version", base_dir, rest
        if option != "--base-dir":
            raise unknown_option(option)
        if not value and not rest:
            raise UsageError("--base-dir needs a directory.", remedy="See: kingdom help")
        base_dir = value or rest.pop(0)
    return (rest[0], base_dir, rest[1:]) if rest else ("help", base_dir, [])


def unknown_command(word: str) -> KingdomError:
    from kingdom.cli.failure import did_you_mean

    hint = did_you_mean(word, COMMANDS, "kingdom {}")
    return UsageError(f"{word!r} is not a command.", remedy=hint or "All commands: kingdom help")


def unknown_option(option: str) -> KingdomError:
    from kingdom.cli.failure import did_you_mean

    hint = did_you_mean(option, ("--base-dir", "--help", "--version"), "{}")
    return UsageError(
        f"{option} is not an option that stands before a command.",
        remedy=hint or "See: kingdom help",
    )
