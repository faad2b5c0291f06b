"""The history on a terminal and as data: causes with age and a sparkline, and kinds that became noisy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from auditor.base.visible import visible
from auditor.base.wording import counted, objects
from auditor.causes.keys import ids_of
from auditor.causes.severity import rank
from auditor.causes.titles import kind_name
from auditor.history.noise import LEAST_RUNS, noise_of
from auditor.output.views.layout import Line, TableColumn, fitted, table_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from auditor.history.runs import History


_BARS: Final = "▁▂▃▄▅▆▇█"
_POINTS: Final = 14
_DAY: Final = 86400
_COLUMNS: Final = (
    TableColumn("CAUSE"),
    TableColumn("SEVERITY", may_go=2),
    TableColumn("AGE", is_number=True),
    TableColumn("FIRST SEEN", may_go=3),
    TableColumn("LAST SEEN", may_go=1),
    TableColumn("OBJECTS", is_number=True),
    TableColumn("TREND"),
    TableColumn("WHAT", may_shrink=True),
)


def sparkline(counts: Sequence[int | None], points: int = _POINTS) -> str:
    """Return the last counts of a series as bars; a blank is 0, a question mark what is not known."""
    last = counts[-points:]
    most = max((count for count in last if count), default=0)
    return "".join("?" if count is None else _BARS[7 * count // most] if count else " " for count in last)


def trend_rows(history: History) -> dict[str, Any]:
    """Return the history as JSON data: `runs`, `causes` and `noisy`, current and worst causes first.

    A count of a run that did not read the cluster whole is None; `at_least` is what the last run read then.
    """
    times = [f"{time:%Y-%m-%dT%H:%M:%SZ}" for time in history.times]
    ids = ids_of([digest for _, digest in history.causes])
    causes = []
    for (cluster, digest), counts in history.objects.items():
        seen = np.flatnonzero(counts)
        if not len(seen):
            continue
        first, last = int(seen[0]), int(seen[-1])
        row = history.causes[(cluster, digest)]
        unread = history.is_unread(cluster)
        known = _known(counts, unread)
        age = history.times[last] - history.times[first]
        causes.append(
            {
                "cause": ids[digest],
                "cluster": cluster or None,
                "severity": row["severity"],
                "kind": kind_name(row["group"] or "", row["kind"] or ""),
                "title": row["title"],
                "first_seen": times[first],
                "last_seen": times[last],
                "age_days": round(age.total_seconds() / _DAY, 2),
                "objects": known[-1],
                "at_least": int(counts[-1]) if unread[-1] else None,
                "counts": known,
            }
        )
    causes.sort(key=lambda one: (_rank_of_count(one), rank(one["severity"]), -_read(one), one["cause"]))
    noisy: list[dict[str, Any]] = []
    for (cluster, group, kind), counts in sorted(history.of_kinds().items()):
        unread = history.is_unread(cluster)
        noise = noise_of(counts, unread)
        if noise is not None and noise.is_noisy:
            noisy.append(
                {
                    "cluster": cluster or None,
                    "kind": kind_name(group, kind),
                    "objects": noise.value,
                    "median": noise.median,
                    "mad": noise.mad,
                    "scale": round(noise.scale, 4),
                    "score": round(noise.score, 2),
                    "runs": noise.runs,
                    "arithmetic": noise.arithmetic(),
                    "counts": _known(counts, unread),
                }
            )
    noisy.sort(key=lambda one: -one["score"])
    return {"schema": "auditor/trend/v1", "runs": times, "causes": causes, "noisy": noisy}


def _known(counts: np.ndarray[Any, Any], unread: np.ndarray[Any, Any]) -> list[int | None]:
    return [None if is_unread else count for count, is_unread in zip(counts.tolist(), unread.tolist(), strict=True)]


def _read(row: dict[str, Any]) -> int:
    """Return how many objects of a cause the last run read."""
    return int(row["objects"] or row["at_least"] or 0)


def _rank_of_count(row: dict[str, Any]) -> int:
    """Return 0 for a cause of the last run, 1 for one that the last run could not look for, 2 for one that is gone."""
    return 0 if _read(row) else 1 if row["objects"] is None else 2


def _count_text(row: dict[str, Any]) -> str:
    if row["objects"] is not None:
        return str(row["objects"])
    return f"at least {row['at_least']}" if row["at_least"] else "-"


def trend_lines(history: History, width: int, most: int) -> list[Line]:
    """Return the history as lines; most 0: all of them."""
    data = trend_rows(history)
    out = [Line(f"{counted(len(data['runs']), 'run')} from {data['runs'][0]} to {data['runs'][-1]}")]
    if len(data["runs"]) <= LEAST_RUNS:
        out.append(Line(f"Kinds are compared once there are {LEAST_RUNS + 1} runs."))
    unread = sorted(cluster for cluster, runs in history.unread.items() if runs[-1])
    if unread:
        named = ", ".join(map(visible, unread[:3])) + (f" and {len(unread) - 3} more" if len(unread) > 3 else "")
        out.append(Line(f"The last run did not read all{f' of {named}' if any(unread) else ''}.", "critical"))
    if history.unread:
        out.append(Line("A question mark is a run that did not read the cluster whole.", "dim"))
    for row in data["noisy"][: len(data["noisy"]) if not most else 4]:
        place = f"{row['cluster']}: " if row["cluster"] else ""
        bars = sparkline(row["counts"])
        out.append(Line(f"NOISY  {visible(place + row['kind'])}  {objects(row['objects'])}  {bars}", "high"))
        out += [Line(f"       {part}") for part in row["arithmetic"].split("; ")]
    causes = data["causes"]
    left = most - len(out) - 2 if most else len(causes)
    shown = causes[: max(1, left)]
    rows = []
    for row in shown:
        place = f"{row['cluster']}: " if row["cluster"] else ""
        rows.append(
            (
                *(row["cause"], row["severity"], f"{row['age_days']:.0f}d", row["first_seen"][:10]),
                *(row["last_seen"][:10], _count_text(row), sparkline(row["counts"])),
                f"{place}{row['kind']}: {row['title']}",
            )
        )
    styles = ["dim" if _rank_of_count(row) > 1 else row["severity"] for row in shown]
    out += (
        table_lines(_COLUMNS, rows, width, styles=styles)
        if rows
        else [Line("No cause was ever seen" + (" in what was read." if history.unread else "."))]
    )
    if len(shown) < len(causes):
        out.append(Line(f"and {counted(len(causes) - len(shown), 'more cause')}: --lines 0 prints all", "dim"))
    return fitted(out, width)
