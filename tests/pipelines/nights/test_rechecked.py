"""A finding is fixed only if it was seen fixed, whatever of the dump was damaged, out of scope or skipped."""

import itertools
import json

import pyarrow.parquet as pq
import pytest

from auditor.plan.options import RunScope
from tests.command import auditor
from tests.output.summaries import summary_of
from tests.pipelines.nights.support import DELETING, FORMS, Nights, Store, day, definition, loaf
from tests.pipelines.nights.test_diff import audit_fleet, fleet


def start():
    """Return a store whose objects have findings of the schema, of rules and of updates."""
    store = Store(definition(rules=("self.grams != 7",)), definition("Pan", scope="Cluster"))
    for namespace in ("north", "south"):
        store.put(loaf("heavy", namespace=namespace, grams=900))
        store.put(loaf("ruled", namespace=namespace, grams=7))
        store.put(loaf("stuck", namespace=namespace, grams=900, metadata={**DELETING, "generation": -1}))
    store.put(loaf("wide", kind="Pan", namespace=None, grams=900))
    return store


def found(report, table="findings"):
    parts = sorted((report / table).glob("*.parquet"))
    return [row for part in parts for row in pq.read_table(part).to_pylist()]


SCOPES = {
    "everything": (RunScope(), lambda row: True),
    "namespace": (RunScope(namespace="north"), lambda row: row["namespace"] == "north"),
    "exclude": (RunScope(exclude=("Pan",)), lambda row: row["kind"] != "Pan"),
    "include": (RunScope(include=("pans.bakery.example.com",)), lambda row: row["kind"] == "Pan"),
    "labels": (RunScope(labels="a=b"), lambda row: False),
}
SKIPS = {
    (): lambda row: True,
    ("updates",): lambda row: row["request"] == "create",
    ("rules",): lambda row: row["request"] == "create" and row["check"] != "rule",
}


def _fixed(store):
    for namespace, name in itertools.product(("north", "south"), ("heavy", "ruled", "stuck")):
        store.put(loaf(name, namespace=namespace))
    store.put(loaf("wide", kind="Pan", namespace=None))


def _deleted(store):
    for key in [key for key in store.kvs if key.rpartition("/")[2] in ("heavy", "ruled", "stuck", "wide")]:
        del store.kvs[key]
    store.put(loaf("new"))


def _torn(store):
    for key in store.kvs:
        if "/loafs/" in key or "/pans/" in key:
            store.put(b"{torn", key)


def _orphaned(store):
    for key in [key for key in store.kvs if "customresourcedefinitions" in key]:
        del store.kvs[key]


@pytest.fixture(scope="module")
def last_night(tmp_path_factory):
    """Return the report of a night that found all of this."""
    folder = tmp_path_factory.mktemp("last-night")
    report, _, _ = Nights(folder).audit(day(start(), folder, "etcdctl", 1))
    return report


@pytest.mark.sampled(5)
@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize(
    ("change", "skip"),
    [
        *itertools.product((_fixed, _deleted), SKIPS),
        *itertools.product((_torn, _orphaned), [()]),
        *(
            pytest.param(change, skip, marks=pytest.mark.slow)
            for change in (_torn, _orphaned)
            for skip in SKIPS
            if skip
        ),
    ],
)
def test_only_what_was_checked_again_is_fixed(nights, tmp_path, last_night, scope, skip, change):
    second = start()
    change(second)
    asked, in_scope = SCOPES[scope]
    dump = day(second, tmp_path, "etcdctl", 2)
    report, manifest, _ = nights.audit(dump, diff=str(last_night), scope=asked, skip=skip)
    before = found(last_night)
    assert {row["check"] for row in before} >= {"schema", "rule"}
    assert {row["request"] for row in before} > {"create"}
    may_be = {
        _fixed: lambda row: in_scope(row) and SKIPS[skip](row),
        _deleted: in_scope,
    }.get(change, lambda row: False)
    fixed = found(report, "fixed")
    assert sorted(map(_name, fixed)) == sorted(_name(row) for row in before if may_be(row))
    diff = manifest["diff"]
    assert diff["findings"]["fixed"] == len(fixed)
    assert diff["findings"]["fixed"] + diff["findings"]["same"] + diff["not_judged"] == len(before)
    assert sum(diff["not_rechecked"].values()) == diff["not_judged"]
    assert (f"{diff['not_judged']} not re-checked" in summary_of(report)) == (diff["not_judged"] > 0)


def _name(row):
    return (row["key"] or "", row["request"], row["check"], row["field"])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("left", [0, 1, 2])
