"""Definitions, objects and dumps whose every name and text attacks a terminal."""

from __future__ import annotations

import base64
import io
import json
import tarfile
from typing import TYPE_CHECKING, Any

from tests.fuzz.hostile.texts import ATTACK
from tests.sources.bolt_writer import History, bolt_file, etcd_buckets, snapshot

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["GROUP", "definition", "definitions", "etcd_snapshot", "hostile_folder", "kind_of", "objects"]

GROUP = "ex.com"
KEYS = f"/registry/{GROUP}/ws/d/"


def definition(
    schema: dict[str, Any], *, plural: str = "ws", kind: str = "W", group: str = GROUP, version: str = "v1", **more: Any
) -> dict[str, Any]:
    """Return a definition of one version that is established."""
    names = {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"}
    one = {
        "name": version,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        **more,
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}", "uid": "u", "generation": 1},
        "spec": {"group": group, "scope": "Namespaced", "names": names, "versions": [one]},
        "status": {
            "conditions": [{"type": "Established", "status": "True"}, {"type": "NamesAccepted", "status": "True"}],
            "acceptedNames": names,
            "storedVersions": [version],
        },
    }


def _schema(text: str) -> dict[str, Any]:
    rule = {"rule": "self.a.size() < 3", "messageExpression": "'seen: ' + self.a"}
    properties = {
        "a": {"type": "string", "maxLength": 3, "pattern": f"^[a-z]*$|{text[:1]}"},
        "e": {"type": "string", "enum": ["one", text]},
        text: {"type": "integer"},
        "l": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
        "f": {"type": "string", "format": text},
    }
    spec = {
        "type": "object",
        "properties": properties,
        "required": ["a", f"r{text}"],
        "x-kubernetes-validations": [rule],
    }
    return {"type": "object", "properties": {"spec": spec}}


def kind_of(text: str) -> dict[str, Any]:
    """Return a definition that is used, with a text wherever it has one."""
    columns = [
        {"name": f"Column {text}", "type": "string", "jsonPath": ".spec.a"},
        {"name": "Other", "type": "string", "jsonPath": ".spec.e", "description": text},
    ]
    made = definition(_schema(text), additionalPrinterColumns=columns, selectableFields=[{"jsonPath": ".spec.a"}])
    made["metadata"]["annotations"] = {"note": text, "gates.example.com/gates": text}
    made["spec"]["names"]["shortNames"] = ["w", text]
    made["spec"]["names"]["categories"] = [text]
    return made


def definitions(text: str = ATTACK) -> list[dict[str, Any]]:
    """Return definitions with a text in the place of each name."""
    plain = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return [
        kind_of(text),
        definition(plain, plural="ks", kind=text),
        definition(plain, plural=text, kind="P"),
        definition(plain, plural="gs", kind="G", group=f"{text}.com"),
        definition(plain, plural="vs", kind="V", version=text),
        definition({"type": text, "properties": {text: {"type": text}}}, plural="bs", kind="B"),
    ]


def objects(text: str = ATTACK) -> list[dict[str, Any]]:
    """Return objects with a text in the place of each name and value."""
    spec = {"a": text, "e": text, text: text, "l": [text, text], "f": text, "unknown" + text: 1}
    fine = {"a": "ok", "e": "one", f"r{text}": 1}
    metadata = {
        "namespace": "d",
        "uid": "u",
        "creationTimestamp": "2024-01-01T00:00:00Z",
        "labels": {"app": "web", "l": text, text: "x"},
        "annotations": {text: text},
        "managedFields": [{"manager": text, "operation": "Update", "time": "2024-01-01T00:00:00Z", "apiVersion": text}],
        "finalizers": [text],
        "deletionTimestamp": "2024-01-02T00:00:00Z",
    }
    out = [
        {
            "apiVersion": f"{GROUP}/v1",
            "kind": "W",
            "metadata": {"name": "fine", "namespace": "d", "uid": "u"},
            "spec": fine,
        },
        {"apiVersion": f"{GROUP}/v1", "kind": "W", "metadata": {**metadata, "name": "bad"}, "spec": spec},
        {"apiVersion": f"{GROUP}/v1", "kind": "W", "metadata": {**metadata, "name": text}, "spec": spec},
        {
            "apiVersion": f"{GROUP}/v1",
            "kind": "W",
            "metadata": {**metadata, "name": "n", "namespace": text},
            "spec": fine,
        },
        {"apiVersion": f"{GROUP}/{text}", "kind": "W", "metadata": {**metadata, "name": "other"}, "spec": spec},
        {"apiVersion": f"{GROUP}/v1", "kind": text, "metadata": {**metadata, "name": "k"}},
        {"apiVersion": f"{text}.com/v1", "kind": "G", "metadata": {**metadata, "name": "g"}},
        {"apiVersion": f"{GROUP}/{text}", "kind": "V", "metadata": {**metadata, "name": "v"}},
        {"apiVersion": f"{GROUP}/v1", "kind": "P", "metadata": {**metadata, "name": "p"}},
        {"apiVersion": text, "kind": text, "metadata": {**metadata, "name": "lost"}},
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {**metadata, "name": text},
            "data": {text: "eA=="},
            "type": text,
        },
    ]
    return json.loads(json.dumps(out))  # type: ignore[no-any-return]


