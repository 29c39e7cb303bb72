"""Every internal event is provoked for real by some test, which says so with a marker.

`@pytest.mark.provokes("task.failed")` is checked when that test ends: the event must be in its log.
Here is checked that no entry of the catalogue is without such a test.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from kingdom.models.catalogue import CATALOGUE, WORKFLOWS

MARKER = "pytest.mark.provokes"
TESTS = Path(__file__).parents[1]
# What nobody provokes yet, because the code that would emit it is not there, by the group of the
# catalogue and why. Only ever shortened.
GROUPS_NOT_YET = {"there are no workflows yet": WORKFLOWS}
NOT_YET = {entry.type: why for why, group in GROUPS_NOT_YET.items() for entry in group}


def provoked() -> set[str]:
    return {type_ for path in TESTS.rglob("test_*.py") for type_ in _in(path)}


def _in(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if not isinstance(node, ast.FunctionDef) or not node.name.startswith("test_"):
            continue
        for decorator in node.decorator_list:
            if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == MARKER:
                yield from map(ast.literal_eval, decorator.args)


def test_every_entry_of_the_catalogue_is_provoked_by_a_test() -> None:
    found = provoked()
    assert CATALOGUE.keys() - found - NOT_YET.keys() == set(), "nobody provokes these"
    assert found - CATALOGUE.keys() == set(), "the catalogue does not know these"


def test_the_list_of_what_is_not_provoked_yet_is_no_longer_than_it_must_be() -> None:
    assert NOT_YET.keys() & provoked() == set()
    assert NOT_YET.keys() - CATALOGUE.keys() == set()
