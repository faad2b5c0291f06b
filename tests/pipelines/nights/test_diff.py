"""Each finding is new, the same or fixed; nothing is called fixed that was only not looked at."""

import json
import os
import re
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from auditor.base.errors import DamagedDump, PlanError
from auditor.causes.table import read_rows
from auditor.plan.options import RunScope
from pipelines.run.fleet import run_anywhere
from tests.command import auditor
from tests.output.summaries import summary_of
from tests.pipelines.nights.support import DELETING, FORMS, Store, bakery, day, definition, loaf, two_days


def marked(report, table="findings"):
    """Return (name, field, change) of each row."""
    rows = [row for part in sorted((report / table).glob("*.parquet")) for row in pq.read_table(part).to_pylist()]
    return sorted((row["name"], row["field"], row["change"]) for row in rows if row["request"] == "create")


def compared(nights, first, second, **options):
    before = {name: value for name, value in options.items() if name not in ("only_new", "fail_on")}
    old, _, _ = nights.audit(first, **before)
    report, manifest, code = nights.audit(second, diff=str(old), **options)
    return report, manifest["diff"], code


@pytest.mark.parametrize("form", FORMS)
def test_each_finding_is_new_the_same_or_fixed(nights, tmp_path, form):
    first = Store(
        definition(), loaf("heavy", grams=900), loaf("odd", flour="sand"), loaf("gone", grams=901), loaf("fine")
    )
    second = first.copy()
    second.put(loaf("heavy", grams=950))  # the same finding with another value
    second.put(loaf("odd", grams=902))
    second.put(loaf("fine", flour="oat"))
    del second.kvs[Store.key(loaf("gone"))]
    report, diff, _ = compared(nights, *two_days(tmp_path, form, first, second))
    assert marked(report) == [
        ("fine", "spec.flour", "new"),
        ("heavy", "spec.grams", "same"),
        ("odd", "spec.grams", "new"),
    ]
    assert marked(report, "fixed") == [("gone", "spec.grams", "fixed"), ("odd", "spec.flour", "fixed")]
    assert diff["findings"] == {"new": 2, "same": 1, "fixed": 2}
    assert diff["kinds"] == [{"group": "bakery.example.com", "kind": "Loaf", "new": 2, "same": 1, "fixed": 2}]
    assert {row["message"].partition(":")[0] for row in diff["first_new"]} == {"spec.flour", "spec.grams"}


def test_of_findings_alike_as_many_are_the_same_as_there_were(nights, tmp_path):
    """Objects of one name in an export have findings that nothing tells apart."""
    one, three = [loaf("twin", grams=900)], [loaf("twin", grams=900 + number) for number in range(3)]
    first, second = tmp_path / "1.ndjson", tmp_path / "2.ndjson"
    for path, loaves in ((first, one), (second, three)):
        path.write_text("\n".join(json.dumps(one) for one in (definition(), *loaves)))
    assert compared(nights, str(first), str(second))[1]["findings"] == {"new": 2, "same": 1, "fixed": 0}
    assert compared(nights, str(second), str(first))[1]["findings"] == {"new": 0, "same": 1, "fixed": 2}


def test_of_the_same_dump_nothing_is_new_or_fixed(nights, tmp_path):
    report, diff, _ = compared(nights, *two_days(tmp_path, "etcdctl", bakery(), bakery()))
    assert (diff["findings"]["new"], diff["findings"]["fixed"], diff["not_judged"]) == (0, 0, 0)
    assert diff["findings"]["same"] == sum(pq.read_table(part).num_rows for part in (report / "findings").glob("*"))
    assert len(marked(report)) == 5
    assert marked(report, "fixed") == []


def test_a_snapshot_can_be_compared_with_an_export(nights, tmp_path):
    store = Store(definition(), loaf("heavy", grams=900), loaf("odd", flour="sand"))
    first, second = day(store, tmp_path, "etcdctl", 1), day(store, tmp_path, "export", 2)
    assert compared(nights, first, second)[1]["findings"] == {"new": 0, "same": 2, "fixed": 0}


