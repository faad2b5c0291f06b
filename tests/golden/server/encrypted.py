"""Records a cluster whose values are encrypted at rest: in the clear at first, then by one key, then by another.

``python -m tests.golden.server.encrypted KUBE [FOLDER]``; KUBE as for `record`. The keys protect nothing.
"""

from __future__ import annotations

import base64
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from tests.golden.server.record import CRDS, Cluster, collection, create, lines, pack, wait
from tests.golden.server.world import NAMESPACES, Wanted, documents, objects

if TYPE_CHECKING:
    from collections.abc import Iterator

RECORDED = Path(__file__).resolve().parents[2] / "recorded" / "golden" / "encrypted" / "aescbc"
KINDS = ("loaves.bakery.example.com", "recipes.kitchen.example.org")
KEYS = {"aescbc-old": base64.b64encode(b"the old key of the bakery's tins").decode(), "aescbc-new": base64.b64encode(b"the new key of the bakery's tins").decode()}  # fmt: skip
STAGES = ((0, 3), (3, 7), (7, 15))
"""Which objects of each kind are written in the clear, by the old key, and by the new one."""


def configuration(*names: str) -> dict[str, Any]:
    """Return a configuration that writes by the first key and reads by all of them."""
    keys = [{"name": name, "secret": KEYS[name]} for name in names]
    other = [
        {"name": "aesgcm-new", "secret": base64.b64encode(b"a key of thirty-two bytes to spare").decode()[:43] + "="}
    ]
    providers = [{"aescbc": {"keys": keys}}, {"aesgcm": {"keys": other}}, {"identity": {}}]
    return {
        "kind": "EncryptionConfiguration",
        "apiVersion": "apiserver.config.k8s.io/v1",
        "resources": [{"resources": [*KINDS, "secrets"], "providers": providers}],
    }


def plain(value: bytes) -> bytes:
    """Return what a sealed value holds, by the keys themselves."""
    if not value.startswith(b"k8s:enc:aescbc:v1:"):
        return value
    name, _, sealed = value.removeprefix(b"k8s:enc:aescbc:v1:").partition(b":")
    opened = Cipher(algorithms.AES(base64.b64decode(KEYS[name.decode()])), modes.CBC(sealed[:16])).decryptor()
    padded = opened.update(sealed[16:]) + opened.finalize()
    return padded[: -padded[-1]]


def write(cluster: Cluster, stage: int) -> None:
    """Write the objects of a stage."""
    kinds = {one["metadata"]["name"]: one["spec"]["names"]["kind"] for one in documents(1)}
    drawn: dict[str, list[Wanted]] = {name: [] for name in KINDS}
    for one in objects(400):
        if one.crd in drawn:
            drawn[one.crd].append(one)
    start, stop = STAGES[stage]
    for name in KINDS:
        for one in drawn[name][start:stop]:
            create(cluster.api, one, kinds)
    for namespace in NAMESPACES:
        made = {
            "metadata": {"name": f"pass-{stage}"},
            "data": {"token": base64.b64encode(f"{namespace} {stage}".encode()).decode()},
        }
        cluster.api.must(
            "POST", f"/api/v1/namespaces/{namespace}/secrets", {"apiVersion": "v1", "kind": "Secret", **made}
        )


def damaged(values: dict[str, bytes]) -> Iterator[tuple[str, bytes]]:
    """Yield keys and values that no server writes."""
    first, second = [key for key, value in values.items() if "/loaves/" in key and b":aescbc-new:" in value[:40]][:2]
    folder, value = first.rpartition("/")[0], values[first]
    yield f"{folder}/copied", values[second]
    yield f"{folder}/flipped", value[:-20] + bytes([value[-20] ^ 1]) + value[-19:]
    yield f"{folder}/cut", value[:-7]
    yield f"{folder}/unknown-key", value.replace(b"aescbc-new", b"aescbc-lost", 1)
    yield f"{folder}/unknown-provider", value.replace(b":aescbc:", b":rot13:", 1)
    yield f"{folder}/header-alone", b"k8s:enc:aescbc:v1:aescbc-new:"


def expected(cluster: Cluster) -> Iterator[dict[str, Any]]:
    """Yield what the server answers to a GET of each custom resource, and what is in each Secret."""
    for key, one in sorted(cluster.values().items()):
        parts = key.split("/")
        value = base64.b64decode(one.get("value", ""))
        if parts[2] == "secrets":
            body = cluster.api.must("GET", f"/api/v1/namespaces/{parts[3]}/secrets/{parts[4]}")
            yield {"key": key, "object": body, "protobuf": base64.b64encode(plain(value)).decode()}
        elif f"{parts[3]}.{parts[2]}" in KINDS:
            version = "v1" if parts[2].startswith("kitchen") else "v1alpha1"
            code, body = cluster.api.request(
                "GET", f"{collection(f'{parts[3]}.{parts[2]}', version, parts[4])}/{parts[5]}"
            )
            yield {"key": key, "get": {"code": code, "body": body}}


def main() -> None:
    kube, *more = sys.argv[1:]
    folder = Path(more[0]) if more else RECORDED
    with tempfile.TemporaryDirectory() as work:
        config = Path(work) / "encryption.json"
        option = f"--encryption-provider-config={config}"
        cluster = Cluster(Path(kube), Path(work))
        try:
            for namespace in NAMESPACES:
                cluster.api.must(
                    "POST",
                    "/api/v1/namespaces",
                    {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}},
                )
            for document in documents(1):
                if document["metadata"]["name"] in KINDS:
                    cluster.api.must("POST", CRDS, document)
                    for version in document["spec"]["versions"]:
                        wait(cluster.api, collection(document["metadata"]["name"], version["name"], None))
            write(cluster, 0)
            for stage, names in ((1, ("aescbc-old",)), (2, ("aescbc-new", "aescbc-old"))):
                config.write_text(json.dumps(configuration(*names), indent=1))
                cluster.restart(option)
                write(cluster, stage)
            values = {key: base64.b64decode(one.get("value", "")) for key, one in cluster.values().items()}
            for key, value in damaged(values):
                cluster.put(key, value)
            rows = list(expected(cluster))
            cluster.stop_api()
            saved = cluster.folder / "snapshot.db"
            cluster.etcdctl("snapshot", "save", str(saved))
            pack(folder, "snapshot.db.gz", saved.read_bytes())
            pack(folder, "etcdctl-get.json.gz", cluster.etcdctl("get", "/registry", "--prefix", "-w", "json"))
            pack(folder, "expected.ndjson.gz", lines(rows))
            pack(folder, "encryption-config.json", config.read_bytes())
        finally:
            cluster.stop()
            time.sleep(1)
    sys.stdout.write(f"{len(rows)} values\n")


if __name__ == "__main__":
    main()
