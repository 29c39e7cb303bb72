"""Every code that the source can raise or write down is one that `kingdom errors` explains."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import kingdom
from kingdom.failures import FAILURES

ROOT = Path(kingdom.__file__).parent
SOURCES = sorted(ROOT.rglob("*.py"))
NAMES = ("code", "error_code")
PROBLEM = "Problem"  # what a queue notes; its first argument is the code


def codes_in(source: str) -> set[str]:
    """Given as `code=…`, as a class's or function's `code = …`, or first in a `Problem`."""
    tree = ast.parse(source)
    constants = {
        target.id: value
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
        for value in _strings(node.value, {})
    }
    return {code for value in _values(tree) for code in _strings(value, constants)}


def _values(tree: ast.Module) -> Iterator[ast.expr]:
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword | ast.Assign | ast.AnnAssign):
            if node.value is not None and _is_for_a_code(node):
                yield node.value
        elif isinstance(node, ast.arguments):
            given = zip(node.kwonlyargs, node.kw_defaults, strict=True)
            yield from (value for name, value in given if value and name.arg in NAMES)
        elif isinstance(node, ast.Call) and _name(node.func) == PROBLEM:
            yield from node.args[:1]


def _strings(value: ast.expr, constants: dict[str, str]) -> Iterator[str]:
    if isinstance(value, ast.Constant) and isinstance(value.value, str) and value.value:
        yield value.value
    elif isinstance(value, ast.Name) and value.id in constants:
        yield constants[value.id]
    elif isinstance(value, ast.IfExp):
        yield from _strings(value.body, constants)
        yield from _strings(value.orelse, constants)
    elif isinstance(value, ast.BoolOp):
        for one in value.values:
            yield from _strings(one, constants)


def _is_for_a_code(node: ast.keyword | ast.Assign | ast.AnnAssign) -> bool:
    if isinstance(node, ast.keyword):
        return node.arg in NAMES
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return any(_name(target) in NAMES for target in targets)


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else ""


def test_every_code_is_known() -> None:
    used = {str(path.relative_to(ROOT)): codes_in(path.read_text("utf-8")) for path in SOURCES}
    unknown = {path: codes - FAILURES.keys() for path, codes in used.items()}
    assert {path: codes for path, codes in unknown.items() if codes} == {}
    assert len(set().union(*used.values())) > 50


@pytest.mark.parametrize(
    "source",
    [
        "raise TryLater('No.', code='new')",
        "class Refused(NeverWorks):\n    code = 'new'",
        "@dataclass\nclass Told:\n    code: str = 'new'",
        "NEW = 'new'\nraise JiraRefused('No.', code=NEW)",
        "code = '' if fine else 'new'",
        "code = error.code or 'new'",
        "def refuse(*, code: str = 'new'): ...",
        "bus.bury(claim, Problem('new', 'It is.'))",
        "bus.commit(New('results', Failed(error_code='new')))",
    ],
)
def test_a_code_is_found_however_it_is_given(source: str) -> None:
    assert codes_in(source) == {"new"}