def stored(text: str = ATTACK) -> dict[bytes, bytes]:
    """Return keys and values of etcd, some of them torn, below keys that hold the text."""
    rows = {
        f"/registry/apiextensions.k8s.io/customresourcedefinitions/{one['metadata']['name']}".encode(): one
        for one in definitions(text)
    }
    for one in objects(text):
        metadata = one["metadata"]
        rows[f"{KEYS}{metadata['name']}".encode()] = one
    values = {key: json.dumps(one).encode() for key, one in rows.items()}
    values[f"{KEYS}torn{text}".encode()] = b'{"kind":"' + text.encode()[:40]
    values[f"{KEYS}a/b{text}".encode()] = b"{}"
    values[f"/registry/{text}".encode()] = text.encode()
    values[f"/registry/pods/{text}/{text}".encode()] = b"k8s\0" + text.encode()
    values[f"/registry/gone.example.com/{text}/d/x".encode()] = b"{}"
    values[text.encode()] = b"x"
    values[b"/registry/secrets/d/sealed"] = b"k8s:enc:aescbc:v1:" + text.encode() + b":" + bytes(48)
    return values


def etcd_snapshot(path: Path, values: dict[bytes, bytes]) -> Path:
    """Write a snapshot of these keys, all written twice."""
    history = History()
    for _ in range(2):
        for key, value in values.items():
            history.put(key, value)
    path.write_bytes(snapshot(bolt_file(etcd_buckets(history.rows))))
    return path


def etcdctl_dump(path: Path, values: dict[bytes, bytes]) -> Path:
    """Write what `etcdctl get --prefix / -w json` prints."""
    rows = [
        {
            "key": base64.b64encode(key).decode(),
            "value": base64.b64encode(value).decode(),
            "create_revision": 5,
            "mod_revision": 7,
            "version": 1,
        }
        for key, value in sorted(values.items())
    ]
    path.write_text(json.dumps({"header": {"revision": 9}, "kvs": rows, "count": len(rows)}))
    return path


def hostile_folder(folder: Path, text: str = ATTACK) -> dict[str, Path]:
    """Write inputs of many forms to a folder; their file names attack too."""
    name = text.replace("/", "_")[:60]
    crds = folder / f"crds {name}.json"
    crds.write_text("\n".join(map(json.dumps, definitions(text))))
    export = folder / f"export {name}.ndjson"
    export.write_text("\n".join(map(json.dumps, [*definitions(text), *objects(text)])))
    manifest = folder / f"manifest {name}.json"
    manifest.write_text("\n".join(map(json.dumps, objects(text)[:9])))
    archive = folder / f"archive {name}.tar"
    with tarfile.open(archive, "w") as out:
        for at, one in enumerate([*definitions(text), *objects(text), text]):
            data = json.dumps(one).encode() if at % 7 else b'{"apiVersion": "' + text.encode()
            member = tarfile.TarInfo(f"dir/{at} {name}.json")
            member.size = len(data)
            out.addfile(member, io.BytesIO(data))
    garbage = folder / f"garbage {name}.bin"
    garbage.write_bytes(b"\x89" + text.encode())
    new = folder / f"new {name}.json"
    changed = definitions(text)[:5]
    changed[0]["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"].pop("e")
    new.write_text("\n".join(map(json.dumps, changed)))
    return {
        "crds": crds,
        "new": new,
        "export": export,
        "manifest": manifest,
        "archive": archive,
        "garbage": garbage,
        "snapshot": etcd_snapshot(folder / f"snapshot {name}.db", stored(text)),
        "etcdctl": etcdctl_dump(folder / f"etcdctl {name}.json", stored(text)),
    }
