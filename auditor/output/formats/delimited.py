"""CSV and NDJSON: one line for each problem, and for each cluster, dump or part of one that was not read."""

from __future__ import annotations

import csv
import dataclasses
import json
from typing import TYPE_CHECKING, Final

from auditor.base.visible import csv_cell
from auditor.output.formats.problems import Problem

if TYPE_CHECKING:
    from typing import TextIO

    from auditor.output.formats.problems import Content

__all__ = ["write_csv", "write_ndjson"]

_COLUMNS: Final = tuple(one.name for one in dataclasses.fields(Problem) if one.name not in ("uri", "line", "number"))


def write_csv(content: Content, out: TextIO) -> None:
    """Write what was not read and all problems.

    A cell that a spreadsheet would take for a formula begins with an apostrophe.
    """
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for problem in content.entries():
        writer.writerow([_cell(getattr(problem, name)) for name in _COLUMNS])


def _cell(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(csv_cell(str(value)))


def write_ndjson(content: Content, out: TextIO) -> None:
    """Write what was not read and all problems as JSON objects, one a line."""
    for problem in content.entries():
        row = {name: getattr(problem, name) for name in _COLUMNS}
        out.write(json.dumps({**row, "fingerprint": problem.fingerprint}) + "\n")
