"""An audit that keeps rows of last night's report writes the files of one that keeps none."""

import hashlib
import json
import os
import random
import shutil
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from auditor import __version__
from auditor.base.errors import DamagedDump, PlanError, WorkerLost
from auditor.base.records import Shard
from auditor.plan import plan
from auditor.plan.options import Scope
from auditor.plan.plan import SourceShard
from pipelines.reuse.groups import owners_in_order
from pipelines.run.incremental import DifferentVerdicts, _cut
from tests.command import auditor
from tests.pipelines.reuse.support import Store, assert_same, definition, loaf

FORMS = ("etcdctl", "export")
EXPORTS_SLOWLY = ("etcdctl", pytest.param("export", marks=pytest.mark.slow))
DELETING = {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["example.com/wait"]}


def bakery(*more):
    return Store(
        definition(),
        *(loaf(f"loaf-{number:02}") for number in range(8)),
        loaf("heavy", grams=900),
        loaf("odd", flour="sand", extra=1),
        loaf("south", namespace="south"),
        loaf("stuck", grams=900, flour="sand", metadata={**DELETING, "generation": -1}),
        {"apiVersion": "gone.example.com/v1", "kind": "Ghost", "metadata": {"name": "g", "namespace": "north"}},
        *more,
    )


def day(store, tmp_path, form, number):
    return store.write(tmp_path / f"day-{number}.{'json' if form == 'etcdctl' else 'ndjson'}", form)


def two_days(tmp_path, form, first, second):
    return day(first, tmp_path, form, 1), day(second, tmp_path, form, 2)


def _same(store):
    pass


def _changed(store):
    store.put(loaf("loaf-03", grams=901))


def _repaired(store):
    store.put(loaf("heavy"))


def _removed(store):
    del store.kvs["/registry/bakery.example.com/loafs/north/loaf-05"]


def _new(store):
    store.put(loaf("a-first", grams=700))
    store.put(loaf("zz-last"))


def _moved(store):
    store.put(loaf("south", namespace="west"))
    del store.kvs["/registry/bakery.example.com/loafs/south/south"]


def _first_broken_changes(store):
    store.put(loaf("stuck", flour="sand", metadata=DELETING))


def _all_gone(store):
    for key in [key for key in store.kvs if "/loafs/" in key]:
        del store.kvs[key]


def _everything(store):
    for change in (_changed, _repaired, _removed, _new, _moved):
        change(store)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("form", EXPORTS_SLOWLY)
@pytest.mark.parametrize(
    "change",
    [_same, _changed, _repaired, _removed, _new, _moved, _first_broken_changes, _all_gone, _everything],
    ids=lambda change: change.__name__.strip("_"),
)
def test_tables_are_those_of_a_full_run(nights, tmp_path, form, change):
    first = bakery()
    second = first.copy()
    change(second)
    since = nights.check(*two_days(tmp_path, form, first, second))["since"]
    assert since["kept"] + since["audited"] == len(second.kvs)
    assert since["kept"] > 0
    assert since["audited"] == sum(since["why"].values())


def test_of_an_unchanged_dump_all_is_kept_but_what_the_summary_tells_more_of(nights, tmp_path):
    paths = two_days(tmp_path, "etcdctl", bakery(), bakery())
    since = nights.check(*paths)["since"]
    assert since["why"] == {"not certain": 1}  # the first object that can never be deleted
    assert since["gone"] == 0


def test_keys_that_are_gone_are_counted(nights, tmp_path):
    first = bakery()
    second = first.copy()
    _everything(second)  # two are removed, four changed or new
    paths = two_days(tmp_path, "etcdctl", first, second)
    assert nights.check(*paths)["since"]["gone"] == 2
    assert nights.check(*two_days(tmp_path, "export", first, second))["since"]["gone"] == 4


def test_a_revision_alone_is_a_change(nights, tmp_path):
    first = bakery()
    second = first.copy()
    second.put(loaf("loaf-03"))
    since = nights.check(*two_days(tmp_path, "etcdctl", first, second))["since"]
    assert since["why"] == {"changed": 1, "not certain": 1}


def test_a_value_alone_is_a_change(nights, tmp_path):
    """A store that was restored can have another value at the same revision."""
    first = bakery()
    second = first.copy()
    key = Store.key(loaf("loaf-03"))
    second.kvs[key] = (json.dumps(loaf("loaf-03", grams=901)).encode(), second.kvs[key][1])
    since = nights.check(*two_days(tmp_path, "etcdctl", first, second))["since"]
    assert since["why"] == {"changed": 1, "not certain": 1}


