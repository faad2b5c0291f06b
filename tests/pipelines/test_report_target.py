"""What --force may remove: a report, all of it listed by its manifest, and nothing that the run reads."""

from __future__ import annotations

import json
import os
import shutil
import threading
import time
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.dataset as ds
import pytest

from auditor.base import tables
from auditor.base.errors import AuditorError
from pipelines.run import report_target
from tests.command import auditor
from tests.pipelines.nights.support import definition, loaf

if TYPE_CHECKING:
    from tests.command import Ended


def audit(dump: object, report: object, *words: object) -> Ended:
    return auditor("audit", dump, "--report", report, "--jobs", 1, "--fail-on", "never", *words)


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    path = tmp_path / "dump.ndjson"
    path.write_text("\n".join(json.dumps(one) for one in (definition(), loaf("a"), loaf("b", grams=500))))
    return path


@pytest.fixture
def report(dump: Path, tmp_path: Path) -> Path:
    done = audit(dump, tmp_path / "r")
    assert done.code == 0, done.output
    return tmp_path / "r"


def snapshot(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_report_is_replaced(dump: Path, report: Path) -> None:
    assert json.loads((report / "manifest.json").read_bytes())["files"] == sorted(
        name for name in snapshot(report) if name != "manifest.json"
    )
    assert audit(dump, report).code == 2
    assert audit(dump, report, "--force").code == 0
    upgraded = auditor(
        "upgrade", dump, "--new-crds", dump, "--report", report, "--force", "--fail-on", "never", "--jobs", 1
    )
    assert upgraded.code == 0, upgraded.output
    assert audit(dump, report, "--force").code == 0
    assert not (report / "changes").exists()


@pytest.mark.parametrize("manifest", ["", "{}", "[]", "null", '{"name": "my extension", "manifest_version": 3}', "\0", '{"tool": 5}',
                                      '{"tool":{"name":"other"},"inputs":[],"definitions":{},"options":{},"started":"","counts":{},"findings":[]}'])  # fmt: skip
def test_a_folder_that_merely_has_a_manifest_is_refused(dump: Path, tmp_path: Path, manifest: str) -> None:
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "manifest.json").write_text(manifest)
    (tmp_path / "app" / "app.js").write_text("x")
    done = audit(dump, tmp_path / "app", "--force")
    assert done.code == 2
    assert "its manifest.json is not that of a report" in done.output
    assert snapshot(tmp_path / "app") == {"manifest.json": manifest.encode(), "app.js": b"x"}


@pytest.mark.parametrize("listed", [True, False], ids=["now", "report of before"])
@pytest.mark.parametrize(
    "name", ["notes.txt", "objects/notes.txt", "objects/part-00000.parquet.bak", "mine/part-00000.parquet",
             "index/part-00000.parquet", "index/group=a/version=b/kind=c/x", "versions.csv", ".hidden", "deep/er/x"]
)  # fmt: skip
def test_a_file_that_is_not_of_the_report_is_named(dump: Path, report: Path, listed: bool, name: str) -> None:
    if not listed:
        manifest = json.loads((report / "manifest.json").read_bytes())
        del manifest["files"]
        (report / "manifest.json").write_text(json.dumps(manifest))
    (report / name).parent.mkdir(parents=True, exist_ok=True)
    (report / name).write_text("precious")
    before = snapshot(report)
    done = audit(dump, report, "--force")
    assert done.code == 2
    assert f"it holds files that are not part of its report: {name};" in done.output
    assert snapshot(report) == before
    (report / name).unlink()
    if Path(name).parts[0] in ("mine", "deep"):
        shutil.rmtree(report / Path(name).parts[0])
    elif "group=" in name:
        shutil.rmtree(report / "index/group=a")
    assert audit(dump, report, "--force").code == 0


def test_a_part_that_the_manifest_does_not_list_is_named(dump: Path, report: Path) -> None:
    (report / "findings" / "part-00007.parquet").write_bytes(b"x")
    assert "findings/part-00007.parquet" in audit(dump, report, "--force").output


