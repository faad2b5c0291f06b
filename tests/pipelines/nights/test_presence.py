"""A cluster without a dump, and a dump that is not of tonight, are reported and keep a run from an all-clear."""

import json
import os
import time

import pytest

from auditor.base.errors import PlanError
from auditor.compare import presence
from auditor.compare.presence import read_clusters
from tests.command import auditor
from tests.output.summaries import summary_of
from tests.pipelines.nights.support import Store, day, definition, loaf
from tests.pipelines.nights.test_diff import audit_fleet, fleet

FINE = Store(definition(), loaf("x"))


def names(manifest):
    return [one["name"] for one in manifest["missing"]]


@pytest.mark.parametrize("option", ["diff", "only-new", "clusters"])
def test_a_cluster_without_a_dump_is_missing(nights, tmp_path, option):
    old, _, code = audit_fleet(nights, fleet(tmp_path, 1, east=FINE, south=FINE, west=FINE))
    assert code == 0
    listed = tmp_path / "clusters.txt"
    listed.write_text("# ours\neast\nsouth # the old one\nwest\n")
    given = {
        "diff": {"diff": str(old)},
        "only-new": {"diff": str(old), "only_new": True},
        "clusters": {"clusters": str(listed)},
    }[option]
    report, manifest, code = audit_fleet(nights, fleet(tmp_path, 2, east=FINE), **given)
    assert (names(manifest), code) == (["south", "west"], 3)
    text = summary_of(report)
    assert "MISSING  south" in text
    assert "MISSING  west" in text
    assert "nothing to do" not in text


def test_a_cluster_is_missing_until_it_returns_or_is_listed_no_more(nights, tmp_path):
    both, one = {"east": FINE, "west": FINE}, {"east": FINE}
    first, _, _ = audit_fleet(nights, fleet(tmp_path, 1, **both))
    second, _, _ = audit_fleet(nights, fleet(tmp_path, 2, **one), diff=str(first))
    third, manifest, code = audit_fleet(nights, fleet(tmp_path, 3, **one), diff=str(second))
    assert (names(manifest), code) == (["west"], 3)
    listed = tmp_path / "clusters.yaml"
    listed.write_text("- east\n")
    _, manifest, code = audit_fleet(nights, fleet(tmp_path, 4, **one), diff=str(third), clusters=str(listed))
    assert (names(manifest), code) == ([], 0)
    _, manifest, code = audit_fleet(nights, fleet(tmp_path, 5, **both), diff=str(third))
    assert (names(manifest), code) == ([], 0)
    assert [stale["cluster"] for stale in manifest["diff"]["stale"]] == ["east", "west"]  # west too: its dump is known


def test_a_dump_that_cannot_be_read_is_damaged_and_expected_tomorrow(nights, tmp_path):
    pattern = fleet(tmp_path, 1, east=FINE, west=FINE)
    (tmp_path / "night-1" / "west" / "dump.json").write_bytes(b"\0garbage")
    first, manifest, code = audit_fleet(nights, pattern)
    assert (names(manifest), code) == ([], 3)
    _, manifest, code = audit_fleet(nights, fleet(tmp_path, 2, east=FINE), diff=str(first))
    assert (names(manifest), code) == (["west"], 3)


def test_one_dump_of_another_cluster_leaves_the_first_missing(nights, tmp_path):
    path = day(FINE, tmp_path, "etcdctl", 1)
    old, _, _ = nights.audit(path, cluster="east")
    _, manifest, code = nights.audit(path, cluster="west", diff=str(old))
    assert (names(manifest), code) == (["east"], 3)
    _, manifest, code = nights.audit(path, diff=str(old))
    assert (names(manifest), code) == ([], 0)


def _later(store):
    store.put(loaf("y"))


def _same(_):
    pass


def _older(store):
    store.revision -= 1
    store.kvs[Store.key(loaf("x"))] = (json.dumps(loaf("x", grams=7)).encode(), store.revision)


