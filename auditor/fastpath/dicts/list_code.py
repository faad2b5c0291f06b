"""Code for lists: items, sizes, uniqueness.

Source: apiextensions-apiserver pkg/apiserver/schema/listtype/validation.go; kube-openapi pkg/validation/validate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from auditor.fastpath.dicts.branches import accepts_everything
from auditor.fastpath.dicts.expand import defaults_below
from auditor.fastpath.dicts.scope import CodeScope, Condition, Mode, chain
from auditor.schema.structural import ListType, StructuralSchema

if TYPE_CHECKING:
    from auditor.codegen import FunctionWriter
    from auditor.fastpath.dicts.emit import ModuleEmitter


def write_list(emitter: ModuleEmitter, w: FunctionWriter, schema: StructuralSchema, x: str, scope: CodeScope) -> None:
    """Write the code for the items of a list, and its size."""
    items = schema.items
    keep = schema.preserve_unknown_fields or scope.keep
    if items is None:
        if scope.fused:
            w.line(f"_exact({x})" if keep or scope.frozen else f"_bare({x})")
    elif scope.fused or not accepts_everything(items):
        counts = scope.fused and emitter.defaults and defaults_below(items)
        below = scope.numbered(keep=keep) if counts else scope.item(x, keep=keep)
        y = below.local("v")
        with w.block(f"for {below.local('i')}, {y} in enumerate({x}):" if counts else f"for {y} in {x}:"):
            emitter.element(w, items, y, below)
    w.lines(chain(list_sizes(schema, x, scope.mode)))
    if scope.fused:
        w.lines(chain(_list_type(emitter, schema, x)))


def list_sizes(schema: StructuralSchema, x: str, mode: Mode) -> list[Condition]:
    """Return conditions on the number of items."""
    conditions: list[Condition] = []
    if schema.max_items is not None:
        conditions.append((f"len({x}) > {schema.max_items}", mode.bad))
    if schema.min_items is not None and schema.min_items > 0:
        conditions.append((f"not {x}" if schema.min_items == 1 else f"len({x}) < {schema.min_items}", mode.bad))
    if schema.unique_items:
        conditions.append((f"len({x}) > 1", mode.doubt))
    return conditions


def _list_type(emitter: ModuleEmitter, schema: StructuralSchema, x: str) -> list[Condition]:
    """Return the condition that items repeat; a list with items that only Python considers equal is not proven."""
    keys = schema.list_map_keys
    if schema.list_type is ListType.SET:
        test = f"len(set({x})) != len({x})"
    elif schema.list_type is not ListType.MAP:
        return []
    elif len(keys) == 1:
        test = f"not _distinct({x}, {keys[0]!r})"
    else:
        test = f"not _distinct_by({x}, {emitter.shared(keys)})"
    return [(f"len({x}) > 1 and {test}", "return False")]
