"""The causes of a report as a list, and one cause with its objects, on a terminal."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from auditor.base.visible import shell_word, visible
from auditor.base.wording import by_count, counted, objects
from auditor.causes.follows import FOLLOWS
from auditor.causes.severity import UPGRADE
from auditor.causes.upgrade_causes import DEFINITION, has_objects
from auditor.output.views.layout import Line, TableColumn, clipped, command_lines, fitted, table_lines, wrapped
from auditor.output.views.summary import (
    cause_details,
    clusters_text,
    example_text,
    impact_message,
    kind_text,
    marked,
    severities_text,
    verdict_text,
)
from auditor.store.allclear import unread_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from auditor.causes.model import FindingsModel
    from auditor.causes.topics import Cause


_COLUMNS: Final = (
    TableColumn("SEVERITY"),
    TableColumn("CHANGE", may_go=1),
    TableColumn("KIND", may_shrink=True),
    TableColumn("OBJECT", may_shrink=True, cuts_middle=True),
    TableColumn("WHAT", may_shrink=True),
    TableColumn("WHAT TO DO", may_shrink=True, may_go=2),
    TableColumn("CLUSTERS", may_shrink=True),
)
_WIDE: Final = (
    TableColumn("OBJECTS", is_number=True),
    TableColumn("NAMESPACES", is_number=True),
    TableColumn("VERSION"),
    TableColumn("CHECK"),
    TableColumn("FINDINGS", is_number=True),
    TableColumn("REJECTED", is_number=True),
    TableColumn("ACCEPTED", is_number=True),
    TableColumn("FIRST SEEN"),
    TableColumn("OWNERS"),
    TableColumn("EXAMPLE"),
)
_ID: Final = TableColumn("CAUSE")
_HEAD: Final = 3
"""Lines of the title of a cause, and of each fact about it."""


def listing_lines(
    model: FindingsModel, causes: Sequence[Cause], width: int, most: int, *, wide: bool = False
) -> list[Line]:
    """Return the causes as a table.

    Args:
        model: The report.
        causes: The causes that are wanted, in their order.
        width: Columns of the terminal.
        most: Lines at most; 0: all.
        wide: Print all columns, however wide the lines are.
    """
    if not causes:
        text = "No cause matches" if model.causes else "The report has no findings"
        unread = unread_of(model.manifest)
        if not unread:
            return [Line(f"{text}.")]
        first = [Line(visible(part.line), "critical") for part in unread[: max(1, (most or len(unread) + 1) - 1)]]
        return [
            Line(f"{text}, but not everything was read:"),
            *(wrapped_line for line in first for wrapped_line in wrapped(line, width)),
        ]
    rows = [_row(model, cause, wide=wide) for cause in causes]
    is_known = [any(row[position] for row in rows) for position in range(len(_COLUMNS))]
    columns = [column for column, known in zip(_COLUMNS, is_known, strict=True) if known]
    columns += [*(_WIDE if wide else ()), _ID]
    cells = [
        (*(cell for cell, known in zip(row, is_known, strict=False) if known), *row[len(_COLUMNS) :]) for row in rows
    ]
    styles = [cause.severity if cause.is_open else "dim" for cause in causes]
    head, *table = table_lines(columns, cells, 1 << 20 if wide else width, styles=styles)
    lines, shown = [head], 0
    for cause, line in zip(causes, table, strict=True):
        details = (
            [] if wide or cause.severity != "critical" or not cause.is_open else cause_details(model, cause, width)
        )
        if most and len(lines) + 1 + (shown + 1 < len(causes)) > most:
            break
        lines.append(line)
        shown += 1
        if not most or len(lines) + len(details) + (shown < len(causes)) <= most:
            lines += details
    if shown < len(causes):
        what = severities_text(causes[shown:])
        lines.append(Line(f"and {counted(len(causes) - shown, 'more cause')}: {what}: --lines 0 prints all", "dim"))
    return lines if wide else fitted(lines, width)


def _row(model: FindingsModel, cause: Cause, *, wide: bool) -> tuple[Any, ...]:
    """Return the cells of a cause: those of `_COLUMNS`, of `_WIDE` if they are wanted, and its id."""
    gone = {"fixed": f"{cause.fixed_objects:,} fixed"}.get(cause.change or "", "")
    row: tuple[Any, ...] = (
        cause.severity,
        marked(model, cause) if cause.change != "same" else "",
        cause.kind_name if wide else kind_text(model, cause),
        example_text(cause, cause.objects) if cause.objects or not gone else gone,
        cause.title,
        cause.remedy.partition(";")[0] if cause.is_open else "",
        clusters_text(cause.clusters, len(cause.clusters) if wide else 1) if model.has_clusters else "",
    )
    if wide:
        row += (
            cause.objects,
            cause.namespaces,
            cause.version,
            cause.check or (cause.type if cause.impact == UPGRADE else cause.impact),
            cause.findings,
            cause.rejected,
            cause.accepted_objects,
            f"{cause.first_seen:%Y-%m-%d %H:%M}",
            ", ".join(cause.owners) or None,
            cause.examples[0] if cause.examples else None,
        )
    return (*row, cause.id)


def cause_lines(
    model: FindingsModel, cause: Cause, rows: Iterable[dict[str, Any]], width: int, most: int, *, wide: bool = False
) -> list[Line]:
    """Return one cause: what it is, and its objects.

    Args:
        model: The report.
        cause: The cause.
        rows: Its distinct findings, or its objects.
        width: Columns of the terminal.
        most: Lines at most; 0: all.
        wide: Print objects and messages in full.
    """
    width = 1 << 20 if wide else width
    title = f"{cause.id}  {cause.severity.upper()}  {visible(cause.kind_name)}: {visible(cause.title)}"
    places = "" if cause.namespaces is None else f" in {counted(cause.namespaces, 'namespace')}"
    is_of_definition = cause.impact == UPGRADE and cause.check == DEFINITION
    count = f"{cause.objects:,}{places}" if cause.objects and not is_of_definition else ""
    facts = [
        ("objects", count),
        ("what to do", cause.remedy),
        ("verdict", verdict_text(cause)),
        ("definition changed", "; ".join(cause.schema_changes)),
        ("rule", cause.rule or ""),
        ("change", _change_text(model, cause)),
        ("accepted", objects(cause.accepted_objects) if cause.accepted_objects else ""),
        ("owners", ", ".join(cause.owners)),
        ("clusters", ", ".join(cause.clusters)),
    ]
    head = [
        Line(title, "bold"),
        *(Line(f"  {name}: {visible(' '.join(text.split()))}") for name, text in facts if text),
    ]
    lines = [part for line in head for part in _wrapped(line, width)]
    if most and len(lines) > most // 2:
        lines = fitted(head, width)
    some = list(islice(_without_follow_ups(cause, rows), most or None))
    end = _show_command(model, some[0], width) if some and has_objects(cause) else []
    for shown in range(len(some), 0, -1):
        more = [Line("and more: --lines 0 prints all", "dim")] if shown < len(some) else []
        table = _object_lines(cause, some[:shown], width, wide=wide)
        if not most or shown == 1 or len(lines) + len(table) + len(more) + len(end) <= most:
            lines += [*table, *more, *end]
            break
    return lines


def _without_follow_ups(cause: Cause, rows: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the rows of a cause but those that say that others of the object kept rules from being checked."""
    is_cause = cause.messages and all(FOLLOWS in message for message in cause.messages)
    return (row for row in rows if is_cause or FOLLOWS not in (row.get("message") or ""))


