"""A command with verbs, such as `kingdom memory show`: which was meant, and the page of all."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

from kingdom.cli.call import Call
from kingdom.errors import EXIT_DONE, UsageError

# A verb's module and what it is for. The module has `parser(verb)` and `run(call, verb)`.
Verbs = Mapping[str, tuple[str, str]]


def run_verb(call: Call, command: str, verbs: Verbs, overview: str) -> int:
    verb, call.arguments = _split(call, command)
    if verb in ("-h", "--help"):
        print(overview)
        return EXIT_DONE
    if verb not in verbs:
        raise _unknown(command, verb, verbs)
    code: int = import_module(f"kingdom.cli.{verbs[verb][0]}").run(call, verb)
    return code


def _split(call: Call, command: str) -> tuple[str, list[str]]:
    """The verb, and all else; the base directory may be named before it."""
    words = list(call.arguments)
    while words and words[0].startswith("--base-dir"):
        option, _, value = words.pop(0).partition("=")
        if option != "--base-dir" or not (value or words):
            raise UsageError(
                f"{command}: --base-dir needs a directory.", remedy="See: kingdom help"
            )
        call.base_dir = value or words.pop(0)
    return (words[0], words[1:]) if words else ("--help", [])


def _unknown(command: str, verb: str, verbs: Verbs) -> UsageError:
    from kingdom.cli.failure import did_you_mean

    hint = did_you_mean(verb, verbs, f"kingdom {command} {{}}")
    return UsageError(
        f"{command}: {verb!r} is not one of its verbs.", remedy=hint or f"See: kingdom {command}"
    )


def overview(command: str, about: str, verbs: Verbs, *examples: str) -> str:
    width = max(map(len, verbs)) + 2
    lines = [f"  kingdom {command} {verb:<{width}}{words}" for verb, (_, words) in verbs.items()]
    shown = ["", "examples:", *(f"  {line}" for line in examples)] if examples else []
    foot = f"kingdom {command} VERB --help explains one, with examples."
    return "\n".join([about, "", *lines, *shown, "", foot])
