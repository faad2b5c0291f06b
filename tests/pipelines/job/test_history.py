"""A history in an object store: each audit adds its run, the oldest are removed, `auditor trend` reads all of it."""

import datetime
import json
import stat
import time

import pytest

from auditor.sources.files.work_folder import temporary_folder
from pipelines.run.report.history import folder_of, tidy_history
from tests.command import auditor


def keys(folder):
    boto3 = pytest.importorskip("boto3")
    return [
        one["Key"] for one in boto3.client("s3").list_objects_v2(Bucket="backups", Prefix=folder).get("Contents", [])
    ]


def test_runs_are_added_and_the_oldest_removed(audit, store, tmp_path):
    history = f"{store}/history"
    for number in range(3):
        done = audit("--report", tmp_path / f"report-{number}", "--history", history, "--keep-history", 2)
        assert "warning" not in done.stderr, done.stderr
        time.sleep(1.1) if number < 2 else None
    assert len([key for key in keys("history/") if key.endswith(".parquet")]) == 2
    data = json.loads(auditor("trend", history, "-o", "json").stdout)
    assert len(data["runs"]) == 2
    assert any(one["kind"] == "Order.bakery.example.com" and one["counts"] == [1, 1] for one in data["causes"])


def test_a_store_that_is_gone_costs_the_history_alone(audit, tmp_path, monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    done = audit("--report", tmp_path / "report", "--history", "s3://backups/history", "--fail-on", "never")
    assert done.code == 0, done.stderr
    assert "warning: the run is not in the history s3://backups/history" in done.stderr


def test_files_of_others_in_the_folder_stay(audit, store, tmp_path):
    boto3 = pytest.importorskip("boto3")
    client = boto3.client("s3")
    client.put_object(Bucket="backups", Key="history/notes.txt", Body=b"mine")
    audit("--report", tmp_path / "report", "--history", f"{store}/history", "--keep-history", 1)
    assert "history/notes.txt" in keys("history/")


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644])
def test_its_files_are_no_more_readable_than_the_reports(audit, tmp_path, mode):
    history = tmp_path / "history"
    for number in range(2):
        options = ("--report-mode", f"{mode:o}", "--history", history, "--fail-on", "never")
        assert audit("--report", tmp_path / f"report-{number}", *options).code == 0
    modes = {stat.S_IMODE(path.stat().st_mode) for path in history.iterdir()}
    assert modes == {mode}


def test_a_month_is_no_more_readable_than_its_strictest_run(audit, tmp_path):
    history = tmp_path / "history"
    for number, mode in enumerate(("600", "644")):
        audit("--report", tmp_path / f"report-{number}", "--report-mode", mode, "--history", history)
        time.sleep(1.1) if number == 0 else None
    now = datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=62)
    with temporary_folder("history") as work:
        tidy_history(folder_of(str(history)), work, now, 100)
    [month] = history.iterdir()
    assert stat.S_IMODE(month.stat().st_mode) == 0o600
