"""Stage 5: counts of all shards into versions.parquet and the manifest, which is written last."""

from __future__ import annotations

import datetime
import hashlib
import os
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import orjson
import pyarrow as pa

import auditor
from auditor.base import tables
from auditor.base.errors import PlanError
from auditor.base.given_file import read_given
from auditor.base.statuses import Impact, Status
from auditor.crds.outline import outline, skeleton, stored_versions
from auditor.plan.dumps import first_not_before, open_live
from auditor.releases import active
from auditor.selectors.partitions import written_folders
from auditor.shards.result import ShardResult
from auditor.shards.table_rows import array_of, part_name, write_parquet
from auditor.store.server_seen import server_seen

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from auditor.base.records import JsonObject
    from auditor.crds.definitions_file import DefinitionEntry
    from auditor.plan.options import RunScope
    from auditor.plan.run_plan import Plan


MANIFEST = "manifest.json"
_INTERNAL: Final = (b"compact_rev_key",)
"""Keys outside the prefix at which API servers note the revision of the last compaction."""
_MOST_MANIFEST: Final = 256 << 20
_CONTAINER, _MOST_PARSED = 256, 768 << 20
"""Bytes of memory that an object or a list takes, about, and that a manifest may take in all."""
_ALWAYS: Final = frozenset(("tool", "inputs", "definitions", "options", "started", "counts", "findings"))


def merge(results: Iterable[ShardResult]) -> ShardResult:
    """Add up the counts of shards, in shard order."""
    total = ShardResult(-1)
    lost = []
    for result in sorted(results, key=lambda one: one.number):
        total.rows += result.rows
        total.bytes += result.bytes
        total.out_of_scope += result.out_of_scope
        total.deleting += result.deleting
        for name in (
            "statuses",
            "impacts",
            "findings",
            "stored",
            "unevaluated",
            "proven",
            "valid",
            "interpreted",
            "fallbacks",
            "encrypted",
        ):
            getattr(total, name).update(getattr(result, name))
        for version, count in result.given_up.items():
            total.note_given_up(version, result.given_up_first[version], count)
        for kind, first in result.breaking.items():
            total.note_breaking(kind, first)
        for kind, stuck in result.stuck.items():
            total.stuck.setdefault(kind, stuck)
        total.changes.update(result.changes)
        for key, count in result.unanswered.items():
            total.note_unanswered(*key, *result.unanswered_first[key], count=count)
        if result.lost:
            lost.append(result.lost)
        if result.lost_more:
            lost.append(f"shard {result.number}: {result.lost_more} more objects were not audited")
    total.lost = "\n".join(lost)
    return total


def write_empty_parts(plan: Plan, folder: Path, *names: str) -> None:
    """Write one part without rows for each table that has none, so that its pattern of files finds one.

    Args:
        plan: The plan of the run.
        folder: The folder of the report.
        names: Tables.
    """
    schemas = {"objects": tables.OBJECTS, "findings": tables.FINDINGS, "changes": tables.CHANGES}
    meta = {"tool": auditor.__version__, "release": active().version, "crds": plan.crds_sha256}
    for name in names:
        if not any((folder / name).glob("*.parquet")):
            table = tables.with_metadata(schemas[name], **meta).empty_table()
            write_parquet(table, folder / name / part_name(0))


def _skeletons(plan: Plan) -> Iterator[tuple[DefinitionEntry, JsonObject]]:
    """Yield what outlines are made of, for each definition."""
    for entry, text in plan.definitions_file.texts(plan.entries):
        yield entry, skeleton(text)


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
        tables.VERSIONS, tool=auditor.__version__, release=active().version, crds=plan.crds_sha256
    )
    write_parquet(pa.Table.from_arrays(arrays, schema=schema), folder / "versions.parquet")
    return rows


