"""`etcdctl get --prefix ... -w json`: one JSON document, or several where the dump was paged.

Keys and values are base64; fields of value zero are left out. Values are decoded into a file that workers map.
Source: etcd api/etcdserverpb/rpc.proto (RangeResponse), etcdctl/ctlv3/command/printer.go.
"""

from __future__ import annotations

import base64
import binascii
import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from auditor.errors import DamagedDump
from auditor.sources.plan import DamageLog, SourcePlan
from auditor.tables import LIVE_KEYS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["open_etcdctl"]


def _documents(name: str, text: str) -> Iterator[dict[str, Any]]:
    decoder, at = json.JSONDecoder(), 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        try:
            document, at = decoder.raw_decode(text, at)
        except ValueError as error:
            raise DamagedDump(name, f"no JSON at byte {at}: {error}", "output of etcdctl -w json") from None
        if isinstance(document, dict):
            yield document


def _number(row: dict[str, Any], name: str) -> int | None:
    value = row.get(name)
    try:
        return int(value) if value is not None else None
    except (TypeError, ValueError):
        return None


def open_etcdctl(path: str, data_file: Path, *, number: int, workdir: Path, sha256: str) -> SourcePlan:
    """Write the live table of what etcdctl printed; arguments as `open_source`.

    Raises:
        DamagedDump: It is no such output, or was saved without values.
    """
    damage, notes = DamageLog(), []
    rows: list[tuple[bytes, int | None, int | None, int | None, int, int]] = []
    revision: int | None = None
    mapped = workdir / f"values-{number}"
    bare = 0
    with mapped.open("wb") as out:
        for document in _documents(path, data_file.read_text("utf-8", "replace")):
            revision = max(revision or 0, _number(document.get("header") or {}, "revision") or 0) or None
            listed = document.get("kvs") or []
            count = _number(document, "count") or 0
            if document.get("more") or count > len(listed):
                damage.add("end of dump", f"limited dump: {len(listed)} of {max(count, len(listed) + 1)} keys were saved")
            for at, row in enumerate(listed):
                try:
                    key = base64.b64decode(row["key"], validate=True)
                    value = base64.b64decode(row.get("value", ""), validate=True)
                except (KeyError, TypeError, AttributeError, binascii.Error) as error:
                    damage.add(f"entry {at}", f"no key and value in base64 ({error})")
                    continue
                bare += "value" not in row
                revisions = (_number(row, "create_revision"), _number(row, "mod_revision"), _number(row, "version"))
                rows.append((key, *revisions, out.tell(), len(value)))
                out.write(value)
    if rows and bare == len(rows):
        raise DamagedDump(
            path, "key-only dump: no values", "values too", 'repeat "etcdctl get /registry --prefix -w json"'
        )
    rows.sort(key=lambda row: row[0])
    unique = {row[0]: row for row in rows}
    if len(unique) < len(rows):
        notes.append(f"{len(rows) - len(unique)} keys stand more than once; the last of each counts")
    kept = list(unique.values())
    columns = list(zip(*kept, strict=True)) if kept else [()] * 6
    key, create, mod, version, offset, length = columns
    table = pa.Table.from_arrays(
        [
            pa.array([number] * len(kept), pa.int32()),
            pa.array(key, pa.binary()),
            *(pa.array(column, pa.int64()) for column in (create, mod, version, offset, length)),
            pa.array([0] * len(kept), pa.int8()),
        ],
        schema=LIVE_KEYS,
    )
    live = workdir / f"live-{number}.arrow"
    with pa.OSFile(str(live), "wb") as sink, pa.ipc.new_file(sink, LIVE_KEYS) as writer:
        writer.write_table(table)
    return SourcePlan(
        name=path,
        format="etcdctl-json",
        mapped=str(mapped),
        sha256=sha256,
        revision=revision,
        compacted_revision=None,
        is_export=False,
        live=str(live),
        rows=len(kept),
        damage=damage.records(),
        notes=tuple(notes),
    )
