"""The nightly audit over the sample data, as a user runs it."""

import filecmp
import json
import socket

import pyarrow.parquet as pq
import pytest

from auditor.base.errors import PlanError
from auditor.plan.options import AuditOptions
from pipelines.run.audit import new_report
from tests.command import auditor
from tests.documents import named_definition
from tests.shared import ROOT

SAMPLE = ROOT / "sample-data" / "cluster.db.gz"


MANIFEST = {
    "tool": {"name": "auditor"}, "inputs": [], "definitions": {}, "options": {}, "started": "", "counts": {},
    "findings": [],
}  # fmt: skip
"""The least that a manifest has."""


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sample") / "report"
    done = auditor("audit", SAMPLE, "--report", folder, "--jobs", 1, "--fail-on", "never")
    assert done.code == 0, done.stderr
    return folder, done


def rows(folder, table):
    return [row for part in sorted((folder / table).glob("*.parquet")) for row in pq.read_table(part).to_pylist()]


def by_name(folder):
    return {row["name"]: row for row in rows(folder, "objects")}


def test_every_key_is_a_row_in_key_order(report):
    folder, _ = report
    keys = [row["key"] for row in rows(folder, "objects")]
    manifest = json.loads((folder / "manifest.json").read_text())
    assert len(keys) == manifest["counts"]["keys"] == sum(manifest["counts"]["statuses"].values())
    assert keys == sorted(keys)
    assert "/registry/bakery.example.com/orders/north/order-gone" not in keys


def test_statuses_of_the_sample(report):
    objects = by_name(report[0])
    expected = {
        "too-heavy": "invalid",
        "wrong-flour": "invalid",
        "no-flour": "invalid",
        "twice-seeded": "invalid",
        "oven-d": "invalid",
        "shapeless": "valid",
        "old-recipe": "valid",
        "old-rye": "valid",
        "order-torn": "unreadable",
        "order-0": "valid",
        "ghost": "orphaned",
        "notes": "builtin",
    }
    assert {name: objects[name]["status"] for name in expected} == expected


def test_newest_revision_counts(report):
    row = next(
        row for row in rows(report[0], "objects") if row["key"] == "/registry/bakery.example.com/loaves/north/loaf-00"
    )
    assert row["key_version"] == 2
    assert row["mod_revision"] > row["create_revision"]


def test_losses_and_defaults_are_named(report):
    objects = by_name(report[0])
    assert objects["old-recipe"]["pruned"] == ["spec.yeast"]
    assert objects["old-recipe"]["impact"] == "loses-data"
    assert objects["shapeless"]["defaulted"] == ["spec.shape"]
    assert objects["shapeless"]["impact"] == "drifts"
    assert objects["old-wheat"]["pruned"] == ["spec.glaze"]
    assert objects["old-wheat"]["stored_version"] == "v1alpha1"
    assert objects["old-wheat"]["is_storage_version"] is False


def test_findings_have_the_servers_words(report):
    messages = {(row["name"], row["message"]) for row in rows(report[0], "findings")}
    assert (
        "too-heavy",
        "spec.grams: Invalid value: 9000: spec.grams in body should be less than or equal to 5000",
    ) in messages
    assert (
        "wrong-flour",
        'spec.flour: Unsupported value: "sand": supported values: "wheat", "rye", "spelt"',
    ) in messages
    assert ("no-flour", "spec.flour: Required value") in messages
    assert ("twice-seeded", 'spec.seeds[2]: Duplicate value: "poppy"') in messages
    assert (
        "oven-d",
        'spec.serviced: Invalid value: "last spring": spec.serviced in body must be of type date-time: "last spring"',
    ) in messages
    assert len(messages) == 5


def test_a_broken_kind_comes_after_the_state_with_the_command_that_shows_it(report):
    _, done = report
    lines = done.stdout.splitlines()
    at = lines.index("CRITICAL 1 cause")
    assert lines[0].startswith("BROKEN  ")
    assert at <= 2
    assert "Order  north/order-torn  cannot be listed or watched" in lines[at + 1]
    assert lines[at + 2] == "      unexpected end of JSON input; to do: repair the value, its definition,"
    assert lines[at + 3] == "        webhook or encryption key"
    assert lines[at + 4].split()[:3] == ["next:", "auditor", "show"]


def test_the_end_of_an_audit_is_the_summary_of_its_report(report):
    folder, done = report
    assert auditor("summary", folder).stdout == done.stdout


