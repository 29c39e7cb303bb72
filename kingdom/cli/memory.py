"""`kingdom memory`: what soldiers are told of earlier work, and what people make of it."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING, Any

from kingdom.cli.call import Call
from kingdom.cli.output import harmless, print_json
from kingdom.cli.parser import GENERALS, Parser
from kingdom.cli.verbs import overview, run_verb
from kingdom.errors import EXIT_DONE, UsageError

if TYPE_CHECKING:
    from kingdom.ops.memories import Entry, Owner
    from kingdom.store.paths import BaseDir

VERBS = {
    "show": ("memory", "what is remembered, each line with its number"),
    "edit": ("memory", "change it in your editor; what is learned meanwhile is kept"),
    "forget": ("memory", "take one line out"),
}
ABOUT = (
    "Looks at what soldiers are told of earlier work, and changes it. There is a memory for each\n"
    "general, for each repository, and one for all (--shared)."
)
TEXTS = {
    "show": (
        "Shows what is remembered: of one general, of a repository, what all share, or everything. "
        "Lines with a date were learned by soldiers; (untrusted) ones come from work of "
        "people below member, and only such work is told of them, if memory.from_untrusted is on "
        "in system.yaml. Lines without a date are people's, and no program drops them.",
        "kingdom memory show",
        "kingdom memory show gen-pr",
        "kingdom memory show --repo acme/web --json",
    ),
    "edit": (
        "Opens a copy in VISUAL or EDITOR and puts it in place when you are done, together with "
        "what soldiers learned meanwhile.",
        "kingdom memory edit gen-pr",
        "kingdom memory edit --shared --file style.md",
        "EDITOR=nano kingdom memory edit --repo acme/web",
    ),
    "forget": (
        "Takes one line out and shows it: the one with this number in kingdom memory show, or the "
        "only one that has this text.",
        "kingdom memory forget gen-pr 3",
        'kingdom memory forget "make check"',
        "kingdom memory forget --repo acme/web 1",
    ),
}


def run(call: Call, verb: str = "") -> int:
    if not verb:
        examples = [TEXTS[one][1] for one in VERBS]
        return run_verb(call, "memory", VERBS, overview("memory", ABOUT, VERBS, *examples))
    return {"show": _show, "edit": _edit, "forget": _forget}[verb](call)


def parser(verb: str = "show") -> Parser:
    made = Parser(f"memory {verb}", *TEXTS[verb])
    if verb == "forget":
        made.takes(
            "words",
            nargs="+",
            offers=GENERALS,
            metavar="[GENERAL] WHAT",
            help="a line's number, or a part of its text; before it, whose it is",
        )
    else:
        made.takes("general", nargs="?", offers=GENERALS, metavar="GENERAL", help="of this general")
    made.takes("--shared", action="store_true", help="of what all generals share")
    made.takes("--repo", metavar="R", help="of this repository, such as acme/web")
    if verb == "edit":
        made.takes("--file", metavar="NAME", help="this file, made if it is missing: style.md")
    if verb == "show":
        made.takes("--json", action="store_true", help="for programs")
    return made


def _show(call: Call) -> int:
    options = parser("show").read(call)
    base = call.base()
    from kingdom.ops.memories import entries, owners

    one = _owner(base, options.general, options)
    found = [(owner, entries(owner)) for owner in ([one] if one else owners(base))]
    if options.json:
        print_json([_plain(entry) for _, listed in found for entry in listed])
        return EXIT_DONE
    shown = [(owner, listed) for owner, listed in found if listed]
    for owner, listed in shown:
        print(harmless(owner.typed, keep=""))
        _print(base, listed)
    if not shown:
        print("Nothing is remembered there yet.")
    return EXIT_DONE


def _print(base: BaseDir, listed: list[Entry]) -> None:
    path = ""
    for entry in listed:
        if entry.path != path:
            path = entry.path
            print(harmless(f"  {os.path.relpath(path, base.root)}", keep=""))
        line = entry.line
        day = line.date or "-"
        mark = "" if line.trusted else "(untrusted) "
        print(harmless(f"  {entry.number:>4}  {day:<10}  {mark}{line.text}", keep=""))


def _plain(entry: Entry) -> dict[str, Any]:
    line = entry.line
    return {
        "of": entry.owner.typed,
        "number": entry.number,
        "path": entry.path,
        "date": line.date or None,
        "trusted": line.trusted,
        "text": line.text,
    }


def _edit(call: Call) -> int:
    options = parser("edit").read(call)
    base = call.base()
    from kingdom.ops import memories

    owner = _owner(base, options.general, options)
    if owner is None:
        raise UsageError(
            "memory edit: it does not say whose.", remedy="Name a general, --shared or --repo R."
        )
    editor = memories.editor_for(call.environment)
    path = memories.file_meant(owner, options.file)
    copies = call.environment.get("TMPDIR") or "/tmp"
    changed = memories.edit(base, path, lambda copy: memories.run_editor(editor, copy), copies)
    shown = os.path.relpath(path, base.root)
    print(harmless(f"{shown} is changed." if changed else f"{shown} is as it was.", keep=""))
    return EXIT_DONE


def _forget(call: Call) -> int:
    options = parser("forget").read(call)
    base = call.base()
    from kingdom.ops import memories

    words = list(options.words)
    general = None
    if len(words) > 1 and words[0] in memories.generals(base):
        general = words.pop(0)
    owner = _owner(base, general, options)
    chosen = [owner] if owner else list(memories.owners(base))
    entry = memories.forget(base, chosen, " ".join(words))
    where = os.path.relpath(entry.path, base.root)
    print(harmless(f"Forgotten, from {where}:\n{entry.line.raw}"))
    return EXIT_DONE


def _owner(base: BaseDir, general: str | None, options: argparse.Namespace) -> Owner | None:
    from kingdom.ops.memories import owner_of

    return owner_of(base, general, options.shared, options.repo)
