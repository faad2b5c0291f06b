"""Stage 5: counts of all shards into versions.parquet and the manifest, which is written last."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import orjson
import pyarrow as pa

import auditor
from auditor import tables
from auditor.crds.outline import outline, skeleton, stored_versions
from auditor.model import IMPACTS
from pipelines.columns import array_of, write_parquet
from pipelines.report_state import report_state
from pipelines.shard_result import ShardResult

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from auditor.model import JsonObject
    from pipelines.plan import DefinitionEntry, Plan

__all__ = ["MANIFEST", "merge", "parse_manifest", "write_manifest", "write_versions"]

MANIFEST = "manifest.json"
_ALWAYS: Final = frozenset(("tool", "inputs", "definitions", "options", "started", "counts", "findings"))


def merge(results: Iterable[ShardResult]) -> ShardResult:
    """Add up the counts of shards, in shard order."""
    total = ShardResult(-1)
    lost = []
    for result in sorted(results, key=lambda one: one.number):
        total.rows += result.rows
        total.bytes += result.bytes
        total.out_of_scope += result.out_of_scope
        for name in (
            "statuses",
            "impacts",
            "findings",
            "stored",
            "unevaluated",
            "proven",
            "valid",
            "interpreted",
            "encrypted",
        ):
            getattr(total, name).update(getattr(result, name))
        for kind, first in result.breaking.items():
            total.note_breaking(kind, first)
        for kind, stuck in result.stuck.items():
            total.stuck.setdefault(kind, stuck)
        total.changes.update(result.changes)
        if result.lost:
            lost.append(result.lost)
    total.lost = "\n".join(lost)
    return total


def _skeletons(plan: Plan) -> Iterator[tuple[DefinitionEntry, JsonObject]]:
    """Yield what outlines are made of, for each definition."""
    with Path(plan.definitions).open("rb") as stream:
        for entry in plan.entries:
            stream.seek(entry.offset)
            yield entry, skeleton(stream.read(entry.length))


def write_versions(plan: Plan, total: ShardResult, folder: Path) -> list[dict[str, Any]]:
    """Write versions.parquet; stored_objects is unknown (null) where any dump is an export."""
    known = not any(source.is_export for source in plan.sources)
    stored: dict[str, dict[str, int]] = {}
    for (crd, name), count in total.stored.items():
        stored.setdefault(crd, {})[name] = count
    rows = []
    for entry, document in _skeletons(plan):
        counts = stored.get(entry.name, {})
        kept = stored_versions(document)
        versions = {version.name: version for version in outline(document)}
        for name in [*versions, *sorted(set(counts) - set(versions))]:
            version = versions.get(name)
            rows.append(
                {
                    "cluster": plan.options.cluster or None,
                    "crd": entry.name,
                    "group": entry.group,
                    "plural": entry.plural,
                    "kind": entry.kind,
                    "version": name,
                    "served": version is not None and version.served,
                    "storage": version is not None and version.storage,
                    "in_stored_versions": name in kept,
                    "stored_objects": counts.get(name, 0) if known else None,
                }
            )
    arrays = [array_of(tuple(row[field.name] for row in rows), field.type) for field in tables.VERSIONS]
    schema = tables.with_metadata(
        tables.VERSIONS, tool=auditor.__version__, release=auditor.KUBERNETES_RELEASE, crds=plan.crds_sha256
    )
    write_parquet(pa.Table.from_arrays(arrays, schema=schema), folder / "versions.parquet")
    return rows


def _by_kind(total: ShardResult) -> list[dict[str, Any]]:
    kinds: dict[tuple[str, str], dict[str, Any]] = {}
    for (kind, status), count in sorted(total.statuses.items()):
        entry = kinds.setdefault(
            kind,
            {
                "group": kind[0],
                "kind": kind[1],
                "objects": 0,
                "statuses": {},
                "impacts": {},
                "breaking": None,
                "stuck": None,
            },
        )
        entry["objects"] += count
        entry["statuses"][status] = count
    for (kind, impact), count in sorted(total.impacts.items(), key=lambda item: IMPACTS.index(item[0][1])):
        kinds[kind]["impacts"][impact] = count
    for kind, (key, reason, impact) in total.breaking.items():
        kinds[kind]["breaking"] = {"key": key, "reason": reason, "impact": impact}
    for kind, (key, reason) in total.stuck.items():
        kinds[kind]["stuck"] = {"key": key, "reason": reason}
    return list(kinds.values())


def _programs(plan: Plan, total: ShardResult) -> list[dict[str, Any]]:
    """Say for each version how many objects its generated program saw, proved valid, and how many of those are valid.

    The first objects of each worker were interpreted, before there was a program; they do not count in its share.
    """
    entries = {entry.name: entry for entry in plan.entries}
    return [
        {
            "crd": name,
            "group": entries[name].group,
            "kind": entries[name].kind,
            "version": version,
            "proven": total.proven[(name, version, True)],
            "not_proven": total.proven[(name, version, False)],
            "valid": total.valid[(name, version)],
            "interpreted": total.interpreted[(name, version)],
        }
        for name, version in sorted({key[:2] for key in total.proven if total.proven[key]} | set(total.interpreted))
        if name in entries
    ]


def parse_manifest(data: bytes) -> dict[str, Any] | None:
    """Return the manifest of a report; None: it is cut short, or no audit wrote it."""
    try:
        content = orjson.loads(data)
    except orjson.JSONDecodeError:
        return None
    is_ours = type(content) is dict and type(content.get("inputs")) is list and content.keys() >= _ALWAYS
    return content if is_ours else None


def write_manifest(
    plan: Plan,
    total: ShardResult,
    folder: Path,
    *,
    started: str,
    seconds: float,
    exit_code: int,
    versions: list[Any],
    since: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Write manifest.json and return it; a folder without it is no report."""
    statuses: Counter[str] = Counter()
    for (_, status), count in total.statuses.items():
        statuses[status] += count
    options = plan.options
    manifest: dict[str, Any] = {
        "tool": {"name": "auditor", "version": auditor.__version__, "table_version": tables.TABLE_VERSION},
        "kubernetes_release": auditor.KUBERNETES_RELEASE,
        "inputs": [
            {
                "name": source.name,
                "format": source.format,
                "sha256": source.sha256,
                "revision": source.revision,
                "compacted_revision": source.compacted_revision,
                "is_export": source.is_export,
                "keys": source.rows,
                "damage": [{"where": damage.where, "reason": damage.reason} for damage in source.damage],
                "notes": list(source.notes),
            }
            for source in plan.sources
        ],
        "definitions": {
            "sha256": plan.crds_sha256,
            "count": len(plan.entries),
            "from_files": sorted(plan.from_files),
            "files_sha256": plan.files_sha256 or None,
        },
        "options": {
            "at": options.at,
            "etcd_prefix": options.etcd_prefix,
            "fail_on": options.fail_on,
            "cluster": options.cluster or None,
            "skip": list(options.skip),
            "ratcheting": options.ratcheting,
            "apply": options.apply if options.old else None,
            "scope": {
                "namespace": options.scope.namespace,
                "labels": options.scope.labels,
                "fields": options.scope.fields,
                "include": list(options.scope.include),
                "exclude": list(options.scope.exclude),
            },
        },
        "state": report_state(plan),
        "since": since,
        "started": started,
        "seconds": round(seconds, 3),
        "exit_code": exit_code,
        "counts": {
            "keys": sum(source.rows for source in plan.sources),
            "rows": total.rows,
            "out_of_scope": total.out_of_scope,
            "bytes": total.bytes,
            "statuses": dict(sorted(statuses.items())),
        },
        "kinds": _by_kind(total),
        "findings": [
            {"group": kind[0], "kind": kind[1], "check": check, "field": path, "type": cause, "count": count}
            for (kind, check, path, cause), count in sorted(total.findings.items(), key=lambda i: (-i[1], i[0]))[:100]
        ],
        "stored_versions": [
            {"crd": row["crd"], "version": row["version"], "objects": row["stored_objects"], "storage": row["storage"]}
            for row in versions
            if row["stored_objects"]
        ],
        "not_evaluated": [
            {"what": "x-kubernetes-validations", "crd": name, "version": version, "objects": count}
            for (name, version), count in sorted(total.unevaluated.items())
        ],
        "changes": dict(sorted(total.changes.items())),
        "old": [
            {"name": source.name, "format": source.format, "sha256": source.sha256, "revision": source.revision}
            for source in plan.old
        ],
        "programs": _programs(plan, total),
        "encryption": [
            {
                "provider": count.provider,
                "name": count.name,
                "key_id": count.key_id or None,
                "opened": count.opened,
                "values": values,
            }
            for count, values in sorted(total.encrypted.items())
        ],
        "lost": total.lost.splitlines(),
    }
    (folder / MANIFEST).write_bytes(orjson.dumps(manifest, option=orjson.OPT_INDENT_2) + b"\n")
    return manifest
