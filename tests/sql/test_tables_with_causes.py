"""The Arrow tables of a report have the causes that the lists of findings and objects have."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa
import pytest

from auditor.causes.model import FindingsModel
from auditor.sql.tables_with_causes import TablesWithCauses, schema_with_causes
from tests.causes.reports import sample


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> FindingsModel:
    return FindingsModel.open(sample(tmp_path_factory.mktemp("causes")))


def rows_of(model: FindingsModel, table: str, columns: list[str] | None = None) -> list[dict[str, Any]]:
    tables = TablesWithCauses(model.path, model.manifest, model.causes)
    return pa.concat_tables(tables.read(table, columns or schema_with_causes(table).names)).to_pylist()


def test_findings_have_the_cause_and_severity_that_are_listed(model: FindingsModel) -> None:
    columns = ["key", "field", "message", "cause", "severity", "accepted"]
    listed = [tuple(row[name] for name in columns) for row in model.findings()]
    assert Counter(tuple(row.values()) for row in rows_of(model, "findings", columns)) == Counter(listed)
    assert listed


def test_objects_have_the_causes_of_their_impacts_and_of_their_findings(model: FindingsModel) -> None:
    wanted: dict[str | None, set[str]] = {}
    for row in (*model.findings(), *model.objects()):
        wanted.setdefault(row["key"], set()).add(row["cause"])
    rows = rows_of(model, "objects")
    assert {row["key"]: set(row["causes"]) for row in rows if row["causes"]} == wanted
    ranks = {cause.id: cause.severity for cause in model.causes}
    assert all(row["cause"] == (row["causes"] or [None])[0] for row in rows)
    assert all(row["severity"] == ranks[row["cause"]] for row in rows if row["cause"])


def test_columns_without_causes_are_those_of_the_report(model: FindingsModel) -> None:
    for table in ("objects", "findings"):
        whole = rows_of(model, table)
        assert [list(row) for row in whole] == [schema_with_causes(table).names] * len(whole)
        assert rows_of(model, table, ["name", "change"]) == [{"name": row["name"], "change": None} for row in whole]
