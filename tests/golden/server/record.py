"""Records a cluster of the project's own, and what a real API server answers to requests for each object of it.

``python -m tests.golden.server.record KUBE [FOLDER]`` starts the etcd and the kube-apiserver that KUBE/start starts,
writes the cluster, stops the server and saves the state. KUBE is a folder with `start` and `bin/kubectl`, as
AUDITOR_KUBE names it.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from operator import itemgetter
from pathlib import Path
from typing import Any
from urllib.parse import quote

from auditor.builtin.builtin_kinds import BUILTIN_KINDS
from tests.golden.server.builtins import manifests
from tests.golden.server.world import Wanted, damaged, documents, objects
from tests.sources.etcd.etcd_server import etcdutl, server_binary
from tests.upgrade.server.real import CRDS, Api

RECORDED = Path(__file__).resolve().parents[2] / "recorded" / "golden" / "upgrade"
PORTS = (23710, 23720)
SERVER_SET = ("uid", "resourceVersion", "creationTimestamp", "managedFields", "generation", "selfLink", "deletionTimestamp",
              "deletionGracePeriodSeconds")  # fmt: skip
DEFINITIONS_KEY = "/registry/apiextensions.k8s.io/customresourcedefinitions/"
LISTABLE = ("couriers.hooked.example.com", "ovens.bakery.example.com", "recipes.kitchen.example.org")
"""Kinds that no unreadable value is put among, so that they can be listed."""


class Cluster:
    """An etcd and an API server on the loopback interface."""

    def __init__(self, kube: Path, folder: Path, *options: str) -> None:
        self.kube = kube
        self.folder = folder
        self.endpoint = f"http://127.0.0.1:{PORTS[0]}"
        self.start(*options)

    def start(self, *options: str) -> None:
        """Start both over the state in the folder, and wait until the server is ready."""
        environment = {
            **os.environ,
            "ETCD": str(server_binary("3.6")),
        }  # with an older one no LIST comes from the watch cache
        subprocess.run([self.kube / "start", self.folder, *map(str, PORTS), *options], check=True, env=environment)
        self.api = Api(self.folder / "kubeconfig")
        for _ in range(300):
            try:
                if self.api.request("GET", "/api/v1/namespaces/default")[0] == 200:
                    return
            except OSError:
                pass
            time.sleep(0.5)
        raise SystemExit(f"the server does not start: see {self.folder}/api.log")

    def _end(self, name: str) -> None:
        pid = int((self.folder / f"{name}.pid").read_text())
        try:
            os.kill(pid, signal.SIGTERM)
        except ProcessLookupError:
            return
        for _ in range(200):
            if not self.is_running(name):
                return
            time.sleep(0.1)

    def is_running(self, name: str) -> bool:
        """Whether one of the two, `api` or `etcd`, has not ended."""
        pid = (self.folder / f"{name}.pid").read_text().strip()
        try:
            return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
        except (FileNotFoundError, ProcessLookupError):
            return False

    def restart(self, *options: str) -> None:
        """End both and start both again over the same state."""
        self._end("api")
        self._end("etcd")
        time.sleep(1)
        self.start(*options)
        for document in self.api.must("GET", CRDS)["items"]:
            for version in filter(itemgetter("served"), document["spec"]["versions"]):
                namespace = None if document["spec"]["scope"] == "Cluster" else "elsewhere"
                wait(self.api, collection(document["metadata"]["name"], version["name"], namespace), served=True)

    def stop_api(self) -> None:
        self._end("api")

    def stop(self) -> None:
        self._end("api")
        self._end("etcd")

    def etcdctl(self, *words: str) -> bytes:
        command = ["etcdctl", f"--endpoints={self.endpoint}", *words]
        return subprocess.run(command, env={**os.environ, "ETCDCTL_API": "3"}, capture_output=True, check=True).stdout

    def put(self, key: str, value: bytes) -> None:
        """Put a value past the API server."""
        text = {name: base64.b64encode(part).decode() for name, part in (("key", key.encode()), ("value", value))}
        request = urllib.request.Request(f"{self.endpoint}/v3/kv/put", json.dumps(text).encode())
        urllib.request.urlopen(request, timeout=60).close()

    def values(self) -> dict[str, dict[str, Any]]:
        """Return what etcd holds under /registry, by key."""
        content = json.loads(self.etcdctl("get", "/registry", "--prefix", "-w", "json"))
        return {base64.b64decode(one["key"]).decode(): one for one in content["kvs"]}

    def kubectl(self, *words: str) -> bytes:
        done = subprocess.run(
            [self.kube / "bin" / "kubectl", "--kubeconfig", self.folder / "kubeconfig", *words],
            capture_output=True,
            check=False,
        )
        if done.returncode:
            raise SystemExit(done.stderr.decode()[:2000])
        return done.stdout


def collection(crd: str, version: str, namespace: str | None) -> str:
    plural, _, group = crd.partition(".")
    return f"/apis/{group}/{version}{f'/namespaces/{namespace}' if namespace else ''}/{plural}"


def wait(api: Api, path: str, *, served: bool = False) -> None:
    """Wait until a kind can be listed; with `served` an error of the storage is an answer, too."""
    for _ in range(300):
        code, body = api.request("GET", path)
        if code == 200 or (served and code in (429, 500) and "storage" in body.get("message", "")):
            return
        time.sleep(0.1)
    raise SystemExit(f"not served: {path}")


def create(api: Api, wanted: Wanted, kinds: dict[str, str]) -> None:
    path = collection(wanted.crd, wanted.version, wanted.namespace)
    group = wanted.crd.partition(".")[2]
    body = {"apiVersion": f"{group}/{wanted.version}", "kind": kinds[wanted.crd], **wanted.body}
    api.must("POST", path, body)
    if wanted.status is not None:
        current = api.must("GET", f"{path}/{wanted.name}")
        api.must("PUT", f"{path}/{wanted.name}/status", {**current, "status": wanted.status})


def move_definitions(api: Api) -> None:
    for document in documents(2):
        path = f"{CRDS}/{document['metadata']['name']}"
        current = api.must("GET", path)
        api.must("PUT", path, {**document, "metadata": current["metadata"]})


def write(cluster: Cluster, count: int) -> None:
    """Write the cluster."""
    api = cluster.api
    kinds = {one["metadata"]["name"]: one["spec"]["names"]["kind"] for one in documents(1)}
    for path, made in manifests():
        api.must("POST", path, made)
    for document in documents(1):
        api.must("POST", CRDS, document)
    for document in documents(1):
        for version in document["spec"]["versions"]:
            wait(api, collection(document["metadata"]["name"], version["name"], None))
    wanted = list(objects(count))
    for at, one in enumerate(wanted):
        create(api, one, kinds)
        path = f"{collection(one.crd, one.version, one.namespace)}/{one.name}"
        if at % 7 == 0:
            api.must(
                "PATCH",
                path,
                {"metadata": {"annotations": {"example.com/again": str(at)}}},
                "application/merge-patch+json",
            )
        if at % 29 == 0:
            api.must("DELETE", path)
    time.sleep(3)
    move_definitions(api)
    time.sleep(5)
    for one in objects(count // 8, seed=7):  # what the second revision still takes
        group = one.crd.partition(".")[2]
        body = {"apiVersion": f"{group}/{one.version}", "kind": kinds[one.crd], **one.body}
        body["metadata"] = {**body["metadata"], "name": f"new-{one.name}"}
        api.request("POST", collection(one.crd, one.version, one.namespace), body)
    spoil(cluster, kinds)


def spoil(cluster: Cluster, kinds: dict[str, str]) -> None:
    """Put values into etcd that no server writes; of kinds that are to be listed only those that can be read."""
    values = cluster.values()
    for name, kind in kinds.items():
        if kind == "Courier":
            continue
        plural, _, group = name.partition(".")
        prefix = f"/registry/{group}/{plural}/"
        key = next(key for key in values if key.startswith(prefix))
        good = json.loads(base64.b64decode(values[key]["value"]))
        namespace = good["metadata"].get("namespace")
        for case, value in damaged(good, kind):
            place = f"{namespace}/raw-{case}" if namespace else f"raw-{case}"
            named = value.replace(f'"{good["metadata"]["name"]}"'.encode(), f'"raw-{case}"'.encode(), 1)
            cluster.put(prefix + place, named)
            if name in LISTABLE:
                path = f"{collection(name, 'v1', namespace)}/raw-{case}"
                code, answer = cluster.api.request("GET", path)
                if code != 200 or answer.get("kind") != kind or answer["metadata"].get("name") != f"raw-{case}":
                    cluster.etcdctl("del", prefix + place)
    for key, value in (("/registry/", b""), ("/registry/bakery.example.com/unknownplural/north/a", b"{}"), *((f"/registry/gone.example.com/ghosts/north/boo-{at}", b"{}") for at in range(5)),
                       ("compact_rev_key", b"100"), ("/registry/bakery.example.com/loaves/no-namespace", b"{}")):  # fmt: skip
        cluster.put(key, value)


def short(answer: tuple[int, Any]) -> dict[str, Any]:
    """Return the code of an answer, and the body of an error."""
    code, body = answer
    return {"code": code} if code < 300 else {"code": code, "body": body}


def asked(api: Api, row: dict[str, Any], definition: dict[str, Any]) -> dict[str, Any]:
    """Return what the server answers to requests for one object; nothing is written."""
    spec, out = definition["spec"], dict(row)
    for name in ("get", "put", "putStatus", "patch", "create"):
        out[name] = {}
    for version in spec["versions"]:
        at = version["name"]
        has_status = "status" in (version.get("subresources") or {})
        base = collection(row["crd"], at, row["namespace"])
        path = f"{base}/{quote(row['name'])}"
        code, body = api.request("GET", path)
        out["get"][at] = {"code": code, "body": body}
        out["patch"][at] = short(
            api.request(
                "PATCH",
                f"{path}?dryRun=All",
                {"metadata": {"labels": {"example.com/dry-run": "1"}}},
                "application/merge-patch+json",
            )
        )
        if code != 200:
            for name in ("put", "create", *(["putStatus"] if has_status else [])):
                out[name].pop(at, None)
            continue
        out["put"][at] = short(api.request("PUT", f"{path}?dryRun=All", body))
        if has_status:
            out["putStatus"][at] = short(api.request("PUT", f"{path}/status?dryRun=All", body))
        metadata = {key: each for key, each in body.get("metadata", {}).items() if key not in SERVER_SET}
        metadata["name"] = f"{row['name']}-dr"
        if row["namespace"] and not metadata.get("namespace"):
            metadata["namespace"] = row["namespace"]
        fresh = {key: each for key, each in {**body, "metadata": metadata}.items() if key != "status" or not has_status}
        out["create"][at] = short(api.request("POST", f"{base}?dryRun=All", fresh))
    return {key: each for key, each in out.items() if each != {} or key == "get"}


def expected(cluster: Cluster) -> list[dict[str, Any]]:
    """Ask for every custom resource."""
    definitions = {one["metadata"]["name"]: one for one in cluster.api.must("GET", CRDS)["items"]}
    out = []
    for key, one in sorted(cluster.values().items()):
        for name, definition in definitions.items():
            plural, _, group = name.partition(".")
            prefix = f"/registry/{group}/{plural}/"
            parts = key.removeprefix(prefix).split("/")
            if not key.startswith(prefix):
                continue
            if len(parts) != (1 if definition["spec"]["scope"] == "Cluster" else 2):
                out.append(
                    {
                        "key": key,
                        "crd": name,
                        "note": "key does not fit the scope",
                        "origin": "raw:no-namespace-segment",
                        "modRevision": one["mod_revision"],
                    }
                )
                continue
            row = {"key": key, "crd": name, "namespace": parts[0] if len(parts) == 2 else None, "name": parts[-1], "origin": parts[-1].replace("raw-", "raw:", 1) if parts[-1].startswith("raw-") else "api",
                   "createRevision": one["create_revision"], "modRevision": one["mod_revision"], "keyVersion": one["version"]}  # fmt: skip
            out.append(asked(cluster.api, row, definition))
    return out


def lists(cluster: Cluster, *, cached: bool) -> list[dict[str, Any]]:
    """Ask LISTs with and without selectors."""
    selectors = [{}, {"labelSelector": "team=dawn"}, {"labelSelector": "team in (dawn,dusk),!tier"}, {"labelSelector": "a b"}, {"labelSelector": "team notin (dawn)"},
                 *({"fieldSelector": each} for each in ("metadata.name=amber-00", "metadata.name!=amber-00", "metadata.namespace=north", "spec.flour=rye", "spec.grams=500",
                                                        "spec.grams!=500", "spec.code=AB-1", "spec.nothing=x", "metadata.name", "spec.flour=rye,metadata.namespace=south",
                                                        "metadata.name=raw-spec-missing", "metadata.labels.team=dawn"))]  # fmt: skip
    out = []
    for document in documents(2):
        name = document["metadata"]["name"]
        namespaces = [None] if document["spec"]["scope"] == "Cluster" else [None, "north", "south", "elsewhere"]
        for version in document["spec"]["versions"]:
            for namespace in namespaces:
                for selector in selectors:
                    query = "&".join(f"{key}={quote(each)}" for key, each in selector.items())
                    code, body = cluster.api.request("GET", f"{collection(name, version['name'], namespace)}?{query}")
                    case = {
                        "crd": name,
                        "version": version["name"],
                        "namespace": namespace,
                        "code": code,
                        **selector,
                    } | ({} if cached else {"watchCache": False})
                    if code == 200:
                        case["items"] = [
                            "/".join(filter(None, (one["metadata"].get("namespace"), one["metadata"].get("name"))))
                            for one in body["items"]
                        ]
                    else:
                        case["body"] = body
                    out.append(case)
    return out


def builtins(api: Api, values: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the built-in objects as the server shows them, with their keys."""
    out = []
    for kind in BUILTIN_KINDS:
        if (
            kind.group in ("apiextensions.k8s.io", "apiregistration.k8s.io") or kind.kind == "Lease"
        ):  # renewed and replaced
            continue
        root = f"/apis/{kind.group}/{kind.version}" if kind.group else f"/api/{kind.version}"
        code, body = api.request("GET", f"{root}/{kind.plural}")
        for one in body.get("items", ()) if code == 200 else ():
            metadata = one["metadata"]
            place = f"{metadata['namespace']}/" if kind.namespaced else ""
            key = f"/registry/{kind.prefix}/{place}{metadata['name']}"
            stored = base64.b64decode(values[key]["value"]) if key in values else b""
            api_version = f"{kind.group}/{kind.version}" if kind.group else kind.version
            if api_version.encode() not in stored[:60]:
                continue  # stored at another version
            del metadata["resourceVersion"]
            if kind.kind == "PersistentVolumeClaim":
                del one["status"]  # a default of reads, which is not stored
            out.append({"key": key, "object": {"apiVersion": api_version, "kind": kind.kind, **one}})
    return out