@pytest.mark.parametrize("form", EXPORTS_SLOWLY)
def test_another_schema_audits_its_objects_alone(nights, tmp_path, form):
    oven = definition("Oven")
    first = bakery(oven, *(loaf(f"oven-{number}", kind="Oven") for number in range(3)))
    second = first.copy()
    second.put(definition("Oven", most=4))
    since = nights.check(*two_days(tmp_path, form, first, second))["since"]
    assert since["why"]["definition changed"] == 3
    assert since["kept"] > 8


@pytest.mark.parametrize("form", FORMS)
def test_another_schema_from_a_file_does_too(nights, tmp_path, form):
    first, second = two_days(tmp_path, form, bakery(), bakery())
    (tmp_path / "a.json").write_text(json.dumps(definition()))
    (tmp_path / "b.json").write_text(json.dumps(definition(most=4)))
    since = nights.check(first, second, before={"crds": (str(tmp_path / "a.json"),)}, crds=(str(tmp_path / "b.json"),))[
        "since"
    ]
    assert since["why"]["definition changed"] >= 11


def _rewritten(path):
    path.write_text(path.read_text().replace("\n", " "))  # says the same in other bytes


def _of_another_auditor(report):
    manifest = json.loads((report / "manifest.json").read_text())
    manifest["tool"]["version"] = "0.0.0"
    (report / "manifest.json").write_text(json.dumps(manifest))


def _of_other_definitions(report):
    lines = report / "definitions.ndjson"
    lines.write_bytes(lines.read_bytes().replace(b"900", b"901"))


def _otherwise_written(report):
    """As a report as of a revision may hold them."""
    text = (report / "definitions.ndjson").read_bytes().replace(b'":', b'": ')
    (report / "definitions.ndjson").write_bytes(text)
    manifest = json.loads((report / "manifest.json").read_text())
    manifest["definitions"]["sha256"] = hashlib.sha256(text).hexdigest()
    (report / "manifest.json").write_text(json.dumps(manifest))


def _without_definitions(report):
    (report / "definitions.ndjson").unlink()


@pytest.mark.parametrize(
    ("change", "spoil", "parsed"),
    [
        (None, None, 0),
        (_rewritten, None, 1),
        (lambda path: path.rename(path.with_name("other.json")), None, 1),
        (None, _of_another_auditor, 1),
        (None, _of_other_definitions, 1),
        (None, _otherwise_written, 1),
        (None, _without_definitions, 1),
    ],
)
def test_files_of_definitions_that_did_not_change_are_not_parsed_again(
    nights, tmp_path, monkeypatch, change, spoil, parsed
):
    first, second = two_days(tmp_path, "export", bakery(), bakery())
    folder = tmp_path / "crds"
    folder.mkdir()
    path = folder / "loaf.json"
    path.write_text(json.dumps(definition(most=900), indent=1))
    (folder / "oven.yaml").write_text(json.dumps(definition("Oven")))
    old, before, _ = nights.audit(first, crds=(str(folder),))
    assert len(before["definitions"]["files_sha256"]) == 64
    if change is not None:
        change(path)
    whole, expected, _ = nights.audit(second, crds=(str(folder),))
    if spoil is not None:
        spoil(old)
    times = []
    read = plan.definitions_at
    monkeypatch.setattr(plan, "definitions_at", lambda paths, **more: times.append(paths) or read(paths, **more))
    kept, manifest, _ = nights.audit(second, crds=(str(folder),), since=str(old))
    assert len(times) == parsed
    assert (manifest["since"]["kept"] > 0) == (spoil is not _of_another_auditor)
    assert_same(whole, kept, expected, manifest)
    assert (whole / "definitions.ndjson").read_bytes() == (kept / "definitions.ndjson").read_bytes()


def test_times_and_counters_of_a_definition_change_nothing(nights, tmp_path):
    first = bakery()
    second = first.copy()
    same = definition()
    same["metadata"] |= {"resourceVersion": "99", "annotations": {"touched": "yes"}}
    same["status"]["conditions"][0]["lastTransitionTime"] = "2026-11-01T00:00:00Z"
    second.put(same)
    since = nights.check(*two_days(tmp_path, "etcdctl", first, second))["since"]
    assert since["why"] == {"changed": 1, "not certain": 1}


def test_a_definition_that_is_no_longer_established_takes_its_objects_along(nights, tmp_path):
    first = bakery()
    second = first.copy()
    gone = definition()
    gone["status"]["conditions"] = [{"type": "Established", "status": "False"}]
    second.put(gone)
    for one, other in ((first, second), (second, first)):
        since = nights.check(*two_days(tmp_path, "etcdctl", one, other))["since"]
        assert since["why"]["definition changed"] == 12