def test_shown_command_works(report):
    _, done = report
    command = next(
        line.split() for line in done.stdout.replace("\\\n", "").splitlines() if "next: auditor show" in line
    )
    done = auditor(*command[2:])
    assert done.code == 3, done.stderr  # the object cannot be read
    assert "Status:    unreadable" in done.stdout


def test_index_selects_like_kubectl(report):
    folder, _ = report
    done = auditor("query", folder, "loaves", "-n", "south", "--field-selector", "spec.flour=rye", "-o", "name")
    names = set(done.stdout.split())
    assert "loaf.bakery.example.com/too-heavy" in names
    assert "loaf.bakery.example.com/loaf-00" not in names
    refused = auditor("query", folder, "loaves", "--field-selector", "spec.shape=long")
    assert refused.code == 1
    assert "field label not supported: spec.shape" in refused.stderr


def test_wrong_kind_says_what_comes_nearest(report):
    done = auditor("query", report[0], "loafs")
    assert done.code == 1
    assert "did you mean" in done.stderr


def test_any_number_of_workers_gives_the_same_files(report, tmp_path):
    folder, _ = report
    other = tmp_path / "two"
    done = auditor("audit", SAMPLE, "--report", other, "--jobs", 2, "--fail-on", "never")
    assert done.code == 0, done.stderr
    parts = sorted(path.relative_to(folder) for path in folder.rglob("*.parquet"))
    assert parts == sorted(path.relative_to(other) for path in other.rglob("*.parquet"))
    same, different, missing = filecmp.cmpfiles(folder, other, map(str, parts), shallow=False)
    assert (different, missing) == ([], [])
    assert len(same) == len(parts)


@pytest.mark.parametrize(("level", "code"), [("never", 0), ("unreadable", 1), ("invalid", 1)])
def test_fail_on_levels(tmp_path, level, code):
    done = auditor("audit", SAMPLE, "--report", tmp_path / "r", "--jobs", 1, "--fail-on", level)
    assert done.code == code, done.stderr


def test_existing_report_is_replaced_only_with_force(tmp_path):
    first = auditor("audit", SAMPLE, "--report", tmp_path / "r", "--jobs", 1, "--fail-on", "never")
    assert first.code == 0
    again = auditor("audit", SAMPLE, "--report", tmp_path / "r", "--jobs", 1, "--fail-on", "never")
    assert again.code == 2
    assert "--force" in again.stderr
    forced = auditor("audit", SAMPLE, "--report", tmp_path / "r", "--jobs", 1, "--fail-on", "never", "--force")
    assert forced.code == 0, forced.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["r"]


def test_report_that_another_run_put_there_meanwhile_is_kept(tmp_path):
    report = tmp_path / "r"
    with (
        pytest.raises(PlanError, match="holds a report already; give --force"),
        new_report(AuditOptions(dumps=(), report=str(report))),
    ):
        report.mkdir()
        (report / "manifest.json").write_text("{}")
    assert [path.name for path in tmp_path.rglob("*")] == ["r", "manifest.json"]
    with (
        pytest.raises(PlanError, match=r"its manifest\.json is not that of a report"),
        new_report(AuditOptions(dumps=(), report=str(report), force=True)),
    ):
        pass
    assert [path.name for path in tmp_path.rglob("*")] == ["r", "manifest.json"]


def test_folder_that_is_no_report_is_never_replaced(tmp_path):
    (tmp_path / "precious.txt").write_text("x")
    done = auditor("audit", SAMPLE, "--report", tmp_path, "--force")
    assert done.code == 2
    assert (tmp_path / "precious.txt").read_text() == "x"


def test_a_link_to_a_report_stays_and_what_it_leads_to_is_replaced(tmp_path):
    (tmp_path / "disk").mkdir()
    for name, target in (("latest", "disk/latest"), ("old", "disk/old")):
        (tmp_path / name).symlink_to(target)
    (tmp_path / "disk" / "old").mkdir()
    for name in ("latest", "old"):
        for _ in range(2):
            with new_report(AuditOptions(dumps=(), report=str(tmp_path / name), force=True)) as (_, parts):
                (parts / "manifest.json").write_text(json.dumps(MANIFEST))
        assert (tmp_path / name).is_symlink()
        assert (tmp_path / "disk" / name / "manifest.json").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["disk", "latest", "old"]
    assert sorted(path.name for path in (tmp_path / "disk").iterdir()) == ["latest", "old"]


