"""The end of an audit: its causes, what is accepted, and the exit code that follows."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from auditor.causes.accepting import Acceptance, read_accepted
from auditor.causes.build import count_causes, write_causes
from auditor.causes.exit_code import code_of_causes
from auditor.causes.owners import read_owner_rules

if TYPE_CHECKING:
    from auditor.plan.options import AuditOptions


def causes_of_cluster(options: AuditOptions, report: Path, manifest: dict[str, Any]) -> list[dict[str, Any]] | None:
    """Return what `note_causes` needs to know of one cluster of a fleet.

    Returns None if only the whole report has it: with options that compare, accept or redact findings.

    Args:
        options: The options of the fleet.
        report: Folder of the report of the cluster.
        manifest: Its manifest.

    Raises:
        PlanError: The file of owners cannot be used.
    """
    if options.diff or options.accept or options.redact:
        return None
    return count_causes(report, manifest | {"options": manifest["options"] | rules_of(options)})


def note_causes(
    options: AuditOptions, report: Path, manifest: dict[str, Any], counted: list[dict[str, Any]] | None = None
) -> int:
    """Write the causes of a report, and note in its manifest what is accepted and the exit code, which it returns.

    Args:
        options: The options of the run.
        report: Folder of the report, whose other tables are complete.
        manifest: Its manifest; it is written later.
        counted: What `causes_of_cluster` returned for all clusters together, or `count_causes`; None reads
            the tables.

    Raises:
        PlanError: The file of accepted findings, or that of owners, cannot be used.
    """
    accepted = None
    manifest["options"] |= rules_of(options)
    if options.accept:
        today = datetime.datetime.fromisoformat(manifest["started"]).date()
        accepted = Acceptance(read_accepted(options.accept), today)
    rows = write_causes(report, manifest, Path(options.diff) if options.diff else None, accepted, counted)
    if accepted is not None:
        manifest["accepted"] = accepted.section(options.accept)
    manifest["exit_code"], manifest["exit_reasons"] = code_of_causes(options, manifest, rows)
    return int(manifest["exit_code"])


def rules_of(options: AuditOptions) -> dict[str, Any]:
    """Return the rules of severities and owners, as the options of a manifest have them."""
    rules: dict[str, Any] = {"severity": list(options.severity)}
    if options.owners:
        rules["owners"] = [rule.data() for rule in read_owner_rules(options.owners)]
    return rules