def test_a_dump_cut_short_fixes_nothing(nights, tmp_path, form, left):
    """Some objects of an export or a listing are left, of one kind or none."""
    first, second = start(), start()
    for key in sorted(second.kvs)[:-left] if left else list(second.kvs):
        del second.kvs[key]
    crds = tmp_path / "crds.ndjson"
    crds.write_text("\n".join(json.dumps(one) for one in (definition(), definition("Pan", scope="Cluster"))))
    old, _, _ = nights.audit(day(first, tmp_path, form, 1), crds=(str(crds),))
    dump = day(second, tmp_path, form, 2)
    if form == "export" and not left:
        (tmp_path / "empty.json").write_text('{"kind": "List", "apiVersion": "v1", "items": []}')
        dump = str(tmp_path / "empty.json")
    report, manifest, _ = nights.audit(dump, diff=str(old), crds=(str(crds),))
    assert {row["kind"] for row in found(report, "fixed")} <= ({"Loaf"} if form == "export" and left else set())
    assert manifest["diff"]["not_judged"] > 0
    assert "nothing to do" not in summary_of(report)


def test_an_older_dump_fixes_nothing(nights, tmp_path):
    first = start()
    younger = first.copy()
    younger.put(loaf("late", grams=901))
    old, _, _ = nights.audit(day(younger, tmp_path, "etcdctl", 1))
    report, manifest, _ = nights.audit(day(first, tmp_path, "etcdctl", 2), diff=str(old))
    assert manifest["diff"]["not_rechecked"] == {"no newer dump": 1}
    assert found(report, "fixed") == []


def test_damage_of_one_cluster_leaves_the_others(nights, tmp_path):
    heavy, gone = start(), start()
    _deleted(gone)
    old, _, _ = audit_fleet(nights, fleet(tmp_path, 1, a=heavy, b=heavy, c=heavy))
    pattern = fleet(tmp_path, 2, a=gone, b=gone)
    broken = tmp_path / "night-2" / "b" / "dump.json"
    broken.write_bytes(broken.read_bytes()[:-100])
    report, manifest, code = audit_fleet(nights, pattern, diff=str(old))
    assert code == 3
    assert {row["cluster"] for row in found(report, "fixed")} == {"a"}
    assert manifest["diff"]["not_rechecked"].keys() <= {"no dump", "damaged"}


# ---- objects


def test_an_object_that_newly_breaks_lists_is_named_once(nights, tmp_path):
    first = start()
    second = first.copy()
    second.put(b"{torn", Store.key(loaf("heavy", namespace="north")))
    second.put(loaf("loses", unknown=1))
    second.put(loaf("wide", kind="Pan", namespace=None))
    old, _, _ = nights.audit(day(first, tmp_path, "etcdctl", 1))
    report, manifest, _ = nights.audit(day(second, tmp_path, "etcdctl", 2), diff=str(old))
    assert manifest["diff"]["worse"] == {"unreadable": 1, "blocked": 0, "data-loss": 1}
    text = summary_of(report)
    assert "OBJECTS THAT BECAME WORSE  1 unreadable, 1 data-loss" in text
    assert "next: auditor show" in text
    assert "/registry/bakery.example.com/loafs/north/heavy" in text
    changes = {row["name"]: row["change"] for row in found(report, "objects") if row["namespace"] != "south"}
    assert changes["heavy"] == "worse"
    assert changes["wide"] == "better"
    assert changes["loses"] == "new"
    assert changes["stuck"] == "same"
    lines = auditor("findings", report, "--against", old, "-o", "ndjson").stdout.splitlines()
    rows = [row for row in map(json.loads, lines) if "status" in row]
    assert [(row["name"], row["change"], row["level"]) for row in rows] == [
        ("heavy", "worse", "unreadable"),
        ("loses", "new", "data-loss"),
    ]


@pytest.mark.parametrize("form", FORMS)
def test_what_was_repaired_is_better(nights, tmp_path, form):
    first = start()
    first.put(loaf("loses", unknown=1))
    second = first.copy()
    second.put(loaf("loses"))
    old, _, _ = nights.audit(day(first, tmp_path, form, 1))
    report, manifest, _ = nights.audit(day(second, tmp_path, form, 2), diff=str(old))
    assert sum(manifest["diff"]["worse"].values()) == 0
    assert "WORSE" not in summary_of(report)
    assert {row["change"] for row in found(report, "objects") if row["name"] == "loses"} == {"better"}
    [row] = map(json.loads, auditor("findings", report, "--against", old, "-o", "ndjson").stdout.splitlines())
    assert (row["name"], row["change"], row["level"]) == ("loses", "better", "data-loss")


@pytest.mark.parametrize("value", [None, b"k8s:enc:aescbc:v1:key1:0123456789abcdef", b"{torn"])
def test_a_listing_of_definitions_alone_fixes_nothing(nights, tmp_path, value):
    """One of them may be sealed or torn."""
    first = start()
    second = first.copy()
    for key in [key for key in second.kvs if "customresourcedefinitions" not in key]:
        del second.kvs[key]
    second.put(definition() if value is None else value, Store.key(definition()))
    old, _, _ = nights.audit(day(first, tmp_path, "etcdctl", 1))
    _, manifest, _ = nights.audit(day(second, tmp_path, "etcdctl", 2), diff=str(old))
    assert manifest["diff"]["findings"]["fixed"] == 0
    assert manifest["diff"]["not_rechecked"] == {"nothing of the kind in the dump": len(found(old))}
