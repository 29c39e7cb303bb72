"""The text of every unit: a target for all, a service for each role, a template for generals.

Names derive from the base directory, so that two kingdoms on a host do not meet.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kingdom.errors import NeverWorks
from kingdom.store.paths import PLACES, BaseDir
from kingdom.topology import GENERAL_PREFIX, ROLES, START_ORDER, role_of

GENERAL = "general"
WATCHER = "chamberlain"  # ends what hangs, tells people, and cannot do so for itself
LATER = 60.0  # seconds that it has before systemd ends what hangs
GROWING_PAUSES = 254  # the version of systemd from which a restart may wait longer each time

WRITTEN = "# Written by: kingdom systemd install."
_HEAD = WRITTEN + " Changes belong into: systemctl edit {unit}\n"

_PAUSE = """\
Restart=always
RestartSec=5
"""
_GROWING_PAUSE = """\
Restart=always
RestartSec=1
RestartSteps=8
RestartMaxDelaySec=300
"""

_OF_ALL = """\
Type=notify
NotifyAccess=main
# A role shows life at least every {beat} seconds. {who}
# One that hangs hears no milder signal, and a dump of its memory would hold tokens.
WatchdogSec={watchdog:g}
WatchdogSignal=SIGKILL
# Ready means that what a former life left is taken up, which a long backlog delays.
TimeoutStartSec=300
TimeoutStopSec=30
{restart}"""

_ALONE = "Nobody else would end this one."
_WATCHED = "The chamberlain ends one that hangs before this does, and tells people."

_OF_GENERALS = """\
# Soldiers get a scope of their own where that can be had. Where it cannot, they are among this
# unit's processes, and a restart must leave them alone: only the general itself is ended, and one
# soldier that ran out of memory takes nobody along.
KillMode=process
OOMPolicy=continue
# Nothing else is restricted: a soldier inherits whatever binds its general, and it builds, tests,
# installs and may need sudo. What a soldier may do is said in its general's manifest.
"""

_OF_OTHERS = """\
KillMode=mixed
# They run no soldiers, and write to the base directory only.
NoNewPrivileges=yes
LockPersonality=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
SystemCallArchitectures=native
"""

# A manager of one user needs user namespaces for these, which would hide other users' processes.
_OF_OTHERS_BY_ROOT = """\
# /tmp stays as it is: tmux has its sockets there.
ProtectSystem=strict
ReadWritePaths={writable} /tmp /var/tmp
ProtectKernelModules=yes
ProtectKernelTunables=yes
ProtectKernelLogs=yes
ProtectHostname=yes
RestrictNamespaces=yes
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK
"""


@dataclass(frozen=True)
class Account:
    """Whom the roles run as."""

    name: str
    uid: int


@dataclass(frozen=True)
class Plan:
    """All that the units say, beside what is the same for every kingdom."""

    base: BaseDir
    command: tuple[str, ...]  # what runs this program
    generals: tuple[str, ...]
    roles: tuple[str, ...]
    environment: Mapping[str, str]
    account: Account | None  # None: that of the user whose manager it is
    watchdog_seconds: float  # of the chamberlain; systemd is more patient with the others
    beat_seconds: float
    systemd: int  # its version

    @property
    def is_of_user(self) -> bool:
        return self.account is None


def stem(base: BaseDir) -> str:
    """What all names begin with."""
    return base.name_on_host


def target_name(base: BaseDir) -> str:
    return f"{stem(base)}.target"


def unit_name(base: BaseDir, role: str) -> str:
    """Of what runs this role; for a general, an instance of the template."""
    if role.startswith(GENERAL_PREFIX):
        return f"{stem(base)}-{GENERAL}@{role}.service"
    return f"{stem(base)}-{role}.service"


def environment_file(base: BaseDir) -> str:
    """Where tokens may be kept for services, which see nothing of a login's environment."""
    return base.path("config", "local", "environment")


def texts(plan: Plan) -> dict[str, str]:
    """Every unit's file name and content, in the order they start."""
    found = {unit_name(plan.base, role): _service(plan, role) for role in plan.roles}
    found[f"{stem(plan.base)}-{GENERAL}@.service"] = _service(plan, GENERAL)
    return {target_name(plan.base): _target(plan), **found}


