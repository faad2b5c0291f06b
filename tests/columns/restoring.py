"""From a row of typed columns back to the object that it was made of."""

from __future__ import annotations

import datetime
import json
import re
from typing import Any

from auditor.columns.column_types import Kind
from auditor.columns.exact import microseconds

EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
STEP = re.compile(r'\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]|\.?([A-Za-z_$][A-Za-z0-9_$-]*)')


class Moment(int):
    """A time in microseconds since 1970; how it was spelled is not known."""


def restored(columns, row):
    """Return the object of a row of all columns."""
    obj: dict[str, Any] = dict(columns._constants)
    for name, column in columns.fields.items():
        if row[name] is not None:
            obj[name] = _back(column, row[name])
    for path, value in json.loads(row["_rest"] or "{}").items():
        steps = steps_of(path)
        if len(steps) == 1 and steps[0] in columns._constants and value is None:
            del obj[steps[0]]
            continue
        at = obj
        for step in steps[:-1]:
            at = at[step]
        at[steps[-1]] = value
    return obj


def steps_of(path):
    """Return the steps of a path in `_rest`."""
    steps, at = [], 0
    while at < len(path):
        match = STEP.match(path, at)
        assert match is not None, path
        index, quoted, plain = match.groups()
        steps.append(int(index) if index else json.loads(quoted) if quoted else plain)
        at = match.end()
    return steps


def _back(column, value):
    if value is None:
        return None
    if column.kind is Kind.STRUCT:
        return {name: _back(below, value[name]) for name, below in column.fields if value[name] is not None}
    if column.kind is Kind.LIST:
        return [_back(column.item, item) for item in value]
    if column.kind is Kind.MAP:
        return {name: _back(column.item, item) for name, item in value}
    if column.kind is Kind.TIME:
        return Moment((value - EPOCH) // datetime.timedelta(microseconds=1))
    return json.loads(value) if column.kind is Kind.JSON else value


def same(got, exact) -> bool:
    """Whether a restored value is that of the exact read; true is not 1, and 1.0 is 1."""
    if type(got) is Moment:
        return got == microseconds(exact)
    if type(exact) is dict:
        return type(got) is dict and got.keys() == exact.keys() and all(same(got[key], exact[key]) for key in exact)
    if type(exact) is list:
        return type(got) is list and len(got) == len(exact) and all(map(same, got, exact))
    if type(exact) in (int, float):
        return type(got) in (int, float) and got == exact and str(got)[0] == str(exact)[0]  # -0.0 is not 0.0
    return type(got) is type(exact) and got == exact


def unlike(columns, objects):
    """Return the objects that a batch of them does not give back, each with what it gives."""
    from auditor.columns import TableRow

    batch = columns.batch([TableRow(key=str(number), object=obj) for number, obj in enumerate(objects)])
    batch.validate(full=True)
    pairs = zip(objects, batch.to_pylist(), strict=True)
    return [(obj, row) for obj, row in pairs if not same(restored(columns, row), _without_nulls(columns, obj))]


def _without_nulls(columns, obj):
    """Return an object without an apiVersion or kind of null, which counts as none."""
    return {name: value for name, value in obj.items() if value is not None or name not in columns._constants}
