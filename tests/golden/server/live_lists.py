"""Records how a real API server answers LISTs of kinds with one damaged object, in both forms that clients send.

``python -m tests.golden.server.live_lists KUBE [FOLDER]``; KUBE as for `record`. kubectl sends `limit=500`, informers
send none. Each case has a kind of its own, so that cases do not touch each other: two good objects in `north`, two in
`south`, and the damaged value. The value is put into etcd while the server runs (`running`); then the server is started
anew over it (`start`).
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from itertools import product
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from tests.golden.server.record import CRDS, RECORDED, Cluster, pack, wait

GROUP = "damage.example.com"
NAMESPACES = ("north", "south")
DAMAGED = "south"
LIMITS = {"kubectl": {"limit": "500"}, "informer": {}}
REVISIONS = {"unset": {}, "0": {"resourceVersion": "0"}}
SELECTORS = {
    "": {},
    "labelSelector": {"labelSelector": "!absent"},
    "fieldSelector": {"fieldSelector": "metadata.name!=x"},
}
UID = "d116366d-0f14-44e5-9ed2-19b69adb6036"
METADATA = {"name": "damaged", "namespace": DAMAGED, "uid": UID, "creationTimestamp": "2026-11-21T11:24:51Z"}
WEBHOOK = {"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": {"service": {"namespace": "north", "name": "gone"}}}}  # fmt: skip
BUILTINS: dict[str, tuple[str, str, str, str, dict[str, Any]]] = {
    # case: path of the API, plural, kind, what the keys begin with, what a good object has
    "builtin-truncated": ("/api/v1", "podtemplates", "PodTemplate", "podtemplates", {"template": {"spec": {"containers": [{"name": "a", "image": "a"}]}}}),
    "builtin-unknown-version": ("/apis/apps/v1", "controllerrevisions", "ControllerRevision", "controllerrevisions", {"revision": 1, "data": {"a": 1}}),
    "builtin-wrong-type": ("/apis/policy/v1", "poddisruptionbudgets", "PodDisruptionBudget", "poddisruptionbudgets", {"spec": {"maxUnavailable": 1}}),
    "builtin-name-missing": ("/api/v1", "persistentvolumeclaims", "PersistentVolumeClaim", "persistentvolumeclaims", {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}),
    "builtin-namespace-missing": ("/apis/networking.k8s.io/v1", "networkpolicies", "NetworkPolicy", "networkpolicies", {"spec": {"podSelector": {}}}),
    "builtin-name-differs": ("/apis/discovery.k8s.io/v1", "endpointslices", "EndpointSlice", "endpointslices", {"addressType": "IPv4", "endpoints": []}),
    "builtin-namespace-differs": ("/apis/coordination.k8s.io/v1", "leases", "Lease", "leases", {"spec": {}}),
    "builtin-metadata-missing": ("/api/v1", "endpoints", "Endpoints", "services/endpoints", {}),
    "builtin-event-truncated": ("/api/v1", "events", "Event", "events", {"involvedObject": {}}),
    "builtin-cluster-truncated": ("/apis/networking.k8s.io/v1", "ingressclasses", "IngressClass", "ingressclasses", {"spec": {"controller": "example.com/a"}}),
    "builtin-cluster-name-missing": ("/apis/node.k8s.io/v1", "runtimeclasses", "RuntimeClass", "runtimeclasses", {"handler": "a"}),
}  # fmt: skip
"""A built-in kind for each damage; no server needs one of them to start."""


def but(good: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return an object with other metadata; None leaves a field out."""
    metadata = {**good["metadata"], **more}
    return {**good, "metadata": {key: value for key, value in metadata.items() if value is not None}}


