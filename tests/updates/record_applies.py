"""Draws stored objects, asks a real server for a server-side apply of each, and writes its answers: apply_answers.json.

    python -m tests.updates.record_applies https://127.0.0.1:6443 http://127.0.0.1:2379 COUNT

The server must be one of the release that we reproduce, accept the bearer token ``token``, and have no objects of the
definitions' group; the second address is that of its etcd. Objects are written past the server, as an older definition
would have let them in. The apply is of one label. Where it fails, merge patches remove spec and status, and the apply
is tried again: their codes are in `patched` and `after`.
"""

from __future__ import annotations

import json
import random
import sys
import time
from pathlib import Path
from typing import Any

from tests.updates.record_preconditions import Server

ANSWERS = Path(__file__).with_name("apply_answers.json")
GROUP = "applies.example.com"

_STRING: dict[str, Any] = {"type": "string"}
_INTEGER: dict[str, Any] = {"type": "integer"}
_KEEP = {"x-kubernetes-preserve-unknown-fields": True}


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def _list(items: dict[str, Any], type_: str = "", *keys: str, **more: Any) -> dict[str, Any]:
    made = {"type": "array", "items": items, **more}
    return {**made, **({"x-kubernetes-list-type": type_} if type_ else {}),
            **({"x-kubernetes-list-map-keys": list(keys)} if keys else {})}  # fmt: skip


FIELDS: dict[str, dict[str, Any]] = {
    "text": _STRING,
    "size": _INTEGER,
    "small": {"type": "integer", "format": "int32"},
    "weight": {"type": "number"},
    "on": {"type": "boolean"},
    "time": {"type": "string", "format": "date-time"},
    "data": {"type": "string", "format": "byte"},
    "odd": {"type": "string", "format": "no-such-format"},
    "port": {"x-kubernetes-int-or-string": True},
    "ports": {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]},
    "free": {"type": "object", **_KEEP},
    "any": dict(_KEEP),
    "half": {**_object(a=_STRING, b=_object(c=_INTEGER)), **_KEEP},
    "loose": {"properties": {"a": _STRING}, **_KEEP},
    "empty": {"type": "object"},
    "pair": _object(a=_STRING, b=_INTEGER),
    "none": {"type": "string", "nullable": True},
    "noneMap": {**_object(a=_STRING), "nullable": True},
    "noneList": _list(_STRING, nullable=True),
    "preset": {"type": "string", "default": "x"},
    "presetSize": {"type": "integer", "default": 5, "nullable": True},
    "labels": {"type": "object", "additionalProperties": _STRING},
    "sizes": {"type": "object", "additionalProperties": _list(_INTEGER)},
    "whole": {"type": "object", "additionalProperties": True},
    "shut": {"type": "object", "additionalProperties": False},
    "atomicMap": {**_object(a=_STRING, b=_INTEGER), "x-kubernetes-map-type": "atomic"},
    "granular": {**_object(a=_STRING), "x-kubernetes-map-type": "granular"},
    "words": _list(_STRING),
    "atomicWords": _list(_STRING, "atomic"),
    "set": _list(_STRING, "set"),
    "sizeSet": _list(_INTEGER, "set"),
    "mapSet": _list({**_object(a=_STRING), "x-kubernetes-map-type": "atomic"}, "set"),
    "listSet": _list(_list(_STRING, "atomic"), "set"),
    "portSet": _list({"x-kubernetes-int-or-string": True}, "set"),
    "parts": _list({**_object(name=_STRING, size=_INTEGER), "required": ["name"]}, "map", "name"),
    "twoKeys": _list({**_object(a=_STRING, b=_INTEGER, c=_STRING), "required": ["a", "b"]}, "map", "b", "a"),
    "presetKey": _list(
        {**_object(a=_STRING, b={"type": "string", "default": "tcp"}), "required": ["a"]}, "map", "a", "b"
    ),
    "allPreset": _list(_object(a={"type": "string", "default": "q"}, c=_INTEGER), "map", "a"),
    "nest": _list(_object(words=_list(_STRING, "set"), in_=_list({**_object(k=_INTEGER), "required": ["k"]}, "map", "k"))),
    "template": {"type": "object", "x-kubernetes-embedded-resource": True, **_object(spec=_object(a=_STRING))},
    "anyTemplate": {"type": "object", "x-kubernetes-embedded-resource": True, **_KEEP},
    "keepWords": {**_list(_object(a=_STRING)), **_KEEP},
    "choice": {**_object(a=_STRING, b=_INTEGER), "anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
}  # fmt: skip
_PER_KIND = 6


