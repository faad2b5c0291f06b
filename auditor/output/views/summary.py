"""The summary of a report: the verdict against the last run first, then the worst and the new causes."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from auditor.base.visible import shell_word, visible, visible_tree
from auditor.base.wording import by_count, counted, objects
from auditor.causes.severity import SEVERITIES, UPGRADE
from auditor.causes.topics import Topic
from auditor.causes.upgrade_causes import DEFINITION
from auditor.causes.verdict import VERDICT_WORDS
from auditor.output.views.advice import next_step
from auditor.output.views.cluster_lines import cluster_lines
from auditor.output.views.layout import (
    Line,
    TableColumn,
    command_lines,
    first_lines,
    fitted,
    sentence_lines,
    table_lines,
    width_of,
    wrapped,
)
from auditor.output.views.state import kind_lines, state_lines
from auditor.output.views.upgrade_view import LINES_OF_UPGRADE, answer_lines
from auditor.releases import DEFAULT
from auditor.store.allclear import count_or_none, judged_rows, unread_of

if TYPE_CHECKING:
    import datetime
    from collections.abc import Callable, Sequence

    from auditor.causes.model import FindingsModel
    from auditor.causes.topics import Cause


LINES: Final = 25
"""Lines of output unless a user asks for more."""
UNDELETABLE: Final = "its finalizers cannot be removed: every update is refused"
"""Why an object cannot be deleted, where no more is known."""
_DAY: Final = 86400
_HOUR: Final = 3600
_ABSENT: Final = 3
_TOGETHER: Final = 3
"""New causes of a topic from which on they have one line."""
_KEPT: Final = 2
"""New causes that have a line however many critical ones there are."""
_MESSAGE: Final = 3
"""Lines of a message."""
_DETAIL: Final = " " * 6
_CAUSES: Final = 14
"""Lines for causes that remain however much there is to say of the dumps."""
_ROOMY: Final = 100
"""Columns of a terminal from which on numbers of namespaces are printed."""
_REASONS: Final = 3
"""Lines of a tail from which on reasons against an all-clear are cut, unless there are lines for them."""
_COLUMNS: Final = (
    TableColumn("CAUSE"),
    TableColumn("", may_go=2),
    TableColumn("KIND", may_shrink=True, may_go=1),
    TableColumn("WHAT", may_shrink=True),
    TableColumn("OBJECTS", is_number=True),
)


def summary_lines(model: FindingsModel, width: int, most: int = LINES) -> list[Line]:
    """Return the summary of a report.

    Args:
        model: The report.
        width: Columns of the terminal.
        most: Lines at most.
    """
    shown = _of_upgrade(model) if "upgrade" in model.manifest else model
    head = [
        part
        for line in _head(model)
        for part in wrapped(line, width, between=" · " if "·" in line.text else " ", cuts_paths=False)
    ]
    if shown is not model:
        most = max(most, LINES_OF_UPGRADE)
        answer = answer_lines(model, everything=most > LINES_OF_UPGRADE)
        head = [part for line in answer for part in sentence_lines(line, width)]
    head += [part for line in _servers(model) for part in wrapped(line, width)]
    absent = [Line(visible(text), "critical") for text in [*model.missing, *model.stale, *model.damage]]
    if shown is not model:  # each is a reason why not all of an upgrade was judged
        absent = [part for line in absent for part in sentence_lines(line, width)]
    elif len(absent) > (most_absent := max(_ABSENT, most // 8)):
        absent = [*absent[: most_absent - 1], Line(f"and {len(absent) - most_absent + 1} more such lines", "critical")]
    absent = [part for line in absent for part in wrapped(line, width)]
    if model.has_clusters:
        absent += cluster_lines(model, width, most=max(8, most // 3))
    end = _end(model, width)
    left = most - len(head) - len(absent) - len(end)
    tail = _tail(model, width, left - len(_sections(shown, width, _CAUSES)))
    causes = _sections(shown, width, left - len(tail))
    table = kind_lines(model, width, left - len(tail) - len(causes))
    return [*fitted([*head, *absent, *causes, *table, *tail], width), *end]


def _of_upgrade(model: FindingsModel) -> FindingsModel:
    """Return the report of an upgrade with the causes of the upgrade alone, not those of its objects as they are."""
    causes = [cause for cause in model.causes if cause.impact == UPGRADE]
    return replace(model, causes=causes, topics=[topic for topic in model.topics if topic.causes[0] in causes])


def _head(model: FindingsModel) -> list[Line]:
    run, word = model.run, model.verdict.word
    name = ", ".join(run.clusters[:3]) + (f" and {len(run.clusters) - 3} more" if len(run.clusters) > 3 else "")
    sources = {source.name: source for source in run.sources}.values()  # API servers may share a dump
    dumps = [source.name.rstrip("/").rpartition("/")[2] or source.name for source in sources]
    file = visible(dumps[0]) if len(dumps) == 1 else counted(len(dumps), "dump")
    revisions = [source.revision for source in sources if source.revision is not None]
    if len(revisions) == 1:
        file += f" at revision {revisions[0]}"
    work = f"{run.keys:,} {by_count(run.keys, 'key', 'keys')}"
    release = "" if run.kubernetes == DEFAULT.version else f"Kubernetes {visible(run.kubernetes)}"
    parts = [visible(name), file, release, f"{run.started:%Y-%m-%d %H:%M} UTC", f"{work}, {run.seconds:.1f} s"]
    line = f"{VERDICT_WORDS[word]}  " + " · ".join(filter(None, parts))
    out = [Line(line, {"incomplete": "worse"}.get(word, word) if word in ("worse", "incomplete", "better") else "bold")]
    why = ", ".join(model.verdict.reasons)
    if run.compared_with:
        reports = [cluster["report"] for cluster in model.manifest["diff"].get("clusters") or ()]
        others = sum(report is not None and report != run.compared_with for report in reports)
        more = f", {counted(others, 'cluster')} with an earlier report" if others else ""
        out.append(Line(f"  {why or 'nothing changed'} (compared with {visible(run.compared_with)}{more})"))
    elif why:
        out.append(Line(f"  {why}"))
    return out


def _servers(model: FindingsModel) -> list[Line]:
    """Return a line for each cluster whose dump shows another release of the API server than the one reproduced."""
    manifest = model.manifest
    out = []
    for part in manifest["clusters"] if model.is_fleet else [manifest]:
        server, judged = part.get("server"), part.get("kubernetes_release", manifest["kubernetes_release"])
        minor = int(judged.split(".")[1]) if server else 0
        if server and not server["least"] <= minor <= (server["most"] or minor):
            of = f" of {visible(part['name'])}" if model.is_fleet else ""
            seen = f"  API server{of} was {visible(server['version'])} ({visible(', '.join(server['by']))})"
            out.append(Line(f"{seen}, judged as {judged}: give --kubernetes (auditor releases lists them)"))
    return out


_Group = tuple[str, str, list[Topic]]
"""A section: its title, the style of that, its lines."""


def _sections(model: FindingsModel, width: int, left: int) -> list[Line]:
    """Return the causes, worst and new ones first, in at most that many lines; those of a topic together."""
    groups = _groups(model)
    if sum(len(entries) for _, _, entries in groups) <= left:  # each has a line
        whole = _section_lines(model, groups, width, 1 << 20, is_brief=False)
        if len(whole) <= left:
            return whole
    return _section_lines(model, groups, width, left, is_brief=True)


def _section_lines(
    model: FindingsModel, groups: Sequence[_Group], width: int, left: int, *, is_brief: bool
) -> list[Line]:
    """Return the causes, with fewer details of each if it is to be brief."""
    out: list[Line] = []
    hidden = sum(len(entry.causes) for _, _, entries in groups for entry in entries)
    kept = _kept_for_new(model, groups[1][2], width, left)
    for number, (title, style, entries) in enumerate(groups):
        if not entries or left - len(out) - (hidden > len(entries[0].causes)) < 2:  # a title and a cause
            continue
        kept = 0 if number else kept  # only the critical causes come before the new ones
        out.append(Line(title, style))
        details: list[list[Line]] = []
        for entry in entries:
            used = len(out) + sum(1 + len(lines) for lines in details)
            left_for_new = kept if details else 0  # a title is never alone
            free = left - used - left_for_new - (hidden > len(entry.causes))  # a line says how many are left out
            if free < 1:
                break
            details.append(first_lines(_details(model, entry, width, is_brief=is_brief), free - 1))
            hidden -= len(entry.causes)
        for row, lines in zip(_rows(model, entries[: len(details)], width), details, strict=True):
            out += [row, *lines]
    if hidden:
        out.append(_more(counted(hidden, "more cause"), "auditor findings", model, width))
    return out


def _kept_for_new(model: FindingsModel, fresh: Sequence[Topic], width: int, left: int) -> int:
    """Return the lines that critical causes leave for the first new ones: their title, a line and details for each."""
    kept = sum(1 + len(_details(model, entry, width, is_brief=True)) for entry in fresh[:_KEPT])
    return min(1 + kept, left // 2) if fresh else 0


def _groups(model: FindingsModel) -> list[_Group]:
    """Return the sections; every open cause is in one line, critical ones in one each.

    What is new of a topic has a line for each cause, from three on one for the topic.
    """
    current = [cause for cause in model.causes if cause.is_open]
    critical = [Topic(cause.id, (cause,), cause.objects) for cause in current if cause.severity == "critical"]
    fresh: list[Topic] = []
    more: list[Topic] = []
    rest: list[Topic] = []
    for topic in model.topics:
        causes = [cause for cause in topic.causes if cause.severity != "critical"]
        new = [cause for cause in causes if cause.change == "new"]
        if len(new) < min(len(topic.causes), _TOGETHER):
            fresh += [Topic(cause.id, (cause,), cause.objects) for cause in new]
            causes = [cause for cause in causes if cause.change != "new"]
        if causes:
            group = (
                replace(topic, causes=tuple(causes)) if len(causes) > 1 else Topic("", (causes[0],), causes[0].objects)
            )
            changes = {cause.change for cause in causes}
            (fresh if "new" in changes else more if "more" in changes else rest).append(group)
    fresh.sort(key=lambda entry: SEVERITIES.index(entry.severity))
    groups = [
        (_title("CRITICAL", critical, lambda one: one.change or "", ("new",), always=True), "critical", critical),
        (_title("NEW", fresh, _novelty, ("new", "known")), "bold", fresh),
        (_title("MORE OBJECTS", more, _growth, ("with more objects", "unchanged")), "bold", more),
    ]
    if model.run.compared_with is not None:
        title = _title("STANDING", rest, lambda one: one.severity, SEVERITIES, always=True)
        return [*groups, (title, "bold", rest)]
    for severity in SEVERITIES[1:]:
        own = [entry for entry in rest if entry.severity == severity]
        groups.append((_severity_title(severity, own), severity, own))
    return groups


def _severity_title(severity: str, entries: Sequence[Topic]) -> str:
    """Return the title of a section: how many causes are so severe, and how many milder ones are in their topics."""
    counts = Counter(cause.severity for entry in entries for cause in entry.causes)
    milder = [f"{counts[other]:,} {other}" for other in SEVERITIES if counts[other] and other != severity]
    title = f"{severity.upper()} {counted(counts[severity], 'cause')}"
    return title + (f", with {' and '.join(milder)} of the same topics" if milder else "")


def _novelty(cause: Cause) -> str:
    return "new" if cause.change == "new" else "known"


def _growth(cause: Cause) -> str:
    return "with more objects" if cause.change == "more" else "unchanged"


def _more(what: str, command: str, model: FindingsModel, width: int, *options: str) -> Line:
    """Return a line on what is left out, and the command that prints it; without the report's name if it is long."""
    texts = [f"and {what}: {' '.join((command, name, *options))}" for name in (shell_word(model.shown), "REPORT")]
    return Line(texts[width_of(texts[0]) > width], "dim")


