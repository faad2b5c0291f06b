"""Cells of built-in kinds, by the rules of their printers."""

from __future__ import annotations

from typing import Any

import pytest

from auditor.builtin.builtin_columns import builtin_cells, builtin_headers
from auditor.builtin.builtin_kinds import BUILTIN_KINDS
from auditor.printing.printer_columns import cell_text

NOW = 1_750_000_000.0  # 2025-06-15T15:06:40Z
CREATED = "2025-06-15T15:01:40Z"
META = {"name": "n", "namespace": "s", "creationTimestamp": CREATED}


def cells(group: str, kind: str, obj: dict[str, Any], *, listed: bool = True) -> dict[str, str]:
    """Return header to text."""
    obj = {**obj, "metadata": {**META, **obj.get("metadata", {})}}
    (row,) = builtin_cells(group, kind, [obj], NOW, listed=listed)
    headers = [one.name.upper() for one in builtin_headers(group, kind)]
    assert len(headers) == len(row), (headers, row)
    return dict(zip(headers, map(cell_text, row), strict=True))


def pod(spec: dict[str, Any] | None = None, **status: Any) -> dict[str, str]:
    return cells("", "Pod", {"spec": spec or {"containers": [{"name": "a"}]}, "status": status})


def running(name: str, *, ready: bool = True, restarts: int = 0, **more: Any) -> dict[str, Any]:
    return {"name": name, "ready": ready, "restartCount": restarts, "state": {"running": {}}, **more}


def ended(name: str, code: int = 0, **more: Any) -> dict[str, Any]:
    return {"name": name, "restartCount": 0, "state": {"terminated": {"exitCode": code, **more}}}


PODS: list[tuple[str, dict[str, str], str, str, str]] = []


@pytest.mark.parametrize(
    ("spec", "status", "ready", "reason", "restarts"),
    [
        (None, {"phase": "Pending"}, "0/1", "Pending", "0"),
        (None, {"phase": "Running", "containerStatuses": [running("a", restarts=3)]}, "1/1", "Running", "3"),
        (None, {"phase": "Failed", "reason": "Evicted"}, "0/1", "Evicted", "0"),
        (
            None,
            {"phase": "Pending", "conditions": [{"type": "PodScheduled", "reason": "SchedulingGated"}]},
            "0/1",
            "SchedulingGated",
            "0",
        ),
        (
            None,
            {
                "phase": "Running",
                "containerStatuses": [
                    {
                        "name": "a",
                        "restartCount": 2,
                        "state": {"waiting": {"reason": "CrashLoopBackOff"}},
                        "lastState": {"terminated": {"finishedAt": "2025-06-15T15:04:40Z"}},
                    }
                ],
            },
            "0/1",
            "CrashLoopBackOff",
            "2 (2m ago)",
        ),
        (None, {"phase": "Succeeded", "containerStatuses": [ended("a", reason="Completed")]}, "0/1", "Completed", "0"),
        (None, {"phase": "Failed", "containerStatuses": [ended("a", 3)]}, "0/1", "ExitCode:3", "0"),
        (None, {"phase": "Failed", "containerStatuses": [ended("a", 137, signal=9)]}, "0/1", "Signal:9", "0"),
        (
            {"containers": [{"name": "a"}, {"name": "b"}]},
            {
                "phase": "Running",
                "conditions": [{"type": "Ready", "status": "True"}],
                "containerStatuses": [ended("a", reason="Completed"), running("b")],
            },
            "1/2",
            "Running",
            "0",
        ),
        (
            {"containers": [{"name": "a"}, {"name": "b"}]},
            {"phase": "Running", "containerStatuses": [ended("a", reason="Completed"), running("b")]},
            "1/2",
            "NotReady",
            "0",
        ),
        (
            {"containers": [{"name": "a"}, {"name": "b"}]},
            {
                "phase": "Failed",
                "containerStatuses": [ended("a", reason="Completed"), ended("b", 1, reason="Error")],
            },
            "0/2",
            "Error",
            "0",
        ),
        (
            {"containers": [{"name": "a"}], "initContainers": [{"name": "i"}, {"name": "j"}]},
            {"phase": "Pending", "initContainerStatuses": [ended("i"), {"name": "j", "restartCount": 4}]},
            "0/1",
            "Init:1/2",
            "4",
        ),
        (
            {"containers": [{"name": "a"}], "initContainers": [{"name": "i"}]},
            {"phase": "Pending", "initContainerStatuses": [ended("i", 2)]},
            "0/1",
            "Init:ExitCode:2",
            "0",
        ),
        (
            {"containers": [{"name": "a"}], "initContainers": [{"name": "i"}]},
            {
                "phase": "Pending",
                "initContainerStatuses": [{"name": "i", "state": {"waiting": {"reason": "ImagePullBackOff"}}}],
            },
            "0/1",
            "Init:ImagePullBackOff",
            "0",
        ),
        (
            {"containers": [{"name": "a"}], "initContainers": [{"name": "i", "restartPolicy": "Always"}]},
            {
                "phase": "Running",
                "initContainerStatuses": [running("i", restarts=2, started=True)],
                "containerStatuses": [running("a", restarts=1)],
            },
            "2/2",
            "Running",
            "3",
        ),
    ],
)
def test_the_state_of_a_pod_is_derived_from_its_containers(
    spec: Any, status: Any, ready: str, reason: str, restarts: str
) -> None:
    found = pod(spec, **status)
    assert (found["READY"], found["STATUS"], found["RESTARTS"]) == (ready, reason, restarts)
    assert found["AGE"] == "5m"


