"""The Arrow schemas of everything the auditor writes: the one place where columns are named and typed.

Strings that repeat often are dictionaries. Unknown is null, never 0. The only nested types are lists of strings and the
labels map, so that DuckDB, polars, pandas and Spark read the files directly.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa

TABLE_VERSION: Final = "1"
"""Version of the tables; it changes when a column changes its name, type or meaning."""

DICTIONARY: Final = pa.dictionary(pa.int32(), pa.string())
STRINGS: Final = pa.list_(pa.string())

OBJECTS: Final = pa.schema(
    [
        ("cluster", DICTIONARY),
        ("source", DICTIONARY),
        ("key", pa.string()),
        ("create_revision", pa.int64()),
        ("mod_revision", pa.int64()),
        ("key_version", pa.int64()),
        ("group", DICTIONARY),
        ("plural", DICTIONARY),
        ("kind", DICTIONARY),
        ("stored_version", DICTIONARY),
        ("audited_version", DICTIONARY),
        ("namespace", DICTIONARY),
        ("name", pa.string()),
        ("uid", pa.string()),
        ("controller", DICTIONARY),
        ("status", DICTIONARY),
        ("reason", pa.string()),
        ("impact", DICTIONARY),
        ("impacts", STRINGS),
        ("is_storage_version", pa.bool_()),
        ("deleting", pa.bool_()),
        ("findings", pa.int32()),
        ("pruned", STRINGS),
        ("defaulted", STRINGS),
        ("put_code", pa.int16()),
        ("label_code", pa.int16()),
        ("status_code", pa.int16()),
        ("size", pa.int64()),
        ("offset", pa.int64()),
        ("length", pa.int64()),
        ("value_hash", pa.string()),
    ]
)
"""objects/: one row a key and audited version, in key order."""

FINDINGS: Final = pa.schema(
    [
        ("cluster", DICTIONARY),
        ("source", DICTIONARY),
        ("key", pa.string()),
        ("mod_revision", pa.int64()),
        ("group", DICTIONARY),
        ("kind", DICTIONARY),
        ("stored_version", DICTIONARY),
        ("audited_version", DICTIONARY),
        ("namespace", DICTIONARY),
        ("name", pa.string()),
        ("deleting", pa.bool_()),
        ("request", DICTIONARY),
        ("check", DICTIONARY),
        ("field", pa.string()),
        ("type", DICTIONARY),
        ("bad_value", pa.string()),
        ("detail", pa.string()),
        ("message", pa.string()),
        ("verdict", DICTIONARY),
        ("guard_path", pa.string()),
        ("rule", pa.string()),
        ("last_manager", pa.string()),
        ("last_write", pa.timestamp("us", tz="UTC")),
    ]
)
"""findings/: one row a finding, in key order, then by field, type and message."""

COMPARED: Final = FINDINGS.append(pa.field("change", DICTIONARY))
"""findings/ and fixed/ of an audit with --diff: `change` is new, same or fixed."""

COMPARED_OBJECTS: Final = OBJECTS.append(pa.field("change", DICTIONARY))
"""objects/ of an audit with --diff: `change` is new, worse, better or same; null where that is not known."""

CHANGES: Final = pa.schema(
    [
        ("cluster", DICTIONARY),
        ("source", DICTIONARY),
        ("key", pa.string()),
        ("group", DICTIONARY),
        ("kind", DICTIONARY),
        ("stored_version", DICTIONARY),
        ("audited_version", DICTIONARY),
        ("namespace", DICTIONARY),
        ("name", pa.string()),
        ("change", DICTIONARY),
        ("path", pa.string()),
        ("old", pa.string()),
        ("new", pa.string()),
    ]
)
"""changes/ (upgrade): one row a path that an upgrade changes; old and new are JSON text."""

VERSIONS: Final = pa.schema(
    [
        ("cluster", DICTIONARY),
        ("crd", pa.string()),
        ("group", DICTIONARY),
        ("plural", DICTIONARY),
        ("kind", DICTIONARY),
        ("version", DICTIONARY),
        ("served", pa.bool_()),
        ("storage", pa.bool_()),
        ("in_stored_versions", pa.bool_()),
        ("stored_objects", pa.int64()),
    ]
)
"""versions.parquet: one row a CRD version; stored_objects is null where the dump cannot know (exports)."""

LIVE_KEYS: Final = pa.schema(
    [
        ("source", pa.int32()),
        ("key", pa.binary()),
        ("create_revision", pa.int64()),
        ("mod_revision", pa.int64()),
        ("key_version", pa.int64()),
        ("offset", pa.int64()),
        ("length", pa.int64()),
        ("encoding", pa.int8()),
    ]
)
"""The live table, an Arrow file that the plan writes and workers map: one row a live key, in key order.

`source` is the position of the dump among the inputs. `key` is the etcd key, null for exports (whose rows are in the
order of the dump). `offset` and `length` cut the value out of that source's mapped file; `encoding` is 0 for the bytes
themselves, 1 for base64 text (etcdctl -w json).
"""


def index_schema(fields: list[tuple[str, str]]) -> pa.Schema:
    """Return the schema of one index partition.

    Args:
        fields: (path, type) of each selectable field of the version, type being boolean, integer or string.
    """
    typed = {"boolean": pa.bool_(), "integer": pa.int64()}
    columns: list[tuple[str, pa.DataType]] = [
        ("cluster", DICTIONARY),
        ("namespace", pa.string()),
        ("name", pa.string()),
        ("uid", pa.string()),
        ("created", pa.timestamp("us", tz="UTC")),
        ("deleting", pa.bool_()),
        ("labels", pa.map_(pa.string(), pa.string())),
        ("mod_revision", pa.int64()),
        ("source", DICTIONARY),
        ("offset", pa.int64()),
        ("length", pa.int64()),
    ]
    for path, kind in fields:
        columns.append((f"field:{path}", pa.string()))
        columns.append((f"value:{path}", typed.get(kind, pa.string())))
    return pa.schema(columns)


def with_metadata(schema: pa.Schema, *, tool: str, release: str, crds: str) -> pa.Schema:
    """Return the schema with table version, tool version, Kubernetes release and CRD hash in its metadata."""
    return schema.with_metadata(
        {
            "auditor.table_version": TABLE_VERSION,
            "auditor.tool_version": tool,
            "auditor.kubernetes_release": release,
            "auditor.crds_sha256": crds,
        }
    )
