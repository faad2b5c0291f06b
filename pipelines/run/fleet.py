"""Audits of many clusters in one report, and reports and definitions in object stores.

A pattern among the dumps (``s3://backups/*/2026-11-20.db``) names one dump for each cluster. Each is audited by itself,
with its own definitions, and the part files become one report whose column `cluster` names the cluster. A dump that
cannot be read does not affect the others: it is reported as damage.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import time
from collections import Counter
from dataclasses import replace
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import orjson

from auditor.base.errors import PlanError, SourceError
from auditor.crds.definitions_file import FILE, DefinitionsFile
from auditor.report.manifest import MANIFEST
from auditor.report.presence import note_presence
from auditor.selectors.partitions import Folders, IndexFolder
from auditor.shards.result import MOST_GIVEN_UP, is_worse
from auditor.sources.stores.locations import is_remote, shown_url
from auditor.sources.stores.patterns import expand, fetched, has_wildcards
from pipelines.run.audit import new_report, run_audit
from pipelines.run.fleet_clusters import Cluster, audit_clusters, report_of
from pipelines.run.fleet_settings import PLACEHOLDER, read_fleet, settings_of
from pipelines.run.remote import report_here
from pipelines.run.report_target import list_files

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from auditor.plan.options import AuditOptions
    from auditor.sources.stores.patterns import Match

__all__ = ["Cluster", "cluster_name", "clusters_of", "run_anywhere"]

_PART: Final = re.compile(r"part-(\d+)\.parquet")
_SUFFIXES: Final = (".gz", ".zst", ".xz", ".bz2", ".tar", ".tgz", ".zip", ".db", ".json", ".yaml", ".yml", ".ndjson")
_MOST_FINDINGS: Final = 100
_WORST: Final = (3, 1, 0)


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

    There are several clusters if one of the dumps is a pattern, or the name of the cluster has a placeholder.
    """
    if options.fleet:
        return [Cluster(name, dump, settings) for name, dump, settings in read_fleet(options.fleet)]
    patterns = [has_wildcards(dump) and (is_remote(dump) or not Path(dump).exists()) for dump in options.dumps]
    if not any(patterns) and not PLACEHOLDER.search(options.cluster):
        return []
    matches = [match for dump in options.dumps for match in expand(dump)]
    template = options.cluster if PLACEHOLDER.search(options.cluster) or len(matches) == 1 else ""
    if options.cluster and not template:
        raise PlanError(
            "--cluster-name", f"one name for {len(matches)} dumps", "a placeholder: {1}, {name} or {parent}"
        )
    found = [
        Cluster(
            cluster_name(template, match),
            match.path,
            settings_of(options, lambda text, match=match: cluster_name(text, match, "a path of a fleet")),  # type: ignore[misc]
        )
        for match in matches
    ]
    for name, count in Counter(cluster.name for cluster in found).items():
        if count > 1:
            raise PlanError("--cluster-name", f"{count} dumps are of a cluster {name!r}", "a name for each")
    return found


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
            (one,) = clusters
            code, manifest = run_audit(one.settings.applied_to(replace(local, dumps=(one.dump,), cluster=one.name)))
        else:
            code, manifest = _run_fleet(local, clusters)
        _name_as_given(manifest, options, local)
        if options.history:
            from pipelines.run.report.history import note_history  # noqa: PLC0415

            note_history(Path(local.report), manifest, options.history, options.keep_history)
    return code, manifest


def _name_as_given(manifest: dict[str, Any], options: AuditOptions, local: AuditOptions) -> None:
    """Write the earlier reports into a manifest as the user named them, not as the copies that were read."""
    if (options.since, options.diff) == (local.since, local.diff):
        return
    for name, given in (("since", options.since), ("diff", options.diff)):
        if manifest.get(name):
            manifest[name]["report"] = shown_url(given)
    (Path(local.report) / MANIFEST).write_bytes(orjson.dumps(manifest, option=orjson.OPT_INDENT_2) + b"\n")


