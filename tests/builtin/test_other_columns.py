"""Wide columns, and cells of kinds that configure a cluster, as recorded from the printers of 1.37.2."""

from __future__ import annotations

from typing import Any

import pytest

from auditor.builtin.builtin_columns import builtin_headers
from tests.builtin.test_builtin_columns import cells

TEMPLATE: dict[str, Any] = {
    "spec": {"containers": [{"name": "a", "image": "i:1"}, {"name": "b", "image": "i:2"}]},
    "metadata": {"labels": {"l": "v"}},
}
SELECTOR: dict[str, Any] = {
    "matchLabels": {"b": "2", "a": "1"},
    "matchExpressions": [{"key": "c", "operator": "In", "values": ["y", "x"]}],
}
SELECTOR_IN_GO = (
    "&LabelSelector{MatchLabels:map[string]string{a: 1,b: 2,},MatchExpressions:[]LabelSelectorRequirement{"
    "LabelSelectorRequirement{Key:c,Operator:In,Values:[y x],},},}"
)
CELLS: list[tuple[str, str, dict[str, Any], dict[str, str]]] = [
    (
        "apps",
        "Deployment",
        {"spec": {"template": TEMPLATE, "selector": SELECTOR}},
        {"CONTAINERS": "a,b", "IMAGES": "i:1,i:2", "SELECTOR": "a=1,b=2,c in (x,y)"},
    ),
    ("apps", "Deployment", {}, {"CONTAINERS": "", "IMAGES": "", "SELECTOR": ""}),
    (
        "apps",
        "ReplicaSet",
        {"spec": {"template": TEMPLATE}},
        {"CONTAINERS": "a,b", "IMAGES": "i:1,i:2", "SELECTOR": "<none>"},
    ),
    ("apps", "StatefulSet", {"spec": {"template": TEMPLATE}}, {"CONTAINERS": "a,b", "IMAGES": "i:1,i:2"}),
    (
        "apps",
        "DaemonSet",
        {"spec": {"template": TEMPLATE, "selector": SELECTOR}},
        {"CONTAINERS": "a,b", "IMAGES": "i:1,i:2", "SELECTOR": "a=1,b=2,c in (x,y)"},
    ),
    (
        "",
        "ReplicationController",
        {"spec": {"template": TEMPLATE}},
        {"CONTAINERS": "a,b", "IMAGES": "i:1,i:2", "SELECTOR": "l=v"},
    ),
    (
        "batch",
        "Job",
        {"spec": {"template": TEMPLATE, "selector": SELECTOR}},
        {"CONTAINERS": "a,b", "IMAGES": "i:1,i:2", "SELECTOR": "a=1,b=2,c in (x,y)"},
    ),
    (
        "batch",
        "CronJob",
        {"spec": {"jobTemplate": {"spec": {"template": TEMPLATE}}}},
        {"CONTAINERS": "a,b", "IMAGES": "i:1,i:2", "SELECTOR": "<none>"},
    ),
    ("", "Service", {"spec": {"selector": {"b": "2", "a": "1"}}}, {"SELECTOR": "a=1,b=2"}),
    (
        "",
        "Node",
        {
            "status": {
                "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}],
                "nodeInfo": {"kernelVersion": "6", "architecture": "arm64"},
            }
        },
        {
            "CONTAINER-RUNTIME": "<unknown>",
            "EXTERNAL-IP": "<none>",
            "INTERNAL-IP": "10.0.0.1",
            "KERNEL-VERSION": "6 (arm64)",
            "OS-IMAGE": "<unknown>",
        },
    ),
    ("", "PersistentVolume", {"spec": {"volumeMode": "Block"}}, {"VOLUMEMODE": "Block"}),
    ("", "PersistentVolumeClaim", {}, {"VOLUMEMODE": "Filesystem"}),
    (
        "rbac.authorization.k8s.io",
        "RoleBinding",
        {
            "subjects": [
                {"kind": "User", "name": "u"},
                {"kind": "ServiceAccount", "namespace": "s", "name": "a"},
                {"kind": "User", "name": "w"},
            ]
        },
        {"GROUPS": "", "SERVICEACCOUNTS": "s/a", "USERS": "u, w"},
    ),
    (
        "networking.k8s.io",
        "Ingress",
        {"spec": {"rules": [{"host": "a"}, {"host": "b"}, {"host": "c"}, {}]}},
        {"HOSTS": "a,b,c + 1 more..."},
    ),
    (
        "autoscaling",
        "HorizontalPodAutoscaler",
        {"spec": {"metrics": [{"type": "External", "external": {}}]}},
        {"TARGETS": "<unknown>/<nil>"},
    ),
    (
        "autoscaling",
        "HorizontalPodAutoscaler",
        {
            "spec": {"metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": {"averageValue": "1"}}}]},
            "status": {"currentMetrics": [{"type": "Resource", "resource": {"name": "cpu"}}]},
        },
        {"TARGETS": "cpu: <nil>/1"},
    ),
    ("", "PodTemplate", {"template": TEMPLATE}, {"CONTAINERS": "a,b", "IMAGES": "i:1,i:2", "POD LABELS": "l=v"}),
    (
        "",
        "ResourceQuota",
        {"status": {"hard": {"pods": "10", "limits.cpu": "2", "cpu": "4", "limits": "1"}, "used": {"pods": "3"}}},
        {"LIMIT": "limits.cpu: 0/2", "REQUEST": "cpu: 0/4, limits: 0/1, pods: 3/10"},
    ),
    (
        "apps",
        "ControllerRevision",
        {
            "metadata": {
                "ownerReferences": [{"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "controller": True}]
            },
            "revision": 3,
        },
        {"CONTROLLER": "daemonset.apps/d", "REVISION": "3"},
    ),
    ("apps", "ControllerRevision", {}, {"CONTROLLER": "<none>", "REVISION": "0"}),
    ("certificates.k8s.io", "ClusterTrustBundle", {}, {"SIGNERNAME": "<none>"}),
    (
        "certificates.k8s.io",
        "PodCertificateRequest",
        {
            "spec": {"podName": "p", "unverifiedUserAnnotations": {"a": "b"}},
            "status": {"conditions": [{"type": "Issued"}]},
        },
        {
            "NODENAME": "",
            "PODNAME": "p",
            "SERVICEACCOUNTNAME": "",
            "SIGNERNAME": "",
            "STATE": "Issued",
            "UNVERIFIEDUSERANNOTATIONS": "a=b",
        },
    ),
    (
        "networking.k8s.io",
        "IPAddress",
        {"spec": {"parentRef": {"resource": "services", "group": "G", "namespace": "s", "name": "n"}}},
        {"PARENTREF": "services.g/s/n"},
    ),
    (
        "networking.k8s.io",
        "ServiceCIDR",
        {"spec": {"cidrs": ["10.0.0.0/8", "fd00::/64"]}},
        {"CIDRS": "10.0.0.0/8,fd00::/64"},
    ),
    (
        "storage.k8s.io",
        "CSIDriver",
        {"spec": {"tokenRequests": [{"audience": "a"}, {"audience": "b"}]}},
        {
            "ATTACHREQUIRED": "true",
            "MODES": "Persistent",
            "PODINFOONMOUNT": "false",
            "REQUIRESREPUBLISH": "false",
            "STORAGECAPACITY": "false",
            "TOKENREQUESTS": "a,b",
        },
    ),
    ("storage.k8s.io", "CSINode", {"spec": {"drivers": [{"name": "d"}]}}, {"DRIVERS": "1"}),
    (
        "storage.k8s.io",
        "CSIStorageCapacity",
        {"storageClassName": "c", "capacity": "1Gi"},
        {"CAPACITY": "1Gi", "STORAGECLASSNAME": "c"},
    ),
    (
        "storage.k8s.io",
        "VolumeAttachment",
        {"spec": {"attacher": "a", "source": {"persistentVolumeName": "v"}}, "status": {"attached": True}},
        {"ATTACHED": "true", "ATTACHER": "a", "NODE": "", "PV": "v"},
    ),
    ("storage.k8s.io", "VolumeAttributesClass", {"driverName": "d"}, {"DRIVERNAME": "d"}),
    (
        "admissionregistration.k8s.io",
        "MutatingAdmissionPolicy",
        {"spec": {"mutations": [{}], "paramKind": {"apiVersion": "g/v1", "kind": "K"}}},
        {"MUTATIONS": "1", "PARAMKIND": "g/v1/K"},
    ),
    (
        "admissionregistration.k8s.io",
        "ValidatingAdmissionPolicy",
        {"spec": {"validations": [{}, {}]}},
        {"PARAMKIND": "<unset>", "VALIDATIONS": "2"},
    ),
    (
        "admissionregistration.k8s.io",
        "ValidatingAdmissionPolicyBinding",
        {"spec": {"policyName": "p", "paramRef": {"name": "n"}}},
        {"PARAMREF": "*/n", "POLICYNAME": "p"},
    ),
    (
        "admissionregistration.k8s.io",
        "MutatingAdmissionPolicyBinding",
        {"spec": {"paramRef": {"selector": SELECTOR}}},
        {"PARAMREF": SELECTOR_IN_GO, "POLICYNAME": ""},
    ),
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration", {"webhooks": [{}, {}]}, {"WEBHOOKS": "2"}),
    (
        "scheduling.k8s.io",
        "PodGroup",
        {
            "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}},
            "status": {"conditions": [{"type": "PodGroupInitiallyScheduled", "status": "False"}]},
        },
        {"POLICY": "Gang", "STATUS": "Unschedulable", "WORKLOAD": "<none>"},
    ),
    (
        "coordination.k8s.io",
        "LeaseCandidate",
        {"spec": {"leaseName": "l", "binaryVersion": "1.37.1"}},
        {"BINARYVERSION": "1.37.1", "EMULATIONVERSION": "", "LEASENAME": "l"},
    ),
    ("node.k8s.io", "RuntimeClass", {"handler": "h"}, {"HANDLER": "h"}),
    (
        "flowcontrol.apiserver.k8s.io",
        "FlowSchema",
        {
            "spec": {"distinguisherMethod": {"type": "ByUser"}},
            "status": {"conditions": [{"type": "Dangling", "status": "False"}]},
        },
        {"DISTINGUISHERMETHOD": "ByUser", "MATCHINGPRECEDENCE": "1000", "MISSINGPL": "False", "PRIORITYLEVEL": ""},
    ),
    (
        "flowcontrol.apiserver.k8s.io",
        "PriorityLevelConfiguration",
        {"spec": {"type": "Limited", "limited": {"limitResponse": {"queuing": {"queues": 3}}}}},
        {"HANDSIZE": "8", "NOMINALCONCURRENCYSHARES": "30", "QUEUELENGTHLIMIT": "50", "QUEUES": "3", "TYPE": "Limited"},
    ),
    (
        "internal.apiserver.k8s.io",
        "StorageVersion",
        {"status": {"storageVersions": [{"apiServerID": "i", "encodingVersion": "v1"}]}},
        {"COMMONENCODINGVERSION": "<unset>", "STORAGEVERSIONS": "i=v1"},
    ),
    (
        "resource.k8s.io",
        "ResourceClaim",
        {"status": {"allocation": {}, "reservedFor": [{"resource": "pods", "name": "p", "uid": "u"}]}},
        {"STATE": "allocated,reserved"},
    ),
    ("resource.k8s.io", "ResourceClaim", {}, {"STATE": "pending"}),
    (
        "resource.k8s.io",
        "ResourceSlice",
        {"spec": {"driver": "d", "pool": {"name": "p"}}},
        {"DRIVER": "d", "NODE": "", "POOL": "p"},
    ),
    (
        "resource.k8s.io",
        "DeviceTaintRule",
        {"spec": {"taint": {"key": "k", "effect": "NoExecute"}}},
        {"EFFECT": "NoExecute", "KEY": "k", "TIMEADDED": "0s", "VALUE": ""},
    ),
    (
        "storagemigration.k8s.io",
        "StorageVersionMigration",
        {
            "spec": {"resource": {"group": "g", "resource": "r"}},
            "status": {"conditions": [{"type": "Succeeded", "status": "True"}]},
        },
        {"RESOURCE": "r.g", "STATUS": "Succeeded"},
    ),
]


@pytest.mark.parametrize(("group", "kind", "obj", "wanted"), CELLS)
def test_cells_are_those_of_the_printer(group: str, kind: str, obj: dict[str, Any], wanted: dict[str, str]) -> None:
    found = cells(group, kind, obj)
    assert {header: found[header] for header in wanted} == wanted


@pytest.mark.parametrize(
    ("group", "kind", "headers"),
    [
        ("apps", "Deployment", "Name Ready Up-to-date Available Age"),
        ("storage.k8s.io", "CSIStorageCapacity", "Name StorageClassName Capacity"),
        ("networking.k8s.io", "IPAddress", "Name ParentRef"),
        ("resource.k8s.io", "DeviceClass", "Name Age"),
    ],
)
def test_without_wide_only_the_narrow_columns_show(group: str, kind: str, headers: str) -> None:
    assert " ".join(one.name for one in builtin_headers(group, kind) if not one.wide) == headers
