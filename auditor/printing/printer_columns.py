"""Cells of custom resources: additionalPrinterColumns as the server evaluates them.

Source: apiextensions-apiserver pkg/registry/customresource/tableconvertor/tableconvertor.go.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from auditor.golang import jsontext
from auditor.golang.go_text import display, float_json
from auditor.golang.times import GoTimeError, parse_rfc3339
from auditor.printing.jsonpath import JsonPathError, Template, TooManyVisits, Visits, compile_template

if TYPE_CHECKING:
    from collections.abc import Iterable

    from auditor.base.records import JsonObject


_MINUTE, _HOUR, _DAY = 60, 3600, 86400
_YEAR = 365 * _DAY
_LONGEST = 9223372036


def human_duration(seconds: float) -> str:
    """Return a duration in the format of kubectl's AGE: ``90s``, ``2m3s``, ``4h5m``, ``3d4h``, ``2y1d``.

    Args:
        seconds: The duration; negative for a time in the future. Go's durations end after 292 years.
    """
    whole = min(int(seconds), _LONGEST)
    if whole < -1:
        return "<invalid>"
    if whole < 0:
        return "0s"
    if whole < 2 * _MINUTE:
        return f"{whole}s"
    if whole < 10 * _MINUTE:
        return _two(whole, _MINUTE, "m", 1, "s")
    if whole < 3 * _HOUR:
        return f"{whole // _MINUTE}m"
    if whole < 8 * _HOUR:
        return _two(whole, _HOUR, "h", _MINUTE, "m")
    if whole < 2 * _DAY:
        return f"{whole // _HOUR}h"
    if whole < 8 * _DAY:
        return _two(whole, _DAY, "d", _HOUR, "h")
    if whole < 2 * _YEAR:
        return f"{whole // _DAY}d"
    if whole < 8 * _YEAR:
        return _two(whole, _YEAR, "y", _DAY, "d")
    return f"{whole // _YEAR}y"


def _two(seconds: int, large: int, large_name: str, small: int, small_name: str) -> str:
    rest = seconds % large // small
    return f"{seconds // large}{large_name}" + (f"{rest}{small_name}" if rest else "")


Cell = str | int | float | bool | None

_INT64_MIN: Final = -(2**63)


@dataclass(frozen=True, slots=True)
class PrinterColumn:
    """A column after NAME.

    Attributes:
        name: Header, as declared.
        type: boolean, date, integer, number or string.
        json_path: Starts with a dot.
        priority: 0 prints always, anything else only with ``-o wide``.
    """

    name: str
    type: str
    json_path: str
    priority: int = 0


AGE: Final = PrinterColumn("Age", "date", ".metadata.creationTimestamp")


def custom_resource_columns(declared: Iterable[Any]) -> tuple[tuple[PrinterColumn, Template], ...]:
    """Return the columns that a version prints after NAME, in order.

    Args:
        declared: Its additionalPrinterColumns in the definition; if empty, the only column is Age.
    Returns:
        The columns with their compiled paths. A path that does not parse removes its column and all that follow.
    """
    columns = [
        PrinterColumn(
            name=column.get("name", ""),
            type=column.get("type", "string"),
            json_path=column.get("jsonPath") or column.get("JSONPath") or "",
            priority=column.get("priority") or 0,
        )
        for column in declared
        if isinstance(column, dict)
    ] or [AGE]
    out = []
    for column in columns:
        try:
            out.append((column, compile_template(f"{{{column.json_path}}}")))
        except JsonPathError:
            break
    return tuple(out)


def custom_resource_row(
    columns: Iterable[tuple[PrinterColumn, Template]],
    obj: JsonObject,
    now: float,
    visits: Visits | None = None,
    given_up: list[str] | None = None,
) -> list[Cell]:
    """Return the cells after NAME; null if there is no value, or one of another type than the column's.

    Args:
        columns: From `custom_resource_columns`.
        obj: The object, read at the version of the columns.
        now: Seconds since 1970, for ages.
        visits: How many values the paths of a table may look at; None allows this row as many as a table.
        given_up: Called with the names of columns whose paths would look at more; their cells are null.
    """
    out: list[Cell] = []
    visits = Visits() if visits is None else visits
    for column, template in columns:
        try:
            blocks = template.find(obj, visits=visits)
        except JsonPathError:
            blocks = []
        except TooManyVisits:
            blocks = []
            if given_up is not None:
                given_up.append(column.name)
        values = blocks[0] if blocks else []
        out.append(_cell(column.type, values[0], now) if values else None)
    return out


def _cell(kind: str, value: Any, now: float) -> Cell:
    number = type(value) in (int, float)
    if kind == "integer":
        if type(value) is float:
            return int(value) if _INT64_MIN <= value < -_INT64_MIN else _INT64_MIN  # the conversion of amd64
        return value if number else None
    if kind == "number":
        return float(value) if number else None
    if kind == "boolean":
        return value if type(value) is bool else None
    if kind == "date":
        return age_of(value, now) if type(value) is str else None
    if kind == "string":
        if value is None:
            return "<no value>"
        return jsontext.encode(value) if type(value) in (dict, list) else display(value)
    return None


def age_of(text: str, now: float) -> str:
    """Return how long ago a time in RFC 3339 was; ``<unknown>`` if empty, ``<invalid>`` if it does not parse."""
    if text in ("", "null"):
        return "<unknown>"
    try:
        then = parse_rfc3339(text)
    except GoTimeError:
        return "<invalid>"
    if then.is_zero:
        return "<unknown>"
    return human_duration(now - then.seconds - then.nanoseconds / 1e9)


def cell_text(cell: Cell) -> str:
    """Return a cell as the client prints it: numbers after a round trip through JSON, null as an empty text."""
    if cell is None:
        return ""
    if type(cell) is float:
        text = float_json(cell)
        if "." not in text and "e" not in text and _INT64_MIN <= int(text) < -_INT64_MIN:
            return str(int(text))  # also for -0
        return display(cell)
    return display(cell)