def _definition(number: int, fields: list[str], *, has_status: bool, others: bool, keep: bool) -> dict[str, Any]:
    kind = f"Case{number}"
    names = {"plural": f"{kind.lower()}s", "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"}
    status = _object(phase=_STRING, seen=_INTEGER)
    schema = {
        **_object(spec=_object(**{name: FIELDS[name] for name in fields}), status=status),
        **(_KEEP if keep else {}),
    }
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    versions = [{**version, **({"subresources": {"status": {}}} if has_status else {})}]
    if others:  # one that is the same, and one that is not served and lacks a field
        less = _object(spec=_object(**{name: FIELDS[name] for name in fields[1:]}), status=status)
        other = {"name": "v1alpha1", "served": False, "storage": False, "schema": {"openAPIV3Schema": less}}
        versions += [{**version, "name": "v1beta1", "storage": False}, other]
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{names['plural']}.{GROUP}"},
        "spec": {"group": GROUP, "scope": "Namespaced", "names": names, "versions": versions},
    }


def drawn_definitions(draw: random.Random) -> list[dict[str, Any]]:
    """Return definitions that have each field of `FIELDS` at least twice."""
    made = []
    for _ in range(2):
        names = list(FIELDS)
        draw.shuffle(names)
        for begin in range(0, len(names), _PER_KIND):
            number = len(made)
            made.append(
                _definition(
                    number,
                    names[begin : begin + _PER_KIND],
                    has_status=number % 2 == 0,
                    others=number % 3 == 0,
                    keep=number % 5 == 4,
                )
            )
    return made


_SCALARS: list[Any] = ["a", "b", "1", "", 'q"ü\n', 0, 1, 7, -3, 1.5, 2.0, 1e21, 3000000000, True, False]


def _drawn(draw: random.Random, schema: dict[str, Any], wrong: float) -> Any:
    """Return a value for a schema; each part of it is of any other type with the probability `wrong`."""
    if draw.random() < wrong:
        return _anything(draw)
    type_ = schema.get("type")
    if schema.get("x-kubernetes-int-or-string"):
        return draw.choice([5, "http"])
    if type_ == "array":
        items = schema["items"]
        return [_drawn(draw, items, wrong) for _ in range(draw.choice([0, 1, 2, 3]))]
    if type_ == "object" or "properties" in schema:
        made = {name: _drawn(draw, below, wrong) for name, below in schema.get("properties", {}).items()
                if draw.random() < 0.7}  # fmt: skip
        if type(schema.get("additionalProperties")) is dict:
            made |= {key: _drawn(draw, schema["additionalProperties"], wrong) for key in draw.sample("xyz", 2)}
        elif draw.random() < 0.3:
            made["unknown"] = _anything(draw)
        if schema.get("x-kubernetes-embedded-resource"):
            made |= {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}
            if draw.random() < wrong * 2:
                made[draw.choice(["apiVersion", "kind", "metadata"])] = _anything(draw)
        return made
    return {"string": draw.choice(["a", "b"]), "integer": draw.choice([1, 2]), "number": draw.choice([1, 1.5]),
            "boolean": True}.get(type_, "x")  # fmt: skip


def _anything(draw: random.Random) -> Any:
    below = draw.choice(_SCALARS)
    return draw.choice(
        [below, below, below, None, [], [below], [None], [[below]], {}, {"a": below}, {"a": {"c": below}}, [{"a": below}],
         {"name": below, "size": "1"}, [below, below]]
    )  # fmt: skip