@pytest.mark.parametrize(
    ("status", "shown"),
    [
        ({"phase": "Running"}, "Terminating"),
        ({"phase": "Succeeded"}, "Succeeded"),
        ({"phase": "Failed"}, "Failed"),
        ({"phase": "Running", "reason": "NodeLost"}, "Unknown"),
    ],
)
def test_a_pod_that_is_being_deleted_says_so(status: dict[str, str], shown: str) -> None:
    obj = {"metadata": {"deletionTimestamp": CREATED}, "spec": {"containers": [{}]}, "status": status}
    assert cells("", "Pod", obj)["STATUS"] == shown


CELLS: list[tuple[str, str, dict[str, Any], dict[str, str]]] = [
    ("apps", "Deployment", {"spec": {"replicas": 3}, "status": {"readyReplicas": 2, "updatedReplicas": 1}},
     {"READY": "2/3", "UP-TO-DATE": "1", "AVAILABLE": "0", "AGE": "5m"}),
    ("apps", "Deployment", {}, {"READY": "0/1"}),
    ("apps", "ReplicaSet", {"spec": {"replicas": 0}, "status": {"replicas": 2}},
     {"DESIRED": "0", "CURRENT": "2", "READY": "0"}),
    ("", "ReplicationController", {}, {"DESIRED": "1", "CURRENT": "0", "READY": "0", "AGE": "5m"}),
    ("apps", "StatefulSet", {"spec": {"replicas": 2}, "status": {"readyReplicas": 1}}, {"READY": "1/2", "AGE": "5m"}),
    ("apps", "DaemonSet", {"status": {"desiredNumberScheduled": 3, "numberReady": 2},
                           "spec": {"template": {"spec": {"nodeSelector": {"b": "2", "a": "1", "a-b": ""}}}}},
     {"DESIRED": "3", "CURRENT": "0", "READY": "2", "UP-TO-DATE": "0", "AVAILABLE": "0", "NODE SELECTOR": "a-b=,a=1,b=2"}),
    ("apps", "DaemonSet", {}, {"NODE SELECTOR": "<none>"}),
    ("batch", "Job", {"spec": {"completions": 3}, "status": {"succeeded": 1, "startTime": "2025-06-15T15:05:40Z"}},
     {"STATUS": "Running", "COMPLETIONS": "1/3", "DURATION": "60s"}),
    ("batch", "Job", {"spec": {"parallelism": 4}, "status": {"conditions": [{"type": "Complete", "status": "True"}]}},
     {"STATUS": "Complete", "COMPLETIONS": "0/1 of 4", "DURATION": ""}),
    ("batch", "Job", {"status": {"startTime": CREATED, "completionTime": "2025-06-15T15:03:00Z",
                                 "conditions": [{"type": "Suspended", "status": "True"}]}},
     {"STATUS": "Suspended", "COMPLETIONS": "0/1", "DURATION": "80s"}),
    ("batch", "Job", {"metadata": {"deletionTimestamp": CREATED},
                      "status": {"conditions": [{"type": "Suspended", "status": "True"}]}}, {"STATUS": "Terminating"}),
    ("batch", "CronJob", {"spec": {"schedule": "* * * * *", "suspend": False}, "status": {"active": [{}, {}]}},
     {"SCHEDULE": "* * * * *", "TIMEZONE": "<none>", "SUSPEND": "False", "ACTIVE": "2", "LAST SCHEDULE": "<none>"}),
    ("batch", "CronJob", {"status": {"lastScheduleTime": CREATED}}, {"SUSPEND": "False", "LAST SCHEDULE": "5m"}),
    ("", "Service", {"spec": {"clusterIPs": ["10.0.0.1", "fd::1"], "ports": [{"port": 80, "nodePort": 30080},
                                                                           {"port": 53, "protocol": "UDP"}]}},
     {"TYPE": "ClusterIP", "CLUSTER-IP": "10.0.0.1", "EXTERNAL-IP": "<none>", "PORT(S)": "80:30080/TCP,53/UDP"}),
    ("", "Service", {"spec": {"type": "LoadBalancer", "clusterIP": "10.0.0.2"}},
     {"CLUSTER-IP": "10.0.0.2", "EXTERNAL-IP": "<pending>", "PORT(S)": "<none>"}),
    ("", "Service", {"spec": {"type": "LoadBalancer", "externalIPs": ["9.9.9.9"]},
                     "status": {"loadBalancer": {"ingress": [{"hostname": "b"}, {"ip": "1.2.3.4"}]}}},
     {"EXTERNAL-IP": "1.2.3.4,b,9.9.9.9"}),
    ("", "Service", {"spec": {"type": "LoadBalancer"},
                     "status": {"loadBalancer": {"ingress": [{"hostname": "abcdefghijklmnopqrstuvwxyz"}]}}},
     {"EXTERNAL-IP": "abcdefghijklmnopqrstuvwxyz"}),
    ("", "Service", {"spec": {"type": "ExternalName", "externalName": "x.org"}},
     {"CLUSTER-IP": "<none>", "EXTERNAL-IP": "x.org"}),
    ("", "Endpoints", {"subsets": [{"addresses": [{"ip": "1.1.1.1"}, {"ip": "::1"}], "ports": [{"port": 80}, {"port": 81}]}]},
     {"ENDPOINTS": "1.1.1.1:80,[::1]:80,1.1.1.1:81 + 1 more..."}),
    ("", "Endpoints", {"subsets": [{"addresses": [{"ip": "1.1.1.1"}]}]}, {"ENDPOINTS": "1.1.1.1"}),
    ("", "Endpoints", {}, {"ENDPOINTS": "<none>"}),
    ("", "Endpoints", {"subsets": [{"notReadyAddresses": [{"ip": "1.1.1.1"}]}]}, {"ENDPOINTS": ""}),
    ("discovery.k8s.io", "EndpointSlice",
     {"addressType": "IPv4", "ports": [{"port": 80}, {"name": "x"}, {}],
      "endpoints": [{"addresses": ["1", "2"]}, {"addresses": ["3", "4"]}]},
     {"ADDRESSTYPE": "IPv4", "PORTS": "80,x,", "ENDPOINTS": "1,2,3 + 1 more..."}),
    ("discovery.k8s.io", "EndpointSlice", {"addressType": "IPv6"}, {"PORTS": "<unset>", "ENDPOINTS": "<unset>"}),
    ("", "ConfigMap", {"data": {"a": ""}, "binaryData": {"b": "", "c": ""}}, {"DATA": "3", "AGE": "5m"}),
    ("", "Secret", {"type": "Opaque", "data": {"a": ""}}, {"TYPE": "Opaque", "DATA": "1"}),
    ("", "Node", {"metadata": {"labels": {"node-role.kubernetes.io/worker": "", "kubernetes.io/role": "edge"}},
                  "spec": {"unschedulable": True},
                  "status": {"conditions": [{"type": "Ready", "status": "False"}],
                             "nodeInfo": {"kubeletVersion": "v1.37.1"}}},
     {"STATUS": "NotReady,SchedulingDisabled", "ROLES": "edge,worker", "VERSION": "v1.37.1"}),
    ("", "Node", {}, {"STATUS": "Unknown", "ROLES": "<none>", "VERSION": ""}),
    ("", "Namespace", {"status": {"phase": "Active"}}, {"STATUS": "Active", "AGE": "5m"}),
    ("", "PersistentVolume", {"spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteMany", "ReadWriteOnce"],
                                       "persistentVolumeReclaimPolicy": "Retain", "claimRef": {"namespace": "a", "name": "b"},
                                       "storageClassName": "fast"}, "status": {"phase": "Bound"}},
     {"CAPACITY": "1Gi", "ACCESS MODES": "RWO,RWX", "RECLAIM POLICY": "Retain", "STATUS": "Bound", "CLAIM": "a/b",
      "STORAGECLASS": "fast", "VOLUMEATTRIBUTESCLASS": "<unset>", "REASON": ""}),
    ("", "PersistentVolumeClaim", {"metadata": {"annotations": {"volume.beta.kubernetes.io/storage-class": "old"}},
                                   "spec": {"volumeName": "pv", "storageClassName": "fast"},
                                   "status": {"phase": "Bound", "capacity": {"storage": "2Gi"},
                                              "accessModes": ["ReadOnlyMany", "ReadWriteOncePod"]}},
     {"STATUS": "Bound", "VOLUME": "pv", "CAPACITY": "2Gi", "ACCESS MODES": "ROX,RWOP", "STORAGECLASS": "old"}),
    ("", "PersistentVolumeClaim", {"metadata": {"deletionTimestamp": CREATED}, "status": {"capacity": {"storage": "2Gi"}}},
     {"STATUS": "Terminating", "VOLUME": "", "CAPACITY": "", "ACCESS MODES": ""}),
    ("storage.k8s.io", "StorageClass", {"provisioner": "x"},
     {"PROVISIONER": "x", "RECLAIMPOLICY": "Delete", "VOLUMEBINDINGMODE": "Immediate", "ALLOWVOLUMEEXPANSION": "false"}),
    ("", "Event", {"type": "Normal", "reason": "R", "message": " m \n", "lastTimestamp": CREATED,
                   "involvedObject": {"kind": "Pod", "name": "p"}},
     {"LAST SEEN": "5m", "TYPE": "Normal", "REASON": "R", "OBJECT": "pod/p", "MESSAGE": "m", "COUNT": "1"}),
    ("", "Event", {"eventTime": "2025-06-15T15:05:40.000001Z", "involvedObject": {"kind": "Node"}},
     {"LAST SEEN": "59s", "OBJECT": "node", "FIRST SEEN": "59s"}),
    ("", "Event", {"series": {"count": 7, "lastObservedTime": CREATED}, "firstTimestamp": "2025-06-15T14:06:40Z"},
     {"LAST SEEN": "5m", "COUNT": "7", "FIRST SEEN": "60m"}),
    ("", "ServiceAccount", {}, {"NAME": "n", "AGE": "5m"}),
    ("rbac.authorization.k8s.io", "Role", {}, {"CREATED AT": CREATED}),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding", {"roleRef": {"kind": "ClusterRole", "name": "r"}},
     {"ROLE": "ClusterRole/r", "AGE": "5m"}),
    ("networking.k8s.io", "Ingress", {"spec": {"rules": [{"host": "a"}, {"host": "b"}, {"host": "c"}, {"host": "d"}],
                                               "tls": [{}]}},
     {"CLASS": "<none>", "HOSTS": "a,b,c + 1 more...", "ADDRESS": "", "PORTS": "80, 443"}),
    ("networking.k8s.io", "Ingress", {"spec": {"ingressClassName": "x"}}, {"CLASS": "x", "HOSTS": "*", "PORTS": "80"}),
    ("networking.k8s.io", "IngressClass",
     {"metadata": {"annotations": {"ingressclass.kubernetes.io/is-default-class": "true"}},
      "spec": {"controller": "c", "parameters": {"apiGroup": "g", "kind": "K", "name": "p"}}},
     {"NAME": "n (default)", "CONTROLLER": "c", "PARAMETERS": "K.g/p"}),
    ("networking.k8s.io", "NetworkPolicy",
     {"spec": {"podSelector": {"matchLabels": {"b": "1"},
                               "matchExpressions": [{"key": "a", "operator": "In", "values": ["y", "x"]},
                                                    {"key": "c", "operator": "DoesNotExist"},
                                                    {"key": "d", "operator": "Exists"},
                                                    {"key": "e", "operator": "NotIn", "values": ["z"]}]}}},
     {"POD-SELECTOR": "a in (x,y),b=1,!c,d,e notin (z)"}),
    ("networking.k8s.io", "NetworkPolicy", {"spec": {"podSelector": {}}}, {"POD-SELECTOR": "<none>"}),
    ("coordination.k8s.io", "Lease", {"spec": {"holderIdentity": "h"}}, {"HOLDER": "h"}),
    ("apiextensions.k8s.io", "CustomResourceDefinition",
     {"spec": {"scope": "Cluster", "versions": [{"name": "v2", "served": True, "storage": True},
                                                {"name": "v1", "served": True}, {"name": "v0"}]}},
     {"SCOPE": "Cluster", "VERSIONS": "v1,v2(storage)", "CREATED AT": CREATED}),
    ("apiextensions.k8s.io", "CustomResourceDefinition",
     {"apiVersion": "apiextensions.k8s.io/v1beta1", "metadata": {"name": "n", "creationTimestamp": None},
      "spec": {"version": "v1", "group": "g", "names": {"kind": "K", "shortNames": ["a", "b"]}},
      "status": {"conditions": [{"type": "Established", "status": "True"}]}},
     {"SCOPE": "Namespaced", "VERSIONS": "v1(storage)", "CREATED AT": "0001-01-01T00:00:00Z", "GROUP": "g", "KIND": "K",
      "SHORTNAMES": "a,b", "ESTABLISHED": "true"}),
    ("apiextensions.k8s.io", "CustomResourceDefinition",
     {"apiVersion": "apiextensions.k8s.io/v1", "spec": {"version": "v1", "scope": ""},
      "status": {"conditions": [{"type": "Established", "status": "False"}]}},
     {"SCOPE": "", "VERSIONS": "", "SHORTNAMES": "", "ESTABLISHED": "false"}),
    ("apiregistration.k8s.io", "APIService",
     {"spec": {"service": {"namespace": "a", "name": "b"}},
      "status": {"conditions": [{"type": "Available", "status": "False", "reason": "Gone"}]}},
     {"SERVICE": "a/b", "AVAILABLE": "False (Gone)"}),
    ("apiregistration.k8s.io", "APIService", {}, {"SERVICE": "Local", "AVAILABLE": "Unknown"}),
    ("apiregistration.k8s.io", "APIService", {"spec": {"service": {}}}, {"SERVICE": "/"}),
    ("certificates.k8s.io", "CertificateSigningRequest",
     {"spec": {"signerName": "s", "username": "u", "expirationSeconds": 3600},
      "status": {"conditions": [{"type": "Approved"}], "certificate": "eA=="}},
     {"SIGNERNAME": "s", "REQUESTOR": "u", "REQUESTEDDURATION": "60m", "CONDITION": "Approved,Issued"}),
    ("certificates.k8s.io", "CertificateSigningRequest", {"status": {"conditions": [{"type": "Denied"}, {"type": "Failed"}]}},
     {"REQUESTEDDURATION": "<none>", "CONDITION": "Denied,Failed"}),
    ("autoscaling", "HorizontalPodAutoscaler",
     {"spec": {"scaleTargetRef": {"kind": "Deployment", "name": "d"}, "maxReplicas": 5,
               "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": {"averageUtilization": 80}}},
                           {"type": "Pods", "pods": {"target": {"averageValue": "10"}}},
                           {"type": "External", "external": {"target": {"value": "3"}}}]},
      "status": {"currentReplicas": 2,
                 "currentMetrics": [{"type": "Resource", "resource": {"current": {"averageUtilization": 40}}}]}},
     {"REFERENCE": "Deployment/d", "TARGETS": "cpu: 40%/80%, <unknown>/10 + 1 more...", "MINPODS": "1",
      "MAXPODS": "5", "REPLICAS": "2"}),
    ("autoscaling", "HorizontalPodAutoscaler", {}, {"TARGETS": "cpu: <unknown>/80%", "MINPODS": "1"}),
    ("policy", "PodDisruptionBudget", {"spec": {"minAvailable": "50%"}, "status": {"disruptionsAllowed": 1}},
     {"MIN AVAILABLE": "50%", "MAX UNAVAILABLE": "N/A", "ALLOWED DISRUPTIONS": "1"}),
    ("scheduling.k8s.io", "PriorityClass", {"value": -5, "globalDefault": True}, {"VALUE": "-5", "GLOBAL-DEFAULT": "true"}),
    ("", "LimitRange", {}, {"NAME": "n", "CREATED AT": CREATED}),
    ("", "LimitRange", {"metadata": {"creationTimestamp": None}}, {"CREATED AT": "0001-01-01T00:00:00Z"}),
    # as the printers of 1.37.2 answered: the defaults of a read, pointers to nothing, and the widest table
    ("batch", "CronJob", {"spec": {"timeZone": ""}}, {"TIMEZONE": "", "SUSPEND": "False"}),
    ("autoscaling", "HorizontalPodAutoscaler",
     {"spec": {"minReplicas": 2, "targetCPUUtilizationPercentage": 70}, "status": {"currentCPUUtilizationPercentage": 3}},
     {"TARGETS": "cpu: 3%/70%", "MINPODS": "2"}),
    ("", "Secret", {"data": {"a": ""}, "stringData": {"a": "x", "b": "y"}}, {"TYPE": "Opaque", "DATA": "2"}),
    ("", "Namespace", {}, {"STATUS": "Active"}),
    ("", "PersistentVolume", {"spec": {"volumeAttributesClassName": ""}},
     {"RECLAIM POLICY": "Retain", "STATUS": "Pending", "VOLUMEATTRIBUTESCLASS": ""}),
    ("", "PersistentVolumeClaim", {"spec": {"volumeAttributesClassName": ""}},
     {"STATUS": "Pending", "VOLUMEATTRIBUTESCLASS": ""}),
    ("", "Event",
     {"message": "\u00a0m\x1c\n", "involvedObject": {"kind": "\u0130\u0391\u03a3"}, "source": {"host": "h"},
      "reportingComponent": "c", "reportingInstance": "i", "series": {"count": 0}, "count": 4},
     {"MESSAGE": "m\x1c", "OBJECT": "i\u03b1\u03c3", "SOURCE": "c, h", "COUNT": "0", "LAST SEEN": "<unknown>"}),
    ("", "Event", {"source": {"component": "c"}, "reportingInstance": "i"}, {"SOURCE": "c, i", "COUNT": "1"}),
    ("networking.k8s.io", "IngressClass", {"spec": {"parameters": {"kind": "K", "name": "n", "apiGroup": ""}}},
     {"PARAMETERS": "K./n"}),
    ("networking.k8s.io", "Ingress",
     {"spec": {"ingressClassName": ""},
      "status": {"loadBalancer": {"ingress": [{"hostname": "lb-0123456789.elb.example.com"}]}}},
     {"CLASS": "", "ADDRESS": "lb-0123456789.elb.example.com"}),
    ("certificates.k8s.io", "CertificateSigningRequest", {}, {"SIGNERNAME": "<none>"}),
    ("", "Service", {"spec": {"clusterIPs": [""]}}, {"CLUSTER-IP": ""}),
    ("", "Node", {"status": {"conditions": [{"type": "Ready", "status": "False"}, {"type": "Ready", "status": "True"}]}},
     {"STATUS": "Ready"}),
    ("", "Pod",
     {"spec": {"initContainers": [{"name": "a", "restartPolicy": "Always"}] * 2},
      "status": {"podIP": "1.1.1.1", "podIPs": [{"ip": "2.2.2.2"}]}},
     {"READY": "0/2", "IP": "1.1.1.1"}),
]  # fmt: skip