def _by_kind(total: ShardResult, cluster: str) -> list[dict[str, Any]]:
    own = {"cluster": cluster} if cluster else {}
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
        entry["statuses"][str(status)] = count
    for (kind, impact), count in sorted(total.impacts.items(), key=lambda item: Impact(item[0][1]).rank):
        kinds[kind]["impacts"][str(impact)] = count
    for kind, (key, reason, impact) in total.breaking.items():
        kinds[kind]["breaking"] = {"key": key, "reason": reason, "impact": impact, **own}
    for kind, (key, reason) in total.stuck.items():
        kinds[kind]["stuck"] = {"key": key, "reason": reason, **own}
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


def _fallbacks(plan: Plan, total: ShardResult) -> list[dict[str, Any]]:
    """Return for each version why exact code judged what generated code did not prove, most frequent first."""
    entries = {entry.name: entry for entry in plan.entries}
    rows: dict[tuple[Any, ...], dict[str, Any]] = {}
    for (name, version, why, is_valid), count in total.fallbacks.items():
        if name in entries:
            part, reason, detail = map(str, why)
            head = {"crd": name, "group": entries[name].group, "kind": entries[name].kind, "version": version}
            row: dict[str, Any] = {**head, "part": part, "reason": reason, "detail": detail, "count": 0, "valid": 0}
            row = rows.setdefault((name, version, *why), row)
            row["count"] += count
            row["valid"] += count * is_valid
    return [rows[key] for key in sorted(rows, key=lambda key: (*key[:3], -rows[key]["count"], key))]


def _not_evaluated(total: ShardResult) -> list[dict[str, Any]]:
    """Return how many objects of each version have rules that were not evaluated.

    Those that took too much time or memory are counted apart, and the first of them named.
    """
    out = []
    for (name, version), count in sorted((total.unevaluated | total.given_up).items()):
        entry = {"what": "x-kubernetes-validations", "crd": name, "version": version, "objects": count}
        if given_up := total.given_up[(name, version)]:
            entry |= {"given_up": given_up, "first": total.given_up_first[(name, version)]}
        out.append(entry)
    return out


def _time(seconds: float | None) -> str | None:
    if seconds is None:
        return None
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC).isoformat(timespec="seconds")


def _internal_keys(plan: Plan) -> int:
    """Return how many keys in scope are no object's by design: servers note something for themselves there."""
    scope = plan.options.scope
    if scope.include or scope.namespace:  # such keys have neither kind nor namespace
        return 0
    health = f"{plan.options.etcd_prefix.rstrip('/')}/health".encode()
    count = 0
    for source in plan.sources:
        if not source.is_export and source.rows:
            keys = open_live(source)["key"]
            count += sum(first_not_before(keys, key) == key for key in (*_INTERNAL, health))
    return count


def manifest_bytes(report: Path) -> bytes:
    """Return the content of the manifest of a report, and no more of it than a manifest may have.

    Raises:
        OSError: There is none, or it cannot be read.
    """
    path = report / MANIFEST
    if not path.is_file() and path.exists():
        return b""
    with path.open("rb") as stream:
        size = os.fstat(stream.fileno()).st_size  # read() allocates the size it is given, even for a short file
        return stream.read(min(size, _MOST_MANIFEST) + 1)


def parse_manifest(data: bytes) -> dict[str, Any] | None:
    """Return the manifest of a report, or None if it is cut short, too large, or not written by an audit."""
    if len(data) > _MOST_MANIFEST or len(data) + _CONTAINER * (data.count(b"{") + data.count(b"[")) > _MOST_PARSED:
        return None
    try:
        content = orjson.loads(data)
    except orjson.JSONDecodeError:
        return None
    is_ours = type(content) is dict and type(content.get("inputs")) is list and content.keys() >= _ALWAYS
    return content if is_ours else None


@contextmanager
def whole_report(name: str) -> Iterator[None]:
    """Say that a report cannot be used, where something in it makes the block fail in no foreseen way.

    Raises:
        PlanError: It does.
    """
    try:
        yield
    except (pa.ArrowException, AttributeError, LookupError, TypeError, ValueError, OSError) as error:
        if isinstance(error, OSError) and error.errno:  # it is the system that refuses it
            raise
        reason = f"cannot be used: {type(error).__name__}: {str(error)[:200]}"
        advice = "it is damaged, or the auditor has a fault: audit anew, and report it if that fails too"
        raise PlanError(name, reason, "the report of an audit", advice) from error