def _run_fleet(options: AuditOptions, clusters: list[Cluster]) -> tuple[int, dict[str, Any]]:
    manifests: list[tuple[Cluster, dict[str, Any]]] = []
    failed: list[tuple[Cluster, SourceError]] = []
    clock = time.monotonic()
    with new_report(options) as (spool, parts):
        if not any(PLACEHOLDER.search(path) for path in options.crds):
            options = replace(options, crds=tuple(_here_once(options.crds, spool)))
        definitions: dict[bytes, int] = {}
        lines: list[bytes] = []
        versions: list[Path] = []
        folders = Folders()
        number = 0
        for (position, cluster), manifest in zip(
            enumerate(clusters), audit_clusters(options, clusters, spool), strict=True
        ):
            report = report_of(spool, position)
            if isinstance(manifest, SourceError):
                failed.append((cluster, manifest))
                continue
            manifests.append((cluster, manifest))
            first, number = number, _take_parts(report, parts, number, _index_folders(manifest, folders))
            manifest["parts"] = [first, number]
            versions.append(report / "versions.parquet")
            own = manifest["definitions"]["lines"] = []
            for line in DefinitionsFile(report).whole().splitlines():
                digest = hashlib.sha256(line).digest()
                if digest not in definitions:
                    definitions[digest] = len(lines)
                    lines.append(line)
                own.append(definitions[digest])
        if not manifests:
            raise failed[0][1]
        (parts / FILE).write_bytes(b"".join(line + b"\n" for line in lines))
        _join_versions(versions, parts / "versions.parquet")
        manifest = _joined(manifests, failed) | {"seconds": round(time.monotonic() - clock, 3)}
        note_presence(options, parts, manifest)
        if options.diff:
            from pipelines.run.diff import write_difference  # noqa: PLC0415

            write_difference(options, parts, manifest)
        if options.redact:
            from auditor.report.redact import redact_report  # noqa: PLC0415

            redact_report(parts, manifest)
        from auditor.report.findings.outcome import note_causes  # noqa: PLC0415

        note_causes(options, parts, manifest)
        list_files(parts, manifest)
    return int(manifest["exit_code"]), manifest


def _here_once(paths: Iterable[str], folder: Path) -> Iterator[str]:
    """Yield local copies of definitions in object stores, once for all clusters; local paths unchanged."""
    for number, path in enumerate(paths):
        if is_remote(path):
            yield from (str(local) for _, local in fetched(path, folder / f"crds-{number}"))
        else:
            yield path


def _index_folders(manifest: dict[str, Any], folders: Folders) -> dict[str, str]:
    """Return the folder in the fleet's index for each folder in a cluster's index, and write it into the manifest."""
    moved = {}
    for row in manifest["index"]:
        moved[row["folder"]] = folders.folder(row["crd"], row["group"], row["version"], row["kind"])
        row["folder"] = moved[row["folder"]]
    return moved


def _take_parts(report: Path, parts: Path, number: int, folders: dict[str, str]) -> int:
    """Move the part files of one report into another under new numbers; return the next free number.

    Args:
        report: The report to move from.
        parts: The report to move to.
        number: The first free number.
        folders: Folders of the index that get another name.
    """
    highest = -1
    for path in sorted(report.rglob("part-*.parquet")):
        found = _PART.fullmatch(path.name)
        if found is None:
            continue
        own = int(found[1])
        highest = max(highest, own)
        table, _, below = path.parent.relative_to(report).as_posix().partition("/")
        target = parts / table / folders.get(below, below) / f"part-{number + own:05d}.parquet"
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(path, target)
    return number + highest + 1


def _join_versions(paths: list[Path], target: Path) -> None:
    """Write the versions of all clusters; the run has just written the files, so they are read without bounds."""
    import pyarrow as pa  # noqa: PLC0415 - `auditor --help` stays light
    import pyarrow.parquet as pq  # noqa: PLC0415

    from auditor.shards.columns import write_parquet  # noqa: PLC0415

    write_parquet(pa.concat_tables([pq.read_table(path) for path in paths]).unify_dictionaries(), target)


def _summed(rows: Iterable[dict[str, Any]], keys: tuple[str, ...], sums: tuple[str, ...]) -> list[dict[str, Any]]:
    """Sum up the rows that have the same keys."""
    out: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in rows:
        known = out.setdefault(tuple(row.get(key) for key in keys), {**row, **dict.fromkeys(sums, 0)})
        for name in sums:
            known[name] += row.get(name) or 0
    return list(out.values())


def _not_evaluated(manifests: list[tuple[Cluster, dict[str, Any]]]) -> list[dict[str, Any]]:
    """Sum up the objects whose rules were not evaluated, and name the first that exceeded limits, with cluster."""
    named: dict[tuple[str, str], list[str]] = {}
    entries = []
    for cluster, manifest in manifests:
        for entry in manifest["not_evaluated"]:
            entries.append(entry)
            first = named.setdefault((entry["crd"], entry["version"]), [])
            first += [f"{cluster.name}: {name}" for name in entry.get("first", ())][: MOST_GIVEN_UP - len(first)]
    summed = _summed(entries, ("what", "crd", "version"), ("objects", "given_up"))
    for entry in summed:
        entry.pop("first", None)
        if entry["given_up"]:
            entry["first"] = named[(entry["crd"], entry["version"])]
        else:
            del entry["given_up"]
    return summed


def _kinds(manifests: list[tuple[Cluster, dict[str, Any]]]) -> list[dict[str, Any]]:
    out: dict[tuple[str, str], dict[str, Any]] = {}
    for cluster, manifest in manifests:
        for kind in manifest["kinds"]:
            for name in ("breaking", "stuck"):
                if kind.get(name):
                    kind[name]["cluster"] = cluster.name
            known = out.get((kind["group"], kind["kind"]))
            if known is None:
                out[(kind["group"], kind["kind"])] = {**kind}
                continue
            known["objects"] += kind["objects"]
            for name in ("statuses", "impacts"):
                known[name] = dict(Counter(known[name]) + Counter(kind[name]))
            known["stuck"] = known.get("stuck") or kind.get("stuck")
            before, found = known["breaking"], kind["breaking"]
            if found and (not before or is_worse(found["impact"], before["impact"])):
                known["breaking"] = found
    return [out[key] for key in sorted(out)]