def _title(
    title: str, entries: Sequence[Topic], sort: Callable[[Cause], str], sorts: Sequence[str], *, always: bool = False
) -> str:
    """Return the title of a section: how many causes its lines have, and how many of each sort if they differ.

    Args:
        title: Its first words.
        entries: Its lines.
        sort: Returns the sort of a cause.
        sorts: The sorts that are counted, in order.
        always: Count them also if all causes are of one sort.
    """
    causes = [cause for entry in entries for cause in entry.causes]
    counts = Counter(map(sort, causes))
    parts = [f"{counts[sort]:,} {sort}" for sort in sorts if counts[sort]]
    return f"{title} {counted(len(causes), 'cause')}" + (
        f" ({', '.join(parts)})" if parts and (always or len(counts) > 1) else ""
    )


def _rows(model: FindingsModel, entries: Sequence[Topic], width: int) -> list[Line]:
    """Return a line for each topic; one with a single cause is shown as that cause."""
    cells = []
    for entry in entries:
        cause = entry.causes[0]
        is_one = len(entry.causes) == 1
        mark = marked(model, cause if is_one else replace(cause, change=entry.change))
        count = count_text(cause, with_namespaces=width >= _ROOMY) if is_one else objects(entry.objects)
        cells.append((cause.id if is_one else entry.id, mark, kind_text(model, cause), entry.title, count))
    shown = [
        position for position, column in enumerate(_COLUMNS) if column.title or any(row[position] for row in cells)
    ]
    rows = [[row[position] for position in shown] for row in cells]
    styles = [entry.severity for entry in entries]
    return table_lines([_COLUMNS[position] for position in shown], rows, width, styles=styles, indent=2, header=False)


