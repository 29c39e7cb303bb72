"""`kingdom general`: the generals there are, and making, installing and removing them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from kingdom.cli.call import Call
from kingdom.cli.failure import say
from kingdom.cli.output import count, harmless, print_json, print_table
from kingdom.cli.parser import DIRECTORIES, GENERALS, Parser
from kingdom.cli.verbs import overview, run_verb
from kingdom.errors import EXIT_DONE, EXIT_USAGE, UsageError

if TYPE_CHECKING:
    from kingdom.models.manifest import Allowed
    from kingdom.ops.general_rights import Rights
    from kingdom.ops.generals import Package
    from kingdom.store.paths import BaseDir

VERBS = {
    "list": ("general", "the generals there are, and what each takes up"),
    "validate": ("general", "all that is wrong with one, or with all of them"),
    "prompt": ("general_prompt", "exactly what a soldier would be told for an event"),
    "new": ("general", "make a working skeleton of your own"),
    "install": ("general", "copy a package from a directory or a git repository"),
    "remove": ("general", "take one out; it is kept, and can be put back"),
}
_GROUPS = {
    **dict.fromkeys(("Read", "Grep", "Glob"), "read"),
    **dict.fromkeys(("Edit", "Write"), "edit"),
    "Bash": "shell",
}
ABOUT = "Looks after generals: each is a directory with a manifest, a prompt and a soul."
EXAMPLES = (
    "kingdom general list",
    "kingdom general new gen-docs",
    "kingdom general prompt gen-docs --event config/local/generals/gen-docs/example.json",
    "kingdom general install https://github.com/acme/generals.git#gen-docs",
)
TEXTS = {
    "list": (
        "Lists the generals in force: what each takes up, the engines it works with, and where it "
        "comes from: shipped as it is, config/generals/, or config/local/generals/. Below that, "
        "what work of each trust may do. A blank model is that of system.yaml, a blank budget that "
        "of chamberlain.yaml; where both say something, the smaller budget counts.",
        "kingdom general list",
        "kingdom general list --json | jq -r '.[].name'",
    ),
    "validate": (
        "Checks general packages and names everything that is wrong, with file, line and key. The "
        "exit code is 2 if something is.",
        "kingdom general validate",
        "kingdom general validate gen-docs",
        "kingdom general validate ./my-package",
    ),
    "new": (
        "Makes a general in config/local/generals/ that works at once: manifest, prompt, soul, and "
        "an example of an event. Then change it into what you need.",
        "kingdom general new gen-docs",
    ),
    "install": (
        "Copies a general package to config/local/generals/: its manifest, prompt, soul, README "
        "and examples, nothing else. It is checked as a whole first; if it claims what another "
        "general claims, nothing is changed. Then it shows what the package may do, and asks.",
        "kingdom general install ./gen-docs",
        "kingdom general install ./gen-docs --yes          # in a script",
        "kingdom general install https://github.com/acme/generals.git#gen-docs --as gen-manual",
    ),
    "remove": (
        "Takes a general out of the configuration. Its package is kept under state/removed/, and "
        "the command that puts it back is printed. One of your own that came instead of a shipped "
        "one brings that one back.",
        "kingdom general remove gen-docs",
        "kingdom general remove gen-docs --yes",
    ),
}


def run(call: Call, verb: str = "") -> int:
    if not verb:
        return run_verb(call, "general", VERBS, overview("general", ABOUT, VERBS, *EXAMPLES))
    acts = {
        "list": _list,
        "validate": _validate,
        "new": _new,
        "install": _install,
        "remove": _remove,
    }
    return acts[verb](call)


def parser(verb: str = "list") -> Parser:
    made = Parser(f"general {verb}", *TEXTS[verb])
    match verb:
        case "list":
            made.takes("--json", action="store_true", help="for programs")
        case "validate":
            made.takes(
                "what", nargs="?", offers=GENERALS, metavar="NAME|PATH", help="only this one"
            )
            made.takes("--json", action="store_true", help="for programs")
        case "new":
            made.takes("name", metavar="NAME", help="its name, such as gen-docs")
        case "install":
            made.takes(
                "source", offers=DIRECTORIES, metavar="PATH|GIT-URL",
                help="where it lies; URL#DIR for a directory inside a repository",
            )  # fmt: skip
            made.takes("--as", dest="name", metavar="NAME", help="give it another name")
            made.takes("--yes", action="store_true", help="do not ask")
        case "remove":
            made.takes("name", offers=GENERALS, metavar="NAME", help="which one")
            made.takes("--yes", action="store_true", help="do not ask")
    return made


# Looking


def _list(call: Call) -> int:
    options = parser("list").read(call)
    from kingdom.ops.generals import packages

    base = call.base()
    found = packages(base)
    if options.json:
        print_json([_plain(package) for package in found])
        return EXIT_DONE
    if not found:
        print("There are no generals. Make one: kingdom general new gen-docs")
        return EXIT_DONE
    headings = ("NAME", "FROM", "TAKES UP", "ENGINES", "WHAT IT DOES")
    print_table(headings, (_row(package) for package in found))
    print()
    print_table(("WORK OF", "TOOLS", "NETWORK", "OUTSIDE", "MODEL", "USD"), _rights(found))
    print("* a person approves it first")
    faulty = [package for package in found if package.faults]
    for package in faulty:
        say(f"{package.name}: {_shown(base, package.faults[0])}")
    if faulty:
        say("All that is wrong: kingdom general validate")
    return EXIT_DONE


def _row(package: Package) -> tuple[str, ...]:
    manifest = package.manifest
    if manifest is None:
        return package.name, package.origin, "-", "-", "(its manifest has faults)"
    schedules = [f"{one.name} ({one.cron})" for one in manifest.schedules]
    return (
        package.name,
        package.origin,
        ", ".join([*manifest.subscribes, *schedules]) or "nothing",
        ", ".join(manifest.supported_engines) or "any",
        manifest.description,
    )


def _rights(found: list[Package]) -> Iterator[tuple[str, ...]]:
    """A row for each general's name, and one for each trust below."""
    from kingdom.ops.general_rights import rights

    for package in found:
        if package.manifest is not None:
            yield package.name, "", "", "", "", ""
            for trust, given in rights(package.manifest).items():
                yield f"  {trust}", *_given(given)