def _wrapped(line: Line, width: int) -> list[Line]:
    """Return a line as at most `_HEAD` lines; the last one is cut if it says more."""
    lines = wrapped(line, width, indent=4)
    if len(lines) > _HEAD:
        lines[_HEAD - 1] = Line(clipped(f"{lines[_HEAD - 1].text} …", width), line.style)
    return lines[:_HEAD]


def _object_lines(cause: Cause, rows: Sequence[dict[str, Any]], width: int, *, wide: bool) -> list[Line]:
    """Return the table of the objects of a cause; a message that is the same for all of them is printed once."""
    messages = [message_of(row) for row in rows]
    is_same = not wide and len(set(messages)) == 1
    columns = [TableColumn("", may_go=2), TableColumn("OBJECT", may_shrink=True, cuts_middle=True)]
    columns.append(TableColumn("STATUS" if cause.impact else "VERDICT", may_go=1))
    columns += [] if is_same else [TableColumn("MESSAGE", may_shrink=True)]
    cells = [
        (_mark(row), name_of(row) if wide else _place(row), row.get("verdict") or row.get("status"), message)
        for row, message in zip(rows, messages, strict=True)
    ]
    lines = table_lines(columns, [row[: len(columns)] for row in cells], width) if cells else []
    return [*_wrapped(Line(f"  message: {visible(messages[0])}"), width), *lines] if is_same and messages[0] else lines


def _show_command(model: FindingsModel, row: dict[str, Any], width: int) -> list[Line]:
    """Return the command that shows an object."""
    words = [model.shown, *(["--cluster", row["cluster"]] if row.get("cluster") else []), name_of(row)]
    return command_lines(Line(f"Next: auditor show {' '.join(map(shell_word, words))}"), width)


def _change_text(model: FindingsModel, cause: Cause) -> str:
    if not model.run.compared_with:
        return ""
    text = f"{marked(model, cause)}, first seen {cause.first_seen:%Y-%m-%d %H:%M} UTC"
    parts = [
        f"{number:,} {what} {by_count(number, 'object', 'objects')}"
        for number, what in ((cause.new_objects, "new"), (cause.fixed_objects, "fixed"))
        if number
    ]
    return ", ".join([text, *parts])


def _mark(row: dict[str, Any]) -> str:
    return {"new": "NEW", "worse": "WORSE"}.get(row.get("change") or "", "")


def name_of(row: dict[str, Any]) -> str:
    """Return the key of an object; NAMESPACE/NAME if it has none."""
    return row["key"] or f"{row['namespace'] or ''}/{row['name'] or ''}"


def _place(row: dict[str, Any]) -> str:
    """Return namespace and name of an object, after its cluster; its key if it has no name."""
    name = "/".join(filter(None, (row["namespace"], row["name"]))) if row["name"] else name_of(row)
    return f"{row['cluster']}: {name}" if row["cluster"] else name


def message_of(row: dict[str, Any]) -> str:
    """Return the message of a finding, or the reason of an object."""
    if "message" in row:
        return row["message"] or ""
    if row.get("cause_impact") == "loses-data":
        from auditor.causes.counting import dropped_text  # noqa: PLC0415 - it needs NumPy

        return dropped_text(row.get("pruned") or ())
    return impact_message(row.get("cause_impact") or "", row.get("reason") or "")
