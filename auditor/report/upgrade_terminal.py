"""The summary printed after an upgrade scan: one sentence, then each definition with its effects on objects.

Definitions that block come first. What the first sentence says of a definition is not said again below.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from auditor.base.visible import label, visible_tree
from auditor.base.wording import are, counted, objects
from auditor.report.releases.api_lines import api_lines
from auditor.report.releases.helm import helm_lines
from auditor.report.releases.records import record_lines
from auditor.report.terminal import damage_lines, format_table, release_lines
from auditor.shards.sealed import sealed_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["MOST_LINES", "WORDS", "definition_lines", "upgrade_summary"]

MOST_LINES: Final = 40
"""Lines of the summary, unless all are asked for."""
WORDS: Final = ("blocks", "safe-after", "attention", "unknown", "safe")
_SAMPLED: Final = (
    ("unreadable", "UNREADABLE"),
    ("unmigrated", "UNMIGRATED"),
    ("needs-conversion", "WEBHOOK"),
    ("unconverted", "WEBHOOK"),
    ("blocked", "BLOCKED"),
    ("invalid", "INVALID"),
    ("data-loss", "DATA LOSS"),
    ("tolerated", "TOLERATED"),
    ("drift", "DRIFT"),
    ("selector", "SELECTOR"),
)
_WHAT: Final = {
    "pruned": "lost",
    "converted": "lost in conversion",
    "shown-again": "shown again",
    "defaulted": "default filled in",
    "default-changed": "reads differently",
    "selector": "selects differently",
    "verdict": "verdict",
}
_CATEGORY: Final = {"mended": "repaired"}
"""Categories whose printed name differs from that in the manifest."""
_CHANGES: Final = 6
_SECTIONS: Final = 5
"""Definitions up to which each has a section of its own, even if that must be cut."""
_SCHEMA_CHANGES: Final = 4
_LONGEST: Final = 300


def upgrade_summary(manifest: dict[str, Any], report: str, *, most: int | None = MOST_LINES) -> str:
    """Return the summary of an upgrade scan.

    Args:
        manifest: The content of manifest.json.
        report: The folder of the report, as the user named it.
        most: Number of lines, None for all.
    """
    manifest = visible_tree(manifest)
    section = manifest["upgrade"]
    tail = list(_tail(manifest, section, report))
    blocks: list[list[str]] = []
    quiet = []
    for one in sorted(section["definitions"], key=lambda one: WORDS.index(one["decision"])):
        lines = list(definition_lines(one, report, named=one["name"] in section["named"], everything=most is None))
        if len(lines) > 1 or one["decision"] not in ("safe", "unknown"):
            blocks.append(lines)
        else:
            quiet.append(one)
    if quiet:
        blocks.append(list(_quiet(quiet, everything=most is None)))
    free = None if most is None else most - len(list(_head(section))) - len(tail)
    leading = [lines for lines in _leading(section, report, everything=most is None) if lines]
    if free is not None and len(blocks) > _SECTIONS and sum(len(lines) + 1 for lines in blocks) > free:
        needed = 1 + len(list(_overview(section["definitions"], 1_000_000, report)))
        body = list(_fitting(leading, max(free // 2, free - needed), report)) if leading else []
        body += ["", *_overview(section["definitions"], free - 1 - len(body), report)]
    else:
        body = list(_fitting([*leading, *blocks], free, report))
    return "\n".join([*_head(section), *body, *tail])


def _head(section: dict[str, Any]) -> Iterator[str]:
    yield section["sentence"]
    if release := section.get("kubernetes"):
        old, new = (".".join(release[key].split(".")[:2]).removeprefix("v") for key in ("from", "to"))
        count = counted(sum(one["name"] is not None for one in release["records"]), "behaviour")
        yield f"Kubernetes {release['from']} to {release['to']}: {count} differ (auditor releases {old} {new})"
    hop = section.get("via")
    if hop:
        yield f"first hop ({', '.join(hop['new_crds'])}): {hop['sentence']}"


def _leading(section: dict[str, Any], report: str, *, everything: bool) -> Iterator[list[str]]:
    """Yield the blocks on the whole cluster, which come before those on definitions."""
    yield list(helm_lines(section.get("helm", {}).get("upgrades", ())))
    if section.get("apis"):
        yield list(api_lines(section["apis"], report, everything=everything))
    if section.get("kubernetes"):
        yield list(record_lines(section["kubernetes"]["records"], everything=everything))


def _overview(definitions: list[dict[str, Any]], free: int, report: str) -> Iterator[str]:
    """Yield one line for each definition, where there are too many for sections: those that block first."""
    ordered = sorted(definitions, key=lambda one: WORDS.index(one["decision"]))
    wanted = [one for one in ordered if one["decision"] not in ("safe", "unknown") or _why(one)]
    rows = [
        (_answer(one).replace(" ", "-"), label(one["name"]), one["objects"], _cut(_why(one), 100))
        for one in wanted[: free - 3]
    ]
    if rows:
        yield from format_table(("ANSWER", "DEFINITION", "OBJECTS", "WHY"), rows).split("\n")
    more = len(definitions) - len(rows)
    if more:
        quiet = {_answer(one) for one in definitions if one not in wanted}
        rest = "more" if len(rows) < len(wanted) or len(quiet) > 1 else f"with the answer: {quiet.pop()}"
        yield f"and {more} {rest}; all of a definition: auditor changes {report} DEFINITION"


def _answer(one: dict[str, Any]) -> str:
    """Return the printed answer on a definition."""
    return {"safe-after": "safe after", "unknown": "no harm found"}.get(one["decision"], str(one["decision"]))


def _why(one: dict[str, Any]) -> str:
    from auditor.report.upgrade_plan import steps_before  # noqa: PLC0415 - who prints an audit needs no plan

    plan = one["plan"]
    if plan and plan["needs"]:
        return str(plan["needs"])
    if one["decision"] == "blocks" and plan and steps_before(plan):
        return f"refused until: {', '.join(steps_before(plan))}"
    texts = [*one["reasons"], *one["notes"]]
    return str(texts[0]) if texts else ""


def _fitting(blocks: list[list[str]], free: int | None, report: str) -> Iterator[str]:
    """Yield the blocks as far as the lines suffice: the first lines of each say more than all of one."""
    left = 1_000_000 if free is None else free - 2
    each = max(4, left // max(1, len(blocks)) - 1)
    for at, lines in enumerate(blocks):
        share = max(each, left - sum(min(len(later), each) + 1 for later in blocks[at + 1 :]) - 1)
        if left < 3:
            yield ""
            yield f"and {len(blocks) - at} more: auditor changes {report}"
            return
        more = len(lines) - share + 1
        shown = lines if more < 2 else [*lines[: share - 1], f"  and {more} more lines: auditor changes {report}"]
        yield ""
        yield from shown
        left -= len(shown) + 1


def _tail(manifest: dict[str, Any], section: dict[str, Any], report: str) -> Iterator[str]:
    extra = release_lines(manifest)
    if section["kept"]:
        extra.append(f"{section['kept']} other definitions do not change; their objects are in the report too.")
    extra += [line for text in sealed_lines(manifest) for line in text.split("\n")]
    extra += [line for source in manifest["inputs"] for line in damage_lines(source)]
    extra += [f"LOST  {text}" for text in manifest["lost"]]
    if extra:
        yield ""
        yield from extra
    yield ""
    yield from _next(section, report)


def _quiet(quiet: list[dict[str, Any]], *, everything: bool) -> Iterator[str]:
    head = "NO HARM FOUND" if any(one["decision"] == "unknown" for one in quiet) else "SAFE"
    rows = [(one["name"], one["objects"]) for one in quiet]
    shown = rows if everything or len(rows) <= _CHANGES else rows[:_CHANGES]
    yield from format_table((head, "OBJECTS"), shown).split("\n")
    if len(shown) < len(rows):
        yield f"and {len(rows) - len(shown)} more"


def definition_lines(one: dict[str, Any], report: str, *, named: bool, everything: bool) -> Iterator[str]:
    """Yield the lines on one definition.

    Args:
        one: Its entry in the manifest.
        report: The folder of the report.
        named: Its reasons are in the sentence on all.
        everything: Leave nothing out.
    """
    yield f"{label(one['name'])}: {_answer(one)}"
    for text in () if named else one["reasons"]:
        yield f"  {text}"
    yield from (f"  {line}" for line in _plan(one["plan"]))
    for text in (*one["attention"], *one["notes"]):
        yield f"  {text}"
    yield from (f"  {line}" for line in _facts(one))
    counted = {name: number for name, number in one["categories"].items() if name != "unchanged"}
    if counted:
        total = f"{objects(one['objects'])}: {one['categories'].get('unchanged', 0)} unchanged"
        yield "  " + ", ".join([total, *(f"{number} {_CATEGORY.get(name, name)}" for name, number in counted.items())])
    for category, name in _SAMPLED:
        for sample in one["samples"].get(category, [])[: 3 if everything else 1]:
            yield from _sample(name, sample)
    yield from _values(one, report, everything=everything)
    yield from _schema(one, everything=everything)
    yield from _formats(one["formats"])


def _plan(plan: dict[str, Any] | None) -> Iterator[str]:
    if plan is None:
        return
    if plan["needs"]:
        yield f"no plan: {plan['needs']}"
    elif len(plan["steps"]) > 2:
        for number, step in enumerate(plan["steps"][:-1], 1):
            yield f"{'plan:' if number == 1 else '     '} {number}. {step['text']}"
        if plan["note"]:
            yield f"      {plan['note']}"


def _values(one: dict[str, Any], report: str, *, everything: bool) -> Iterator[str]:
    rows = [
        (change["values"], _WHAT.get(change["change"], change["change"]), change["path"], _arrow(change))
        for change in one["changes"]
        if change["change"] != "verdict"
    ]
    if rows:
        shown = rows if everything else rows[:_CHANGES]
        yield from format_table(("VALUES", "WHAT", "FIELD", ""), shown, indent="  ").split("\n")
        if len(shown) < len(rows):
            yield f"  and {len(rows) - len(shown)} more: auditor changes {report}"


def _schema(one: dict[str, Any], *, everything: bool) -> Iterator[str]:
    """Yield where the schema is narrower, with the objects that are concerned today."""
    rows = [
        (
            f"{change['objects']} of {objects(one['objects'])}",
            change["change"],
            change["field"] or "(root)",
            _cut(" -> ".join(text for text in (change["old"], change["new"]) if text), 60),
        )
        for change in one["schema_changes"]
    ]
    if rows:
        shown = rows if everything else rows[:_SCHEMA_CHANGES]
        yield from format_table(("NARROWER", "WHAT", "FIELD", ""), shown, indent="  ").split("\n")
        if len(shown) < len(rows):
            yield f"  and {len(rows) - len(shown)} more narrower fields"


def _arrow(change: dict[str, Any]) -> str:
    return f"{change['old'] or '...'} -> {change['new'] or '...'}" if change["old"] or change["new"] else ""


def _facts(one: dict[str, Any]) -> Iterator[str]:
    """Yield what changes of the definition, and is not said by its reasons."""
    if one["action"] == "delete":
        return
    if one["versions_added"]:
        yield f"new: {', '.join(one['versions_added'])}"
    if one["storage_before"] != one["storage_after"] and one["action"] == "update":
        yield f"storage version: {one['storage_before']} before, {one['storage_after']} after"
    for version in one["versions_removed"]:
        yield _stored_at(one, version)
    migration = one["migration"]
    if migration["to_migrate"]:
        at = one["storage_after"]
        yield f"{objects(migration['to_migrate'])} not stored as {at}, the storage version, until written again"
    rewrites = migration["rewrites"]
    if rewrites["refused"]:
        yield f"storage migration: {objects(rewrites['refused'])} would be refused if written back unchanged"
        for sample in one["samples"].get("rewrite-refused", [])[:1]:
            if not any(sample["key"] == other["key"] for name, _ in _SAMPLED for other in one["samples"].get(name, [])):
                yield from (line.removeprefix("  ") for line in _sample("MIGRATION", sample))
    for entry in one["managed_fields"] if one["decision"] != "safe-after" else ():
        count = objects(entry["objects"])
        yield f"managedFields of {count} name {entry['version']}, which is removed: server-side apply to them fails"
    for entry in one["selectable_fields_added"]:
        yield f"field selectors at {entry['version']} can use {entry['field']}"
    yield from _gates(one["gates"])
    for warning in one["warnings_counted"]:
        times = f" ({warning['count']} times)" if warning["count"] > 1 else ""
        where = f": {', '.join(warning['fields'])}" if warning["fields"] else ""
        yield f"the server warns: {warning['text']}{times}{where}"


def _gates(gates: dict[str, Any] | None) -> Iterator[str]:
    """Yield lines on the changes of gates, and on the objects that use the guarded fields."""
    if gates is None:
        return
    for change in gates["changes"]:
        states = " -> ".join(state for state in (change["before"], change["after"]) if state)
        fields = ", ".join(f"{one['field']} in {objects(one['objects'])}" for one in change["fields"])
        yield f"gate {change['gate']} {change['change'].replace('-', ' ')} ({states}): {fields or 'it guards nothing'}"
    for closed in gates["closed"]:
        if closed["objects"]:
            yield f"{closed['field']} is off now: stored values remain, but can no longer be written"
            for sample in closed["samples"][:1]:
                yield from (line.removeprefix("  ") for line in _sample("GATE", sample))


def _stored_at(one: dict[str, Any], version: str) -> str:
    """Return how many objects are stored at a version that is removed."""
    stored = one["objects_stored"]
    if stored is None:
        return f"version {version} is removed; an export does not show how many objects are stored as it"
    count = stored.get(version, 0)
    at_least = "" if one.get("objects_complete", True) else "at least "
    if not count and at_least:
        return (
            f"version {version} is removed; not all objects were judged, so it is not known how many are stored as it"
        )
    number = f"{at_least}{objects(count)} {are(count)}" if count else "no object is"
    return f"version {version} is removed; {number} stored as it"


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
    yield from format_table(
        ("UNKNOWN FORMAT", "FIELD", "VALUES", "CHECKED AS", "WOULD FAIL"),
        [(one["format"], one["field"], one["values"], one["assumed"], one["failing"]) for one in formats],
        indent="  ",
    ).split("\n")
    for one in formats:
        for sample in one["samples"][:1]:
            yield from _sample("FORMAT", sample)


def _next(section: dict[str, Any], report: str) -> Iterator[str]:
    reasons = section.get("not_judged")
    step = "apply the definitions" if section["new_crds"] or not section.get("apis") else "upgrade the API server"
    if section["decision"] == "safe" and not reasons:
        yield f"Next: {step}."
    elif section["decision"] in ("safe", "unknown"):
        yield f"Next: check the rest before you {step}."
    else:
        plans = any(one["plan"] and len(one["plan"]["steps"]) > 2 for one in section["definitions"])
        also = "; write the plan as JSON and shell with --plan FILE" if plans and not section.get("plan_file") else ""
        yield f"Next: read all that changes: auditor changes {report}{also}"
    if reasons:
        yield f"Not judged: {', '.join(reasons)}."


def _cut(text: str, longest: int = _LONGEST) -> str:
    return text if len(text) <= longest else f"{text[:longest]} [...]"
