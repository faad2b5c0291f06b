"""The codes, verdicts and impacts of an audit of the golden snapshot, beside what the real server answered."""

from collections import Counter

import pyarrow.parquet as pq
import pytest

from auditor.plan.options import AuditOptions
from pipelines.run.audit import run_audit
from tests.output.summaries import summary_of
from tests.shared import shared, shared_lines

FOLDER = "golden/upgrade"
BLOCKS, WHILE, GLOBALLY = "blocks-every-update", "tolerated-while-unchanged", "tolerated-globally"


@pytest.fixture(scope="module", params=["storage", "served"])
def report(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("updates") / "report"
    dump = str(shared(f"{FOLDER}/snapshot.db.gz"))
    _, manifest = run_audit(AuditOptions(dumps=(dump,), report=str(folder), at=request.param))
    tables = {
        name: [row for part in sorted((folder / name).glob("*.parquet")) for row in pq.read_table(part).to_pylist()]
        for name in ("objects", "findings")
    }
    return manifest, tables["objects"], tables["findings"], folder


def answers():
    return {row["key"]: row for row in shared_lines(f"{FOLDER}/expected.ndjson.gz")}


def test_codes_are_the_servers(report):
    expected, wrong, compared = answers(), {}, Counter()
    for row in report[1]:
        asked = expected.get(row["key"], {})
        for column, name in (("put_code", "put"), ("label_code", "patch"), ("status_code", "putStatus")):
            answer = (asked.get(name) or {}).get(row["audited_version"])
            if row["status"] not in {"valid", "invalid"} or answer is None:
                continue
            if row[column] is None:
                assert "webhook" in answer["body"]["message"]
                continue
            compared[column] += 1
            if row[column] != answer["code"]:
                wrong[row["key"], row["audited_version"], column] = (row[column], answer["code"])
    assert wrong == {}
    assert compared["put_code"] > 600
    assert compared["status_code"] > 200


def test_causes_of_each_request_are_the_servers(report):
    expected, found = answers(), {}
    for row in report[2]:
        found.setdefault((row["key"], row["audited_version"], row["request"]), set()).add(
            (row["field"], row["type"], row["message"].removeprefix(f"{row['field']}: "))
        )
    compared = 0
    for row in report[1]:
        asked = expected.get(row["key"], {})
        for request, name in (("put", "put"), ("label", "patch"), ("status", "putStatus")):
            answer = (asked.get(name) or {}).get(row["audited_version"])
            if answer is None or answer["code"] not in {200, 422}:
                continue
            causes = answer.get("body", {}).get("details", {}).get("causes", ())
            theirs = {(c.get("field", ""), c["reason"], c["message"]) for c in causes}
            assert found.get((row["key"], row["audited_version"], request), set()) == theirs, (row["key"], request)
            compared += 1
    assert compared > 1500


def test_each_create_finding_has_the_verdict_that_its_object_has(report):
    _, objects, findings, _ = report
    rows = {(row["key"], row["audited_version"]): row for row in objects}
    verdicts = Counter()
    for finding in findings:
        if finding["kind"] == "CustomResourceDefinition":
            continue
        row = rows[finding["key"], finding["audited_version"]]
        assert finding["verdict"] in {BLOCKS, WHILE, GLOBALLY}
        verdicts[finding["request"], finding["verdict"]] += 1
        if finding["verdict"] == BLOCKS:
            assert 422 in (row["put_code"], row["label_code"], row["status_code"])
        else:
            assert finding["request"] == "create"
            assert WHILE in row["impacts"]
        is_put_of_another = row["put_code"] == 400  # refused before its content is looked at
        if finding["verdict"] == WHILE and finding["check"] == "schema" and not is_put_of_another:
            assert finding["guard_path"]
    assert verdicts["create", WHILE] > 100
    assert verdicts["create", BLOCKS] > 20


def test_impacts_follow_from_the_codes(report):
    for row in report[1]:
        if row["status"] not in {"valid", "invalid"}:
            continue
        assert row["impact"] is not None
        refused = [column for column in ("put_code", "label_code") if (row[column] or 200) >= 300]
        assert (BLOCKS in row["impacts"]) == (len(refused) == 2), row["key"]
        assert row["impact"] == (row["impacts"][0] if row["impacts"] else "none")


def test_an_object_that_can_never_be_gone_is_reported_before_the_tables(report):
    text = summary_of(report[3])
    stuck = [row["key"] for row in report[1] if row["impact"] == "blocks-delete"]
    assert {key.rpartition("/")[2] for key in stuck} == {"raw-deletion-pending"}
    assert stuck
    assert text.index("  cannot be deleted  ") < text.index("KIND ")
    assert f"next: auditor show {report[3]} {stuck[0]}" in text


def test_the_last_writer_of_a_field_is_named_where_managed_fields_tell(report):
    named = [row for row in report[2] if row["last_manager"]]
    assert named
    assert all(row["last_write"] is None or row["last_write"].year >= 2020 for row in named)


def test_a_snapshot_as_update_of_itself_is_the_unchanged_put(tmp_path):
    dump = str(shared(f"{FOLDER}/snapshot.db.gz"))
    other = str(shared(f"{FOLDER}/etcdctl-get.json.gz"))
    _, manifest = run_audit(AuditOptions(dumps=(dump,), old=(other,), report=str(tmp_path / "report")))
    rows = [row for part in (tmp_path / "report/objects").glob("*.parquet") for row in pq.read_table(part).to_pylist()]
    expected, compared = answers(), 0
    for row in rows:
        answer = (expected.get(row["key"], {}).get("put") or {}).get(row["audited_version"])
        if answer is None or row["put_code"] is None:
            continue
        assert row["put_code"] == answer["code"], row["key"]
        compared += 1
    assert compared > 550
    assert manifest["changes"].keys() == {"updated"}


def test_the_summary_counts_per_kind_what_updates_result_in(report):
    text = summary_of(report[3])
    table = text[text.index("KIND ") :].splitlines()
    impacts = [name.lower() for name in table[0].split() if name.startswith(("BLOCKS-", "TOLERATED-"))]
    assert {"blocks-delete", "blocks-every-update", "tolerated-while-unchanged"} <= set(impacts)
    counted = 0
    for group, kind in {(row["group"], row["kind"]) for row in report[1] if "blocks-delete" in row["impacts"]}:
        named = next(line for line in table if line.startswith(f"{kind}.{group}")).split()[-len(impacts) :]
        rows = [row for row in report[1] if (row["group"], row["kind"]) == (group, kind)]
        assert [int(count) for count in named] == [sum(impact in row["impacts"] for row in rows) for impact in impacts]
        counted += 1
    assert counted > 0
