"""Which clusters have no dump tonight, and which dumps are not of tonight: both keep a run from an all-clear.

A cluster is expected if the file of --clusters lists it; without such a file if an earlier report has it, or misses it
already. A dump is stale if it is the one of the earlier report, or holds no newer revision, or its file is older than
--max-age. One of the same revision in which keys differ is of another cluster, or of one that was restored. The time of
a dump is the time its file was last changed: snapshots hold no time of their own.
"""

from __future__ import annotations

import datetime
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from auditor.base import tables
from auditor.base.arrow import plain, read_parquet, whole_parquet
from auditor.base.errors import PlanError
from auditor.base.given_file import read_given
from auditor.base.wording import by_count, counted
from auditor.store.earlier_report import read_manifest
from auditor.store.manifest import whole_report

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from auditor.plan.options import AuditOptions


_STALE_CODE = 3
_NOTHING_CODE = 2
"""Nothing was judged: no other code says more."""


def judged_clusters(manifest: dict[str, Any]) -> set[str]:
    """Return the names of the clusters whose rows a report has; one without a name is the empty text."""
    if "clusters" in manifest:
        return {cluster["name"] for cluster in manifest["clusters"]}
    return {manifest["options"].get("cluster") or ""}


def cluster_names(manifest: dict[str, Any]) -> set[str]:
    """Return the names of the clusters that a report had a dump of, readable or not."""
    return (judged_clusters(manifest) | {entry.get("cluster") or "" for entry in manifest["inputs"]}) - {""}


def unread_clusters(manifest: dict[str, Any]) -> set[str]:
    """Return the names of the clusters that a report had a dump of, and did not read whole."""
    own = manifest["options"].get("cluster") or ""
    out = {source.get("cluster") or own for source in manifest["inputs"] if source["damage"]}
    parts = manifest.get("clusters") or [{**manifest, "name": own}]
    out |= {part["name"] for part in parts if any(entry.get("error") for entry in part.get("encryption") or ())}
    if "clusters" not in manifest:
        return out | ({own} if manifest["lost"] else set())
    names = judged_clusters(manifest)
    return out | {name for name in names if any(text.startswith(f"{name}: ") for text in manifest["lost"])}


def read_clusters(path: str) -> list[str]:
    """Return the names in a file of clusters: one a line, ``#`` begins a comment; or a list in YAML or JSON.

    Raises:
        PlanError: It cannot be read, or lists no name.
    """
    try:
        text = read_given(path).decode()
    except (OSError, UnicodeDecodeError) as error:
        raise PlanError("--clusters", f"{path} cannot be read: {error}", "a file with a name a line") from error
    names = _listed(path, text)
    if not names:
        raise PlanError("--clusters", f"{path} lists no cluster", "a file with a name a line")
    return list(dict.fromkeys(names))


def _listed(path: str, text: str) -> list[str]:
    lines = [line.partition("#")[0].strip() for line in text.splitlines()]
    lines = [line for line in lines if line and line != "---"]
    if lines and (lines[0] == "-" or lines[0].startswith(("- ", "[")) or lines[0].endswith(":")):
        from auditor.base.errors import AuditorError  # noqa: PLC0415
        from auditor.sources.yaml import yaml_to_json  # noqa: PLC0415

        try:
            content = yaml_to_json(text.encode())
        except (ValueError, AuditorError) as error:
            raise PlanError("--clusters", f"{path}: {error}", "a list of names") from error
        if isinstance(content, dict) and list(content) == ["clusters"]:
            content = content["clusters"]
        if not isinstance(content, list) or not all(isinstance(item, str) for item in content):
            raise PlanError("--clusters", f"{path} is no list of names", "a name a line, or a list in YAML")
        return [item for item in content if item]
    return lines


