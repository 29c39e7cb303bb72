"""What `kingdom top` shows, as lines that fit; from the same data as `kingdom status`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from kingdom.cli.output import age, aligned, count, cut, harmless
from kingdom.cli.status import HEADINGS, facts, headline, questions, row

SOLDIERS = ("TASK", "GENERAL", "FOR", "STATE", "ATTEMPT", "SPENT", "CPU", "MEMORY", "DOING")
ROLES = (*HEADINGS[:-1], "CPU", "MEMORY", HEADINGS[-1])
ALWAYS = ("TASK", "GENERAL", "FOR", "DOING")
PLAIN, HEADING, WRONG = "plain", "heading", "wrong"
_FEWEST = 3  # soldiers that are shown however low the window is
_WRONG_ROLES = ("down", "hung")


class Line(NamedTuple):
    text: str
    kind: str = PLAIN


def page(found: dict[str, Any], columns: int = 0, rows: int = 0) -> list[Line]:
    """0: as much as there is."""
    head, soldiers, rest = list(_head(found)), list(_soldiers(found)), list(_rest(found))
    if rows:
        soldiers = _shortened(soldiers, rows - len(head) - len(rest))
    lines = [*head, *soldiers, *rest]
    if rows and len(lines) > rows:
        hidden = len(lines) - max(rows - 1, 0)
        lines = [*lines[: rows - 1], Line(f"… {count(hidden, 'line')} more")]
    return [Line(cut(text, columns) if columns else text, kind) for text, kind in lines]


def _head(found: dict[str, Any]) -> Iterator[Line]:
    yield Line(_flat(headline(found)))
    for fact in facts(found):
        yield Line(_flat(fact), WRONG if fact.startswith(("config", "disk")) else PLAIN)
    yield Line("")


def _soldiers(found: dict[str, Any]) -> list[Line]:
    there = found["soldiers"]
    if not there:
        return [Line("No soldier is at work.")]
    rows = list(map(_soldier, there))
    # A window is narrow: what is the same for all, and nothing new, leaves its room to the rest.
    told = [name for name in SOLDIERS if name in ALWAYS or any(one[name] for one in rows)]
    heading, *lines = aligned(told, ([one[name] for name in told] for one in rows))
    return [Line(heading, HEADING), *map(Line, lines)]


def _soldier(one: dict[str, Any]) -> dict[str, str]:
    up, state = one["up_seconds"], one.get("state")
    attempt = one.get("attempt")
    return {
        "TASK": str(one.get("task_id")),
        "GENERAL": str(one.get("general")),
        "FOR": "" if up is None else age(up),
        "STATE": "" if state in (None, "running") else str(state),
        "ATTEMPT": "" if attempt in (None, 1) else str(attempt),
        "SPENT": _spent(one),
        "CPU": _cpu(one),
        "MEMORY": _memory(one),
        "DOING": str(one.get("doing") or ""),
    }


def _spent(one: dict[str, Any]) -> str:
    spent, about = one.get("spent_usd"), "~" if one.get("spent_is_guess") else ""
    return f"{about}${spent:.2f}" if isinstance(spent, int | float) else ""


def _role(one: dict[str, Any]) -> tuple[str, ...]:
    *first, note = row(one)
    return (*first, _cpu(one), _memory(one), note)


def _cpu(one: dict[str, Any]) -> str:
    used = one.get("cpu_percent")
    return "" if used is None else f"{used:.0f} %"


def _memory(one: dict[str, Any]) -> str:
    used = one.get("memory_mb")
    return "" if used is None else f"{used:.0f} MB"


def _shortened(lines: list[Line], room: int) -> list[Line]:
    """The heading and as many as there is room for, and how many there are besides."""
    if len(lines) <= max(room, _FEWEST):
        return lines
    kept = max(room, _FEWEST) - 1
    return [*lines[:kept], Line(f"… {count(len(lines) - kept, 'soldier')} more")]


def _rest(found: dict[str, Any]) -> Iterator[Line]:
    if found["roles"]:
        yield Line("")
        heading, *lines = aligned(ROLES, map(_role, found["roles"]))
        yield Line(heading, HEADING)
        for role, line in zip(found["roles"], lines, strict=True):
            yield Line(line, WRONG if role["state"] in _WRONG_ROLES else PLAIN)
    yield Line("")
    for line in questions(found["questions"]):
        yield Line(_flat(line))


def _flat(text: str) -> str:
    return harmless(" ".join(text.splitlines()), keep="")
