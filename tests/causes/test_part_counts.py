"""Counts of single parts, made in any order, add up to those that one process makes of part after part."""

import json
import pickle
import random

import pytest

from auditor.causes.build import build_causes, count_causes, order_of
from auditor.causes.counting import Counting
from auditor.causes.field_patterns import Definitions
from auditor.causes.keys import topic_of
from auditor.causes.owners import ReportOwners
from auditor.causes.parts import PartCounter, count_part, overrides_of, parts_to_count, tables_to_count
from auditor.causes.row_causes import CauseNumbers
from auditor.causes.table import read_rows
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
    (folder / "owners.yaml").write_text("- team: bakers\n  namespace: team-3\n")
    return audited(
        folder / "report",
        *exports(folder, random.Random(request.param)),
        severity=("low namespace=team-1",),
        owners=str(folder / "owners.yaml"),
    )


def manifest_of(report):
    return json.loads((report / "manifest.json").read_bytes())


@pytest.fixture(scope="module")
def counted(report):
    """The counts of each part, which are made in any order and pickled as if another process made them."""
    manifest = manifest_of(report)
    names = parts_to_count(report, tables_to_count(manifest))
    counter = PartCounter(report, manifest)
    return {name: pickle.dumps(counter.count(name)) for name in random.Random(5).sample(names, len(names))}


def test_counts_of_parts_are_those_of_the_report(report, counted):
    manifest = manifest_of(report)
    names = parts_to_count(report, tables_to_count(manifest))
    assert len(names) >= DUMPS - 2
    parts = (pickle.loads(counted[name]) for name in names)
    rows = [count_causes(report, manifest, None, given) for given in (parts, None)]
    assert sorted(rows[0], key=order_of) == sorted(rows[1], key=order_of)


def test_workers_count_what_the_tables_of_the_report_show(report):
    """They count from the rows in memory: with owners by rules, labels and controllers of other parts."""
    rows = read_rows(report)
    assert rows == build_causes(report, manifest_of(report))
    assert {"bakers", "argocd"} <= {owner.partition(":")[0] for row in rows for owner in row["owners"]}
    assert not (report / "counts").exists()


@pytest.mark.parametrize("most", [0, 1, 7])
def test_the_same_owners_are_left_out(report, counted, most):
    manifest = manifest_of(report)
    tables, causes = tables_to_count(manifest), CauseNumbers(Definitions(report, manifest))
    whole, owners = Counting(overrides_of(manifest), most_owners=most), ReportOwners(report, manifest)
    summed, numbers = Counting(overrides_of(manifest), most_owners=most), CauseNumbers(Definitions(report, manifest))
    for name in parts_to_count(report, tables):
        count_part(report, name, tables, owners, causes, whole)
        summed.add_part(pickle.loads(counted[name]), numbers, owners)
    keyed = [
        {(cluster, of.keys[number]): count for (cluster, number), count in counting.counts.items()}
        for of, counting in ((causes, whole), (numbers, summed))
    ]
    assert keyed[0] == keyed[1]
    topics = [
        {(topic_of(of.keys[of.topics.index(number)])): count for (_, number), count in counting.topics.items()}
        for of, counting in ((causes, whole), (numbers, summed))
    ]
    assert topics[0] == topics[1]
    assert max(len(count.owners) for count in whole.counts.values()) == most
