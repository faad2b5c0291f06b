"""`auditor validate`: the checks of an audit on manifests, without a report."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import click
import orjson

from auditor.errors import PlanError
from auditor.report.terminal import format_table
from pipelines.heard import heard_or_not

__all__ = ["run_validate"]


def run_validate(files: tuple[str, ...], crds: tuple[str, ...], output: str) -> int:
    """Print what a create would say to each custom resource; return the exit code."""
    from pipelines.audit import ShardAuditor  # noqa: PLC0415
    from pipelines.config import AuditOptions  # noqa: PLC0415
    from pipelines.plan import make_plan, open_live, open_values, told_damage  # noqa: PLC0415

    results: list[dict[str, Any]] = []
    code = 0
    with tempfile.TemporaryDirectory(prefix="auditor-validate-") as folder:
        plan = make_plan(AuditOptions(dumps=files, crds=crds), Path(folder))
        for source in plan.sources:
            if not source.is_export:  # its values are a server's own: encodings, keys that are no objects
                raise PlanError(source.name, f"holds stored keys ({source.format})", "manifests", "see `auditor audit`")
        if not plan.entries:
            raise PlanError("", "no definition found", "at least one", "give --crds PATH")
        auditor = ShardAuditor(plan, folder)
        code = 3 if any(source.damage for source in plan.sources) else 0
        for source in plan.sources:
            values = open_values(source)
            table = open_live(source)
            spans = zip(table["offset"].to_pylist(), table["length"].to_pylist(), strict=True)
            for offset, length in sorted(spans):
                results.append(_judge(auditor, source.name, bytes(values[offset : offset + length])))
    click.echo(told_damage(plan.sources), nl=False, err=True)
    if any(result["status"] in {"invalid", "unreadable"} for result in results):
        code = code or 1
    with heard_or_not():
        _print(results, output)
    return code


def _judge(auditor: Any, name: str, data: bytes) -> dict[str, Any]:
    status, entry, head, reason = auditor.classify_export(data)
    group, kind, namespace, obj = head
    out: dict[str, Any] = {
        "file": name, "group": group, "kind": kind, "namespace": namespace, "name": obj, "status": status,
        "reason": reason, "findings": [], "unevaluated_rules": 0,
    }  # fmt: skip
    if entry is None:
        return out
    definition = auditor.definition(entry)
    if isinstance(definition, str):
        return out | {"status": "unreadable", "reason": definition}
    audited, _ = auditor.judge(definition, data, "stored")[0]
    if audited.unreadable is not None:
        return out | {"status": "unreadable", "reason": audited.unreadable.reason}
    findings = [{"field": f.field, "type": f.type, "message": f.message, "check": f.check} for f in audited.findings]
    return out | {
        "status": "invalid" if findings else "valid",
        "findings": findings,
        "pruned": list(audited.pruned),
        "unevaluated_rules": audited.unevaluated_rules,
    }


def _print(results: list[dict[str, Any]], output: str) -> None:
    if output == "json":
        click.echo(orjson.dumps(results, option=orjson.OPT_INDENT_2).decode())
        return
    if output == "ndjson":
        for result in results:
            click.echo(orjson.dumps(result).decode())
        return
    rows = []
    for result in results:
        messages = [finding["message"] for finding in result["findings"]] or [result["reason"]]
        if result["status"] not in {"valid", "definition"}:
            rows += [
                (result["file"], result["kind"], result["namespace"], result["name"], result["status"], text)
                for text in messages
            ]
    if rows:
        click.echo(format_table(("FILE", "KIND", "NAMESPACE", "NAME", "STATUS", "REASON"), rows))
    counts: dict[str, int] = {}
    for result in results:
        counts[result["status"]] = counts.get(result["status"], 0) + 1
    click.echo(f"{len(results)} objects: " + ", ".join(f"{n} {s}" for s, n in sorted(counts.items())), err=True)
    rules = sum(1 for result in results if result["unevaluated_rules"])
    if rules:
        click.echo(f"NOT EVALUATED  validation rules (CEL) of {rules} objects", err=True)
