"""The metadata of built-in kinds, beside the answers of a real server.

builtin_metadata_answers.json has what kube-apiserver 1.37.2 said of metadata on creates with `dryRun=All`, for each
kind that it stores but definitions: `metadata` and `messages` are numbered by `groups`, which hold kinds with equal
answers. The characters that a server draws behind a generateName are xxxxx.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from auditor.base.statuses import Status
from auditor.updates.create import CreateAnswer, CreateJudge

RECORDED = json.loads(Path(__file__).with_name("builtin_metadata_answers.json").read_text())
KINDS = {kind: group["answers"] for group in RECORDED["groups"] for kind in group["kinds"]}


def create(label: str, metadata: dict[str, Any], **more: Any) -> CreateAnswer:
    group, version, kind = label.split("/")
    api = f"{group}/{version}".removeprefix("/")
    return CreateJudge([]).judge({"apiVersion": api, "kind": kind, "metadata": dict(metadata), **more})


def messages(label: str, metadata: dict[str, Any], **more: Any) -> list[str]:
    return [one.message for one in create(label, metadata, **more).findings]


@pytest.mark.parametrize("kind", KINDS)
def test_metadata_is_refused_as_a_server_refused_it(kind: str) -> None:
    for given, expected in KINDS[kind]:
        metadata = RECORDED["metadata"][given]
        answer = create(kind, metadata)
        assert {one.message for one in answer.findings} == {RECORDED["messages"][one] for one in expected}, metadata
        assert answer.status is (Status.INVALID if expected else Status.BUILTIN)


def test_annotations_have_a_size() -> None:
    # As the server said: 262144 bytes of all keys and values.
    for size, expected in ((1 << 18, ["metadata.annotations: Too long: may not be more than 262144 bytes"]), (1, [])):
        assert messages("/v1/ConfigMap", {"name": "x", "annotations": {"a": "c" * size}}) == expected


def test_requests_have_no_metadata_that_is_checked() -> None:
    for kind in ("/v1/Binding", "authentication.k8s.io/v1/TokenReview"):
        assert create(kind, {"name": "Bad_Name"}).status is Status.BUILTIN


def test_names_depend_on_the_spec_of_two_kinds() -> None:
    spec = {"signerName": "a.b/c", "trustBundle": ""}
    assert messages("certificates.k8s.io/v1/ClusterTrustBundle", {"name": "a.b:c:x"}, spec=spec) == []
    (wrong,) = messages("certificates.k8s.io/v1/ClusterTrustBundle", {"name": "x"}, spec=spec)
    assert wrong.endswith("ClusterTrustBundle for signerName a.b/c must be named with prefix a.b:c:")
    service = {"group": "a.b", "version": "v1", "groupPriorityMinimum": 1, "versionPriority": 1}
    assert messages("apiregistration.k8s.io/v1/APIService", {"name": "v1.a.b"}, spec=service) == []
    assert len(messages("apiregistration.k8s.io/v1/APIService", {"name": "v1.a"}, spec=service)) == 1


def test_addresses_are_in_their_canonical_form() -> None:
    for name, details in {
        "10.0.0.1": [],
        "2001:db8::1": [],
        "2001:db8::0:1": ['must be in canonical form ("2001:db8::1")'],
        "10.0.0.01": ["must not have leading 0s", 'must be in canonical form ("10.0.0.1")'],
    }.items():
        answer = create("networking.k8s.io/v1/IPAddress", {"name": name})
        assert {one.detail for one in answer.findings} == set(details)


def test_nulls_and_what_a_server_sets_are_nothing() -> None:
    metadata: dict[str, Any] = {
        "name": "x",
        "labels": None,
        "annotations": {"a": None},
        "finalizers": None,
        "ownerReferences": [],
    }
    metadata["creationTimestamp"] = "2024-05-01T10:00:00Z"
    assert create("/v1/ConfigMap", metadata).status is Status.BUILTIN
    judged = CreateJudge([]).judge({"apiVersion": "v1", "kind": "ConfigMap", "metadata": None})
    assert [one.message for one in judged.findings] == [
        "metadata.name: Required value: name or generateName is required"
    ]