def _given(given: Rights) -> Iterator[str]:
    yield " ".join(_tools(given.tools)) + (f" {len(given.env)} env" if given.env else "")
    yield count(len(given.hosts), "host") if given.hosts else given.network
    marked = (f"{kind}*" if kind in given.approve else kind for kind in given.actions)
    yield ", ".join(marked) or "nothing"
    yield " ".join(given.model.values())
    yield "" if given.budget_usd is None else f"{given.budget_usd:.2f}"


def _tools(tools: tuple[str, ...] | None) -> Iterator[str]:
    """In few words: what reads, what edits, how many commands, and the rest by name."""
    if tools is None:
        yield "engine's own"
        return
    yield from dict.fromkeys(_GROUPS.get(tool, tool) for tool in tools if "(" not in tool)
    commands = [tool for tool in tools if "(" in tool]
    if commands and "Bash" not in tools:
        yield count(len(commands), "command")


def _plain(package: Package) -> dict[str, Any]:
    from kingdom.ops.general_rights import rights

    manifest = package.manifest
    may = rights(manifest) if manifest else {}
    return {
        "name": package.name,
        "description": manifest.description if manifest else None,
        "subscribes": manifest.subscribes if manifest else [],
        "schedules": [one.model_dump() for one in manifest.schedules] if manifest else [],
        "supported_engines": manifest.supported_engines if manifest else [],
        "by_trust": {trust: given._asdict() for trust, given in may.items()},
        "from": package.origin,
        "directory": package.directory,
        "instead_of": package.hides or None,
        "faults": [_fault(one) for one in package.faults],
    }


def _fault(fault: Any) -> dict[str, str]:
    path, _, line = fault.where.rpartition(":")
    has_line = bool(path) and line.isdecimal()
    return {
        "file": path if has_line else fault.where,
        "line": line if has_line else "",
        "key": fault.key,
        "what": fault.what,
        "remedy": fault.remedy,
    }


def _validate(call: Call) -> int:
    options = parser("validate").read(call)
    base = call.base()
    chosen = _chosen(call, base, options.what)
    faults = [fault for package in chosen for fault in package.faults]
    if options.json:
        print_json([_fault(fault) for fault in faults])
    else:
        for fault in faults:
            print(harmless(_shown(base, fault), keep=""))
        if not faults:
            print(f"{count(len(chosen), 'general')}: nothing is wrong.")
    return EXIT_USAGE if faults else EXIT_DONE