def note_presence(options: AuditOptions, manifest: dict[str, Any]) -> None:
    """Note in a manifest which clusters are missing and which dumps are stale, and set its exit code.

    Args:
        options: The options of the run.
        manifest: The manifest of the report.

    Raises:
        PlanError: The earlier report is none, or the file of clusters cannot be read.
    """
    earlier = [read_manifest(options.diff, "--diff")] if options.diff else []
    listed = read_clusters(options.clusters) if options.clusters else None
    too_old = _too_old(options, manifest)
    with whole_report(options.diff) if earlier else nullcontext():
        manifest["missing"] = missing_clusters(manifest, earlier, listed)
        notes = [*too_old]
        if options.diff:
            notes += stale_dumps(manifest, earlier[0])  # `write_difference` compares their keys and says why
    manifest["stale"] = too_old
    is_stale = bool(notes) and (options.require_change or options.max_age is not None)
    if manifest["exit_code"] != _NOTHING_CODE and (manifest["missing"] or is_stale):
        manifest["exit_code"] = _STALE_CODE


def missing_clusters(
    manifest: dict[str, Any], earlier: Iterable[dict[str, Any]], listed: list[str] | None = None
) -> list[dict[str, Any]]:
    """Return the clusters that a dump was expected of and that have none: those listed, or else of earlier reports."""
    present = cluster_names(manifest)
    known: dict[str, dict[str, Any]] = {}
    for report in earlier:
        for missing in report.get("missing") or ():
            known.setdefault(missing["name"], missing)
        for name in sorted(cluster_names(report)):
            inputs = [
                {"sha256": source["sha256"], "revision": source["revision"]} for source in inputs_of(report, name)
            ]
            seen = report.get("last_seen", {}).get(name, report["started"])
            known[name] = {"name": name, "last_seen": seen, "inputs": inputs}
    if listed is not None:
        return [known.get(name, {"name": name, "last_seen": None, "inputs": []}) for name in listed
                if name not in present]  # fmt: skip
    if not present and all(not report.get("clusters") for report in earlier):
        return []  # one dump without a name, night after night: that of the cluster
    return [known[name] for name in sorted(known.keys() - present)]


def inputs_of(manifest: dict[str, Any], cluster: str) -> list[dict[str, Any]]:
    """Return the inputs of one cluster of a report, or those of the last report that had a dump of it."""
    if any("cluster" in source for source in manifest["inputs"]):
        inputs = [source for source in manifest["inputs"] if source.get("cluster") == cluster]
    else:
        own = manifest["options"].get("cluster") or ""
        inputs = list(manifest["inputs"]) if not own or not cluster or own == cluster else []
    carried = [missing for missing in manifest.get("missing") or () if missing["name"] == cluster]
    return inputs or [source for missing in carried for source in missing.get("inputs", ())]


def stale_dumps(
    manifest: dict[str, Any], before: dict[str, Any], folders: tuple[Path, Path] | None = None
) -> list[dict[str, Any]]:
    """Return the dumps of a run that are those of an earlier report, or hold no newer revision.

    Args:
        manifest: The manifest of the run.
        before: Manifest of the earlier report.
        folders: The folders of both reports, the earlier one first; None: do not compare rows of one revision.
    """
    out = []
    for source in manifest["inputs"]:
        if source["damage"]:  # it is not whole: nothing says how new it is
            continue
        cluster = source.get("cluster") or manifest["options"].get("cluster") or ""
        known = inputs_of(before, cluster)
        digests = {source["sha256"] for source in known} - {None, ""}
        revisions = [source["revision"] for source in known if source["revision"] is not None]
        revisions += _newest_seen(before, cluster)
        alone = sum(source["revision"] is not None for source in inputs_of(manifest, cluster)) == 1
        newest, revision = max(revisions, default=None), source["revision"]
        entry = {"source": source["name"], "cluster": cluster or None, "is_older": False}
        floor = _floor(source, revisions)
        if source["sha256"] in digests:
            out.append({**entry, "why": "it is the same dump as in the earlier report"} | floor)
        elif not alone or revision is None or newest is None or revision > newest:
            continue
        elif revision < newest:
            why = f"its revision {revision} is older than {newest}, which the earlier report knew"
            out.append({**entry, "is_older": True, "why": why} | floor)
        elif folders is None or not (count := _differing(manifest, before, folders, cluster)):
            out.append({**entry, "why": f"its revision {revision} is the one of the earlier report"} | floor)
        else:
            keys = f"{counted(count, 'key')} {by_count(count, 'differs', 'differ')}"
            why = f"its revision {revision} is the one of the earlier report, but {keys}"
            out.append({**entry, "is_older": True, "is_other": True, "why": why} | floor)
    return out


