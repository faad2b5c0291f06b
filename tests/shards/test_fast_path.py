"""The short way of valid objects gives the rows of the long way."""

import base64
import gzip
import json
import shutil
from pathlib import Path

import pytest

from auditor.plan.options import AuditOptions
from auditor.program.program import AuditProgram
from auditor.shards.fast_path import FastPath
from auditor.shards.shard_audit import ShardAuditor
from pipelines.run.audit import run_audit
from tests.documents import definition_of
from tests.shared import at_least, second_check, shared

SAMPLE = Path(__file__).resolve().parents[2] / "sample-data" / "cluster.db.gz"


def files(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*.parquet"))}


def audited(folder, dump, **options):
    run_audit(AuditOptions(dumps=(str(dump),), report=str(folder), **options))
    manifest = json.loads((folder / "manifest.json").read_text())
    return files(folder), manifest["counts"], manifest.get("definitions")


SLOW = {}
"""What the long way gives for a dump with some options."""


def both(tmp_path, monkeypatch, dump, *, typed_after=None, **options):
    """Return how many objects took a fast path, and how many of them were proven from their bytes."""
    asked = (str(dump), *options.items())
    if asked not in SLOW:
        with monkeypatch.context() as patch:
            patch.setattr(ShardAuditor, "uses_fast_paths", lambda *_: False)
            SLOW[asked] = audited(tmp_path / "slow", dump, **options)
    slow = SLOW[asked]
    taken, proven = [], []
    with monkeypatch.context() as patch:
        add, add_typed, typed = FastPath.add, FastPath.add_typed, AuditProgram.typed

        def proved(fast, *words):
            done = add_typed(fast, *words)
            proven.append(done)
            return done

        patch.setattr(FastPath, "add_typed", proved)
        if typed_after is not None:
            patch.setattr(AuditProgram, "typed", lambda program: typed(program, typed_after))

        def counted(fast, *words):
            left = add(fast, *words)
            taken.append(left is None)
            return left

        patch.setattr(FastPath, "add", counted)
        quick = audited(tmp_path / "quick", dump, **options)
    assert quick[0].keys() == slow[0].keys()
    assert [name for name in slow[0] if quick[0][name] != slow[0][name]] == []
    assert quick[1:] == slow[1:]
    return sum(taken) + sum(proven), sum(proven)


@pytest.mark.parametrize("options", [{}, {"at": "stored"}, {"skip": ("rules",)}, {"skip": ("updates",)}])
def test_of_the_sample(tmp_path, monkeypatch, options):
    assert both(tmp_path, monkeypatch, SAMPLE, **options)[0] > 10


@pytest.mark.parametrize("dump", ["snapshot.db.gz", "kubectl-get-all.json.gz", "etcdctl-get.json.gz"])
def test_of_a_real_cluster(tmp_path, monkeypatch, dump):
    path = shared(f"golden/upgrade/{dump}")
    crds = (str(shared("golden/upgrade/crds")),) if "kubectl" in dump else ()
    assert both(tmp_path, monkeypatch, path, crds=crds)[0] > at_least("golden/upgrade", 90, 40)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("options", [{}, {"at": "stored"}, {"skip": ("rules",)}, {"skip": ("updates",)}])
@pytest.mark.parametrize("dump", ["snapshot.db.gz", "kubectl-get-all.json.gz", "etcdctl-get.json.gz"])
def test_of_a_real_cluster_from_bytes(tmp_path, monkeypatch, dump, options):
    path = shared(f"golden/upgrade/{dump}")
    crds = (str(shared("golden/upgrade/crds")),) if "kubectl" in dump else ()
    assert both(tmp_path, monkeypatch, path, crds=crds, typed_after=0, **options)[1] > at_least("golden/upgrade", 20, 2)


@pytest.mark.slow
@second_check("vectors", by="tests/shards/test_fast_path.py")
def test_of_cases_with_other_answers(tmp_path, monkeypatch):
    """All objects of the recorded audits of real definitions in one export: pruned, broken, of unknown versions."""
    lines = []
    with gzip.open(shared("vectors/real-audit.jsonl.gz"), "rt") as stream:
        for line in stream:
            case = json.loads(line)
            text = case.get("objectText") or json.dumps(case.get("object"))
            lines.append(text.replace("\n", " "))
    dump = tmp_path / "cases.ndjson"
    dump.write_text("\n".join(lines) + "\n")
    crds = (str(shared("corpus/crds")),)
    assert both(tmp_path, monkeypatch, dump, crds=crds)[0] > 100
    shutil.rmtree(tmp_path / "quick")
    assert both(tmp_path, monkeypatch, dump, crds=crds, typed_after=0)[1] > 100


def test_that_invalid_objects_at_the_start_of_a_kind_do_not_end_the_proving_from_bytes(tmp_path, monkeypatch):
    """Exports are sorted: what has no namespace comes first of its kind, hundreds in a row, and is invalid."""
    crds, dump = tmp_path / "crd.json", tmp_path / "sorted.ndjson"
    crd = definition_of({"type": "object", "properties": {"size": {"type": "integer"}}})
    crds.write_text(json.dumps(crd))
    head = {"apiVersion": f"{crd['spec']['group']}/v1", "kind": crd["spec"]["names"]["kind"]}
    places = [{}] * 400 + [{"namespace": "apps"}] * 600
    objects = (
        {**head, "metadata": {"name": f"n{number:04}", "generation": 1, **place}, "size": number}
        for number, place in enumerate(places)
    )
    dump.write_text("".join(json.dumps(one) + "\n" for one in objects))
    assert both(tmp_path, monkeypatch, dump, crds=(str(crds),), typed_after=0)[1] > 350


@pytest.mark.parametrize("options", [{}, {"skip": ("updates",)}], ids=str)
def test_that_only_objects_that_cannot_be_read_are_judged_a_second_time(tmp_path, monkeypatch, options):
    crds, dump = tmp_path / "crd.json", tmp_path / "mixed.ndjson"
    crd = definition_of({"type": "object", "properties": {"spec": {"type": "object", "required": ["size"]}}})
    crds.write_text(json.dumps(crd))
    head = {"apiVersion": f"{crd['spec']['group']}/v1", "kind": crd["spec"]["names"]["kind"]}
    written = {"manager": "helm", "time": "2024-01-02T03:04:05Z", "fieldsV1": {"f:spec": {"f:size": {}}}}
    metadata = [{}, {"managedFields": [written]}, {"namespace": ""}, {"labels": "none"}, {"deletionTimestamp": "soon"}]
    objects = (
        {**head, "metadata": {"name": f"n{number:04}", "namespace": "apps", **metadata[number % 5]}, "spec": {}}
        for number in range(100)
    )
    dump.write_text("".join(json.dumps(one) + "\n" for one in objects))
    both(tmp_path, monkeypatch, dump, crds=(str(crds),), **options)
    again = []
    judge = ShardAuditor.judge

    def noted(*words):
        again.append(judge(*words))
        return again[-1]

    monkeypatch.setattr(ShardAuditor, "judge", noted)
    audited(tmp_path / "again", dump, crds=(str(crds),), **options)
    assert all(judged[0].audited.unreadable is not None for judged in again)
    assert len(again) < 50


def test_that_an_object_of_another_kind_without_metadata_takes_the_long_way(tmp_path, monkeypatch):
    crds = tmp_path / "crd.json"
    crds.write_text(json.dumps(definition_of({"type": "object"})))
    metadata = {"name": "fine", "namespace": "a", "uid": "u", "creationTimestamp": "2026-01-01T00:00:00Z"}
    values = {"bare": {"kind": "Other"}, "fine": {"kind": "X", "metadata": metadata}}
    kvs = [
        {
            "key": base64.b64encode(f"/registry/x.example.com/xs/a/{name}".encode()).decode(),
            "mod_revision": 2,
            "value": base64.b64encode(json.dumps({"apiVersion": "x.example.com/v1", **value}).encode()).decode(),
        }
        for name, value in values.items()
    ]
    dump = tmp_path / "dump.json"
    dump.write_text(json.dumps({"header": {"revision": 3}, "kvs": kvs}))
    both(tmp_path, monkeypatch, dump, crds=(str(crds),), fail_on="never")
    assert json.loads((tmp_path / "quick" / "manifest.json").read_text())["lost"] == []