def _same_revision(store):
    key = next(iter(store.kvs))
    store.kvs[key] = store.kvs.pop(key)  # another file, the same keys


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("change", "is_stale"), [(_later, False), (_same, True), (_older, True), (_same_revision, True)]
)
def test_a_dump_that_is_no_newer_is_stale(nights, tmp_path, change, is_stale):
    first, second = FINE.copy(), FINE.copy()
    change(second)
    old, _, _ = nights.audit(day(first, tmp_path, "etcdctl", 1))
    dump = day(second, tmp_path, "etcdctl", 2)
    report, _, code = nights.audit(dump, diff=str(old))
    assert code == 0
    text = summary_of(report)
    assert ("STALE  " in text, "nothing to do" in text) == (is_stale, not is_stale)
    for more in ({"require_change": True}, {"max_age": 3600.0}):
        assert nights.audit(dump, diff=str(old), **more)[2] == (3 if is_stale else 0)
    assert ("STALE  " in auditor("findings", report, "--against", old).stdout) == is_stale


def test_an_old_file_is_stale(tmp_path):
    dump = day(FINE, tmp_path, "etcdctl", 1)
    assert auditor("audit", dump, "--report", tmp_path / "a", "--max-age", "1h").code == 0
    before = time.time() - 2 * 86400
    os.utime(dump, (before, before))
    done = auditor("audit", dump, "--report", tmp_path / "b", "--max-age", "26h")
    assert done.code == 3
    assert "its file is 2d old (--max-age 1.1d)" in " ".join(done.stdout.split())
    assert "nothing to do" not in done.stdout
    assert auditor("audit", dump, "--report", tmp_path / "c", "--max-age", "3d").code == 0
    assert auditor("audit", dump, "--report", tmp_path / "d", "--max-age", "soon").code == 2


@pytest.mark.parametrize("text", ["", "# none\n", "- {a: b}\n", "clusters: 5:\n"])
def test_a_file_of_clusters_without_a_name_is_refused(tmp_path, text):
    (tmp_path / "f").write_text(text)
    with pytest.raises(PlanError, match="--clusters"):
        read_clusters(str(tmp_path / "f"))


@pytest.mark.parametrize(
    "text", ["a\n\n  b # x\n", "- a\n- b\n", "clusters:\n- a\n- b\n", '["a", "b"]', "---\n- a\n- b"]
)
def test_a_file_of_clusters_is_lines_or_a_list(tmp_path, text):
    (tmp_path / "f").write_text(text)
    assert read_clusters(str(tmp_path / "f")) == ["a", "b"]


def test_a_dump_that_may_not_be_read_costs_its_cluster_alone(nights, tmp_path, monkeypatch):
    from pipelines.run import fleet_clusters as module

    audited = module.run_audit

    def refused(options, *more):
        if options.cluster == "west":
            raise PermissionError(13, "Permission denied", options.dumps[0])
        return audited(options, *more)

    monkeypatch.setattr(module, "run_audit", refused)
    report, manifest, code = audit_fleet(nights, fleet(tmp_path, 1, east=FINE, west=FINE))
    assert code == 3
    assert [one["name"] for one in manifest["clusters"]] == ["east"]
    assert "Permission denied" in summary_of(report)


def test_lines_of_a_fleet_name_the_cluster(nights, tmp_path):
    torn = FINE.copy()
    torn.put(b"{torn", Store.key(loaf("x")))
    report, _, _ = audit_fleet(nights, fleet(tmp_path, 1, east=FINE, west=torn))
    assert "--cluster west /registry/bakery.example.com/loafs/north/x\n" in summary_of(report)


def _value(store):
    store.kvs[Store.key(loaf("x"))] = (json.dumps(loaf("x", grams=7)).encode(), 2)


def _revision(store):
    store.kvs[Store.key(loaf("x"))] = (json.dumps(loaf("x")).encode(), 1)


def _key(store):
    store.kvs[Store.key(loaf("y"))] = (json.dumps(loaf("y")).encode(), 2)


