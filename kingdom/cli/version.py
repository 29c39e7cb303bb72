"""`kingdom version`, when more was typed than that."""

from __future__ import annotations

from kingdom import __version__
from kingdom.cli.call import Call
from kingdom.cli.parser import Parser
from kingdom.errors import EXIT_DONE


def parser() -> Parser:
    return Parser("version", "Prints the version of the program.", "kingdom version")


def run(call: Call) -> int:
    parser().read(call)
    print(f"kingdom {__version__}")
    return EXIT_DONE
