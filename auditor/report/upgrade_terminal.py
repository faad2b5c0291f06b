"""The summary printed after an upgrade scan: one sentence, then each definition with its effects on objects."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from auditor.base.visible import label, shell_word, visible_tree
from auditor.report.terminal import damage_lines, format_table
from auditor.shards.sealed import sealed_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["upgrade_summary"]

_SAMPLED: Final = (
    ("unreadable", "UNREADABLE"),
    ("unmigrated", "UNMIGRATED"),
    ("needs-conversion", "WEBHOOK"),
    ("blocked", "BLOCKED"),
    ("invalid", "INVALID"),
    ("data-loss", "DATA LOSS"),
    ("tolerated", "TOLERATED"),
    ("drift", "DRIFT"),
    ("selector", "SELECTOR"),
)
_WHAT: Final = {
    "pruned": "lost",
    "shown-again": "shown again",
    "defaulted": "default filled in",
    "default-changed": "reads differently",
    "selector": "selects differently",
    "verdict": "verdict",
}
_CATEGORY: Final = {"mended": "repaired"}
"""Categories whose printed name differs from that in the manifest."""
_CHANGES: Final = 12
_LONGEST: Final = 300


def upgrade_summary(manifest: dict[str, Any], report: str) -> str:
    """Return the summary of an upgrade scan.

    Args:
        manifest: The content of manifest.json.
        report: The folder of the report, as the user named it.
    """
    manifest = visible_tree(manifest)
    section = manifest["upgrade"]
    blocks = [section["sentence"]]
    quiet = []
    for one in section["definitions"]:
        lines = list(_definition(one, report))
        if len(lines) > 1 or one["decision"] not in ("safe", "unknown"):
            blocks.append("\n".join(lines))
        else:
            quiet.append(one)
    if quiet:
        head = "NO HARM FOUND" if any(one["decision"] == "unknown" for one in quiet) else "SAFE"
        table = format_table((head, "OBJECTS"), [(one["name"], one["objects"]) for one in quiet])
        blocks.append(table)
    if section["kept"]:
        blocks.append(f"{section['kept']} other definitions do not change; their objects are in the report too.")
    blocks += sealed_lines(manifest)
    blocks += [line for source in manifest["inputs"] for line in damage_lines(source)]
    blocks += [f"LOST  {text}" for text in manifest["lost"]]
    blocks.append(_next(section, report))
    return "\n\n".join(blocks)


def _definition(one: dict[str, Any], report: str) -> Iterator[str]:
    yield f"{label(one['name'])}: {one['sentence']}"
    yield from (f"  {line}" for line in _versions(one))
    counted = {name: number for name, number in one["categories"].items() if name != "unchanged"}
    if counted:
        total = f"{one['objects']} objects: {one['categories'].get('unchanged', 0)} unchanged"
        yield "  " + ", ".join([total, *(f"{number} {_CATEGORY.get(name, name)}" for name, number in counted.items())])
    rows = [
        (change["values"], _WHAT.get(change["change"], change["change"]), change["path"], _arrow(change))
        for change in one["changes"]
        if change["change"] != "verdict"
    ]
    if rows:
        yield format_table(("VALUES", "WHAT", "FIELD", ""), rows[:_CHANGES], indent="  ")
        if len(rows) > _CHANGES:
            yield f"  and {len(rows) - _CHANGES} more: select * from '{report}/changes/*.parquet'"
    for category, word in _SAMPLED:
        for sample in one["samples"].get(category, [])[:1]:
            yield from _sample(word, sample)
    yield from _formats(one["formats"])


def _arrow(change: dict[str, Any]) -> str:
    return f"{change['old'] or '...'} -> {change['new'] or '...'}" if change["old"] or change["new"] else ""


def _versions(one: dict[str, Any]) -> Iterator[str]:
    if one["action"] == "delete":
        return
    for version in one["versions_added"]:
        yield f"version {version} is new"
    if one["storage_before"] != one["storage_after"] and one["action"] == "update":
        yield f"storage version: {one['storage_before']} before, {one['storage_after']} after"
    for version in one["versions_removed"]:
        yield _removed(one, version)
    for version in one["no_longer_served"]:
        yield f"version {version} is no longer served: clients that use it get 404"
    migration = one["migration"]
    if migration["to_migrate"]:
        at = one["storage_after"]
        yield f"{_objects(migration['to_migrate'])} not stored as {at}, the storage version, until written again"
    rewrites = migration["rewrites"]
    if rewrites["refused"]:
        yield f"storage migration: {_objects(rewrites['refused'])} would be refused if written back unchanged"
        for sample in one["samples"].get("rewrite-refused", [])[:1]:
            yield from (line.removeprefix("  ") for line in _sample("MIGRATION", sample))
    for entry in one["managed_fields"]:
        count = _objects(entry["objects"])
        yield f"managedFields of {count} name {entry['version']}, which is removed: server-side apply to them fails"
    for entry in one["selectable_fields_added"]:
        yield f"field selectors at {entry['version']} can use {entry['field']}"
    for entry in one["selectable_fields_removed"]:
        yield f"field selectors at {entry['version']} can no longer use {entry['field']}: such queries are refused"
    yield from _gates(one["gates"])
    for text in one["refusals"]:
        yield f"the server refuses: {_cut(text)}"
    for text in one["warnings"]:
        yield f"the server warns: {text}"


def _gates(gates: dict[str, Any] | None) -> Iterator[str]:
    """Yield lines on the changes of gates, and on the objects that use the guarded fields."""
    if gates is None:
        return
    for change in gates["changes"]:
        states = " -> ".join(state for state in (change["before"], change["after"]) if state)
        fields = ", ".join(f"{one['field']} in {_objects(one['objects'])}" for one in change["fields"])
        yield f"gate {change['gate']} {change['change'].replace('-', ' ')} ({states}): {fields or 'it guards nothing'}"
    for closed in gates["closed"]:
        if closed["objects"]:
            yield f"{closed['field']} is off now: stored values remain, but can no longer be written"
            for sample in closed["samples"][:1]:
                yield from (line.removeprefix("  ") for line in _sample("GATE", sample))


def _removed(one: dict[str, Any], version: str) -> str:
    """Return what must be done before a version is removed."""
    then = ""
    if version in one["stored_versions"]:
        remaining = [name for name in one["stored_versions"] if name in one["versions"]] or [one["storage_after"]]
        status = json.dumps({"status": {"storedVersions": remaining}}, separators=(",", ":"))
        then = f"; then: kubectl patch crd {shell_word(one['name'])} --subresource=status --type=merge -p '{status}'"
    stored = one["objects_stored"]
    if stored is None:
        return f"version {version} is removed; an export does not show how many objects are stored as it{then}"
    count = stored.get(version, 0)
    if count:
        verb = "is" if count == 1 else "are"
        at_least = "" if one.get("objects_complete", True) else "at least "
        return f"{at_least}{_objects(count)} {verb} stored as {version}: migrate before you drop it{then}"
    if not one.get("objects_complete", True):
        return (
            f"version {version} is removed; not all objects were judged, so the number of objects stored as it is not "
            f"known{then}"
        )
    return f"version {version} is removed; no object is stored as it{then}"


def _sample(word: str, sample: dict[str, Any]) -> Iterator[str]:
    yield f"  {word.ljust(10)}  {sample['key']}"
    if sample["text"]:
        yield f"              {_cut(sample['text'])}"
    if sample["last_manager"]:
        when = f" at {sample['last_write']}" if sample["last_write"] else ""
        yield f"              last written by {sample['last_manager']}{when}"
    yield f"              {sample['command']}"


def _formats(formats: list[dict[str, Any]]) -> Iterator[str]:
    if not formats:
        return
    yield format_table(
        ("UNKNOWN FORMAT", "FIELD", "VALUES", "CHECKED AS", "WOULD FAIL"),
        [(one["format"], one["field"], one["values"], one["assumed"], one["failing"]) for one in formats],
        indent="  ",
    )
    for one in formats:
        for sample in one["samples"][:1]:
            yield from _sample("FORMAT", sample)


def _next(section: dict[str, Any], report: str) -> str:
    reasons = section.get("not_judged")
    rest = f"\nNot judged: {', '.join(reasons)}." if reasons else ""
    if section["decision"] == "safe" and not reasons:
        return "Next: apply the definitions."
    if section["decision"] in ("safe", "unknown"):
        return "Next: check the rest before you apply the definitions." + rest
    return (
        f"Next: read what changes: duckdb -c \"select * from '{report}/changes/*.parquet' order by change, path\"{rest}"
    )


def _objects(count: int) -> str:
    return f"{count} object{'' if count == 1 else 's'}"


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} [...]"
