"""Strict decoding of built-in kinds, and the table of what a release serves."""

from __future__ import annotations

import pytest

from auditor.builtin.gotyped import GoDecodeError, parse_members
from auditor.builtin.scheme import served_kind, served_versions
from auditor.builtin.strict import REPEATED, UNKNOWN, check_strictly, metadata_error


def deployment(text: str) -> list[tuple[str, str]]:
    kind = served_kind("apps", "v1", "Deployment")
    assert kind is not None
    return check_strictly(parse_members(text.encode()), kind.type)


def test_unknown_and_repeated_fields_have_their_paths_in_the_order_of_the_text() -> None:
    assert deployment(
        '{"kind": "Deployment", "Kind": "x", "metadata": {"labels": {"a": "b", "a": "c"}, "nme": 1},'
        '"spec": {"replicas": 1, "replicas": 2, "template": {"spec": {"containers": [{}, {"imag": 1, "imag": 2}]}}}}'
    ) == [
        (UNKNOWN, "Kind"),
        (REPEATED, "metadata.labels.a"),
        (UNKNOWN, "metadata.nme"),
        (REPEATED, "spec.replicas"),
        (UNKNOWN, "spec.template.spec.containers[1].imag"),
    ]


def test_types_with_a_decoder_of_their_own_are_not_looked_into() -> None:
    kind = served_kind("apps", "v1", "ControllerRevision")
    assert kind is not None
    text = b'{"data": {"a": 1, "a": 2, "b": {"c": 1}}, "metadata": {"managedFields": [{"fieldsV1": {"f:a": {}}}]}}'
    assert check_strictly(parse_members(text), kind.type) == []


def test_a_hundred_fields_are_named() -> None:
    assert len(deployment("{" + ",".join(f'"x{number}": 1' for number in range(300)) + "}")) == 100


@pytest.mark.parametrize(
    ("text", "said", "place"),
    [
        (
            '{"spec": {"template": {"spec": {"containers": [{}, {"ports": [{"containerPort": "a"}]}]}}}}',
            (
                "json: cannot unmarshal string into Go struct field "
                "ContainerPort.spec.template.spec.containers.ports.containerPort of type int32"
            ),
            "spec.template.spec.containers[1].ports[0].containerPort",
        ),
        (
            '{"metadata": {"creationTimestamp": "x"}}',
            'parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006"',
            "metadata.creationTimestamp",
        ),
        (
            '{"spec": 5, "metadata": 6}',
            "json: cannot unmarshal number into Go struct field Deployment.spec of type v1.DeploymentSpec",
            "spec",
        ),
    ],
)
def test_a_wrong_type_has_the_place_of_the_value(text: str, said: str, place: str) -> None:
    with pytest.raises(GoDecodeError) as caught:
        deployment(text)
    assert (str(caught.value), caught.value.place) == (said, place)


def test_kubectl_decodes_the_metadata_of_every_kind() -> None:
    wrong = metadata_error(parse_members(b'{"labels": {"a": 1}}'))
    assert wrong is not None
    assert str(wrong) == "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of type string"
    assert wrong.place == "metadata.labels.a"
    assert metadata_error(parse_members(b'{"labels": {"a": "1"}, "unknown": 1}')) is None
    assert metadata_error(parse_members(b"null")) is None


def test_the_release_serves_stable_versions() -> None:
    pod = served_kind("", "v1", "Pod")
    role = served_kind("rbac.authorization.k8s.io", "v1", "ClusterRole")
    assert pod is not None
    assert role is not None
    assert (pod.namespaced, pod.creatable, role.namespaced) == (True, True, False)
    assert served_kind("extensions", "v1beta1", "Ingress") is None
    assert served_versions("autoscaling", "HorizontalPodAutoscaler") == ["v1", "v2"]
    status = served_kind("", "v1", "ComponentStatus")
    assert status is not None
    assert not status.creatable
