"""Where outputs go: each file appears whole or not at all, and metrics keep what an earlier run knew."""

from __future__ import annotations

import dataclasses
import os
import re
import time
from contextlib import contextmanager
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from auditor.base.errors import PlanError
from auditor.output.formats.prometheus import after_no_report
from auditor.output.formats.registry import FORMATS
from auditor.sources.stores import store_folder
from pipelines.run.report import file_formats, notify
from pipelines.run.report import notify as messages
from pipelines.run.report.file_formats import FormatTarget, is_below, new_file, parse_outputs, write_outputs
from tests.causes.reports import audited, definition, export, widget
from tests.command import auditor
from tests.output.formats.drawn import content

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SUCCESS = "auditor_last_success_timestamp_seconds"


@pytest.fixture(scope="module")
def dump(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dump with one object that is invalid."""
    crd = definition({"size": {"type": "integer", "maximum": 5}})
    return export(tmp_path_factory.mktemp("dump") / "dump.ndjson", crd, widget("a", {"size": 9}))


def audit(*words: Any) -> int:
    """Run an audit in this process, and return its exit code, also where it ends with an error."""
    return auditor("audit", *words, "--jobs", "1", "-q").code


def metrics(path: Path) -> dict[str, float]:
    lines = path.read_text().splitlines()
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines if line[0] != "#")}


def test_a_failed_run_leaves_the_last_success_in_the_metrics(dump: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.prom"
    out = ["-o", f"prometheus={path}", "--force"]
    assert audit(dump, "--report", tmp_path / "one", *out) == 1
    good = metrics(path)
    assert good[SUCCESS] == good["auditor_run_timestamp_seconds"] > 0
    assert good["auditor_run_success"] == 1
    path.write_text(re.sub(rf"^{SUCCESS} .*", f"{SUCCESS} 1234567890", path.read_text(), flags=re.MULTILINE))
    old = tmp_path / "old.ndjson"
    old.write_bytes(dump.read_bytes())
    os.utime(old, (time.time() - 90_000,) * 2)
    assert audit(old, "--report", tmp_path / "two", "--max-age", "2h", *out) == 3
    bad = metrics(path)
    assert bad[SUCCESS] == 1234567890
    assert bad["auditor_run_success"] == 0
    assert bad["auditor_run_timestamp_seconds"] >= good["auditor_run_timestamp_seconds"]
    assert audit(dump, "--report", tmp_path / "three", *out) == 1
    assert metrics(path)[SUCCESS] == metrics(path)["auditor_run_timestamp_seconds"]


def test_a_run_without_a_report_says_that_it_failed_and_keeps_the_other_metrics(dump: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.prom"
    out = ["-o", f"prometheus={path}", "--report", tmp_path / "report"]
    assert audit(dump, *out) == 1
    good = metrics(path)
    code = audit(tmp_path / "none.ndjson", *out, "--force")
    bad = metrics(path)
    assert (bad["auditor_run_success"], bad["auditor_run_exit_code"]) == (0, code)
    assert code not in (0, 1, 3)
    assert bad[SUCCESS] == good[SUCCESS]
    assert (good["auditor_cluster_known"], bad["auditor_cluster_known"]) == (1, 0)
    of_run = {name for name in good if name.startswith("auditor_run_")} | {"auditor_cluster_known"}
    assert {name: value for name, value in bad.items() if name not in of_run} == {
        name: value for name, value in good.items() if name not in of_run
    }
    assert path.stat().st_mode & 0o777 == 0o644


def test_a_first_run_that_fails_has_no_last_success(tmp_path: Path) -> None:
    path = tmp_path / "a.prom"
    audit(tmp_path / "none.ndjson", "--report", tmp_path / "report", "-o", f"prometheus={path}")
    assert metrics(path)[SUCCESS] == 0
    assert metrics(path)["auditor_run_success"] == 0


def test_nothing_but_our_own_metrics_is_taken_from_an_earlier_file() -> None:
    earlier = f'other 1\nauditor_objects 1 2\n{SUCCESS} x\nauditor_forged 1\nauditor_objects{{a="b"}} 7\n# HELP x\n'
    lines = after_no_report(earlier, 5.5, 4).splitlines()
    assert [line for line in lines if line[0] != "#"] == [
        "auditor_run_success 0",
        "auditor_run_timestamp_seconds 5",
        f"{SUCCESS} 0",
        "auditor_run_exit_code 4",
        'auditor_objects{a="b"} 7',
    ]


def failing(text: str) -> Any:
    """Return a function that writes something, and fails."""

    def write(_: Any, out: Any) -> None:
        out.write(text)
        raise RuntimeError("in the middle")

    return write


def test_a_file_whose_writing_fails_stays_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.json"
    path.write_text("before")
    stream = new_file(str(path), 0o600)
    with pytest.raises(RuntimeError), stream as out:
        failing("half")(None, out)
    assert [one.read_text() for one in tmp_path.iterdir()] == ["before"]


class Store:
    """As much of a file system as is needed to write: remembers the size of each block, and what is complete."""

    def __init__(self) -> None:
        self.blocks: list[int] = []
        self.files: dict[str, bytes] = {}

    @contextmanager
    def open_output_stream(self, path: str, compression: None = None) -> Iterator[Any]:
        blocks: list[bytes] = []
        yield SimpleNamespace(write=blocks.append)
        self.blocks += map(len, blocks)
        self.files[path] = b"".join(blocks)


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Store:
    """A store behind mem:// URLs."""
    found = Store()
    monkeypatch.setattr(store_folder, "store_of", lambda url: (found, url.partition("://")[2]))
    return found


def test_what_goes_to_a_store_is_never_whole_in_memory(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    line = "x" * 999 + "\n"
    with new_file("mem://bucket/a.json", 0) as out:
        out.writelines(line for _ in range(5000))
        assert store.files == {}
    assert store.files["bucket/a.json"] == (line * 5000).encode()
    assert max(store.blocks) <= 1 << 20 < sum(store.blocks)
    with pytest.raises(RuntimeError), new_file("mem://bucket/b.json", 0) as out:
        failing("half")(None, out)
    assert "bucket/b.json" not in store.files


def test_a_report_is_opened_once_for_its_formats_and_its_messages(
    dump: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = audited(tmp_path / "report", dump)
    opened: list[str] = []
    original = file_formats.opened_content

    def noted(name: str, *words: Any, **named: Any) -> Any:
        opened.append(name)
        return original(name, *words, **named)

    monkeypatch.setattr(notify, "opened_content", noted)
    monkeypatch.setattr(messages, "opened_content", noted)
    receivers = messages.parse_receivers(["https://one.example.com/", "https://two.example.com/"])
    made = notify.deliver(str(report), parse_outputs([f"html={tmp_path / 'page.html'}"]), receivers, "")
    assert opened == [str(report)]
    assert [message.receiver for message in made] == list(receivers)
    assert (tmp_path / "page.html").is_file()
    notify.deliver(str(report), [], receivers, "")
    assert len(opened) == 2


@pytest.mark.parametrize(
    ("target", "report", "is_in"),
    [
        ("out/x.json", "out", True),
        ("out/../out/x.json", "out", True),
        ("other/../out/x.json", "out", True),
        ("link/x.json", "out", True),
        ("out", "out", True),
        ("outer/x.json", "out", False),
        ("x.json", "out", False),
        ("s3://b/out/x.json", "s3://b/out", True),
        ("s3://b/out/", "s3://b/out", True),
        ("s3://b/out", "s3://b/out", True),
        ("s3://b/outer/x.json", "s3://b/out", False),
        ("out/x.json", "s3://b/out", False),
    ],
)
def test_files_in_a_report_are_known(
    target: str, report: str, is_in: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "out").mkdir()
    (tmp_path / "other").mkdir()
    (tmp_path / "link").symlink_to("out")
    assert is_below(target, report) is is_in


@pytest.mark.parametrize("option", ["html=REPORT/page.html", "sarif=file://REPORT/a"])
def test_no_output_goes_into_the_report(option: str, tmp_path: Path) -> None:
    report = str(tmp_path / "report")
    with pytest.raises(PlanError, match="nothing but its own files"):
        parse_outputs([option.replace("REPORT", report)], report)


def test_the_content_of_an_earlier_run_changes_no_other_format(tmp_path: Path) -> None:
    what = content(2)
    target = tmp_path / "a.sarif"
    target.write_text(f"{SUCCESS} 77\n")
    write_outputs(what, [FormatTarget(FORMATS["sarif"], str(target))], 0o600)
    first = target.read_bytes()
    write_outputs(dataclasses.replace(what), [FormatTarget(FORMATS["sarif"], str(target))], 0o600)
    assert target.read_bytes() == first
