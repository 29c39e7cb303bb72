"""`kingdom queue`: which of its four verbs was meant."""

from __future__ import annotations

from importlib import import_module

from kingdom.cli.call import Call
from kingdom.errors import EXIT_DONE, UsageError

# Each verb lives in a module of its own, so that looking does not pay for changing.
VERBS = {
    "ls": ("queue_ls", "list what waits, is under way, or is dead"),
    "show": ("queue_show", "show one message and where it lies"),
    "retry": ("queue_change", "put a dead message back to pending, with clean counts"),
    "drop": ("queue_change", "move a message to dead/, so that nobody handles it"),
}


def run(call: Call) -> int:
    verb, call.arguments = _split(call)
    if verb in ("-h", "--help"):
        print(overview())
        return EXIT_DONE
    if verb not in VERBS:
        raise _unknown(verb)
    code: int = import_module(f"kingdom.cli.{VERBS[verb][0]}").run(call, verb)
    return code


def _split(call: Call) -> tuple[str, list[str]]:
    """The verb, and all else; the base directory may be named before it."""
    words = list(call.arguments)
    while words and words[0].startswith("--base-dir"):
        option, _, value = words.pop(0).partition("=")
        if option != "--base-dir" or not (value or words):
            raise UsageError("queue: --base-dir needs a directory.", remedy="See: kingdom help")
        call.base_dir = value or words.pop(0)
    return (words[0], words[1:]) if words else ("--help", [])


def _unknown(verb: str) -> UsageError:
    from kingdom.cli.failure import did_you_mean

    hint = did_you_mean(verb, VERBS, "kingdom queue {}")
    return UsageError(
        f"queue: {verb!r} is not one of its verbs.", remedy=hint or "See: kingdom queue"
    )


def overview() -> str:
    lines = [f"  kingdom queue {verb:<7}{words}" for verb, (_, words) in VERBS.items()]
    foot = "kingdom queue VERB --help explains one, with examples."
    return "\n".join(["Looks at messages and steers them.", "", *lines, "", foot])