def _chosen(call: Call, base: BaseDir, what: str | None) -> list[Package]:
    from kingdom.ops.generals import at_path, named, packages

    if what is None:
        return packages(base)
    path = os.path.join(call.working_dir, os.path.expanduser(what))
    is_path = os.sep in what or (os.path.isdir(path) and not what.startswith("gen-"))
    return [at_path(base, os.path.abspath(path)) if is_path else named(base, what)]


def _shown(base: BaseDir, fault: object) -> str:
    return str(fault).replace(f"{base.root}{os.sep}", "")


# Changing


def _new(call: Call) -> int:
    options = parser("new").read(call)
    base = call.base()
    from kingdom.ops.general_changes import new

    package = new(base, options.name)
    place = os.path.relpath(package.directory, base.root)
    print(f"{package.name} is made: {place}")
    print(
        f"Next:\n  edit {place}/prompt.md and {place}/manifest.yaml\n"
        f"  kingdom general prompt {package.name}     # what a soldier would be told\n"
        f"  kingdom send --file {place}/example.json"
    )
    return EXIT_DONE


def _install(call: Call) -> int:
    options = parser("install").read(call)
    base = call.base()
    from kingdom.ops.general_changes import check_name, install
    from kingdom.ops.general_sources import fetch

    if options.name:
        check_name(options.name)
    source = fetch(options.source, call.working_dir, call.environment)

    def agrees(package: Package) -> bool:
        print(f"{package.name} would be allowed:")
        for line in _powers(package):
            print(harmless(f"  {line}", keep=""))
        return options.yes or _agrees("install", f"Install {package.name}? [y/N] ")

    package = install(base, source, options.name, agrees)
    if package is None:
        print("Nothing was changed.")
        return EXIT_DONE
    print(f"{package.name} is installed: {os.path.relpath(package.directory, base.root)}")
    if source.left_out:
        say(f"Left out, as no part of a package: {', '.join(sorted(source.left_out))}.")
    return EXIT_DONE


def _powers(package: Package) -> list[str]:
    """What a person should know of what they are about to let in."""
    manifest = package.manifest
    assert manifest is not None
    allowed, files = manifest.permissions, manifest.sandbox
    schedules = [f"{one.name} ({one.cron})" for one in manifest.schedules]
    tools = ["the engine's own"] if allowed.tools is None else allowed.tools
    told: dict[str, Sequence[str]] = {
        "It takes up": [*manifest.subscribes, *schedules],
        "Its soldiers may use": tools or ["no tools"],
        "They reach": _reached(allowed),
        "They see of the environment": allowed.env or [],
        "They read of your files": files.read,
        "They keep caches in": files.cache,
        "It does for them": allowed.actions or ["nothing outside"],
        "Commands that check its work": manifest.verify,
        "Isolation": [manifest.isolation or "as in system.yaml"],
    }
    return [f"{what}: {', '.join(ones)}" for what, ones in told.items() if ones]


def _reached(allowed: Allowed) -> list[str]:
    if allowed.network in (True, "full"):
        return ["every host"]
    return ["no host"] if allowed.network == "none" else ["the model", *(allowed.hosts or [])]


def _remove(call: Call) -> int:
    options = parser("remove").read(call)
    base = call.base()
    from kingdom.ops.general_changes import remove
    from kingdom.ops.generals import is_shipped, named

    package = named(base, options.name)
    place = os.path.relpath(package.directory, base.root)
    if not options.yes and not _agrees("remove", f"Remove {package.name} ({place})? [y/N] "):
        print("Nothing was changed.")
        return EXIT_DONE
    gone = remove(base, options.name)
    print(harmless(f"{package.name} is removed, and kept in {gone.kept}", keep=""))
    if gone.again:
        print(f"In force again: {os.path.relpath(gone.again, base.root)}")
    elif is_shipped(package.name):
        print(
            "It is one of those that kingdom init makes: kingdom init brings the shipped one back."
        )
    print(harmless(f"Undo:\n  {gone.undo}"))
    return EXIT_DONE


def _agrees(verb: str, question: str) -> bool:
    if not sys.stdin.isatty():
        raise UsageError(f"general {verb}: nobody can be asked here.", remedy="Add --yes.")
    print(question, end="", flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")
