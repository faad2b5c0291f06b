"""The code that checks decoded records: patterns, formats, sizes of lists and maps, unique keys, defaults.

msgspec has already checked everything that the record types express (`shapes`). Values that no record type can express
are decoded here, and read and proven by the functions of `auditor.fastpath.dicts.emit`.

Source: as of `auditor.fastpath.dicts.emit`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from auditor.codegen import FunctionWriter
from auditor.fastpath.dicts.emit import LOCALS, ModuleEmitter
from auditor.fastpath.dicts.expand import display, expand, repeats
from auditor.fastpath.dicts.list_code import list_sizes
from auditor.fastpath.dicts.map_code import object_sizes
from auditor.fastpath.dicts.root import PLAIN_PATH, scale_tests
from auditor.fastpath.dicts.scope import META_KEYS, CodeScope, Condition, Mode, SchemaNotEmittable, chain, has_default
from auditor.fastpath.records.record_types import property_counts
from auditor.schema.structural import ListType
from auditor.selectors.selectable_fields import field_types

if TYPE_CHECKING:
    from auditor.codegen import Module
    from auditor.crds.definition import CrdVersion
    from auditor.fastpath.dicts.scope import Decoded


def write_plain_values(name: str, root: Decoded) -> str:
    """Return the source of the function that returns the values of a record that have rules and are plain values."""
    w = FunctionWriter()
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
    w = FunctionWriter()
    parts = []
    kinds = {"boolean": "bool", "integer": "int"}
    with w.block(f"def {name}(o):"):
        paths = zip(version.selectable_fields, field_types(version), strict=True)
        for number, (path, (_, declared)) in enumerate(paths):
            write_path(w, root, path)
            kind = kinds.get(declared, "str")
            text, value = f"t{number}", f"u{number}"
            w.line(f"{text} = v if type(v) is str else '' if v is None or v is _U else _display(v)")
            w.line(f"{value} = v if type(v) is {kind} else None")
            parts += [text, value]
        w.line(f"return ({''.join(f'{part}, ' for part in parts)})")
    return w.source


def write_path(w: FunctionWriter, root: Decoded, path: str, *, strictly: bool = False) -> None:
    """Write the code that assigns the value at a path to `v`: UNSET if there is none.

    Args:
        w: The writer.
        root: The record at which the path begins, in the variable `o`.
        path: Plain names, each after a dot.
        strictly: Whether the code returns False if a parent on the path is not a map.
    """
    names = path[1:].split(".")
    if not PLAIN_PATH(path) or names[0] in META_KEYS:
        raise SchemaNotEmittable("a path that is not plain")
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


MAX_LOOPS: Final = 6
"""Largest number of nested loops in one function; deeper values are decoded to plain values."""


_NO_DEFAULT: Final = "raise Refused('a default that no record can have')"


class CheckWriter:
    """Writes the function that checks the records of a version and inserts defaults.

    Args:
        module: Receives the functions that it calls.
        emitter: Writes the code for scalars and plain values.
    """

    def __init__(self, module: Module, emitter: ModuleEmitter) -> None:
        self._module = module
        self._emitter = emitter

    def write(self, name: str, root: Decoded, version: CrdVersion) -> str:
        """Return the source of the function; it returns True for a record proven valid except for metadata and rules.

        It returns False if the code for dicts cannot prove that either; it raises an exception if that is not known.
        """
        w = FunctionWriter()
        scope = CodeScope(Mode.FUSED, root=True)
        with w.block(f"def {name}(o, log, size, {LOCALS}):"):
            self._fields(w, root, "o", scope)
            if version.scale is not None:
                for path, test in scale_tests(version.scale):
                    write_path(w, root, path, strictly=True)
                    w.lines((f"if v is not _U and ({test}):", " return False"))
            w.line("return True")
        return w.source

    def _fields(self, w: FunctionWriter, shape: Decoded, x: str, scope: CodeScope) -> None:
        required = shape.schema.required
        for name, (attribute, child) in shape.fields.items():
            is_defaulted = has_default(child.schema)
            if not (child.has_checks or is_defaulted):
                continue
            below = scope.property(name)
            y = below.local("v")
            place = f"{x}.{attribute}"
            w.line(f"{y} = {place}")
            absent = shape.absent(name)
            if name in shape.drops and child.kind == "plain":
                w.lines((f"if {y} is not _U and bytes({y}) == b'null':", f" {place} = {y} = _U"))
            if is_defaulted:
                with w.block(f"if {y} is {absent}:"):
                    w.lines(self._insertion(child, place, below))
                if child.has_checks:
                    with w.block("else:"):
                        self._value(w, child, y, below, place)
            elif name in required:
                self._value(w, child, y, below, place)
            else:
                with w.block(f"if {y} is not {absent}:"):
                    self._value(w, child, y, below, place)

    def _insertion(self, shape: Decoded, place: str, scope: CodeScope) -> list[str]:
        """Return the lines that insert a default; records of a default are shared, as nothing changes them later."""
        schema = shape.schema
        expansion = expand(schema)
        is_valid = expansion.stable and self._module.compile(self._emitter.prover(schema))(expansion.value)
        if not is_valid or repeats(expansion.value, schema):
            return [_NO_DEFAULT]
        if shape.kind in ("scalar", "plain"):
            value = display(self._module, expansion.value)
        else:
            try:
                value = self._module.slot(msgspec.convert(expansion.value, shape.annotation))
            except msgspec.ValidationError:  # it has a value that only plain values can have
                return [_NO_DEFAULT]
        return [f"{place} = {value}", f"log.defaulted.append({self._emitter.site(scope)})"]

    def _value(self, w: FunctionWriter, shape: Decoded, x: str, scope: CodeScope, place: str) -> None:
        """Write the checks of an existing value; it may be null if its schema allows that.

        Args:
            w, shape, x, scope: Writer, form, variable and position of the value.
            place: The expression that the value is read from; a value that is decoded here is stored there.
        """
        if not shape.has_checks:
            return
        if shape.kind == "plain":
            name = self._emitter.reader(shape.schema)
            test = f"not {name}({x}, log, {self._emitter.site(scope)})"
            w.line(f"{place} = {x} = _loads(bytes({x}))")
            if shape.schema.nullable and not shape.schema.enum:
                w.lines((f"if {x} is not None and ({test}):", " return False"))
            else:
                w.lines((f"if {x} is None or {test}:", " return False"))
            return
        if shape.schema.nullable:
            with w.block(f"if {x} is not None:"):
                self._present(w, shape, x, scope)
        else:
            self._present(w, shape, x, scope)

    def _present(self, w: FunctionWriter, shape: Decoded, x: str, scope: CodeScope) -> None:
        schema = shape.schema
        memo = self._emitter.remembered_text(schema) if shape.kind == "scalar" and schema.pattern else None
        if memo is not None and schema.type == "string":
            w.lines((f"if {memo.format(x)}:", " return False"))
        elif shape.kind == "scalar":
            self._emitter.value(w, schema, x, CodeScope(Mode.PROVE, loops=scope.loops, level=scope.level))
        elif shape.kind == "record":
            self._fields(w, shape, x, scope)
            w.lines(chain(property_counts(shape, x)))
        else:
            assert shape.below is not None
            if shape.below.has_checks:
                self._each(w, shape, shape.below, x, scope)
            sizes = object_sizes if shape.kind == "map" else list_sizes
            w.lines(chain([*sizes(schema, x, Mode.PROVE), *_repeated(shape, x, scope)]))

    def _each(self, w: FunctionWriter, shape: Decoded, below: Decoded, x: str, scope: CodeScope) -> None:
        if scope.loops >= MAX_LOOPS:
            raise SchemaNotEmittable("too many loops")
        place = "_"  # no later code reads the items
        if shape.kind == "map":
            inside = scope.key()
            head = f"for {inside.local('k')}, {inside.local('v')} in {x}.items():"
            place = f"{x}[{inside.local('k')}]"
        elif below.has_sites:
            inside = scope.numbered(keep=False)
            head = f"for {inside.local('i')}, {inside.local('v')} in enumerate({x}):"
        else:
            inside = scope.item(x, keep=False)
            head = f"for {inside.local('v')} in {x}:"
        with w.block(head):
            self._value(w, below, inside.local("v"), inside, place)


def _repeated(shape: Decoded, x: str, scope: CodeScope) -> list[Condition]:
    if shape.schema.list_type is ListType.SET:
        return [(f"len({x}) > 1 and len(set({x})) != len({x})", "return False")]
    if shape.schema.list_type is not ListType.MAP:
        return []
    assert shape.below is not None
    i = f"j{scope.level}"
    keys = [f"{i}.{shape.below.fields[key][0]}" for key in shape.schema.list_map_keys]
    key = keys[0] if len(keys) == 1 else f"({', '.join(keys)})"
    return [(f"len({x}) > 1 and len({{{key} for {i} in {x}}}) != len({x})", "return False")]
