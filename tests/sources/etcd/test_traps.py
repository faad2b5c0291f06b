"""What Kubernetes leaves in a store that readers fall over: each key is one row with what its server makes of it."""

from __future__ import annotations

import json
import struct
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

from auditor.plan.options import AuditOptions
from pipelines.run.audit import run_audit
from tests.sources.archives.writing import CRD, text
from tests.sources.bolt_writer import bolt_file, key_value, revision

if TYPE_CHECKING:
    from pathlib import Path

PREFIX = "/kubernetes.io"


def body(spec: str, name: str, namespace: str = "ns") -> bytes:
    metadata = (
        f'{{"name":"{name}","namespace":"{namespace}","uid":"u","creationTimestamp":"2026-01-01T00:00:00Z",'
        '"generation":1}'
    )
    return f'{{"apiVersion":"example.com/v1","kind":"Widget","metadata":{metadata},"spec":{spec}}}\n'.encode()


def cbor(*items: bytes) -> bytes:
    """Return a map whose keys and texts are byte strings, as the server writes it; 0xff or 0xfe is followed by CBOR."""
    head = bytes([0xA0 + len(items) // 2])
    return head + b"".join(
        one[1:] if one[:1] in {b"\xff", b"\xfe"} else bytes([0x40 + len(one)]) + one for one in items
    )


CBOR = b"\xd9\xd9\xf7" + cbor(
    b"apiVersion", b"example.com/v1", b"kind", b"Widget",
    b"metadata", b"\xfe" + cbor(b"name", b"cbor", b"namespace", b"ns"), b"spec", b"\xfe" + cbor(b"n", b"\xff\x07"),
)  # fmt: skip

TRAPS: dict[str, tuple[bytes, str, str | None]] = {
    "example.com/widgets/ns/plain": (body('{"n":1}', "plain"), "valid", None),
    "example.com/widgets/ns/another-name": (body('{"n":1}', "plain"), "valid", None),
    "example.com/widgets/elsewhere/plain": (body('{"n":1}', "plain"), "valid", None),
    "example.com/widgets/ns/key-twice": (body('{"n":"x","n":2}', "key-twice"), "valid", None),
    "example.com/widgets/ns/no-utf8": (body('{"s":"%%"}', "no-utf8").replace(b"%%", b"\xff\xfe"), "valid", None),
    "example.com/widgets/ns/no-utf8-long": (
        body('{"s":"%%"}', "no-utf8-long").replace(b"%%", b"\xff\xfe\xff\xfe"), "invalid", None,
    ),  # four bad bytes are four characters, one too many
    "example.com/widgets/ns/surrogate": (body('{"s":"\\ud800"}', "surrogate"), "valid", None),
    "example.com/widgets/ns/integer-64": (body('{"n":9223372036854775807}', "integer-64"), "valid", None),
    "example.com/widgets/ns/integer-65": (body('{"n":9223372036854775808}', "integer-65"), "invalid", None),
    "example.com/widgets/ns/float": (body('{"n":1.0}', "float"), "valid", None),
    "example.com/widgets/ns/trailing": (
        body('{"n":1}', "trailing") + b"x", "unreadable", "invalid character 'x' after top-level value",
    ),
    "example.com/widgets/ns/deep": (
        body('{"q":' + "[" * 10001 + "]" * 10001 + "}", "deep"), "unreadable", "invalid character '[' exceeded max depth",
    ),
    "example.com/widgets/ns/empty": (b"", "unreadable", "unexpected end of JSON input"),
    "example.com/widgets/ns/null": (b"null", "unreadable", "Object 'Kind' is missing in 'null'"),
    "example.com/widgets/ns/large": (
        body('{"n":1,"junk":"' + "x" * 1_572_000 + '"}', "large"), "valid", None,
    ),
    "example.com/widgets/ns/cbor": (CBOR, "valid", None),
    "example.com/widgets/ns/cbor-cut": (
        CBOR[:20], "unreadable", "unable to determine group/version/kind: unexpected EOF",
    ),
    "example.com/widgets/too-short": (
        body('{"n":1}', "too-short"), "other",
        "the key does not fit the scope: widgets.example.com wants namespace and name after the resource",
    ),
    "example.com/gadgets/ns/x": (body("{}", "x"), "orphaned", "no definition owns gadgets.example.com"),
    "gone.example.com/things/ns/x": (body("{}", "x"), "orphaned", "no definition owns things.gone.example.com"),
}  # fmt: skip


def definition() -> Any:
    crd = json.loads(json.dumps(CRD))
    properties = {"n": {"type": "integer"}, "s": {"type": "string", "maxLength": 3}}
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = {
        "type": "object",
        "properties": {"spec": {"type": "object", "properties": properties}},
    }
    crd["status"] = {
        "storedVersions": ["v1"],
        "acceptedNames": {**crd["spec"]["names"], "singular": "widget", "listKind": "WidgetList"},
        "conditions": [{"type": one, "status": "True"} for one in ("NamesAccepted", "Established")],
    }
    return crd


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    folder: Path = tmp_path_factory.mktemp("traps")
    keys = {f"{PREFIX}/{key}": value for key, (value, _, _) in TRAPS.items()}
    keys[f"{PREFIX}/apiextensions.k8s.io/customresourcedefinitions/widgets.example.com"] = text(definition())
    keys |= {"compact_rev_key": b"12", "/registry/example.com/widgets/ns/plain": body('{"n":1}', "plain")}
    items = {
        revision(main): key_value(key.encode(), main, main, 1, value)
        for main, (key, value) in enumerate(keys.items(), 2)
    }
    meta = {b"consistent_index": struct.pack(">Q", 9)}
    (folder / "snapshot.db").write_bytes(bolt_file({b"key": items, b"meta": meta}))
    _, manifest = run_audit(
        AuditOptions(dumps=(str(folder / "snapshot.db"),), report=str(folder / "report"), etcd_prefix=PREFIX, jobs=1)
    )
    assert manifest["counts"]["keys"] == len(keys)
    found = [row for part in (folder / "report/objects").glob("*.parquet") for row in pq.read_table(part).to_pylist()]
    assert len(found) == len(keys)
    return {row["key"]: row for row in found}


@pytest.mark.parametrize("key", TRAPS)
def test_each_key_is_a_row_with_what_its_server_says(key: str, rows: dict[str, dict[str, Any]]) -> None:
    _, status, reason = TRAPS[key]
    row = rows[f"{PREFIX}/{key}"]
    assert (row["status"], row["reason"]) == (status, reason)


def test_an_object_under_the_name_of_another_can_be_read_and_never_written(rows: dict[str, dict[str, Any]]) -> None:
    for key in ("ns/another-name", "elsewhere/plain"):
        assert rows[f"{PREFIX}/example.com/widgets/{key}"]["impact"] == "blocks-every-update"


def test_what_is_dropped_of_a_large_value_is_reported(rows: dict[str, dict[str, Any]]) -> None:
    row = rows[f"{PREFIX}/example.com/widgets/ns/large"]
    assert (row["impact"], row["size"]) == ("loses-data", len(TRAPS["example.com/widgets/ns/large"][0]))


def test_keys_elsewhere_are_rows_too(rows: dict[str, dict[str, Any]]) -> None:
    for key in ("compact_rev_key", "/registry/example.com/widgets/ns/plain"):
        assert rows[key]["status"] == "other"