def test_what_cannot_be_judged_any_more_was_not_fixed(nights, tmp_path):
    first = Store(definition(), loaf("heavy", grams=900), loaf("odd", flour="sand"))
    torn = first.copy()
    torn.put(b"{torn", Store.key(loaf("heavy")))
    _, diff, _ = compared(nights, *two_days(tmp_path, "etcdctl", first, torn))
    assert diff["findings"] == {"new": 0, "same": 1, "fixed": 0}
    assert diff["not_judged"] == 1
    assert diff["worse"] == {"unreadable": 1, "blocked": 0, "data-loss": 0}
    orphaned = first.copy()
    del orphaned.kvs[Store.key(definition())]
    diff = compared(nights, *two_days(tmp_path, "etcdctl", first, orphaned))[1]
    assert (diff["findings"]["fixed"], diff["not_judged"]) == (0, 2)


def test_what_an_object_does_was_not_fixed_where_it_cannot_be_read_any_more(nights, tmp_path):
    first = Store(definition(), loaf("loses", unknown=1))
    torn = first.copy()
    torn.put(b"{torn", Store.key(loaf("loses")))
    report, _, _ = compared(nights, *two_days(tmp_path, "etcdctl", first, torn))
    changes = {row["impact"]: (row["change"], row["fixed_objects"]) for row in read_rows(report)}
    assert changes == {"breaks-list": ("new", 0), "loses-data": ("not-rechecked", 0)}
    assert "object fixed" not in summary_of(report)


@pytest.mark.parametrize("forms", [("etcdctl", "export"), ("export", "etcdctl")], ids="-".join)
def test_what_has_no_definition_any_more_is_reported_by_its_name_where_an_export_has_no_keys(nights, tmp_path, forms):
    pan = definition("Pan", scope="Cluster")
    first = Store(definition(), pan, loaf("heavy", grams=900), loaf("odd", flour="sand"), loaf("gone", grams=900))
    first.put(loaf("wide", kind="Pan", namespace=None, grams=900))
    second = first.copy()
    for one in (definition(), pan, loaf("gone")):
        del second.kvs[Store.key(one)]
    report, diff, _ = compared(nights, day(first, tmp_path, forms[0], 1), day(second, tmp_path, forms[1], 2))
    assert (diff["findings"], diff["not_judged"]) == ({"new": 0, "same": 0, "fixed": 1}, 3)
    assert [name for name, *_ in marked(report, "fixed")] == ["gone"]


def test_rules_of_a_definition_that_do_not_compile_are_the_same_in_an_export(nights, tmp_path):
    store = Store(definition(rules=("self.nope",)), loaf("x"))
    first, second = day(store, tmp_path, "etcdctl", 1), day(store, tmp_path, "export", 2)
    found = compared(nights, first, second)[1]["findings"]
    assert (found["new"], found["fixed"]) == (0, 0)
    assert found["same"] > 1  # one of the definition, the others of its object


def test_other_options_are_reported(nights, tmp_path):
    first, second = two_days(tmp_path, "etcdctl", bakery(), bakery())
    old, _, _ = nights.audit(first)
    _, manifest, _ = nights.audit(second, diff=str(old), scope=RunScope(namespace="south"))
    assert manifest["diff"]["notes"] == [
        f"{old} was made with other options: scope was everything and is namespace south"
    ]


def _worse_finding(store):
    store.put(loaf("heavy", grams=900, flour="sand"))


def _torn(store):
    store.put(b"{torn", Store.key(loaf("torn")))


