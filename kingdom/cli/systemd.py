"""`kingdom systemd`: units that keep it running, printed, installed, removed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kingdom.cli.call import Call
from kingdom.cli.output import count, harmless, print_json
from kingdom.cli.parser import Parser
from kingdom.cli.verbs import overview, run_verb
from kingdom.errors import EXIT_DONE, NotFound
from kingdom.store.paths import BaseDir

if TYPE_CHECKING:
    from kingdom.ops.systemd.installing import Changes
    from kingdom.ops.systemd.manager import Manager

VERBS = {
    "install": ("systemd", "write the units, and have them start with the machine"),
    "print": ("systemd", "show what install would write"),
    "sync": ("systemd", "bring them up to date, after generals came or went"),
    "uninstall": ("systemd", "stop, and remove what install wrote"),
}
ABOUT = (
    "Has systemd keep the kingdom running instead of a warden: one unit per role, restarted when "
    "it\ndies or hangs. kingdom start, stop, restart and status use them once they are there."
)
EXAMPLES = (
    "kingdom systemd install --user     # for yourself, without root",
    "sudo kingdom systemd install       # for the machine; roles run as the directory's owner",
)
_INSTALL = "Install them with: kingdom systemd install [--user]"
_DESCRIPTIONS = {
    "install": "Writes one unit per role, a template for generals and a target for all of them, "
    "and enables the target. Their names derive from the base directory. Typed again, it brings "
    "them up to date.",
    "print": "Prints every unit as install would write it. It changes nothing.",
    "sync": "Writes the units anew, starts generals that were added and stops those that were "
    "removed. Needed after kingdom general install, new or remove.",
    "uninstall": "Stops all roles and removes exactly what install wrote; soldiers go on. What "
    "you added with systemctl edit stays. Where systemd does not run, only the files are removed.",
}


def run(call: Call, verb: str = "") -> int:
    if not verb:
        return run_verb(call, "systemd", VERBS, overview("systemd", ABOUT, VERBS, *EXAMPLES))
    options = parser(verb).read(call)
    base = call.base()
    if verb == "print":
        return _print(call, base, options.user, as_json=options.json)
    if verb == "install":
        return _install(call, base, options.user, as_json=options.json)
    if verb == "uninstall":
        return _uninstall(call, base, options.user, as_json=options.json)
    return _sync(call, base, as_json=options.json)


def parser(verb: str = "install") -> Parser:
    option = "" if verb == "sync" else " --user"
    made = Parser(f"systemd {verb}", _DESCRIPTIONS[verb], f"kingdom systemd {verb}{option}")
    if option:
        made.takes("--user", action="store_true", help="for your own systemd, without root")
    made.takes_json()
    return made


def _print(call: Call, base: BaseDir, of_user: bool, *, as_json: bool) -> int:
    from kingdom.ops.systemd.installing import plan
    from kingdom.ops.systemd.manager import Manager
    from kingdom.ops.systemd.units import texts

    manager = Manager(of_user, call.environment)
    found = texts(plan(base, manager))
    if as_json:
        print_json(found)
    else:
        print("\n".join(f"# {manager.path(name)}\n{text}" for name, text in found.items()), end="")
    return EXIT_DONE


def _install(call: Call, base: BaseDir, of_user: bool, *, as_json: bool) -> int:
    from kingdom.ops.systemd.installing import install
    from kingdom.ops.systemd.manager import Manager

    manager = Manager(of_user, call.environment)
    changes = install(base, manager)
    if as_json:
        print_json(_plain(changes))
    else:
        _explain(base, manager, changes)
    return EXIT_DONE


def _explain(base: BaseDir, manager: Manager, changes: Changes) -> None:
    from kingdom.ops.systemd.units import environment_file, target_name

    target, file = target_name(base), environment_file(base)
    if changes.written or changes.removed:
        print(f"{_told(changes)} in {manager.directory}. {target} is enabled.")
    else:
        print(f"The units in {manager.directory} are up to date. {target} is enabled.")
    print("Start it with: kingdom start")
    print(
        harmless(
            f"Services see nothing of your shell's environment: write tokens as NAME=value to "
            f"{file} and keep it to yourself (chmod 600)."
        )
    )
    _say_what_lacks(changes)
    if manager.of_user:
        print("It runs while you are logged in; always, after: loginctl enable-linger")


def _say_what_lacks(changes: Changes) -> None:
    if changes.lack is None:
        return
    hidden, unset, programs = changes.lack
    if hidden:
        print(f"Set here, and not in that file: {', '.join(hidden)}.")
    if unset:
        print(f"Wanted by the configuration, and set nowhere: {', '.join(unset)}.")
    if programs:
        print(
            f"Not on the PATH of the units: {', '.join(programs)}. Write a PATH that has it to "
            "that file, or install again from a shell that finds it."
        )


def _sync(call: Call, base: BaseDir, *, as_json: bool) -> int:
    from kingdom.ops.systemd.installing import sync
    from kingdom.ops.systemd.manager import keeper

    manager = keeper(base, call.environment)
    if manager is None:
        raise NotFound("This kingdom has no units.", remedy=_INSTALL)
    return _say(manager, sync(base, manager), as_json=as_json)


def _uninstall(call: Call, base: BaseDir, of_user: bool, *, as_json: bool) -> int:
    from kingdom.ops.systemd.installing import uninstall
    from kingdom.ops.systemd.manager import holder

    manager = holder(base, call.environment, of_user or None)
    if manager is None and of_user and holder(base, call.environment):
        remedy = "They are the system's: sudo kingdom systemd uninstall"
        raise NotFound("This kingdom has no units of a user's own systemd.", remedy=remedy)
    if manager is None:
        raise NotFound("This kingdom has no units.", remedy=_INSTALL)
    changes = uninstall(base, manager)
    code = _say(manager, changes, as_json=as_json)
    if changes.left and not as_json:
        print(f"Left there, since others wrote it: {', '.join(changes.left)}.")
    if not changes.asked and not as_json:
        forget = manager.command("daemon-reload")
        print(f"systemd could not be asked. Should it run after all, type there: {forget}")
    return code


def _say(manager: Manager, changes: Changes, *, as_json: bool) -> int:
    if as_json:
        print_json(_plain(changes))
        return EXIT_DONE
    print(f"{_told(changes)} in {manager.directory}.")
    for done, names in (("Started", changes.started), ("Stopped", changes.stopped)):
        if names:
            print(f"{done}: {', '.join(names)}.")
    return EXIT_DONE


def _told(changes: Changes) -> str:
    parts = [
        f"{done} {count(len(names), 'unit')}"
        for done, names in (("wrote", changes.written), ("removed", changes.removed))
        if names
    ]
    return (" and ".join(parts) or "changed nothing").capitalize()


def _plain(changes: Changes) -> dict[str, Any]:
    found = dict(vars(changes))
    lack = found.pop("lack")
    return found | (lack._asdict() if lack else {})
