"""The part of an audit's summary that compares it with an earlier report."""

from __future__ import annotations

from typing import Any

from auditor.base.longtext import LONG, cut
from auditor.base.visible import shell_word

_SHOWN = 10


def show_command(report: str, first: dict[str, Any]) -> str:
    """Return the command that shows an object of a report: its key, and its cluster in a fleet."""
    words = [report, *(["--cluster", first["cluster"]] if first.get("cluster") else []), first["key"]]
    return " ".join(["auditor show", *map(shell_word, words)])


def compared(manifest: dict[str, Any], report: str) -> list[str]:
    """Return the block of a summary that says which findings are new or fixed; none without an earlier report.

    Args:
        manifest: The content of manifest.json.
        report: The folder of the report, as the user named it.
    """
    diff = manifest.get("diff")
    return [_changed(diff, report)] if diff else []


def _changed(diff: dict[str, Any], report: str) -> str:
    counts = diff["findings"]
    lines = [
        f"Since {diff['report']}: {counts['new']} findings new, {counts['same']} the same, {counts['fixed']} fixed"
    ]
    distinct = diff.get("distinct")
    if distinct and distinct != counts:
        lines[0] += (
            " (a finding counts once for each request that has it; distinct findings: "
            f"{distinct['new']} new, {distinct['same']} the same, {distinct['fixed']} fixed)"
        )
    if diff["not_judged"]:
        reasons = ", ".join(f"{count} {reason}" for reason, count in diff.get("not_rechecked", {}).items())
        lines[0] += f", {diff['not_judged']} not re-checked" + (f" ({reasons})" if reasons else "")
    for change in ("new", "fixed"):
        rows = diff[f"first_{change}"][:_SHOWN]
        lines += [f"  {change.upper():5}  {row['object']}  {cut(row['message'], LONG)}" for row in rows]
        more = counts[change] - len(rows)
        if more > 0:
            lines.append(f"  {change.upper():5}  and {more} more")
    lines += _objects(diff, report, "worse")
    lines += _objects(diff, report, "better")
    lines += [f"  NOTE  {note}" for note in diff["notes"]]
    return "\n".join(lines)


def _objects(diff: dict[str, Any], report: str, change: str) -> list[str]:
    """Return lines on the objects that became unreadable, blocked or lose data, or are not so any more."""
    total = sum(diff.get(change, {}).values())
    if not total:
        return []
    no_more = "no longer " if change == "better" else ""
    counts = ", ".join(f"{count} {no_more}{what}" for what, count in diff[change].items() if count)
    lines = [f"  {change.capitalize()} than before: {counts}"]
    first = diff.get(f"first_{change}", [])[:_SHOWN]
    word = change.upper()
    for row in first:
        effects = ", ".join(row["impacts"]) or row["level"]
        effects = f"{no_more}{row['level']}" if no_more else effects
        lines.append(
            f"  {word}  {row['object']}  {effects}" + (f": {cut(row['message'], LONG)}" if row["message"] else "")
        )
        if row.get("key"):
            lines.append(f"         {show_command(report, row)}")
    if total > len(first):
        lines.append(f"  {word}  and {total - len(first)} more")
    return lines
