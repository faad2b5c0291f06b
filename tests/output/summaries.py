"""The summary of a report as one text, each line in full."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from auditor.causes.model import FindingsModel
from auditor.output.views.summary import summary_lines

__all__ = ["summary_of", "summary_of_manifest"]

_WIDE = 1 << 14


def summary_of(report: Path | str, *, width: int = _WIDE, most: int = 1 << 20) -> str:
    """Return the summary of a stored report."""
    return _text(FindingsModel.open(report), width, most)


def summary_of_manifest(manifest: dict[str, Any], report: str = "r") -> str:
    """Return the summary of a report without causes; it has only a manifest."""
    return _text(FindingsModel.of(Path(report), report, manifest, []), _WIDE, 1 << 20)


def _text(model: FindingsModel, width: int, most: int) -> str:
    return "\n".join(line.text for line in summary_lines(model, width, most))
