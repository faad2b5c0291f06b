"""Chains the stages of an upgrade scan, as `pipelines.run` does those of an audit."""

from __future__ import annotations

import datetime
import shutil
import time
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import orjson

from auditor.errors import PlanError

if TYPE_CHECKING:
    from pipelines.config import AuditOptions
    from pipelines.upgrade import UpgradeOptions

__all__ = ["run_upgrade"]


def run_upgrade(options: AuditOptions, upgrade: UpgradeOptions) -> tuple[int, dict[str, Any]]:
    """Run one upgrade scan; write the report whole or not at all.

    Args:
        options: Those of an audit; `crds` are the old definitions that replace those of the dump.
        upgrade: What else is asked.
    Returns:
        (exit code, manifest): 0, 1 where --fail-on is reached by what changes, 3 where part of a container could not be
        read.
    Raises:
        AuditorError: A dump or a definition cannot be read, or the report cannot be written where it was asked for.
    """
    from pipelines.remote import report_here  # noqa: PLC0415

    with report_here(options) as local:
        return _run_local(local, upgrade, options.report)


def _run_local(options: AuditOptions, upgrade: UpgradeOptions, shown: str) -> tuple[int, dict[str, Any]]:
    from pipelines.gated import check_plan  # noqa: PLC0415
    from pipelines.plan import cut_shards  # noqa: PLC0415 - heavy imports only when work is done
    from pipelines.report import MANIFEST, merge, write_manifest, write_versions  # noqa: PLC0415
    from pipelines.run import exit_code, new_report, run_shards  # noqa: PLC0415
    from pipelines.upgrade import (  # noqa: PLC0415
        lost_upgrade_shard,
        merge_tallies,
        plan_upgrade,
        setup_upgrade,
    )
    from pipelines.upgrade_report import reaches, upgrade_section  # noqa: PLC0415

    if [*options.dumps, *options.crds, *upgrade.new_crds].count("-") > 1:
        raise PlanError("-", "standard input is named more than once", "one of dump and definitions", "use files")
    started = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    clock = time.monotonic()
    with new_report(options) as (spool, parts):
        (parts / "changes").mkdir()
        scan = plan_upgrade(options, upgrade, spool)
        check_plan(scan.new)
        lost = partial(lost_upgrade_shard, scan=scan, parts=str(parts))
        ready = partial(setup_upgrade, scan, str(parts))
        results = run_shards(ready, cut_shards(scan.new), options, lost, spool)
        total = merge(result.audit for result in results)
        tallies = dict(merge_tallies(results))
        versions = write_versions(scan.new, total, parts)
        section = upgrade_section(scan, tallies, total, shown)
        code = exit_code(replace(options, fail_on="never"), scan.new.sources, total)
        code = code or int(reaches(options, section, tallies))
        seconds = time.monotonic() - clock
        manifest = write_manifest(
            scan.new, total, parts, started=started, seconds=seconds, exit_code=code, versions=versions
        )
        manifest["upgrade"] = section
        (parts / MANIFEST).write_bytes(orjson.dumps(manifest, option=orjson.OPT_INDENT_2) + b"\n")
        shutil.copyfile(scan.new.definitions, parts / "definitions.ndjson")
    return code, manifest
