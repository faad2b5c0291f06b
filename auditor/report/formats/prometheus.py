"""Metrics for node_exporter's textfile collector: gauges without timestamps, at most 2,000 series.

Source: node_exporter collector/textfile.go: a timestamp makes it refuse the file, and HELP must agree between files.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from auditor.report.findings.severity import SEVERITIES

if TYPE_CHECKING:
    from typing import TextIO

    from auditor.report.formats.problems import Content

__all__ = ["METRICS", "write_prometheus"]

MOST_SERIES: Final = 2000
_OTHER: Final = "other"
_SUCCESS: Final = (0, 1)

METRICS: Final = {
    "auditor_run_success": "1 if the last run read and judged everything (exit code 0 or 1), else 0.",
    "auditor_run_timestamp_seconds": "When the last run started.",
    "auditor_last_success_timestamp_seconds": "When the last successful run started; absent if the last one failed.",
    "auditor_run_duration_seconds": "How long the last run took.",
    "auditor_run_exit_code": "Exit code of the last run.",
    "auditor_snapshot_modified_timestamp_seconds": "When the file of a dump was last changed.",
    "auditor_snapshot_age_seconds": "Age of a dump at the start of the run.",
    "auditor_snapshot_revision": "Revision of a dump.",
    "auditor_objects": "Objects by kind and status.",
    "auditor_problems": "Problems that are not accepted, by severity and change.",
    "auditor_problems_accepted": "Problems that are accepted.",
    "auditor_causes": "Causes that are not accepted, by severity.",
    "auditor_unread_parts": "Parts of dumps that could not be read, lost shards, missing clusters and stale dumps.",
    "auditor_series_folded": 'Series of auditor_objects that are summed up under kind="other".',
}
"""The gauges, each with its HELP text."""


def write_prometheus(content: Content, out: TextIO) -> None:
    """Write the metrics of a report."""
    run = content.run
    started = run.started.timestamp()
    series: dict[str, list[tuple[dict[str, str], float]]] = {name: [] for name in METRICS}

    def put(name: str, value: float, **labels: str) -> None:
        series[name].append((labels, value))

    put("auditor_run_success", int(run.exit_code in _SUCCESS))
    put("auditor_run_timestamp_seconds", started)
    if run.exit_code in _SUCCESS:
        put("auditor_last_success_timestamp_seconds", started)
    put("auditor_run_duration_seconds", run.seconds)
    put("auditor_run_exit_code", run.exit_code)
    put("auditor_unread_parts", len(content.warnings))
    left = MOST_SERIES - 100
    for source in run.sources[: left // 6]:
        labels = {"cluster": source.cluster or "", "dump": source.name}
        left -= 3
        if source.modified is not None:
            put("auditor_snapshot_modified_timestamp_seconds", source.modified.timestamp(), **labels)
            put("auditor_snapshot_age_seconds", max(0.0, started - source.modified.timestamp()), **labels)
        if source.revision is not None:
            put("auditor_snapshot_revision", source.revision, **labels)
    tally: Counter[tuple[str, str]] = Counter()
    accepted = 0
    for problem in content.problems():
        if problem.accepted:
            accepted += 1
        else:
            tally[(problem.severity, problem.change or "unknown")] += 1
    for severity in SEVERITIES:
        for change in sorted({one for _, one in tally} | {"new", "same"}):
            put("auditor_problems", tally[(severity, change)], severity=severity, change=change)
        put("auditor_causes", sum(cause.severity == severity for cause in content.open_causes), severity=severity)
    put("auditor_problems_accepted", accepted)
    _put_objects(content, series, left)
    for name, text in METRICS.items():
        if not series[name]:
            continue
        out.write(f"# HELP {name} {text}\n# TYPE {name} gauge\n")
        for labels, value in series[name]:
            given = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels.items())
            out.write(f"{name}{{{given}}} {_number(value)}\n" if given else f"{name} {_number(value)}\n")


def _put_objects(content: Content, series: dict[str, list[tuple[dict[str, str], float]]], left: int) -> None:
    """Put the objects by kind and status; the smallest kinds are summed up above the bound."""
    counts: Counter[tuple[str, str, str]] = Counter()
    for kind in content.kinds:
        for status, number in kind.statuses.items():
            counts[(kind.group, kind.kind, status)] += number
    largest = sorted(counts, key=lambda key: (key[2] == "valid", -counts[key], key))
    kept = sorted(largest[: max(left - 20, 0)])
    folded: Counter[str] = Counter()
    for key in largest[max(left - 20, 0) :]:
        folded[key[2]] += counts[key]
    for key in kept:
        labels = dict(zip(("group", "kind", "status"), key, strict=True))
        series["auditor_objects"].append((labels, counts[key]))
    for status in sorted(folded):
        series["auditor_objects"].append(({"group": "", "kind": _OTHER, "status": status}, folded[status]))
    series["auditor_series_folded"].append(({}, len(largest) - len(kept)))


def _escaped(text: str) -> str:
    clean = text.encode("utf-8", "replace").decode()
    return clean.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else repr(float(value))
