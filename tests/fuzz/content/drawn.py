"""Draws definitions and objects with odd values anywhere, and puts them into dumps of several formats."""

from __future__ import annotations

import base64
import copy
import io
import json
import random
import tarfile
from typing import Any

DEPTHS = (60, 150, 250, 600, 1100, 2000, 9000, 11000)
_TEXTS = (
    "", " ", "a", "A", 'a"b', "a'b", "a\\b", "a\nb", "a\x00b", "\x1b[2J", "../x", "a/b", "{}", "{x}", "%s", "é", "\ud800",
    ".", "..", ".a[", ".a.b", ".spec.a", ".metadata.name", "$", "{.a}", "[0]", "v1", "v2", "spec", "metadata", "status",
    "ws", "W", "ex.com", "ws.ex.com", "object", "string", "array", "integer", "date", "None", "Webhook", "Cluster",
    "Namespaced", "True", "self", "self.a", "oldSelf == self", "size(self) > 0", "1/0 > 0", "x" * 300,
    "__proto__", "__class__", "class", "def", "None", "lambda", "int-or-string", "date-time", "^a", "(a+)+$", "[",
    "2024-01-01T00:00:00Z", "0000-00-00T00:00:00Z", "99999-01-01T00:00:00Z", "5m", "1Gi", "apiextensions.k8s.io/v1",
)  # fmt: skip
_SCALARS: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2, 7, 1.5, 1e300, -0.0, 2**31, 2**53 + 1, 2**63 - 1, 2**63, -(2**63) - 1, 10**400),
    *([], {}, [None], [[]], [{}], {"": None}, {"a": None}, ["a"], ["a", "a"], {"a": {"a": 1}}, [1, "a"]),
)
_KEYS = (
    *(
        "nullable",
        "x-kubernetes-preserve-unknown-fields",
        "x-kubernetes-embedded-resource",
        "x-kubernetes-int-or-string",
    ),
    *("x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type", "x-kubernetes-validations"),
    *("default", "enum", "pattern", "format", "minimum", "maximum", "maxLength", "minItems", "uniqueItems", "required"),
    *("properties", "items", "additionalProperties", "allOf", "anyOf", "oneOf", "not", "type", "multipleOf", "example"),
    *(
        "$ref",
        "definitions",
        "exclusiveMinimum",
        "maxProperties",
        "description",
        "title",
        "externalDocs",
        "dependencies",
    ),
    *(
        "selectableFields",
        "additionalPrinterColumns",
        "subresources",
        "conversion",
        "preserveUnknownFields",
        "versions",
    ),
    *(
        "names",
        "categories",
        "shortNames",
        "deprecated",
        "storage",
        "served",
        "version",
        "validation",
        "status",
        "spec",
    ),
    *("apiVersion", "kind", "metadata", "managedFields", "ownerReferences", "finalizers", "labels", "annotations"),
    *("deletionTimestamp", "deletionGracePeriodSeconds", "generateName", "items", "continue", 'a"b', "", "a.b", "\x00"),
)
_FORMATS = ("ndjson", "list", "yaml", "etcdctl", "tar", "folder", "array")


class Deep(dict[str, Any]):
    """Stands for a value that is nested so deeply that it must be written as text."""

    def __init__(self, depth: int, opening: str, closing: str) -> None:
        super().__init__({f"@deep {depth} {opening} {closing}@": 1})


_NESTS = (("[", "]"), ('{"a":', "}"), ('{"type":"object","properties":{"a":', "}}"), ('{"items":', "}"))
_NESTED = (
    *_NESTS,
    *(('{"type":"array","items":', "}"), ('{"kind":"List","apiVersion":"v1","items":[', "]}"), ('{"not":', "}")),
    *(('{"allOf":[', "]}"), ('{"type":"object","additionalProperties":', "}")),
)