@pytest.mark.parametrize("form", EXPORTS_SLOWLY)
def test_a_new_definition_takes_its_orphans_in(nights, tmp_path, form):
    first = bakery()
    second = first.copy()
    second.put(definition("Ghost", group="gone.example.com"))
    for one, other in ((first, second), (second, first)):
        since = nights.check(*two_days(tmp_path, form, one, other))["since"]
        assert since["kept"] > 8


def test_rules_that_do_not_compile_count_from_the_first_object_on(nights, tmp_path):
    broken = definition("Oven", rules=("self.nothing > 1",))
    first = bakery(broken)
    second = first.copy()
    second.put(loaf("oven-1", kind="Oven"))
    nights.check(*two_days(tmp_path, "etcdctl", first, second))
    nights.check(*two_days(tmp_path, "etcdctl", second, first))
    third = second.copy()
    third.put(loaf("oven-2", kind="Oven"))
    nights.check(*two_days(tmp_path, "etcdctl", second, third))


@pytest.mark.parametrize("forms", [("etcdctl", "etcdctl"), ("export", "etcdctl")], ids="-".join)
@pytest.mark.parametrize("is_first", [True, False])
def test_rules_that_do_not_compile_count_in_each_dump_by_its_own_objects(nights, tmp_path, forms, is_first):
    """Each of several dumps has definitions of its own, which count where that dump has objects."""
    broken = definition(rules=("self.nope < 3",))
    one, other = (day(Store(broken, loaf("x")), tmp_path, form, number) for number, form in enumerate(forms))
    empty = day(Store(broken), tmp_path, "etcdctl", 8)
    first, second = (one, empty), (one, other)
    nights.check(*((first, second) if is_first else (second, first)))


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "options",
    [
        {"at": "served", "at_of_exports": "served"},
        {"at": "v1beta1", "at_of_exports": "v1beta1"},
        {"skip": ("rules",)},
        {"skip": ("updates",)},
        {"scope": Scope(namespace="north")},
        {"scope": Scope(fields="metadata.name!=odd", include=("Loaf",))},
        {"cluster": "berlin"},
        {"shard_bytes": 700, "shard_rows": 2},
        {"jobs": 2, "shard_bytes": 2000},
    ],
    ids=str,
)
@pytest.mark.parametrize("form", EXPORTS_SLOWLY)
def test_it_is_so_with_every_option(nights, tmp_path, form, options):
    first = bakery(
        definition("Oven", versions=("v1", "v1beta1"), rules=("self.grams < 50",)),
        *(loaf(f"oven-{number}", kind="Oven", version=version) for number in range(4) for version in ("v1",)),
        *(loaf(f"beta-{number}", kind="Oven", version="v1beta1", grams=number * 40) for number in range(4)),
    )
    second = first.copy()
    _everything(second)
    second.put(loaf("beta-2", kind="Oven", grams=3))
    assert nights.check(*two_days(tmp_path, form, first, second), **options)["since"]["kept"] > 0


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({}, {"skip": ("updates",)}),
        ({}, {"at": "stored"}),
        ({"ratcheting": False}, {}),
        ({"scope": Scope(namespace="north")}, {}),
        ({"field_gates": "A=true"}, {}),
    ],
    ids=str,
)
def test_other_options_keep_nothing(nights, tmp_path, monkeypatch, before, after):
    monkeypatch.setattr("auditor.shards.gates.GatedFields.check", lambda *_: None)
    paths = two_days(tmp_path, "etcdctl", bakery(), bakery())
    since = nights.check(*paths, before=before, **after)["since"]
    assert (since["kept"], since["why"]) == (0, {"options differ": since["audited"]})


def test_another_auditor_keeps_nothing(nights, tmp_path, monkeypatch):
    first, second = two_days(tmp_path, "etcdctl", bakery(), bakery())
    with monkeypatch.context() as patch:
        patch.setattr("auditor.__version__", "0.0.9")
        old, _, _ = nights.audit(first)
    _, manifest, _ = nights.audit(second, since=str(old))
    assert manifest["since"]["why"] == {f"auditor was 0.0.9 and is {__version__}": len(bakery().kvs)}


def test_encrypted_values_are_always_opened_again(nights, tmp_path):
    store = bakery()
    store.put(b"k8s:enc:aescbc:v1:key1:xxxxxxxx", "/registry/bakery.example.com/loafs/north/sealed")
    manifest = nights.check(*two_days(tmp_path, "etcdctl", store, store))
    assert manifest["since"]["why"]["encrypted"] == 1
    assert manifest["encryption"][0]["values"] == 1


