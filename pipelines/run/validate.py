"""`auditor validate`: the checks of an audit on manifests, without a report."""

from __future__ import annotations

from typing import Any

import click
import orjson

from auditor.base.errors import PlanError
from auditor.base.statuses import KeyClass, Status
from auditor.base.visible import visible
from auditor.builtin.judge import judge_exported
from auditor.report.terminal import format_table
from auditor.shards.reasons import RULES_GIVEN_UP
from auditor.shards.result import object_name
from auditor.sources.files.work_folder import temporary_folder
from auditor.sources.plan import NAMED, first_names
from pipelines.console import ignore_closed_stdout

__all__ = ["run_validate"]


def run_validate(files: tuple[str, ...], crds: tuple[str, ...], output: str) -> int:
    """Print what a create would say to each custom resource; return the exit code.

    Returns:
        3: something was not read, or rules were given up; 1: something is invalid or unreadable; 0: neither.
    """
    from auditor.plan.limits import rule_seconds  # noqa: PLC0415
    from auditor.plan.options import AuditOptions  # noqa: PLC0415
    from auditor.plan.plan import damage_text, look_again, make_plan, open_live, open_values  # noqa: PLC0415
    from auditor.shards.audit import ShardAuditor  # noqa: PLC0415

    results: list[dict[str, Any]] = []
    code = 0
    with temporary_folder("validate") as folder:
        plan = make_plan(AuditOptions(dumps=files, crds=crds), folder)
        for source in plan.sources:
            if not source.is_export:  # its values are a server's own: encodings, keys that are no objects
                raise PlanError(source.name, f"holds stored keys ({source.format})", "manifests", "see `auditor audit`")
        if not plan.entries:
            raise PlanError("", "no definition found", "at least one", "give --crds PATH")
        auditor = ShardAuditor(plan, str(folder))
        for source in plan.sources:
            values = open_values(source)
            table = open_live(source)
            spans = sorted(zip(table["offset"].to_pylist(), table["length"].to_pylist(), strict=True))
            auditor.rule_time.left = rule_seconds(sum(length for _, length in spans))
            for offset, length in spans:
                results.append(_judge_safely(auditor, source.name, bytes(values[offset : offset + length])))
        look_again(plan)
    is_whole = not any(source.damage for source in plan.sources) and not any(map(_is_given_up, results))
    code = 0 if is_whole else 3
    click.echo(damage_text(plan.sources), nl=False, err=True)
    if any(result["status"] in {Status.INVALID, Status.UNREADABLE} for result in results):
        code = code or 1
    with ignore_closed_stdout():
        _print(results, output)
    return code


def _judge_safely(auditor: Any, name: str, data: bytes) -> dict[str, Any]:
    """Judge an object; one on which the auditor fails counts as unreadable, and the others are still judged."""
    try:
        return _judge(auditor, name, data)
    except OSError:
        raise
    except Exception as error:  # noqa: BLE001 - the others are judged all the same
        from auditor.shards.result import shown_error  # noqa: PLC0415 - only on failure

        names = dict.fromkeys(("group", "kind", "namespace", "name"))
        reason = f"the auditor failed on it ({shown_error(error)}); please report it"
        more = {"status": Status.UNREADABLE.value, "reason": reason, "findings": [], "unevaluated_rules": 0}
        return {"file": name, **names, **more}


def _judge(auditor: Any, name: str, data: bytes) -> dict[str, Any]:
    status, entry, head, reason = auditor.classify_export(data)
    group, kind, namespace, obj = head
    out: dict[str, Any] = {
        "file": name, "group": group, "kind": kind, "namespace": namespace, "name": obj, "status": status.value,
        "reason": reason, "findings": [], "unevaluated_rules": 0,
    }  # fmt: skip
    if status is KeyClass.BUILTIN:
        judged = judge_exported(group or "", kind or "", data)
        return out | {"status": judged.status.value, "reason": judged.reason}
    if entry is None:
        return out
    definition = auditor.definition(entry)
    if isinstance(definition, str):
        return out | {"status": Status.UNREADABLE.value, "reason": definition}
    audited, _ = auditor.judge(definition, data, "stored")[0]
    program = auditor.program(definition, audited.audited_version) if audited.audited_version else None
    if audited.unreadable is not None:
        return out | {"status": Status.UNREADABLE.value, "reason": audited.unreadable.reason}
    findings = [{"field": f.field, "type": f.type, "message": f.message, "check": f.check} for f in audited.findings]
    return out | {
        "status": (Status.INVALID if findings else Status.VALID).value,
        "reason": RULES_GIVEN_UP if program is not None and program.gave_up(audited.unevaluated_rules) else reason,
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
        messages = [finding["message"] for finding in result["findings"]]
        if not messages or _is_given_up(result):
            messages.append(result["reason"])
        if result["status"] not in {Status.VALID, Status.DEFINITION} or _is_given_up(result):
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
    if given_up := [object_name(None, one["namespace"], one["name"]) for one in results if _is_given_up(one)]:
        names = visible(first_names(given_up[:NAMED], len(given_up)))
        click.echo(
            f"        the rules of {len(given_up)} exceeded the limit of time or memory for one object: {names}; "
            "`auditor audit` gives more time (--time-per-object)",
            err=True,
        )


def _is_given_up(result: dict[str, Any]) -> bool:
    return bool(result["reason"] == RULES_GIVEN_UP)