def _breaks(store):
    """A ConfigMap that decodes and that the watch cache has no key for."""
    store.put({"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "bare"}}, "/registry/configmaps/shop/bare")


def _blocked(store):
    store.put(loaf("stuck", grams=900, metadata={**DELETING, "generation": -1}))


def _loses(store):
    store.put(loaf("loses", unknown=1))


def _nothing(store):
    store.put(loaf("heavy", grams=901))


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("change", "codes"),
    [
        (_nothing, {"unreadable": 0, "blocked": 0, "data-loss": 0, "invalid": 0}),
        (_worse_finding, {"unreadable": 0, "blocked": 0, "data-loss": 0, "invalid": 1}),
        (_loses, {"unreadable": 0, "blocked": 0, "data-loss": 1, "invalid": 1}),
        (_blocked, {"unreadable": 0, "blocked": 1, "data-loss": 1, "invalid": 1}),
        (_torn, {"unreadable": 1, "blocked": 1, "data-loss": 1, "invalid": 1}),
        (_breaks, {"unreadable": 1, "blocked": 1, "data-loss": 1, "invalid": 1}),
    ],
)
def test_the_exit_code_goes_by_what_is_new(nights, tmp_path, change, codes):
    first = Store(definition(), loaf("heavy", grams=900), loaf("old-loss", extra=1))
    first.put(b"{torn before", Store.key(loaf("torn-before")))
    second = first.copy()
    change(second)
    first, second = two_days(tmp_path, "etcdctl", first, second)
    old, _, _ = nights.audit(first)
    asked = {"diff": str(old), "only_new": True, "fail_on_standing": False}
    found = {level: nights.audit(second, **asked, fail_on=level)[2] for level in codes}
    assert found == codes
    assert {nights.audit(second, diff=str(old), fail_on=level)[2] for level in codes} == {1}
    assert nights.audit(second, diff=str(old), only_new=True)[2] == 0


def test_the_summary_says_what_changed(nights, tmp_path):
    first = bakery()
    second = first.copy()
    second.put(loaf("loaf-03", grams=901))
    second.put(loaf("heavy"))
    first, second = two_days(tmp_path, "etcdctl", first, second)
    old, _, _ = nights.audit(first)
    # Short names: how long they are decides how much the first screen can show.
    names = [str(path.relative_to(tmp_path)) for path in (Path(second), Path(old))]
    done = auditor("audit", names[0], "--report", "r", "--diff", names[1], "--only-new", "--jobs", 1, cwd=tmp_path)
    assert done.code == 1, done.stderr
    assert re.search(r"\nFINDINGS  1 new, \d+ the same, 1 fixed", summary_of(tmp_path / "r"))
    assert "1 object fixed" in done.stdout
    assert re.search(
        r"\nMORE OBJECTS 2 causes \(1 with more objects, 1 unchanged\)\n"
        r" +MORE +Loaf +\S+ \+2 +schema: 2 causes, .* [0-9a-f]{8}\n",
        done.stdout,
    )


def test_a_finding_that_several_requests_meet_is_said_to_count_for_each(nights, tmp_path):
    first = bakery()
    second = first.copy()
    refused = loaf("refused", grams=900, metadata={"generation": -1})
    second.put(refused)
    first, second = two_days(tmp_path, "etcdctl", first, second)
    old, _, _ = nights.audit(first)
    auditor("audit", second, "--report", tmp_path / "r", "--diff", old, "--jobs", 1)
    diff = json.loads((tmp_path / "r" / "manifest.json").read_bytes())["diff"]
    findings = [
        row
        for row in [
            one for part in sorted((tmp_path / "r" / "findings").iterdir()) for one in pq.read_table(part).to_pylist()
        ]
        if row["name"] == "refused"
    ]
    distinct = {(row["check"], row["field"], row["type"], row["rule"]) for row in findings}
    assert diff["findings"]["new"] == len(findings) > len(distinct) == diff["distinct"]["new"]
    said = " ".join(summary_of(tmp_path / "r").split())
    assert f"FINDINGS {len(findings)} new, " in said
    assert f"(one that several requests have counted once: {len(distinct)} new, " in said


def test_two_reports_are_compared_without_an_audit(nights, tmp_path):
    first = bakery()
    second = first.copy()
    second.put(loaf("loaf-03", grams=901))
    second.put(loaf("heavy"))
    first, second = two_days(tmp_path, "etcdctl", first, second)
    old, _, _ = nights.audit(first)
    new, _, _ = nights.audit(second)
    before = {path: path.read_bytes() for path in new.rglob("*") if path.is_file()}
    done = auditor("findings", new, "--against", old)
    assert (done.code, done.stderr) == (0, "")
    assert "1 findings new" in done.stdout
    assert "NEW    /registry/bakery.example.com/loafs/north/loaf-03  spec.grams: Invalid value: 901" in done.stdout
    done = auditor("findings", new, "--against", old, "-o", "ndjson", "--fail-on", "invalid")
    assert done.code == 1
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(row["name"], row["field"], row["change"]) for row in rows] == [
        ("loaf-03", "spec.grams", "new"),
        ("heavy", "spec.grams", "fixed"),
    ]
    assert auditor("findings", new, "--against", new, "--fail-on", "invalid").code == 0
    assert before == {path: path.read_bytes() for path in new.rglob("*") if path.is_file()}
    done = auditor("findings", tmp_path, "--against", old)
    assert done.code == 2
    assert "is not a report" in done.stderr


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