def written(value: Any) -> str:
    """Return a value as JSON text, with what is deep written out."""
    text = json.dumps(value)
    while (start := text.find('{"@deep ')) >= 0:
        end = text.index('@": 1}', start)
        _, depth, opening, closing = json.loads('"' + text[start + 2 : end] + '"').split(" ")
        nested = opening * int(depth) + "1" + closing * int(depth)
        text = text[:start] + nested + text[end + 6 :]
    return text


def definition(group: str = "ex.com", kind: str = "W", plural: str = "ws") -> dict[str, Any]:
    names = {
        "plural": plural,
        "singular": "w",
        "kind": kind,
        "listKind": f"{kind}List",
        "shortNames": ["x"],
        "categories": ["all"],
    }
    schema = {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "required": ["a"],
                "x-kubernetes-validations": [{"rule": "!has(self.n) || self.n >= 0", "message": "m"}],
                "properties": {
                    "a": {"type": "string", "maxLength": 5, "enum": ["x", "y", "zz"], "default": "x"},
                    "n": {"type": "integer", "minimum": 0},
                    "l": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items": {"type": "object", "required": ["k"], "properties": {"k": {"type": "string"}}}},
                    "m": {"type": "object", "additionalProperties": {"type": "string", "format": "date-time"}},
                    "p": {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "default": {}},
                    "i": {"x-kubernetes-int-or-string": True},
                },
            },
            "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        },
    }  # fmt: skip
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n"}},
        "selectableFields": [{"jsonPath": ".spec.a"}],
        "additionalPrinterColumns": [{"name": "N", "type": "integer", "jsonPath": ".spec.n"}],
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": names,
            "conversion": {"strategy": "None"},
            "versions": [version, {"name": "v2", "served": True, "storage": False, "schema": {"openAPIV3Schema": {**copy.deepcopy(schema), "description": "the second"}}}],
        },
        "status": {
            "conditions": [{"type": "Established", "status": "True"}],
            "acceptedNames": names,
            "storedVersions": ["v1"],
        },
    }  # fmt: skip