@pytest.mark.parametrize("change", [_value, _revision, _key])
def test_a_dump_of_the_same_revision_with_other_keys_is_of_another_cluster(nights, tmp_path, change, monkeypatch):
    other, compared = FINE.copy(), []
    change(other)
    old, _, _ = nights.audit(day(FINE, tmp_path, "etcdctl", 1))
    dump = day(other, tmp_path, "etcdctl", 2)
    monkeypatch.setattr(presence, "_keys", lambda *of, keys=presence._keys: compared.append(of) or keys(*of))
    report, _, code = nights.audit(dump, diff=str(old))
    assert len(compared) == 2  # once for each report
    text = summary_of(report)
    assert "its revision 2 is the one of the earlier report, but 1 key differs" in text
    assert "it is of another cluster, or the cluster was restored" in text
    assert "STALE" not in text
    assert "1 dump that may be of another cluster" in text.partition("NOT JUDGED  ")[2]
    assert code == 0
    assert nights.audit(dump, diff=str(old), require_change=True)[2] == 3
    assert "OTHER  " in auditor("findings", report, "--against", old).stdout


def test_nothing_is_fixed_in_a_dump_of_another_cluster(nights, tmp_path):
    heavy = Store(definition(), loaf("x", grams=900))
    old, _, _ = nights.audit(day(heavy, tmp_path, "etcdctl", 1))
    _, manifest, _ = nights.audit(day(FINE, tmp_path, "etcdctl", 2), diff=str(old))
    assert (manifest["diff"]["findings"]["fixed"], manifest["diff"]["not_judged"]) == (0, 1)


def test_a_whole_dump_after_one_cut_short_is_of_the_same_cluster(nights, tmp_path):
    first = tmp_path / "cut.json"
    FINE.write(first, "etcdctl")
    first.write_text(first.read_text().partition('], "count"')[0] + ', {"key": "L3Jl')
    old, _, code = nights.audit(str(first))
    assert code == 3
    report, _, _ = nights.audit(day(FINE, tmp_path, "etcdctl", 2), diff=str(old))
    assert "OTHER" not in summary_of(report)


def test_a_narrower_run_over_the_same_revision_is_of_the_same_cluster(nights, tmp_path):
    from auditor.plan.options import RunScope

    store = Store(definition(), loaf("x"), loaf("y", namespace="south"))
    old, _, _ = nights.audit(day(store, tmp_path, "etcdctl", 1))
    _same_revision(store)
    report, _, _ = nights.audit(day(store, tmp_path, "etcdctl", 2), diff=str(old), scope=RunScope(namespace="south"))
    assert "OTHER" not in summary_of(report)


def test_a_comparison_with_a_missing_cluster_is_not_green(nights, tmp_path):
    old, _, _ = audit_fleet(nights, fleet(tmp_path, 1, east=FINE, west=FINE))
    new, _, _ = audit_fleet(nights, fleet(tmp_path, 2, east=FINE))
    for more in ([], ["-o", "ndjson"], ["--fail-on", "invalid"]):
        done = auditor("findings", new, "--against", old, *more)
        assert done.code == 3
    assert auditor("findings", old, "--against", old).code == 0


def test_a_cluster_that_returns_at_the_revision_that_was_last_seen_is_stale(nights, tmp_path):
    first, _, _ = audit_fleet(nights, fleet(tmp_path, 1, east=FINE, west=FINE))
    second, _, _ = audit_fleet(nights, fleet(tmp_path, 2, east=FINE), diff=str(first))
    pattern = fleet(tmp_path, 3, east=FINE, west=FINE)
    with (tmp_path / "night-3" / "west" / "dump.json").open("a") as again:
        again.write("\n")  # another file of the same revision
    _, manifest, code = audit_fleet(nights, pattern, diff=str(second))
    assert (names(manifest), code) == ([], 0)
    whys = {one["cluster"]: one["why"] for one in manifest["diff"]["stale"]}
    assert whys["west"] == "its revision 2 is the one of the earlier report"