def test_objects_of_a_definition_that_is_sealed_are_not_orphaned(nights, tmp_path):
    store = bakery()
    store.put(
        b"k8s:enc:aescbc:v1:key1:x", "/registry/apiextensions.k8s.io/customresourcedefinitions/ghosts.gone.example.com"
    )
    _, manifest, _ = nights.audit(day(store, tmp_path, "etcdctl", 1))
    assert manifest["counts"]["statuses"]["sealed"] == 2
    assert "orphaned" not in manifest["counts"]["statuses"]


@pytest.mark.parametrize("shard_bytes", [300, 1 << 20])
def test_what_crashes_a_server_is_named_before_what_breaks_lists(nights, tmp_path, shard_bytes):
    """However the dump is cut."""
    store = Store(definition(), *(loaf(f"loaf-{number}") for number in range(9)))
    store.put(b"{torn", Store.key(loaf("a-torn")))
    crashing = {name: part for name, part in loaf("m").items() if name != "metadata"}
    store.put(json.dumps(crashing).encode(), Store.key(loaf("m-crashes")))
    _, manifest, _ = nights.audit(day(store, tmp_path, "etcdctl", 1), shard_bytes=shard_bytes)
    broken = [kind["breaking"] for kind in manifest["kinds"] if kind["breaking"]]
    assert [(one["impact"], one["key"].rpartition("/")[2]) for one in broken] == [("crashes-server", "m-crashes")]


def test_what_is_stuck_at_a_later_version_alone_is_named_too(nights, tmp_path):
    made = definition(versions=("v1", "v1beta1"))
    webhook = {"clientConfig": {"url": "https://hook.example.net"}, "conversionReviewVersions": ["v1"]}
    made["spec"]["conversion"] = {"strategy": "Webhook", "webhook": webhook}  # so v1, which comes first, tells nothing
    stuck = loaf("stuck", version="v1beta1", grams=900, flour="sand", metadata={**DELETING, "generation": -1})
    _, manifest, _ = nights.audit(day(Store(made, stuck, loaf("x")), tmp_path, "etcdctl", 1), at="served")
    assert [kind["stuck"]["key"].rpartition("/")[2] for kind in manifest["kinds"] if kind["stuck"]] == ["stuck"]


# ---- earlier reports that are none


def test_a_folder_that_is_no_report_is_refused(nights, tmp_path):
    with pytest.raises(PlanError, match="is not a report"):
        nights.audit(day(bakery(), tmp_path, "export", 1), diff=str(tmp_path))


@pytest.mark.parametrize("table", ["objects", "findings"])
def test_a_report_with_missing_parts_is_refused(nights, tmp_path, table):
    path = day(bakery(), tmp_path, "export", 1)
    old, _, _ = nights.audit(path)
    shutil.rmtree(old / table)
    with pytest.raises(PlanError, match=rf"--diff: .*/{table} holds 0 rows"):
        nights.audit(path, diff=str(old))


def test_a_report_with_a_part_that_is_cut_short_is_refused(nights, tmp_path):
    path = day(bakery(), tmp_path, "export", 1)
    old, _, _ = nights.audit(path)
    os.truncate(next(old.glob("findings/*")), 300)
    with pytest.raises(DamagedDump, match=r"findings/part-00000.parquet: is damaged"):
        nights.audit(path, diff=str(old))


@pytest.mark.parametrize(
    ("table", "damage"),
    [
        ("objects", lambda data: data[:4] + b"\xff" * 60 + data[64:]),
        ("findings", lambda data: data.replace(b"namespace", b"namespacf")),
    ],
    ids=["page", "column"],
)
def test_a_report_with_a_part_whose_bytes_changed_is_refused(nights, tmp_path, table, damage):
    path = day(bakery(), tmp_path, "etcdctl", 1)
    old, _, _ = nights.audit(path)
    part = next((old / table).glob("*"))
    part.write_bytes(damage(part.read_bytes()))
    with pytest.raises(DamagedDump, match=rf"{table}/part-00000.parquet: is damaged: \w"):
        nights.audit(path, diff=str(old))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--since", "a"], "Error: --since is gone, as each night is audited whole: write --diff REPORT to see "),
        (["--since", "auto", "--diff", "a"], "write --diff REPORT"),
        (["--verify-sample", "1%"], "No such option '--verify-sample'"),
        (["--only-new"], "needs --diff"),
        (["--require-change"], "needs --diff"),
    ],
)
def test_options_without_a_meaning_are_refused(tmp_path, words, said):
    done = auditor("audit", "x.json", "--report", tmp_path / "r", *words)
    assert done.code == 2
    assert said in done.stderr


