"""CEL's standard library of functions and operators.

Operators with unevaluated operands (logic, conditions, ``or`` of optionals) and operators that read from values (index,
selection) are declared here for the checker; the interpreter implements them.
Source: cel-go common/stdlib/standard.go, cel/library.go, ext/comprehensions.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from auditor.cel.cel_errors import CelError, errors_as_formats
from auditor.cel.cel_types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    UINT,
    Kind,
    Type,
    list_of,
    map_of,
    type_of,
    type_param,
)
from auditor.cel.cel_values import MapValue, is_list, is_map
from auditor.cel.emit import functions as code
from auditor.cel.emit.bounds import ONE as ONE_BOUND
from auditor.cel.emit.bounds import constant, tenth
from auditor.cel.emit.value import Extent
from auditor.cel.emit.value_shapes import Form
from auditor.cel.estimate.call_costs import MAX_COST, ONE, Operand, Priced, Range, read_argument
from auditor.cel.function import PLAIN, UNIT, Code, Costs, Function, Overload
from auditor.cel.library.prices import (
    COMPARISON,
    COMPARISON_OF_FLAT,
    EQUALITY,
    EQUALITY_OF_FLAT,
    SEARCH,
    first_bound,
    size_bound,
)
from auditor.cel.operations.arithmetic import (
    ADDERS,
    DIVIDERS,
    MODDERS,
    NEGATERS,
    SUBTRACTERS,
    add,
    divide,
    modulo,
    multiply,
    negate,
    subtract,
)
from auditor.cel.operations.clock import DURATION_GETTERS, TIMESTAMP_GETTERS, duration_getter, timestamp_getter
from auditor.cel.operations.conversions import (
    to_bool,
    to_bytes,
    to_double,
    to_duration,
    to_int,
    to_string,
    to_timestamp,
    to_type,
    to_uint,
)
from auditor.cel.operations.cost import GO_BYTES, TEXT, inner_size, size, text_cost, unhashable
from auditor.cel.operations.equality import NO_SUCH_OVERLOAD, SIZED, compare, contains, size_of
from auditor.golang.regex.compiled import GoRegexError, compile_pattern
from auditor.releases import changes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from auditor.cel.emit.bounds import Bound
    from auditor.cel.emit.value import Value
    from auditor.cel.estimate.call_costs import Price


_A, _B = type_param("A"), type_param("B")
_LIST, _MAP = list_of(_A), map_of(_A, _B)
_ORDERED = (
    (BOOL, "bool"), (INT, "int64"), (UINT, "uint64"), (DOUBLE, "double"), (STRING, "string"), (BYTES, "bytes"),
    (TIMESTAMP, "timestamp"), (DURATION, "duration"),
)  # fmt: skip
_NUMBERS = ((INT, "int64"), (UINT, "uint64"), (DOUBLE, "double"))
_NO_OTHERS: Mapping[str, Costs] = {}
_COMPARABLE = frozenset(kind.kind for kind, _ in _ORDERED)


def unreachable(*_: Any) -> Any:
    """Raise an error: the interpreter implements these operations itself."""
    raise CelError(NO_SUCH_OVERLOAD)


def operator(name: str, *overloads: tuple[str, tuple[Type, ...], Type], costs: Costs = UNIT) -> Function:
    """Return an operator that the interpreter implements itself."""
    made = tuple(Overload(*each, unreachable) for each in overloads)
    return Function(name, member=False, overloads=made, costs=costs)


def _single(
    name: str,
    call: Callable[..., Any],
    operands: frozenset[Kind] | None,
    *overloads: tuple[str, tuple[Type, ...], Type],
    member: bool = False,
    costs: Costs = UNIT,
    of_overloads: Mapping[str, Costs] = _NO_OTHERS,
    written: Code = PLAIN,
    is_folded: bool = False,
) -> Function:
    made = tuple(Overload(*each, call, of_overloads.get(each[0], UNIT)) for each in overloads)
    return Function(
        name, member, made, singleton=True, operands=operands, costs=costs, code=written, is_folded=is_folded
    )


def _logical_not(value: Any) -> bool:
    if type(value) is not bool:
        raise CelError(NO_SUCH_OVERLOAD)
    return not value


def _size(value: Any) -> int:
    size = size_of(value)
    assert size is not None, "asked of sized kinds only"
    return size


def _in(value: Any, container: Any) -> Any:
    if not (is_list(container) or is_map(container)):
        raise CelError(NO_SUCH_OVERLOAD)
    if type(value) is bytes and type(container) in (dict, MapValue) and size_of(container):
        raise unhashable(GO_BYTES)  # a map of the expression; those of the object look up only strings
    return contains(container, value)


def _matches(text: str, pattern: Any) -> bool:
    if type(pattern) is not str:
        raise CelError(NO_SUCH_OVERLOAD)
    try:
        return compile_pattern(pattern).search(text)
    except GoRegexError as error:
        raise CelError(str(error)) from None


def _text_test(test: Callable[[str, str], bool]) -> Callable[[Any, Any], bool]:
    def call(text: Any, part: Any) -> bool:
        if type(text) is not str or type(part) is not str:
            raise CelError(NO_SUCH_OVERLOAD)
        return test(text, part)

    return call


def _text_function(name: str, overload: str, test: Callable[[str, str], bool], costs: Costs, written: Code) -> Function:
    made = Overload(overload, (STRING, STRING), BOOL, _text_test(test))
    return Function(name, member=True, overloads=(made,), guarded=False, costs=costs, code=written)


# -- costs -------------------------------------------------------------------------------------------------------------


def _read_first(args: Sequence[Any], _result: Any, _overload: str) -> int:
    return text_cost(size(args[0]))


def _add_price(*, is_list: bool) -> Price:
    def price(_target: Operand | None, args: Sequence[Operand], _overload: str) -> Priced:
        made = args[0].bound + args[1].bound
        return Priced(ONE if is_list else made.scaled(TEXT), made)

    return price


def _added_bound(values: list[Value]) -> Bound:
    return tenth(size_bound(values[0]) + size_bound(values[1]))


def _membership_cost(args: Sequence[Any], _result: Any, _overload: str) -> int:
    return inner_size(args[1])


def _membership_price(_target: Operand | None, args: Sequence[Operand], _overload: str) -> Priced:
    return Priced(args[1].bound.scaled(1))


def _membership_bound(values: list[Value]) -> Bound:
    is_lookup = values[1].shape.form in (Form.MAP, Form.OBJECT)
    return ONE_BOUND if is_lookup else size_bound(values[1]) + ONE_BOUND


def _contains_price(target: Operand | None, args: Sequence[Operand], _overload: str) -> Priced | None:
    return None if target is None else Priced(target.bound.scaled(TEXT) * args[0].bound.scaled(TEXT))


def _to_bytes_price(_target: Operand | None, args: Sequence[Operand], _overload: str) -> Priced:
    length = args[0].bound
    return Priced(length.scaled(TEXT), Range(length.min, (length.max * 4) & MAX_COST))


def _to_text_price(_target: Operand | None, args: Sequence[Operand], _overload: str) -> Priced:
    length = args[0].bound
    return Priced(length.scaled(TEXT), Range(length.min // 4, length.max))


_ADDED = Costs(
    lambda args, _result, _overload: text_cost(size(args[0]) + size(args[1])), _add_price(is_list=False), _added_bound
)
_CONTAINED = Costs(
    lambda args, _result, _overload: text_cost(size(args[0])) * text_cost(size(args[1])),
    _contains_price,
    lambda values: tenth(size_bound(values[0])) * tenth(size_bound(values[1])),
)
_AT_END = Costs(
    lambda args, _result, _overload: text_cost(inner_size(args[1])),
    read_argument(),
    lambda values: tenth(size_bound(values[1])),
)
_AT_ANY_END = Costs(lambda args, _result, _overload: text_cost(inner_size(args[0])), read_argument(), first_bound())
"""Cost of `startsWith` and `endsWith` before `changes.AFFIXES_COST`."""
_AT_FLAT_END = Costs(lambda args, _result, _overload: text_cost(size(args[0])), read_argument(), first_bound())
"""The same before `changes.SIZES_IN_OPTIONALS`."""
_ONE = Costs(lambda _args, _result, _overload: 1, lambda _target, _args, _overload: Priced(ONE))
INDEX = Costs(bound=lambda _: constant(2))
_REMEMBERED = Code(is_remembered=True)


def _operators() -> tuple[Function, ...]:
    arithmetic = (
        _single(
            "_+_", add, ADDERS,
            ("add_bytes", (BYTES, BYTES), BYTES), ("add_double", (DOUBLE, DOUBLE), DOUBLE),
            ("add_duration_duration", (DURATION, DURATION), DURATION),
            ("add_duration_timestamp", (DURATION, TIMESTAMP), TIMESTAMP),
            ("add_timestamp_duration", (TIMESTAMP, DURATION), TIMESTAMP), ("add_int64", (INT, INT), INT),
            ("add_list", (_LIST, _LIST), _LIST), ("add_string", (STRING, STRING), STRING),
            ("add_uint64", (UINT, UINT), UINT),
            costs=Costs(bound=_added_bound),
            of_overloads={"add_bytes": _ADDED, "add_string": _ADDED, "add_list": Costs(worst=_add_price(is_list=True))},
        ),
        _single("_/_", divide, DIVIDERS, *_on_numbers("divide", DOUBLE, INT, UINT)),
        _single("_%_", modulo, MODDERS, *_on_numbers("modulo", INT, UINT)),
        _single("_*_", multiply, DIVIDERS, *_on_numbers("multiply", DOUBLE, INT, UINT)),
        _single("-_", negate, NEGATERS, ("negate_double", (DOUBLE,), DOUBLE), ("negate_int64", (INT,), INT)),
        _single(
            "_-_", subtract, SUBTRACTERS,
            ("subtract_double", (DOUBLE, DOUBLE), DOUBLE),
            ("subtract_duration_duration", (DURATION, DURATION), DURATION), ("subtract_int64", (INT, INT), INT),
            ("subtract_timestamp_duration", (TIMESTAMP, DURATION), TIMESTAMP),
            ("subtract_timestamp_timestamp", (TIMESTAMP, TIMESTAMP), DURATION), ("subtract_uint64", (UINT, UINT), UINT),
        ),
    )  # fmt: skip
    equality, comparison = EQUALITY, COMPARISON
    if not changes.SIZES_IN_OPTIONALS.holds:
        equality, comparison = EQUALITY_OF_FLAT, COMPARISON_OF_FLAT
    return (
        operator("_?_:_", ("conditional", (BOOL, _A, _A), _A)),
        operator("_&&_", ("logical_and", (BOOL, BOOL), BOOL)),
        operator("_||_", ("logical_or", (BOOL, BOOL), BOOL)),
        _single("!_", _logical_not, None, ("logical_not", (BOOL,), BOOL)),
        operator("@not_strictly_false", ("not_strictly_false", (BOOL,), BOOL)),
        operator("_==_", ("equals", (_A, _A), BOOL), costs=equality),
        operator("_!=_", ("not_equals", (_A, _A), BOOL), costs=comparison),
        *arithmetic,
        *(_comparison(*each) for each in _COMPARISONS),
        operator("_[_]", ("index_list", (_LIST, INT), _A), ("index_map", (_MAP, _A), _B), costs=INDEX),
        _single(
            "@in",
            _in,
            None,
            ("in_list", (_A, _LIST), BOOL),
            ("in_map", (_A, _MAP), BOOL),
            costs=Costs(bound=_membership_bound),
            of_overloads={"in_list": Costs(_membership_cost, _membership_price)},
        ),
    )


def _on_numbers(prefix: str, *types: Type) -> tuple[tuple[str, tuple[Type, ...], Type], ...]:
    names = dict(_NUMBERS)
    return tuple((f"{prefix}_{names[kind]}", (kind, kind), kind) for kind in types)


_COMPARISONS: tuple[tuple[str, str, Callable[[int], bool]], ...] = (
    ("_<_", "less", lambda order: order < 0),
    ("_<=_", "less_equals", lambda order: order <= 0),
    ("_>_", "greater", lambda order: order > 0),
    ("_>=_", "greater_equals", lambda order: order >= 0),
)


def _comparison(name: str, prefix: str, holds: Callable[[int], bool]) -> Function:
    overloads: list[tuple[str, tuple[Type, ...], Type]] = []
    for kind, text in _ORDERED:
        overloads.append((f"{prefix}_{text}", (kind, kind), BOOL))
        if (kind, text) in _NUMBERS:
            overloads += [
                (f"{prefix}_{text}_{other}", (kind, number), BOOL) for number, other in _NUMBERS if other != text
            ]
    texts = dict.fromkeys((f"{prefix}_string", f"{prefix}_bytes"), COMPARISON)
    return _single(
        name,
        lambda left, right: holds(compare(left, right)),
        _COMPARABLE,
        *overloads,
        costs=Costs(bound=COMPARISON.bound),
        of_overloads=texts,
    )


CROSS_TYPE_COMPARISONS = frozenset(
    f"{prefix}_{text}_{other}"
    for _, prefix, _ in _COMPARISONS
    for _, text in _NUMBERS
    for _, other in _NUMBERS
    if text != other
)
"""Overloads that compare numbers of different types, which an environment may leave out."""


def _conversion(
    name: str,
    call: Callable[..., Any],
    result: Type,
    *sources: tuple[str, Type],
    costs: Costs = UNIT,
    of_overloads: Mapping[str, Costs] = _NO_OTHERS,
    written: Code = PLAIN,
) -> Function:
    made = tuple(Overload(each, (source,), result, call, of_overloads.get(each, UNIT)) for each, source in sources)
    return Function(name, member=False, overloads=made, costs=costs, code=written, is_folded=True)


def _conversions() -> tuple[Function, ...]:
    numbers = () if changes.NUMBERS_ARE_NO_DURATIONS.holds else (("int64_to_duration", INT),)
    return (
        _single("type", to_type, None, ("type", (_A,), type_of(_A)), is_folded=True),
        _conversion("bool", to_bool, BOOL, ("bool_to_bool", BOOL), ("string_to_bool", STRING), written=_REMEMBERED),
        _conversion(
            "bytes", to_bytes, BYTES, ("bytes_to_bytes", BYTES), ("string_to_bytes", STRING),
            costs=Costs(bound=first_bound()), of_overloads={"string_to_bytes": Costs(_read_first, _to_bytes_price)},
            written=Code(extent=lambda values: Extent(size_bound(values[0]).scaled(4))),
        ),
        _conversion(
            "double", to_double, DOUBLE, ("double_to_double", DOUBLE), ("int64_to_double", INT),
            ("string_to_double", STRING), ("uint64_to_double", UINT), written=_REMEMBERED,
        ),
        _conversion(
            "duration", to_duration, DURATION, ("duration_to_duration", DURATION), *numbers,
            ("string_to_duration", STRING), written=_REMEMBERED,
        ),
        _single("dyn", lambda value: value, None, ("to_dyn", (_A,), DYN), written=Code(code.dyn_code), is_folded=True),
        _conversion(
            "int", to_int, INT, ("int64_to_int64", INT), ("double_to_int64", DOUBLE), ("duration_to_int64", DURATION),
            ("string_to_int64", STRING), ("timestamp_to_int64", TIMESTAMP), ("uint64_to_int64", UINT),
            written=_REMEMBERED,
        ),
        _conversion(
            "string", to_string, STRING, ("string_to_string", STRING), ("bool_to_string", BOOL),
            ("bytes_to_string", BYTES), ("double_to_string", DOUBLE), ("duration_to_string", DURATION),
            ("int64_to_string", INT), ("timestamp_to_string", TIMESTAMP), ("uint64_to_string", UINT),
            costs=Costs(bound=first_bound()), of_overloads={"bytes_to_string": Costs(_read_first, _to_text_price)},
            written=Code(code.string_code, code.shown_extent),
        ),
        _conversion(
            "timestamp", to_timestamp, TIMESTAMP, ("timestamp_to_timestamp", TIMESTAMP),
            ("int64_to_timestamp", INT), ("string_to_timestamp", STRING), written=_REMEMBERED,
        ),
        _conversion(
            "uint", to_uint, UINT, ("uint64_to_uint64", UINT), ("double_to_uint64", DOUBLE),
            ("int64_to_uint64", INT), ("string_to_uint64", STRING),
        ),
    )  # fmt: skip


def _texts() -> tuple[Function, ...]:
    sizes = ((BYTES, "bytes"), (_LIST, "list"), (_MAP, "map"), (STRING, "string"))
    free, member = (
        [(pattern.format(name), (kind,), INT) for kind, name in sizes] for pattern in ("size_{}", "{}_size")
    )
    ends, starts = Code(code.text_method_code("endswith")), Code(code.text_method_code("startswith"))
    within = Code(code.contains_code)
    at_end, free_search = (_AT_END, UNIT) if changes.AFFIXES_COST.holds else (_AT_ANY_END, _ONE)
    if not changes.SIZES_IN_OPTIONALS.holds:
        at_end = _AT_FLAT_END
    return (
        _single("size", _size, SIZED, *free, written=Code(code.size_code)),
        _single("size", _size, SIZED, *member, member=True),
        _text_function("contains", "contains_string", lambda text, part: part in text, _CONTAINED, within),
        _text_function("endsWith", "ends_with_string", str.endswith, at_end, ends),
        _text_function("startsWith", "starts_with_string", str.startswith, at_end, starts),
        *(
            Function(
                "matches",
                member,
                (Overload(overload, (STRING, STRING), BOOL, _matches, UNIT if member else free_search),),
                singleton=True,
                operands=frozenset({Kind.STRING}),
                regex_argument=1,
                costs=SEARCH,
                code=Code(code.matches_code),
            )
            for overload, member in (("matches", False), ("matches_string", True))
        ),
    )


_TIME_PARTS = {
    "getFullYear": "year", "getMonth": "month", "getDayOfYear": "day_of_year", "getDayOfMonth": "day_of_month",
    "getDate": "day_of_month_1_based", "getDayOfWeek": "day_of_week", "getHours": "hours", "getMinutes": "minutes",
    "getSeconds": "seconds", "getMilliseconds": "milliseconds",
}  # fmt: skip


def _plainly(call: Callable[..., Any]) -> Callable[..., Any]:
    return call


def _times() -> tuple[Function, ...]:
    functions = []
    shown = _plainly if changes.PERCENTS_IN_ERRORS.holds else errors_as_formats
    for name in TIMESTAMP_GETTERS:
        part, getter = _TIME_PARTS[name], shown(timestamp_getter(name))
        with_zone = "timestamp_to_seconds_tz" if part == "seconds" else f"timestamp_to_{part}_with_tz"
        overloads = [
            Overload(f"timestamp_to_{part}", (TIMESTAMP,), INT, getter),
            Overload(with_zone, (TIMESTAMP, STRING), INT, getter),
        ]
        if name in DURATION_GETTERS:
            overloads.append(Overload(f"duration_to_{part}", (DURATION,), INT, duration_getter(name)))
        functions.append(Function(name, member=True, overloads=tuple(overloads)))
    return tuple(functions)


def standard() -> tuple[Function, ...]:
    """Return CEL's standard library."""
    return (*_operators(), *_texts(), *_conversions(), *_times())
