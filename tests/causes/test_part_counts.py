"""Counts of single parts, made in any order, add up to those that one process makes of part after part."""

import json
import pickle
import random

import pytest

from auditor.causes.build import (
    PartCounter,
    count_causes,
    count_part,
    overrides_of,
    parts_to_count,
    tables_to_count,
)
from auditor.causes.counting import Counting
from auditor.causes.field_patterns import Definitions
from auditor.causes.owners import ReportOwners
from auditor.causes.row_causes import CauseNumbers
from tests.causes.reports import audited, definition, export, widget

DUMPS = 12


def drawn(rng, number):
    """Return an object: most have something wrong; some have an owner, some are controlled by another."""
    spec = {"size": rng.choice([1, 3, 7, "x"]), "tier": rng.choice(["gold", "tin"])}
    if rng.random() < 0.3:
        spec["env"] = {f"K{rng.randrange(9)}": rng.choice([1, 9])}
    if rng.random() < 0.2:
        del spec["tier"]
    meta = {}
    if rng.random() < 0.5:
        meta["labels"] = {"argocd.argoproj.io/instance": f"app-{rng.randrange(30)}"}
    elif rng.random() < 0.5:
        manager = f"tool-{rng.randrange(30)}"
        meta["managedFields"] = [
            {"manager": manager, "operation": "Update", "apiVersion": "example.com/v1", "time": "2026-01-02T03:04:05Z"}
        ]
    elif number and rng.random() < 0.5:
        owner = {"apiVersion": "example.com/v1", "kind": "Widget", "name": f"w{rng.randrange(number)}", "uid": "u"}
        meta["ownerReferences"] = [{**owner, "controller": True}]
    if rng.random() < 0.1:
        meta["finalizers"] = ["no/name/of/one"]
    return widget(f"w{number}", spec, namespace=f"team-{rng.randrange(4)}", **meta)


def exports(folder, rng):
    spec = {
        "size": {"type": "integer", "maximum": 5},
        "tier": {"type": "string", "enum": ["gold", "silver"]},
        "env": {"type": "object", "additionalProperties": {"type": "integer", "maximum": 5}},
    }
    crd = definition(spec, required=["tier"])
    schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    schema["x-kubernetes-validations"] = [{"rule": "!has(self.size) || self.size != 3", "message": "never 3"}]
    for number in range(DUMPS):
        objects = [drawn(rng, number * 100 + place) for place in range(rng.randrange(40))]
        unserved = {**widget(f"old{number}", {}), "apiVersion": "example.com/v0"}
        first = [crd] if not number else [unserved]
        yield export(folder / f"{number:02}.ndjson", *first, *objects)


@pytest.fixture(scope="module", params=[1, 2, 3])
def report(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("parts")
    return audited(
        folder / "report", *exports(folder, random.Random(request.param)), severity=("low namespace=team-1",)
    )


def manifest_of(report):
    return json.loads((report / "manifest.json").read_bytes())


@pytest.fixture(scope="module")
def counted(report):
    """The counts of each part, which are made in any order and pickled as if another process made them."""
    manifest = manifest_of(report)
    names = parts_to_count(report, manifest)
    counter = PartCounter(report, manifest)
    return {name: pickle.dumps(counter.count(name)) for name in random.Random(5).sample(names, len(names))}


def test_counts_of_parts_are_those_of_the_report(report, counted):
    manifest = manifest_of(report)
    names = parts_to_count(report, manifest)
    assert len(names) >= DUMPS - 2
    parts = (pickle.loads(counted[name]) for name in names)
    assert count_causes(report, manifest, None, parts) == count_causes(report, manifest)


@pytest.mark.parametrize("most", [0, 1, 7])
def test_the_same_owners_are_left_out(report, counted, most):
    manifest = manifest_of(report)
    tables, causes = tables_to_count(manifest), CauseNumbers(Definitions(report, manifest))
    whole, owners = Counting(overrides_of(manifest), most_owners=most), ReportOwners(report, manifest)
    summed, numbers = Counting(overrides_of(manifest), most_owners=most), CauseNumbers(Definitions(report, manifest))
    for name in parts_to_count(report, manifest):
        count_part(report, name, tables, owners, causes, whole)
        summed.add_part(pickle.loads(counted[name]), numbers)
    assert causes.keys == numbers.keys
    assert summed.counts == whole.counts
    assert summed.topics == whole.topics
    assert max(len(count.owners) for count in whole.counts.values()) == most
