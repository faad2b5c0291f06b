"""The clusters of a fleet, one line each: worst first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from auditor.base.statuses import Impact
from auditor.base.visible import shell_word
from auditor.causes.table import read_rows
from auditor.causes.verdict import VERDICT_WORDS
from auditor.output.views.layout import Line, TableColumn, table_lines
from auditor.store.allclear import count_or_none, unread_of

if TYPE_CHECKING:
    import datetime
    from collections.abc import Sequence

    from auditor.causes.model import FindingsModel


_COLUMNS: Final = (
    TableColumn("CLUSTER", may_shrink=True),
    TableColumn("VERDICT"),
    TableColumn("CRITICAL", is_number=True),
    TableColumn("HIGH", is_number=True),
    TableColumn("NEW OBJECTS", is_number=True),
    TableColumn("FIXED OBJECTS", is_number=True, may_go=1),
    TableColumn("SNAPSHOT AGE", is_number=True, may_go=2),
)
_DAY: Final = 86400
_HOUR: Final = 3600
_OF_STATES: Final = {"lost": "damaged"}
_ORDER: Final = ("missing", "damaged", "stale", "worse", "not-compared", "same", "better")


def cluster_rows(model: FindingsModel) -> list[dict[str, Any]]:
    """Return a row for each cluster of a fleet, also for those without a dump: most critical causes, then worst.

    A verdict is worse, same or better than the earlier report; missing, damaged or stale if the dump is; not-compared
    if no earlier report has the cluster, whose NEW and FIXED are then None. CRITICAL and HIGH are causes, NEW and FIXED
    are objects. If a cluster was not read whole tonight (`complete` is false), its numbers are of what was read, and
    None is unknown.
    """
    rows = read_rows(model.path) or []
    manifest = model.manifest
    alone = {
        cluster["name"] for cluster in (manifest.get("diff") or {}).get("clusters") or () if cluster["report"] is None
    }
    states: dict[str, str] = {}
    for part in unread_of(manifest):
        states.setdefault(part.cluster, part.what)  # the worst comes first
    out = []
    for name in model.cluster_names:
        own = [row for row in rows if row["cluster"] == name]
        current = [row for row in own if row["objects"] > row["accepted_objects"]]
        inputs = [
            source
            for source in manifest["inputs"]
            if (source.get("cluster") or manifest["options"].get("cluster")) == name
        ]
        fresh, fixed = _objects_of(current, "new_objects"), _objects_of(own, "fixed_objects")
        is_compared = bool(model.run.compared_with) and name not in alone
        if name in states:
            verdict = _OF_STATES.get(states[name], states[name])
        elif not is_compared:
            verdict = "not-compared"
        else:
            verdict = "worse" if fresh else "better" if fixed else "same"
        times = [source["modified"] for source in inputs if source.get("modified")]
        is_whole = name not in states
        counts = {severity: sum(row["severity"] == severity for row in current) for severity in ("critical", "high")}
        counts |= {"new": fresh, "fixed": fixed} if is_compared else {}
        out.append(
            {
                "cluster": name,
                "verdict": verdict,
                "complete": is_whole,
                "new": None,
                "fixed": None,
                **{severity: count_or_none(count, is_whole=is_whole) for severity, count in counts.items()},
                "snapshot_age": _age(max(times), model.run.started) if times else None,
            }
        )
    out.sort(
        key=lambda row: (
            -int(row["critical"] or 0),
            _ORDER.index(row["verdict"]),
            -int(row["high"] or 0),
            row["cluster"],
        )
    )
    return out


def _objects_of(rows: Sequence[dict[str, Any]], name: str) -> int:
    """Return the objects of causes together.

    What fails each apply nearly always has a finding that says so too: it counts only beyond the objects of the others.
    """
    failing: int = sum(row[name] for row in rows if row["impact"] == Impact.BLOCKS_APPLY)
    every: int = sum(row[name] for row in rows)
    return max(failing, every - failing)


def _age(modified: str, now: datetime.datetime) -> str:
    import datetime  # noqa: PLC0415

    seconds = max(0.0, (now - datetime.datetime.fromisoformat(modified)).total_seconds())
    if seconds < _HOUR:
        return "<1h"
    return f"{seconds / _DAY:.0f}d" if seconds >= 2 * _DAY else f"{seconds / _HOUR:.0f}h"


def _says_something(row: dict[str, Any]) -> bool:
    return not row["complete"] or row["verdict"] == "worse" or any(row[name] for name in ("critical", "high", "fixed"))


def _count_text(row: dict[str, Any], name: str) -> str | None:
    """Return a count of a cluster as the table has it; of a damaged dump it is what was read at least."""
    count = row[name]
    return f"at least {count}" if count and row["verdict"] == "damaged" else count


def cluster_lines(model: FindingsModel, width: int, most: int) -> list[Line]:
    """Return the table of the clusters, in at most that many lines; if not all fit, without those that are well."""
    rows = cluster_rows(model)
    shown = rows if len(rows) + 1 <= most else list(filter(_says_something, rows[: most - 2])) or rows[:1]
    bad = ("missing", "damaged", "stale", "worse")
    styles = ["worse" if row["verdict"] in bad else "" for row in shown]
    rows_shown = [
        (
            row["cluster"],
            VERDICT_WORDS.get(row["verdict"], row["verdict"].upper()),
            *(_count_text(row, name) for name in ("critical", "high", "new", "fixed")),
            row["snapshot_age"],
        )
        for row in shown
    ]
    lines = table_lines(_COLUMNS, rows_shown, width, styles=styles)
    if len(shown) < len(rows):
        command = f"auditor summary {shell_word(model.shown)} --lines 0"
        lines.append(Line(f"and {len(rows) - len(shown)} more clusters: {command}", "dim"))
    return lines