@pytest.mark.parametrize("night", ["was sealed", "is sealed"])
def test_a_finding_of_an_object_that_is_sealed_is_not_fixed(nights, tmp_path, night):
    first, second = bakery(), bakery()
    key = "/registry/bakery.example.com/loafs/north/heavy"
    (second if night == "is sealed" else first).put(b"k8s:enc:aescbc:v1:key1:xxxxxxxx", key)
    first, second = two_days(tmp_path, "etcdctl", first, second)
    old, _, _ = nights.audit(first)
    _, manifest, code = nights.audit(
        second, diff=str(old), only_new=True, fail_on="unreadable", fail_on_sealed=True, fail_on_standing=False
    )
    assert manifest["diff"]["findings"]["fixed"] == 0
    assert manifest["diff"]["worse"]["unreadable"] == 0
    assert (code, manifest["diff"]["not_judged"]) == ((1, 1) if night == "is sealed" else (0, 0))


def test_objects_of_a_definition_that_is_sealed_today_are_no_longer_orphaned(nights, tmp_path):
    sealed = bakery()
    sealed.put(
        b"k8s:enc:aescbc:v1:key1:x", "/registry/apiextensions.k8s.io/customresourcedefinitions/ghosts.gone.example.com"
    )
    manifest = nights.check(*two_days(tmp_path, "etcdctl", bakery(), sealed))
    assert manifest["counts"]["statuses"]["sealed"] == 2
    assert "orphaned" not in manifest["counts"]["statuses"]


def test_objects_of_one_name_are_distinguished(nights, tmp_path):
    twice = [loaf("twin", grams=900), loaf("twin", flour="sand"), loaf("twin"), loaf("twin", grams=900, flour="oat")]
    first, second = tmp_path / "1.ndjson", tmp_path / "2.ndjson"
    lines = [json.dumps(one) for one in (definition(), *twice, loaf("other", grams=777))]
    first.write_text("\n".join(lines))
    second.write_text("\n".join([lines[4], *lines, json.dumps(loaf("twin", grams=902))]))
    since = nights.check(str(first), str(second), verify_sample=0)["since"]
    assert since["why"] == {"new or changed": 1}
    nights.check(str(second), str(first))
    since = nights.check((str(first), str(second)), (str(second), str(first)))["since"]
    assert since["kept"] > 0


@pytest.mark.parametrize(
    ("wanted", "creates", "owners"),
    [
        ([1, 2], [True, True, True], [0, 1, 1]),
        ([2, 1], [True, True, False, False, True], [0, 0, 0, 0, 1]),
        ([1, 0, 1], [True, True], [0, 2]),
        ([1, 0], [True, False], None),
        ([0, 0], [False], None),
        ([1, 1], [True], None),
        ([1], [True, True], None),
        ([2], [True, False, True], None),
    ],
)
def test_findings_go_to_their_objects_in_order(wanted, creates, owners):
    assert owners_in_order(list(range(len(wanted))), wanted, creates) == owners


def test_what_is_no_object_is_kept_too(nights, tmp_path):
    first = bakery()
    first.put(b"{torn", "/registry/bakery.example.com/loafs/north/torn")
    first.put(b"", "/registry/bakery.example.com/loafs/north/void")
    first.put(b"", "/registry/bakery.example.com/loafs/north/void-2")
    first.put(b"x", "compact_rev_key")
    first.put(b'{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p"}}', "/registry/pods/north/p")
    second = first.copy()
    second.put(b"{torn again", "/registry/bakery.example.com/loafs/north/torn-2")
    for form in FORMS:
        nights.check(*two_days(tmp_path, form, first, second))


@pytest.mark.parametrize("shard_bytes", [300, 1 << 20])
def test_what_crashes_a_server_is_named_before_what_breaks_lists(nights, tmp_path, shard_bytes):
    """However the dump is cut: what is left of it is cut in another way."""
    store = Store(definition(), *(loaf(f"loaf-{number}") for number in range(9)))
    store.put(b"{torn", Store.key(loaf("a-torn")))
    crashing = {name: part for name, part in loaf("m").items() if name != "metadata"}
    store.put(json.dumps(crashing).encode(), Store.key(loaf("m-crashes")))
    after = store.copy()
    after.put(b"{torn too", Store.key(loaf("loaf-1")))
    kinds = nights.check(*two_days(tmp_path, "etcdctl", store, after), shard_bytes=shard_bytes)["kinds"]
    broken = [kind["breaking"] for kind in kinds if kind["breaking"]]
    assert [(one["impact"], one["key"].rpartition("/")[2]) for one in broken] == [("crashes-server", "m-crashes")]


