"""Only the record of a function has its name."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from auditor.cel.cel_types import INT, STRING
from auditor.cel.estimate.call_costs import MAX_COST, Operand, Priced, fixed
from auditor.cel.estimate.cost_walk import price_of
from auditor.cel.function import Costs, Function, Overload
from auditor.cel.library import functions
from auditor.cel.library.standard import standard
from auditor.cel.operations.cost import call_cost
from auditor.cel.operations.dispatch import choose, declare
from auditor.cel.syntax.ast import Literal
from tests.shared import ROOT

if TYPE_CHECKING:
    from pathlib import Path

CEL: Final = ROOT / "auditor" / "cel"
TYPES: Final = {
    *("bool", "bytes", "double", "duration", "dyn", "int", "list", "map", "string", "timestamp", "type", "uint"),
    *("error", "name", "namespace", "value", "size", "first"),
}
"""Names of functions that are also names of types, of variables or of parts of records."""
ELSEWHERE: Final = {
    "emit/functions.py": {"matches"},  # a key under which answers are remembered
    "estimate/walk.py": {"dyn"},  # keeps all that is known of its argument
    "run/interpreter.py": {"or", "orValue"},  # do not evaluate their arguments
    "syntax/macros.py": {"hasValue", "optional.none", "optional.of"},  # what macros expand to
    "validators.py": {"format", "matches"},  # cel-go's validators of literals name them
}
"""Modules that treat a function in a way of its own, and why."""
GETTERS: Final = "operations/clock.py"
"""A table of functions that belongs to one record, see `auditor.cel.library.standard`."""


def named() -> set[str]:
    found = {each.name for each in (*standard(), *functions())}
    return {name for name in found if name.replace(".", "").isalnum()} - TYPES


def used_in(path: Path) -> set[str]:
    """Return the texts of a module, without those of ``__all__`` and ``__slots__``."""
    tree = ast.parse(path.read_text())
    listed = [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and node.targets[0].id in ("__all__", "__slots__")
    ]
    left_out = {id(node) for each in listed for node in ast.walk(each)}
    return {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in left_out
    }


def test_no_other_module_knows_a_function_by_name() -> None:
    found = {
        path.relative_to(CEL).as_posix(): used_in(path) & named()
        for path in CEL.rglob("*.py")
        if path.parent.name != "library"
    }
    del found[GETTERS]
    allowed = {path: names - TYPES for path, names in ELSEWHERE.items() if names - TYPES}
    assert {path: names for path, names in found.items() if names} == allowed


def test_a_rule_of_an_overload_goes_before_that_of_its_function() -> None:
    own = Costs(lambda *_: 7, lambda *_: None)
    record = Function(
        "f",
        member=False,
        overloads=(
            Overload("f_int", (INT,), INT, abs, own),
            Overload("f_string", (STRING,), INT, len),
        ),
        costs=Costs(lambda *_: 3, read_nothing),
    )
    found = declare([record])["f"]
    assert [call_cost(found.runtime(key), key, (1,), 1) for key in ("f_int", "f_string", "")] == [7, 3, 3]
    assert choose(found, "f_int", 1).cost is own.runtime
    operand = Operand(Literal(1, 1), INT, fixed(1))
    # The price of the overload does not apply, so that of the function does.
    assert price_of(found, "f_int", None, [operand]).cost == fixed(9)
    assert price_of(None, "f_int", None, [operand]).cost == fixed(1)
    assert price_of(found, "f_string", None, [operand]).cost.max < MAX_COST


def read_nothing(_target: object, _args: object, _overload: str) -> Priced:
    return Priced(fixed(9))


def test_a_function_without_rules_costs_one() -> None:
    assert call_cost(declare(functions())["isURL"].runtime("is_url_string"), "is_url_string", ("x" * 100,), True) == 1
