"""Nothing of an audited object waits for the collector, which is off: memory would grow with the dump."""

import gc
import json
import weakref
from pathlib import Path

import pytest

from auditor.plan.cut import cut_shards
from auditor.plan.options import AuditOptions
from auditor.plan.run_plan import make_plan
from auditor.shards.shard_audit import ShardAuditor
from auditor.shards.shard_keys import ShardKeys
from pipelines.run.audit import run_audit
from tests.documents import definition_of
from tests.reference.make import VECTORS
from tests.shared import second_check, shared, shared_lines

SAMPLE = Path(__file__).resolve().parents[2] / "sample-data" / "cluster.db.gz"


def left_over(tmp_path, dump, **options):
    """Return how many objects only a collection finds after a dump has been audited, and how many keys that were."""
    for name in ("parts/objects", "parts/findings"):
        (tmp_path / name).mkdir(parents=True)
    plan = make_plan(AuditOptions(dumps=(str(dump),), report=str(tmp_path / "report"), **options), tmp_path)
    auditor = ShardAuditor(plan, str(tmp_path / "parts"))
    shards = cut_shards(plan)
    was_on = gc.isenabled()
    gc.disable()
    for shard in shards:
        auditor(shard)
    gc.collect()
    gc.freeze()  # a collection then walks what the audit makes, not what all tests before have left
    try:
        found = []
        for _ in range(12):  # what is left by making programs, or by other tests, is not left each time
            rows = sum(auditor(shard).rows for shard in shards)
            found.append(gc.collect())
            if not found[-1]:
                break
        return min(found), rows
    finally:
        if was_on:
            gc.enable()


@pytest.mark.sampled(3)
@pytest.mark.parametrize("options", [{}, {"skip": ("updates",)}, {"at": "served"}], ids=str)
def test_of_the_sample(tmp_path, options):
    found, rows = left_over(tmp_path, SAMPLE, **options)
    assert (found, rows > 40) == (0, True)


@pytest.mark.parametrize("options", [{}, {"skip": ("updates",)}], ids=str)
def test_of_drawn_objects_with_every_kind_of_defect(tmp_path, options):
    suite = json.loads((VECTORS / "drawn.json").read_text())
    crds, dump = tmp_path / "crds.json", tmp_path / "cases.ndjson"
    crds.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": suite["definitions"]}))
    dump.write_text("".join(f"{case['object']}\n" for case in suite["cases"] if "object" in case))
    found, rows = left_over(tmp_path, dump, crds=(str(crds),), **options)
    assert (found, rows > 200) == (0, True)


@second_check("vectors/real-audit.jsonl.gz", by="tests/shards/test_no_cycles.py")
@pytest.mark.parametrize("options", [{}, {"skip": ("updates",)}], ids=str)
def test_of_recorded_objects_of_real_projects(tmp_path, options):
    dump = tmp_path / "cases.ndjson"
    cases = shared_lines("vectors/real-audit.jsonl.gz")
    texts = [case.get("objectText") or json.dumps(case.get("object")) for case in cases]
    dump.write_text("".join(text.replace("\n", " ") + "\n" for text in texts))
    found, rows = left_over(tmp_path, dump, crds=(str(shared("corpus/crds")),), **options)
    assert (found, rows > 3000) == (0, True)


def test_of_metadata_repaired_in_several_fields(tmp_path):
    crds, dump = tmp_path / "crd.json", tmp_path / "repaired.ndjson"
    crds.write_text(json.dumps(definition_of({"type": "object"})))
    metadata = {"name": "a", "namespace": "b", "uid": 5, "labels": [], "extra": 1, "creationTimestamp": "soon"}
    one = json.dumps({"apiVersion": "x.example.com/v1", "kind": "X", "metadata": metadata})
    dump.write_text((one + "\n") * 100)
    assert left_over(tmp_path, dump, crds=(str(crds),)) == (0, 100)


def test_a_value_that_failed_is_let_go_before_the_next_is_judged(tmp_path, monkeypatch):
    dump = tmp_path / "dump.ndjson"
    objects = [
        {"apiVersion": "x.example.com/v1", "kind": "X", "metadata": {"name": f"a{n}", "namespace": "b"}}
        for n in range(4)
    ]
    dump.write_text("".join(json.dumps(document) + "\n" for document in [definition_of({"type": "object"}), *objects]))
    held, still_there = [], []
    add, add_slowly = ShardKeys.add, ShardKeys.add_slowly

    def failing(judge):
        def added(self, position, key, revision, data):
            still_there.append(any(reference() is not None for reference in held))
            if b'"a1"' in data:
                much = set()  # what the judge had made of the value when the memory ended
                held.append(weakref.ref(much))
                raise MemoryError
            judge(self, position, key, revision, data)

        return added

    monkeypatch.setattr(ShardKeys, "add", failing(add))
    monkeypatch.setattr(ShardKeys, "add_slowly", failing(add_slowly))
    was_on = gc.isenabled()
    gc.disable()
    try:
        code, manifest = run_audit(AuditOptions(dumps=(str(dump),), report=str(tmp_path / "report"), jobs=1))
    finally:
        if was_on:
            gc.enable()
    assert (code, manifest["counts"]["statuses"]) == (3, {"definition": 1, "unreadable": 1, "valid": 3})
    assert (len(held), len(still_there) > 9, any(still_there)) == (2, True, False)
