"""Draws PUTs of objects and of their status, asks a real server, and writes its answers: precondition_answers.json.

    python -m tests.updates.record_preconditions https://127.0.0.1:6443 http://127.0.0.1:2379 COUNT [KEEP]

The server must be one of the release that we reproduce, accept the bearer token ``token``, and have no objects of the
definitions' group; the second address is that of its etcd. COUNT answers are compared with ours, and the first KEEP
(80) of them written. Each request changes what the next one finds; so the stored value is recorded with it.
"""

from __future__ import annotations

import base64
import json
import random
import ssl
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from auditor.crds.catalog import CrdCatalog
from auditor.updates.request import try_update

ANSWERS = Path(__file__).with_name("precondition_answers.json")
GROUP = "preconditions.example.com"
DRAWN_TIME = "2026-01-02T03:04:05Z"


def _version(name: str, spec: dict[str, Any], *, status: bool, storage: bool = True, served: bool = True) -> Any:
    state = {
        "type": "object",
        "properties": {"phase": {"type": "string", "enum": ["Up", "Down"]}, "seen": {"type": "integer"}},
    }
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": spec}, "status": state}}
    version = {"name": name, "served": served, "storage": storage, "schema": {"openAPIV3Schema": schema}}
    return {**version, "subresources": {"status": {}}} if status else version


def _definition(plural: str, kind: str, scope: str, versions: list[Any]) -> dict[str, Any]:
    names = {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {"group": GROUP, "scope": scope, "names": names, "versions": versions},
    }


_SPEC: dict[str, Any] = {
    "size": {"type": "integer", "maximum": 9},
    "name": {"type": "string", "maxLength": 5, "default": "ab"},
    "parts": {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["k"],
        "items": {"type": "object", "required": ["k"], "properties": {"k": {"type": "string"}}},
    },
    "once": {"type": "string", "x-kubernetes-validations": [{"rule": "self == oldSelf", "message": "is immutable"}]},
}
DEFINITIONS = [
    _definition("tops", "Top", "Namespaced", [_version("v1", _SPEC, status=True)]),
    _definition("boxes", "Box", "Cluster", [_version("v1", _SPEC, status=False)]),
    _definition(
        "twins",
        "Twin",
        "Namespaced",
        [
            _version("v1", _SPEC, status=True),
            _version("v1beta1", _SPEC, status=False, storage=False),
            _version("v0", _SPEC, status=True, storage=False, served=False),
        ],
    ),
]


class Server:
    """A real server and its etcd."""

    def __init__(self, api: str, etcd: str) -> None:
        self.api = api
        self.etcd = etcd
        self._tls = ssl.create_default_context()
        self._tls.check_hostname = False
        self._tls.verify_mode = ssl.CERT_NONE

    def ask(
        self, method: str, path: str, body: bytes | None = None, content: str = "application/json"
    ) -> tuple[int, str]:
        """Return the code and the text of an answer."""
        request = urllib.request.Request(self.api + path, data=body, method=method)
        request.add_header("Authorization", "Bearer token")
        request.add_header("Content-Type", content)
        try:
            with urllib.request.urlopen(request, context=self._tls) as response:
                return response.status, response.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def _etcd(self, call: str, body: dict[str, str]) -> Any:
        with urllib.request.urlopen(f"{self.etcd}/v3/kv/{call}", data=json.dumps(body).encode()) as response:
            return json.load(response)

    def stored(self, key: str) -> tuple[bytes, int] | None:
        """Return the value of a key with its revision."""
        found = self._etcd("range", {"key": _base64(key.encode())}).get("kvs", [])
        return (base64.b64decode(found[0].get("value", "")), int(found[0]["mod_revision"])) if found else None

    def remove(self, key: str, end: str = "") -> None:
        """Remove a key, or all from it to another one, past the server."""
        self._etcd(
            "deleterange", {"key": _base64(key.encode()), **({"range_end": _base64(end.encode())} if end else {})}
        )

    def store(self, key: str, value: bytes) -> None:
        """Write a value past the server."""
        self._etcd("put", {"key": _base64(key.encode()), "value": _base64(value)})


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


# -- drawing -------------------------------------------------------------------------------------------------------

_ABSENT = object()


