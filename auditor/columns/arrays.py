"""Arrow arrays of records, a column at a time: one list of values for each leaf, and the arrays above made of those.

The values are those of records that `auditor.columns.records` decoded, so each has the type that its column asks for.
What a type does not say (whether a text is a time, whether JSON text is valid UTF-8) is found while the leaf is made:
`Unfit` has the rows of these values, and they are converted exactly (`exact`).
"""

from __future__ import annotations

import re
from datetime import datetime
from functools import cached_property
from itertools import chain, repeat
from operator import attrgetter, is_
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
from msgspec import Raw, Struct, defstruct
from msgspec.structs import astuple

from auditor.columns.column_types import Column, Kind
from auditor.columns.exact import json_text, microseconds
from auditor.golang.jsontext import GoJsonError, decode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray


_MOST_TEXTS: Final = 1 << 14
_LONGEST: Final = 1 << 10
"""Bytes or characters of a text that is remembered."""
_of_a_server: Final = re.compile(r"[1-9]\d{3}-\d\d-\d\dT\d\d:\d\d:\d\dZ", re.ASCII).fullmatch
_DIRECT: Final = frozenset({Kind.STRING, Kind.INTEGER, Kind.NUMBER, Kind.BOOLEAN})
"""Kinds whose values Arrow takes as they are, also in lists."""


class Unfit(Exception):
    """A value is not proven to fit its column."""


class Finished(NamedTuple):
    """A time or JSON text as Arrow takes it, in a record that the exact conversion made."""

    value: Any


class Texts(dict[Any, Any]):
    """What texts are in their columns; they repeat.

    Args:
        make: Returns what a text is; None if it does not fit.
    """

    def __init__(self, make: Callable[[Any], Any]) -> None:
        super().__init__({None: None})
        self._make = make

    def __missing__(self, text: Any) -> Any:
        """Return what a text is that is not known yet.

        Raises:
            Unfit: It does not fit.
        """
        if type(text) is Finished:
            return text.value
        made = self._make(text)
        if made is None:
            raise Unfit
        if len(text) <= _LONGEST:
            if len(self) >= _MOST_TEXTS:
                self.clear()
                self[None] = None
            self[text] = made
        return made


def _server_moment(text: Any) -> int | None:
    """Return a time as a server writes it in microseconds since 1970."""
    if type(text) is not str or _of_a_server(text) is None:
        return None
    try:
        return int(datetime.fromisoformat(text).timestamp()) * 1_000_000
    except ValueError:
        return None


def _moment(text: Any) -> int | None:
    moment = _server_moment(text)
    return microseconds(text) if moment is None else moment


server_moments: Final = Texts(_server_moment)
"""Times in microseconds since 1970, by texts as a server writes them."""
moments: Final = Texts(_moment)
"""Likewise of any time that fits."""


def attribute_of(name: str) -> str:
    """Return the attribute of records that has the field of a name."""
    return f"f_{name}" if name.isidentifier() else f"x_{name.encode().hex()}"


class Misfits:
    """The rows of a batch that have values which do not fit their columns.

    Attributes:
        nulls: Rows in which such a value is a null, as the exact conversion makes it, which also puts it aside.
        unread: Rows whose columns only the exact conversion can make.
    """

    def __init__(self) -> None:
        self.nulls: set[int] = set()
        self.unread: set[int] = set()