def test_what_is_stuck_at_a_later_version_alone_is_named_too(nights, tmp_path):
    made = definition(versions=("v1", "v1beta1"))
    made["spec"]["conversion"] = {"strategy": "Webhook"}  # so that v1, which comes first, tells nothing
    stuck = loaf("stuck", version="v1beta1", grams=900, flour="sand", metadata={**DELETING, "generation": -1})
    store = Store(made, stuck, loaf("x"))
    kinds = nights.check(*two_days(tmp_path, "etcdctl", store, store), at="served")["kinds"]
    assert [kind["stuck"]["key"].rpartition("/")[2] for kind in kinds if kind["stuck"]] == ["stuck"]


def test_night_after_night(nights, tmp_path):
    store = bakery()
    report, _, _ = nights.audit(day(store, tmp_path, "etcdctl", 0))
    for number, change in enumerate((_changed, _new, _removed, _repaired, _same), 1):
        change(store)
        path = day(store, tmp_path, "etcdctl", number)
        whole, expected, _ = nights.audit(path)
        report, manifest, _ = nights.audit(path, since=str(report), verify_sample=0.2)
        assert_same(whole, report, expected, manifest)


def _drawn(rng):
    draw = rng.random
    return {
        "grams": rng.choice([5, 50, 500, 5000, "heavy"]),
        "flour": rng.choice(["rye", "wheat", "sand", None]),
        **({"unknown": 1} if draw() < 0.2 else {}),
        **({"shape": "long"} if draw() < 0.5 else {}),
    }


