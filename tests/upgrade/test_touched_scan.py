"""A scan that judges objects once that no change between two releases concerns says what one says that judges all twice."""

import itertools
import json
from functools import cache

import pyarrow.parquet as pq
import pytest

from auditor.plan.options import AuditOptions
from auditor.releases import RELEASES
from auditor.releases.touched import Touched
from auditor.shards.upgrade.scan_plan import UpgradeOptions
from auditor.upgrade.release_change import release_change
from pipelines.run.upgrade import run_upgrade
from tests.releases.comparing import suite
from tests.upgrade.support import encoded

REPRODUCED = [one.name for one in RELEASES if one.is_reproduced]
SUITES = ("bakery.json", "drawn.json", "releases.json", "rules.json", "updates.json")
EACH = list(itertools.pairwise(REPRODUCED))
FAR = [(REPRODUCED[0], REPRODUCED[-1]), (REPRODUCED[1], REPRODUCED[-1])]
NIGHTLY = {*EACH[:-1], FAR[1]}
"""Other releases than the oldest and the newest."""
DEAR = {(*FAR[0], name) for name in SUITES if name != "bakery.json"}


def marked(old, new, name):
    marks = [pytest.mark.nightly] * ((old, new) in NIGHTLY) + [pytest.mark.slow] * ((old, new, name) in DEAR)
    return pytest.param(old, new, name, marks=marks)


@cache
def _changed(document, old, new):
    return release_change(json.loads(document), old, new)


@pytest.fixture(autouse=True)
def definitions_are_compared_once(monkeypatch):
    """What releases say of a definition does not depend on how often its objects are judged."""
    monkeypatch.setattr(
        "auditor.store.upgrade_section.release_change",
        lambda document, old, new: _changed(json.dumps(document), old, new),
    )


def write(path, name):
    """Write the definitions of vectors as stored, and each object under a key of its own; return the number of objects."""
    found = suite(name)
    values, count = {}, 0
    for document in found["definitions"]:
        stored = [one["name"] for one in document["spec"]["versions"] if one["storage"]]
        conditions = [{"type": name, "status": "True"} for name in ("NamesAccepted", "Established")]
        names = document["spec"]["names"]
        crd = {**document, "status": {"acceptedNames": names, "conditions": conditions, "storedVersions": stored}}
        key = f"/registry/apiextensions.k8s.io/customresourcedefinitions/{document['metadata']['name']}"
        values[key] = json.dumps(crd)
    for case in found["cases"]:
        plural, _, group = case.get("resource", "").partition(".")
        for text in (case.get(name) for name in ("object", "old", "new") if case.get("resource")):
            if text is not None:
                values[f"/registry/{group}/{plural}/d/o{count}"] = text if isinstance(text, str) else json.dumps(text)
                count += 1
    kvs = [
        {"key": encoded(key.encode()), "create_revision": at, "mod_revision": at, "version": 1,
         "value": encoded(value.encode())}
        for at, (key, value) in enumerate(sorted(values.items()), 2)
    ]  # fmt: skip
    path.write_text(json.dumps({"header": {"revision": len(kvs) + 1}, "kvs": kvs, "count": len(kvs)}))
    return count


def scanned(dump, report, old, new):
    """Return the definitions of an upgrade scan, the counts, and the rows of changes and objects."""
    asked = AuditOptions(dumps=(str(dump),), report=str(report), jobs=1, force=True, engine="inline", kubernetes=old)
    _, manifest = run_upgrade(asked, UpgradeOptions((), to_kubernetes=new, today=old))
    section = manifest["upgrade"]
    rows = [pq.read_table(report / table).to_pylist() for table in ("changes", "objects")]
    return section["definitions"], section["sentence"], section["kubernetes"], manifest["changes"], rows


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("old", "new", "name"), [marked(*pair, name) for pair in [*EACH, *FAR] for name in SUITES])
def test_judging_once_finds_what_judging_twice_finds(old, new, name, tmp_path, monkeypatch):
    assert write(tmp_path / "dump.json", name) > 50
    quick = scanned(tmp_path / "dump.json", tmp_path / "r", old, new)
    monkeypatch.setattr("auditor.shards.upgrade.release_causes.touched", lambda *_: Touched.ALL)
    assert scanned(tmp_path / "dump.json", tmp_path / "r", old, new) == quick
    assert "invalid" in {one["status"] for one in quick[4][1]}


def test_the_comparison_notices_objects_that_are_judged_once_and_differ(tmp_path, monkeypatch):
    write(tmp_path / "dump.json", "drawn.json")
    right = scanned(tmp_path / "dump.json", tmp_path / "r", *FAR[0])
    monkeypatch.setattr("auditor.shards.upgrade.release_causes.touched", lambda *_: Touched.NONE)
    assert scanned(tmp_path / "dump.json", tmp_path / "r", *FAR[0]) != right
