"""What objects say about their health."""

from __future__ import annotations

from typing import Any

import pytest

from auditor.server.health import problems_of


def condition(type_: str, status: str, reason: str = "", message: str = "") -> dict[str, str]:
    return {"type": type_, "status": status, "reason": reason, "message": message}


def container(ready: bool = False, **state: Any) -> dict[str, Any]:
    return {"name": "c", "ready": ready, "state": state}


def pod(phase: str, *containers: dict[str, Any], **status: Any) -> dict[str, Any]:
    return {"status": {"phase": phase, "containerStatuses": list(containers), **status}}


def of(kind: str, obj: dict[str, Any], group: str = "") -> list[tuple[str, str]] | None:
    problems = problems_of(group, kind, obj)
    return None if problems is None else [tuple(problem) for problem in problems]


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        (pod("Running", container(ready=True, running={})), []),
        (pod("Succeeded", container(terminated={"exitCode": 0, "reason": "Completed"})), []),
        (
            pod("Running", container(waiting={"reason": "CrashLoopBackOff", "message": "back-off"})),
            [("CrashLoopBackOff", "back-off")],
        ),
        (pod("Pending", container(waiting={"reason": "ImagePullBackOff"})), [("ImagePullBackOff", "")]),
        (
            pod("Failed", container(terminated={"exitCode": 137, "reason": "OOMKilled"})),
            [("OOMKilled", "exit code 137")],
        ),
        (pod("Running", container(running={"startedAt": "x"})), [("not ready", "container c")]),
        (pod("Failed", reason="Evicted", message="low on memory"), [("Evicted", "low on memory")]),
        (
            pod("Pending", conditions=[condition("PodScheduled", "False", "Unschedulable", "0/3 nodes")]),
            [("PodScheduled False (Unschedulable)", "0/3 nodes")],
        ),
        (
            pod("Running", container(ready=True, running={}), conditions=[condition("Ready", "False", "GatesNotReady")]),
            [("Ready False (GatesNotReady)", "")],
        ),
        (
            pod("Pending", initContainerStatuses=[container(terminated={"exitCode": 1, "reason": "Error"})]),
            [("Error", "exit code 1")],
        ),
        (pod("Pending"), [("Pending", "")]),
        (pod("Unknown", reason="NodeLost"), [("NodeLost", "")]),
        (pod("Running", container()), [("not ready", "container c")]),
        (pod("Running", conditions=[condition("Ready", "True")]), []),
        (pod("Running", podIP="10.0.0.1"), None),
        (pod("Running", initContainerStatuses=[container(terminated={"exitCode": 0})]), None),
        (pod(""), None),
        ({"spec": {}}, None),
    ],
)  # fmt: skip
def test_a_pod_tells_by_phase_and_containers(obj: dict[str, Any], expected: list[tuple[str, str]] | None) -> None:
    assert of("Pod", obj) == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (condition("Ready", "True"), []),
        (condition("Ready", "False", "Broken", "why"), [("Ready False (Broken)", "why")]),
        (condition("KafkaReady", "Unknown"), [("KafkaReady Unknown", "")]),
        (condition("MemoryPressure", "False"), []),
        (condition("MemoryPressure", "True", "KubeletHas"), [("MemoryPressure (KubeletHas)", "")]),
        (condition("NetworkUnavailable", "False"), []),
        (condition("Stalled", "Unknown"), [("Stalled Unknown", "")]),
        (condition("ScalingActive", "False", "ScalingDisabled"), []),
        (condition("Issuing", "False"), None),
        (condition("Progressing", "False", "AsExpected"), None),
        (
            condition("Progressing", "False", "ProgressDeadlineExceeded"),
            [("Progressing False (ProgressDeadlineExceeded)", "")],
        ),
    ],
)
def test_conditions_of_any_kind_tell_by_the_end_of_their_names(
    given: dict[str, str], expected: list[tuple[str, str]] | None
) -> None:
    assert of("Anything", {"status": {"conditions": [given]}}, "example.com") == expected


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "ReplicaSet"])
def test_a_workload_below_its_replicas_is_not_healthy(kind: str) -> None:
    assert of(kind, {"spec": {"replicas": 3}, "status": {"readyReplicas": 2}}, "apps") == [("2 of 3 ready", "")]
    assert of(kind, {"spec": {}, "status": {"observedGeneration": 1}}, "apps") == [("0 of 1 ready", "")]
    assert of(kind, {"spec": {"replicas": 0}, "status": {"observedGeneration": 1}}, "apps") == []
    assert of(kind, {"spec": {"replicas": 3}}, "apps") is None