def _drawn_versions(draw: random.Random, revision: int) -> Any:
    return draw.choice(
        [
            *[str(revision)] * 8,
            *[_ABSENT, "", "0", str(revision - 1), str(revision + 1), f"0{revision}", "00", f"+{revision}"],
            *[
                "abc",
                "-1",
                "1.5",
                str(2**64),
                str(2**64 - 1),
                f" {revision}",
                "0x1f",
                "ä\n",
                "1_0",
                revision,
                None,
                True,
            ],
        ]
    )


def _drawn_metadata(draw: random.Random, metadata: dict[str, Any], revision: int) -> None:
    _assign(metadata, "resourceVersion", _drawn_versions(draw, revision))
    other = "11111111-2222-3333-4444-555555555555"
    if draw.random() < 0.4:
        _assign(metadata, "uid", draw.choice([_ABSENT, "", other, "x", other, 5, None]))
    if draw.random() < 0.1:
        _assign(metadata, "name", draw.choice([_ABSENT, "", "other", 5, None]))
    if draw.random() < 0.1:
        _assign(metadata, "namespace", draw.choice([_ABSENT, "", "other", "default", 5, None]))
    for _ in range(draw.choice([0, 0, 0, 1, 2])):
        name, value = draw.choice(
            [
                ("labels", {"a": "b"}),
                ("labels", {"a": "-"}),
                ("labels", {"a": 5}),
                ("annotations", {"UPPER/": ""}),
                ("annotations", []),
                ("finalizers", ["example.com/f"]),
                ("finalizers", ["f"]),
                ("creationTimestamp", DRAWN_TIME),
                ("creationTimestamp", "yesterday"),
                ("deletionTimestamp", DRAWN_TIME),
                ("deletionGracePeriodSeconds", 5),
                ("generation", 77),
                ("generation", "7"),
                ("selfLink", "/x"),
                ("unknown", {}),
                ("managedFields", []),
                ("generateName", "x-"),
                ("ownerReferences", [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": ""}]),
                ("ownerReferences", [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}] * 2),
            ]
        )
        metadata[name] = value


def _assign(target: dict[str, Any], name: str, value: Any) -> None:
    if value is _ABSENT:
        target.pop(name, None)
    else:
        target[name] = value


def _drawn_body(draw: random.Random, shown: dict[str, Any], revision: int) -> bytes:
    body = json.loads(json.dumps(shown))
    _drawn_metadata(draw, body["metadata"], revision)
    if draw.random() < 0.12:
        version = draw.choice(["v1", "v1beta1", "v0", "v9"])
        api = draw.choice([_ABSENT, "", f"{GROUP}/{version}", f"{GROUP}/{version}", version, "other.io/v1", "a/b/c", 5])
        _assign(body, "apiVersion", api)
    if draw.random() < 0.1:
        _assign(body, "kind", draw.choice([_ABSENT, "", "Other", "top", 5, None]))
    spec, status = body.setdefault("spec", {}), body.setdefault("status", {})
    for _ in range(draw.choice([0, 0, 1, 1, 2])):
        name, value = draw.choice(
            [
                ("size", draw.randrange(9)),
                ("size", 10),
                ("size", "5"),
                ("name", "abcdef"),
                ("name", None),
                ("once", draw.choice("xyz")),
                ("parts", [{"k": "a"}, {"k": "a"}]),
                ("parts", [{}]),
                ("unknown", 1),
            ]
        )
        spec[name] = value
    for _ in range(draw.choice([0, 0, 1])):
        name, value = draw.choice([("phase", "Up"), ("phase", "Sideways"), ("seen", draw.randrange(5)), ("seen", "x")])
        status[name] = value
    if draw.random() < 0.03:
        name = draw.choice(["metadata", "spec", "status"])
        _assign(body, name, draw.choice([_ABSENT, None, 5, [], "x"]))
    data = json.dumps(body).encode()
    if draw.random() < 0.03:
        data = draw.choice([data[: len(data) // 2], b"", b"[]", b"null", b"5", b"{}", b"{", data + b"}", b"kind: Top"])
    return data


def drawn_cases(server: Server, count: int, seed: int = 1) -> list[dict[str, Any]]:
    """Ask the server `count` drawn requests; return them with its answers."""
    draw = random.Random(seed)
    cases = []
    while len(cases) < count:
        definition = draw.choice(DEFINITIONS)
        spec = definition["spec"]
        plural, is_namespaced = spec["names"]["plural"], spec["scope"] == "Namespaced"
        place = f"default/{draw.choice('abc')}" if is_namespaced else draw.choice("abc")
        key = f"/registry/{GROUP}/{plural}/{place}"
        version = draw.choice([version["name"] for version in spec["versions"] if version["served"]])
        base = f"/apis/{GROUP}/{version}" + ("/namespaces/default" if is_namespaced else "")
        path = f"{base}/{plural}/{place.rpartition('/')[2]}"
        if draw.random() < 0.02:
            value = server.stored(key)
            if value is not None:
                server.store(key, draw.choice([value[0][:-20], value[0].replace(b'"kind"', b'"kynd"'), b""]))
        found = server.stored(key)
        code, shown = server.ask("GET", path)
        if found is None or code != 200:
            if found is not None and draw.random() < 0.5:
                shown = json.dumps(_first(definition, place, version, found[1]))
            else:
                server.remove(key)
                new = _first(definition, place, version, 0)
                code, text = server.ask("POST", path.rpartition("/")[0], json.dumps(new).encode())
                assert code in {201, 409}, text
                continue
        assert found is not None
        body = _drawn_body(draw, json.loads(shown), found[1])
        request = draw.choice(["put", "status"])
        answer, text = server.ask("PUT", path + ("/status" if request == "status" else ""), body)
        message = json.loads(text)["message"] if answer >= 300 else ""
        cases.append(
            {
                "key": key,
                "stored": found[0].decode(),
                "revision": found[1],
                "version": version,
                "request": request,
                "body": body.decode(),
                "code": answer,
                "message": message,
            }
        )
    return cases


def _first(definition: dict[str, Any], place: str, version: str, revision: int) -> dict[str, Any]:
    metadata = {"name": place.rpartition("/")[2], "labels": {"x": "y"}}
    if "/" in place:
        metadata["namespace"] = "default"
    if revision:
        metadata["resourceVersion"] = str(revision)
    kind = definition["spec"]["names"]["kind"]
    spec = {"size": 3, "once": "x", "parts": [{"k": "a"}]}
    return {"apiVersion": f"{GROUP}/{version}", "kind": kind, "metadata": metadata, "spec": spec}


# -- comparing -----------------------------------------------------------------------------------------------------


def catalog() -> CrdCatalog:
    """Return the definitions as a catalog."""
    return CrdCatalog.from_documents(DEFINITIONS)


def ours(definitions: CrdCatalog, case: dict[str, Any]) -> tuple[int, str]:
    """Return our answer to a recorded request."""
    tried = try_update(
        definitions,
        case["stored"].encode(),
        key=case["key"],
        revision=case["revision"],
        new=case["body"].encode(),
        version=case["version"],
        request=case["request"],
    )
    return tried.code, tried.message


def main() -> None:
    """Install the definitions, ask, compare, write, remove the definitions."""
    server = Server(sys.argv[1], sys.argv[2])
    count, kept = int(sys.argv[3]), int(sys.argv[4]) if len(sys.argv) > 4 else 80
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    for definition in DEFINITIONS:
        code, text = server.ask("POST", path, json.dumps(definition).encode())
        assert code == 201, text
    time.sleep(5)  # until they are served
    try:
        cases = drawn_cases(server, count)
    finally:
        server.remove(f"/registry/{GROUP}/", f"/registry/{GROUP}0")  # a damaged object would keep its definition
        for definition in DEFINITIONS:
            server.ask("DELETE", f"{path}/{definition['metadata']['name']}")
    definitions = catalog()
    codes = texts = 0
    for case in cases:
        code, message = ours(definitions, case)
        codes += code != case["code"]
        texts += message != case["message"]
        if (code, message) != (case["code"], case["message"]):
            sys.stdout.write(json.dumps({**case, "ours": [code, message]}, ensure_ascii=False) + "\n")
    sys.stderr.write(f"{count} answers, {codes} codes differ, {texts} messages differ\n")
    lines = ",\n".join(json.dumps(case, ensure_ascii=False) for case in cases[:kept])
    ANSWERS.write_text(f"[\n{lines}\n]\n")


if __name__ == "__main__":
    main()
