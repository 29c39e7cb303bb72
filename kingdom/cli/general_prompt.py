"""`kingdom general prompt`: exactly what a soldier would be told."""

from __future__ import annotations

import sys

from kingdom.cli.call import Call
from kingdom.cli.failure import say
from kingdom.cli.given import content_of, name_of
from kingdom.cli.opening import settings_from
from kingdom.cli.output import harmless, print_json
from kingdom.cli.parser import FILES, GENERALS, Parser
from kingdom.errors import EXIT_DONE, UsageError


def parser(verb: str = "prompt") -> Parser:
    made = Parser(
        f"general {verb}",
        "Shows exactly what a soldier of this general would be told for an event: the prompt on "
        "its standard input, and the guide that lies in its workspace as CLAUDE.md and AGENTS.md. "
        "Nothing is sent, and nothing is started.",
        "kingdom general prompt gen-pr --event event.json",
        "kingdom general prompt gen-pr                  # for the example in its package",
        "kingdom general prompt gen-pr --event - --json < event.json | jq -r .prompt",
    )
    made.takes("name", offers=GENERALS, metavar="NAME", help="which general")
    made.takes(
        "--event",
        offers=FILES,
        metavar="FILE",
        help="an event as JSON, as kingdom send --file takes it (- is standard input)",
    )
    made.takes("--json", action="store_true", help="for programs")
    return made


def run(call: Call, verb: str) -> int:
    options = parser(verb).read(call)
    base = call.base()
    from kingdom.clock import SystemClock
    from kingdom.ops.general_prompt import preview
    from kingdom.ops.generals import named

    path = options.event or named(base, options.name).example
    if path is None:
        raise UsageError(
            f"{options.name} has no example.json, so an event is needed.",
            remedy="Name one: --event FILE",
        )
    data, name = content_of(call, path), name_of(path)
    now = SystemClock().now()
    system = settings_from(call, base, "system").system
    local, told = now.astimezone(system.zone), system.memory.from_untrusted
    found = preview(base, options.name, data, name, local, from_untrusted=told)
    if found.left_out:
        names = " and ".join(found.left_out)
        say(f"It is told nothing of {names}, which has faults. See: kingdom general validate")
    if found.doubt:
        say(found.doubt)
    if options.json:
        print_json({"prompt": found.told.prompt, "guide": found.told.guide})
        return EXIT_DONE
    for title, text in (("prompt", found.told.prompt), ("CLAUDE.md", found.told.guide)):
        print(f"=== {title} ({len(text.encode('utf-8', 'replace')):,} bytes)")
        shown = harmless(text) if sys.stdout.isatty() else text
        print(shown if shown.endswith("\n") else f"{shown}\n", end="")
    return EXIT_DONE