def pack(folder: Path, name: str, content: bytes) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(content, 9, mtime=0) if name.endswith(".gz") else content)


def lines(rows: list[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(row, sort_keys=True, ensure_ascii=False) + "\n" for row in rows).encode(
        "utf-8", "surrogatepass"
    )


def save(cluster: Cluster, folder: Path) -> None:
    """Save the state of etcd, which nothing writes any more."""
    work = cluster.folder / "saved"
    work.mkdir(exist_ok=True)
    cluster.etcdctl("snapshot", "save", str(work / "snapshot.db"))
    pack(folder, "snapshot.db.gz", (work / "snapshot.db").read_bytes())
    pack(folder, "etcdctl-get.json.gz", cluster.etcdctl("get", "/registry", "--prefix", "-w", "json"))
    status = json.loads(
        subprocess.run(
            [etcdutl(), "snapshot", "status", work / "snapshot.db", "-w", "json"], capture_output=True, check=True
        ).stdout
    )
    values = cluster.values()
    prefixes = Counter(key if key.count("/") < 4 else key.rpartition("/")[0] for key in values)
    owned = [f"/registry/{one['spec']['group']}/{one['spec']['names']['plural']}/" for one in documents(2)]
    rows = []
    for key, one in sorted(values.items()):
        data = base64.b64decode(one.get("value", ""))
        rows.append({"key": key, "createRevision": one["create_revision"], "modRevision": one["mod_revision"], "version": one["version"], "size": len(data),
                     "sha256": hashlib.sha256(data).hexdigest(), "customResource": key.startswith(tuple(owned))})  # fmt: skip
    pack(folder, "keys.ndjson.gz", lines(rows))
    pack(
        folder,
        "summary.json",
        json.dumps({"byPrefix": dict(sorted(prefixes.items())), "etcdutlStatus": status}, indent=1).encode(),
    )
    cluster.etcdctl("compact", str(status["revision"] - 40))
    time.sleep(1)
    cluster.etcdctl("snapshot", "save", str(work / "compacted.db"))
    pack(folder, "snapshot-compacted.db.gz", (work / "compacted.db").read_bytes())


def main() -> None:
    kube, *more = sys.argv[1:]
    folder = Path(more[0]) if more else RECORDED
    with tempfile.TemporaryDirectory() as work:
        cluster = Cluster(Path(kube), Path(work))
        try:
            write(cluster, 540)
            cluster.restart()
            answers = expected(cluster)
            pack(folder, "expected.ndjson.gz", lines(answers))
            asked_lists = lists(cluster, cached=True)
            kinds = ",".join(
                f"{name.partition('.')[0]}.{'v2' if name.startswith('recipes') else 'v1'}.{name.partition('.')[2]}"
                for name in LISTABLE
            )
            pack(folder, "kubectl-get-all.yaml.gz", cluster.kubectl("get", kinds, "-A", "-o", "yaml"))
            one = "ovens.v1.bakery.example.com"
            pack(
                folder,
                "kubectl-get-one-managedfields.json.gz",
                cluster.kubectl("get", one, "-A", "-o", "json", "--show-managed-fields"),
            )
            pack(folder, "crds/server-rev2.json.gz", json.dumps(cluster.api.must("GET", CRDS)).encode())
            for revision in (1, 2):
                for document in documents(revision):
                    pack(
                        folder,
                        f"crds/rev{revision}/{document['metadata']['name']}.json",
                        json.dumps(document, indent=1).encode(),
                    )
            groups = {one["spec"]["group"]: one for one in documents(2)}
            paths = [
                path
                for path in cluster.api.must("GET", "/openapi/v3")["paths"]
                if path.split("/")[1:2] and path.split("/")[1] in groups and path.count("/") == 2
            ]
            pack(
                folder,
                "discovery/openapi-v3.json.gz",
                json.dumps({path: cluster.api.must("GET", f"/openapi/v3/{path}") for path in paths}).encode(),
            )
            pack(folder, "builtins.json.gz", json.dumps(builtins(cluster.api, cluster.values())).encode())
            cluster.restart("--watch-cache=false")
            pack(folder, "lists.ndjson.gz", lines([*asked_lists, *lists(cluster, cached=False)]))
            pack(folder, "kubectl-get-all.json.gz", cluster.kubectl("get", kinds, "-A", "-o", "json"))
            cluster.stop_api()
            save(cluster, folder)
        finally:
            cluster.stop()
    codes = Counter(answer["code"] for row in answers for answer in row.get("put", {}).values())
    sys.stdout.write(f"{len(answers)} objects, unchanged PUT {dict(codes)}\n")


if __name__ == "__main__":
    main()
