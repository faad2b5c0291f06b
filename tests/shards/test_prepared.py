"""What is kept of definitions for the next cluster of a fleet."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from auditor.base.errors import SchemaError
from auditor.program.prepared import Prepared
from auditor.program.program import AuditProgram
from tests.pipelines.nights.support import definition

MANAGER = {
    "manager": "helm", "operation": "Update", "apiVersion": "apiextensions.k8s.io/v1", "fieldsType": "FieldsV1",
    "time": "2024-05-05T05:05:05Z", "fieldsV1": {"f:spec": {}},
}  # fmt: skip


def of_cluster(number: int, **spec: Any) -> dict[str, Any]:
    """Return a definition as one cluster has it."""
    made = copy.deepcopy(definition(rules=("self.grams != 7",)))
    made["metadata"] |= {
        "uid": f"u{number}",
        "resourceVersion": str(number),
        "generation": number,
        "creationTimestamp": f"2024-01-01T00:00:{number:02}Z",
        "managedFields": [MANAGER | {"manager": f"m{number}"}],
    }
    made["status"]["conditions"][0] |= {"lastTransitionTime": f"2024-02-02T00:00:{number:02}Z", "message": str(number)}
    made["spec"] |= spec
    return made


def test_the_definition_of_another_cluster_is_read_once() -> None:
    prepared = Prepared()
    assert prepared.definition(of_cluster(1), stored=True) is prepared.definition(of_cluster(2), stored=True)


@pytest.mark.parametrize(
    ("changed", "stored"),
    [
        (of_cluster(1, scope="Cluster"), True),
        (of_cluster(1), False),
        (of_cluster(1) | {"status": {}}, True),
        (of_cluster(1) | {"status": of_cluster(1)["status"] | {"storedVersions": ["v0"]}}, True),
        (of_cluster(1) | {"metadata": {"name": "other"}}, True),
    ],
)
def test_what_says_another_thing_is_another_definition(changed: dict[str, Any], stored: bool) -> None:
    prepared = Prepared()
    assert prepared.definition(of_cluster(1), stored=True) is not prepared.definition(changed, stored=stored)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("uid", 5),
        ("generation", "x"),
        ("generation", 1 << 64),
        ("creationTimestamp", "2024-02-31T00:00:00Z"),
        ("managedFields", [MANAGER | {"time": "then"}]),
        ("managedFields", [MANAGER | {"manager": 5}]),
        ("managedFields", "x"),
        ("labels", 5),
    ],
)
def test_metadata_that_no_server_decodes_are_not_ignored(name: str, value: Any) -> None:
    prepared = Prepared()
    prepared.definition(of_cluster(1), stored=True)
    torn = of_cluster(2)
    torn["metadata"][name] = value
    with pytest.raises(SchemaError):
        prepared.definition(torn, stored=True)


def test_a_program_is_kept_and_counts_anew() -> None:
    prepared = Prepared()
    one = prepared.definition(of_cluster(1), stored=True)
    assert prepared.program(one, "v1", rules=True) is None
    made = AuditProgram(one, one.versions["v1"], warm_up=4)
    prepared.keep(made, rules=True)
    made.total = made.proven = 9
    assert prepared.program(one, "v1", rules=False) is None
    assert prepared.program(one, "v1", rules=True) is made
    assert (made.total, made.proven) == (0, 0)
    made.compiled = False  # its code failed on an object: the next cluster has code of its own
    assert prepared.program(one, "v1", rules=True) is None


def test_what_was_not_used_for_the_longest_time_is_dropped() -> None:
    prepared = Prepared(most=4000)
    first = prepared.definition(of_cluster(1), stored=True)
    prepared.keep(AuditProgram(first, first.versions["v1"]), rules=True)
    for number in range(20):
        prepared.definition(of_cluster(1, group=f"g{number}"), stored=True)
    assert prepared.program(first, "v1", rules=True) is None
    assert prepared.definition(of_cluster(1), stored=True) is not first