@pytest.mark.parametrize("target", ["", ".", "..", "./"])
def test_a_report_without_a_name_of_its_own_is_refused(tmp_path, monkeypatch, target):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    with (
        pytest.raises(PlanError, match="is not a folder that can be replaced; expected the name of a folder"),
        new_report(AuditOptions(dumps=(), report=target)),
    ):
        pass
    assert list(tmp_path.rglob("*")) == [tmp_path / "here"]


def test_unknown_dump_says_what_was_seen(tmp_path):
    (tmp_path / "x.bin").write_bytes(b"\x00\x01\x02\x03" * 64)
    done = auditor("audit", tmp_path / "x.bin", "--report", tmp_path / "r")
    assert done.code == 2
    assert "00 01 02 03" in done.stderr
    assert not (tmp_path / "r").exists()


def test_bad_selector_is_a_usage_error(tmp_path):
    done = auditor("audit", SAMPLE, "--report", tmp_path / "r", "-l", "a b")
    assert done.code == 2
    assert "found 'b', expected" in done.stderr


def test_scope_counts_what_it_leaves_out(tmp_path):
    done = auditor("audit", SAMPLE, "--report", tmp_path / "r", "--jobs", 1, "--include", "Oven", "--fail-on", "never")
    assert done.code == 0, done.stderr
    manifest = json.loads((tmp_path / "r" / "manifest.json").read_text())
    assert manifest["counts"]["rows"] == 4
    assert manifest["counts"]["rows"] + manifest["counts"]["out_of_scope"] == manifest["counts"]["keys"]


def test_report_that_cannot_be_written_is_reported_before_anything_is_read(tmp_path):
    (tmp_path / "file").touch()
    done = auditor("audit", SAMPLE, "--report", tmp_path / "file" / "r")
    assert done.code == 2
    assert done.stderr.startswith(f"error: {tmp_path}/file/r: cannot be written: ")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("dump", ["x" * 300, "loop", "socket"])
def test_what_the_system_refuses_is_no_fault_of_ours(tmp_path, monkeypatch, dump):
    (tmp_path / "loop").symlink_to("loop")
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket")
    done = auditor("audit", dump, "--report", "r", cwd=tmp_path)
    assert done.code == 2
    assert done.stderr.startswith(f"error: {dump}: ")
    assert "Traceback" not in done.stderr


def test_skipped_updates_leave_codes_unknown(tmp_path, report):
    folder = tmp_path / "r"
    done = auditor("audit", SAMPLE, "--report", folder, "--jobs", 1, "--fail-on", "never", "--skip", "updates")
    assert done.code == 0, done.stderr
    assert json.loads((folder / "manifest.json").read_text())["options"]["skip"] == ["updates"]
    codes = {(row["put_code"], row["label_code"], row["status_code"]) for row in rows(folder, "objects")}
    assert codes == {(None, None, None)}
    assert any(row["put_code"] is not None for row in rows(report[0], "objects"))


RULED = named_definition(
    "scales.shop.example.com",
    "Scale",
    {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {"least": {"type": "integer"}, "most": {"type": "integer"}},
                "x-kubernetes-validations": [{"rule": "self.least <= self.most"}],
            }
        },
    },
)


@pytest.mark.parametrize("skip", [False, True])
def test_rules_are_evaluated_or_reported_as_skipped(tmp_path, skip):
    scale = {
        "apiVersion": "shop.example.com/v1",
        "kind": "Scale",
        "metadata": {"name": "upside-down", "namespace": "d"},
        "spec": {"least": 2, "most": 1},
    }
    dump, crds, folder = tmp_path / "dump.ndjson", tmp_path / "crd.json", tmp_path / "r"
    dump.write_text(json.dumps(scale) + "\n")
    crds.write_text(json.dumps(RULED))
    words = ["--skip", "rules"] if skip else []
    done = auditor("audit", dump, "--crds", crds, "--report", folder, "--jobs", 1, "--fail-on", "never", *words)
    assert done.code == 0, done.stderr
    manifest = json.loads((folder / "manifest.json").read_text())
    messages = [row["message"] for row in rows(folder, "findings")]
    if skip:
        assert messages == []
        assert [(entry["crd"], entry["objects"]) for entry in manifest["not_evaluated"]] == [
            ("scales.shop.example.com", 1)
        ]
        assert "NOT EVALUATED" in done.stdout
    else:
        assert messages == ["spec: Invalid value: failed rule: self.least <= self.most"]
        assert manifest["not_evaluated"] == []
