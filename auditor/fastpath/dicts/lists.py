"""Code for lists: items, sizes, uniqueness.

Source: apiextensions-apiserver pkg/apiserver/schema/listtype/validation.go; kube-openapi pkg/validation/validate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from auditor.fastpath.dicts.branches import accepts_everything
from auditor.fastpath.dicts.expand import defaults_below
from auditor.fastpath.dicts.scope import Condition, Mode, Scope, chain
from auditor.schema.structural import ListType, StructuralSchema

if TYPE_CHECKING:
    from auditor.codegen import Writer
    from auditor.fastpath.dicts.emit import Emitter

__all__ = ["list_sizes", "write_list"]


def write_list(emitter: Emitter, w: Writer, schema: StructuralSchema, x: str, scope: Scope) -> None:
    """Write the code for the items of a list, and its size."""
    items = schema.items
    keep = schema.preserve_unknown_fields or scope.keep
    before = scope.local("c") if scope.fused and _is_keyed(schema) and items is not None else ""
    if before:
        w.line(f"{before} = len(log.doubts)")
    if items is None:
        if scope.fused:
            w.line(f"_exact({x})" if keep or scope.frozen else f"_bare({x})")
    elif scope.fused or not accepts_everything(items):
        counts = scope.fused and emitter.defaults and defaults_below(items)
        below = scope.numbered(keep=keep) if counts else scope.item(x, keep=keep)
        y = below.local("v")
        with w.block(f"for {below.local('i')}, {y} in enumerate({x}):" if counts else f"for {y} in {x}:"):
            emitter.element(w, items, y, below)
    w.lines(chain(emitter.noted(list_sizes(schema, x, scope.mode), schema, x, scope)))
    if scope.fused:
        w.lines(chain(_list_type(emitter, schema, x, before)))


def list_sizes(schema: StructuralSchema, x: str, mode: Mode) -> list[Condition]:
    """Return conditions on the number of items."""
    found: list[Condition] = []
    if schema.max_items is not None:
        found.append((f"len({x}) > {schema.max_items}", mode.bad))
    if schema.min_items is not None and schema.min_items > 0:
        found.append((f"not {x}" if schema.min_items == 1 else f"len({x}) < {schema.min_items}", mode.bad))
    if schema.unique_items:
        found.append((f"len({x}) > 1", mode.doubt))
    return found


def _is_keyed(schema: StructuralSchema) -> bool:
    return schema.list_type in (ListType.SET, ListType.MAP)


def _list_type(emitter: Emitter, schema: StructuralSchema, x: str, before: str) -> list[Condition]:
    """Return the conditions that items repeat; a list with items that only Python considers equal is not proven.

    Args:
        emitter, schema, x: As in `Emitter.value`.
        before: The variable with the number of doubts before the items; empty if items cause none.
    """
    if not _is_keyed(schema):
        return []
    keys = schema.list_map_keys
    found: list[Condition] = []
    if before:  # an item of another type fails here, too
        found.append(
            (f"len(log.doubts) != {before} and not _still_distinct({x}, {emitter.shared(keys)})", "ok = False")
        )
    if schema.list_type is ListType.SET:
        test = f"len(set({x})) != len({x})"
    elif len(keys) == 1:
        test = f"not _distinct({x}, {keys[0]!r})"
    else:
        test = f"not _distinct_by({x}, {emitter.shared(keys)})"
    found.append((f"len({x}) > 1 and ok and {test}", "ok = False"))
    return found