def _differing(manifest: dict[str, Any], before: dict[str, Any], folders: tuple[Path, Path], cluster: str) -> int:
    """Return how many keys of a cluster two reports of one revision have otherwise.

    What one report alone has counts only if both had whole dumps and the same keys in scope.
    """
    known = [source for report in (manifest, before) for source in inputs_of(report, cluster)]
    if any("damage" not in source for source in known):
        return 0  # carried from the report before the cluster was missing: no rows to compare
    is_whole = not any(source["damage"] for source in known)
    is_whole &= all(manifest["options"].get(name) == before["options"].get(name) for name in ("scope", "etcd_prefix"))
    return differing_keys(*folders, cluster, is_whole=is_whole)


def differing_keys(old: Path, new: Path, cluster: str, *, is_whole: bool) -> int:
    """Return how many keys two reports have with another revision or value.

    Args:
        old: Folder of the one report.
        new: Folder of the other.
        cluster: Whose keys; empty for all.
        is_whole: Whether a key that one of them lacks counts.
    """
    import pyarrow.compute as pc  # noqa: PLC0415 - a run without an earlier report does not need it

    both = _keys(old, cluster).join(_keys(new, cluster), "key", right_suffix=" now", join_type="full outer")
    same = pc.and_(
        *(pc.equal(both[name], both[f"{name} now"]) for name in ("mod_revision", "value_hash"))
    )  # null where a side has no such key
    return int(pc.sum(pc.invert(pc.fill_null(same, not is_whole))).as_py() or 0)


def _keys(folder: Path, cluster: str) -> pa.Table:
    """Return the keys of a cluster in a report with their revisions and hashes, each once."""
    import pyarrow.compute as pc  # noqa: PLC0415 - as above

    schema = pa.schema([tables.OBJECTS.field(name) for name in ("cluster", "key", "mod_revision", "value_hash")])
    parts = []
    for path in sorted((folder / "objects").glob("part-*.parquet")):
        table = plain(read_parquet(path, schema.names))
        with whole_parquet(path):
            part = table.cast(schema)
        is_known = pc.is_valid(part["key"])
        if cluster:
            is_known = pc.and_(is_known, pc.fill_null(pc.equal(part["cluster"], cluster), True))
        parts.append(part.filter(is_known).drop_columns(["cluster"]))
    rows = pa.concat_tables(parts)
    return rows.group_by(rows.column_names, use_threads=False).aggregate([])


def _floor(source: dict[str, Any], revisions: list[int]) -> dict[str, Any]:
    known = [*revisions, *([source["revision"]] if source["revision"] is not None else [])]
    return {"newest_revision": max(known, default=None)}


def _newest_seen(before: dict[str, Any], cluster: str) -> list[int]:
    """Return the newest revisions that earlier reports knew, if the report itself was of an older dump."""
    return [
        entry["newest_revision"]
        for entry in (before.get("diff") or {}).get("stale") or ()
        if (entry["cluster"] or "") == cluster and entry.get("newest_revision") is not None
    ]


def _too_old(options: AuditOptions, manifest: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the dumps whose files were last changed before --max-age."""
    if options.max_age is None:
        return []
    now = datetime.datetime.now(datetime.UTC)
    out = []
    for source in manifest["inputs"]:
        entry = {"source": source["name"], "cluster": source.get("cluster") or manifest["options"].get("cluster")}
        changed = source.get("modified")
        if changed is None:
            if source["format"] is not None or not source["damage"]:
                out.append({**entry, "is_older": False, "why": "nothing says when it was made (--max-age)"})
        elif (age := (now - datetime.datetime.fromisoformat(changed)).total_seconds()) > options.max_age:
            why = f"its file is {_span(age)} old (--max-age {_span(options.max_age)})"
            out.append({**entry, "is_older": False, "why": why})
    return out


def _span(seconds: float) -> str:
    for size, unit in ((86400, "d"), (3600, "h"), (60, "m")):
        if seconds >= size:
            return f"{seconds / size:.1f}".removesuffix(".0") + unit
    return f"{seconds:.0f}s"
