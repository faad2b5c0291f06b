"""The charts of space and of the trend hold the numbers of the report and of the history."""

from __future__ import annotations

import dataclasses
import datetime
import io
import re
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from auditor.history.files import HISTORY, write_run
from auditor.history.runs import read_history
from auditor.output.formats.html.charts import columns
from auditor.output.formats.registry import FORMATS
from auditor.output.formats.series import bytes_of_kinds, nights_of
from tests.command import auditor
from tests.output.formats.drawn import content
from tests.shared import ROOT

if TYPE_CHECKING:
    from pathlib import Path

START = datetime.datetime(2026, 11, 1, 2, tzinfo=datetime.UTC)
SAMPLE = ROOT / "sample-data" / "cluster.db.gz"


def run_of(night: int, folder: Path, objects: dict[str, int]) -> None:
    """Write a run with causes of some severities."""
    when = START + datetime.timedelta(days=night)
    rows = [
        dict.fromkeys(HISTORY.names)
        | {"cluster": "prod", "digest": f"{at:064x}", "cause": f"{at:08x}", "severity": severity, "group": "g"}
        | {"kind": "K", "title": "t", "objects": count, "findings": count, "new_objects": 0, "accepted_objects": 1}
        for at, (severity, count) in enumerate(objects.items())
    ]
    write_run(rows, when, folder / f"run-{when:%Y%m%dT%H%M%SZ}-00000000.parquet")


def test_nights_are_the_open_objects_of_each_severity(tmp_path: Path) -> None:
    run_of(0, tmp_path, {"critical": 3, "low": 8})
    run_of(1, tmp_path, {})
    run_of(2, tmp_path, {"critical": 5, "low": 1})
    nights = nights_of(read_history(tmp_path))
    assert [when.day for when, _ in nights] == [1, 2, 3]
    assert [one["critical"] for _, one in nights] == [2, 0, 4]
    assert [one["low"] for _, one in nights] == [7, 0, 0]
    assert [one["medium"] for _, one in nights] == [0, 0, 0]


def test_columns_are_as_tall_as_their_numbers() -> None:
    text = str(columns("Trend", [("a", {"critical": 1, "low": 3}), ("b", {"critical": 0, "low": 2})]))
    tall = [float(one) for one in re.findall(r'y="[0-9.]+" width="[0-9.]+" height="([0-9.]+)"', text)]
    assert tall == [12, 12, 90, 30, 60]  # the legend, then piece by piece from the floor
    assert "<desc>a: 1 critical, 3 low; b: 2 low</desc>" in text


def test_space_is_the_bytes_of_the_values(tmp_path: Path) -> None:
    report = tmp_path / "report"
    made = auditor("audit", SAMPLE, "--report", report, "--fail-on", "never")
    assert made.code == 0, made.output
    rows = pa.concat_tables(pq.read_table(path) for path in (report / "objects").glob("*.parquet")).to_pylist()
    space = bytes_of_kinds(report)
    assert sum(space.values()) == sum(row["size"] or 0 for row in rows)
    loaves = sum(row["size"] for row in rows if row["plural"] == "loaves")
    assert space["Loaf.bakery.example.com"] == loaves > 0
    assert list(space.values()) == sorted(space.values(), reverse=True)
    assert "" not in space


def test_a_page_shows_the_trend_of_a_history_and_none_without(tmp_path: Path) -> None:
    report, history, page = tmp_path / "report", tmp_path / "history", tmp_path / "page.html"
    made = auditor("audit", SAMPLE, "--report", report, "--fail-on", "never")
    assert made.code == 0, made.output
    history.mkdir()
    for night in range(3):
        run_of(night, history, {"critical": 2 + night})
    asked = ["report", str(report), "-o", f"html={page}"]
    assert auditor(*asked, "--history", history).code == 0
    text = page.read_text(encoding="utf-8")
    assert "Objects in causes by severity, run by run" in text
    assert "2026-11-01 02:00 UTC: 1 critical; 2026-11-02 02:00 UTC: 2 critical" in text
    assert auditor(*asked).code == 0
    assert "run by run" not in page.read_text(encoding="utf-8")
    missing = auditor(*asked, "--history", tmp_path / "none")
    assert missing.code == 2
    assert "is not a folder" in missing.stderr


def test_hostile_names_are_escaped_in_charts() -> None:
    name = "</desc></svg><script>alert(1)</script>"
    what = dataclasses.replace(content(1), space=lambda: {name: 5}, nights=((START, {name: 1}), (START, {name: 2})))
    text = io.StringIO()
    FORMATS["html"].write(what, text)
    assert "<script>alert" not in text.getvalue()
