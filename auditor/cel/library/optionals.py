"""Optional values, and the functions that macros with two variables call.

Source: cel-go cel/library.go, ext/comprehensions.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from auditor.cel.cel_errors import CelError
from auditor.cel.cel_types import (
    BOOL,
    DURATION,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    Type,
    list_of,
    map_of,
    optional_of,
    type_param,
)
from auditor.cel.cel_values import MISSING, NONE, CelList, MapValue, Optional_, is_list, is_map
from auditor.cel.emit import functions as code
from auditor.cel.function import PLAIN, Code, Function, Overload
from auditor.cel.library.standard import INDEX, operator, unreachable
from auditor.cel.operations.equality import find, size_of
from auditor.cel.operations.go_names import show
from auditor.releases import changes

if TYPE_CHECKING:
    from collections.abc import Callable


_K, _V = type_param("K"), type_param("V")
_OPTIONAL, _VALUES, _ENTRIES = optional_of(_V), list_of(_V), map_of(_K, _V)
_ZERO: tuple[Any, ...] = (False, 0, 0.0, "", b"")


def _of_non_zero(value: Any) -> Optional_:
    size = size_of(value) if is_list(value) or is_map(value) else None
    # In the server, values from a schema are never zero: such lists and maps always count.
    if isinstance(value, CelList) or (is_map(value) and not isinstance(value, dict | MapValue)):
        return Optional_.of(value)
    is_zero = value is None or size == 0 or (type(value).__hash__ is not None and _is_zero(value))
    return NONE if is_zero else Optional_.of(value)


def _is_zero(value: Any) -> bool:
    if isinstance(value, bool | int | float | str | bytes):
        return value in _ZERO
    if value.cel_type == DURATION:
        return bool(value.nanos == 0)
    return bool(value.cel_type == TIMESTAMP and value.nanos == -62_135_596_800 * 10**9)


def _value(optional: Optional_) -> Any:
    if not optional.has:
        raise CelError("optional.none() dereference")
    return optional.value


def _edge(index: int) -> Callable[[Any], Optional_]:
    def call(values: Any) -> Optional_:
        size = size_of(values) or 0
        if not size:
            return NONE
        item = values[index] if type(values) is list else values.cel_get(size - 1 if index else 0)
        return Optional_.of(item)

    return call


def _unwrap(values: Any) -> list[Any]:
    present = []
    for item in values if type(values) is list else values.cel_iter():
        if type(item) is not Optional_:
            raise CelError(f"value {show(item)} is not optional")
        if item.has:
            present.append(item.value)
    return present


def _one(
    name: str, overload: str, args: tuple[Type, ...], result: Type, call: Callable[..., Any], written: Code = PLAIN
) -> Function:
    return Function(name, member=False, overloads=(Overload(overload, args, result, call),), code=written)


def _member(
    name: str, overload: str, args: tuple[Type, ...], result: Type, call: Callable[..., Any], written: Code = PLAIN
) -> Function:
    return Function(name, member=True, overloads=(Overload(overload, args, result, call),), code=written)


_FIRST = Code(extent=code.first_item_extent)
_NON_ZERO = Code(code.of_non_zero_code, code.same_extent)


_OPTIONALS: tuple[Function, ...] = (
    _one("optional.of", "optional_of", (_V,), _OPTIONAL, Optional_.of, Code(code.of_code)),
    _one("optional.ofNonZeroValue", "optional_ofNonZeroValue", (_V,), _OPTIONAL, _of_non_zero, _NON_ZERO),
    _one("optional.none", "optional_none", (), _OPTIONAL, Optional_.none, Code(code.none_code)),
    _member("value", "optional_value", (_OPTIONAL,), _V, _value, Code(code.value_code)),
    _member(
        "hasValue", "optional_hasValue", (_OPTIONAL,), BOOL, lambda optional: optional.has, Code(code.has_value_code)
    ),
    _member("or", "optional_or_optional", (_OPTIONAL, _OPTIONAL), _OPTIONAL, unreachable, Code(code.or_code)),
    _member("orValue", "optional_orValue_value", (_OPTIONAL, _V), _V, unreachable, Code(code.or_value_code)),
    operator("_?._", ("select_optional_field", (DYN, STRING), _OPTIONAL), costs=INDEX),
    operator(
        "_[?_]",
        ("list_optindex_optional_int", (_VALUES, INT), _OPTIONAL),
        ("optional_list_optindex_optional_int", (optional_of(_VALUES), INT), _OPTIONAL),
        ("map_optindex_optional_value", (_ENTRIES, _K), _OPTIONAL),
        ("optional_map_optindex_optional_value", (optional_of(_ENTRIES), _K), _OPTIONAL),
        costs=INDEX,
    ),
    operator(
        "_[_]",
        ("optional_list_index_int", (optional_of(_VALUES), INT), _OPTIONAL),
        ("optional_map_index_value", (optional_of(_ENTRIES), _K), _OPTIONAL),
    ),
)
"""Optional values; with them come the signs ``.?``, ``[?]`` and ``?`` before items."""
_LIST_ENDS: tuple[Function, ...] = (
    _member("last", "list_last", (_VALUES,), _OPTIONAL, _edge(-1), _FIRST),
    _member("first", "list_first", (_VALUES,), _OPTIONAL, _edge(0), _FIRST),
    _one("optional.unwrap", "optional_unwrap", (list_of(_OPTIONAL),), _VALUES, _unwrap),
    _member("unwrapOpt", "optional_unwrapOpt", (list_of(_OPTIONAL),), _VALUES, _unwrap),
)


def functions() -> tuple[Function, ...]:
    """Return the functions of optional values; with them come the operators ``.?``, ``[?]`` and ``?`` before items."""
    return _OPTIONALS + _LIST_ENDS if changes.LIST_ENDS.holds else _OPTIONALS


def _insert(into: Any, *new: Any) -> Any:
    """Insert a key and value, or all entries of a map; in place if the map is an accumulator of a comprehension."""
    target = into
    if type(target) is not MapValue:
        target = MapValue()
        for key in into if type(into) is dict else into.cel_iter():
            target.put(key, find(into, key))
    if len(new) == 2:
        items = [new]
    else:
        source = new[0]
        items = [(key, find(source, key)) for key in (source if type(source) is dict else source.cel_iter())]
    for key, value in items:
        if target.cel_find(key) is not MISSING:
            raise CelError(f"insert failed: key {show(key)} already exists")
        target.put(key, value)
    return target


TWO_VARIABLE_COMPREHENSIONS: tuple[Function, ...] = (
    Function(
        "cel.@mapInsert",
        member=False,
        overloads=(
            Overload("@mapInsert_map_key_value", (_ENTRIES, _K, _V), _ENTRIES, _insert),
            Overload("@mapInsert_map_map", (_ENTRIES, _ENTRIES), _ENTRIES, _insert),
        ),
    ),
)
"""Functions that the macros with two variables call."""