def drawn_object(draw: random.Random, definition: dict[str, Any], name: str) -> dict[str, Any]:
    """Return a stored object of a definition, some of its values of other types."""
    spec = definition["spec"]
    schema = spec["versions"][0]["schema"]["openAPIV3Schema"]
    version = draw.choice([version["name"] for version in spec["versions"] if version["served"]])
    api = f"{GROUP}/{version}"
    wrong = draw.choice([0, 0.1, 0.1, 0.3])
    fields = schema["properties"]["spec"]["properties"]
    chosen = draw.sample(list(fields), min(len(fields), draw.choice([1, 1, 2, 9])))
    metadata: dict[str, Any] = {
        "name": name,
        "namespace": "default",
        "uid": f"00000000-0000-0000-0000-{int(name[1:]):012d}",
        "creationTimestamp": "2026-01-02T03:04:05Z",
        "generation": 1,
    }
    if draw.random() < 0.2:
        metadata |= draw.choice([{"labels": {"a": "b"}}, {"finalizers": ["e.com/a", "e.com/a"]}, {"annotations": {"a": 5}},
                                 {"ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "p"}]}])  # fmt: skip
    if draw.random() < 0.6:
        known = [f"{GROUP}/{version['name']}" for version in spec["versions"]]
        written = draw.choice([*[api] * 4, *known * 2, f"{GROUP}/v0", "other.example.com/v1"])
        entry = {"manager": "flux", "operation": "Apply", "apiVersion": written, "fieldsType": "FieldsV1",
                 "time": "2026-01-02T03:04:05Z", "fieldsV1": {"f:spec": {}}}  # fmt: skip
        metadata["managedFields"] = [entry]
    made = {"apiVersion": api, "kind": spec["names"]["kind"], "metadata": metadata}
    made["spec"] = {field: _drawn(draw, fields[field], wrong) for field in chosen}
    if draw.random() < 0.04:
        made["spec"] = _anything(draw)
    if draw.random() < 0.3:
        made["status"] = _drawn(draw, schema["properties"]["status"], wrong)
    if draw.random() < 0.1:
        made["unknown"] = _anything(draw)
    return made


def asked(server: Server, definition: dict[str, Any], stored: dict[str, Any], version: str) -> dict[str, Any]:
    """Store an object and return the answers to an apply of a label."""
    plural, name = definition["spec"]["names"]["plural"], stored["metadata"]["name"]
    key = f"/registry/{GROUP}/{plural}/default/{name}"
    server.store(key, json.dumps(stored).encode())
    _, revision = server.stored(key) or (b"", 0)
    path = f"/apis/{GROUP}/{version}/namespaces/default/{plural}/{name}"
    wanted = {"apiVersion": f"{GROUP}/{version}", "kind": stored["kind"]}
    body = json.dumps({**wanted, "metadata": {"name": name, "labels": {"applied": "yes"}}}).encode()
    apply = (f"{path}?fieldManager=test&force=true", body, "application/apply-patch+yaml")
    code, text = server.ask("PATCH", *apply)
    case = {"key": key, "stored": stored, "revision": revision, "version": version, "code": code,
            "message": json.loads(text)["message"] if code >= 300 else ""}  # fmt: skip
    if code == 500:
        patch = (b'{"spec": null, "status": null}', "application/merge-patch+json")
        case["patched"] = [server.ask("PATCH", path + part, *patch)[0] for part in ("", "/status")]
        case["after"] = server.ask("PATCH", *apply)[0]
    return case


def main() -> None:
    """Install the definitions, ask, write, remove the definitions."""
    server = Server(sys.argv[1], sys.argv[2])
    count = int(sys.argv[3])
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    draw = random.Random(1)
    definitions, refused = [], {}
    for definition in drawn_definitions(draw):
        code, text = server.ask("POST", path, json.dumps(definition).encode())
        if code == 201:
            definitions.append(definition)
        else:
            refused[definition["metadata"]["name"]] = json.loads(text)["message"]
    for name, text in refused.items():
        sys.stderr.write(f"{name}: {text}\n")
    time.sleep(5)  # until they are served
    cases = []
    try:
        for number in range(count):
            definition = draw.choice(definitions)
            versions = [version["name"] for version in definition["spec"]["versions"] if version["served"]]
            cases.append(asked(server, definition, drawn_object(draw, definition, f"o{number}"), draw.choice(versions)))
    finally:
        server.remove(f"/registry/{GROUP}/", f"/registry/{GROUP}0")
        for definition in definitions:
            server.ask("DELETE", f"{path}/{definition['metadata']['name']}")
    lines = ",\n".join(json.dumps(case, ensure_ascii=False) for case in cases)
    drawn = ",\n".join(json.dumps(definition) for definition in definitions)
    ANSWERS.write_text(f'{{"definitions": [\n{drawn}\n],\n"cases": [\n{lines}\n]}}\n')


if __name__ == "__main__":
    main()