def _target(plan: Plan) -> str:
    wanted = [unit_name(plan.base, name) for name in (*plan.roles, *plan.generals)]
    into = "default.target" if plan.is_of_user else "multi-user.target"
    return "\n".join(
        [
            _HEAD.format(unit=target_name(plan.base)).rstrip(),
            "[Unit]",
            f"Description=Kingdom in {_plain(plan.base.root)}",
            "# Generals added or removed later: kingdom systemd sync",
            *(f"Wants={name}" for name in wanted),
            "",
            "[Install]",
            f"WantedBy={into}",
            "",
        ]
    )


def _service(plan: Plan, role: str) -> str:
    is_general = role == GENERAL
    name = f"{stem(plan.base)}-{GENERAL}@.service" if is_general else unit_name(plan.base, role)
    before = START_ORDER[: START_ORDER.index(role_of(role))]
    after = [unit_name(plan.base, one) for one in plan.roles if one in before]
    whose = "%i" if is_general else role
    lines = [
        _HEAD.format(unit=name).rstrip(),
        "[Unit]",
        f"Description=Kingdom in {_plain(plan.base.root)}: {whose}, {_plain(ROLES[role].purpose)}",
        f"PartOf={target_name(plan.base)}",
        *_after([*([] if plan.is_of_user else ["network-online.target"]), *after]),
        *([] if plan.is_of_user else ["Wants=network-online.target"]),
        "# It is tried for ever, as a broken setting or a full disk may be mended at any time.",
        "StartLimitIntervalSec=0",
        "",
        "[Service]",
        *_body(plan, role),
        f"ExecStart={_command(plan, whose)}",
        "",
    ]
    return "\n".join(lines)


def _after(names: Sequence[str]) -> list[str]:
    return [f"After={' '.join(names)}"] if names else []


def _body(plan: Plan, role: str) -> list[str]:
    pause = _GROWING_PAUSE if plan.systemd >= GROWING_PAUSES else _PAUSE
    is_watcher = role == WATCHER
    text = _OF_ALL.format(
        beat=f"{plan.beat_seconds:g}",
        who=_ALONE if is_watcher else _WATCHED,
        watchdog=plan.watchdog_seconds + (0.0 if is_watcher else LATER),
        restart=pause,
    )
    if role == GENERAL:
        text += _OF_GENERALS
    else:
        text += _OF_OTHERS
        if not plan.is_of_user:
            text += _OF_OTHERS_BY_ROOT.format(writable=_writable(plan.base))
    return [*text.splitlines(), *_surroundings(plan)]


def _surroundings(plan: Plan) -> list[str]:
    account = plan.account
    runtime = f"XDG_RUNTIME_DIR=/run/user/{account.uid}" if account and account.uid else ""
    return [
        *([f"User={_plain(account.name)}"] if account else []),
        f"WorkingDirectory={_plain(plan.base.root)}",
        *(f"Environment={_quoted(f'{name}={value}')}" for name, value in plan.environment.items()),
        # The manager of that user, if it runs, gives soldiers their scopes.
        *([f"Environment={runtime}"] if runtime else []),
        "# Tokens, and whatever else is to be in their environment: NAME=value, a line each.",
        f"EnvironmentFile=-{_plain(environment_file(plan.base))}",
    ]


def _command(plan: Plan, role: str) -> str:
    words = [*plan.command, "--base-dir", plan.base.root, "run"]
    return " ".join([*(_quoted(word).replace("$", "$$") for word in words), role])


def _writable(base: BaseDir) -> str:
    """The base directory, and where its parts lie if they are links."""
    parts = [os.path.realpath(base.path(place)) for place in PLACES]
    inside = f"{os.path.realpath(base.root)}{os.sep}"
    elsewhere = [part for part in parts if not part.startswith(inside) and os.path.isdir(part)]
    return " ".join(_quoted(path) for path in (os.path.realpath(base.root), *elsewhere))


def _plain(text: str) -> str:
    """For values that are taken as they are."""
    return _checked(text).replace("%", "%%")


def _quoted(text: str) -> str:
    escaped = _plain(text).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _checked(text: str) -> str:
    if any(not letter.isprintable() for letter in text):
        raise NeverWorks(
            f"{text!r} holds a character that a unit of systemd cannot.",
            remedy="Give the base directory a plain name.",
        )
    return text


def generals_of(text: str, base: BaseDir) -> list[str]:
    """Those that a target's text names."""
    head, tail = f"Wants={stem(base)}-{GENERAL}@", ".service"
    return [one[len(head) : -len(tail)] for one in text.splitlines() if one.startswith(head)]
