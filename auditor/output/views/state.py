"""What a run found apart from causes: objects by status, what the next writes do, and what was not read or judged."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from auditor.base.statuses import Impact, Status
from auditor.base.visible import label, shell_word, visible, visible_tree
from auditor.base.wording import by_count, counted, objects
from auditor.causes.titles import kind_name
from auditor.output.views.layout import Line, TableColumn, table_lines
from auditor.plan.feature_gates import ratcheting_note
from auditor.releases import RELEASES
from auditor.shards.sealed import sealed_lines
from auditor.store.allclear import is_builtin, unread_of
from auditor.store.clusters import option_by_cluster

if TYPE_CHECKING:
    from auditor.causes.model import FindingsModel


_WRITES: Final = (
    *(Impact.BLOCKS_DELETE, Impact.BLOCKS_EVERY_UPDATE, Impact.BLOCKS_STATUS, Impact.BLOCKS_METADATA),
    *(Impact.BLOCKS_APPLY, Impact.TOLERATED),
)
_OF_KINDS: Final = (
    *(Status.VALID, Status.INVALID, Status.UNREADABLE, Status.NEEDS_CONVERSION, Status.UNSERVED),
    *(Status.ORPHANED, Status.SEALED),
)
_OF_BUILTIN: Final = (Status.UNREADABLE, Status.ORPHANED, Status.SEALED)
"""Statuses that keys of built-in kinds can have beside `builtin`: they are not validated."""
_NAMED: Final = 5


def kind_lines(model: FindingsModel, width: int, most: int) -> list[Line]:
    """Return a table of the kinds, in at most that many lines: objects by status, and by what their next write does.

    Those with problems come first. Columns without a count are left out, the last ones also where they do not fit. If
    not everything was read, the title says so, and a zero is not known.
    """
    kinds = [kind for kind in model.manifest["kinds"] if any(kind["statuses"].get(status) for status in _OF_KINDS)]
    if not kinds or most < min(len(kinds) + 1, 4):
        return []
    is_whole = not unread_of(model.manifest)
    kinds.sort(key=lambda kind: (not _has_problem(kind), kind["group"], kind["kind"]))
    shown = kinds if len(kinds) < most else kinds[: most - 2]
    statuses = [status for status in _OF_KINDS if any(kind["statuses"].get(status) for kind in kinds)]
    writes = [write for write in _WRITES if any(kind["impacts"].get(write) for kind in kinds)]
    columns = [
        TableColumn("KIND", may_shrink=True),
        TableColumn("OBJECTS" if is_whole else "OBJECTS READ", is_number=True),
    ]
    columns += [TableColumn(status.upper(), is_number=True) for status in statuses]
    columns += [TableColumn(write.upper(), is_number=True, may_go=number) for number, write in enumerate(writes, 1)]
    rows = [
        (
            label(kind_name(kind["group"], kind["kind"])),
            f"{kind['objects']:,}",
            *(_cell(kind, status, is_whole=is_whole) for status in statuses),
            *(_known(kind["impacts"].get(write, 0), is_whole=is_whole) for write in writes),
        )
        for kind in shown
    ]
    lines = table_lines(columns, rows, width)
    if len(shown) < len(kinds):
        command = f"auditor summary {shell_word(model.shown)} --lines 0"
        lines.append(Line(f"and {counted(len(kinds) - len(shown), 'more kind')}: {command}", "dim"))
    return lines


def _has_problem(kind: dict[str, Any]) -> bool:
    return any(kind["statuses"].get(status) for status in _OF_KINDS[1:])


def _cell(kind: dict[str, Any], status: str, *, is_whole: bool) -> str | None:
    """Return how many objects of a kind have a status; None for a status that built-in kinds cannot have."""
    if is_builtin(kind) and status not in _OF_BUILTIN:
        return None
    return _known(kind["statuses"].get(status, 0), is_whole=is_whole)


def _known(count: int, *, is_whole: bool) -> str | None:
    return f"{count:,}" if count or is_whole else None


def state_lines(model: FindingsModel) -> list[Line]:
    """Return lines, which may be wider than a terminal, on the keys of a report and on what else there is to know."""
    manifest = visible_tree(model.manifest)
    lines = [Line(text, "medium") for text in (*sealed_lines(manifest), *_closed(manifest), *_not_evaluated(manifest))]
    lines += [Line(text, "medium") for text in (*_unanswered(manifest), *deleting_lines(manifest))]
    skipped = manifest["counts"]["statuses"].get(Status.BUILTIN)
    if skipped and "builtin" in manifest["options"].get("skip", ()):
        text = f"{counted(skipped, 'value')} of built-in kinds (--skip builtin): whether they break lists is not known"
        lines.append(Line(f"NOT DECODED  {text}", "medium"))
    lines.append(Line(_keys(manifest)))
    impacts: Counter[str] = Counter()
    for kind in manifest["kinds"]:
        impacts.update(kind["impacts"])
    if writes := [f"{impacts[write]:,} {write}" for write in _WRITES if impacts[write]]:
        lines.append(Line(f"NEXT WRITE  {', '.join(writes)}"))
    lines += [Line(text) for text in _changes(manifest)]
    lines += [Line(f"NOTE  {text}") for text in _notes(manifest)]
    if versions := [version for version in manifest["stored_versions"] if not version["storage"]]:
        texts = [f"{version['objects']:,} {version['crd']} at {version['version']}" for version in versions[:3]]
        lines.append(Line(f"NOT STORED AT THE STORAGE VERSION  {_listed(texts, len(versions))}"))
    return lines


def deleting_lines(manifest: dict[str, Any]) -> list[str]:
    """Return lines on the custom resources that have been deleting for long, or may have been."""
    section = manifest.get("deleting")
    if not section:
        return []
    every, days, lines = section["objects"], section["days"], []
    if section["long"] is None:
        why = "nothing says when the dump was made"
        return [f"DELETING  {counted(every, 'custom resource')}; whether for more than {days} d is not known: {why}"]
    if section["long"]:
        names = [f"{name} ({count:,})" for name, count in section["finalizers"].items()]
        waits = f"waiting for {_listed(names[:_NAMED], len(names))}" if names else "without finalizers"
        which = f"{section['long']:,} of {counted(every, 'custom resource')}"
        lines.append(f"DELETING FOR MORE THAN {days} D  {which}, {waits}")
    if section["unread"]:
        lines.append(f"DELETING  {counted(section['unread'], 'custom resource')}; since when could not be read")
    return lines


def _listed(texts: list[str], count: int) -> str:
    more = count - len(texts)
    return ", ".join(texts) + (f" and {more} more" if more > 0 else "")


def _keys(manifest: dict[str, Any]) -> str:
    counts = manifest["counts"]
    keys = counted(counts["keys"], "key") if counts["keys"] < 1000 else f"{counts['keys']:,} keys"
    rows = "" if counts["rows"] + counts["out_of_scope"] == counts["keys"] else f" in {counts['rows']:,} rows"
    order = {str(status): position for position, status in enumerate(Status)}
    statuses = sorted(counts["statuses"].items(), key=lambda one: order.get(one[0], len(order)))
    parts = [f"{count:,} {status}" for status, count in statuses if count]
    parts += [f"{counts['out_of_scope']:,} out of scope"] if counts["out_of_scope"] else []
    none = "none was read" if unread_of(manifest) else "none in the dump"
    return f"{keys}{rows}: {', '.join(parts) or none}"


def _changes(manifest: dict[str, Any]) -> list[str]:
    """Return lines on the findings that are new or fixed since an earlier report, and on the objects that are worse."""
    diff = manifest.get("diff")
    if not diff or "findings" not in diff:
        return []
    line = f"FINDINGS  {_by_change(diff['findings'])}"
    if diff.get("distinct") and diff["distinct"] != diff["findings"]:
        line += f" (one that several requests have counted once: {_by_change(diff['distinct'])})"
    if diff["not_judged"]:
        reasons = ", ".join(f"{count:,} {reason}" for reason, count in diff.get("not_rechecked", {}).items())
        line += f", {diff['not_judged']:,} not re-checked" + (f" ({reasons})" if reasons else "")
    worse = [f"{count:,} {what}" for what, count in diff["worse"].items() if count]
    return [line, *([f"OBJECTS THAT BECAME WORSE  {', '.join(worse)}"] if worse else [])]


def _by_change(counts: dict[str, int]) -> str:
    return f"{counts['new']:,} new, {counts['same']:,} the same, {counts['fixed']:,} fixed"


def _closed(manifest: dict[str, Any]) -> list[str]:
    """Return a line for each key of encrypted values that none of the given keys decrypts."""
    closed = [entry for entry in manifest["encryption"] if not entry["opened"] and not entry.get("sealed")]
    return [
        f"NOT DECRYPTED  {counted(entry['values'], 'value')} encrypted by {entry['provider']} {entry['name']}".rstrip()
        + (f", key id {entry['key_id']}" if entry["key_id"] else "")
        + f": the given keys do not decrypt {by_count(entry['values'], 'it', 'them')}"
        for entry in closed
    ]


def _not_evaluated(manifest: dict[str, Any]) -> list[str]:
    """Return lines on the objects whose rules were not evaluated; those that exceeded a limit are named."""
    entries = manifest["not_evaluated"]
    if not entries:
        return []
    total = sum(entry["objects"] for entry in entries)
    kinds = [f"{entry['crd']} {entry['version']}" for entry in entries[:_NAMED]]
    lines = [f"NOT EVALUATED  validation rules (CEL) of {objects(total)}: {_listed(kinds, len(entries))}"]
    return lines + [
        f"NOT EVALUATED  {entry['crd']} {entry['version']}: the rules of {entry['given_up']} exceeded the limit of "
        f"time (--time-per-object) or memory for one object: {_listed(entry['first'], entry['given_up'])}"
        for entry in entries
        if entry.get("given_up")
    ]


def _unanswered(manifest: dict[str, Any]) -> list[str]:
    """Return a line for each kind and reason of changes (--old) whose answer is not known."""
    return [
        f"NOT KNOWN  {entry['kind']} {_listed(entry['first'], entry['objects'])}: {entry['reason']}"
        for entry in manifest.get("unanswered") or ()
    ]


def _notes(manifest: dict[str, Any]) -> list[str]:
    notes = [f"{source['name']}: {visible(note)}" for source in manifest["inputs"] for note in source["notes"]]
    counts = manifest["counts"]
    if counts["out_of_scope"] and not counts["rows"]:
        scope = manifest["options"]["scope"]
        asked = ", ".join(f"{name} {value}" for name, value in scope.items() if value)
        notes.append(f"no key of the dump is in scope ({asked})")
    known = {release.version: release for release in RELEASES}
    parts = {cluster["name"]: cluster for cluster in manifest.get("clusters", ())}
    for name, ratcheting in option_by_cluster(manifest, "ratcheting").items():
        judged = known.get(parts.get(name, {}).get("kubernetes_release", manifest["kubernetes_release"]))
        if judged and (note := ratcheting_note(judged, ratcheting=ratcheting is not False)):
            notes.append(f"{visible(name)}: {note}" if name in parts else note)
    return notes + list((manifest.get("diff") or {}).get("notes") or ())
