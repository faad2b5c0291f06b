"""Functions on strings. Positions and sizes count code points, as Python does.

Source: cel-go ext/strings.go, version 2 (without `reverse`).
"""

from __future__ import annotations

from dataclasses import replace
from math import ceil
from typing import TYPE_CHECKING, Any

from auditor.cel.cel_errors import CelError
from auditor.cel.cel_types import DYN, INT, STRING, Type, list_of
from auditor.cel.emit.bounds import ONE, ZERO, Bound, constant, tenth
from auditor.cel.emit.functions import parts_extent, same_extent
from auditor.cel.emit.value import Extent
from auditor.cel.estimate.call_costs import MAX_COST, NOTHING, UNKNOWN, Operand, Priced, Range, read_receiver
from auditor.cel.function import PLAIN, UNIT, Code, Costs, Function, Overload
from auditor.cel.library.formatting import formatter
from auditor.cel.library.prices import TRANSFORM, TRAVERSAL, read_text, size_bound
from auditor.cel.operations import text_memory
from auditor.cel.operations.cost import TEXT, size, text_cost
from auditor.cel.operations.go_names import show
from auditor.golang.go_text import without_broken
from auditor.releases import changes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from auditor.cel.emit.value import Value


_UPPER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_LOWER = _UPPER.lower()
_TO_LOWER = str.maketrans(_UPPER, _LOWER)
_TO_UPPER = str.maketrans(_LOWER, _UPPER)
_SPACE = "\t\n\v\f\r \u0085\u00a0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
"""White space in Go; Python's `strip` would remove U+001C to U+001F, too."""
_ESCAPES = str.maketrans(
    {
        "\a": "\\a",
        "\b": "\\b",
        "\f": "\\f",
        "\n": "\\n",
        "\r": "\\r",
        "\t": "\\t",
        "\v": "\\v",
        "\\": "\\\\",
        '"': '\\"',
    }
)


def _out_of_range(index: int) -> CelError:
    return CelError(f"index out of range: {index}")


def _char_at(text: str, index: int) -> str:
    if not 0 <= index <= len(text):
        raise _out_of_range(index)
    return without_broken(text[index : index + 1])


def _index_of(text: str, part: str, start: int = 0) -> int:
    if start < 0:
        raise _out_of_range(start)
    if not part:
        return min(start, len(text))
    return text.find(part, start)


def _from_anywhere(find: Callable[..., int]) -> Callable[..., int]:
    """Return `indexOf` as before `changes.EMPTY_TEXTS_IN_RANGE`."""
    return lambda text, part, start=None: start if start is not None and not part else find(text, part, *_given(start))


def _given(start: int | None) -> tuple[int, ...]:
    return () if start is None else (start,)


def _last_index_of(text: str, part: str, start: int | None = None) -> int:
    if start is None:
        return text.rfind(part)
    if start < 0:
        raise _out_of_range(start)
    if not part:
        return min(start, len(text))
    if start >= len(text):
        return -1
    return text.rfind(part, 0, start + len(part))


def _last_index_of_some(text: str, part: str, start: int | None = None) -> int:
    """Find as before `changes.LAST_INDEX_OF_NOTHING`: an empty text has no last character to begin at."""
    if not text and part and start is None:
        raise _out_of_range(-1)
    return _last_index_of(text, part, start)


def _split(text: str, separator: str, limit: int = -1) -> list[str]:
    if limit == 0:
        return []
    if separator:
        return text.split(separator, limit - 1 if limit > 0 else -1)
    if 0 < limit < len(text):
        return [*text[: limit - 1], text[limit - 1 :]]
    return list(text)


def _substring(text: str, start: int, end: int | None = None) -> str:
    if end is not None and start > end:
        raise CelError(f"invalid substring range. start: {start}, end: {end}")
    if not 0 <= start <= len(text):
        raise _out_of_range(start)
    if end is not None and not 0 <= end <= len(text):
        raise _out_of_range(end)
    return without_broken(text[start:end])


def _join(texts: Any, separator: str = "") -> str:
    parts = list(texts if type(texts) is list else texts.cel_iter())
    for text in parts:
        if type(text) is not str:
            raise CelError(f"join: invalid input: {show(text)}")
    return separator.join(parts)


def quote_for_cel(text: str) -> str:
    """Return a string literal of CEL: in double quotes, with CEL's escapes; other characters are unchanged."""
    return f'"{text.translate(_ESCAPES)}"'


# -- costs -------------------------------------------------------------------------------------------------------------


def _replace_price(target: Operand | None, args: Sequence[Operand], _overload: str) -> Priced | None:
    if target is None:
        return None
    text, needle, new = target.bound, args[0].bound, args[1].bound
    most, most_kept = _replacements(text.max, needle.min, grows=new.max > needle.min)
    least, least_kept = _replacements(text.min, needle.max, grows=needle.max > new.min)
    size = Range(least, most) * new + Range(least_kept, most_kept)
    return Priced(text.scaled(2 * TEXT), size)


def _replacements(length: int, needle: int, *, grows: bool) -> tuple[int, int]:
    """Return how often a text is replaced at most, and how much of the original remains."""
    if needle == 0:  # it matches between all characters
        return min(length + 1, MAX_COST), length
    return (min(ceil(float(length) / float(needle)), MAX_COST), 0) if grows else (0, length)


def _replaced(values: list[Value]) -> Bound:
    return size_bound(values[0]) + (size_bound(values[0]) + ONE) * size_bound(values[2])


