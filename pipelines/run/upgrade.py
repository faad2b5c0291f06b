"""Runs the stages of an upgrade scan in turn, as `pipelines.run.audit` does those of an audit."""

from __future__ import annotations

import datetime
import json
import shutil
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from auditor.base.errors import PlanError
from auditor.base.statuses import Impact, Status
from auditor.crds.definitions_file import FILE
from auditor.releases import running_as

if TYPE_CHECKING:
    from collections.abc import Sequence

    from auditor.plan.options import AuditOptions
    from auditor.shards.upgrade import UpgradeOptions, UpgradePlan
    from pipelines.run.report.file_formats import FormatTarget


_NO_MATTER = frozenset({Status.ORPHANED, Status.OTHER, Impact.NEEDS_WEBHOOK})
"""Statuses of keys without a definition before and after: no upgrade changes them."""


def run_upgrade(options: AuditOptions, upgrade: UpgradeOptions) -> tuple[int, dict[str, Any]]:
    """Run one upgrade scan; write the report whole or not at all.

    Args:
        options: Options of an audit; `crds` are the old definitions that replace those of the dump.
        upgrade: The options of the upgrade.
    Returns:
        (exit code, manifest): 0; 1 if the changes reach --fail-on; 3 if part of a dump could not be read.
    Raises:
        AuditorError: A dump or a definition cannot be read, or the report cannot be written where it was asked for.
    """
    from pipelines.run.remote import report_here  # noqa: PLC0415

    with running_as(options.kubernetes), report_here(options) as local:
        first = _first_hop(local, upgrade) if upgrade.via else None
        code, manifest, plan = _run_local(local, upgrade, options.report, first)
    if plan is not None:
        _write_plan(Path(upgrade.plan_file), plan)
    return code, manifest


def write_upgrade(manifest: dict[str, Any], report: str, formats: Sequence[FormatTarget]) -> None:
    """Write the report of a scan in the requested formats; without one that is printed, print its summary.

    Args:
        manifest: The manifest.
        report: The report, as the user named it.
        formats: The formats.
    """
    from pipelines.run.report.file_formats import prints, write_report  # noqa: PLC0415
    from pipelines.run.report.findings import print_end  # noqa: PLC0415
    from pipelines.run.report_target import read_of_run  # noqa: PLC0415

    with read_of_run(report, manifest, is_needed=True):
        write_report(report, formats)
    if not prints(formats):
        with read_of_run(report, manifest):
            print_end(report)


def _first_hop(options: AuditOptions, upgrade: UpgradeOptions) -> _Hop:
    """Scan the upgrade to the intermediate release; its report is removed."""
    from auditor.sources.files.work_folder import temporary_folder  # noqa: PLC0415

    with temporary_folder("hop") as folder:
        local = replace(options, report=str(folder / "report"), force=False)
        hop = replace(upgrade, new_crds=upgrade.via, via=())
        code, manifest, plan = _run_local(local, hop, options.report)
    return _Hop(code, manifest["upgrade"], plan)


def _write_plan(path: Path, plan: dict[str, Any]) -> None:
    """Write a plan twice: as JSON, and as a shell script beside it.

    Raises:
        PlanError: A file cannot be written.
    """
    from auditor.upgrade.script import plan_script  # noqa: PLC0415

    base = path.with_suffix("") if path.suffix in (".json", ".sh") else path
    try:
        for target, text in (
            (base.with_name(f"{base.name}.json"), json.dumps(plan, indent=2, ensure_ascii=False) + "\n"),
            (base.with_name(f"{base.name}.sh"), plan_script(plan)),
        ):
            target.write_text(text, encoding="utf-8", errors="surrogatepass")
    except OSError as error:
        raise PlanError(
            "--plan", f"{path} cannot be written: {error.strerror}", "a file in a folder that exists"
        ) from None


class _Hop(NamedTuple):
    """The first of two upgrades: exit code, section of the manifest, plan."""

    code: int
    section: dict[str, Any]
    plan: dict[str, Any] | None