def _details(model: FindingsModel, entry: Topic, width: int, *, is_brief: bool) -> list[Line]:
    """Return further lines about a topic that is critical or new."""
    details = []
    cause = entry.causes[0]
    changes = dict.fromkeys(text for cause in entry.causes for text in cause.schema_changes)
    if changes:
        details.append(f"definition changed: {'; '.join(list(changes)[:3])}")
    if len(entry.causes) > 1:
        return [Line(f"{_DETAIL}{visible(text)}", "dim") for text in details]
    if not is_brief and cause.change == "new" and (cause.rejected or cause.tolerated_while_unchanged):
        details.append(verdict_text(cause))
    lines = [Line(f"{_DETAIL}{visible(text)}", "dim") for text in details]
    if cause.severity == "critical" and cause.examples:
        text = ": ".join(filter(None, (short_name(cause.examples[0]), _message(model, cause))))
        lines += wrapped(Line(f"{_DETAIL}{visible(text)}", "dim"), width, indent=len(_DETAIL) + 2)[:_MESSAGE]
        if cause.last_good and cause.last_good[0]:
            good = cause.last_good[0].replace("T", " ").replace("Z)", " UTC)")
            lines.append(Line(visible(f"{_DETAIL}last good revision {good}"), "dim"))
        lines += _show_command(model, cause, width)
    return lines