def _replace_bound(values: list[Value]) -> Bound:
    # The server does not count the result. Here it counts, so that no text becomes larger than memory.
    own = size_bound(values[0])
    return tenth(own, 2 * TEXT) + ((own + ONE) * size_bound(values[2])).scaled(TEXT)


def _split_price(target: Operand | None, args: Sequence[Operand], _overload: str) -> Priced | None:
    if target is None:
        return None
    most = target.bound.max
    if len(args) > 1 and args[1].integer is not None:
        most = args[1].integer & MAX_COST
    return Priced(target.bound.scaled(2 * TEXT), Range(0, most))


def _join_price(target: Operand | None, args: Sequence[Operand], _overload: str) -> Priced | None:
    if target is None:
        return None
    count, size = target.bound, NOTHING
    if target.type.parameters:
        size = count * (UNKNOWN if target.element is None else target.element)
    if args:
        size = size + args[0].bound * Range(max(count.min - 1, 0), max(count.max - 1, 0))
    return Priced(size.scaled(TEXT), size)


def _joined(values: list[Value]) -> Bound:
    items = values[0].extent
    assert items.item is not None
    separator = size_bound(values[1]) if len(values) > 1 else ZERO
    return items.own * (items.item.own + separator)


def _quote_price(_target: Operand | None, args: Sequence[Operand], _overload: str) -> Priced:
    size = args[0].bound
    return Priced(size.scaled(TEXT), Range((size.min + 2) & MAX_COST, (size.max * 2 + 2) & MAX_COST))


_REPLACE = replace(read_text(2, worst=_replace_price), bound=_replace_bound)
_SPLIT = read_text(2, worst=_split_price)
_JOIN = Costs(
    lambda _args, result, _overload: text_cost(size(result) * 2),
    _join_price,
    lambda values: tenth(_joined(values), 2 * TEXT),
)
_FORMAT = Costs(lambda args, _result, _overload: text_cost(size(args[0])), read_receiver, is_bounded=False)
_SAME = Code(extent=same_extent)
_QUOTED = Code(extent=lambda values: Extent(size_bound(values[0]).scaled(2) + constant(2)))


def _member(
    name: str,
    *overloads: tuple[str, tuple[Type, ...], Type, Callable[..., object]],
    costs: Costs = UNIT,
    code: Code = PLAIN,
) -> Function:
    made = tuple([Overload(*overload) for overload in overloads])
    return Function(name, member=True, overloads=made, costs=costs, code=code)


def functions() -> tuple[Function, ...]:
    """Return the functions of the library."""
    text, two, three = (STRING,), (STRING, STRING), (STRING, STRING, STRING)
    texts = list_of(STRING)
    first, last = _index_of, _last_index_of
    if not changes.LAST_INDEX_OF_NOTHING.holds:
        last = _last_index_of_some
    if not changes.EMPTY_TEXTS_IN_RANGE.holds:
        first, last = _from_anywhere(first), _from_anywhere(last)
    lower = ("string_lower_ascii", text, STRING, lambda it: without_broken(it.translate(_TO_LOWER)))
    upper = ("string_upper_ascii", text, STRING, lambda it: without_broken(it.translate(_TO_UPPER)))
    shape = Overload("string_format", (STRING, list_of(DYN)), STRING, formatter(), in_order=True)
    quote = Overload("strings_quote", text, STRING, quote_for_cel)
    return (
        _member("charAt", ("string_char_at_int", (STRING, INT), STRING, _char_at), code=_SAME),
        _member(
            "indexOf",
            ("string_index_of_string", two, INT, first),
            ("string_index_of_string_int", (*two, INT), INT, first),
            costs=TRAVERSAL,
        ),
        _member(
            "lastIndexOf",
            ("string_last_index_of_string", two, INT, last),
            ("string_last_index_of_string_int", (*two, INT), INT, last),
            costs=TRAVERSAL,
        ),
        _member("lowerAscii", lower, costs=TRANSFORM, code=_SAME),
        _member(
            "replace",
            ("string_replace_string_string", three, STRING, text_memory.replace),
            ("string_replace_string_string_int", (*three, INT), STRING, text_memory.replace),
            costs=_REPLACE,
            code=Code(extent=lambda values: Extent(_replaced(values))),
        ),
        _member(
            "split",
            ("string_split_string", two, texts, _split),
            ("string_split_string_int", (*two, INT), texts, _split),
            costs=_SPLIT,
            code=Code(extent=parts_extent),
        ),
        _member(
            "substring",
            ("string_substring_int", (STRING, INT), STRING, _substring),
            ("string_substring_int_int", (STRING, INT, INT), STRING, _substring),
            costs=TRANSFORM,
            code=_SAME,
        ),
        _member("trim", ("string_trim", text, STRING, lambda it: it.strip(_SPACE)), costs=TRANSFORM, code=_SAME),
        _member("upperAscii", upper, costs=TRANSFORM, code=_SAME),
        _member(
            "join",
            ("list_join", (texts,), STRING, _join),
            ("list_join_string", (texts, STRING), STRING, _join),
            costs=_JOIN,
            code=Code(extent=lambda values: Extent(_joined(values))),
        ),
        Function("format", True, (shape,), costs=_FORMAT, since=(1, 29)),
        Function("strings.quote", False, (quote,), costs=read_text(worst=_quote_price), code=_QUOTED, since=(1, 29)),
    )