def _joined(
    manifests: list[tuple[Cluster, dict[str, Any]]], failed: list[tuple[Cluster, SourceError]]
) -> dict[str, Any]:
    """Return the manifest of a fleet: the sums of the manifests of its clusters."""
    each = [manifest for _, manifest in manifests]

    def rows(name: str) -> list[dict[str, Any]]:
        return [row for manifest in each for row in manifest[name]]

    statuses: Counter[str] = Counter()
    for manifest in each:
        statuses.update(manifest["counts"]["statuses"])
    codes = {int(manifest["exit_code"]) for manifest in each} | ({3} if failed else set())
    codes = {3 if code == 2 else code for code in codes}  # nothing of a cluster was judged
    findings = _summed(rows("findings"), ("group", "kind", "check", "field", "type"), ("count",))
    findings.sort(key=lambda row: (-row["count"], row["group"], row["kind"], row["check"], row["field"], row["type"]))
    hashes = "\n".join(str(manifest["definitions"]["sha256"]) for manifest in each)
    return {
        **{name: value for name, value in each[0].items() if name != "parts"},
        "kubernetes_release": ", ".join(sorted({manifest["kubernetes_release"] for manifest in each})),
        "server": None,
        "clusters": [
            {
                "name": cluster.name,
                "dump": shown_url(cluster.dump),
                "kubernetes_release": manifest["kubernetes_release"],
                "server": manifest["server"],
                "exit_code": manifest["exit_code"],
                "counts": manifest["counts"],
                "parts": manifest["parts"],
                "state": manifest["state"],
                "not_evaluated": manifest["not_evaluated"],
                "kinds": manifest["kinds"],
                "definitions": manifest["definitions"]["lines"],
            }
            for cluster, manifest in manifests
        ],
        "state": None,
        "since": _since(manifests),
        "inputs": [
            *({**source, "cluster": cluster.name} for cluster, manifest in manifests for source in manifest["inputs"]),
            *(_unread(cluster, error) for cluster, error in failed),
        ],
        "definitions": {
            "sha256": hashlib.sha256(hashes.encode()).hexdigest(),
            "count": sum(manifest["definitions"]["count"] for manifest in each),
            "from_files": each[0]["definitions"]["from_files"],
        },
        "options": {**each[0]["options"], "cluster": None},
        "exit_code": next((code for code in _WORST if code in codes), max(codes)),
        "counts": {
            **{
                name: sum(manifest["counts"][name] for manifest in each)
                for name in ("keys", "rows", "out_of_scope", "internal", "bytes")
            },
            "statuses": dict(sorted(statuses.items())),
        },
        "kinds": _kinds(manifests),
        "index": sorted(_summed(rows("index"), tuple(IndexFolder._fields), ()), key=itemgetter("folder")),
        "findings": findings[:_MOST_FINDINGS],
        "stored_versions": _summed(rows("stored_versions"), ("crd", "version", "storage"), ("objects",)),
        "not_evaluated": _not_evaluated(manifests),
        "programs": _summed(
            rows("programs"),
            ("crd", "group", "kind", "version"),
            ("proven", "not_proven", "valid", "interpreted"),
        ),
        "fallbacks": _summed(
            rows("fallbacks"),
            ("crd", "group", "kind", "version", "part", "reason", "detail"),
            ("count", "valid"),
        ),
        "encryption": _summed(rows("encryption"), ("provider", "name", "key_id", "opened", "sealed"), ("values",)),
        "lost": [f"{cluster.name}: {text}" for cluster, manifest in manifests for text in manifest["lost"]],
    }


def _since(manifests: list[tuple[Cluster, dict[str, Any]]]) -> dict[str, Any] | None:
    """Return the sums of the clusters' counts of reused rows."""
    each = [manifest["since"] for _, manifest in manifests if manifest["since"]]
    if not each:
        return None
    why: Counter[str] = Counter()
    for since in each:
        why.update(since["why"])
    sample = {name: sum(since["sample"][name] for since in each) for name in ("objects", "different")}
    return {
        **each[0],
        **{name: sum(since[name] or 0 for since in each) for name in ("kept", "audited", "gone")},
        "why": dict(sorted(why.items())),
        "sample": {**each[0]["sample"], **sample},
    }


def _unread(cluster: Cluster, error: SourceError) -> dict[str, Any]:
    return {
        "name": shown_url(cluster.dump),
        "cluster": cluster.name,
        "format": None,
        "sha256": None,
        "revision": None,
        "compacted_revision": None,
        "is_export": None,
        "modified": None,
        "keys": 0,
        "damage": [{"where": "the whole dump", "reason": str(error)}],
        "notes": [],
    }
