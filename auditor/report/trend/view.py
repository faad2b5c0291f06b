"""The history on a terminal and as data: causes with age and a sparkline, and kinds that became noisy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from auditor.base.visible import visible
from auditor.base.wording import counted
from auditor.report.findings.keys import ids_of
from auditor.report.findings.severity import rank
from auditor.report.findings.titles import kind_name
from auditor.report.trend.noise import LEAST_RUNS, noise_of
from auditor.report.views.layout import Column, Line, fitted, table_lines

if TYPE_CHECKING:
    from auditor.report.trend.history import History

__all__ = ["sparkline", "trend_lines", "trend_rows"]

_BARS: Final = "▁▂▃▄▅▆▇█"
_POINTS: Final = 14
_DAY: Final = 86400
_COLUMNS: Final = (
    Column("CAUSE"),
    Column("SEVERITY", may_go=2),
    Column("AGE", is_number=True),
    Column("FIRST SEEN", may_go=3),
    Column("LAST SEEN", may_go=1),
    Column("OBJECTS", is_number=True),
    Column("TREND"),
    Column("WHAT", may_shrink=True),
)


def sparkline(counts: np.ndarray[Any, Any], points: int = _POINTS) -> str:
    """Return the last counts of a series as bars; a blank is 0."""
    last = counts[-points:]
    most = int(last.max(initial=0))
    return "".join(" " if not one else _BARS[7 * one // most] for one in last.tolist())


def trend_rows(history: History) -> dict[str, Any]:
    """Return the history as JSON data: `runs`, `causes` and `noisy`, current and worst causes first."""
    times = [f"{one:%Y-%m-%dT%H:%M:%SZ}" for one in history.times]
    ids = ids_of([digest for _, digest in history.causes])
    causes = []
    for (cluster, digest), counts in history.objects.items():
        seen = np.flatnonzero(counts)
        if not len(seen):
            continue
        first, last = int(seen[0]), int(seen[-1])
        row = history.causes[(cluster, digest)]
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
                "objects": int(counts[-1]),
                "counts": counts.tolist(),
            }
        )
    causes.sort(key=lambda one: (not one["objects"], rank(one["severity"]), -one["objects"], one["cause"]))
    noisy = []
    for (cluster, group, kind), counts in sorted(history.of_kinds().items()):
        noise = noise_of(counts)
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
                    "counts": counts.tolist(),
                }
            )
    noisy.sort(key=lambda one: -one["score"])
    return {"schema": "auditor/trend/v1", "runs": times, "causes": causes, "noisy": noisy}


def trend_lines(history: History, width: int, most: int) -> list[Line]:
    """Return the history as lines; most 0: all of them."""
    data = trend_rows(history)
    if not data["runs"]:
        return [Line("The history has no run.")]
    out = [Line(f"{counted(len(data['runs']), 'run')} from {data['runs'][0]} to {data['runs'][-1]}")]
    if len(data["runs"]) <= LEAST_RUNS:
        out.append(Line(f"Kinds are compared once there are {LEAST_RUNS + 1} runs."))
    for one in data["noisy"][: len(data["noisy"]) if not most else 4]:
        place = f"{one['cluster']}: " if one["cluster"] else ""
        bars = sparkline(np.array(one["counts"]))
        out.append(Line(f"NOISY  {visible(place + one['kind'])}  {one['objects']} objects  {bars}", "high"))
        out += [Line(f"       {part}") for part in one["arithmetic"].split("; ")]
    causes = data["causes"]
    left = most - len(out) - 2 if most else len(causes)
    shown = causes[: max(1, left)]
    rows = []
    for one in shown:
        place = f"{one['cluster']}: " if one["cluster"] else ""
        rows.append(
            (
                *(one["cause"], one["severity"], f"{one['age_days']:.0f}d", one["first_seen"][:10]),
                *(one["last_seen"][:10], one["objects"], sparkline(np.array(one["counts"]))),
                f"{place}{one['kind']}: {one['title']}",
            )
        )
    styles = [one["severity"] if one["objects"] else "dim" for one in shown]
    out += table_lines(_COLUMNS, rows, width, styles=styles) if rows else [Line("No cause was ever seen.")]
    if len(shown) < len(causes):
        out.append(Line(f"and {counted(len(causes) - len(shown), 'more cause')}: --lines 0 prints all", "dim"))
    return fitted(out, width)
