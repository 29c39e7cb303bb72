"""What the bench makes of its measurements: ratios, bounds, an exit status, and JSON."""

from __future__ import annotations

import json

import pytest

from tests.bench.figures import Bound, Figure, at_least, at_most, compared
from tests.bench.place import file_system_of
from tests.bench.report import Toll, as_json, exit_status, figures_table, tolls_table

FAST = Figure("fast", 2.0, at_least(1.8))
SLOW = Figure("slow", 1.79, at_least(1.8))
UNBOUND = Figure("beside", 0.1)
UNMEASURED = Figure("missing", None, at_most(6.0), note="not measured: no such command")


def test_a_ratio_is_the_median_of_the_rounds_own() -> None:
    figure = compared("rate", ours=[10, 200, 30], theirs=[10, 100, 10])
    assert figure.ratio == 2.0


def test_a_round_that_disturbs_both_sides_changes_nothing() -> None:
    calm = compared("rate", [100, 100, 100], [50, 50, 50])
    disturbed = compared("rate", [100, 1, 100], [50, 0.5, 50])
    assert disturbed == calm


def test_the_spread_is_the_middle_half_of_the_rounds() -> None:
    figure = compared("rate", [1, 2, 3, 4, 50], [1, 1, 1, 1, 1])
    assert figure.spread == (2, 4)
    assert compared("rate", [3], [2]).spread == (1.5, 1.5)


def test_sides_of_unequal_length_are_a_mistake() -> None:
    with pytest.raises(ValueError, match="shorter"):
        compared("rate", [1, 2], [1])


@pytest.mark.parametrize(
    ("ratio", "bound", "holds"),
    [
        (1.8, at_least(1.8), True),
        (1.79, at_least(1.8), False),
        (1.5, at_most(1.5), True),
        (1.51, at_most(1.5), False),
        (0.0, at_most(0.0), True),
        (None, at_most(6.0), False),
        (0.1, None, True),
        (None, None, True),
    ],
)
def test_a_bound_is_kept_up_to_its_value(
    ratio: float | None, bound: Bound | None, holds: bool
) -> None:
    assert Figure("any", ratio, bound).holds is holds


def test_the_exit_status_tells_whether_every_bound_holds() -> None:
    assert exit_status([FAST, UNBOUND]) == 0
    assert exit_status([FAST, SLOW]) == 1
    assert exit_status([FAST, UNMEASURED]) == 1


def test_machines_get_a_list_of_names_ratios_bounds_and_verdicts() -> None:
    assert json.loads(as_json([FAST, SLOW, UNBOUND, UNMEASURED])) == [
        {"name": "fast", "ratio": 2.0, "bound": 1.8, "holds": True},
        {"name": "slow", "ratio": 1.79, "bound": 1.8, "holds": False},
        {"name": "beside", "ratio": 0.1, "bound": None, "holds": True},
        {"name": "missing", "ratio": None, "bound": 6.0, "holds": False},
    ]


def test_rounding_for_machines_does_not_hide_a_broken_bound() -> None:
    nearly = Figure("nearly", 1.79999, at_least(1.8))
    assert json.loads(as_json([nearly]))[0] == {
        "name": "nearly",
        "ratio": 1.8,
        "bound": 1.8,
        "holds": False,
    }


def test_people_see_what_is_broken_and_why_something_is_missing() -> None:
    head, *lines = figures_table([FAST, SLOW, UNBOUND, UNMEASURED]).splitlines()
    assert head.split() == ["ratio", "bound", "middle", "half"]
    assert lines[0].split() == ["2.00", ">=", "1.8", "holds", "fast"]
    assert lines[1].split() == ["1.79", ">=", "1.8", "BROKEN", "slow"]
    assert lines[2].split() == ["0.10", "beside"]
    assert lines[3].endswith("not measured: no such command")


def test_what_kills_cost_is_told_for_each() -> None:
    line = tolls_table([Toll("forgetful", 50, 2700, 12, 1)]).splitlines()[1]
    assert line.split() == ["50", "2,700", "12", "1", "forgetful"]


def test_the_file_system_is_that_of_the_innermost_mount() -> None:
    mounts = (
        "21 1 254:0 / / rw - ext4 /dev/vda rw\n"
        "22 21 0:20 / /srv rw shared:1 - tmpfs tmpfs rw\n"
        "23 22 0:21 / /srv/a\\040b rw - xfs /dev/vdb rw\n"
    )
    assert file_system_of("/srvx/a", mounts) == "ext4"
    assert file_system_of("/srv/a", mounts) == "tmpfs"
    assert file_system_of("/srv/a b/c", mounts) == "xfs"