def test_the_report_can_be_replaced_by_the_one_that_is_compared_with_it(nights, tmp_path):
    path = day(bakery(), tmp_path, "etcdctl", 1)
    words = ("audit", path, "--report", tmp_path / "r", "--fail-on", "never", "--jobs", 1)
    assert auditor(*words).code == 0
    done = auditor(*words, "--force", "--diff", tmp_path / "r")
    assert done.code == 0, done.stderr
    assert "Exit code 3: 1 stale dump" in done.stdout or "\nSTALE  " in done.stdout


# ---- fleets


def fleet(tmp_path, number, **stores):
    for name, store in stores.items():
        (tmp_path / f"night-{number}" / name).mkdir(parents=True)
        if store is not None:
            store.write(tmp_path / f"night-{number}" / name / "dump.json", "etcdctl")
    return f"{tmp_path}/night-{number}/*/dump.json"


def audit_fleet(nights, pattern, **options):
    from dataclasses import replace

    from auditor.plan.options import AuditOptions

    nights.number += 1
    report = nights.folder / f"report-{nights.number}"
    made = AuditOptions(dumps=(pattern,), cluster="{1}", report=str(report), fail_on="never")
    code, manifest = run_anywhere(replace(made, **options))
    return report, manifest, code


def test_findings_of_a_fleet_are_distinguished_by_cluster(nights, tmp_path):
    heavy, fine = Store(definition(), loaf("x", grams=900)), Store(definition(), loaf("x"))
    old, _, _ = audit_fleet(nights, fleet(tmp_path, 1, east=heavy, west=fine, south=heavy))
    for store in (fine, heavy):
        store.put(definition())  # a newer revision
    pattern = fleet(tmp_path, 2, east=fine, west=heavy)
    report, manifest, code = audit_fleet(nights, pattern, diff=str(old), only_new=True, fail_on="invalid")
    rows = [row for part in sorted((report / "findings").glob("*")) for row in pq.read_table(part).to_pylist()]
    assert [(row["cluster"], row["change"]) for row in rows] == [("west", "new")]
    fixed = pq.read_table(report / "fixed" / "part-00000.parquet").to_pylist()
    assert [(row["cluster"], row["change"]) for row in fixed] == [("east", "fixed")]
    assert manifest["diff"]["not_judged"] == 1  # the cluster south was not asked today
    assert manifest["diff"]["first_new"][0]["object"].startswith("west: /registry/")
    assert code == 3
    assert auditor("findings", report, "--against", old, "--fail-on", "invalid").code == 3


def test_a_fleet_with_one_dump_left_fixes_nothing_of_the_others(nights, tmp_path):
    heavy = Store(definition(), loaf("x", grams=900))
    old, _, _ = audit_fleet(nights, fleet(tmp_path, 1, east=heavy, west=heavy))
    report, manifest, _ = audit_fleet(nights, fleet(tmp_path, 2, east=heavy), diff=str(old))
    assert (manifest["diff"]["findings"], manifest["diff"]["not_judged"]) == ({"new": 0, "same": 1, "fixed": 0}, 1)
    assert auditor("findings", report, "--against", old, "-o", "ndjson").stdout == ""
    _, manifest, _ = nights.audit(f"{tmp_path}/night-2/east/dump.json", diff=str(old))
    assert (manifest["diff"]["findings"], manifest["diff"]["not_judged"]) == ({"new": 0, "same": 0, "fixed": 0}, 2)
    assert manifest["diff"]["uncompared"] == 1


def test_what_crashes_a_server_is_named_before_what_breaks_lists_in_a_fleet_too(nights, tmp_path):
    torn, crashes, fine = Store(definition()), Store(definition()), Store(definition(), loaf("x"))
    torn.put(b"{torn", Store.key(loaf("torn")))
    crashing = {name: part for name, part in loaf("x").items() if name != "metadata"}
    crashes.put(json.dumps(crashing).encode(), Store.key(loaf("crashes")))
    _, manifest, _ = audit_fleet(nights, fleet(tmp_path, 1, a=fine, b=torn, c=crashes, d=torn))
    broken = [kind["breaking"] for kind in manifest["kinds"] if kind["breaking"]]
    assert [(one["impact"], one["key"].rpartition("/")[2]) for one in broken] == [("crashes-server", "crashes")]
