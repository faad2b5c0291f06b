"""Output formats that kubectl does not have: lines of JSON; CSV and Parquet of all fields, Markdown of indexed ones."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from auditor.base.errors import PlanError
from auditor.golang import jsontext
from auditor.printing.get.fetch import without_own_managed_fields
from auditor.printing.print_rows import DATA, FORMS, print_rows
from auditor.server.fleet_store import FleetStore
from pipelines.run.query_columns import columns_of, flat, typed

if TYPE_CHECKING:
    from collections.abc import Callable

    from auditor.base.records import JsonObject
    from auditor.printing.discovery import Resource
    from auditor.server.fleet_store import AnyStore
    from pipelines.run.objects.query_options import QueryOptions


_OF_KUBECTL = ("table", "wide", "json", "yaml")
Pairs = list[tuple["Resource", "JsonObject"]]
_COLUMNS = ("apiVersion", "kind", "namespace", "name", "uid", "created", "resourceVersion", "labels")


def extra_formats(
    store: AnyStore, options: QueryOptions, out: Callable[[str], None]
) -> dict[str, Callable[[Pairs], Callable[[], None]]]:
    """Return by name of the format a function that takes objects and returns a function that prints them."""
    return {
        **{form: partial(_printed, store, options, out, form) for form in FORMS if form not in _OF_KUBECTL},
        "parquet": lambda pairs: _parquet(store, pairs, options),
    }


def _printed(
    store: AnyStore, options: QueryOptions, out: Callable[[str], None], form: str, pairs: Pairs
) -> Callable[[], None]:
    if form in DATA:
        shown = (obj if options.get.show_managed_fields else without_own_managed_fields(obj) for _, obj in pairs)
        parts = print_rows(list(shown), (), form, encode=jsontext.encode)
    else:
        labels, rows = _rows(store, pairs)
        columns: dict[str, Any] = {
            **{name: name for name in (*_leading(store), *_COLUMNS)},
            "labels": lambda row: jsontext.encode(row["labels"]) if row["labels"] else "",
        }
        columns |= {f"field:{name}" if name in columns else name: f"field:{name}" for name in labels}
        if form == "csv":
            columns |= _flat_columns(store, pairs, rows, columns)
        parts = print_rows(rows, columns, form, headers=options.get.headers)
    text = "".join(parts)
    return lambda: out(text)


def _rows(store: AnyStore, pairs: Pairs) -> tuple[list[str], list[dict[str, Any]]]:
    """Return the labels of all kinds, and one row for each object."""
    labels: dict[str, None] = {}
    rows = []
    for resource, obj in pairs:
        metadata = obj.get("metadata")
        metadata = metadata if type(metadata) is dict else {}
        seen = store.fields_of(resource, obj)
        own = {name: value for name, value in seen.items() if not name.startswith("metadata.")}
        labels |= dict.fromkeys(own)
        rows.append(
            {
                **({"cluster": store.cluster_of(obj)} if isinstance(store, FleetStore) else {}),
                "apiVersion": obj.get("apiVersion"),
                "kind": obj.get("kind"),
                "created": metadata.get("creationTimestamp"),
                **{name: metadata.get(name) for name in ("namespace", "name", "uid", "resourceVersion", "labels")},
                **{f"field:{name}": value for name, value in own.items()},
            }
        )
    return list(labels), rows


def _flat_columns(
    store: AnyStore, pairs: Pairs, rows: list[dict[str, Any]], known: dict[str, Any]
) -> dict[str, Callable[[dict[str, Any]], str]]:
    """Add the leaves of objects of one kind to their rows; return the columns of those that any object has."""
    kind = columns_of(store, [resource for resource, _ in pairs])
    if kind is None:
        return {}
    for row, (_, obj) in zip(rows, pairs, strict=True):
        row["leaves"] = flat(kind, obj)
    names = sorted({name for row in rows for name in row["leaves"]})
    return {name: lambda row, name=name: row["leaves"].get(name, "") for name in names if name not in known}  # type: ignore[misc]


def _leading(store: AnyStore) -> tuple[str, ...]:
    """Return the columns that a fleet has before the others."""
    return ("cluster",) if isinstance(store, FleetStore) else ()


def _parquet(store: AnyStore, pairs: Pairs, options: QueryOptions) -> Callable[[], None]:
    labels, rows = _rows(store, pairs)
    columns: dict[str, pa.Array] = {
        name: pa.array([row[name] for row in rows], pa.string())
        for name in (*_leading(store), *_COLUMNS)
        if name != "labels"
    }
    columns["created"] = columns["created"].cast(pa.timestamp("us", tz="UTC"))
    columns["labels"] = pa.array(
        [list((row["labels"] or {}).items()) for row in rows], pa.map_(pa.string(), pa.string())
    )
    for label in labels:
        columns[f"field:{label}"] = pa.array([row.get(f"field:{label}") for row in rows], pa.string())
    if (kind := columns_of(store, [resource for resource, _ in pairs])) is not None:
        fields = typed(kind, [obj for _, obj in pairs]).items()
        columns |= {f".{name}" if name in columns else name: column for name, column in fields}
    table = pa.table(columns)
    return lambda: write_parquet_answer(table, options.output.partition("=")[2])


def write_parquet_answer(table: pa.Table, path: str) -> None:
    """Write an answer as a Parquet file, or to standard output if the path is empty.

    Raises:
        PlanError: Standard output is a terminal.
    """
    if path:
        pq.write_table(table, Path(path), compression="zstd")
        return
    if sys.stdout.isatty():
        raise PlanError("-o parquet", "standard output is a terminal", "a file or pipe", "use -o parquet=FILE")
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    sys.stdout.flush()
    sys.stdout.buffer.write(sink.getvalue().to_pybytes())
