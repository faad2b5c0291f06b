"""Audits of many clusters in one report, and reports and definitions in object stores.

A pattern among the dumps (``s3://backups/*/2026-11-20.db``) names one dump for each cluster. Each is audited by itself,
with its own definitions, and the part files become one report whose column `cluster` names the cluster. A dump that
cannot be read does not affect the others: it is reported as damage.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import orjson

from auditor.base.errors import PlanError
from auditor.sources.files.compression import PACKED_SUFFIXES
from auditor.sources.stores.locations import is_remote, shown_url
from auditor.sources.stores.patterns import expand, fetched, has_wildcards
from pipelines.run.audit import new_report, new_tables_of, run_audit
from pipelines.run.fleet_clusters import Cluster, audit_clusters, is_open_to_all, report_of
from pipelines.run.fleet_settings import PLACEHOLDER, read_fleet, settings_of
from pipelines.run.remote import report_here
from pipelines.run.report_target import list_files

if TYPE_CHECKING:
    import re
    from collections.abc import Iterable, Iterator

    from auditor.plan.options import AuditOptions
    from auditor.sources.stores.patterns import Match

__all__ = ["Cluster", "cluster_name", "clusters_of", "run_anywhere"]

_SUFFIXES: Final = (*PACKED_SUFFIXES, ".tar", ".tgz", ".zip", ".db", ".json", ".yaml", ".yml", ".ndjson")


def _stem(path: str) -> str:
    name = shown_url(path).rstrip("/").rpartition("/")[2]
    while name.lower().endswith(_SUFFIXES) and name.rpartition(".")[0]:
        name = name.rpartition(".")[0]
    return name


def cluster_name(template: str, match: Match, option: str = "--cluster-name") -> str:
    """Return the name of the cluster of a dump, or another text that is made of the dump's name.

    Args:
        template: Text with ``{1}``, ``{2}`` ... for what the wildcards of the pattern stood for, ``{name}`` for the
            name of the file without its suffixes and ``{parent}`` for that of its folder; empty for the values of all
            wildcards, or the name.
        match: The dump.
        option: The option that has the template, for errors.

    Raises:
        PlanError: A placeholder has no value.
    """
    path = shown_url(match.path).rstrip("/")
    values = {str(number): part for number, part in enumerate(match.parts, 1)}
    values["name"] = _stem(path)
    values["parent"] = path.rpartition("/")[0].rpartition("/")[2]

    def value(found: re.Match[str]) -> str:
        if found[1] not in values:
            known = ", ".join("{" + name + "}" for name in values)
            raise PlanError(option, f"the placeholder {found[0]} has no value", f"one of {known}")
        return values[found[1]]

    return PLACEHOLDER.sub(value, template) if template else "/".join(match.parts) or values["name"]


def clusters_of(options: AuditOptions) -> list[Cluster]:
    """Return the clusters of the dumps of a run; empty if all dumps are of one cluster.

    There are several clusters if one of the dumps is a pattern, the name of the cluster has a placeholder, or several
    API servers share the dumps, each with a prefix of its own.

    Raises:
        PlanError: A cluster has no name of its own, or several servers share what can be read once.
    """
    clusters = _by_dump(options)
    if options.prefixes:
        clusters = [
            _of_server(cluster, prefix)
            for cluster in clusters or [Cluster(options.cluster, options.dumps)]
            for prefix in options.prefixes
        ]
    for name, count in Counter(cluster.name for cluster in clusters).items():
        if count > 1:
            raise PlanError("--cluster-name", f"{count} dumps are of a cluster {name!r}", "a name for each")
    return clusters


def _of_server(cluster: Cluster, prefix: str) -> Cluster:
    """Return the cluster of one of the API servers that share the dumps of a cluster."""
    for dump in cluster.dumps:
        if not is_open_to_all(dump) and (dump == "-" or Path(dump).exists()):
            name = "standard input" if dump == "-" else dump
            raise PlanError("--etcd-prefix", f"several, and {name} can be read once", "a file or folder")
    name = "/".join(filter(None, (cluster.name, prefix.strip("/")))) or "/"
    return replace(cluster, name=name, settings=replace(cluster.settings, etcd_prefix=prefix))


def _by_dump(options: AuditOptions) -> list[Cluster]:
    """Return a cluster for each dump; empty if all dumps are of one cluster."""
    if options.fleet:
        return [Cluster(name, (dump,), settings) for name, dump, settings in read_fleet(options.fleet)]
    patterns = [has_wildcards(dump) and (is_remote(dump) or not Path(dump).exists()) for dump in options.dumps]
    if not any(patterns) and not PLACEHOLDER.search(options.cluster):
        return []
    matches = [match for dump in options.dumps for match in expand(dump)]
    template = options.cluster if PLACEHOLDER.search(options.cluster) or len(matches) == 1 else ""
    if options.cluster and not template:
        raise PlanError(
            "--cluster-name", f"one name for {len(matches)} dumps", "a placeholder: {1}, {name} or {parent}"
        )
    return [
        Cluster(
            cluster_name(template, match),
            (match.path,),
            settings_of(options, lambda text, match=match: cluster_name(text, match, "a path of a fleet")),  # type: ignore[misc]
        )
        for match in matches
    ]


def run_anywhere(options: AuditOptions) -> tuple[int, dict[str, Any]]:
    """Run an audit of one cluster or of a fleet; definitions and the report may be in an object store.

    Returns:
        (exit code, manifest), as `run_audit`.
    """
    clusters = clusters_of(options)
    with report_here(options) as local:
        if not clusters:
            code, manifest = run_audit(local)
        elif len(clusters) == 1:
            cluster = clusters[0]
            asked = replace(local, dumps=cluster.dumps, cluster=cluster.name)
            code, manifest = run_audit(cluster.settings.applied_to(asked))
        else:
            code, manifest = _run_fleet(local, clusters)
        _name_as_given(manifest, options, local)
        if options.history:
            from pipelines.run.report.history import note_history  # noqa: PLC0415

            note_history(Path(local.report), manifest, options.history, options.keep_history)
    return code, manifest


def _name_as_given(manifest: dict[str, Any], options: AuditOptions, local: AuditOptions) -> None:
    """Write the earlier report into a manifest as the user named it, not as the copy that was read."""
    if options.diff == local.diff:
        return
    if manifest.get("diff"):
        manifest["diff"]["report"] = shown_url(options.diff)
    from auditor.store.manifest import MANIFEST  # noqa: PLC0415

    (Path(local.report) / MANIFEST).write_bytes(orjson.dumps(manifest, option=orjson.OPT_INDENT_2) + b"\n")


def _run_fleet(options: AuditOptions, clusters: list[Cluster]) -> tuple[int, dict[str, Any]]:
    """Audit the clusters of a fleet into one report; return (exit code, manifest)."""
    clock = time.monotonic()
    with new_report(options) as (spool, parts), new_tables_of(options) as tables:
        if not any(PLACEHOLDER.search(path) for path in options.crds):
            options = replace(options, crds=tuple(_here_once(options.crds, spool)))
        arriving = audit_clusters(options, clusters, spool)
        answers = chain((next(arriving),), arriving)
        from pipelines.run.fleet_report import join_reports  # noqa: PLC0415 - while workers audit further clusters

        reports = ((cluster, report_of(spool, position)) for position, cluster in enumerate(clusters))
        manifest = join_reports(options, parts, zip(reports, answers, strict=True), clock)
        if tables is None:
            list_files(parts, manifest)
        else:
            from pipelines.run.audit_tables import note_tables, take_tables  # noqa: PLC0415 - only when asked
            from pipelines.run.report.fleet_tables import join_kinds  # noqa: PLC0415 - likewise

            kinds = take_tables(parts, tables)
            list_files(parts, manifest)
            join_kinds(options, parts, kinds, tables)
            note_tables(options, kinds.values(), tables)
    return int(manifest["exit_code"]), manifest


def _here_once(paths: Iterable[str], folder: Path) -> Iterator[str]:
    """Yield local copies of definitions in object stores, once for all clusters; local paths unchanged."""
    for number, path in enumerate(paths):
        if is_remote(path):
            yield from (str(local) for _, local in fetched(path, folder / f"crds-{number}"))
        else:
            yield path