def _message(model: FindingsModel, cause: Cause) -> str:
    """Return what is wrong with the first object of a cause; of a broken kind with what removes it."""
    for kind in model.manifest["kinds"]:
        first = kind["breaking"] or {}
        same = (kind["group"], first.get("key"), first.get("cluster") or "")
        if same == (cause.group, cause.examples[0], cause.example_clusters[0]) and first["reason"]:
            return str(first["reason"])
    message = cause.messages[0] if cause.messages else ""
    return message or (UNDELETABLE if cause.impact == "blocks-delete" else "")


def _show_command(model: FindingsModel, cause: Cause, width: int) -> list[Line]:
    """Return the command that shows the first object of a cause: by its key where that fits, else by the cause."""
    named = ["--cluster", cause.example_clusters[0]] if cause.example_clusters[0] else []
    line = Line("")
    for words in ([*named, cause.examples[0]], [cause.id]):
        command = f"next: auditor show {' '.join(map(shell_word, [model.shown, *words]))}"
        line = Line(f"{_DETAIL}{command}", "dim")
        if width_of(line.text) <= width:
            break
    return command_lines(line, width, indent=len(_DETAIL) + 2)


def kind_text(model: FindingsModel, cause: Cause) -> str:
    """Return a kind, with its group only if the report has causes of another kind of that name."""
    return cause.kind_name if cause.kind in model.ambiguous else cause.kind


def short_name(key: str) -> str:
    """Return the end of a key: namespace and name, or resource and name."""
    return "/".join(key.rsplit("/", 2)[-2:]) if key.startswith("/") else key


def count_text(cause: Cause, *, with_namespaces: bool) -> str:
    """Return how many objects a cause has, and in how many namespaces if that is wanted."""
    if cause.check == DEFINITION and cause.impact == UPGRADE:
        return "definition"
    noun = "key" if cause.impact in ("crashes-server", "breaks-list", "breaks-watch") else "object"
    text = f"{cause.objects:,} {noun}{'' if cause.objects == 1 else 's'}"
    namespaces = cause.namespaces or 0
    return text + (f", {counted(namespaces, 'namespace')}" if with_namespaces and namespaces > 1 else "")


