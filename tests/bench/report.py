"""What the bench says: tables for people, a list for machines, and an exit status."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from tests.bench.figures import Figure

EXIT_WITHIN_BOUNDS = 0
EXIT_OUT_OF_BOUNDS = 1


@dataclass(frozen=True)
class Rate:
    """For orientation only: it depends on the machine and on what else it does."""

    name: str
    value: float
    unit: str
    note: str = ""


@dataclass(frozen=True)
class Toll:
    """What kills cost one contestant."""

    name: str
    kills: int
    acknowledged: int
    lost: int
    doubled: int
    note: str = ""


def exit_status(figures: Sequence[Figure]) -> int:
    return EXIT_WITHIN_BOUNDS if all(one.holds for one in figures) else EXIT_OUT_OF_BOUNDS


def as_json(figures: Sequence[Figure]) -> str:
    return json.dumps([_plain(one) for one in figures], indent=2, ensure_ascii=False)


def _plain(figure: Figure) -> dict[str, str | float | bool | None]:
    return {
        "name": figure.name,
        "ratio": None if figure.ratio is None else round(figure.ratio, 3),
        "bound": figure.bound.value if figure.bound else None,
        "holds": figure.holds,
    }


def figures_table(figures: Sequence[Figure]) -> str:
    rows = [_row(one) for one in figures]
    return _table(("ratio", "bound", "middle half", "", "", ""), rows, "rrrlll")


def _row(figure: Figure) -> tuple[str, ...]:
    ratio = "-" if figure.ratio is None else f"{figure.ratio:.2f}"
    bound = f"{figure.bound.sign} {figure.bound.value:g}" if figure.bound else ""
    spread = "{:.2f} to {:.2f}".format(*figure.spread) if figure.spread else ""
    verdict = ("holds" if figure.holds else "BROKEN") if figure.bound else ""
    return ratio, bound, spread, verdict, figure.name, figure.note


def rates_table(rates: Sequence[Rate]) -> str:
    rows = [(f"{one.value:,.0f}", one.unit, one.name, one.note) for one in rates]
    return _table(("median", "", "", ""), rows, "rlll")


def tolls_table(tolls: Sequence[Toll]) -> str:
    rows = [
        (
            str(one.kills),
            f"{one.acknowledged:,}",
            str(one.lost),
            str(one.doubled),
            one.name,
            one.note,
        )
        for one in tolls
    ]
    return _table(("kills", "acknowledged", "lost", "doubled", "", ""), rows, "rrrrll")


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]], sides: str) -> str:
    lines = [tuple(heads), *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(heads))]
    return "\n".join(_line(line, widths, sides) for line in lines)


def _line(cells: Sequence[str], widths: Sequence[int], sides: str) -> str:
    padded = [
        cell.rjust(width) if side == "r" else cell.ljust(width)
        for cell, width, side in zip(cells, widths, sides, strict=True)
    ]
    return "  ".join(padded).rstrip()
