"""Paths of what a read drops or fills in are right in long lists too, and their items are numbered once."""

import json
from functools import partial

import pytest

from auditor import CrdCatalog
from auditor.program.program import AuditProgram
from tests.counting import steps_of

ITEM = {"type": "object", "properties": {"kept": {"type": "string"}, "filled": {"type": "string", "default": "x"}}}


def program(item):
    schema = {"type": "object", "properties": {"rows": {"type": "array", "items": {"type": "array", "items": item}}}}
    catalog = CrdCatalog.from_documents([{
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "xs.x.example.com"},
        "spec": {"group": "x.example.com", "scope": "Namespaced", "names": {"plural": "xs", "kind": "X"},
                 "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}]},
    }])  # fmt: skip
    definition = catalog.crds["xs.x.example.com"]
    return AuditProgram(definition, definition.versions["v1"], warm_up=0)


def audited(made, rows):
    head = {"apiVersion": "x.example.com/v1", "kind": "X", "metadata": {"namespace": "d", "name": "a"}}
    return made.audit(json.dumps({**head, "rows": rows}).encode())


@pytest.mark.parametrize("count", [31, 32, 100])
def test_every_item_has_its_own_path(count):
    rows = [[{"kept": "a", "lost": 1, "filled": "y"} for _ in range(count)] for _ in range(count)]
    found = audited(program(ITEM), rows)
    assert found.pruned == tuple(sorted(f"rows[{at}][{below}].lost" for at in range(count) for below in range(count)))
    bare = audited(program(ITEM), [[{"kept": "a"} for _ in range(count)] for _ in range(count)])
    assert bare.defaulted == tuple(
        sorted(f"rows[{at}][{below}].filled" for at in range(count) for below in range(count))
    )


WITHOUT_DEFAULT = {"type": "object", "properties": {"kept": {"type": "string"}}}
SHORT = {"type": "string", "maxLength": 1}


@pytest.mark.parametrize(
    ("item", "value"),
    [(ITEM, {"lost": 1}), (WITHOUT_DEFAULT, {"lost": 1}), (SHORT, "long")],
    ids=["lost beside a default", "lost", "wrong"],
)
def test_work_grows_with_the_list_not_with_its_square(item, value):
    made = program(item)

    def audit(count):
        read = audited(made, [[value], [value] * count])
        assert len(read.pruned) + len(read.findings) == count + 1

    audit(1)
    assert steps_of(partial(audit, 800)) < 12 * steps_of(partial(audit, 100))