def verdict_text(cause: Cause) -> str:
    """Return how many objects of a cause are refused, and how many are tolerated."""
    parts = []
    if cause.rejected:
        parts.append(f"{cause.rejected:,} rejected at the next write")
    if cause.tolerated_while_unchanged:
        until = visible(cause.guard_path or "the field")
        parts.append(f"{cause.tolerated_while_unchanged:,} tolerated until {until} is edited")
    if cause.tolerated_globally:
        parts.append(f"{cause.tolerated_globally:,} tolerated")
    return ", ".join(parts)


def marked(model: FindingsModel, cause: Cause) -> str:
    """Return NEW, MORE, or the age of a cause."""
    if cause.change in ("new", "more", "fixed"):
        return cause.change.upper()
    if cause.change == "not-rechecked":
        return "NOT CHECKED"
    return age_text(cause.first_seen, model.run.started) if model.run.compared_with else ""


def age_text(since: datetime.datetime, now: datetime.datetime) -> str:
    """Return a span of time as days or hours."""
    seconds = max(0.0, (now - since).total_seconds())
    return f"{seconds / _DAY:.0f}d" if seconds >= _DAY else f"{seconds / _HOUR:.0f}h"


def _tail(model: FindingsModel, width: int, most: int) -> list[Line]:
    """Return lines on what is fixed, accepted, and not judged, in about that many lines."""
    fixed = [cause for cause in model.causes if cause.fixed_objects or cause.fixed_findings]
    counts, is_whole = [], not unread_of(model.manifest)
    if model.run.compared_with:
        count = count_or_none(sum(cause.fixed_objects for cause in fixed), is_whole=is_whole)
        counts.append("FIXED -" if count is None else f"FIXED {count:,}")
    if model.accepted:
        due = model.accepted.get("expiring", 0)
        accepted = sum(cause.accepted_objects for cause in model.causes)
        counts.append(f"ACCEPTED {accepted:,}" + (f" ({due} expire within 7 days)" if due else ""))
        states = ("expired", "unmatched") if is_whole else ("expired",)  # what was not read may match
        counts += [f"{name.upper()} {model.accepted[name]}" for name in states if model.accepted.get(name)]
    judged = judged_rows(model.manifest)
    counts.append(f"JUDGED {judged:,} {by_count(judged, 'object', 'objects')}")
    counts += [] if model.not_judged else ["NOT JUDGED 0"]
    out = [Line(" · ".join(counts))]
    if model.not_judged:
        reasons = Line(visible(f"NOT JUDGED  {', '.join(model.not_judged)}"), "medium")
        lines = wrapped(reasons, width)
        out += lines if len(lines) < max(most, _REASONS) else fitted([reasons], width)
    state = [wrapped(line, width) for line in state_lines(model)]
    shown = [part for parts in state for part in parts]
    if len(out) + len(shown) > most:
        warnings = sum(bool(parts[0].style) for parts in state)
        while len(out) + len(shown) >= most and len(state) > warnings:
            state.pop()
            shown = [part for parts in state for part in parts]
        shown.append(_more("more about the dumps", "auditor summary", model, width, "--lines 0"))
    return out + shown


def _end(model: FindingsModel, width: int) -> list[Line]:
    """Return where the report is, why the run failed, and what to do next."""
    manifest, report = visible_tree(model.manifest), visible(model.shown)
    out = command_lines(Line(f"Report: {report}"), width, indent=0)
    if model.run.exit_code == 1 and manifest.get("exit_reasons"):
        out += wrapped(Line(f"Exit code 1: {'; '.join(manifest['exit_reasons'])}."), width)
    current = [cause for cause in model.causes if cause.is_open]
    if not current and any(cause.accepted_objects for cause in model.causes):
        text = "every finding is accepted; to read them:"
        command = f"auditor findings {shell_word(model.shown)}"
    else:
        text, command = next_step(manifest, model.shown, current)
    line = f"Next: {text}"
    if command and len(line) + len(command) < width:
        return [*out, Line(f"{line.rstrip('.:')}: {command}")]
    out += sentence_lines(Line(line), width) if "upgrade" in manifest else wrapped(Line(line), width)
    return out + (command_lines(Line(f"  {command}"), width, indent=4) if command else [])