def test_an_empty_status_is_what_the_table_prints() -> None:
    """Manifests have no status, and do not tell; a server writes an empty one, and prints it as none ready."""
    assert of("Deployment", {"spec": {"replicas": 5}, "status": {}}, "apps") == [("0 of 5 ready", "")]
    assert of("Deployment", {"spec": {}, "status": {}}, "apps") == [("0 of 1 ready", "")]
    assert of("Deployment", {"spec": {"replicas": 0}, "status": {}}, "apps") is None
    spec = {"containers": [{"name": "a"}, {"name": "b"}]}
    for status in ({}, {"phase": "Running", "podIP": "10.0.0.1"}):
        assert of("Pod", {"spec": spec, "status": status}) == [("0 of 2 ready", "")]
    assert of("Pod", {"spec": spec, "status": {"phase": "Succeeded"}}) == []
    assert of("Pod", {"spec": spec}) is None
    assert of("Job", {"spec": spec, "status": {}}, "batch") is None


def test_a_daemon_set_needs_a_pod_on_each_wanted_node() -> None:
    status = {"desiredNumberScheduled": 2, "numberReady": 1}
    assert of("DaemonSet", {"status": status}, "apps") == [("1 of 2 ready", "")]
    none = {"desiredNumberScheduled": 0, "numberReady": 0}
    assert of("DaemonSet", {"status": {**none, "observedGeneration": 1}}, "apps") == []
    assert of("DaemonSet", {"status": none}, "apps") is None


def test_a_status_that_no_controller_wrote_is_not_healthy() -> None:
    for status in ({}, {"ready": 0, "uncountedTerminatedPods": {}}, {"conditions": []}):
        assert of("Job", {"status": status}, "batch") is None
    assert of("PersistentVolumeClaim", {"status": {"phase": ""}}) is None
    assert of("ReplicaSet", {"spec": {"replicas": 0}, "status": {"replicas": 0}}, "apps") is None
    assert of("ReplicaSet", {"spec": {"replicas": 2}, "status": {"replicas": 0}}, "apps") == [("0 of 2 ready", "")]


def test_jobs_claims_and_namespaces_tell_by_their_own_words() -> None:
    failed = condition("Failed", "True", "BackoffLimitExceeded", "too often")
    assert of("Job", {"status": {"conditions": [failed], "failed": 7}}, "batch") == [
        ("Failed (BackoffLimitExceeded)", "too often")
    ]
    assert of("Job", {"status": {"active": 1, "failed": 1}}, "batch") == []
    assert of("PersistentVolumeClaim", {"status": {"phase": "Pending"}}) == [("Pending", "")]
    assert of("PersistentVolumeClaim", {"status": {"phase": "Bound"}}) == []
    remaining = condition("NamespaceFinalizersRemaining", "True", "SomeFinalizersRemain", "x.example.com in 1 resource")
    assert of("Namespace", {"status": {"phase": "Terminating", "conditions": [remaining]}}) == [
        ("Terminating", ""),
        ("NamespaceFinalizersRemaining (SomeFinalizersRemain)", "x.example.com in 1 resource"),
    ]
    assert of("Namespace", {"status": {"phase": "Active"}}) == []


def test_an_object_without_such_words_does_not_tell() -> None:
    for obj in ({}, {"status": None}, {"status": {"conditions": "x"}}, {"status": {"conditions": [1, {"type": 1}]}}):
        assert of("Anything", obj, "example.com") is None


def test_a_reason_that_is_no_text_is_none() -> None:
    odd: Any = {"type": "Ready", "status": "False", "reason": {"a": 1}, "message": ["b"]}
    assert problems_of("example.com", "Widget", {"status": {"conditions": [odd, 1, None]}}) == [("Ready False", "")]
