"""Asks a real API server which LISTs a key at the wrong depth breaks, and records the answers.

    ETCD=... KUBE_APISERVER=... python -m tests.server.key_depth

needs an etcd 3.6 and a kube-apiserver, and writes `key_depth.json`. Each case has a kind of its own with one healthy
object, so that cases do not touch each other. The definitions are created through the server; then the keys are put
into etcd behind its back, and the server is started anew, once with its watch cache and once without.
"""

from __future__ import annotations

import base64
import json
import os
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

__all__ = ["BUILTIN", "CUSTOM", "GROUP", "RECORDED", "definition", "keys_of"]

RECORDED = Path(__file__).with_suffix(".json")
GROUP = "demo.io"
TORN = '{"apiVersion":"'
NAMESPACES = ("shop", "bad")

# name, namespaced, key below the kind, metadata of its object (None means the value is torn)
CUSTOM: tuple[tuple[str, bool, str, dict[str, str] | None], ...] = (
    ("healthy", True, "shop/other", {"namespace": "shop", "name": "other"}),
    ("torn", True, "torn", None),
    ("tornspace", True, "shop", None),
    ("bare", True, "bare", {"name": "bare"}),
    ("short", True, "short", {"namespace": "shop", "name": "short"}),
    ("deeptorn", True, "bad/ns/deep", None),
    ("deepbare", True, "bad/ns/deep", {"name": "deep"}),
    ("deepvalid", True, "bad/ns/deep", {"namespace": "bad", "name": "deep"}),
    ("deepother", True, "bad/ns/deep", {"namespace": "shop", "name": "deep"}),
    ("deepnameless", True, "bad/ns/deep", {"namespace": "bad"}),
    ("deepest", True, "bad/a/b/c/d", None),
    ("emptyname", True, "bad/", None),
    ("emptyspace", True, "/torn", None),
    ("slash", True, "", None),
    ("extra", True, "shop/other", {"namespace": "shop", "name": "other"}),
    ("extramore", True, "shop/torn", None),
    ("spaces", True, "shopping/torn", None),
    ("clustertorn", False, "one/two", None),
    ("clusterbare", False, "one/two", {"name": "two"}),
    ("clusterspace", False, "one/two", {"namespace": "one", "name": "two"}),
    ("clusternameless", False, "one/two", {}),
    ("clusterdeepest", False, "a/b/c/d", None),
    ("clusterslash", False, "", None),
)
# API path, plural, kind, namespaced, where its keys are, key below that, metadata of its object
BUILTIN: tuple[tuple[str, str, str, bool, str, str, dict[str, str] | None], ...] = (
    ("api/v1", "pods", "Pod", True, "pods", "torn", None),
    ("api/v1", "podtemplates", "PodTemplate", True, "podtemplates", "a/b/c", None),
    ("api/v1", "configmaps", "ConfigMap", True, "configmaps", "bare", {"name": "bare"}),
    ("api/v1", "secrets", "Secret", True, "secrets", "shop/deep/valid", {"namespace": "shop", "name": "valid"}),
    ("api/v1", "limitranges", "LimitRange", True, "limitranges", "shop/deep/bare", {"name": "bare"}),
    ("api/v1", "services", "Service", True, "services/specs", "torn", None),
    ("api/v1", "endpoints", "Endpoints", True, "services/endpoints", "shop/deep/torn", None),
    ("api/v1", "nodes", "Node", False, "minions", "one/two", None),
    ("api/v1", "persistentvolumes", "PersistentVolume", False, "persistentvolumes", "one/two", {"name": "two"}),
    ("apis/apps/v1", "deployments", "Deployment", True, "deployments", "torn", None),
    ("apis/coordination.k8s.io/v1", "leases", "Lease", True, "leases", "bad/ns/deep", None),
    ("apis/batch/v1", "jobs", "Job", True, "jobs", "short", {"namespace": "shop", "name": "short"}),
)


def definition(name: str, *, namespaced: bool) -> dict[str, Any]:
    """Return the definition of the kind of a case."""
    kind = name.capitalize()
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{name}s.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced" if namespaced else "Cluster",
            "names": {"plural": f"{name}s", "singular": name, "kind": kind, "listKind": f"{kind}List"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
        },
    }


def keys_of() -> dict[str, str]:
    """Return the keys of all cases with their values."""
    found = {}
    for name, namespaced, below, metadata in CUSTOM:
        fine = {"name": "fine", **({"namespace": "shop"} if namespaced else {})}
        head = (f"{GROUP}/v1", name.capitalize())
        found[f"/registry/{GROUP}/{name}s/{'shop/' if namespaced else ''}fine"] = _value(*head, fine)
        found[f"/registry/{GROUP}/{name}s/{below}"] = _value(*head, metadata)
    for path, _, kind, _, prefix, below, metadata in BUILTIN:
        version = path.removeprefix("apis/").removeprefix("api/")
        found[f"/registry/{prefix}/{below}"] = _value(version, kind, metadata)
    return found


def _value(api_version: str, kind: str, metadata: dict[str, str] | None) -> str:
    if metadata is None:
        return TORN
    known = {**metadata, "uid": "00000000-0000-0000-0000-000000000001", "creationTimestamp": "2026-01-01T00:00:00Z"}
    return json.dumps({"apiVersion": api_version, "kind": kind, "metadata": known})


