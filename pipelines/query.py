"""Answers from a report: select over its index, show one key of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
import pyarrow.parquet as pq

from auditor.errors import PlanError, SelectorError
from auditor.report.terminal import format_table
from auditor.selectors.query import open_index
from pipelines.report import MANIFEST

__all__ = ["print_key", "print_query"]


def read_manifest(report: str) -> dict[str, Any]:
    """Return the manifest of a report, or say that the folder is none."""
    path = Path(report) / MANIFEST
    if not path.exists():
        raise PlanError(report, "is no report (it has no manifest.json)", "the --report folder of an audit")
    content: dict[str, Any] = json.loads(path.read_bytes())
    return content


def print_query(report: str, kind: str, namespace: str, labels: str, fields: str, output: str) -> None:
    """Print the objects of a kind that fit the selectors."""
    read_manifest(report)
    index = open_index(report)
    try:
        table = index.select(kind, namespace=namespace, label_selector=labels, field_selector=fields)
    except SelectorError as error:
        raise PlanError(
            "",
            f'Unable to find "{kind}" that match label selector "{labels}", field selector "{fields}": {error.found}',
        ) from None
    place = index.resolve(kind)
    rows = table.to_pylist()
    if output == "name":
        for row in rows:
            click.echo(
                f"{place.plural}.{place.group}/{row['name']}" if place.group else f"{place.plural}/{row['name']}"
            )
        return
    if output == "table":
        if not rows:
            where = f" in {namespace} namespace" if namespace else ""
            click.echo(f"No resources found{where}", err=True)
            return
        columns = [name for name in table.column_names if name.startswith("field:")]
        header = ("NAMESPACE", "NAME", "CREATED", *(name.removeprefix("field:").upper() for name in columns))
        click.echo(
            format_table(
                header,
                [
                    (
                        row["namespace"],
                        row["name"],
                        row["created"].isoformat().replace("+00:00", "Z") if row["created"] else None,
                        *(row[name] for name in columns),
                    )
                    for row in rows
                ],
            )
        )
        return
    items = [_item(row) for row in rows]
    if output == "json":
        click.echo(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}, indent=2, ensure_ascii=False))
    else:
        import yaml  # noqa: PLC0415

        click.echo(yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": items}, sort_keys=False), nl=False)


def _item(row: dict[str, Any]) -> dict[str, Any]:
    """Return what the index knows of an object; whole objects stand in the dump."""
    metadata = {
        "name": row["name"],
        "namespace": row["namespace"],
        "uid": row["uid"],
        "creationTimestamp": row["created"].isoformat().replace("+00:00", "Z") if row["created"] else None,
        "labels": dict(row["labels"]) or None,
    }
    fields = {name.removeprefix("field:"): value for name, value in row.items() if name.startswith("field:")}
    return {
        "metadata": {key: value for key, value in metadata.items() if value is not None},
        "fields": fields,
        "position": {key: row[key] for key in ("source", "offset", "length", "mod_revision") if row[key] is not None},
    }


def print_key(report: str, key: str) -> None:
    """Print the rows and findings of one key as YAML."""
    import yaml  # noqa: PLC0415

    read_manifest(report)
    namespace, _, name = key.rpartition("/")
    found = []
    for part in sorted((Path(report) / "objects").glob("*.parquet")):
        table = pq.read_table(part, filters=[("key", "=", key)])
        if not table.num_rows and not key.startswith("/"):
            table = pq.read_table(part, filters=[("name", "=", name)])
        found.extend(table.to_pylist())
    if not found:
        raise PlanError(report, f"no key {key}", "", "keys stand in the column `key` of objects/")
    findings = []
    for part in sorted((Path(report) / "findings").glob("*.parquet")):
        columns = ["key", "namespace", "name", "audited_version", "check", "type", "field", "message"]
        for row in pq.read_table(part, columns=columns).to_pylist():
            if row["key"] == key or (row["key"] is None and (row["namespace"] or "", row["name"]) == (namespace, name)):
                findings.append({k: row[k] for k in ("audited_version", "check", "type", "field", "message")})
    rows = [{k: v for k, v in row.items() if v not in (None, [], ())} for row in found]
    click.echo(yaml.safe_dump({"objects": rows, "findings": findings}, sort_keys=False, allow_unicode=True), nl=False)
