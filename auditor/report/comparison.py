"""What the summary of an audit says of the report that it was compared with."""

from __future__ import annotations

from typing import Any

__all__ = ["compared"]

_SHOWN = 10


def compared(manifest: dict[str, Any]) -> list[str]:
    """Return blocks of a summary: which rows are kept from an earlier report, and which findings are new or fixed.

    Args:
        manifest: The content of manifest.json.
    """
    since, diff = manifest.get("since"), manifest.get("diff")
    return [*([_kept(since)] if since else []), *([_changed(diff)] if diff else [])]


def _kept(since: dict[str, Any]) -> str:
    why = ", ".join(f"{count} {reason}" for reason, count in since["why"].items())
    line = f"Since {since['report']}: rows of {since['kept']} keys kept, {since['audited']} keys audited"
    line += f" ({why})" if why else ""
    if since["gone"]:
        line += f"; {since['gone']} of that report are gone"
        line += " or changed" if "new or changed" in since["why"] else ""
    if since["sample"]["objects"]:
        line += f"\nSample: {since['sample']['objects']} unchanged objects were audited again; all agree"
    return line


def _changed(diff: dict[str, Any]) -> str:
    counts = diff["findings"]
    lines = [
        f"Since {diff['report']}: {counts['new']} findings new, {counts['same']} the same, {counts['fixed']} fixed"
    ]
    if diff["not_judged"]:
        lines[0] += f", {diff['not_judged']} of objects that nobody could judge today"
    for change in ("new", "fixed"):
        rows = diff[f"first_{change}"][:_SHOWN]
        lines += [f"  {change.upper():5}  {row['object']}  {row['message']}" for row in rows]
        more = counts[change] - len(rows)
        if more > 0:
            lines.append(f"  {change.upper():5}  and {more} more")
    worse = ", ".join(f"{count} {what}" for what, count in diff["worse"].items() if count)
    if worse:
        lines.append(f"  Newly so: {worse}")
    lines += [f"  NOTE  {note}" for note in diff["notes"]]
    return "\n".join(lines)
