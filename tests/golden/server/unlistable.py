"""Records what a real API server answers where one stored value is damaged: with the watch cache, and without it.

``python -m tests.golden.server.unlistable KUBE [FOLDER]``; KUBE as for `record`. Beside four good objects one value at
a time is put into etcd. A value without metadata ends a server that has a watch cache.
"""

from __future__ import annotations

import base64
import json
import os
import sys
import tempfile
import time
from http.client import HTTPException
from pathlib import Path
from typing import Any

from tests.golden.server.record import CRDS, RECORDED, Cluster, collection, pack, wait
from tests.golden.server.world import documents

CRD = "loaves.bakery.example.com"
NAMESPACE = "south"
PREFIX = f"/registry/bakery.example.com/loaves/{NAMESPACE}/"
FINE = 4


def values() -> dict[str, bytes]:
    """Return the damaged values, by case."""
    metadata = {"name": "damaged", "namespace": NAMESPACE, "uid": "d116366d-0f14-44e5-9ed2-19b69adb6036",
                "creationTimestamp": "2026-11-21T11:24:51Z", "generation": 1}  # fmt: skip
    good = {
        "apiVersion": "bakery.example.com/v1",
        "kind": "Loaf",
        "metadata": metadata,
        "spec": {"flour": "rye", "shape": "round"},
    }

    def but(**more: Any) -> dict[str, Any]:
        return {**good, "metadata": {key: each for key, each in {**metadata, **more}.items() if each is not None}}

    cases: dict[str, Any] = {
        "name-missing": but(name=None),
        "namespace-missing": but(namespace=None),
        "metadata-null": {**good, "metadata": None},
        "metadata-empty": {**good, "metadata": {}},
        "name-differs": but(name="another"),
        "namespace-differs": but(namespace="north"),
        "kind-differs": {**good, "kind": "Cake"},
        "list-kind": {"apiVersion": good["apiVersion"], "kind": "LoafList", "metadata": {}, "items": [good]},
        "list-kind-without-items": {**good, "kind": "LoafList"},
        "no-uid": but(uid=None),
    }
    made = {name: json.dumps(value).encode() for name, value in cases.items()}
    return {**made, "truncated": json.dumps(good).encode()[:-20]}


def shown(code: int, body: dict[str, Any]) -> dict[str, Any]:
    """Return an answer without what differs from server to server."""
    if code != 200:
        return {"code": code, "message": body["message"]}
    if "items" in body and body["kind"].endswith("List") and body["metadata"].get("resourceVersion"):
        names = [(one["metadata"].get("namespace"), one["metadata"].get("name")) for one in body["items"]]
        return {"code": code, "items": [f"{namespace}/{name}" for namespace, name in names]}
    return {"code": code, "body": body}


def asked(cluster: Cluster) -> dict[str, Any]:
    """Ask about the damaged value."""
    here, every = collection(CRD, "v1", NAMESPACE), collection(CRD, "v1", None)
    paths = {
        "get": f"{here}/damaged",
        "list": here,
        "listAll": every,
        "listField": f"{here}?fieldSelector=metadata.name%3Ddamaged",
        "listFineField": f"{here}?fieldSelector=metadata.name%3Dfine-1",
        "listRv0": f"{here}?resourceVersion=0",
    }
    return {name: shown(*cluster.api.request("GET", path)) for name, path in paths.items()}


def settled(cluster: Cluster) -> dict[str, Any]:
    """Return the answers once they stay the same for some seconds."""
    found: list[dict[str, Any]] = []
    for _ in range(120):
        found.append(asked(cluster))
        if len(found) > 2 and found[-1] == found[-2] == found[-3]:
            return found[-1]
        time.sleep(2)
    raise SystemExit(f"the answers do not settle: {found[-1]}")


def answers(cluster: Cluster, *options: str) -> dict[str, dict[str, Any]]:
    """Put one value after another, and ask a server that starts with it."""
    out = {}
    for name, value in values().items():
        cluster.put(f"{PREFIX}damaged", value)
        cluster.restart(*options)
        out[name] = settled(cluster)
    cluster.etcdctl("del", f"{PREFIX}damaged")
    return out


def crash(cluster: Cluster) -> dict[str, Any]:
    """Return what a value without metadata does to a server without a watch cache, then to one with it."""
    value = json.dumps({"apiVersion": "bakery.example.com/v1", "kind": "Loaf", "spec": {"flour": "rye"}}).encode()
    cluster.put(f"{PREFIX}damaged", value)
    try:
        without = str(cluster.api.request("GET", f"{collection(CRD, 'v1', NAMESPACE)}/damaged"))
    except (OSError, HTTPException) as error:
        without = f"no answer: {type(error).__name__}"
    cluster.stop()
    ended = False
    try:
        cluster.start()
        for _ in range(60):
            cluster.api.request("GET", collection(CRD, "v1", NAMESPACE))
            time.sleep(1)
    except (OSError, HTTPException, SystemExit):
        ended = not cluster.is_running("api")
    log = (cluster.folder / "api.log").read_text(errors="replace").splitlines()
    panic = next((line for line in log if line.startswith("panic: ")), None)
    return {"case": "metadata-missing", "key": f"{PREFIX}damaged", "value": base64.b64encode(value).decode(),
            "getWithoutWatchCache": without, "serverWithWatchCache": {"ended": ended, "panic": panic}}  # fmt: skip


def main() -> None:
    kube, *more = sys.argv[1:]
    folder = Path(more[0]) if more else RECORDED
    os.environ["NO_PROXY"] = "127.0.0.1"
    with tempfile.TemporaryDirectory() as work:
        cluster = Cluster(Path(kube), Path(work))
        try:
            (definition,) = (one for one in documents(2) if one["metadata"]["name"] == CRD)
            cluster.api.must("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
            cluster.api.must("POST", CRDS, definition)
            wait(cluster.api, collection(CRD, "v1", NAMESPACE))
            for at in range(FINE):
                body = {"apiVersion": "bakery.example.com/v1", "kind": "Loaf", "spec": {"flour": "rye"}}
                cluster.api.must("POST", collection(CRD, "v1", NAMESPACE), {**body, "metadata": {"name": f"fine-{at}"}})
            cached = answers(cluster)
            without = answers(cluster, "--watch-cache=false")
            cases = [
                {"case": name, "key": f"{PREFIX}damaged", "value": value.decode(), "watchCache": cached[name], "noWatchCache": without[name]}
                for name, value in values().items()
            ]  # fmt: skip
            pack(folder, "unlistable.json", json.dumps(cases, indent=1, sort_keys=True).encode() + b"\n")
            pack(folder, "crash-cases.json", json.dumps([crash(cluster)], indent=1, sort_keys=True).encode() + b"\n")
        finally:
            cluster.stop()


if __name__ == "__main__":
    main()