class _Cluster:
    """An etcd, and one API server after another on it."""

    def __init__(self, folder: Path, ports: tuple[int, int]) -> None:
        self.folder = folder
        self.client, self.api = ports
        self.started: list[subprocess.Popen[bytes]] = []
        urls = [f"http://127.0.0.1:{port}" for port in (self.client, self.client + 1)]
        self._start(
            *(os.environ["ETCD"], "--data-dir", str(folder / "etcd"), "--listen-client-urls", urls[0]),
            *("--advertise-client-urls", urls[0], "--listen-peer-urls", urls[1]),
            *("--initial-advertise-peer-urls", urls[1], "--initial-cluster", f"default={urls[1]}"),
        )
        (folder / "tokens.csv").write_text("token,admin,admin,system:masters\n")
        subprocess.run(["openssl", "genrsa", "-out", str(folder / "key"), "2048"], check=True, capture_output=True)
        self.tls = ssl.create_default_context()
        self.tls.check_hostname, self.tls.verify_mode = False, ssl.CERT_NONE

    def _start(self, *words: str) -> None:
        log = (self.folder / f"{Path(words[0]).name}-{len(self.started)}.log").open("wb")
        self.started.append(subprocess.Popen(words, stdout=log, stderr=log))

    def serve(self, *options: str) -> None:
        """Start the API server and wait until it is ready."""
        folder = self.folder
        self._start(
            *(os.environ["KUBE_APISERVER"], "--etcd-servers", f"http://127.0.0.1:{self.client}"),
            *("--service-cluster-ip-range", "10.0.0.0/24", "--service-account-issuer", "https://x"),
            *("--service-account-key-file", str(folder / "key"), "--authorization-mode", "AlwaysAllow"),
            *("--service-account-signing-key-file", str(folder / "key"), "--cert-dir", str(folder / "certs")),
            *("--token-auth-file", str(folder / "tokens.csv"), "--secure-port", str(self.api)),
            *("--bind-address", "127.0.0.1", "--disable-admission-plugins", "ServiceAccount,DefaultStorageClass"),
            *("--endpoint-reconciler-type", "none", *options),
        )
        for _ in range(600):
            if self.ask("GET", f"/apis/{GROUP}/v1")[0] in (200, 404) and self.ask("GET", "/livez/etcd")[0] == 200:
                return
            time.sleep(1)
        raise TimeoutError("the API server does not get ready")

    def end(self) -> None:
        """End the process that was started last."""
        process = self.started.pop()
        process.terminate()
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def put(self, key: str, value: str) -> None:
        """Put a key into etcd, behind the server's back."""
        body = json.dumps(
            {name: base64.b64encode(text.encode()).decode() for name, text in (("key", key), ("value", value))}
        )
        request = urllib.request.Request(f"http://127.0.0.1:{self.client}/v3/kv/put", body.encode())
        with urllib.request.urlopen(request, timeout=30) as answer:
            answer.read()

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, dict[str, Any]]:
        """Ask the server; return code and body (code 0: it does not answer)."""
        headers = {"Authorization": "Bearer token", "Content-Type": "application/json", "Accept": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"https://127.0.0.1:{self.api}{path}", data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=70, context=self.tls) as answer:
                code, text = answer.status, answer.read()
        except urllib.error.HTTPError as error:
            code, text = error.code, error.read()
        except OSError:
            return 0, {}
        try:
            return code, json.loads(text)
        except ValueError:
            return code, {}


def _answer(cluster: _Cluster, path: str) -> dict[str, Any]:
    code, body = cluster.ask("GET", path)
    for _ in range(20):  # a watch cache that was just begun says so, whatever it finds later
        if code == 200 or ": " in body.get("message", "").removeprefix("storage is (re)initializing"):
            break
        time.sleep(1)
        code, body = cluster.ask("GET", path)
    if code == 200:
        names = [(one["metadata"].get("namespace"), one["metadata"].get("name")) for one in body["items"]]
        return {"code": code, "objects": ["/".join(filter(None, name)) for name in names]}
    return {"code": code, "reason": body.get("reason"), "message": body.get("message")}


def _lists(cluster: _Cluster, path: str, plural: str, *, namespaced: bool) -> dict[str, Any]:
    spaces = NAMESPACES if namespaced else ()
    asked = {"": f"/{path}/{plural}"} | {name: f"/{path}/namespaces/{name}/{plural}" for name in spaces}
    return {name: _answer(cluster, url) for name, url in asked.items()}


def record(folder: Path, ports: tuple[int, int]) -> dict[str, Any]:
    """Return the answers to all cases, with and without the watch cache."""
    cluster = _Cluster(folder, ports)
    try:
        time.sleep(3)
        cluster.serve()
        for name, namespaced, _, _ in CUSTOM:
            for _ in range(60):
                code, _body = cluster.ask(
                    "POST",
                    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
                    definition(name, namespaced=namespaced),
                )
                if code in (201, 409):
                    break
                time.sleep(1)
        time.sleep(5)
        cluster.end()
        for key, value in keys_of().items():
            cluster.put(key, value)
        found: dict[str, Any] = {}
        for mode, options in (("cache", ()), ("no cache", ("--watch-cache=false",))):
            cluster.serve(*options)
            time.sleep(20)
            found[mode] = {
                **{
                    name: _lists(cluster, f"apis/{GROUP}/v1", f"{name}s", namespaced=namespaced)
                    for name, namespaced, _, _ in CUSTOM
                },
                **{
                    plural: _lists(cluster, path, plural, namespaced=namespaced)
                    for path, plural, _, namespaced, *_ in BUILTIN
                },
            }
            cluster.end()
        return found
    finally:
        while cluster.started:
            cluster.end()


def main() -> None:
    """Record all answers anew."""
    ports = (int(sys.argv[1]), int(sys.argv[2])) if len(sys.argv) > 2 else (33871, 36871)
    with tempfile.TemporaryDirectory(prefix="key-depth-") as folder:
        found = record(Path(folder), ports)
    RECORDED.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