class ColumnArrays:
    """Makes arrays of a column.

    Args:
        column: The column.
        is_part: Whether records have more fields than the column has, if it is a struct.
    """

    def __init__(self, column: Column, *, is_part: bool = False) -> None:
        self.column = column
        self._is_part = is_part
        self.type = column.arrow()
        self._names = [attribute_of(name) for name, _ in column.fields]
        self._below = [ColumnArrays(below) for _, below in column.fields]
        self._item = None if column.item is None else ColumnArrays(column.item)
        self._is_direct = column.kind in _DIRECT or (
            column.kind is Kind.LIST and column.item is not None and column.item.kind in _DIRECT
        )

    def array(self, values: Sequence[Any], rows: Callable[[], Sequence[int]], misfits: Misfits) -> pa.Array:
        """Return the array of some values; None is a null.

        Args:
            values: Texts, numbers, records, lists and dicts, as a record has them.
            rows: Returns the row of each value.
            misfits: Gets the rows of values that do not fit.
        """
        if self._below:
            return self._structs(values, rows, misfits)
        if values.count(None) == len(values):
            return pa.nulls(len(values), self.type)
        if self._is_direct:
            return pa.array(values, self.type)
        if self._item is None:
            convert, noted = (moments, misfits.nulls) if self.column.kind is Kind.TIME else (_json, misfits.unread)
            return pa.array(_leaves(convert, values, rows, noted), self.type)
        return self._several(values, rows, misfits, self._item)

    def record_of(self, value: Any) -> Any:
        """Return a value that the exact conversion made in the form of records."""
        if value is None or self._is_direct:
            return value
        if self._below:
            made = type(self._empty)()
            for (name, _), attribute, below in zip(self.column.fields, self._names, self._below, strict=True):
                setattr(made, attribute, below.record_of(value.get(name)))
            return made
        if self._item is None:
            return Finished(value)
        if self.column.kind is Kind.LIST:
            return [self._item.record_of(each) for each in value]
        return {name: self._item.record_of(each) for name, each in value}

    @cached_property
    def _empty(self) -> Any:
        return defstruct("Record", [(name, Any, None) for name in self._names])()

    def _structs(self, values: Sequence[Any], rows: Callable[[], Sequence[int]], misfits: Misfits) -> pa.Array:
        present = [value for value in values if value is not None]
        if not present:
            return pa.nulls(len(values), self.type)
        is_whole, is_thin = len(present) == len(values), len(present) * 2 < len(values)
        if is_thin:  # arrays of what is there, spread over the rows afterwards

            def below() -> Sequence[int]:
                return [row for value, row in zip(values, rows(), strict=True) if value is not None]
        else:
            below = rows
            if not is_whole:
                present = [self._empty if value is None else value for value in values]
        if self._is_part:
            columns: Iterable[Any] = (list(map(attrgetter(name), present)) for name in self._names)
        else:
            columns = zip(*map(astuple, present), strict=True)
        made = [each.array(column, below, misfits) for each, column in zip(self._below, columns, strict=True)]
        if is_thin:
            mask = _are_none(values)
            places = pa.array(np.cumsum(~mask, dtype=np.int32) - 1, mask=mask)
            return pa.StructArray.from_arrays(made, type=self.type).take(places)
        nulls = None if is_whole else pa.array(_are_none(values))
        return pa.StructArray.from_arrays(made, type=self.type, mask=nulls)

    def _several(
        self, values: Sequence[Any], rows: Callable[[], Sequence[int]], misfits: Misfits, item: ColumnArrays
    ) -> pa.Array:
        present = [value for value in values if value]

        def below() -> Sequence[int]:
            pairs = zip(values, rows(), strict=True)
            return [row for value, row in pairs if value for _ in value]

        offsets = np.zeros(len(values) + 1, np.int32)
        np.cumsum([len(value) if value else 0 for value in values], out=offsets[1:])
        keys = list(chain.from_iterable(present))
        starts, nulls = pa.array(offsets), None if len(present) == len(values) else pa.array(_are_none(values))
        if self.column.kind is Kind.LIST:
            return pa.ListArray.from_arrays(starts, item.array(keys, below, misfits), self.type, mask=nulls)
        items = item.array(list(chain.from_iterable(map(dict.values, present))), below, misfits)
        return pa.MapArray.from_arrays(starts, pa.array(keys, pa.string()), items, self.type, mask=nulls)


def _are_none(values: Sequence[Any]) -> NDArray[np.bool_]:
    return np.fromiter(map(is_, values, repeat(None)), np.bool_, len(values))


def _leaves(
    convert: Texts | Callable[[Any], Any], values: Sequence[Any], rows: Callable[[], Sequence[int]], noted: set[int]
) -> list[Any]:
    """Return values in the form that Arrow takes; a row with a value that does not fit is noted, and the value null."""
    get = convert.__getitem__ if isinstance(convert, Texts) else convert
    try:
        return list(map(get, values))
    except Unfit:
        made = []
        for value, row in zip(values, rows(), strict=True):
            try:
                made.append(get(value))
            except Unfit:
                made.append(None)
                noted.add(row)
        return made


def _json_of_raw(data: bytes) -> str | None:
    try:
        value = decode(data)
    except GoJsonError:
        return None
    return None if value is None else json_text(value)  # a read drops some nulls


_texts: Final = Texts(_json_of_raw)


def _json(value: Any) -> str | None:
    """Return the text of a value of a column of JSON text."""
    if type(value) is Raw:
        return _texts[bytes(value)]  # type: ignore[no-any-return]
    if type(value) is Finished:
        return value.value  # type: ignore[no-any-return]
    if value is None or isinstance(value, Struct):  # a record without fields, as a read drops them
        return None if value is None else "{}"
    return json_text(value)
