r"""What `\d` says: which views there are, and which columns one has, or a field of one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from auditor.base.errors import SqlError
from auditor.columns.column_types import is_json

if TYPE_CHECKING:
    from auditor.sql.views import View, Views

_STEPS: Final = re.compile(r'"([^"]*)"|([^".]+)')
"""A name in quotes, or a part of one between dots."""
_NAMES: Final = {"string": "VARCHAR", "bool": "BOOLEAN", "double": "DOUBLE", "int64": "BIGINT", "int32": "INTEGER"}


def listed_views(views: Views, *, every: bool) -> tuple[list[dict[str, str]], int]:
    """Return the tables, and the kinds that have objects, or all kinds; and how many kinds were left out."""
    shown = [view for view in views.listed if every or view.has_rows is None or view.has_rows()]
    rows = [{"name": view.shown, "about": view.about} for view in shown]
    return rows, len(views.listed) - len(shown)


def columns_of(views: Views, name: str) -> list[dict[str, str]]:
    """Return the columns of a view, or what is below one of its columns.

    Args:
        views: The views.
        name: The name of one, in quotes or not; names of fields may follow it after dots.

    Raises:
        SqlError: There is no such view, or no such field.
    """
    view, path = _split(views, name.strip().rstrip(";").strip())
    fields: Any = view.schema
    for step in path:
        below = next((field for field in fields if field.name.lower() == step.lower()), None)
        if below is None:
            raise SqlError("", f"{view.shown} has no field {'.'.join(path)}; it ends before {step}")
        fields = _fields_below(below)
    return [{"column": field.name, "type": type_text(field)} for field in fields]


def _split(views: Views, text: str) -> tuple[View, list[str]]:
    """Return the view that a name begins with, and the fields after it."""
    steps = [in_quotes or plain for in_quotes, plain in _STEPS.findall(text)]
    for length in range(len(steps), 0, -1):
        view = views.find(".".join(steps[:length]))
        if view is not None:
            return view, steps[length:]
    raise views.missing(steps[0] if steps else text)


def _fields_below(field: Any) -> list[Any]:
    kind = field.type
    while pa.types.is_list(kind) or pa.types.is_map(kind):
        kind = kind.value_type if pa.types.is_list(kind) else kind.item_type
    return list(kind) if pa.types.is_struct(kind) else [field.with_type(kind)]


def type_text(field: Any) -> str:
    """Return the type of a column as DuckDB calls it; of a struct the names of its fields."""
    if is_json(field):
        return "VARCHAR, JSON text"
    return _of_type(field.type)


def _of_type(kind: Any) -> str:
    if pa.types.is_struct(kind):
        return f"STRUCT({', '.join(field.name for field in kind)})"
    if pa.types.is_list(kind):
        return f"{_of_type(kind.value_type)}[]"
    if pa.types.is_map(kind):
        return f"MAP({_of_type(kind.key_type)}, {_of_type(kind.item_type)})"
    if pa.types.is_timestamp(kind):
        return "TIMESTAMP WITH TIME ZONE"
    return _NAMES.get(str(kind), str(kind).upper())
