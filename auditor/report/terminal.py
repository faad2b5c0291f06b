"""The summary printed after an audit: broken kinds first, then counts, then the next step."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from auditor.base.release import KUBERNETES_RELEASE
from auditor.base.statuses import Impact, Status
from auditor.base.visible import label, visible, visible_tree
from auditor.base.wording import counted
from auditor.releases import DEFAULT
from auditor.report.allclear import (
    is_builtin,
    judged_rows,
    leftovers,
    missing_lines,
    not_judged,
    stale_dumps,
    stale_lines,
    unexpected,
)
from auditor.report.comparison import compared, show_command
from auditor.shards.sealed import sealed_lines
from auditor.sources.plan import Damage

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["damage_lines", "format_table", "next_step", "release_lines", "summary"]

_UPDATES = (
    *(Impact.BLOCKS_DELETE, Impact.BLOCKS_EVERY_UPDATE, Impact.BLOCKS_STATUS, Impact.BLOCKS_METADATA),
    Impact.TOLERATED,
)
_HARMLESS = frozenset(impact for impact in Impact if impact.is_harmless)
_SHOWN = (
    *(Status.VALID, Status.INVALID, Status.UNREADABLE, Status.NEEDS_CONVERSION, Status.UNSERVED),
    Status.ORPHANED,
)
_OF_BUILTIN = (Status.UNREADABLE, Status.ORPHANED, Status.SEALED)
_CRDS = ("apiextensions.k8s.io", "CustomResourceDefinition")
_IF_ANY = Status.SEALED
"""A status with a column of its own only where a key has it."""


def format_table(header: tuple[str, ...], rows: Iterable[tuple[Any, ...]], indent: str = "") -> str:
    """Return columns three spaces apart, as kubectl prints them; None prints as ``-``, control characters escaped."""
    cells = [header, *(tuple("-" if cell is None else visible(str(cell)) for cell in row) for row in rows)]
    if not indent:
        cells[1:] = [(label(row[0]), *row[1:]) for row in cells[1:]]
    widths = [max(len(row[at]) for row in cells) for at in range(len(header))]
    lines = []
    for row in cells:
        padded = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        lines.append((indent + "   ".join(padded)).rstrip())
    return "\n".join(lines)


def damage_lines(source: dict[str, Any]) -> list[str]:
    """Return a line for each part of an input of a manifest that could not be read."""
    return [Damage(**damage).told(source["name"]) for damage in source["damage"]]


def release_lines(manifest: dict[str, Any]) -> list[str]:
    """Return lines that name the release of Kubernetes, if it is another one than the default."""
    release = manifest["kubernetes_release"]
    if release == DEFAULT.version:
        return []
    return [
        f"RELEASE  judged as Kubernetes {release} (the default is {DEFAULT.name})",
        f"         values of built-in kinds: decoded by the types of {KUBERNETES_RELEASE}",
    ]


def _name(kind: dict[str, Any]) -> str:
    return f"{kind['kind']}.{kind['group']}" if kind["group"] else kind["kind"]


def _broken(kinds: list[dict[str, Any]], report: str) -> list[str]:
    lines = []
    ranked = sorted(
        (kind for kind in kinds if kind["breaking"]),
        key=lambda kind: kind["breaking"]["impact"] != Impact.CRASHES_SERVER,
    )
    for kind in ranked:
        first = kind["breaking"]
        count = kind["impacts"].get(Impact.BREAKS_LIST, 0)
        effect = (
            "ends the API server process when it is read"
            if first["impact"] == Impact.CRASHES_SERVER
            else "every LIST and WATCH of the kind fails"
        )
        others = f" ({count} such keys)" if count > 1 else ""
        lines.append(f"BROKEN  {_name(kind)}: {effect}, because of {first['key']}{_in_cluster(first)}{others}")
        if first["reason"]:
            lines.append(f"        {first['reason']}")
        lines.append(f"        {show_command(report, first)}")
    return lines


def _in_cluster(first: dict[str, Any]) -> str:
    """Return the cluster of an object of a fleet."""
    return f" in cluster {first['cluster']}" if first.get("cluster") else ""


def _stuck(kinds: list[dict[str, Any]], report: str) -> list[str]:
    """Return lines on objects whose deletion cannot finish: every update that removes a finalizer is refused."""
    lines = []
    for kind in kinds:
        first = kind.get("stuck")
        if first:
            count = kind["impacts"].get(Impact.BLOCKS_DELETE, 0)
            which = (
                f"{count} objects are being deleted and cannot be" if count > 1 else "is being deleted and cannot be"
            )
            subject = (
                f"{_name(kind)}: {which}, the first is {first['key']}{_in_cluster(first)}"
                if count > 1
                else f"{_name(kind)} {first['key']}{_in_cluster(first)} {which}"
            )
            lines.append(f"STUCK   {subject}: every update is refused, also the one that removes the finalizer")
            if first["reason"]:
                lines.append(f"        {first['reason']}")
            lines.append(f"        {show_command(report, first)}")
    return lines


def _cell(kind: dict[str, Any], status: str) -> int | None:
    """Return how many objects of a kind have a status, or None for a status that built-in kinds cannot have."""
    unasked = is_builtin(kind) and status not in _OF_BUILTIN
    return None if unasked else kind["statuses"].get(status, 0)


def summary(manifest: dict[str, Any], report: str) -> str:
    """Return the summary of a report.

    Args:
        manifest: The content of manifest.json.
        report: The folder of the report, as the user named it.
    """
    manifest, report = visible_tree(manifest), visible(report)
    kinds = manifest["kinds"]
    counts = manifest["counts"]
    shown = (*_SHOWN, _IF_ANY) if counts["statuses"].get(_IF_ANY) else _SHOWN
    judged = [kind for kind in kinds if any(kind["statuses"].get(status) for status in shown)]
    blocks: list[str] = []
    broken = _broken(kinds, report)
    if broken:
        blocks.append("\n".join(broken))
    stuck = _stuck(kinds, report)
    if stuck:
        blocks.append("\n".join(stuck))
    if absent := [*missing_lines(manifest), *stale_lines(stale_dumps(manifest))]:
        blocks.append("\n".join(absent))
    rows = [(_name(kind), kind["objects"], *(_cell(kind, status) for status in shown)) for kind in judged]
    if rows:
        blocks.append(format_table(("KIND", "OBJECTS", *(status.upper() for status in shown)), rows))
    refused = [kind for kind in judged if any(kind["impacts"].get(impact) for impact in _UPDATES)]
    if refused:
        rows = [(_name(kind), *(kind["impacts"].get(impact, 0) for impact in _UPDATES)) for kind in refused]
        table = format_table(("KIND", *(i.upper() for i in _UPDATES)), rows)
        blocks.append("What happens when these objects are next written\n" + table)
    rest = {
        s: counts["statuses"].get(s, 0)
        for s in (Status.DEFINITION, Status.BUILTIN, Status.OTHER, *shown[len(_SHOWN) :])
    }
    undecoded = {
        status: sum(kind["statuses"].get(status, 0) for kind in kinds if is_builtin(kind))
        for status in _OF_BUILTIN
        if status != _IF_ANY
    }
    custom = counts["rows"] - sum(rest.values()) - sum(undecoded.values())
    line = f"{counts['keys']} keys seen: {custom} custom resource rows, "
    line += ", ".join(f"{number} {status}" for status, number in rest.items())
    line += "".join(f", {number} {status} of built-in kinds" for status, number in undecoded.items() if number)
    if counts["out_of_scope"]:
        line += f", {counts['out_of_scope']} out of scope"
    blocks.append(line)
    blocks.extend(compared(manifest, report))
    if manifest["findings"]:
        top = manifest["findings"][:10]
        table = format_table(
            ("COUNT", "KIND", "FIELD", "TYPE", "CHECK"),
            [(f["count"], f"{f['kind']}.{f['group']}", f["field"], f["type"], f["check"]) for f in top],
        )
        blocks.append("Most frequent findings of a create (findings/ also has those of updates)\n" + table)
    versions = [v for v in manifest["stored_versions"] if not v["storage"]]
    if versions:
        table = format_table(
            ("CRD", "STORED AT", "OBJECTS"), [(v["crd"], v["version"], v["objects"]) for v in versions]
        )
        blocks.append("Stored at a version that is not the storage version\n" + table)
    blocks.extend(_notes(manifest, report))
    blocks.append(_next(manifest, report, bool(broken)))
    return "\n\n".join(blocks)


def _given_up(manifest: dict[str, Any], report: str) -> str:
    """Name the objects whose rules took too much time or memory, and the query that lists all of them."""
    out = []
    for entry in manifest["not_evaluated"]:
        if count := entry.get("given_up"):
            more = count - len(entry["first"])
            names = ", ".join(entry["first"]) + (f" and {more} more" if more else "")
            out.append(
                f"        {entry['crd']} {entry['version']}: the rules of {count} exceeded the limit of time "
                f"(--time-per-object) or memory for one object: {names}"
            )
    if out:
        every = _query(report, "key, namespace, name", "reason like 'rules not evaluated:%'")
        out.append(f"        {every}")
    return "".join(f"\n{line}" for line in out)


def _notes(manifest: dict[str, Any], report: str) -> list[str]:
    out = [*release_lines(manifest), *sealed_lines(manifest)]
    if manifest["not_evaluated"]:
        total = sum(entry["objects"] for entry in manifest["not_evaluated"])
        kinds = ", ".join(f"{e['crd']} {e['version']}" for e in manifest["not_evaluated"][:5])
        more = len(manifest["not_evaluated"]) - 5
        kinds += f" and {more} more" if more > 0 else ""
        out.append(f"NOT EVALUATED  validation rules (CEL) of {total} objects: {kinds}")
        out[-1] += _given_up(manifest, report)
    if "builtin" in manifest["options"].get("skip", ()) and manifest["counts"]["statuses"].get(Status.BUILTIN):
        count = manifest["counts"]["statuses"][Status.BUILTIN]
        out.append(
            f"NOT DECODED  {count} values of built-in kinds (--skip builtin): whether they break lists is not known"
        )
    for source in manifest["inputs"]:
        out += damage_lines(source)
        out += [f"NOTE  {source['name']}: {note}" for note in source["notes"]]
    counts = manifest["counts"]
    if counts["out_of_scope"] and not counts["rows"]:
        scope = manifest["options"]["scope"]
        asked = ", ".join(f"{name} {value}" for name, value in scope.items() if value)
        out.append(f"NOTE  no key of the dump is in scope ({asked})")
    out.extend(f"LOST  {text}" for text in manifest["lost"])
    return out


def next_step(manifest: dict[str, Any], report: str) -> str:
    """Return what to do next about a report, or the all-clear."""
    return _next(manifest, report, any(kind["breaking"] for kind in manifest["kinds"]))


def _next(manifest: dict[str, Any], report: str, broken: bool) -> str:
    if manifest["counts"]["out_of_scope"] and not manifest["counts"]["rows"]:
        return "Next: change the scope; no key of the dump matches it."
    reasons = not_judged(manifest)
    if problem := _problem(manifest, report, broken):
        return f"Next: {problem}" + (f"\nNot judged: {', '.join(reasons)}." if reasons else "")
    if not judged_rows(manifest):
        why = ", ".join(reasons[1:]) or "no object in it"
        return f"Next: give a dump with objects in it; nothing was judged: {why}."
    if reasons:
        where = f"\nThe keys that belong to no object: {_odd_keys(report)}" if unexpected(manifest) else ""
        return f"Next: check the rest too; no problem was found, but not judged: {', '.join(reasons)}.{where}"
    return "Next: nothing to do."


def _problem(manifest: dict[str, Any], report: str, broken: bool) -> str:
    """Return what to do about the worst problem; empty if there is none."""
    statuses = manifest["counts"]["statuses"]
    impacts: Counter[str] = Counter()
    for kind in manifest["kinds"]:
        impacts.update(kind["impacts"])
    if broken:
        return _repair(manifest)
    if statuses.get(Status.INVALID) or manifest["findings"]:
        return f"read the findings: duckdb -c \"select * from '{report}/findings/*.parquet'\""
    if statuses.get(Status.UNREADABLE):
        return _rows_to_read(report, "reason", "status = 'unreadable'")
    if serious := [name for name in impacts if impacts[name] and name not in _HARMLESS]:
        wanted = ", ".join(f"'{name}'" for name in serious)
        return _rows_to_read(report, "impacts, pruned", f"list_has_any(impacts, [{wanted}]) or impact in ({wanted})")
    if advice := _orphaned(manifest):
        return advice
    if statuses.get(Status.SEALED):
        return "give the keys of the encrypted values (--encryption-config, --kms-decryptor): they were not judged."
    return ""


def _repair(manifest: dict[str, Any]) -> str:
    """Return what to do about keys that break lists; a wrong encryption key must not lead to deleted values."""
    closed = sum(one["values"] for one in manifest["encryption"] if not one["opened"] and not one.get("sealed"))
    if closed:
        values = counted(closed, "encrypted value")
        return (
            f"check that the given keys are those of the server: they do not decrypt {values}. Delete nothing until "
            "then; a value that the server cannot decrypt fails every LIST of its kind."
        )
    impacts = {kind["breaking"]["impact"] for kind in manifest["kinds"] if kind["breaking"]}
    until = "no client can list these kinds" if Impact.BREAKS_LIST in impacts else "the API server does not stay up"
    advice = f"repair or delete the keys above first; until then {until}."
    if any((kind["group"], kind["kind"]) == _CRDS and kind["breaking"] for kind in manifest["kinds"]):
        advice += "\nRepair definitions rather than delete them: without its definition no request reaches an object."
    return advice


def _orphaned(manifest: dict[str, Any]) -> str:
    """Return what to do about objects without a definition or built-in kind; empty if there are none."""
    left = leftovers(manifest)
    are_exports = all(source.get("is_export") for source in manifest["inputs"])
    advice = []
    if manifest["counts"]["statuses"].get(Status.ORPHANED, 0) > sum(left.values()):
        advice.append(
            "give the definitions of the orphaned objects with --crds; without them the objects are not judged."
            if are_exports
            else "give the definitions of the orphaned keys with --crds. If the cluster has none, no request to its "
            "API server reads these keys, and they remain until etcdctl deletes them."
        )
    if left and are_exports:
        advice.append(
            f"change the apiVersion of {_some(left)} before you apply them: Kubernetes {KUBERNETES_RELEASE} "
            "serves no such kind."
        )
    elif left:
        advice.append(
            f"find out what uses the keys of {_some(left)}: Kubernetes {KUBERNETES_RELEASE} stores no objects there, "
            "and no request to its API server reads them. They do no harm; another release or program may need them."
        )
    return "\nThen ".join(advice)


def _some(names: Iterable[str]) -> str:
    every = list(names)
    return ", ".join(every[:5]) + (f" and {len(every) - 5} more kinds" if len(every) > 5 else "")


def _odd_keys(report: str) -> str:
    return f"duckdb -c \"select key, reason from '{report}/objects/*.parquet' where status = 'other'\""


def _rows_to_read(report: str, columns: str, where: str) -> str:
    return f"read the objects: {_query(report, f'key, name, {columns}', where)}"


def _query(report: str, columns: str, where: str) -> str:
    return f"duckdb -c \"select {columns} from '{report}/objects/*.parquet' where {where}\""
