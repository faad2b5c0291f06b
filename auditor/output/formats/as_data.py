"""JSON: the causes; CSV and NDJSON: a line for each problem, and for each cluster, dump or part that was not read."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Any, Final

from auditor.output.formats.problems import Problem
from auditor.output.views.data import cause_document
from auditor.printing.print_rows import NDJSON, print_rows

if TYPE_CHECKING:
    from typing import TextIO

    from auditor.output.formats.problems import Content


_COLUMNS: Final = tuple(
    field.name for field in dataclasses.fields(Problem) if field.name not in ("uri", "line", "number")
)


def write_json(content: Content, out: TextIO) -> None:
    """Write the run, its verdict and all causes: the form of `auditor summary -o json`."""
    document = cause_document(
        shown=content.shown,
        state=content.state,
        verdict=content.verdict,
        reasons=content.reasons,
        run=content.run,
        not_judged=content.not_judged,
        causes=content.causes,
        **(content.details() if content.details is not None else {"damage": content.warnings}),
    )
    out.write(json.dumps(document, indent=2) + "\n")


def write_csv(content: Content, out: TextIO) -> None:
    """Write what was not read and all problems."""
    out.writelines(print_rows(map(_row, content.entries()), _COLUMNS, "csv"))


def write_ndjson(content: Content, out: TextIO) -> None:
    """Write what was not read and all problems as JSON objects, one a line."""
    out.writelines(print_rows(map(_row, content.entries()), (), NDJSON))


def _row(problem: Problem) -> dict[str, Any]:
    return {**{name: getattr(problem, name) for name in _COLUMNS}, "fingerprint": problem.fingerprint}