def scope_options(scope: RunScope) -> dict[str, Any]:
    """Return which objects count, as the options of a manifest have it."""
    return {
        "namespace": scope.namespace,
        "labels": scope.labels,
        "fields": scope.fields,
        "include": list(scope.include),
        "exclude": list(scope.exclude),
    }


def _content_digest(path: str) -> str:
    """Return the hash of a file that an option names."""
    try:
        return hashlib.blake2b(read_given(path), digest_size=16).hexdigest()
    except OSError:
        return f"cannot be read: {path}"


def write_manifest(
    plan: Plan,
    total: ShardResult,
    folder: Path,
    *,
    started: str,
    seconds: float,
    exit_code: int,
    versions: list[Any],
) -> dict[str, Any]:
    """Write manifest.json and return it; a folder without it is no report.

    Over 80 lines: it lists the keys of the manifest in their order.
    """
    statuses: Counter[str] = Counter()
    for (_, status), count in total.statuses.items():
        statuses[str(status)] += count
    options = plan.options
    manifest: dict[str, Any] = {
        "tool": {"name": "auditor", "version": auditor.__version__, "table_version": tables.TABLE_VERSION},
        "kubernetes_release": active().version,
        "server": server_seen(plan),
        "inputs": [
            {
                "name": source.name,
                "format": source.format,
                "sha256": source.sha256 or None,
                "revision": None if source.damage else source.revision,
                "compacted_revision": source.compacted_revision,
                "is_export": source.is_export,
                "modified": _time(source.modified),
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
        },
        "options": {
            "at": options.at,
            "etcd_prefix": options.etcd_prefix,
            "fail_on": options.fail_on,
            "cluster": options.cluster or None,
            "convert_with": options.convert_with or None,
            "skip": list(options.skip),
            "ratcheting": options.ratcheting,
            "gates": [options.field_gates, *map(_content_digest, options.gate_sidecars)],
            "apply": options.apply if options.old else None,
            "scope": scope_options(options.scope),
        },
        "missing": [],
        "stale": [],
        "started": started,
        "seconds": round(seconds, 3),
        "exit_code": exit_code,
        "counts": {
            "keys": sum(source.rows for source in plan.sources),
            "rows": total.rows,
            "out_of_scope": total.out_of_scope,
            "internal": _internal_keys(plan) if statuses[Status.OTHER] else 0,
            "bytes": total.bytes,
            "statuses": dict(sorted(statuses.items())),
        },
        "kinds": _by_kind(total, options.cluster),
        "index": written_folders(plan, versions, folder),
        "findings": [
            {"group": kind[0], "kind": kind[1], "check": check, "field": path, "type": cause, "count": count}
            for (kind, check, path, cause), count in sorted(total.findings.items(), key=lambda i: (-i[1], i[0]))[:100]
        ],
        "stored_versions": [
            {"crd": row["crd"], "version": row["version"], "objects": row["stored_objects"], "storage": row["storage"]}
            for row in versions
            if row["stored_objects"]
        ],
        "not_evaluated": _not_evaluated(total),
        "changes": dict(sorted(total.changes.items())),
        "unanswered": [
            {"kind": key[0], "reason": key[1], "objects": count, "first": total.unanswered_first[key]}
            for key, count in sorted(total.unanswered.items())
        ],
        "old": [
            {"name": source.name, "format": source.format, "sha256": source.sha256, "revision": source.revision}
            for source in plan.old
        ],
        "programs": _programs(plan, total),
        "fallbacks": _fallbacks(plan, total),
        "encryption": [
            {
                "provider": count.provider,
                "name": count.name,
                "key_id": count.key_id or None,
                "opened": count.opened,
                "values": values,
                **({"sealed": True} if count.lacks_key else {}),
                **({"error": count.error} if count.error else {}),
            }
            for count, values in sorted(total.encrypted.items())
        ],
        "lost": [line for line in total.lost.split("\n") if line],
    }
    (folder / MANIFEST).write_bytes(orjson.dumps(manifest, option=orjson.OPT_INDENT_2) + b"\n")
    return manifest
