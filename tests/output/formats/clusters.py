"""Clusters that are drawn: dumps of custom resources, Secrets, and keys that cannot be read, for the tests of formats."""

from __future__ import annotations

import base64
import json
import random
from typing import TYPE_CHECKING, Any

from tests.causes.reports import definition, widget
from tests.output.formats.drawn import HOSTILE

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["SECRET_VALUES", "drawn_dump", "write_dump"]

SECRET_VALUES = ("hunter2-Passw0rd!", "s3cr3t-t0ken-9f8e7d", "bl0b-in-data-Zz")
"""Values of Secrets: no format may have one, in any form."""


def write_dump(path: Path, keys: dict[str, bytes], revision: int = 100) -> Path:
    """Write what `etcdctl get -w json` prints of some keys, and return the path."""
    kvs = [
        {
            "key": base64.b64encode(key.encode()).decode(),
            "value": base64.b64encode(value).decode(),
            "create_revision": 1,
            "mod_revision": number + 2,
            "version": 1,
        }
        for number, (key, value) in enumerate(sorted(keys.items()))
    ]
    path.write_text(json.dumps({"header": {"revision": revision}, "kvs": kvs, "count": len(kvs)}))
    return path


def drawn_dump(path: Path, seed: int, *, revision: int = 100, rules: bool = True) -> Path:
    """Write a drawn dump: valid and invalid objects, stuck deletions, torn and orphaned keys, and Secrets.

    Without validation rules every finding of an update is one of a create too.
    """
    rng = random.Random(seed)
    keys: dict[str, bytes] = {}
    for kind in ("Widget", "Gadget", "Gizmo")[: rng.randint(1, 3)]:
        keys |= _objects(rng, kind, rules=rules)
    if rng.random() < 0.5:
        for number in range(rng.randint(1, 4)):
            keys[f"/registry/gone.example.com/ghosts/team/g{number}"] = (
                b'{"kind":"Ghost","apiVersion":"gone.example.com/v1"}'
            )
    keys |= _secrets(rng)
    return write_dump(path, keys, revision)


def _objects(rng: random.Random, kind: str, *, rules: bool) -> dict[str, bytes]:
    """Return a definition and its objects by key."""
    properties: dict[str, Any] = {
        "size": {"type": "integer", "maximum": 5},
        "color": {"type": "string", "enum": ["red", "blue"]},
        "tags": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
        "text": {"type": "string", "maxLength": 20},
    }
    crd = definition(properties, kind=kind, required=["size"] if rng.random() < 0.5 else None)
    if rules:
        crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["x-kubernetes-validations"] = [
            {"rule": "!has(self.spec.size) || self.spec.size != 3", "message": "three is <b>not</b> allowed"}
        ]
    plural = crd["spec"]["names"]["plural"]
    keys = {f"/registry/apiextensions.k8s.io/customresourcedefinitions/{crd['metadata']['name']}": _text(crd)}
    for number in range(rng.randint(1, 25)):
        spec: dict[str, Any] = {"size": rng.choice([1, 1, 1, 3, 9, "x"])}
        if rng.random() < 0.3:
            spec["color"] = rng.choice(["red", "green", *HOSTILE[:6]])
        if rng.random() < 0.2:
            spec["tags"] = ["a", "b", "a"]
        if rng.random() < 0.2:
            spec["text"] = rng.choice(HOSTILE[6:16]) * 30
        if rng.random() < 0.1:
            spec["unknown"] = rng.choice(HOSTILE[:10])  # is pruned: an update loses it
        if rng.random() < 0.1:
            del spec["size"]
        more = {}
        if rng.random() < 0.15:
            more = {"deletionTimestamp": "2026-11-20T00:00:00Z", "deletionGracePeriodSeconds": 0, "finalizers": ["a/b"]}
        namespace = f"team-{rng.randint(0, 3)}"
        name = f"{plural}-{number}"
        one = widget(name, spec, namespace=namespace, kind=kind, **more)
        torn = rng.random() < 0.05
        keys[f"/registry/example.com/{plural}/{namespace}/{name}"] = _text(one)[: 40 if torn else None]
    return keys


def _secrets(rng: random.Random) -> dict[str, bytes]:
    """Return Secrets by key: whole ones, and some that no server can read."""
    keys = {}
    for number, value in enumerate(SECRET_VALUES):
        data = {"password": base64.b64encode(value.encode()).decode()}
        one: dict[str, Any] = {"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "data": data}
        one["metadata"] = {"name": f"secret-{number}", "namespace": "team-0", "uid": f"uid-secret-{number}"}
        form = rng.choice(["whole", "torn", "plain", "typed", "list", "numbers", "text"])
        if form == "plain":
            one["data"] = {"password": value}  # no base64
        elif form == "typed":
            one["data"] = value
        elif form == "list":
            one["data"] = [value]
        elif form == "numbers":
            one["metadata"]["labels"] = {"a": 5}
            one["type"] = {"a": value}
        elif form == "text":
            one["metadata"]["creationTimestamp"] = "yesterday"
        text = _text(one)
        keys[f"/registry/secrets/team-0/secret-{number}"] = text[:-5] if form == "torn" else text
    return keys


def _text(value: Any) -> bytes:
    return json.dumps(value).encode()
