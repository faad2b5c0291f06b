"""What a report says of the objects of its dump, for rows of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from auditor.causes.model import FindingsModel
from auditor.causes.parts import part_files
from auditor.causes.rows_with_causes import CausesOfObjects

if TYPE_CHECKING:
    from pathlib import Path

    from auditor.causes.rows_with_causes import Whose


class AuditedReport:
    """A report, for the rows of its objects.

    Args:
        report: Its folder.
        manifest: Its manifest.

    Attributes:
        parts: The parts of objects/ that are read, in order.
    """

    def __init__(self, report: Path, manifest: dict[str, Any]) -> None:
        self.manifest = manifest
        self.parts = list(part_files(report / "objects"))
        self._causes = CausesOfObjects(report, manifest, FindingsModel.open(report).causes)
        self._last: tuple[str, dict[Whose, tuple[str, ...]]] = ("", {})

    def causes_of(self, part: str) -> dict[Whose, tuple[str, ...]]:
        """Return the causes of the objects of a part, as `CausesOfObjects`; those of the last part are known."""
        if part != self._last[0]:
            self._last = part, self._causes.of_part(part)
        return self._last[1]
