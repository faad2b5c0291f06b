"""Field selectors on built-in kinds: each row of the table of labels, and what today's server refuses."""

from __future__ import annotations

from typing import Any

import pytest

from auditor.base.errors import SelectorError
from auditor.builtin.builtin_kinds import BUILTIN_KINDS
from auditor.builtin.selectable import builtin_selectable, rules_of

META = {"name": "n", "namespace": "s"}
INVOLVED = {
    "kind": "Pod",
    "namespace": "is",
    "name": "in",
    "uid": "iu",
    "apiVersion": "v1",
    "resourceVersion": "7",
    "fieldPath": "spec.x",
}

ROWS: list[tuple[str, str, str, dict[str, Any], str]] = [
    # group, kind, label, object, value
    ("", "Pod", "spec.nodeName", {"spec": {"nodeName": "a"}}, "a"),
    ("", "Pod", "spec.host", {"spec": {"nodeName": "a"}}, "a"),
    ("", "Pod", "spec.restartPolicy", {"spec": {"restartPolicy": "Never"}}, "Never"),
    ("", "Pod", "spec.schedulerName", {"spec": {"schedulerName": "x"}}, "x"),
    ("", "Pod", "spec.serviceAccountName", {"spec": {"serviceAccountName": "sa"}}, "sa"),
    ("", "Pod", "status.phase", {"status": {"phase": "Running"}}, "Running"),
    ("", "Pod", "status.nominatedNodeName", {"status": {"nominatedNodeName": "b"}}, "b"),
    ("", "Pod", "spec.hostNetwork", {"spec": {"hostNetwork": True}}, "true"),
    ("", "Pod", "spec.hostNetwork", {"spec": {}}, "false"),
    ("", "Pod", "spec.hostNetwork", {}, "false"),
    ("", "Pod", "status.podIP", {"status": {"podIP": "1.1.1.1", "podIPs": [{"ip": "2.2.2.2"}]}}, "1.1.1.1"),
    ("", "Pod", "status.podIP", {"status": {"podIPs": [{"ip": "2.2.2.2"}]}}, "2.2.2.2"),
    ("", "Pod", "spec.serviceAccountName", {"spec": {"serviceAccount": "old"}}, "old"),
    ("", "Pod", "spec.restartPolicy", {}, "Always"),
    ("", "Pod", "spec.schedulerName", {}, "default-scheduler"),
    ("", "Namespace", "status.phase", {}, "Active"),
    ("", "Secret", "type", {}, "Opaque"),
    ("", "Service", "spec.type", {}, "ClusterIP"),
    ("", "Pod", "status.podIP", {"status": {"podIP": "1.1.1.1", "podIPs": []}}, "1.1.1.1"),
    ("", "Pod", "status.podIP", {}, ""),
    ("", "Pod", "status.podIPs", {"status": {"podIPs": [{"ip": "2.2.2.2"}]}}, ""),
    ("", "Node", "spec.unschedulable", {"spec": {"unschedulable": True}}, "true"),
    ("", "Node", "spec.unschedulable", {}, "false"),
    ("", "Namespace", "status.phase", {"status": {"phase": "Active"}}, "Active"),
    ("", "Secret", "type", {"type": "Opaque"}, "Opaque"),
    ("", "Service", "spec.clusterIP", {"spec": {"clusterIP": "None"}}, "None"),
    ("", "Service", "spec.type", {"spec": {"type": "NodePort"}}, "NodePort"),
    ("", "ReplicationController", "status.replicas", {"status": {"replicas": 3}}, "3"),
    ("", "ReplicationController", "status.replicas", {}, "0"),
    ("batch", "Job", "status.successful", {"status": {"succeeded": 2}}, "2"),
    ("batch", "Job", "status.successful", {}, "0"),
    *[("", "Event", f"involvedObject.{key}", {"involvedObject": INVOLVED}, value) for key, value in INVOLVED.items()],
    ("", "Event", "reason", {"reason": "Started"}, "Started"),
    ("", "Event", "type", {"type": "Normal"}, "Normal"),
    ("", "Event", "reportingComponent", {"reportingComponent": "kubelet"}, "kubelet"),
    ("", "Event", "source", {"source": {"component": "c"}, "reportingComponent": "r"}, "c"),
    ("", "Event", "source", {"source": {}, "reportingComponent": "r"}, "r"),
    *[
        ("events.k8s.io", "Event", f"regarding.{key}", stored, value)
        for stored in (
            {"apiVersion": "v1", "kind": "Event", "involvedObject": INVOLVED},
            {"apiVersion": "events.k8s.io/v1", "kind": "Event", "regarding": INVOLVED},
        )
        for key, value in INVOLVED.items()
    ],
    ("events.k8s.io", "Event", "reason", {"reason": "Started"}, "Started"),
    ("events.k8s.io", "Event", "type", {"type": "Normal"}, "Normal"),
    ("events.k8s.io", "Event", "reportingController", {"kind": "Event", "reportingComponent": "kubelet"}, "kubelet"),
    ("certificates.k8s.io", "CertificateSigningRequest", "spec.signerName", {"spec": {"signerName": "s/x"}}, "s/x"),
    ("certificates.k8s.io", "ClusterTrustBundle", "spec.signerName", {"spec": {"signerName": "s/x"}}, "s/x"),
    ("certificates.k8s.io", "PodCertificateRequest", "spec.signerName", {"spec": {"signerName": "s/x"}}, "s/x"),
    ("certificates.k8s.io", "PodCertificateRequest", "spec.podName", {"spec": {"podName": "p"}}, "p"),
    ("certificates.k8s.io", "PodCertificateRequest", "spec.nodeName", {"spec": {"nodeName": "o"}}, "o"),
    ("resource.k8s.io", "ResourceSlice", "spec.nodeName", {"spec": {"nodeName": "o"}}, "o"),
    ("resource.k8s.io", "ResourceSlice", "spec.nodeName", {"spec": {}}, ""),
    ("resource.k8s.io", "ResourceSlice", "spec.driver", {"spec": {"driver": "d"}}, "d"),
    ("resource.k8s.io", "ResourceSlice", "spec.pool.name", {"spec": {"pool": {"name": "q"}}}, "q"),
]


