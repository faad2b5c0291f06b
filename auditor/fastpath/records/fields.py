"""Code that reads values from records: at a path, of selectable fields, and plain values for rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from auditor.codegen import Writer
from auditor.fastpath.dicts.root import PLAIN_PATH
from auditor.fastpath.dicts.scope import META_KEYS, NotEmittable
from auditor.selectors.fields import field_types

if TYPE_CHECKING:
    from auditor.crds.definition import CrdVersion
    from auditor.fastpath.dicts.decoded import Decoded

__all__ = ["write_path", "write_plain_values", "write_select"]


def write_plain_values(name: str, root: Decoded) -> str:
    """Return the source of the function that returns the values of a record that have rules and are plain values."""
    w = Writer()
    with w.block(f"def {name}(o):"):
        w.line("found = {}")
        for key, (attribute, child) in root.fields.items():
            if child.kind == "plain":
                w.line(f"v = o.{attribute}")
                w.lines(("if v is not _U:", f" found[{key!r}] = v"))
        w.line("return found")
    return w.source


def write_select(name: str, root: Decoded, version: CrdVersion) -> str:
    """Return the source of the function that returns (text, value) of each selectable field of a record."""
    w = Writer()
    found = []
    kinds = {"boolean": "bool", "integer": "int"}
    with w.block(f"def {name}(o):"):
        paths = zip(version.selectable_fields, field_types(version), strict=True)
        for number, (path, (_, declared)) in enumerate(paths):
            write_path(w, root, path)
            kind = kinds.get(declared, "str")
            text, value = f"t{number}", f"u{number}"
            w.line(f"{text} = v if type(v) is str else '' if v is None or v is _U else _display(v)")
            w.line(f"{value} = v if type(v) is {kind} else None")
            found += [text, value]
        w.line(f"return ({''.join(f'{one}, ' for one in found)})")
    return w.source


def write_path(w: Writer, root: Decoded, path: str, *, strictly: bool = False) -> None:
    """Write the code that assigns the value at a path to `v`: UNSET if there is none.

    Args:
        w: The writer.
        root: The record at which the path begins, in the variable `o`.
        path: Plain names, each after a dot.
        strictly: Whether the code returns False if a parent on the path is not a map.
    """
    names = path[1:].split(".")
    if not PLAIN_PATH(path) or names[0] in META_KEYS:
        raise NotEmittable("a path that is not plain")
    shape: Decoded | None = root
    w.line("v = o")
    for name in names:
        if shape is not None and shape.kind == "record":
            known = shape.fields.get(name)
            w.line("v = _U" if known is None else f"v = _U if v is None or v is _U else v.{known[0]}")
            if strictly and known is not None and name in shape.drops:
                w.lines(("if v is None:", " v = _U"))
            shape = None if known is None else known[1]
        else:
            if strictly:
                w.lines(("if v is not None and v is not _U and type(v) is not dict:", " return False"))
            w.line(f"v = v.get({name!r}, _U) if type(v) is dict else _U")
            shape = shape.below if shape is not None and shape.kind == "map" else None
