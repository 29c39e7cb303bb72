"""`argparse` as every command uses it: one sentence for a mistake, a suggestion, examples."""

from __future__ import annotations

import argparse
from typing import Any, NoReturn

from kingdom.cli.call import Call
from kingdom.cli.output import terminal_width
from kingdom.errors import UsageError

WIDTH = 100
EXAMPLES = "examples:"
# What completion offers for a positional or an option's value.
IDS, STREAMS, TYPES, SCHEMAS, KEYS, FILES, DIRECTORIES = (
    "ids",
    "streams",
    "types",
    "schemas",
    "keys",
    "files",
    "directories",
)
ROLES, TASKS, SOLDIERS, LOGS = "roles", "tasks", "soldiers", "logs"
FAILURE_CODES = "failure codes"
QUESTIONS, ANY_ID = "questions", "any id"
GENERALS, WATCHED = "generals", "watchers"


class _Formatter(argparse.HelpFormatter):
    """Leaves examples as they are."""

    def __init__(self, prog: str) -> None:
        # Left to itself, argparse imports half the standard library to find the width.
        super().__init__(prog, width=min(terminal_width() or WIDTH, WIDTH))

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return text if text.startswith(EXAMPLES) else super()._fill_text(text, width, indent)


class Parser(argparse.ArgumentParser):
    def __init__(self, command: str, description: str, *examples: str) -> None:
        super().__init__(
            prog=f"kingdom {command}",
            description=description,
            epilog="\n".join((EXAMPLES, *(f"  {line}" for line in examples))),
            formatter_class=_Formatter,
            allow_abbrev=False,
        )
        self.command = command
        self.offers: dict[str, str] = {}
        self.takes(
            "--base-dir",
            offers=DIRECTORIES,
            metavar="DIR",
            help="the kingdom to work on (else KINGDOM_BASE_DIR, else the one around here)",
        )

    def takes(self, *names: str, offers: str = "", **options: Any) -> None:
        """`add_argument`, and what completion offers for it."""
        action = self.add_argument(*names, **options)
        if offers:
            self.offers[action.dest] = offers

    def takes_json(self) -> None:
        self.takes("--json", action="store_true", help="for programs")

    def read(self, call: Call) -> argparse.Namespace:
        """The options typed; a base directory among them is the call's from here on."""
        options, unknown = self.parse_known_args(call.arguments)
        if unknown:
            raise self._unknown(unknown)
        if options.base_dir:
            call.base_dir = options.base_dir
        return options

    def _unknown(self, words: list[str]) -> UsageError:
        word = next((word for word in words if word.startswith("-")), words[0])
        option = word.partition("=")[0]
        if not option.startswith("-"):
            return self._mistake(f"{word!r} is one argument too many")
        from kingdom.cli.failure import did_you_mean

        hint = did_you_mean(option, self._option_string_actions)
        return self._mistake(f"{option} is not an option", hint)

    def _mistake(self, what: str, hint: str = "") -> UsageError:
        return UsageError(f"{self.command}: {what}.", remedy=hint or f"See: {self.prog} --help")

    def error(self, message: str) -> NoReturn:
        raise self._mistake(message)
