"""`kingdom config`: the settings in force, and where each comes from."""

from __future__ import annotations

import json
from typing import Any

from kingdom.cli.call import Call
from kingdom.cli.output import print_json, print_table
from kingdom.cli.parser import KEYS, Parser
from kingdom.errors import EXIT_DONE


def parser() -> Parser:
    made = Parser(
        "config",
        "Shows the settings in force and where each comes from: a line in config/ or "
        "config/local/, a variable of the environment, or the default.",
        "kingdom config",
        "kingdom config system.delivery",
        "kingdom config system.timezone --json",
    )
    made.takes("key", nargs="?", offers=KEYS, metavar="KEY", help="only this one, or this section")
    made.takes_json()
    return made


def run(call: Call) -> int:
    options = parser().read(call)
    base = call.base()
    from kingdom.ops.effective import below, effective
    from kingdom.settings.loading import load_settings

    values = effective(load_settings(base.config, call.environment), call.environment)
    if options.key:
        values = below(values, options.key)
    if options.json:
        print_json({value.key: {"value": value.value, "source": value.source} for value in values})
    else:
        rows = [(value.key, _spelled(value.value), value.source) for value in values]
        print_table(("KEY", "VALUE", "FROM"), rows)
    return EXIT_DONE


def _spelled(value: Any) -> str:
    return value if isinstance(value, str) and value else json.dumps(value, ensure_ascii=False)
