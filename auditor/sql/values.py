"""Values of an answer as JSON: times as Kubernetes writes them, maps as objects, structs without their null fields.

A field of an object that is absent is null in a struct, and a Pod has some hundred of these.
"""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Convert = Callable[[Any], Any]


def json_rows(batch: pa.RecordBatch) -> Iterator[dict[str, Any]]:
    """Yield rows of an answer as JSON data; column names are unique."""
    columns = []
    for column in batch.columns:
        convert = _conversion(column.type)
        values = column.to_pylist()
        columns.append(values if convert is None else [None if value is None else convert(value) for value in values])
    names = batch.schema.names
    for row in zip(*columns, strict=True):
        yield dict(zip(names, row, strict=True))


def _conversion(kind: Any) -> Convert | None:
    """Return what makes JSON of values that are not null; None if they are JSON as they are."""
    types = pa.types
    if types.is_string(kind) or types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind):
        return None
    if types.is_timestamp(kind):
        return _time
    if types.is_decimal(kind):
        return lambda value: int(value) if value == value.to_integral_value() else float(value)
    if types.is_binary(kind):
        return lambda value: value.decode("utf-8", "backslashreplace")
    if types.is_map(kind):
        convert = _or_same(kind.item_type)
        return lambda value: {str(key): None if below is None else convert(below) for key, below in value}
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        convert = _or_same(kind.value_type)
        return lambda value: [None if item is None else convert(item) for item in value]
    if types.is_struct(kind):
        fields = {field.name: _or_same(field.type) for field in kind}
        return lambda value: {name: convert(value[name]) for name, convert in fields.items() if value[name] is not None}
    if types.is_interval(kind):
        return _interval
    return _text


def _or_same(kind: Any) -> Convert:
    return _conversion(kind) or (lambda value: value)


def _time(value: datetime.datetime) -> str:
    text = value.replace(tzinfo=None).isoformat()
    return text if value.tzinfo is None else f"{text}Z"


def _interval(value: pa.MonthDayNano) -> str:
    """Return an interval as DuckDB writes it: ``1 year 2 days 03:00:00.5``."""
    years, months = divmod(abs(value.months), 12)
    sign = -1 if value.months < 0 else 1
    parts = {"year": sign * years, "month": sign * months, "day": value.days}
    texts = [f"{count} {unit}{'' if abs(count) == 1 else 's'}" for unit, count in parts.items() if count]
    seconds, micros = divmod(abs(value.nanoseconds) // 1000, 1_000_000)
    if value.nanoseconds or not texts:
        clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}" + f".{micros:06}".rstrip("0").rstrip(
            "."
        )
        texts.append(f"-{clock}" if value.nanoseconds < 0 else clock)
    return " ".join(texts)


def _text(value: Any) -> Any:
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    return value if isinstance(value, (str, int, float, bool)) else str(value)