@pytest.mark.parametrize(("group", "kind", "label", "obj", "value"), ROWS)
def test_a_label_has_the_value_that_the_server_compares(
    group: str, kind: str, label: str, obj: dict[str, Any], value: str
) -> None:
    seen = builtin_selectable(group, kind, {"metadata": META, **obj})
    assert seen[rules_of(group, kind).resolve(label)] == value


@pytest.mark.parametrize("one", BUILTIN_KINDS, ids=lambda one: f"{one.plural}.{one.version}.{one.group}")
def test_every_kind_is_selected_by_name(one: Any) -> None:
    assert rules_of(one.group, one.kind).resolve("metadata.name") == "metadata.name"
    assert builtin_selectable(one.group, one.kind, {"metadata": META})["metadata.name"] == "n"


def _refusal(group: str, kind: str, label: str) -> str:
    with pytest.raises(SelectorError) as caught:
        rules_of(group, kind).resolve(label)
    return caught.value.found


def test_name_on_a_namespace_is_refused() -> None:
    assert _refusal("", "Namespace", "name") == "field label not supported: name"


def test_status_replicas_on_an_apps_replica_set_is_refused() -> None:
    words = '"status.replicas" is not a known field selector: only "metadata.name", "metadata.namespace"'
    assert _refusal("apps", "ReplicaSet", "status.replicas") == words


@pytest.mark.parametrize(
    ("group", "kind"),
    [
        ("", "Node"),
        ("", "Namespace"),
        ("certificates.k8s.io", "CertificateSigningRequest"),
        ("certificates.k8s.io", "ClusterTrustBundle"),
        ("certificates.k8s.io", "PodCertificateRequest"),
    ],
)
def test_metadata_namespace_is_refused(group: str, kind: str) -> None:
    assert _refusal(group, kind, "metadata.namespace") == "field label not supported: metadata.namespace"


def test_source_is_no_label_of_events_in_their_own_group() -> None:
    assert _refusal("events.k8s.io", "Event", "source") == "field label not supported: source"


def test_name_on_volumes_and_claims_is_refused() -> None:
    words = '"name" is not a known field selector: only "metadata.name", "metadata.namespace"'
    assert _refusal("", "PersistentVolume", "name") == words
    assert _refusal("", "PersistentVolumeClaim", "name") == words


def test_refusals_have_the_words_of_their_kind() -> None:
    assert _refusal("", "Pod", "spec.color") == "field label not supported: spec.color"
    assert _refusal("batch", "Job", "spec.color") == 'field label "spec.color" not supported for Job'
    words = "field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: spec.color"
    assert _refusal("resource.k8s.io", "ResourceSlice", "spec.color") == words
    words = '"data" is not a known field selector: only "metadata.name", "metadata.namespace"'
    assert _refusal("", "ConfigMap", "data") == words
    assert rules_of("storage.k8s.io", "StorageClass").resolve("metadata.namespace") == "metadata.namespace"


def test_objects_of_any_shape_are_read() -> None:
    for group, kind, label, _, _ in ROWS:
        for broken in ({}, {"metadata": None, "spec": [], "status": "x", "involvedObject": 1}):
            seen = builtin_selectable(group, kind, broken)
            assert isinstance(seen[rules_of(group, kind).resolve(label)], str)