def _run_local(
    options: AuditOptions, upgrade: UpgradeOptions, shown: str, first: _Hop | None = None
) -> tuple[int, dict[str, Any], dict[str, Any] | None]:
    from auditor.causes.build import causes_by_workers, write_causes  # noqa: PLC0415
    from auditor.causes.parts import ShardCounter  # noqa: PLC0415
    from auditor.plan.cut import cut_shards  # noqa: PLC0415 - heavy imports only when work is done
    from auditor.plan.run_plan import look_again  # noqa: PLC0415 - heavy imports only when work is done
    from auditor.shards.gates import check_plan  # noqa: PLC0415
    from auditor.shards.upgrade import (  # noqa: PLC0415
        lost_upgrade_shard,
        merge_apis,
        merge_tallies,
        plan_upgrade,
        setup_upgrade,
    )
    from auditor.store.allclear import judged_rows, not_judged, not_judged_of  # noqa: PLC0415
    from auditor.store.check import check_report  # noqa: PLC0415
    from auditor.store.manifest import merge, write_empty_parts, write_manifest, write_versions  # noqa: PLC0415
    from auditor.store.upgrade_plan import after_first_hop  # noqa: PLC0415
    from auditor.store.upgrade_section import qualified, reaches, upgrade_section  # noqa: PLC0415
    from pipelines.engines import run_shards  # noqa: PLC0415
    from pipelines.run.audit import exit_code, new_report  # noqa: PLC0415
    from pipelines.run.report_target import list_files  # noqa: PLC0415

    _refuse_reports(options.dumps)
    if [*options.dumps, *options.crds, *upgrade.new_crds, *upgrade.via].count("-") > 1:
        raise PlanError("-", "standard input is named more than once", "one of dump and definitions", "use files")
    started = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    clock = time.monotonic()
    after = upgrade.judged_as or options.kubernetes
    target = new_report(options, *upgrade.new_crds, *upgrade.via, *upgrade.old_sidecars)
    with running_as(after), target as (spool, parts):
        (parts / "changes").mkdir()
        scan = plan_upgrade(options, upgrade, spool)
        check_plan(scan.new)
        count = None if options.redact else ShardCounter(scan.new.definitions, {})
        lost = partial(lost_upgrade_shard, scan=scan, parts=str(parts), count=count)
        ready = partial(setup_upgrade, scan, str(parts), count)
        results = run_shards(ready, cut_shards(scan.new), options, lost, spool)
        total = merge(result.audit for result in results)
        tallies = dict(merge_tallies(results))
        write_empty_parts(scan.new, parts, "objects", "findings", "changes")
        versions = write_versions(scan.new, total, parts)
        section = upgrade_section(scan, tallies, total, shown, merge_apis(results))
        if first is not None:
            section = after_first_hop(section, first.section)
        look_again(scan.new)
        code = exit_code(replace(options, fail_on="never"), scan.new.sources, total)
        code = code or int(reaches(options, section)) or (0 if first is None else first.code)
        seconds = time.monotonic() - clock
        manifest = write_manifest(
            scan.new, total, parts, started=started, seconds=seconds, exit_code=code, versions=versions
        )
        check_report(options, parts, manifest, total)
        reasons = not_judged(manifest, ignore=_NO_MATTER)
        is_whole = not manifest["lost"] and not any(source["damage"] for source in manifest["inputs"])
        if is_whole and not _has_objects(manifest) and not manifest["counts"]["statuses"].get("needs-conversion"):
            why = reasons[1:] if not judged_rows(manifest) else ["only definitions in it"]
            reason = f"nothing was judged: {', '.join(why) or 'it holds no object'}"
            raise PlanError(", ".join(options.dumps), reason, "a dump with objects in it")
        is_scope_only = _is_scope_only(manifest, reasons)
        unsure = not_judged_of(manifest, section["definitions"], ignore=_NO_MATTER)
        reasons += section["not_compared"]
        manifest["upgrade"] = qualified(section, reasons, unsure, scope_only=is_scope_only)
        plan = _plan_of(manifest["upgrade"], scan, first)
        shutil.copyfile(scan.new.definitions, parts / FILE)
        if options.redact:
            from auditor.store.redact import redact_report  # noqa: PLC0415

            redact_report(parts, manifest)
        write_causes(parts, manifest, counted=None if count is None else causes_by_workers(parts, manifest, {}))
        list_files(parts, manifest)
    return code, manifest, plan


def _plan_of(section: dict[str, Any], scan: UpgradePlan, first: _Hop | None) -> dict[str, Any] | None:
    """Return the plan of one or two hops, or None if none is asked for."""
    from auditor.store.upgrade_plan import plan_document  # noqa: PLC0415

    if not scan.options.plan_file:
        return None
    section["plan_file"] = scan.options.plan_file
    plan = plan_document(section, scan)
    if first is not None and first.plan is not None:
        plan["definitions"] = [*first.plan["definitions"], *plan["definitions"]]
    return plan


def _has_objects(manifest: dict[str, Any]) -> bool:
    """Return whether an object was judged, or excluded by the user; definitions in an export do not count."""
    from auditor.store.allclear import judged_rows  # noqa: PLC0415

    definitions = 0
    if all(source["is_export"] for source in manifest["inputs"]):
        definitions = manifest["counts"]["statuses"].get(Status.DEFINITION, 0)
    return judged_rows(manifest) > definitions or manifest["counts"]["out_of_scope"] > 0


def _is_scope_only(manifest: dict[str, Any], reasons: list[str]) -> bool:
    """Return whether at least one object was judged, and only objects that the user excluded were not."""
    from auditor.store.allclear import judged_rows, scope_reasons  # noqa: PLC0415

    left_out = scope_reasons(manifest)
    return bool(left_out) and judged_rows(manifest) > 0 and reasons == left_out


def _refuse_reports(dumps: tuple[str, ...]) -> None:
    """Refuse reports of audits as dumps: their files have definitions and no objects."""
    from auditor.store.manifest import MANIFEST, parse_manifest  # noqa: PLC0415

    for dump in dumps:
        path = Path(dump) / MANIFEST
        if path.is_file() and parse_manifest(path.read_bytes()) is not None:
            reason = "is a report of the auditor, which holds no objects: nothing was judged"
            raise PlanError(dump, reason, "a dump", "name the dump that the report was made of")