def test_a_manifest_cannot_list_other_files(dump: Path, report: Path) -> None:
    manifest = json.loads((report / "manifest.json").read_bytes())
    manifest["files"] += ["id_rsa", "../dump.ndjson"]
    (report / "manifest.json").write_text(json.dumps(manifest))
    (report / "id_rsa").write_text("precious")
    assert "not part of its report: id_rsa;" in audit(dump, report, "--force").output
    assert (report / "id_rsa").exists()


def test_links_and_empty_folders_are_not_of_a_report(dump: Path, report: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    shutil.move(report / "findings", tmp_path / "elsewhere" / "findings")
    (report / "findings").symlink_to(tmp_path / "elsewhere" / "findings")
    assert "not part of its report: findings/;" in audit(dump, report, "--force").output
    (report / "findings").unlink()
    (report / "new").mkdir()
    assert "not part of its report: new;" in audit(dump, report, "--force").output
    (report / "new").rmdir()
    assert audit(dump, report, "--force").code == 0
    assert len(list((tmp_path / "elsewhere" / "findings").iterdir())) == 1


@pytest.mark.parametrize(
    "option", ["dump", "file url", "link", "folder", "--crds", "--old", "--encryption-config", "--sidecar"]
)
def test_inputs_in_the_report_are_refused(dump: Path, report: Path, tmp_path: Path, option: str) -> None:
    inside = report / "definitions.ndjson"
    words: list[Any] = [dump, option, inside]
    if option == "dump":
        words = [inside]
    elif option == "file url":
        words = [f"file://{inside}"]
    elif option == "folder":
        words = [report]
    elif option == "link":
        (tmp_path / "link").symlink_to(inside)
        words = [tmp_path / "link"]
    before = snapshot(report)
    done = auditor("audit", *words, "--report", report, "--force", "--fail-on", "never", "--jobs", 1)
    assert done.code == 2
    assert "is read by this run and is in" in done.output
    assert snapshot(report) == before


def test_new_definitions_in_the_report_are_refused(dump: Path, report: Path) -> None:
    words = ("upgrade", dump, "--new-crds", report / "definitions.ndjson", "--report", report, "--force")
    assert "is read by this run and is in" in auditor(*words).output


def test_a_report_in_a_file_store_is_a_folder(dump: Path, tmp_path: Path) -> None:
    url = f"file://{tmp_path}/r"
    assert audit(dump, url).code == 0
    assert "holds a report already" in audit(dump, url).output
    (tmp_path / "r" / "x").write_text("precious")
    assert "not part of its report: x;" in audit(dump, url, "--force").output
    (tmp_path / "r" / "x").unlink()
    done = audit(dump, url, "--force", "--diff", url)
    assert done.code == 0, done.output
    manifest = json.loads((tmp_path / "r" / "manifest.json").read_bytes())
    assert manifest["files"]
    assert manifest["diff"]["report"] == url
    same = auditor("findings", tmp_path / "r", "--against", url)
    assert same.code == 0
    assert f"Since {url}: 0 findings new, 1 the same, 0 fixed\n" in same.output
    assert "grams" in auditor("show", url, "north/b").output
    assert "is not a report" in auditor("findings", url, "--against", f"{url}-none").output


def test_tables_without_rows_are_there(dump: Path, tmp_path: Path) -> None:
    dump.write_text("\n".join(json.dumps(one) for one in (definition(), loaf("a"))))
    for name, words in (("a", ()), ("b", ("--diff", tmp_path / "a"))):
        assert audit(dump, tmp_path / name, *words).code == 0
    schema = tables.FINDINGS
    found = ds.dataset([str(path) for path in (tmp_path / "a" / "findings").glob("*.parquet")]).to_table()
    assert (found.num_rows, found.schema.names) == (0, schema.names)
    paths = [str(path) for name in ("findings", "fixed") for path in (tmp_path / "b" / name).glob("*.parquet")]
    both = ds.dataset(paths).to_table()
    assert (len(paths), both.num_rows, both.schema.names) == (2, 0, tables.COMPARED.names)
    assert audit(dump, tmp_path / "c", "--diff", tmp_path / "b").code == 0
    assert auditor("findings", tmp_path / "c", "--against", tmp_path / "a").code == 0


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def modes(report: Path) -> set[tuple[bool, int]]:
    return {(path.is_dir(), mode(path)) for path in (report, *report.rglob("*"))}


@pytest.mark.parametrize(
    ("umask", "of_dump", "words", "files", "folders"),
    [
        (0o022, 0o600, (), 0o600, 0o700),
        (0o022, 0o640, (), 0o640, 0o750),
        (0o022, 0o644, (), 0o644, 0o755),
        (0o077, 0o644, (), 0o600, 0o700),
        (0o022, 0o444, (), 0o644, 0o755),
        (0o022, 0o400, (), 0o600, 0o700),
        (0o022, 0o600, ("--report-mode", "0640"), 0o640, 0o750),
        (0o077, 0o644, ("--report-mode", "664"), 0o664, 0o775),
    ],
)
def test_a_report_is_no_more_readable_than_its_dump(
    dump: Path, tmp_path: Path, umask: int, of_dump: int, words: tuple[str, ...], files: int, folders: int
) -> None:
    dump.chmod(of_dump)
    before = os.umask(umask)
    try:
        assert audit(dump, tmp_path / "r", *words).code == 0
        upgrade = ("upgrade", dump, "--new-crds", dump, "--fail-on", "never", "--jobs", 1)
        assert auditor(*upgrade, "--report", tmp_path / "u", *words).code == 0
    finally:
        os.umask(before)
    assert modes(tmp_path / "r") == modes(tmp_path / "u") == {(False, files), (True, folders)}


def test_the_strictest_of_several_inputs_counts(dump: Path, tmp_path: Path) -> None:
    strict = tmp_path / "strict.ndjson"
    shutil.copy(dump, strict)
    strict.chmod(0o600)
    dump.chmod(0o644)
    fleet = tmp_path / "*.ndjson"
    (tmp_path / "folder").mkdir()
    shutil.copy2(strict, tmp_path / "folder")
    private = {(False, 0o600), (True, 0o700)}
    before = os.umask(0o022)
    try:
        for number, dumps in enumerate(((dump, strict), (fleet,), (tmp_path / "folder",), ("--old", strict, dump))):
            words = ("audit", *dumps, "--report", tmp_path / f"r{number}", "--fail-on", "never", "--jobs", 1)
            done = auditor(*words)
            assert done.code == 0, done.output
            assert modes(tmp_path / f"r{number}") == private
        assert audit(dump, tmp_path / "later", "--diff", tmp_path / "r0").code == 0
        assert modes(tmp_path / "later") == private
    finally:
        os.umask(before)


@pytest.mark.parametrize("given", ["7", "0700", "755", "0400", "rw", "06400", "-1", "0o888"])
def test_a_mode_that_is_none_is_refused(dump: Path, tmp_path: Path, given: str) -> None:
    done = audit(dump, tmp_path / "r", f"--report-mode={given}")
    assert done.code == 2
    assert "is not a file mode" in done.output


@pytest.mark.parametrize("name", ["package.json", "data.parquet", "mine/part-00000.parquet", "../dump.ndjson"])
def test_a_manifest_that_lists_files_of_others_removes_none(
    dump: Path, report: Path, tmp_path: Path, name: str
) -> None:
    manifest = json.loads((report / "manifest.json").read_bytes())
    manifest["files"].append(name)
    (report / "manifest.json").write_text(json.dumps(manifest))
    if not name.startswith("."):
        (report / name).parent.mkdir(exist_ok=True)
        (report / name).write_text("precious")
    before = snapshot(tmp_path)
    done = audit(dump, report, "--force")
    if name.startswith("."):
        assert dump.exists()
    else:
        assert (done.code, snapshot(tmp_path)) == (2, before)
        assert f"it holds files that are not part of its report: {name};" in done.output


# ---- two runs at once


def whole_report(folder: Path, name: str) -> Path:
    """Write a finished report of 60 files that each name their run."""
    parts = folder / name / "report"
    (parts / "objects").mkdir(parents=True)
    names = [f"objects/part-{number:05d}.parquet" for number in range(60)]
    for one in names:
        (parts / one).write_text(name)
    manifest = {"format": 1, "tool": {"name": "auditor", "version": "0"}, "run": name, "counts": {}, "files": names}
    (parts / "manifest.json").write_text(json.dumps(manifest))
    return parts


def test_runs_with_force_replace_each_other_and_never_interleave(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sixteen runs put their reports in place at once: one of them is there, whole, and each of the others was."""
    monkeypatch.setattr(report_target, "check_manifest_of", lambda *_: time.sleep(0.001))
    report = tmp_path / "r"
    every = [whole_report(tmp_path, f"run{number}") for number in range(16)]
    errors: list[BaseException] = []
    start = threading.Barrier(len(every))

    def place(parts: Path) -> None:
        start.wait()
        try:
            report_target.put_in_place(parts, report, force=True)
        except BaseException as error:  # noqa: BLE001 - asserted below
            errors.append(error)

    threads = [threading.Thread(target=place, args=(parts,)) for parts in every]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    last = json.loads((report / "manifest.json").read_text())["run"]
    assert {path.read_text() for path in (report / "objects").iterdir()} == {last}
    assert len(list((report / "objects").iterdir())) == 60
    aside = list(tmp_path.glob("run*/old*"))
    assert len(aside) == len(every) - 1
    for folder in aside:
        assert {path.read_text() for path in (folder / "objects").iterdir()} == {
            json.loads((folder / "manifest.json").read_text())["run"]
        }


def test_a_run_without_force_does_not_replace_what_another_run_puts_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, others = whole_report(tmp_path, "mine"), whole_report(tmp_path, "others")
    move = report_target._move_aside

    def late(report: Path, old: Path) -> None:
        move(report, old)
        if others.exists():
            others.rename(report)

    monkeypatch.setattr(report_target, "_move_aside", late)
    with pytest.raises(AuditorError, match="holds a report already"):
        report_target.put_in_place(mine, tmp_path / "r", force=False)
    assert json.loads((tmp_path / "r" / "manifest.json").read_text())["run"] == "others"


@pytest.mark.parametrize(
    ("now", "fails", "is_needed", "raised", "said"),
    [
        ("mine", False, False, False, False),
        ("mine", True, False, True, False),
        ("another", False, False, False, True),
        ("another", True, False, False, True),
        ("another", True, True, True, True),
        ("none", True, False, False, True),
    ],
)
def test_a_run_whose_report_another_replaces_while_it_is_printed_says_so(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    now: str,
    fails: bool,
    is_needed: bool,
    raised: bool,
    said: bool,
) -> None:
    mine = {"started": "2026-01-01T00:00:00+00:00", "seconds": 1.5, "counts": {}}
    report = tmp_path / "r"
    if now != "none":
        report.mkdir()
        manifest = {"tool": {}, "inputs": [], "definitions": {}, "options": {}, "findings": {}, **mine}
        written = manifest | ({"seconds": 1.25} if now == "another" else {})
        (report / "manifest.json").write_text(json.dumps(written))
    outcome = pytest.raises(FileNotFoundError) if raised else nullcontext()
    with outcome, report_target.read_of_run(str(report), mine, is_needed=is_needed):
        if fails:
            raise FileNotFoundError(2, "Failed to open local file")
    assert ("another run replaced" in capsys.readouterr().err) is said
