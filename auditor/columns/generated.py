"""Generated code that proves that a value fits its column, and has it in the form that Arrow takes.

One function for each struct: it raises `Unfit` for anything that the column does not hold without loss, or that is not
worth a proof; then `exact` converts the row, as it converts all rows of a batch for which Arrow raises an error. What
is proven is not copied unless a part of it changes its form. Tests hold both ways against each other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import orjson

from auditor.codegen import FunctionWriter, Module
from auditor.columns.arrays import Unfit, moments
from auditor.columns.column_types import Kind

if TYPE_CHECKING:
    from collections.abc import Callable

    from auditor.columns.column_types import Column


_TYPES: Final = {Kind.STRING: "str", Kind.INTEGER: "int", Kind.BOOLEAN: "bool"}


class Converters:
    """The generated functions of a kind.

    Args:
        title: The kind, for tracebacks.
        is_whole: Whether a field that has no column makes a value unfit.
    """

    def __init__(self, title: str, *, is_whole: bool = True) -> None:
        self._is_whole = is_whole
        names = {"Unfit": Unfit, "moments": moments, "dumps": orjson.dumps}
        self._module = Module(f"columns of {title}", names)
        self._made: dict[int, tuple[str, bool]] = {}
        self._columns: list[Column] = []

    def of(self, column: Column) -> Callable[[Any], Any]:
        """Return the function that takes a value of a column, and returns it as Arrow takes it.

        It raises `Unfit` or TypeError (of orjson) if the value is not proven to fit.
        """
        return self._module.compile(self._function(column)[0])

    @property
    def source(self) -> str:
        """The source of all functions."""
        return self._module.source

    def _function(self, column: Column) -> tuple[str, bool]:
        """Return the name of the function of a column, and whether it may return another object than it is given."""
        made = self._made.get(id(column))
        if made is None:
            self._columns.append(column)  # its identity is a key
            made = self._made[id(column)] = (
                self._module.function(lambda name: self._written(name, column)),
                _changes(column),
            )
        return made

    def _written(self, name: str, column: Column) -> str:
        writer = FunctionWriter()
        with writer.block(f"def {name}(v):"):
            if column.kind is Kind.STRUCT:
                self._struct(writer, column)
            else:
                self._check(writer, column, "v")
            writer.line("return v")
        return writer.source

    def _struct(self, writer: FunctionWriter, column: Column) -> None:
        names = self._module.slot(frozenset(name for name, _ in column.fields))
        others = f" or not v.keys() <= {names}" if self._is_whole else ""
        with writer.block(f"if type(v) is not dict{others}:"):
            writer.line("raise Unfit")
        if _changes(column):
            writer.line("v = v.copy()")
        for name, below in column.fields:
            with writer.block(f"if {name!r} in v:"):
                writer.line(f"x = v[{name!r}]")
                self._check(writer, below, "x")
                if _changes(below):
                    writer.line(f"v[{name!r}] = x")

    def _check(self, writer: FunctionWriter, column: Column, value: str) -> None:
        """Write lines that check the value of a variable, and set it to what Arrow takes."""
        kind = column.kind
        if kind in _TYPES:
            writer.line(f"if type({value}) is not {_TYPES[kind]}: raise Unfit")
        elif kind is Kind.NUMBER:
            writer.line(f"if type({value}) is not float and type({value}) is not int: raise Unfit")
        elif kind is Kind.TIME:
            writer.line(f"if type({value}) is not str: raise Unfit")
            writer.line(f"{value} = moments[{value}]")
        elif kind is Kind.JSON:
            writer.line(f"{value} = dumps({value}, option={orjson.OPT_SORT_KEYS}).decode()")
        elif kind is Kind.STRUCT:
            name, changes = self._function(column)
            writer.line(f"{value} = {name}({value})" if changes else f"{name}({value})")
        else:
            assert column.item is not None
            self._several(writer, column, column.item, value)

    def _several(self, writer: FunctionWriter, column: Column, item: Column, value: str) -> None:
        """Write lines for a list or a map."""
        is_map = column.kind is Kind.MAP
        writer.line(f"if type({value}) is not {'dict' if is_map else 'list'}: raise Unfit")
        if item.kind in _TYPES:
            with writer.block(f"for y in {value}{'.values()' if is_map else ''}:"):
                self._check(writer, item, "y")
            if is_map:
                writer.line(f"{value} = list({value}.items())")
            return
        name, changes = self._function(item)
        if is_map:
            writer.line(f"{value} = [(k, {name}(y)) for k, y in {value}.items()]")
        elif changes:
            writer.line(f"{value} = [{name}(y) for y in {value}]")
        else:
            writer.line(f"for y in {value}: {name}(y)")


def _changes(column: Column) -> bool:
    """Return whether Arrow takes a value of a column in another form than JSON has it."""
    if column.kind is Kind.STRUCT:
        return any(_changes(below) for _, below in column.fields)
    if column.kind is Kind.LIST:
        assert column.item is not None
        return _changes(column.item)
    return column.kind in (Kind.TIME, Kind.JSON, Kind.MAP)
