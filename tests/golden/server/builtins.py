"""Manifests of built-in kinds that the recorded cluster holds."""

from __future__ import annotations

from typing import Any

from tests.golden.server.world import NAMESPACES

POD = {"containers": [{"name": "main", "image": "example.com/oven:1", "resources": {"requests": {"cpu": "250m", "memory": "64Mi"}},
                       "ports": [{"containerPort": 80}], "env": [{"name": "A", "value": "b"}]}],
       "volumes": [{"name": "v", "emptyDir": {}}], "tolerations": [{"operator": "Exists"}]}  # fmt: skip
TEMPLATE = {"metadata": {"labels": {"app": "oven"}}, "spec": POD}
SELECTOR = {"matchLabels": {"app": "oven"}}


def manifest(api_version: str, kind: str, name: str, namespace: str | None = None, **content: Any) -> dict[str, Any]:
    labels = {"app": "oven", "kind": kind.lower()}
    metadata = {"name": name, "labels": labels} | ({"namespace": namespace} if namespace else {})
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **content}


def manifests() -> list[tuple[str, dict[str, Any]]]:
    """Return (collection path, object) of each object in the order of creation."""
    out: list[tuple[str, dict[str, Any]]] = []

    def add(path: str, made: dict[str, Any]) -> None:
        namespace = made["metadata"].get("namespace")
        root, _, plural = path.rpartition("/")
        out.append((f"{root}/namespaces/{namespace}/{plural}" if namespace else path, made))

    for name in NAMESPACES:
        add("/api/v1/namespaces", manifest("v1", "Namespace", name))
    for name in ("node-apple", "node-pear"):
        add(
            "/api/v1/nodes",
            manifest(
                "v1", "Node", name, spec={"podCIDR": "10.1.0.0/24", "taints": [{"key": "a", "effect": "NoSchedule"}]}
            ),
        )
    add("/api/v1/persistentvolumes", manifest("v1", "PersistentVolume", "volume", spec={
        "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/x"}, "storageClassName": "slow"}))  # fmt: skip
    for namespace in NAMESPACES:
        add("/api/v1/serviceaccounts", manifest("v1", "ServiceAccount", "baker", namespace))
        for at in range(2):
            add(
                "/api/v1/configmaps",
                manifest(
                    "v1", "ConfigMap", f"settings-{at}", namespace, data={"a": "ä\n", "b": ""}, binaryData={"c": "/wA="}
                ),
            )
            add(
                "/api/v1/secrets",
                manifest("v1", "Secret", f"key-{at}", namespace, data={"token": "c2VjcmV0"}, type="Opaque"),
            )
            spec = {**POD, "nodeName": "node-apple"} if at else POD
            add("/api/v1/pods", manifest("v1", "Pod", f"oven-{at}", namespace, spec=spec))
        add(
            "/api/v1/services",
            manifest(
                "v1",
                "Service",
                "oven",
                namespace,
                spec={"selector": {"app": "oven"}, "ports": [{"port": 80, "targetPort": "http"}]},
            ),
        )
        add(
            "/api/v1/endpoints",
            manifest(
                "v1",
                "Endpoints",
                "other",
                namespace,
                subsets=[{"addresses": [{"ip": "10.0.0.9"}], "ports": [{"port": 80}]}],
            ),
        )
        add("/api/v1/persistentvolumeclaims", manifest("v1", "PersistentVolumeClaim", "claim", namespace, spec={
            "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}))  # fmt: skip
        add(
            "/api/v1/limitranges",
            manifest(
                "v1", "LimitRange", "limits", namespace, spec={"limits": [{"type": "Container", "max": {"cpu": "2"}}]}
            ),
        )
        add(
            "/api/v1/resourcequotas", manifest("v1", "ResourceQuota", "quota", namespace, spec={"hard": {"pods": "10"}})
        )
        add(
            "/api/v1/replicationcontrollers",
            manifest(
                "v1",
                "ReplicationController",
                "old",
                namespace,
                spec={"replicas": 1, "selector": {"app": "oven"}, "template": TEMPLATE},
            ),
        )
        add("/api/v1/podtemplates", manifest("v1", "PodTemplate", "template", namespace, template=TEMPLATE))
        add(
            "/apis/apps/v1/deployments",
            manifest(
                "apps/v1",
                "Deployment",
                "oven",
                namespace,
                spec={"replicas": 2, "selector": SELECTOR, "template": TEMPLATE},
            ),
        )
        add(
            "/apis/apps/v1/replicasets",
            manifest(
                "apps/v1",
                "ReplicaSet",
                "oven-1",
                namespace,
                spec={"replicas": 1, "selector": SELECTOR, "template": TEMPLATE},
            ),
        )
        add(
            "/apis/apps/v1/daemonsets",
            manifest("apps/v1", "DaemonSet", "agent", namespace, spec={"selector": SELECTOR, "template": TEMPLATE}),
        )
        add(
            "/apis/apps/v1/statefulsets",
            manifest(
                "apps/v1",
                "StatefulSet",
                "store",
                namespace,
                spec={"serviceName": "oven", "selector": SELECTOR, "template": TEMPLATE},
            ),
        )
        add(
            "/apis/apps/v1/controllerrevisions",
            manifest("apps/v1", "ControllerRevision", "revision", namespace, revision=3, data={"a": 1}),
        )
        job = {"template": {"spec": {**POD, "restartPolicy": "Never"}}}
        add("/apis/batch/v1/jobs", manifest("batch/v1", "Job", "bake", namespace, spec=job))
        add(
            "/apis/batch/v1/cronjobs",
            manifest(
                "batch/v1",
                "CronJob",
                "nightly",
                namespace,
                spec={"schedule": "5 4 * * *", "jobTemplate": {"spec": job}},
            ),
        )
        add("/apis/autoscaling/v2/horizontalpodautoscalers", manifest("autoscaling/v2", "HorizontalPodAutoscaler", "more", namespace, spec={
            "maxReplicas": 5, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "oven"}}))  # fmt: skip
        add(
            "/apis/policy/v1/poddisruptionbudgets",
            manifest(
                "policy/v1",
                "PodDisruptionBudget",
                "budget",
                namespace,
                spec={"minAvailable": "50%", "selector": SELECTOR},
            ),
        )
        add(
            "/apis/networking.k8s.io/v1/networkpolicies",
            manifest("networking.k8s.io/v1", "NetworkPolicy", "none", namespace, spec={"podSelector": {}}),
        )
        add("/apis/networking.k8s.io/v1/ingresses", manifest("networking.k8s.io/v1", "Ingress", "front", namespace, spec={
            "defaultBackend": {"service": {"name": "oven", "port": {"number": 80}}}}))  # fmt: skip
        add("/apis/discovery.k8s.io/v1/endpointslices", manifest("discovery.k8s.io/v1", "EndpointSlice", "oven-1", namespace, addressType="IPv4",
                                                                 endpoints=[{"addresses": ["10.0.0.9"]}], ports=[{"port": 80}]))  # fmt: skip
        rule = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}
        add(
            "/apis/rbac.authorization.k8s.io/v1/roles",
            manifest("rbac.authorization.k8s.io/v1", "Role", "reader", namespace, rules=[rule]),
        )
        reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"}
        add("/apis/rbac.authorization.k8s.io/v1/rolebindings", manifest("rbac.authorization.k8s.io/v1", "RoleBinding", "reader", namespace, roleRef=reference,
                                                                        subjects=[{"kind": "ServiceAccount", "name": "baker", "namespace": namespace}]))  # fmt: skip
        add("/api/v1/events", manifest("v1", "Event", "oven.1", namespace, involvedObject={"kind": "Pod", "name": "oven-0", "namespace": namespace},
                                       reason="Started", message="warm", type="Normal", count=2, firstTimestamp="2026-02-11T08:00:00Z",
                                       lastTimestamp="2026-02-11T09:00:00Z", source={"component": "baker"}))  # fmt: skip
    for name in ("reader", "writer"):
        rules = [{"nonResourceURLs": ["/x"], "verbs": ["get"]}]
        add(
            "/apis/rbac.authorization.k8s.io/v1/clusterroles",
            manifest("rbac.authorization.k8s.io/v1", "ClusterRole", name, rules=rules),
        )
        reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name}
        add(
            "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
            manifest("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", name, roleRef=reference),
        )
    add(
        "/apis/storage.k8s.io/v1/storageclasses",
        manifest("storage.k8s.io/v1", "StorageClass", "slow", provisioner="example.com/slow"),
    )
    add(
        "/apis/storage.k8s.io/v1/csidrivers",
        manifest("storage.k8s.io/v1", "CSIDriver", "csi.example.com", spec={"podInfoOnMount": True}),
    )
    add(
        "/apis/scheduling.k8s.io/v1/priorityclasses", manifest("scheduling.k8s.io/v1", "PriorityClass", "low", value=-5)
    )
    add("/apis/node.k8s.io/v1/runtimeclasses", manifest("node.k8s.io/v1", "RuntimeClass", "small", handler="small"))
    add(
        "/apis/networking.k8s.io/v1/ingressclasses",
        manifest("networking.k8s.io/v1", "IngressClass", "front", spec={"controller": "example.com/front"}),
    )
    hook = {"name": "check.example.com", "clientConfig": {"url": "https://127.0.0.1:9/"}, "sideEffects": "None", "admissionReviewVersions": ["v1"],
            "rules": [{"apiGroups": ["none.example.com"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["nothing"]}]}  # fmt: skip
    add(
        "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
        manifest("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "check", webhooks=[hook]),
    )
    add(
        "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
        manifest("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", "check", webhooks=[hook]),
    )
    return out
