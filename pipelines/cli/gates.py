"""`auditor gates`: field-level feature gates of definitions, the objects that use them, and what writes would store."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any, Final

import click

from auditor.base.visible import label, visible
from auditor.base.wording import counted, shortened
from auditor.printing.print_rows import DATA, FORMS
from pipelines.cli.options.made import ONE_PREFIX, options
from pipelines.console import echo_rows, ignore_closed_stdout

if TYPE_CHECKING:
    from collections.abc import Iterator

    from auditor.base.records import JsonObject
    from auditor.gates import ResolvedGates, Written
    from auditor.printing.print_rows import Columns
    from auditor.shards.dump_objects import CustomObject, CustomObjects


_CHANGES: Final[dict[str, Any]] = {
    "field_gates": {"help": "Turn gates on or off in this run.", "hidden": False},
    "sidecar": {"help": "File of gates by definition; overrides manifests.", "hidden": False},
    "crds": "Definitions; they replace the dump's by name.",
    "etcd_prefix": ONE_PREFIX,
}


@click.group(
    context_settings={"help_option_names": ["-h", "--help"]}, short_help="Field-level feature gates of definitions."
)
def gates() -> None:
    """Work with field-level feature gates: a proposal, which no API server implements yet.

    Gates are declared in a definition's manifest (spec.customFeatureGates, which servers drop), or in a sidecar file
    that maps names of definitions to the same. --field-gates overrides them for a run, AllAlpha= and AllBeta= included.

    \b
    Examples:
      auditor gates list --crds crds/
      auditor gates list snapshot.db --crds crds/
    """


# -- check -------------------------------------------------------------------------------------------------------------


@gates.command(short_help="Check the declarations of gates.")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@options("sidecar field_gates output", **_CHANGES, output=("text", *FORMS))
def check(paths: tuple[str, ...], sidecar: tuple[str, ...], field_gates: str, output: str) -> None:
    """Check the gates of the definitions in files and folders against the rules of the proposal.

    Exit code 1: a declaration breaks a rule. Paths that are not in the storage version's schema are warnings.
    Exit code 3: a file that may hold definitions was not read.

    \b
    Examples:
      auditor gates check crds/
      auditor gates list snapshot.db --crds crds/ --field-gates AllAlpha=true
    """
    from auditor.gates import parse_overrides  # noqa: PLC0415
    from auditor.gates.resolve import (  # noqa: PLC0415
        check_overrides,
        gate_configs,
        read_sidecars,
    )

    definitions, is_incomplete = _definitions(paths)
    sidecars = read_sidecars(sidecar)
    configs = gate_configs(definitions, sidecars)
    check_overrides(configs.values(), parse_overrides(field_gates))
    unused = sorted(set(sidecars) - set(definitions))
    results: list[dict[str, Any]] = [
        {
            "name": name,
            "component": config.component,
            "gates": len(config.gates),
            "findings": [
                {"field": finding.field, "type": finding.type, "detail": finding.detail, "message": finding.message}
                for finding in config.findings
            ],
            "warnings": list(config.warnings),
        }
        for name, config in configs.items()
    ]
    with ignore_closed_stdout():
        if output == "text":
            for result in results:
                wrong = len(result["findings"])
                state = counted(wrong, "error") if wrong else "ok"
                click.echo(f"{label(result['name'])}: {counted(result['gates'], 'gate')}, {state}")
                for finding in result["findings"]:
                    click.echo(f"  {visible(finding['message'])}")
                for warning in result["warnings"]:
                    click.echo(f"  warning: {visible(warning)}")
            for name in unused:
                click.echo(f"warning: the sidecar names {visible(name)}, but there is no such definition", err=True)
            if not results:
                click.echo("no definition has gates", err=True)
        else:
            echo_rows(results, _CHECKS, output)
    sys.exit(3 if is_incomplete else 1 if any(result["findings"] for result in results) else 0)


_CHECKS: Columns = {
    "name": "name",
    "component": "component",
    "gates": "gates",
    "findings": lambda result: [one["message"] for one in result["findings"]],
    "warnings": "warnings",
}


def _definitions(paths: tuple[str, ...]) -> tuple[dict[str, Any], bool]:
    """Return the definitions by name, and whether a file that may hold more was not read."""
    from auditor.base.errors import PlanError  # noqa: PLC0415
    from auditor.crds.catalog import CrdCatalog  # noqa: PLC0415
    from auditor.plan.definition_paths import definitions_at  # noqa: PLC0415

    given = definitions_at(paths)
    catalog = CrdCatalog.from_documents(given.documents)
    for line in given.lines():
        click.echo(line, err=True)
    for name, reason in catalog.broken.items():
        click.echo(f"{label(name)}: a server cannot decode it: {visible(reason)}", err=True)
    if not catalog.crds and not given.unread:
        raise PlanError(", ".join(paths), "no definition found", "at least one CustomResourceDefinition")
    return {definition.name: definition for definition in catalog.crds.values()}, bool(given.unread)


# -- list --------------------------------------------------------------------------------------------------------------


@gates.command("list", short_help="List gates, whether they are on and why, and how many objects use them.")
@click.argument("dumps", nargs=-1, metavar="[DUMP]...")
@options("crds sidecar field_gates etcd_prefix output", **_CHANGES)
def list_(
    dumps: tuple[str, ...],
    crds: tuple[str, ...],
    sidecar: tuple[str, ...],
    field_gates: str,
    etcd_prefix: str,
    output: str,
) -> None:
    """List every gate: component, stage, default, enabled, whether it is on and why, and its paths.

    With dumps, OBJECTS is the number of stored objects that have the field.

    \b
    Examples:
      auditor gates list --crds crds/
      auditor gates list snapshot.db --crds crds/ --field-gates AllBeta=false
    """
    from auditor.base.errors import PlanError  # noqa: PLC0415
    from auditor.gates.resolve import gate_configs, read_sidecars, resolved_gates  # noqa: PLC0415
    from auditor.shards.dump_objects import open_objects  # noqa: PLC0415

    if not dumps and not crds:
        raise PlanError("", "nothing to list", "DUMP or --crds PATH")
    with open_objects(dumps, crds, etcd_prefix=etcd_prefix) as objects:
        sidecars = read_sidecars(sidecar)
        for config in gate_configs(objects.definitions, sidecars).values():
            for warning in () if config.gates else config.warnings:
                click.echo(f"warning: {label(config.name)}: {visible(warning)}", err=True)
        gates = resolved_gates(objects.definitions, sidecars, field_gates)
        counts = _uses(objects, gates) if dumps else None
        rows = [row for gates in gates.values() for row in _rows(gates, counts)]
        if not rows and output not in DATA:
            click.echo("no definition has gates", err=True)
        echo_rows(rows if output in DATA else _lines(rows, repeats=output == "csv"), _GATES, output)
        sys.exit(3 if objects.incomplete() else 0)


def _uses(objects: CustomObjects, found: dict[str, ResolvedGates]) -> dict[tuple[str, str], int]:
    """Return how many objects have a guarded field, by definition and path."""
    from auditor.gates.paths import places  # noqa: PLC0415

    counts: dict[tuple[str, str], int] = {}
    for obj in objects:
        gates_of = found.get(obj.definition.name)
        document = obj.document if gates_of is not None else None
        if gates_of is None or document is None:
            continue
        for guarded in gates_of.paths:
            if next(iter(places(document, guarded.path.steps)), None) is not None:
                key = (obj.definition.name, str(guarded.path))
                counts[key] = counts.get(key, 0) + 1
    return counts


def _rows(found: ResolvedGates, counts: dict[tuple[str, str], int] | None) -> list[dict[str, Any]]:
    on = {path.path: path for path in found.paths}
    return [
        {
            "definition": found.name,
            "component": found.component,
            "gate": state.gate.name,
            "stage": state.gate.stage,
            "default": state.gate.default,
            "enabled": state.gate.enabled,
            "on": state.on,
            "why": state.why,
            "deprecatedWarning": state.gate.warning,
            "paths": [
                {
                    "path": str(path),
                    "on": on[path].on,
                    "blockedBy": None if on[path].blocked_by is None else str(on[path].blocked_by),
                    "objects": None if counts is None else counts.get((found.name, str(path)), 0),
                }
                for path in state.gate.paths
            ],
        }
        for state in found.states
    ]


_GATES = ("definition", "component", "gate", "stage", "default", "enabled", "state", "why", "path", "objects")


def _lines(rows: list[dict[str, Any]], *, repeats: bool) -> Iterator[dict[str, Any]]:
    """Yield a line for each path of a gate; a table does not repeat the gate."""
    for row in rows:
        head = {**row, "component": row["component"] or None, "state": "on" if row["on"] else "off"}
        for path in row["paths"] or [{"path": None, "blockedBy": None, "objects": None}]:
            blocked = f" (off by {path['blockedBy']})" if path["blockedBy"] else ""
            yield {**head, "path": path["path"] and path["path"] + blocked, "objects": path["objects"]}
            head = head if repeats else {}


# -- simulate ----------------------------------------------------------------------------------------------------------


@gates.command(short_help="Show what writes would store.")
@click.argument("dumps", nargs=-1, required=True, metavar="[OLD] NEW")
@options(
    "crds sidecar field_gates how etcd_prefix output",
    **_CHANGES | {"crds": "Definitions; they replace the dumps' by name."},
)
def simulate(
    dumps: tuple[str, ...],
    crds: tuple[str, ...],
    sidecar: tuple[str, ...],
    field_gates: str,
    how: str,
    etcd_prefix: str,
    output: str,
) -> None:
    """Write the objects of NEW over those of OLD, and show what would be stored.

    OLD and NEW are dumps or manifests, of one object or of many. An object that is only in NEW is created (without OLD
    all are); one that is only in OLD does not change. A field whose gate is off is dropped, or keeps its old value.
    Items of lists are paired by their keys if the list is a map, else by position: the proposal leaves that open. The
    table lists the fields that were dropped or kept their old value; json lists all objects, with what is stored.

    \b
    Examples:
      auditor gates simulate new.yaml --crds crds/
      auditor gates simulate snapshot.db manifests/ --crds crds/ --field-gates AllAlpha=false -o json
    """
    from auditor.base.errors import PlanError  # noqa: PLC0415
    from auditor.gates.resolve import read_sidecars, resolved_gates  # noqa: PLC0415
    from auditor.shards.dump_objects import open_objects  # noqa: PLC0415

    if len(dumps) > 2:
        raise PlanError(" ".join(dumps), f"{len(dumps)} dumps", "NEW, or OLD and NEW")
    sidecars = read_sidecars(sidecar)
    old, new = (dumps[0], dumps[1]) if len(dumps) == 2 else ("", dumps[0])
    before: dict[Any, JsonObject] = {}
    results: list[dict[str, Any]] = []
    with open_objects(dumps, crds, etcd_prefix=etcd_prefix) as objects:
        definitions = objects.definitions
        gates = resolved_gates(definitions, sidecars, field_gates)
        skipped: list[str] = []
        for obj in objects if old else ():
            if _is_of(obj, old) and obj.definition.name in gates:
                document = _at_storage(obj, skipped)
                if document is not None:
                    before[_identity(obj)] = document
        if any(_has_lists(gates_of, definitions[name]) for name, gates_of in gates.items()):
            click.echo(_LISTS, err=True)
        for obj in objects:
            if _is_of(obj, new) and obj.definition.name in gates:
                document = _at_storage(obj, skipped)
                if document is not None:
                    stored = before.get(_identity(obj))
                    results.append(_simulated(gates[obj.definition.name], obj, document, stored, how))
        damaged = objects.incomplete()
    for reason in skipped:
        click.echo(visible(reason), err=True)
    echo_rows(results if output in DATA else _changed_fields(results), _FIELDS, output)
    if output not in DATA:
        _print_sums(results)
    sys.exit(3 if damaged else 0)


_LISTS = (
    "note: fields in items of lists: old and new items are paired by their keys if the list is a map, else by "
    "position; the proposal leaves that open"
)


def _has_lists(gates_of: ResolvedGates, definition: Any) -> bool:
    from auditor.gates.paths import goes_through_list  # noqa: PLC0415

    storage = definition.storage_version
    schema = None if storage is None else storage.schema
    return any(goes_through_list(path.path, schema) for path in gates_of.paths)


def _is_of(one: CustomObject, dump: str) -> bool:
    from pathlib import Path  # noqa: PLC0415

    return one.source == dump or Path(dump) in Path(one.source).parents


def _identity(one: CustomObject) -> tuple[str, str | None, str | None]:
    return (one.definition.name, one.namespace, one.name)


def _at_storage(one: CustomObject, skipped: list[str]) -> JsonObject | None:
    """Return an object at the storage version; None, with the reason in `skipped`, if only a webhook can convert it."""
    document, storage = one.document, one.definition.storage_version
    kind = f"{one.definition.kind} {one.place}"
    if document is None or storage is None:
        skipped.append(f"{kind}: cannot be decoded")
        return None
    wanted = f"{one.definition.group}/{storage.name}"
    if document.get("apiVersion") != wanted:
        if one.definition.conversion == "Webhook":
            skipped.append(f"{kind}: is at {document.get('apiVersion')}, and only a webhook can convert it to {wanted}")
            return None
        document["apiVersion"] = wanted
    return document if type(document) is dict else None


def _simulated(
    found: ResolvedGates, one: CustomObject, sent: JsonObject, old: JsonObject | None, how: str
) -> dict[str, Any]:
    from auditor.gates import simulate_write  # noqa: PLC0415
    from auditor.updates.apply import merged, replaced  # noqa: PLC0415

    new = sent
    if old is not None and one.key is None:
        new = merged(old, sent) if how == "merge" else replaced(old, sent)
    storage = one.definition.storage_version
    assert storage is not None
    written: Written = simulate_write(found, new, old, storage.structural, has_status=storage.has_status)
    return {
        "definition": one.definition.name,
        "kind": one.definition.kind,
        "namespace": one.namespace,
        "name": one.name,
        "request": "create" if old is None else "update",
        "dropped": [{"path": path, "sent": value} for path, value in written.dropped],
        "kept": [{"path": path, "sent": value, "stored": was} for path, value, was in written.kept],
        "generationChanges": written.generation_changes,
        "stored": written.stored,
    }


_FIELDS: Columns = {
    **{name: name for name in ("kind", "object", "request", "generation changes", "field is", "path")},
    "sent": lambda line: _short(line["sent"]),
    "stored": lambda line: _short(line["stored"]),
}


def _changed_fields(results: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield a line for each field that is dropped or keeps its old value."""
    for result in results:
        head = {
            **result,
            "object": f"{result['namespace']}/{result['name']}" if result["namespace"] else result["name"],
            "generation changes": {None: None, True: "yes", False: "no"}[result["generationChanges"]],
        }
        for name in ("dropped", "kept"):
            yield from ({**head, "field is": name, "stored": None, **one} for one in result[name])


def _print_sums(results: list[dict[str, Any]]) -> None:
    dropped = sum(1 for result in results if result["dropped"])
    kept = sum(1 for result in results if result["kept"])
    unchanged = sum(1 for result in results if result["generationChanges"] is False)
    click.echo(
        f"{counted(len(results), 'write')} of kinds with gates: {dropped} drop fields, {kept} keep old "
        f"values of fields, {unchanged} change no generation",
        err=True,
    )


def _short(value: Any) -> str | None:
    if value is None:
        return None
    text = json.dumps(value, ensure_ascii=False)
    return shortened(text, 60)