def resource(name: str, kind: str = "W", version: str = "v1") -> dict[str, Any]:
    return {
        "apiVersion": f"ex.com/{version}",
        "kind": kind,
        "metadata": {
            "name": name,
            "namespace": "d",
            "uid": "u",
            "generation": 1,
            "creationTimestamp": "2024-01-01T00:00:00Z",
            "labels": {"a": "b"},
        },
        "spec": {"a": "y", "n": 1, "l": [{"k": "1"}], "m": {"t": "2024-01-01T00:00:00Z"}, "p": {"q": [1, 2]}, "i": "5"},
    }


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Return each container with each of its keys."""
    out: list[tuple[Any, Any]] = []
    pending = [value]
    while pending:
        one = pending.pop()
        if isinstance(one, Deep):
            continue
        found = list(one.items()) if isinstance(one, dict) else list(enumerate(one)) if isinstance(one, list) else []
        for key, below in found:
            out.append((one, key))
            pending.append(below)
    return out


def _odd(draw: random.Random, *, deep: float) -> Any:
    chance = draw.random()
    if chance < deep:
        return Deep(draw.choice(DEPTHS), *draw.choice(_NESTED))
    if chance < 0.5:
        return draw.choice(_TEXTS)
    return copy.deepcopy(draw.choice(_SCALARS))


def broken(draw: random.Random, document: Any, *, deep: float = 0.1) -> Any:
    """Return a document with one to three things in it changed."""
    document = copy.deepcopy(document)
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        container, key = draw.choice(_places(document))
        what = draw.randrange(8)
        if what == 0:
            del container[key]
        elif what == 1 and isinstance(container, dict):
            container[draw.choice((*_TEXTS, *_KEYS))] = container.pop(key)
        elif what == 2 and isinstance(container, dict):
            container[draw.choice(_KEYS)] = _odd(draw, deep=deep)
        elif what == 3:
            container[key] = [container[key]] * draw.choice((1, 2))
        elif what == 4:
            container[key] = {draw.choice((*_TEXTS, *_KEYS)): container[key]}
        else:
            container[key] = _odd(draw, deep=deep)
    return document


class Drawn:
    """One case: documents, those of them that are sound, and a dump of them."""

    def __init__(self, seed: str) -> None:
        draw = random.Random(seed)
        self.draw = draw
        crd = definition()
        self.sound = [definition(kind="S", plural="ss"), resource("sound", kind="S"), resource("sound-2", kind="S")]
        if draw.random() < 0.65:
            crd = broken(draw, crd)
        objects = [resource(f"o{number}", version=draw.choice(("v1", "v1", "v2"))) for number in range(draw.choice((1, 3, 9)))]  # fmt: skip
        objects = [broken(draw, one) if draw.random() < 0.4 else one for one in objects]
        self.documents: list[Any] = [crd, *objects, *self.sound]
        self.form = draw.choice(_FORMATS)

    def dump(self) -> tuple[str, bytes | dict[str, bytes]]:
        """Return the name of the dump and its bytes; of a folder those of each file."""
        draw, documents = self.draw, self.documents
        texts = [written(one) for one in documents]
        if self.form == "list":
            return "d.json", ('{"apiVersion":"v1","kind":"List","items":[' + ",".join(texts) + "]}").encode()
        if self.form == "array":
            return "d.json", ("[" + ",".join(texts) + "]").encode()
        if self.form == "yaml":
            return "d.yaml", "\n---\n".join(texts).encode()
        if self.form == "etcdctl":
            return "d.json", self._etcdctl(texts)
        if self.form in ("tar", "folder"):
            files = {f"dump/{number:03d}.json": text.encode() for number, text in enumerate(texts)}
            if draw.random() < 0.3:
                files[f"dump/{draw.choice(('z.db', 'a.db', 'bad.json', 'bad.yaml', 'x.tar', 'b.gz'))}"] = draw.choice(
                    (b"", b"\0" * 4096, b"{", b"a: [", b"\x1f\x8b\x08\x00broken", b"SQLite format 3\0" + b"\1" * 5000)
                )
            if self.form == "folder":
                return "d", files
            return "d.tar", _tar(files)
        return "d.ndjson", "".join(text + "\n" for text in texts).encode()

    def _etcdctl(self, texts: list[str]) -> bytes:
        draw = self.draw
        kvs = []
        for document, text in zip(self.documents, texts, strict=True):
            metadata = document.get("metadata") if isinstance(document, dict) else None
            name = metadata.get("name") if isinstance(metadata, dict) else None
            is_definition = isinstance(document, dict) and document.get("kind") == "CustomResourceDefinition"
            kind = "ss" if document in self.sound else "ws"
            key = f"/registry/apiextensions.k8s.io/customresourcedefinitions/{name}" if is_definition else f"/registry/ex.com/{kind}/d/{name}"  # fmt: skip
            key_bytes = key.encode("utf-8", "replace")
            kv = {
                "key": base64.b64encode(key_bytes).decode(),
                "create_revision": len(kvs) + 2,
                "mod_revision": len(kvs) + 2,
                "version": 1,
                "value": base64.b64encode(text.encode("utf-8", "surrogatepass")).decode(),
            }
            kvs.append(kv)
        envelope: Any = {"header": {"cluster_id": 1, "member_id": 2, "revision": 40, "raft_term": 1}, "kvs": kvs, "count": len(kvs)}  # fmt: skip
        if draw.random() < 0.7:
            part = draw.choice((kvs, kvs, envelope["header"], envelope))
            part = draw.choice(part) if isinstance(part, list) else part
            key = draw.choice([one for one in part if one != "value"] or ["key"])
            if draw.random() < 0.8:
                part[key] = _odd(draw, deep=0.1)
            else:
                part.pop(key, None)
        return written(envelope).encode()


def _tar(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return out.getvalue()