def damages(api_version: str, kind: str) -> dict[str, Any]:
    """Return the damaged values of a custom resource by case: text, or an object."""
    good: dict[str, Any] = {"apiVersion": api_version, "kind": kind, "metadata": METADATA, "spec": {"flour": "rye"}}
    group = api_version.partition("/")[0]
    return {
        "truncated": json.dumps(good)[:-20],
        "empty": "",
        "no-json": "flour: rye",
        "array": "[1]",
        "sealed": "k8s:enc:aescbc:v1:key1:0123456789abcdef0123456789abcdef",
        "unknown-version": {**good, "apiVersion": f"{group}/v9"},
        "other-group": {**good, "apiVersion": "other.example.com/v1"},
        "unserved-version": {**good, "apiVersion": f"{group}/v2"},
        "api-version-missing": {key: value for key, value in good.items() if key != "apiVersion"},
        "kind-missing": {key: value for key, value in good.items() if key != "kind"},
        "kind-differs": {**good, "kind": "Cake"},
        "list-kind": {"apiVersion": api_version, "kind": f"{kind}List", "metadata": {}, "items": [good]},
        "list-kind-without-items": {**good, "kind": f"{kind}List"},
        "labels-malformed": but(good, labels={"a": 5}),
        "metadata-null": {**good, "metadata": None},
        "metadata-empty": {**good, "metadata": {}},
        "metadata-text": {**good, "metadata": "x"},
        "name-missing": but(good, name=None),
        "name-empty": but(good, name=""),
        "name-number": but(good, name=5),
        "name-with-slash": but(good, name="a/b"),
        "name-with-percent": but(good, name="a%b"),
        "name-dots": but(good, name=".."),
        "namespace-missing": but(good, namespace=None),
        "name-differs": but(good, name="another"),
        "namespace-differs": but(good, namespace="north"),
        "name-taken": but(good, name="fine-0"),
        "uid-missing": but(good, uid=None),
        "webhook": {**good, "apiVersion": f"{group}/v2"},
        "cluster-truncated": json.dumps(but(good, namespace=None))[:-20],
        "cluster-name-missing": but(good, name=None, namespace=None),
        "cluster-with-namespace": good,
    }


def builtin_damages(api_version: str, kind: str, more: dict[str, Any]) -> dict[str, Any]:
    """Return the damaged values of a built-in kind by case."""
    good: dict[str, Any] = {"apiVersion": api_version, "kind": kind, "metadata": METADATA, **more}
    return {
        "builtin-truncated": json.dumps(good)[:-20],
        "builtin-unknown-version": {**good, "apiVersion": f"{api_version.rpartition('/')[0]}/v9"},
        "builtin-wrong-type": {**good, "spec": 5},
        "builtin-name-missing": but(good, name=None),
        "builtin-namespace-missing": but(good, namespace=None),
        "builtin-name-differs": but(good, name="another"),
        "builtin-namespace-differs": but(good, namespace="north"),
        "builtin-metadata-missing": {key: value for key, value in good.items() if key != "metadata"},
        "builtin-event-truncated": json.dumps(good)[:-20],
        "builtin-cluster-truncated": json.dumps(but(good, namespace=None))[:-20],
        "builtin-cluster-name-missing": but(good, name=None, namespace=None),
    }


def definition(case: str) -> dict[str, Any]:
    """Return the definition of the kind of a case."""
    kind = "".join(word.capitalize() for word in case.split("-"))
    plural = f"{kind.lower()}s"
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    versions = [{"name": name, "served": name == "v1" or case != "unserved-version", "storage": name == "v1",
                 "schema": schema} for name in ("v1", "v2")]  # fmt: skip
    names = {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"}
    spec: dict[str, Any] = {"group": GROUP, "names": names, "versions": versions}
    spec["scope"] = "Cluster" if case.startswith("cluster-") else "Namespaced"
    if case == "webhook":
        spec["conversion"] = WEBHOOK
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": spec,
    }


