"""The causes as data: the form of `auditor summary -o json`, which `views/findings.schema.json` describes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from auditor.output.views.data import cause_document

if TYPE_CHECKING:
    from typing import TextIO

    from auditor.output.formats.problems import Content

__all__ = ["write_json"]


def write_json(content: Content, out: TextIO) -> None:
    """Write the run, its verdict and all causes."""
    found = cause_document(
        shown=content.shown,
        verdict=content.verdict,
        reasons=content.reasons,
        run=content.run,
        not_judged=content.not_judged,
        causes=content.causes,
        **(content.details() if content.details is not None else {"damage": content.warnings}),
    )
    out.write(json.dumps(found, indent=2) + "\n")
