"""An earlier report may come from an attacker: comparing with it is bounded in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.command import auditor
from tests.fuzz.hostile.bounded import bounded
from tests.fuzz.hostile.forged import audited, copied, with_text

if TYPE_CHECKING:
    from pathlib import Path

MANY = 1500
COLUMNS = (("message", "detail", "bad_value"), ("field", "rule", "name", "message"))


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return two reports of the same findings, whose values differ."""
    folder = tmp_path_factory.mktemp("reports")
    return audited(folder / "old", many=MANY), audited(folder / "new", "yyy", many=MANY)


@pytest.mark.parametrize("columns", COLUMNS, ids=["shown", "compared"])
def test_gigabytes_of_texts_in_an_earlier_report_are_compared_within_one(
    columns: tuple[str, ...], tmp_path: Path, reports: tuple[Path, Path]
) -> None:
    old = copied(reports[0], tmp_path / "old")
    with_text(old, "findings", columns, lambda number: chr(97 + number) * 1_600_000, texts=5)
    assert sum(path.stat().st_size for path in (old / "findings").iterdir()) < 1 << 20
    with bounded(1000):
        ended = auditor("findings", reports[1], "--against", old)
    same = MANY if "field" not in columns else 0
    assert f"{MANY - same} findings new, {same} the same" in ended.output
    assert ended.code == 0, ended
    dump, report = reports[1].parent / "dump.ndjson", tmp_path / "report"
    with bounded(1000):
        ended = auditor("audit", dump, "--diff", old, "--report", report, "--fail-on", "never", "--jobs", 1)
    assert ended.code == 0, ended
