"""The summary of a report: its state first, then the critical causes, what was not read, and what is new."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from auditor.base.visible import shell_word, visible, visible_tree
from auditor.base.wording import by_count, counted, objects
from auditor.causes.exit_code import exit_text
from auditor.causes.severity import SEVERITIES, UPGRADE, rank
from auditor.causes.topics import Topic
from auditor.causes.upgrade_causes import DEFINITION
from auditor.causes.verdict import STATE_WORDS, change_text, counts_text
from auditor.output.views.advice import next_step
from auditor.output.views.cluster_lines import cluster_lines
from auditor.output.views.layout import (
    Line,
    TableColumn,
    command_lines,
    first_lines,
    fitted,
    middle_clipped,
    sentence_lines,
    table_lines,
    width_of,
    wrapped,
)
from auditor.output.views.state import kind_lines, state_lines
from auditor.output.views.upgrade_view import LINES_OF_UPGRADE, answer_lines
from auditor.releases import DEFAULT
from auditor.sources.source_plan import BESIDE
from auditor.store.allclear import judged_rows, unread_of
from auditor.updates.apply_answer import faults_in

if TYPE_CHECKING:
    import datetime
    from collections.abc import Callable, Iterable, Sequence

    from auditor.causes.model import FindingsModel
    from auditor.causes.topics import Cause


LINES: Final = 24
"""Lines of output unless a user asks for more: with the prompt of a shell they fill a terminal of 25."""
_REASONS: Final = {
    "blocks-delete": "its finalizers cannot be removed: every update is refused",
    "blocks-apply": "a value does not fit its type: each apply fails (500), also one that repairs it",
}
"""What is wrong with an object by its impact, where no more is known."""
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
_ROOMY: Final = 100
"""Columns of a terminal from which on names of more clusters are printed."""
_TABLE: Final = 6
"""Lines of the table of clusters, and of known causes, that come before details of critical and new causes."""
_COLUMNS: Final = (
    TableColumn("", may_go=2),
    TableColumn("KIND", may_shrink=True),
    TableColumn("OBJECT", may_shrink=True, cuts_middle=True, may_go=1),
    TableColumn("WHAT", may_shrink=True),
    TableColumn("CLUSTERS", may_shrink=True),
    TableColumn("CAUSE"),
)
_ALL: Final = 1 << 20


def summary_lines(model: FindingsModel, width: int, most: int = LINES) -> list[Line]:
    """Return the summary of a report: state, critical causes, what was not read, new causes, clusters, the others.

    Args:
        model: The report.
        width: Columns of the terminal.
        most: Lines at most.
    """
    shown = _of_upgrade(model) if "upgrade" in model.manifest else model
    if shown is model:
        head = [part for line in _head(model) for part in wrapped(line, width, between=" · ", cuts_paths=False)]
    else:
        most = max(most, LINES_OF_UPGRADE)
        answer = answer_lines(model, everything=most > LINES_OF_UPGRADE)
        head = [part for line in answer for part in sentence_lines(line, width)]
    head += [part for line in _servers(model) for part in wrapped(line, width)]
    end = _end(model, width)
    left = most - len(head) - len(end)
    body = _body(shown, width, _ALL)
    if len(body) > left:
        body = _body(shown, width, left)
    return [*fitted([*head, *body], width), *end]


def _body(model: FindingsModel, width: int, most: int) -> list[Line]:
    """Return what is between the first and the last lines.

    Each critical cause has a line before anything else has one; details have those that are left.
    """
    critical, fresh, *known = _groups(model)
    left = most - len(tail := _tail(model, width, 2)) - len(absent := _absent(model, width, most))
    rows = sum(len(entries) + 1 for _, _, entries in known if entries)
    table = min(len(model.cluster_names) + 1, _TABLE) if model.has_clusters else 0
    of_new = sum(1 + len(_details(model, entry, width, is_brief=True)) for entry in fresh[2][:_KEPT])
    later = [1 + of_new if fresh[2] else 0, table, min(rows, _TABLE)]
    out: list[Line] = []
    entries = [entry for _, _, entries in (critical, fresh, *known) for entry in entries]
    hidden = {cause.id: cause for entry in entries for cause in entry.causes}

    def add(group: _Group, most_lines: int, kept: int) -> None:
        lines, shown = _section(model, group, width, most_lines, kept, is_brief=most < _ALL)
        out.extend(lines)
        for cause in shown:
            hidden.pop(cause.id, None)

    add(critical, left - bool(fresh[2] or known) - min(later[0], left // 2), sum(later[1:]))
    out += absent
    left += len(absent)
    add(fresh, left - len(out) - bool(hidden), min(sum(later[1:]), max(0, left - len(out) - later[0] - 1)))
    if table and (lines := left - len(out) - 1) >= min(table, _ABSENT):
        out += cluster_lines(model, width, most=max(table, lines - later[2]) if lines > table else lines)
    for group in known:
        add(group, left - len(out) - 1, 0)
    if hidden:
        what = f"{len(hidden):,} more {by_count(len(hidden), 'cause', 'causes')}: {severities_text(hidden.values())}"
        out.append(_more(what, "auditor findings", model, width))
    tail = _tail(model, width, left + len(tail) - len(out))
    return [*out, *kind_lines(model, width, most - len(out) - len(tail)), *tail]


def severities_text(causes: Iterable[Cause]) -> str:
    """Return how many causes of each severity there are; of critical ones also that there are none."""
    counts = Counter(cause.severity for cause in causes)
    shown = [severity for severity in SEVERITIES if counts[severity] or not rank(severity)]
    return ", ".join(f"{counts[severity]:,} {severity}" for severity in shown)


def _absent(model: FindingsModel, width: int, most: int) -> list[Line]:
    """Return lines on what is missing, stale or damaged: a few of one line each unless there are lines for all."""
    lines = [Line(visible(text), "critical") for text in [*model.missing, *model.stale, *model.damage]]
    if most == _ALL or "upgrade" in model.manifest:  # each is a reason why not all of an upgrade was judged
        return [part for line in lines for part in sentence_lines(line, width)]
    parts: dict[tuple[str, ...], list[str]] = {}
    for part in unread_of(model.manifest):
        other = part.where if part.where.endswith(BESIDE) else ""  # another dump
        parts.setdefault((part.what, part.cluster, part.source, other), []).append(part.line)
    texts = [f"{own[0]} (and {len(own) - 1} more)" if len(own) > 1 else own[0] for own in parts.values()]
    lines = [Line(visible(text), "critical") for text in texts]
    if len(lines) > _ABSENT:
        lines = [*lines[: _ABSENT - 1], Line(f"and {len(lines) - _ABSENT + 1} more such lines", "critical")]
    return [replace(line, text=middle_clipped(line.text, width), whole=(line.text,)) for line in lines]


def _of_upgrade(model: FindingsModel) -> FindingsModel:
    """Return the report of an upgrade with the causes of the upgrade alone, not those of its objects as they are."""
    causes = [cause for cause in model.causes if cause.impact == UPGRADE]
    return replace(model, causes=causes, topics=[topic for topic in model.topics if topic.causes[0] in causes])


def _head(model: FindingsModel) -> list[Line]:
    run, manifest = model.run, model.manifest
    name = ", ".join(run.clusters) if len(run.clusters) <= _ABSENT else counted(len(run.clusters), "cluster")
    sources = {source.name: source for source in run.sources}.values()  # API servers may share a dump
    dumps = [source.name.rstrip("/").rpartition("/")[2] or source.name for source in sources]
    file = visible(dumps[0]) if len(dumps) == 1 else counted(len(dumps), "dump")
    revisions = [source.revision for source in sources if source.revision is not None]
    if len(revisions) == 1:
        file += f" at revision {revisions[0]}"
    is_whole, diff = not unread_of(manifest), manifest.get("diff") or {}
    change = change_text(model.causes, diff.get("started") or "", is_whole=is_whole)
    state = [visible(name or dumps[0] if dumps else name), counts_text(model.causes, is_whole=is_whole), change]
    style = {"broken": "critical", "at-risk": "worse", "incomplete": "worse", "clean": "better"}.get(
        model.state, "bold"
    )
    work = f"{run.keys:,} {by_count(run.keys, 'key', 'keys')}, {run.seconds:.1f} s"
    release = "" if run.kubernetes == DEFAULT.version else f"Kubernetes {visible(run.kubernetes)}"
    facts = [file, release, f"{run.started:%Y-%m-%d %H:%M} UTC", work]
    if run.compared_with:
        reports = [cluster["report"] for cluster in diff.get("clusters") or ()]
        others = sum(report is not None and report != run.compared_with for report in reports)
        more = f" ({counted(others, 'cluster')} with an earlier report)" if others else ""
        facts += [f"compared with {visible(run.compared_with)}{more}", *model.verdict.changes]
    return [
        Line(f"{STATE_WORDS[model.state]}  {' · '.join(filter(None, state))}", style),
        Line(f"  {' · '.join(filter(None, facts))}"),
    ]


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


def _section(
    model: FindingsModel, group: _Group, width: int, most: int, kept: int, *, is_brief: bool
) -> tuple[list[Line], list[Cause]]:
    """Return a title, a line for each entry and their details, in at most so many lines; and the causes that are shown.

    Args:
        model: The report.
        group: The section.
        width: Columns of the terminal.
        most: Lines at most.
        kept: Lines of `most` that no details take.
        is_brief: Whether details are brief.
    """
    title, style, entries = group
    if not entries or most < 2:
        return [], []
    shown = entries[: most - 1]
    out, spare = [Line(title, style)], most - 1 - len(shown) - kept
    for entry, row in zip(shown, _rows(model, shown, width), strict=True):
        details = first_lines(_details(model, entry, width, is_brief=is_brief), max(0, spare))
        spare -= len(details)
        out += [row, *details]
    return out, [cause for entry in shown for cause in entry.causes]


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
    commands = [f": {' '.join((command, name, *options))}" for name in (shell_word(model.shown), "REPORT")]
    texts = [f"and {what}{text}" for text in commands]
    texts.append(f"and {what.partition(':')[0]}: {command} REPORT")
    return Line(next((text for text in texts if width_of(text) <= width), texts[-1]), "dim")


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
    """Return a line for each topic, its id last; one with a single cause is shown as that cause."""
    cells = []
    for entry in entries:
        cause = entry.causes[0]
        is_one = len(entry.causes) == 1
        mark = marked(model, cause if is_one else replace(cause, change=entry.change))
        clusters = dict.fromkeys(name for cause in entry.causes for name in cause.clusters)
        where = clusters_text(list(clusters), 2 if width >= _ROOMY else 1) if model.has_clusters else ""
        example = example_text(cause, cause.objects if is_one else entry.objects)
        cells.append((mark, kind_text(model, cause), example, entry.title, where, cause.id if is_one else entry.id))
    shown = [position for position, _ in enumerate(_COLUMNS) if any(row[position] for row in cells)]
    rows = [[row[position] for position in shown] for row in cells]
    styles = [entry.severity for entry in entries]
    return table_lines([_COLUMNS[position] for position in shown], rows, width, styles=styles, indent=2, header=False)


def clusters_text(names: Sequence[str], most: int = 2) -> str:
    """Return the names of clusters, in so many words: `prod, c39 and 11 more`."""
    if len(names) <= most + 1:
        return ", ".join(names)
    return f"{', '.join(names[:most])} and {len(names) - most} more"


def example_text(cause: Cause, count: int) -> str:
    """Return an object of a cause, and how many more there are: `north/route-00 +23`."""
    if not cause.examples or (cause.impact == UPGRADE and cause.check != DEFINITION):
        return objects(count)
    return short_name(cause.examples[0]) + (f" +{count - 1:,}" if count > 1 else "")


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
    if cause.severity == "critical":
        lines += cause_details(model, cause, width)
    return lines


def cause_details(model: FindingsModel, cause: Cause, width: int) -> list[Line]:
    """Return what is wrong with the first object of a critical cause, its last good revision, and how to see it."""
    if not cause.examples:
        return []
    lines: list[Line] = []
    message = "; to do: ".join(filter(None, (_message(model, cause), cause.remedy.partition(";")[0])))
    if message:
        lines = wrapped(Line(f"{_DETAIL}{visible(message)}", "dim"), width, indent=len(_DETAIL) + 2)[:_MESSAGE]
    if cause.last_good and cause.last_good[0]:
        good = cause.last_good[0].replace("T", " ").replace("Z)", " UTC)")
        lines.append(Line(visible(f"{_DETAIL}last good revision {good}"), "dim"))
    return [*lines, *_show_command(model, cause, width)]


def _message(model: FindingsModel, cause: Cause) -> str:
    """Return what is wrong with the first object of a cause; of a broken kind with what removes it."""
    for kind in model.manifest["kinds"]:
        first = kind["breaking"] or {}
        same = (kind["group"], first.get("key"), first.get("cluster") or "")
        if same == (cause.group, cause.examples[0], cause.example_clusters[0]) and first["reason"]:
            return str(first["reason"])
    message = cause.messages[0] if cause.messages else ""
    return impact_message(cause.impact or "", message)


def impact_message(impact: str, reason: str) -> str:
    """Return what is wrong with an object that has an impact, by the reason in its row; without one in our words."""
    return (faults_in(reason) if impact == "blocks-apply" else reason) or _REASONS.get(impact, "")


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
    return f"for {age_text(cause.first_seen, model.run.started)}" if model.run.compared_with else ""


def age_text(since: datetime.datetime, now: datetime.datetime) -> str:
    """Return a span of time as days or hours."""
    seconds = max(0.0, (now - since).total_seconds())
    if seconds < _HOUR:
        return "<1h"
    return f"{seconds / _DAY:.0f}d" if seconds >= _DAY else f"{seconds / _HOUR:.0f}h"


def _tail(model: FindingsModel, width: int, most: int) -> list[Line]:
    """Return lines on what is accepted and not judged, in about that many lines."""
    counts, is_whole = [], not unread_of(model.manifest)
    if model.accepted:
        due = model.accepted.get("expiring", 0)
        accepted = sum(cause.accepted_objects for cause in model.causes)
        counts.append(f"ACCEPTED {objects(accepted)}" + (f" ({due} expire within 7 days)" if due else ""))
        states = ("expired", "unmatched") if is_whole else ("expired",)  # what was not read may match
        counts += [f"{name.upper()} {model.accepted[name]}" for name in states if model.accepted.get(name)]
    judged = judged_rows(model.manifest)
    counts.append(f"JUDGED {judged:,} {by_count(judged, 'object', 'objects')}")
    counts.append(f"NOT JUDGED  {', '.join(model.not_judged)}" if model.not_judged else "NOT JUDGED 0")
    reasons = Line(visible(" · ".join(counts)), "medium" if model.not_judged else "")
    out = wrapped(reasons, width)
    if len(out) >= most:
        out = fitted([reasons], width)
    state = [wrapped(line, width) for line in state_lines(model)]
    shown = [part for parts in state for part in parts]
    if len(out) + len(shown) > most:
        while len(out) + len(shown) >= most and state:
            state.pop()
            shown = [part for parts in state for part in parts]
        shown.append(_more("more about the dumps", "auditor summary", model, width, "--lines 0"))
    return out + shown


def _end(model: FindingsModel, width: int) -> list[Line]:
    """Return where the report is, why the run failed, and what to do next."""
    manifest, report = visible_tree(model.manifest), visible(model.shown)
    out = command_lines(Line(f"Report: {report}"), width, indent=0)
    if "upgrade" not in manifest or manifest.get("exit_reasons"):
        out += wrapped(Line(exit_text(manifest)), width)
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
