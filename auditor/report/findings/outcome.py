"""The end of an audit: its causes, what is accepted, and the exit code that follows."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from auditor.report.findings.accepting import Acceptance, read_accepted
from auditor.report.findings.build import write_causes
from auditor.report.findings.exit_code import code_of_causes
from auditor.report.findings.owners import read_owner_rules

if TYPE_CHECKING:
    from auditor.plan.options import AuditOptions

__all__ = ["note_causes"]


def note_causes(options: AuditOptions, report: Path, manifest: dict[str, Any]) -> int:
    """Write the causes of a report, and note in its manifest what is accepted and the exit code, which it returns.

    Args:
        options: The options of the run.
        report: Folder of the report, whose other tables are complete.
        manifest: Its manifest; it is written later.

    Raises:
        PlanError: The file of accepted findings, or that of owners, cannot be used.
    """
    accepted = None
    manifest["options"]["severity"] = list(options.severity)
    if options.owners:
        manifest["options"]["owners"] = [rule.data() for rule in read_owner_rules(options.owners)]
    if options.accept:
        today = datetime.datetime.fromisoformat(manifest["started"]).date()
        accepted = Acceptance(read_accepted(options.accept), today)
    rows = write_causes(report, manifest, Path(options.diff) if options.diff else None, accepted)
    if accepted is not None:
        manifest["accepted"] = accepted.section(options.accept)
    manifest["exit_code"], manifest["exit_reasons"] = code_of_causes(options, manifest, rows)
    return int(manifest["exit_code"])
