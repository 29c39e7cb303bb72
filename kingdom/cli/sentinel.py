"""`kingdom sentinel try`: what the watchers see now, and what they would make of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kingdom.cli.call import Call
from kingdom.cli.failure import say
from kingdom.cli.opening import settings_from
from kingdom.cli.output import count, harmless, print_json
from kingdom.cli.parser import WATCHED, Parser
from kingdom.cli.verbs import overview, run_verb
from kingdom.errors import EXIT_DONE, EXIT_FAILED, KingdomError, UsageError
from kingdom.topology import WATCHERS

if TYPE_CHECKING:
    from kingdom.ops.trying import Tried
    from kingdom.settings.loading import Settings
    from kingdom.store.paths import BaseDir

VERBS = {"try": ("sentinel", "one round that only looks: what would become an event, and why not")}
ABOUT = "Looks where the sentinel looks."
EXAMPLES = ("kingdom sentinel try", "kingdom sentinel try github --json | jq '.[].event'")


def run(call: Call, verb: str = "") -> int:
    if not verb:
        return run_verb(call, "sentinel", VERBS, overview("sentinel", ABOUT, VERBS, *EXAMPLES))
    return _try(call)


def parser(verb: str = "try") -> Parser:
    made = Parser(
        "sentinel try",
        "Asks GitHub, Jira or the inbox once and prints which events would come of it, and why "
        "the rest would be left alone. It changes nothing, here or there, and may be typed while "
        "the kingdom runs.",
        *EXAMPLES,
    )
    made.takes(
        "watcher",
        nargs="?",
        default="",
        offers=WATCHED,
        metavar="WATCHER",
        help="github, jira or inbox; else all that are configured",
    )
    made.takes_json()
    return made


def _try(call: Call) -> int:
    options = parser().read(call)
    if options.watcher and options.watcher not in WATCHERS:
        raise UsageError(
            f"sentinel try: {options.watcher!r} is not a watcher.",
            remedy=f"There are: {', '.join(WATCHERS)}.",
        )
    base = call.base()
    from kingdom.ops.trust_to_add import recent_events, trust_to_add
    from kingdom.ops.trying import watchers_to_try

    settings = settings_from(call, base, "system", "sentinel")
    names = watchers_to_try(settings, options.watcher)
    found: list[Any] = []
    code = EXIT_DONE
    for name in names:
        try:
            listed = _tried(call, base, settings, name, quiet=options.json)
        except KingdomError as error:
            if options.watcher:
                raise
            say(f"{name}: {error}")
            code = EXIT_FAILED
        else:
            found += [one._asdict() for one in listed]
    if options.json:
        print_json(found)
    elif not names:
        print("No watcher is configured: config/local/sentinel.yaml names none.")
    else:
        events = [one["event"] for one in found if one["event"]]
        for line in trust_to_add(settings.sentinel, [*events, *recent_events(base)]):
            print(harmless(line, keep=""))
    return code


def _tried(call: Call, base: BaseDir, settings: Settings, name: str, *, quiet: bool) -> list[Tried]:
    """Printed as they come: a long listing takes its time."""
    from kingdom.ops.trying import attempt

    found = []
    for one in attempt(base, call.environment, settings, name):
        found.append(one)
        if not quiet:
            print(harmless(_line(one), keep=""), flush=True)
    if not quiet:
        emitted = sum(one.event is not None for one in found)
        print(f"{name}: {count(len(found), 'thing')} seen, {count(emitted, 'event')} to emit.")
    return found


def _line(one: Tried) -> str:
    words = [f"  {one.verdict:<10}", one.about]
    if one.event:
        trust, why = one.event.get("trust", "outside"), one.event.get("trust_reason")
        trust = f"{trust}: {why}" if why else trust
        words.append(f"→ {one.event['id']}  {one.event['type']}, {one.event['priority']}, {trust}")
    return "  ".join([*words, *filter(None, [one.reason])])
