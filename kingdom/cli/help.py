"""`kingdom help`: the overview for a newcomer, or the page of one command."""

from __future__ import annotations

from importlib import import_module

from kingdom import __doc__ as about
from kingdom.cli.call import Call
from kingdom.cli.main import unknown_command
from kingdom.cli.table import COMMANDS
from kingdom.errors import EXIT_DONE

FOOT = """\
A base directory is found from --base-dir DIR (before or after the command), KINGDOM_BASE_DIR,
or the nearest directory above that has config/system.yaml.

Try:
  kingdom demo
  kingdom init ~/kingdom && cd ~/kingdom && kingdom start
  kingdom send github.pr.review_requested --repo acme/web --payload '{"number": 7}'
  kingdom status

kingdom COMMAND --help explains one command, with examples.
"""


def run(call: Call) -> int:
    words = [word for word in call.arguments if word not in ("-h", "--help")]
    if not words:
        print(overview())
        return EXIT_DONE
    if words[0] not in COMMANDS:
        raise unknown_command(words[0])
    return page(call, words)


def page(call: Call, words: list[str]) -> int:
    if words[0] == "help":
        print(overview())
        return EXIT_DONE
    call.arguments = [*words[1:], "--help"]
    code: int = import_module(f"kingdom.cli.{COMMANDS[words[0]].module}").run(call)
    return code


def overview() -> str:
    lines = [str(about).strip(), ""]
    group = ""
    for name, command in COMMANDS.items():
        if command.group != group:
            group = command.group
            lines.append(f"{group}:")
        lines.append(f"  {name:<12}{command.summary}")
    return "\n".join([*lines, "", FOOT.rstrip()])