@pytest.mark.parametrize(
    ("seed", "objects"),
    [
        (1, 30),
        *(pytest.param(seed, 120, marks=pytest.mark.nightly if seed > 1 else pytest.mark.slow) for seed in range(6)),
    ],
)
def test_drawn_changes(nights, tmp_path, monkeypatch, seed, objects):
    if seed % 2:
        monkeypatch.setattr("pipelines.run.incremental._FEW_SHARDS", 0)
        monkeypatch.setattr("pipelines.run.incremental._INLINE_BYTES", 0)
    rng = random.Random(seed)
    kinds = {"Loaf": "north", "Oven": "south", "Pan": "north"}
    store = Store(*(definition(kind, rules=("self.grams < 400",) if kind == "Pan" else ()) for kind in kinds))
    for number in range(objects):
        kind = rng.choice(list(kinds))
        metadata = rng.choice([{}, {}, {"labels": {"a": "b"}}, {"labels": {"a b": "c"}}, DELETING])
        store.put(loaf(f"x-{number}", kind=kind, namespace=rng.choice("ab"), metadata=metadata, **_drawn(rng)))
    after = store.copy()
    for key in rng.sample([key for key in after.kvs if "/x-" in key], objects // 6):
        what = rng.random()
        value = json.loads(after.kvs[key][0])
        if what < 0.3:
            del after.kvs[key]
        elif what < 0.9:
            after.put({**value, "spec": _drawn(rng)})
        else:
            after.put({**value, "metadata": {**value["metadata"], "name": f"new-{rng.random()}"}})
    if seed % 3 == 0:
        after.put(definition("Oven", most=9))
    form = FORMS[seed % 2]
    for jobs in (1, 2):
        manifest = nights.check(
            *two_days(tmp_path, form, store, after), jobs=jobs, shard_bytes=rng.choice([900, 9000, 1 << 20])
        )
        assert manifest["since"]["kept"] > objects // 4


@pytest.mark.parametrize(
    ("form", "seed", "objects"),
    [
        ("etcdctl", 0, 12),
        *(pytest.param(form, seed, 30, marks=pytest.mark.slow) for form in FORMS for seed in range(2)),
        *(pytest.param(form, seed, 60, marks=pytest.mark.nightly) for form in FORMS for seed in range(2)),
    ],
)
def test_large_reports_are_read_part_by_part(nights, tmp_path, monkeypatch, form, seed, objects):
    monkeypatch.setattr("pipelines.reuse.assembly._BLOCK_ROWS", objects // 4)
    monkeypatch.setattr("pipelines.run.incremental._FEW_SHARDS", 0)
    rng = random.Random(seed)
    store = Store(definition(), definition("Oven", versions=("v1", "v1beta1")))
    for _ in range(objects):
        store.put(loaf(f"x-{rng.random()}", kind=rng.choice(["Loaf", "Oven"]), **_drawn(rng)))
    after = store.copy()
    for key in rng.sample([key for key in after.kvs if "/x-" in key], objects // 5):
        after.put({**json.loads(after.kvs[key][0]), "spec": _drawn(rng)})
    options = {"shard_bytes": 600, "shard_rows": 4, "at": "served", "at_of_exports": "served"}
    for chosen in (options, {**options, "at": "storage", "at_of_exports": "stored"}):
        assert nights.check(*two_days(tmp_path, form, store, after), **chosen)["since"]["kept"] > objects // 2


@pytest.mark.parametrize(
    ("least", "few", "cut"),
    [
        (1, True, [(0, 0, 2), (0, 2, 3), (1, 0, 2)]),  # a shard a block that has rows
        (3, True, [(0, 0, 3), (1, 0, 2)]),  # or of several: never of two sources
        (1, False, [(0, 0, 1), (0, 1, 2), (0, 2, 3), (1, 0, 1), (1, 1, 2)]),  # of much, several a block
        (3, False, [(0, 0, 2), (0, 2, 3), (1, 0, 2)]),  # never of two blocks
    ],
)
def test_what_is_left_is_cut_where_blocks_end(monkeypatch, least, few, cut):
    def block(source, *stops):
        return [SourceShard(source, Shard(0, stop - 10, stop), 10) for stop in stops]

    blocks = [block(0, 10, 20), block(0, 30, 40), block(0, 50), block(1, 10, 20)]
    monkeypatch.setattr("pipelines.run.incremental.blocks", lambda _: blocks)
    plan = SimpleNamespace(sources=[SimpleNamespace(rows=50), SimpleNamespace(rows=20)])
    rows = [np.array([9, 10, 39]), np.array([0, 19])]
    shards = _cut(plan, rows, [np.ones(len(one), dtype=np.int64) for one in rows], least, few=few)
    assert [(item.source, item.shard.start, item.shard.stop) for item in shards] == cut
    assert [item.shard.number for item in shards] == list(range(len(cut)))


@pytest.mark.parametrize(("least", "cut"), [(3, [(0, 3), (3, 5), (5, 6)]), (6, [(0, 6)])])
def test_the_last_blocks_are_cut_alone_unless_all_is_one(monkeypatch, least, cut):
    blocks = [[SourceShard(0, Shard(0, stop - 10, stop), 10)] for stop in range(10, 70, 10)]
    monkeypatch.setattr("pipelines.run.incremental.blocks", lambda _: blocks)
    plan = SimpleNamespace(sources=[SimpleNamespace(rows=60)])
    shards = _cut(plan, [np.arange(5, 60, 10)], [np.ones(6, dtype=np.int64)], least, few=True)
    assert [(item.shard.start, item.shard.stop) for item in shards] == cut


@pytest.mark.parametrize("jobs", [1, 2])
def test_of_a_large_dump_the_report_is_read_and_the_rest_audited_beside(nights, tmp_path, monkeypatch, jobs):
    monkeypatch.setattr("pipelines.workers._WORTH_ONE", 1)
    monkeypatch.setattr("pipelines.run.incremental._INLINE_BYTES", 0)
    monkeypatch.setattr("pipelines.run.incremental._WORTH_ANOTHER", 1)
    monkeypatch.setattr("pipelines.reuse.digests._WORTH_ANOTHER", 1)  # half of the values are hashed by another process
    first = bakery(*(loaf(f"more-{number}", grams=number * 20) for number in range(40)))
    second = first.copy()
    _everything(second)
    for form in FORMS:
        paths = two_days(tmp_path, form, first, second)
        assert nights.check(*paths, jobs=jobs)["since"]["kept"] > 30
    old, _, _ = nights.audit(paths[0])
    shutil.rmtree(old / "objects")
    with pytest.raises(PlanError, match="holds 0 rows"):
        nights.audit(paths[1], since=str(old), jobs=jobs)


def test_parts_of_versions_that_differ_are_not_copied(nights, tmp_path):
    """Parts of two versions are the same on one night, and no longer on the next."""
    oven = definition("Oven", versions=("v1", "v2"))
    first = bakery(oven, *(loaf(f"oven-{number}", kind="Oven") for number in range(6)))
    second = first.copy()
    second.put(loaf("oven-2", kind="Oven", grams=7))
    manifest = nights.check(*two_days(tmp_path, "export", first, second))
    assert manifest["since"]["kept"] > 8
    other = definition("Oven", versions=("v1", "v2"))
    for number, version in enumerate(other["spec"]["versions"]):
        version["selectableFields"] = [{"jsonPath": (".spec.flour", ".spec.shape")[number]}]
    first.put(other)
    second.put(other)
    nights.check(*two_days(tmp_path, "export", first, second))


def test_what_a_lost_worker_could_not_judge_is_judged_the_next_night(nights, tmp_path, monkeypatch):
    first = bakery()
    second = first.copy()
    for number in range(4):
        second.put(loaf(f"loaf-0{number}", grams=901))
    first, second = two_days(tmp_path, "etcdctl", first, second)
    old, _, _ = nights.audit(first)

    def half(ready, shards, options, lost, spool, beside):
        work = ready()
        work(shards[0])  # what it wrote before it died
        return [lost(shards[0], WorkerLost("shard", "died twice")), *(work(shard) for shard in shards[1:])]

    with monkeypatch.context() as patch:
        patch.setattr("pipelines.run.audit.run_shards", half)
        report, manifest, code = nights.audit(second, since=str(old))
    assert code == 3
    assert manifest["lost"]
    assert manifest["counts"]["statuses"]["unreadable"] >= 1
    assert sum(manifest["counts"]["statuses"].values()) == len(bakery().kvs)
    whole, expected, _ = nights.audit(second)
    kept, manifest, _ = nights.audit(second, since=str(report))
    assert manifest["since"]["audited"] == 5
    assert_same(whole, kept, expected, manifest)


# ---- the sample


def test_a_sample_of_what_is_kept_is_audited_and_agrees(nights, tmp_path):
    first, second = two_days(tmp_path, "etcdctl", bakery(), bakery())
    old, _, _ = nights.audit(first)
    whole, expected, _ = nights.audit(second)
    for share, least in ((0.001, 1), (0.5, 5), (1.0, len(bakery().kvs) - 1)):
        kept, manifest, _ = nights.audit(second, since=str(old), verify_sample=share)
        assert manifest["since"]["sample"]["objects"] >= least
        assert_same(whole, kept, expected, manifest)


def _tampered(report, table, column, value, row=0):
    path = next(iter(sorted((report / table).rglob("part-*.parquet"))))
    read = pq.ParquetFile(path).read()
    rows = read.to_pylist()
    rows[row][column] = value
    pq.write_table(pa.Table.from_pylist(rows, schema=read.schema), path)
    return rows[row]


@pytest.mark.parametrize("form", EXPORTS_SLOWLY)
@pytest.mark.parametrize(
    ("table", "column", "value", "row"),
    [("objects", "findings", 7, 3), ("findings", "message", "another", 0), ("index", "field:spec.flour", "oat", 2)],
)
def test_a_row_that_does_not_agree_is_named(nights, tmp_path, form, table, column, value, row):
    first, second = two_days(tmp_path, form, bakery(), bakery())
    old, _, _ = nights.audit(first)
    changed = _tampered(old, table, column, value, row)
    with pytest.raises(DifferentVerdicts) as caught:
        nights.audit(second, since=str(old), verify_sample=1.0)
    assert "1 unchanged objects have other results" in str(caught.value)
    assert changed["name"] in str(caught.value)
    assert [path.name for path in tmp_path.glob("*report*")] == [old.name]


def test_the_command_ends_with_70_and_names_it(nights, tmp_path):
    path = day(bakery(), tmp_path, "etcdctl", 1)
    old, _, _ = nights.audit(path)
    _tampered(old, "objects", "findings", 7, 3)
    done = auditor("audit", path, "--report", tmp_path / "r", "--since", old, "--verify-sample", "100%", "--jobs", 1)
    assert done.code == 70, done.stderr
    assert "/registry/bakery.example.com/loafs/north/" in done.stderr
    assert "audit without --since" in done.stderr
    assert not (tmp_path / "r").exists()


# ---- what is refused


@pytest.mark.parametrize(
    ("column", "value"),
    [("status", "valib"), ("status", ""), ("impact", "tolerated-while-uncha6ged"), ("impacts", ["drifts", "x\x1b"])],
)
def test_a_status_or_an_impact_that_no_audit_writes_is_damage(nights, tmp_path, column, value):
    first, second = two_days(tmp_path, "etcdctl", bakery(), bakery())
    old, _, _ = nights.audit(first)
    _tampered(old, "objects", column, value, 3)
    with pytest.raises(DamagedDump, match=r"objects/part-00000.parquet: has a row of the status") as caught:
        nights.audit(second, since=str(old))
    assert "\x1b" not in str(caught.value)


def test_a_folder_that_is_no_report_is_refused(nights, tmp_path):
    with pytest.raises(PlanError, match="is not a report"):
        nights.audit(day(bakery(), tmp_path, "export", 1), since=str(tmp_path))


@pytest.mark.parametrize("option", ["since", "diff"])
@pytest.mark.parametrize("table", ["objects", "findings"])
def test_a_report_with_missing_parts_is_refused(nights, tmp_path, table, option):
    path = day(bakery(), tmp_path, "export", 1)
    old, _, _ = nights.audit(path)
    shutil.rmtree(old / table)
    with pytest.raises(PlanError, match=rf"--{option}: .*/{table} holds 0 rows"):
        nights.audit(path, **{option: str(old)})


def test_a_report_without_its_index_is_refused(nights, tmp_path):
    path = day(bakery(), tmp_path, "export", 1)
    old, manifest, _ = nights.audit(path)
    shutil.rmtree(old / "index")
    valid = manifest["counts"]["statuses"]["valid"]
    with pytest.raises(
        PlanError, match=rf"--since: .*/index holds no rows; expected those of at least {valid} objects"
    ):
        nights.audit(path, since=str(old))


def test_a_report_with_a_part_that_is_cut_short_is_refused(nights, tmp_path):
    path = day(bakery(), tmp_path, "export", 1)
    old, _, _ = nights.audit(path)
    os.truncate(next(old.glob("findings/*")), 300)
    for option in ("since", "diff"):
        with pytest.raises(DamagedDump, match=r"findings/part-00000.parquet: is damaged"):
            nights.audit(path, **{option: str(old)})


@pytest.mark.parametrize("option", ["since", "diff"])
@pytest.mark.parametrize(
    ("table", "damage"),
    [
        ("objects", lambda data: data[:4] + b"\xff" * 60 + data[64:]),
        ("findings", lambda data: data.replace(b"namespace", b"namespacf")),
    ],
    ids=["page", "column"],
)
def test_a_report_with_a_part_whose_bytes_changed_is_refused(nights, tmp_path, table, damage, option):
    path = day(bakery(), tmp_path, "etcdctl", 1)
    old, _, _ = nights.audit(path)
    part = next((old / table).glob("*"))
    part.write_bytes(damage(part.read_bytes()))
    with pytest.raises(DamagedDump, match=rf"{table}/part-00000.parquet: is damaged: \w"):
        nights.audit(path, **{option: str(old)})


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--verify-sample", "1%"], "needs --since"),
        (["--only-new"], "needs --diff"),
        (["--since", "a", "--old", "b"], "checks every object as an update"),
        (["--since", "a", "--verify-sample", "2"], "is not a share"),
    ],
)
def test_options_that_mean_nothing_together_are_refused(tmp_path, words, said):
    done = auditor("audit", "x.json", "--report", tmp_path / "r", *words)
    assert done.code == 2
    assert said in done.stderr


def test_the_report_can_be_replaced_by_the_one_that_keeps_its_rows(nights, tmp_path):
    path = day(bakery(), tmp_path, "etcdctl", 1)
    words = ("audit", path, "--report", tmp_path / "r", "--fail-on", "never", "--jobs", 1)
    assert auditor(*words).code == 0
    done = auditor(*words, "--force", "--since", tmp_path / "r")
    assert done.code == 0, done.stderr
    assert f"{len(bakery().kvs) - 1} objects unchanged, 1 checked, " in done.stdout


@pytest.mark.parametrize("same_dump", [True, False])
def test_rows_of_built_in_kinds_are_kept(nights, tmp_path, same_dump):
    store = Store(definition(), loaf("x"))
    sound = {
        "kind": "ConfigMap",
        "apiVersion": "v1",
        "metadata": {"name": "n", "namespace": "shop"},
        "data": {"a": "b"},
    }
    for number in range(20):
        store.put(sound, f"/registry/configmaps/shop/{number:02}")
    for name in ("torn-1", "torn-2", "torn-3"):
        store.put(b"{torn", f"/registry/configmaps/shop/{name}")
    store.put({**sound, "metadata": {"name": "n"}}, "/registry/configmaps/shop/without-namespace")
    store.put(b"{}", "/registry/podsecuritypolicy/left")
    second = store.copy()
    if not same_dump:
        second.put(b"{torn", "/registry/configmaps/shop/00")
    manifest = nights.check(day(store, tmp_path, "etcdctl", 1), day(second, tmp_path, "etcdctl", 2))
    since = manifest["since"]
    again = 1 if same_dump else 2
    assert (since["kept"], since["audited"]) == (27 - again, again)  # the first broken one, and what changed
    assert since["why"] == {"not certain": 1} if same_dump else {"not certain": 1, "changed": 1}