class Case:
    """A kind, its good objects and its damaged value."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.namespaced = not name.startswith(("cluster-", "builtin-cluster-"))
        self.more: dict[str, Any] = {"spec": {"flour": "rye"}}
        if name in BUILTINS:
            self.root, self.plural, self.kind, self.prefix, self.more = BUILTINS[name]
            self.api_version = self.root.removeprefix("/apis/").removeprefix("/api/")
            value = builtin_damages(self.api_version, self.kind, self.more)[name]
        else:
            names = definition(name)["spec"]["names"]
            self.plural, self.kind, self.api_version = names["plural"], names["kind"], f"{GROUP}/v1"
            self.root, self.prefix = f"/apis/{self.api_version}", f"{GROUP}/{self.plural}"
            value = damages(self.api_version, self.kind)[name]
        self.value = value if isinstance(value, str) else json.dumps(value)
        self.key = f"/registry/{self.prefix}/{f'{DAMAGED}/' if self.namespaced else ''}damaged"

    def path(self, namespace: str, **parameters: str) -> str:
        """Return the path of a LIST."""
        scope = f"/namespaces/{namespace}" if namespace else ""
        return f"{self.root}{scope}/{self.plural}{f'?{urlencode(parameters)}' if parameters else ''}"

    def good(self) -> list[tuple[str, dict[str, Any]]]:
        """Return the good objects: (path of a POST, object)."""
        out = []
        for namespace in NAMESPACES if self.namespaced else ("",):
            for number in range(2):
                metadata = {"name": f"fine-{number}", **({"namespace": namespace} if namespace else {})}
                more = dict(self.more)
                if self.kind == "Event":
                    more["involvedObject"] = {"namespace": namespace}
                body = {"apiVersion": self.api_version, "kind": self.kind, "metadata": metadata, **more}
                out.append((self.path(namespace), body))
        return out

    def answers(self, cluster: Cluster) -> dict[str, Any]:
        """Return the answers to all forms of a LIST of the kind."""
        out = {}
        for namespace in ("", *NAMESPACES) if self.namespaced else ("",):
            for client, limit in LIMITS.items():
                for (revision, more), (selector, wanted) in product(REVISIONS.items(), SELECTORS.items()):
                    answer = cluster.api.request("GET", self.path(namespace, **limit, **more, **wanted))
                    words = (client, namespace or "all", f"resourceVersion={revision}", selector)
                    out[" ".join(filter(None, words))] = shown(*answer)
        return out


def shown(code: int, body: dict[str, Any]) -> dict[str, Any]:
    """Return an answer without what differs from server to server, such as the leases of the server itself."""
    if code != 200:
        return {"code": code, "reason": body.get("reason", ""), "message": body["message"]}
    metadata = [item["metadata"] or {} for item in body["items"]]
    names = [
        f"{each.get('namespace')}/{each.get('name')}" for each in metadata if each.get("namespace") != "kube-system"
    ]
    return {"code": code, "items": names}


def settled(cluster: Cluster, cases: list[Case]) -> dict[str, dict[str, Any]]:
    """Return the answers once none has changed for a while."""
    before: list[dict[str, dict[str, Any]]] = []
    for _ in range(40):
        before.append({case.name: case.answers(cluster) for case in cases})
        if len(before) > 3 and before[-1] == before[-2] == before[-3] == before[-4]:
            break
        time.sleep(4)
    unstable = [name for name in before[-1] if before[-1][name] != before[-2][name]]
    sys.stderr.write(f"{len(before)} rounds; not settled: {unstable}\n")
    return before[-1]


def main() -> None:
    kube, *more = sys.argv[1:]
    folder = Path(more[0]) if more else RECORDED
    custom = damages(f"{GROUP}/v1", "X")
    cases = [Case(name) for name in (*custom, *BUILTINS)]
    with tempfile.TemporaryDirectory() as work:
        cluster = Cluster(Path(kube), Path(work))
        try:
            for namespace in NAMESPACES:
                cluster.api.must("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})
            for name in custom:
                cluster.api.must("POST", CRDS, definition(name))
            for case in cases:
                wait(cluster.api, case.path(""))
                for path, body in case.good():
                    cluster.api.must("POST", path, body)
                wait(cluster.api, case.path("", resourceVersion="0"))
            for case in cases:
                cluster.put(case.key, case.value.encode())
            running = settled(cluster, cases)
            cluster.restart()
            start = settled(cluster, cases)
            rows = [
                {"case": case.name, "key": case.key, "value": case.value, "plural": case.plural,
                 "running": running[case.name], "start": start[case.name]}
                for case in cases
            ]  # fmt: skip
            pack(folder, "live-lists.json.gz", json.dumps(rows, indent=1, sort_keys=True).encode() + b"\n")
        finally:
            cluster.stop()


if __name__ == "__main__":
    main()
