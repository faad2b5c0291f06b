"""Records two snapshots of a real API server with values of built-in kinds that it does not take, and what it answers.

``python -m tests.golden.server.torn KUBE [FOLDER]``; KUBE as for `record`. Some values are cut short, have a wrong type
or an unknown version; others are of versions that the server wrote once: it still decodes some of those.
"""

from __future__ import annotations

import base64
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.golden.server.record import Cluster, pack

RECORDED = Path(__file__).resolve().parents[2] / "recorded" / "golden" / "kube"
CORE = "/api/v1/namespaces/shop"
PODS = {"containers": [{"name": "web", "image": "registry.example.com/web:1"}]}
TEMPLATE = {"metadata": {"labels": {"app": "web"}}, "spec": PODS}


def made(api_version: str, kind: str, name: str, **more: Any) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "namespace": "shop"}, **more}


def good_objects() -> list[tuple[str, dict[str, Any]]]:
    """Return what is created through the API: (path, object)."""
    out: list[tuple[str, dict[str, Any]]] = [("/api/v1/namespaces", {"metadata": {"name": "shop"}})]
    for at in range(12):
        out.append((f"{CORE}/configmaps", made("v1", "ConfigMap", f"prices-{at}", data={"bread": str(at)})))
        out.append((f"{CORE}/pods", made("v1", "Pod", f"web-{at}", spec=PODS)))
    spec = {"replicas": 1, "selector": {"matchLabels": {"app": "web"}}, "template": TEMPLATE}
    out.append(("/apis/apps/v1/namespaces/shop/deployments", made("apps/v1", "Deployment", "web", spec=spec)))
    out.append((f"{CORE}/services", made("v1", "Service", "web", spec={"ports": [{"port": 80}]})))
    return out


def cut(value: bytes) -> bytes:
    return value[: len(value) // 2]


def torn(pod: bytes) -> dict[str, bytes]:
    """Return values that are broken, by key."""
    spec = {"replicas": "three", "selector": {"matchLabels": {"app": "web"}}, "template": TEMPLATE}
    values = {
        "deployments/shop/badtype": made("apps/v1", "Deployment", "badtype", spec=spec),
        "services/specs/shop/unk": made("v7", "Service", "unk", spec={"ports": [{"port": 80}]}),
    }
    text = json.dumps(made("v1", "ConfigMap", "torn", data={"a": "b"})).encode()
    found = {key: json.dumps(value).encode() for key, value in values.items()}
    return {**found, "pods/shop/web-torn": cut(pod), "configmaps/shop/torn": cut(text)}


def old() -> dict[str, bytes]:
    """Return values of versions that are no longer served, by key."""
    budget = {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}
    scaled = {"scaleTargetRef": {"kind": "Deployment", "name": "web"}, "maxReplicas": 2}
    job = {"schedule": "0 3 * * *", "jobTemplate": {"spec": {"template": {"spec": {**PODS, "restartPolicy": "Never"}}}}}
    ingress = {"backend": {"serviceName": "web", "servicePort": 80}}
    slices = {"addressType": "IPv4", "endpoints": [{"addresses": ["10.0.0.9"]}], "ports": []}
    values = {
        "horizontalpodautoscalers/shop/old": ("autoscaling/v2beta2", "HorizontalPodAutoscaler", {"spec": scaled}),
        "resourceclaims/shop/old": ("resource.k8s.io/v1alpha2", "ResourceClaim", {"spec": {"resourceClassName": "a"}}),
        "cronjobs/shop/old": ("batch/v1beta1", "CronJob", {"spec": job}),
        "poddisruptionbudgets/shop/old": ("policy/v1beta1", "PodDisruptionBudget", {"spec": budget}),
        "ingress/shop/old": ("extensions/v1beta1", "Ingress", {"spec": ingress}),
        "endpointslices/shop/old": ("discovery.k8s.io/v1beta1", "EndpointSlice", slices),
    }
    return {
        key: json.dumps(made(version, kind, "old", **more)).encode() for key, (version, kind, more) in values.items()
    }


PATHS = {
    "pods": "/api/v1/pods",
    "configmaps": "/api/v1/configmaps",
    "deployments": "/apis/apps/v1/deployments",
    "services": "/api/v1/services",
    "horizontalpodautoscalers": "/apis/autoscaling/v2/horizontalpodautoscalers",
    "resourceclaims": "/apis/resource.k8s.io/v1/resourceclaims",
    "cronjobs": "/apis/batch/v1/cronjobs",
    "poddisruptionbudgets": "/apis/policy/v1/poddisruptionbudgets",
    "ingress": "/apis/networking.k8s.io/v1/ingresses",
    "endpointslices": "/apis/discovery.k8s.io/v1/endpointslices",
}


def listed(cluster: Cluster, key: str) -> dict[str, Any]:
    """Return the answer to a LIST of the kind of a key, without the watch cache."""
    code, body = cluster.api.request("GET", PATHS[key.partition("/")[0]])
    if code != 200:
        return {"code": code, "message": body["message"]}
    return {"code": code, "names": sorted(one["metadata"].get("name", "") for one in body["items"])}


def main() -> None:
    kube, *more = sys.argv[1:]
    folder = Path(more[0]) if more else RECORDED
    with tempfile.TemporaryDirectory() as work:
        cluster = Cluster(Path(kube), Path(work), "--watch-cache=false")
        try:
            for path, body in good_objects():
                cluster.api.must("POST", path, body)
            time.sleep(2)
            pod = base64.b64decode(cluster.values()["/registry/pods/shop/web-0"]["value"])
            answers: dict[str, Any] = {}
            for name, values in (("tornb.db.gz", torn(pod)), ("oldapis.db.gz", old())):
                for key, value in values.items():
                    cluster.put(f"/registry/{key}", value)
                answers[name] = {key: listed(cluster, key) for key in values}
                path = Path(work) / "snapshot.db"
                path.unlink(missing_ok=True)
                cluster.etcdctl("snapshot", "save", str(path))
                pack(folder, name, path.read_bytes())
                for key in values:
                    cluster.etcdctl("del", f"/registry/{key}")
            pack(folder, "lists.json", json.dumps(answers, indent=1, sort_keys=True).encode() + b"\n")
        finally:
            cluster.stop()


if __name__ == "__main__":
    main()
