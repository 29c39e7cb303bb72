"""`kingdom schema`: the JSON Schema of what is written down."""

from __future__ import annotations

from kingdom.cli.call import Call
from kingdom.cli.parser import SCHEMAS, Parser
from kingdom.errors import EXIT_DONE, UsageError


def parser() -> Parser:
    made = Parser(
        "schema",
        "Prints the JSON Schema of a file that the kingdom reads or writes; without a name, which "
        "there are.",
        "kingdom schema",
        "kingdom schema event",
    )
    made.takes("name", nargs="?", offers=SCHEMAS, metavar="NAME", help="which one")
    return made


def run(call: Call) -> int:
    options = parser().read(call)
    from kingdom.cli.output import print_json
    from kingdom.models.schemas import SCHEMA_NAMES, schema_for

    if options.name is None:
        print("\n".join(SCHEMA_NAMES))
    elif options.name in SCHEMA_NAMES:
        print_json(schema_for(options.name))
    else:
        raise _unknown(options.name, SCHEMA_NAMES)
    return EXIT_DONE


def _unknown(name: str, known: tuple[str, ...]) -> UsageError:
    from kingdom.cli.failure import did_you_mean

    hint = did_you_mean(name, known, "kingdom schema {}") or f"There are: {', '.join(known)}."
    return UsageError(f"There is no schema {name!r}.", remedy=hint)
