"""A job that repeats: dated reports, the newest as the earlier one, the lock, what remains, and the record of runs."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from auditor.base.errors import FileRefused, Locked, PlanError
from auditor.history.last_whole import Coverage
from pipelines.run.job.job import JobOptions, plan_job
from pipelines.run.job.lock import LOCK_FILE, run_lock
from pipelines.run.job.roots import Keep, StoredReport, free_name, open_root, report_name
from tests.command import auditor
from tests.pipelines.job.conftest import SAMPLE

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.command import Ended

    Audit = Callable[..., Ended]

NIGHTLY = ("--report-root", "root", "--diff", "auto", "--only-new", "--no-fail-on-standing")
NOW = datetime(2026, 11, 25, 2, 0, 5, tzinfo=UTC)


def last_run(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "last-run.json").read_text())


def manifest(report: Path) -> dict[str, Any]:
    return json.loads((report / "manifest.json").read_text())


def reports(root: Path) -> list[str]:
    return sorted(path.name for path in root.iterdir() if path.is_dir())


# ---- names and numbers


@pytest.mark.parametrize(
    ("template", "name"),
    [("{date}T{time}Z", "2026-11-25T020005Z"), ("nightly-{date}", "nightly-2026-11-25"), ("same", "same")],
)
def test_names_are_those_of_the_start_in_utc(template: str, name: str) -> None:
    assert report_name(template, NOW) == name
    assert report_name(template, NOW.astimezone()) == name


@pytest.mark.parametrize("template", ["", "{cluster}", "a/b", "..", ".hidden", "x" * 300, "a\nb", "{date"])
def test_a_name_that_is_not_that_of_one_folder_is_refused(template: str) -> None:
    with pytest.raises(PlanError, match="--report-name"):
        report_name(template, NOW)


def test_a_second_run_in_the_same_second_has_a_name_of_its_own(tmp_path: Path) -> None:
    root = open_root(str(tmp_path))
    for name in ("2026-11-25T020005Z", "2026-11-25T020005Z-2", "nightly-2026-11-25"):
        (tmp_path / name).mkdir()
    assert free_name("{date}T{time}Z", NOW, root) == "2026-11-25T020005Z-3"
    assert free_name("nightly-{date}", NOW, root) == "nightly-2026-11-25"  # refused later, as it is meant to be one
    assert free_name("{date}T{time}Z", NOW + timedelta(seconds=1), root) == "2026-11-25T020006Z"


@pytest.mark.parametrize("text", ["0", "-1", "d", "30 days", "0d", "1.5"])
def test_what_is_no_number_of_reports_is_refused(text: str) -> None:
    assert Keep.parse(text) is None


@pytest.mark.parametrize(
    ("text", "remain"), [("1", 0), ("3", 2), ("99", 10), ("1d", 1), ("3d", 3), ("1w", 7), ("36h", 2), ("90d", 10)]
)
def test_of_the_reports_beside_that_of_the_run_the_newest_remain(text: str, remain: int) -> None:
    none = Coverage(frozenset(), frozenset(), frozenset(), {}, b"")
    nights = [StoredReport(str(night), "", NOW - timedelta(days=night, minutes=1), none) for night in range(10)]
    keep = Keep.parse(text)
    assert keep is not None
    assert keep.surplus(nights, NOW) == nights[remain:]


# ---- nights


def test_two_nights(tmp_path: Path, audit: Audit) -> None:
    first = audit(*NIGHTLY)
    assert first.code == 1
    assert "no earlier report below root: nothing is compared" in first.stderr
    (one,) = reports(tmp_path / "root")
    assert last_run(tmp_path / "root")["exit_code"] == 1
    second = audit(*NIGHTLY, "--report-name", "second")
    assert second.code == 0, second.stderr
    found = manifest(tmp_path / "root" / "second")
    assert found["diff"]["report"] == f"root/{one}"
    record = last_run(tmp_path / "root")
    assert (record["report"], record["since"], record["exit_code"]) == ("root/second", f"root/{one}", 0)
    assert record["started"] <= record["ended"] == record["last_success"]["ended"]
    assert sorted(path.name for path in (tmp_path / "root").iterdir()) == sorted(
        [LOCK_FILE, "last-run.json", one, "second"]
    )


def test_surplus_reports_are_removed_and_nothing_else(tmp_path: Path, audit: Audit) -> None:
    root = tmp_path / "root"
    for name in ("one", "two", "edited", "upgrade"):
        assert audit("--report-root", "root", "--report-name", name).code == 1
    (root / "edited" / "notes.txt").write_text("mine")
    content = manifest(root / "upgrade")
    (root / "upgrade" / "manifest.json").write_text(json.dumps({**content, "upgrade": {}}))
    (root / "mine").mkdir()
    (root / "mine" / "file").touch()
    (root / "mine.txt").touch()
    (root / "link").symlink_to(tmp_path / "elsewhere")
    shutil.copytree(root / "one", tmp_path / "elsewhere")
    shutil.copytree(root / "one", root / "incomplete")
    next((root / "incomplete" / "objects").iterdir()).unlink()
    planned = audit("--report-root", "root", "--report-name", "three", "--keep-reports", "1", "--dry-run")
    assert planned.code == 0
    assert planned.stdout.splitlines()[:1] == ["would write   root/three"]
    assert "would remove  root/one" in planned.stdout
    assert "would keep    root/edited: is not replaced: it holds files" in planned.stdout
    assert not (root / "three").exists()
    done = audit("--report-root", "root", "--report-name", "three", "--keep-reports", "1")
    assert done.code == 1
    assert "root/edited is not removed: " in done.stderr
    assert reports(root) == ["edited", "incomplete", "link", "mine", "three", "upgrade"]
    assert (root / "mine" / "file").exists()
    assert (tmp_path / "elsewhere" / "manifest.json").exists()
    assert (root / "mine.txt").exists()


@pytest.mark.parametrize(("text", "left"), [("1", ["one"]), ("2", ["one", "two"]), ("90d", ["one", "two"])])
def test_a_report_that_replaces_one_of_its_name_remains(
    tmp_path: Path, audit: Audit, text: str, left: list[str]
) -> None:
    for name in ("one", "two", "one", "one"):
        assert audit("--report-root", "root", "--report-name", name, "--force", "--keep-reports", text).code == 1
    record = last_run(tmp_path / "root")
    assert (reports(tmp_path / "root"), sorted(record["reports"])) == (left, left)
    assert record["last_success"]["report"] == record["report"] == "root/one"


def test_a_copy_that_a_person_made_remains(tmp_path: Path, audit: Audit) -> None:
    root = tmp_path / "root"
    assert audit("--report-root", "root", "--report-name", "one").code == 1
    shutil.copytree(root / "one", root / "precious")
    assert audit("--report-root", "root", "--report-name", "two", "--keep-reports", "1").code == 1
    assert reports(root) == ["precious", "two"]


def test_the_reports_of_a_version_that_did_not_name_them_are_those_of_its_runs(tmp_path: Path, audit: Audit) -> None:
    root = tmp_path / "root"
    for name in ("one", "two"):
        assert audit("--report-root", "root", "--report-name", name).code == 1
    record = last_run(root)
    del record["reports"]
    (root / "last-run.json").write_text(json.dumps(record))
    assert audit("--report-root", "root", "--report-name", "three", "--keep-reports", "2").code == 1
    assert reports(root) == ["three", "two"]


def test_a_report_of_the_future_is_not_the_newest(tmp_path: Path, audit: Audit) -> None:
    root = tmp_path / "root"
    for name in ("future", "one"):
        assert audit("--report-root", "root", "--report-name", name).code == 1
    content = manifest(root / "future")
    (root / "future" / "manifest.json").write_text(json.dumps({**content, "started": "2999-01-01T00:00:00+00:00"}))
    done = audit("--report-root", "root", "--report-name", "two", "--diff", "auto", "--keep-reports", "2")
    assert done.code in (0, 1), done.stderr
    assert manifest(root / "two")["diff"]["report"] == "root/one"
    assert reports(root) == ["one", "two"]


def test_a_success_whose_report_was_removed_names_none(tmp_path: Path, audit: Audit) -> None:
    assert audit("--report-root", "root", "--report-name", "one").code == 1
    data = gzip.decompress(SAMPLE.read_bytes())
    (tmp_path / "cut.db").write_bytes(data[:-1024] + b"\0" * 1024)
    done = audit("--report-root", "root", "--report-name", "two", "--keep-reports", "1", dump="cut.db")
    assert done.code == 3, done.output
    record = last_run(tmp_path / "root")
    assert (record["report"], record["last_success"]["report"]) == ("root/two", None)


def test_the_earlier_report_is_the_newest_complete_one(tmp_path: Path, audit: Audit) -> None:
    root = tmp_path / "root"
    for name, started in (("b", "2026-01-02"), ("a", "2026-01-03"), ("c", "2026-01-01"), ("broken", "2026-01-04")):
        audit("--report-root", "root", "--report-name", name)
        content = manifest(root / name)
        content["started"] = f"{started}T00:00:00+00:00"
        (root / name / "manifest.json").write_text(json.dumps(content))
    (root / "broken" / "versions.parquet").unlink()
    assert [one.name for one in open_root(str(root)).reports()] == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ((), "give either --report DIR or --report-root DIR"),
        (("--report", "r", "--report-root", "root"), "give either"),
        (("--report", "r", "--diff", "auto"), "needs --report-root"),
        (("--report", "r", "--keep-reports", "3"), "need --report-root"),
        (("--report-root", "root", "--keep-reports", "many"), "expected a number of reports such as 30"),
        (("--report-root", "root", "--report-name", "../x"), "cannot be the name of a report"),
        (("--report-root", str(SAMPLE)), "is a file"),
        (("--report-root", "https://example.com/r"), "takes no reports"),
    ],
)
def test_what_has_no_meaning_is_refused(tmp_path: Path, audit: Audit, options: tuple[str, ...], text: str) -> None:
    done = audit(*options)
    assert done.code == 2
    assert text in done.stderr
    assert not (tmp_path / "root").exists()


# ---- the lock


def test_a_folder_without_locks_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipelines.run.job.lock.try_lock", lambda _: None)
    with pytest.raises(PlanError, match="--no-lock"), run_lock(open_root(str(tmp_path))):
        pytest.fail("the block must not run")


# ---- what fails


def test_what_fails_leaves_a_record(tmp_path: Path, audit: Audit) -> None:
    assert audit(*NIGHTLY).code == 1
    good = last_run(tmp_path / "root")["last_success"]
    assert audit(*NIGHTLY, "--report-name", "second", dump="no-such.db").code == 2
    record = last_run(tmp_path / "root")
    assert record["exit_code"] == 2
    assert "no-such.db" in record["reason"]
    assert record["report"] is None
    assert record["last_success"] == good
    assert len(reports(tmp_path / "root")) == 1


def test_an_unwritable_root_ends_with_4(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Path, *args: Any, **kwargs: Any) -> None:
        raise PermissionError(13, "Permission denied", str(self))

    root = open_root(str(tmp_path / "root"))
    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(PlanError) as found:
        root.prepare()
    assert found.value.exit_code == 4
    assert FileRefused.exit_code == 2
    assert Locked.exit_code == 5


# ---- stores


@pytest.mark.slow
def test_nights_in_a_store(tmp_path: Path, audit: Audit, store: str) -> None:
    root = f"{store}/reports"
    nightly = ("--report-root", root, "--diff", "auto", "--only-new", "--keep-reports", "2")
    nightly = (*nightly, "--no-fail-on-standing")
    for night in ("night-1", "night-2", "night-3"):
        done = audit(*nightly, "--report-name", night)
        assert done.code == (1 if night == "night-1" else 0), done.stderr
    found = open_root(root)
    assert [one.name for one in found.reports()] == ["night-3", "night-2"]
    record = json.loads(found.read("last-run.json") or b"")
    assert (record["report"], record["since"]) == (f"{root}/night-3", f"{root}/night-2")
    assert found.read(LOCK_FILE) is None
    assert found.leftovers() == []


def test_what_a_killed_upload_left_is_removed(audit: Audit, store: str) -> None:
    root = f"{store}/reports"
    assert audit("--report-root", root, "--report-name", "whole").code == 1
    found = open_root(root)
    found.begin("half")
    for name in ("half/objects/part-00000.parquet", "half/versions.parquet", "mine/objects/part-00000.parquet"):
        found.write(name, b"...")
    assert found.leftovers() == ["half"]
    assert "would remove  what a killed run left of half" in audit("--report-root", root, "--dry-run").stdout
    assert audit("--report-root", root, "--report-name", "next").code == 1
    assert found.leftovers() == []
    assert found.read("half/versions.parquet") is None
    assert found.read("mine/objects/part-00000.parquet") == b"..."  # no run of ours began it


def test_the_lock_of_a_store(audit: Audit, store: str) -> None:
    root = open_root(f"{store}/reports")
    with run_lock(root):
        done = audit("--report-root", f"{store}/reports")
        assert done.code == 5
        assert f"process {os.getpid()} on " in done.stderr
    held = {"tool": "auditor", "pid": 1, "host": "elsewhere", "boot": "other", "since": "today", "time": time.time()}
    root.write(LOCK_FILE, json.dumps(held).encode())
    with pytest.raises(Locked, match="process 1 on elsewhere, since today"), run_lock(root):
        pytest.fail("the block must not run")
    root.write(LOCK_FILE, json.dumps({**held, "time": time.time() - 400}).encode())
    with run_lock(root):
        pass
    here = {**held, "pid": 2**22 + 1, **_here(), "space": "pid:[1]"}  # a container of this machine with its own numbers
    root.write(LOCK_FILE, json.dumps(here).encode())
    with pytest.raises(Locked, match="its lock ends 5 minutes after it did"), run_lock(root):
        pytest.fail("the block must not run")
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    held = json.loads(json.dumps(held)) | {"pid": dead.pid, **_here()}
    root.write(LOCK_FILE, json.dumps(held).encode())
    with run_lock(root):
        pass
    assert root.read(LOCK_FILE) is None


def test_the_lock_of_a_store_is_renewed_while_the_run_lives(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipelines.run.job.lock._HEARTBEAT", 0.01)
    root = open_root(f"{store}/reports")
    with run_lock(root):
        first = json.loads(root.read(LOCK_FILE) or b"")
        while json.loads(root.read(LOCK_FILE) or b"{}").get("time") == first["time"]:
            time.sleep(0.01)
        later = json.loads(root.read(LOCK_FILE) or b"")
        assert {**later, "time": 0} == {**first, "time": 0}
    assert root.read(LOCK_FILE) is None


def test_a_lock_that_another_run_took_over_is_left_to_it(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    warned: list[str] = []
    monkeypatch.setattr("pipelines.run.job.lock._HEARTBEAT", 0.01)
    monkeypatch.setattr("pipelines.run.job.lock.LOG.warning", lambda _, text: warned.append(text))
    root = open_root(f"{store}/reports")
    other = json.dumps({"tool": "auditor", "id": "other", "time": time.time()}).encode()
    with run_lock(root):
        while not warned:  # a renewal that had begun may come after it
            root.write(LOCK_FILE, other)
            time.sleep(0.05)
    assert warned == [f"another run took {store}/reports/{LOCK_FILE} over: this one did not renew it for 300 s"]
    assert root.read(LOCK_FILE) == other


def _here() -> dict[str, Any]:
    from auditor.sources.files.work_folder import this_process

    return {name: value for name, value in this_process().items() if name in ("host", "boot", "space")}


def test_a_store_that_ignores_the_condition_is_refused(monkeypatch: pytest.MonkeyPatch, store: str) -> None:
    monkeypatch.setattr("pipelines.run.job.lock.create_file", lambda *_: True)
    with pytest.raises(PlanError, match="--no-lock"), run_lock(open_root(f"{store}/reports")):
        pytest.fail("the block must not run")


def test_a_store_without_conditional_writes_is_refused(monkeypatch: pytest.MonkeyPatch, store: str) -> None:
    monkeypatch.setattr("pipelines.run.job.lock.create_file", lambda *_: None)
    with pytest.raises(PlanError, match="--no-lock"), run_lock(open_root(f"{store}/reports")):
        pytest.fail("the block must not run")


def test_an_unreachable_store_ends_with_4(audit: Audit, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("ACCESS_KEY_ID", "x"), ("SECRET_ACCESS_KEY", "y"), ("ENDPOINT_URL", "http://127.0.0.1:9")):
        monkeypatch.setenv(f"AWS_{name}", value)
    done = audit("--report-root", "s3://backups/reports")
    assert done.code == 4
    assert done.stderr.count("\n") == 1


def test_planning_writes_nothing(tmp_path: Path) -> None:
    from auditor.plan.options import AuditOptions

    planned = plan_job(JobOptions(str(tmp_path / "root")), AuditOptions(dumps=("x",), diff="auto", only_new=True))
    assert planned.options.diff == ""
    assert not planned.options.only_new
    assert not (tmp_path / "root").exists()


# ---- formats


def test_formats_are_written_whole_beside_the_report(tmp_path: Path, audit: Audit) -> None:
    done = audit("--report", "r", "-o", "html=out/r.html", "-o", "prometheus=m.prom", "-o", "csv")
    assert done.code == 1
    assert done.stdout.startswith("cluster,group,kind,")
    assert "Next:" not in done.stdout
    assert (tmp_path / "m.prom").stat().st_mode & 0o777 == 0o644
    mode = (tmp_path / "r" / "manifest.json").stat().st_mode
    assert (tmp_path / "out" / "r.html").stat().st_mode == mode
    assert auditor("report", "r", "-o", "html=again.html", cwd=tmp_path).code == 0
    assert (tmp_path / "again.html").read_bytes() == (tmp_path / "out" / "r.html").read_bytes()
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("-o", "pdf=x"), "is no format"),
        (("-o", "csv", "-o", "junit"), "two formats are to be printed"),
        (("-o", "csv="), "names no file"),
        (("-o", "csv=folder/"), "is one file"),
        (("-o", "html=folder/"), "is one file"),
        (("-o", "html=r/x.html"), "is in the report r"),
        (("-o", "html=https://example.com/x"), "takes no files"),
    ],
)
def test_outputs_that_cannot_be_are_refused_before_the_audit(
    tmp_path: Path, audit: Audit, options: tuple[str, ...], text: str
) -> None:
    done = audit("--report", "r", *options)
    assert done.code == 2
    assert text in done.stderr
    assert not (tmp_path / "r").exists()
