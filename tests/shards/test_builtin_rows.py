"""Whether built-in objects are being deleted, and their controllers, in objects/."""

from __future__ import annotations

import base64
import gzip
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

from auditor.base.records import metadata_of
from auditor.builtin.protobuf import MAGIC, decode_stored
from auditor.program.proof_check import controller_of
from auditor.shards.builtin_rows import head_of
from tests.builtin.test_judged_rows import audit
from tests.builtin.test_quick import enveloped, field
from tests.builtin.test_stored import seeds
from tests.command import auditor
from tests.pipelines.nights.support import DELETING, definition

if TYPE_CHECKING:
    from collections.abc import Iterator

SNAPSHOT = Path(__file__).parents[1] / "printing" / "kubectl" / "snapshot.db.gz"
SINCE = b"\x08\x80\xc4\xd6\xc9\x06\x10\x00"
"""2026-01-01T00:00:00Z."""
OWNERS = [
    {"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "1"},
    {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-1", "uid": "2", "controller": True},
]


def _owner(kind: bytes, name: bytes, api_version: bytes, *, controls: bool) -> bytes:
    parts = field(0x0A, kind) + field(0x1A, name) + field(0x22, b"u") + field(0x2A, api_version)
    return field(0x6A, parts + (b"\x30\x01\x38\x01" if controls else b"\x30\x00"))


OWNED = _owner(b"Node", b"n", b"v1", controls=False) + _owner(b"ReplicaSet", b"web-1", b"apps/v1", controls=True)


def _pod(*more: bytes) -> bytes:
    metadata = field(0x0A, b"p") + field(0x12, b"") + field(0x1A, b"shop") + b"".join(more)
    return enveloped(b"v1", b"Pod", field(0x0A, metadata) + field(0x12, b"") + field(0x1A, b""))


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ([], (False, None)),
        ([field(0x4A, SINCE)], (True, None)),
        ([OWNED], (False, "ReplicaSet.apps/web-1")),
        ([field(0x4A, SINCE), OWNED], (True, "ReplicaSet.apps/web-1")),
        ([_owner(b"Node", b"n", b"v1", controls=False)], (False, None)),
        ([field(0x62, field(0x0A, b"note") + field(0x12, b"0\x01 \x4a\x08\x08"))], (False, None)),  # an annotation
    ],
)
def test_the_head_of_protobuf_is_that_of_the_decoded_object(
    more: list[bytes], expected: tuple[bool, str | None]
) -> None:
    data = _pod(*more)
    assert head_of(data) == expected == _decoded(data)


def _decoded(data: bytes) -> tuple[bool, str | None]:
    metadata = metadata_of(decode_stored(data))
    return metadata.get("deletionTimestamp") is not None, controller_of(metadata.get("ownerReferences"))


def test_the_heads_of_recorded_values_are_those_of_the_decoded_objects() -> None:
    forms = set()
    for seed in seeds():
        data = base64.b64decode(seed["value"])
        assert head_of(data) == _decoded(data), seed["into"]
        forms.add(data[:4] == MAGIC)
    assert forms == {True, False}


def _config_map(**metadata: Any) -> bytes:
    return json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "shop", **metadata}}).encode()


def _rows(tmp_path: Path, values: dict[str, bytes], *more: str) -> Iterator[tuple[bool | None, str | None]]:
    _, rows = audit(tmp_path, {f"/registry/{key}": value for key, value in values.items()}, "--fail-on", "never", *more)
    return ((rows[f"/registry/{key}"]["deleting"], rows[f"/registry/{key}"]["controller"]) for key in values)


def test_objects_have_them_for_built_in_kinds(tmp_path: Path) -> None:
    gone = definition()
    gone["metadata"] |= DELETING
    values = {
        "pods/shop/p": _pod(field(0x4A, SINCE), OWNED),
        "pods/shop/q": _pod(),
        "configmaps/shop/a": _config_map(name="a"),
        "configmaps/shop/b": _config_map(name="b", ownerReferences=OWNERS, **DELETING),
        "configmaps/shop/torn": b"{",
        "apiextensions.k8s.io/customresourcedefinitions/loafs.bakery.example.com": json.dumps(gone).encode(),
    }
    owner = "ReplicaSet.apps/web-1"
    expected = [(True, owner), (False, None), (False, None), (True, owner), (None, None), (True, None)]
    assert list(_rows(tmp_path, values)) == expected
    assert set(list(_rows(tmp_path, values, "--skip", "builtin", "--force"))[:5]) == {(None, None)}


def test_they_are_those_of_a_server(tmp_path: Path) -> None:

    snapshot = tmp_path / "snapshot.db"
    snapshot.write_bytes(gzip.decompress(SNAPSHOT.read_bytes()))
    auditor("audit", snapshot, "--report", tmp_path / "r", "--jobs", "1", "--fail-on", "never")
    rows = pq.read_table(tmp_path / "r" / "objects", columns=["kind", "name", "deleting"]).to_pylist()
    deleting = {(row["kind"], row["name"]) for row in rows if row["deleting"]}
    assert deleting == {("Namespace", "shop-a"), ("Pod", "db-0"), ("Widget", "red-one")}