def test_a_priority_class_always_shows_whether_it_preempts() -> None:
    assert [one.name for one in builtin_headers("scheduling.k8s.io", "PriorityClass") if not one.wide] == [
        "Name",
        "Value",
        "Global-Default",
        "Age",
        "PreemptionPolicy",
    ]


@pytest.mark.parametrize(("group", "kind", "obj", "wanted"), CELLS)
def test_cells_are_those_of_the_printer(group: str, kind: str, obj: dict[str, Any], wanted: dict[str, str]) -> None:
    found = cells(group, kind, obj)
    assert {header: found[header] for header in wanted} == wanted


@pytest.mark.parametrize("one", BUILTIN_KINDS, ids=lambda one: f"{one.plural}.{one.version}.{one.group}")
def test_any_object_of_any_kind_prints(one: Any) -> None:
    odd = {"metadata": {"labels": {}}, "spec": [], "status": "x", "data": {}, "subsets": None, "series": 3}
    for obj in ({}, odd):
        assert len(cells(one.group, one.kind, obj)) > 1


def test_the_default_among_listed_storage_classes_is_the_newest_then_the_first() -> None:
    def made(name: str, created: str, *, default: bool) -> dict[str, Any]:
        annotations = {"storageclass.kubernetes.io/is-default-class": "true" if default else "false"}
        return {"metadata": {"name": name, "creationTimestamp": created, "annotations": annotations}}

    objects = [
        made("old", "2024-01-01T00:00:00Z", default=True),
        made("b", "2025-01-01T00:00:00Z", default=True),
        made("a", "2025-01-01T00:00:00Z", default=True),
        made("none", "2025-02-01T00:00:00Z", default=False),
    ]
    rows = builtin_cells("storage.k8s.io", "StorageClass", objects, NOW, listed=True)
    assert [row[0] for row in rows] == ["old", "b", "a (default)", "none"]
    assert builtin_cells("storage.k8s.io", "StorageClass", objects[:1], NOW, listed=False)[0][0] == "old"
