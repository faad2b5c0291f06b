"""A question to the report of a salvaged database is answered by what the audit has read."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from auditor.sources.etcd import EtcdFile
from tests.command import auditor

if TYPE_CHECKING:
    from pathlib import Path


def test_a_report_answers_by_the_pages_that_its_audit_has_salvaged(bakery: Path, tmp_path: Path) -> None:
    path = shutil.copy(bakery, tmp_path / "cut.db")
    data = bytearray(path.read_bytes())
    meta = EtcdFile.open(path).meta
    for page in range(2, meta.high_water_mark):  # all roots of this database: leaves of buckets
        start = page * meta.page_size
        if data[start + 16 : start + 20] == b"\1\0\0\0":
            data[start : start + 16] = bytes(16)
    path.write_bytes(data)
    refused = auditor("query", path, "namespaces")
    assert "(auditor audit --salvage reads them)" in refused.stderr
    assert auditor("audit", path, "--salvage", "--report", tmp_path / "report").code == 3
    told, whole = (auditor("query", place, "configmaps,namespaces", "-A") for place in (tmp_path / "report", bakery))
    assert (told.stdout, told.code) == (whole.stdout, 3)
    assert told.stdout
