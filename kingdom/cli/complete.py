"""What a completion script asks: the words so far, and what the last of them may become.

Answers one candidate per line, a tab, and what it is; or `:files` and `:directories`, which shells
know better. It says nothing rather than anything wrong. Options and arguments come from the
commands' own parsers.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from importlib import import_module
from itertools import islice

from kingdom.cli import parser as offers
from kingdom.cli.call import Call
from kingdom.cli.parser import Parser
from kingdom.cli.table import COMMANDS
from kingdom.errors import EXIT_DONE, KingdomError
from kingdom.topology import DEAD, HELD, STREAMS, WATCHERS

Candidate = tuple[str, str]

MOST = 1000
WITH_VERBS = ("queue", "general", "memory", "sentinel", "envoy", "systemd")
GLOBAL = (
    ("--base-dir", "the kingdom to work on"),
    ("--help", "what there is"),
    ("--version", "of the program"),
)


def run(call: Call) -> int:
    words = call.arguments[1:] if call.arguments[:1] == ["--"] else call.arguments
    try:
        *before, current = words or [""]
        found = list(_candidates(call, before, current))
    except (KingdomError, OSError):
        found = []
    for word, about in islice((c for c in found if _fits(c[0], current)), MOST):
        print(f"{word}\t{about}" if about else word)
    return EXIT_DONE


def _fits(word: str, current: str) -> bool:
    return word.startswith((":", current))


def _candidates(call: Call, before: list[str], current: str) -> Iterable[Candidate]:
    rest = _without_base_dir(call, before)
    if rest is None:
        return [(":directories", "")]
    if not rest:
        return GLOBAL if current.startswith("-") else _commands()
    command, *typed = rest
    if command == "help":
        return _commands()
    if command in WITH_VERBS and not typed:
        return [(verb, about) for verb, (_, about) in _verbs(command).items()]
    parser = _parser_of(command, typed)
    return _of_parser(call, parser, typed, current) if parser else []


def _commands() -> list[Candidate]:
    return [(name, command.summary) for name, command in COMMANDS.items()]


def _without_base_dir(call: Call, words: list[str]) -> list[str] | None:
    """The other words; None when the directory is what is being typed."""
    rest = []
    stream = iter(words)
    for word in stream:
        option, _, value = word.partition("=")
        if option != "--base-dir":
            rest.append(word)
            continue
        call.base_dir = value or next(stream, None)
        if call.base_dir is None:
            return None
    return rest


def _verbs(command: str) -> dict[str, tuple[str, str]]:
    found: dict[str, tuple[str, str]] = import_module(f"kingdom.cli.{command}").VERBS
    return found


def _parser_of(command: str, typed: list[str]) -> Parser | None:
    """Takes the verb of a command that has some off the words."""
    if command in WITH_VERBS:
        verb = typed.pop(0)
        verbs = _verbs(command)
        module = verbs[verb][0] if verb in verbs else ""
        arguments = [verb]
    else:
        module = COMMANDS[command].module if command in COMMANDS else ""
        arguments = []
    if not module:
        return None
    made: Parser = import_module(f"kingdom.cli.{module}").parser(*arguments)
    return made


def _of_parser(call: Call, parser: Parser, typed: list[str], current: str) -> Iterable[Candidate]:
    options = {name: one for one in parser._actions for name in one.option_strings}
    if typed and typed[-1] in options and options[typed[-1]].nargs != 0:
        return _values(call, parser, options[typed[-1]])
    if current.startswith("-"):
        return [(name, one.help or "") for name, one in options.items() if name.startswith("--")]
    position = _positionals(typed, options)
    wanted = [one for one in parser._actions if not one.option_strings]
    return _values(call, parser, wanted[position]) if position < len(wanted) else []


def _positionals(typed: list[str], options: dict[str, argparse.Action]) -> int:
    """How many words so far are neither an option nor its value."""
    count, skip = 0, False
    for word in typed:
        if skip:
            skip = False
        elif word.startswith("-") and len(word) > 1:
            skip = word in options and options[word].nargs != 0
        else:
            count += 1
    return count


def _values(call: Call, parser: Parser, action: argparse.Action) -> Iterable[Candidate]:
    if action.choices:
        return [(str(choice), "") for choice in action.choices]
    match parser.offers.get(action.dest):
        case offers.FILES:
            return [(":files", "")]
        case offers.DIRECTORIES:
            return [(":directories", "")]
        case offers.STREAMS:
            return [(name, f"read by the {stream.consumer}") for name, stream in STREAMS.items()]
        case offers.IDS:
            return _ids(call, parser.command.rpartition(" ")[2])
        case offers.ROLES | offers.TASKS | offers.SOLDIERS | offers.LOGS as kind:
            return _of_work(call, kind, parser.command)
        case offers.QUESTIONS:
            return _questions(call)
        case offers.GENERALS:
            return _generals(call)
        case offers.ANY_ID:
            return _any_ids(call)
        case kind:
            return _names(kind)


def _names(kind: str | None) -> Iterator[Candidate]:
    """Heavy imports only for those that need them."""
    if kind == offers.WATCHED:
        yield from ((name, "watcher") for name in WATCHERS)
    elif kind == offers.TYPES:
        from kingdom.models.priority import EVENT_TYPES

        yield from EVENT_TYPES.items()
    elif kind == offers.SCHEMAS:
        from kingdom.models.schemas import SCHEMA_NAMES

        yield from ((name, "") for name in SCHEMA_NAMES)
    elif kind == offers.FAILURE_CODES:
        from kingdom.failures import FAILURES

        yield from ((code, one.sentence) for code, one in FAILURES.items())
    elif kind == offers.KEYS:
        from kingdom.settings.model import FILES
        from kingdom.settings.shape import keys

        for name, model in FILES.items():
            yield name, f"config/{name}.yaml"
            yield from ((".".join((name, *path)), "") for path in keys(model))


def _of_work(call: Call, kind: str, command: str) -> Iterator[Candidate]:
    """Roles, soldiers at work, and the tasks that a command could be about."""
    from kingdom.cli.logs import FILES
    from kingdom.ops.status import soldiers
    from kingdom.ops.suite import role_names

    base = call.base()
    if kind in (offers.ROLES, offers.LOGS):
        yield from ((name, "role") for name in role_names(base))
    if kind == offers.LOGS:
        yield from ((name, f"logs/{file}") for name, file in FILES.items())
    if kind in (offers.SOLDIERS, offers.LOGS):
        yield from ((str(one.get("id")), f"at {one.get('task_id')}") for one in soldiers(base))
    if kind != offers.ROLES:
        yield from _tasks(call, ended=command in ("retry", "logs"))


def _generals(call: Call) -> Iterator[Candidate]:
    from kingdom.ops.suite import role_names
    from kingdom.topology import GENERAL_PREFIX

    names = role_names(call.base())
    yield from ((name, "general") for name in names if name.startswith(GENERAL_PREFIX))


def _tasks(call: Call, *, ended: bool) -> Iterator[Candidate]:
    from kingdom.ops.listing import ENDED, places, stems

    for place in places(call.base(), ("tasks",)):
        if place.state != DEAD and (place.state in ENDED) <= ended:
            yield from ((stem, place.state) for stem in stems(place))


def _questions(call: Call) -> Iterator[Candidate]:
    from kingdom.ops.asking import questions

    for one in questions(call.base()).open:
        yield one.task_id, " ".join(one.written["question"].split())


def _any_ids(call: Call) -> Iterator[Candidate]:
    from kingdom.ops.status import soldiers

    yield from _ids(call, "show")
    yield from ((str(one.get("id")), f"at {one.get('task_id')}") for one in soldiers(call.base()))


def _ids(call: Call, verb: str) -> Iterator[Candidate]:
    from kingdom.models.ids import is_id
    from kingdom.ops.listing import places, stems

    for place in places(call.base()):
        if _makes_sense(verb, place.state):
            where = f"{place.stream}/{place.state}"
            yield from ((stem, where) for stem in stems(place) if is_id(stem))


def _makes_sense(verb: str, state: str) -> bool:
    from kingdom.ops.listing import ENDED

    if verb == "retry":
        return state == DEAD
    if verb == "release":
        return state == HELD
    return verb == "show" or state not in (*ENDED, DEAD)
