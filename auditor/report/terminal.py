"""The summary that a person reads after an audit: what is broken first, then counts, then what to do next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from auditor.report.comparison import compared
from auditor.sources.plan import Damage

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["damage_lines", "format_table", "summary"]

_UPDATES = ("blocks-delete", "blocks-every-update", "blocks-status", "blocks-metadata", "tolerated-while-unchanged")
_SHOWN = ("valid", "invalid", "unreadable", "needs-conversion", "unserved", "orphaned")


def format_table(header: tuple[str, ...], rows: Iterable[tuple[Any, ...]], indent: str = "") -> str:
    """Return columns three spaces apart, as kubectl prints them; None prints as ``-``."""
    cells = [header, *(tuple("-" if cell is None else str(cell) for cell in row) for row in rows)]
    widths = [max(len(row[at]) for row in cells) for at in range(len(header))]
    lines = []
    for row in cells:
        padded = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        lines.append((indent + "   ".join(padded)).rstrip())
    return "\n".join(lines)


def damage_lines(source: dict[str, Any]) -> list[str]:
    """Return a line for each part of an input of a manifest that could not be read."""
    return [Damage(**damage).told(source["name"]) for damage in source["damage"]]


def _name(kind: dict[str, Any]) -> str:
    return f"{kind['kind']}.{kind['group']}" if kind["group"] else kind["kind"]


def _broken(kinds: list[dict[str, Any]], report: str) -> list[str]:
    lines = []
    ranked = sorted(
        (kind for kind in kinds if kind["breaking"]), key=lambda kind: kind["breaking"]["impact"] != "crashes-server"
    )
    for kind in ranked:
        first = kind["breaking"]
        count = kind["impacts"].get("breaks-list", 0)
        effect = (
            "ends the API server process when it is read"
            if first["impact"] == "crashes-server"
            else "every LIST and WATCH of the kind fails"
        )
        others = f" ({count} such keys)" if count > 1 else ""
        lines.append(f"BROKEN  {_name(kind)}: {effect}, because of {first['key']}{others}")
        if first["reason"]:
            lines.append(f"        {first['reason']}")
        lines.append(f"        auditor show {report} {first['key']}")
    return lines


def _stuck(kinds: list[dict[str, Any]], report: str) -> list[str]:
    """Say which objects are being deleted and can never be gone: nobody can remove their finalizers."""
    lines = []
    for kind in kinds:
        first = kind.get("stuck")
        if first:
            count = kind["impacts"].get("blocks-delete", 0)
            which = (
                f"{count} objects are being deleted and cannot be" if count > 1 else "is being deleted and cannot be"
            )
            subject = (
                f"{_name(kind)}: {which}, the first is {first['key']}"
                if count > 1
                else f"{_name(kind)} {first['key']} {which}"
            )
            lines.append(f"STUCK   {subject}: every update is refused, also the one that removes the finalizer")
            if first["reason"]:
                lines.append(f"        {first['reason']}")
            lines.append(f"        auditor show {report} {first['key']}")
    return lines


def summary(manifest: dict[str, Any], report: str) -> str:
    """Return the summary of a report.

    Args:
        manifest: The content of manifest.json.
        report: The folder of the report, as the user named it.
    """
    kinds = manifest["kinds"]
    judged = [kind for kind in kinds if any(kind["statuses"].get(status) for status in _SHOWN)]
    counts = manifest["counts"]
    blocks: list[str] = []
    broken = _broken(kinds, report)
    if broken:
        blocks.append("\n".join(broken))
    stuck = _stuck(kinds, report)
    if stuck:
        blocks.append("\n".join(stuck))
    rows = [(_name(kind), kind["objects"], *(kind["statuses"].get(status, 0) for status in _SHOWN)) for kind in judged]
    if rows:
        blocks.append(format_table(("KIND", "OBJECTS", *(status.upper() for status in _SHOWN)), rows))
    refused = [kind for kind in judged if any(kind["impacts"].get(impact) for impact in _UPDATES)]
    if refused:
        rows = [(_name(kind), *(kind["impacts"].get(impact, 0) for impact in _UPDATES)) for kind in refused]
        blocks.append("What updates come to\n" + format_table(("KIND", *(i.upper() for i in _UPDATES)), rows))
    rest = {s: counts["statuses"].get(s, 0) for s in ("definition", "builtin", "other")}
    line = f"{counts['keys']} keys seen: {counts['rows'] - sum(rest.values())} custom resource rows, "
    line += ", ".join(f"{number} {status}" for status, number in rest.items())
    if counts["out_of_scope"]:
        line += f", {counts['out_of_scope']} out of scope"
    blocks.append(line)
    blocks.extend(compared(manifest))
    if manifest["findings"]:
        top = manifest["findings"][:10]
        table = format_table(
            ("COUNT", "KIND", "FIELD", "TYPE", "CHECK"),
            [(f["count"], f"{f['kind']}.{f['group']}", f["field"], f["type"], f["check"]) for f in top],
        )
        blocks.append("Most frequent findings\n" + table)
    versions = [v for v in manifest["stored_versions"] if not v["storage"]]
    if versions:
        table = format_table(
            ("CRD", "STORED AT", "OBJECTS"), [(v["crd"], v["version"], v["objects"]) for v in versions]
        )
        blocks.append("Stored at a version that is not the storage version\n" + table)
    blocks.extend(_notes(manifest))
    blocks.append(_next(manifest, report, bool(broken)))
    return "\n\n".join(blocks)


def _notes(manifest: dict[str, Any]) -> list[str]:
    out = []
    if manifest["not_evaluated"]:
        total = sum(entry["objects"] for entry in manifest["not_evaluated"])
        kinds = ", ".join(f"{e['crd']} {e['version']}" for e in manifest["not_evaluated"][:5])
        more = len(manifest["not_evaluated"]) - 5
        kinds += f" and {more} more" if more > 0 else ""
        out.append(f"NOT EVALUATED  validation rules (CEL) of {total} objects: {kinds}")
    for source in manifest["inputs"]:
        out += damage_lines(source)
        out += [f"NOTE  {source['name']}: {note}" for note in source["notes"]]
    counts = manifest["counts"]
    if counts["out_of_scope"] and not counts["rows"]:
        scope = manifest["options"]["scope"]
        asked = ", ".join(f"{name} {value}" for name, value in scope.items() if value)
        out.append(f"NOTE  no key is in scope ({asked})")
    out.extend(f"LOST  {text}" for text in manifest["lost"])
    return out


def _next(manifest: dict[str, Any], report: str, broken: bool) -> str:
    statuses = manifest["counts"]["statuses"]
    if manifest["counts"]["out_of_scope"] and not manifest["counts"]["rows"]:
        return "Next: ask for something that is in the dump."
    if broken:
        return "Next: mend or delete the keys above first; until then nobody can list these kinds."
    if statuses.get("unreadable") or statuses.get("invalid"):
        return f"Next: read the findings: duckdb -c \"select * from '{report}/findings/*.parquet'\""
    if statuses.get("orphaned"):
        return "Next: keys that no definition owns stay for ever; give their definitions with --crds, or delete them."
    return "Next: nothing to do."
