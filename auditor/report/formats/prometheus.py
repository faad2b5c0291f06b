"""Metrics for node_exporter's textfile collector: gauges without timestamps, at most 2,000 series.

A run that fails leaves the time of the last success in the file. One that ends without a report leaves all metrics of
the last report too, so that no alert about its problems is resolved because a run failed.

Source: node_exporter collector/textfile.go: a timestamp makes it refuse the file, and HELP must agree between files.
"""

from __future__ import annotations

import io
import re
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from auditor.report.findings.severity import SEVERITIES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import TextIO

    from auditor.report.findings.model import Source
    from auditor.report.formats.problems import Content

__all__ = ["METRICS", "after_earlier", "after_no_report", "write_prometheus"]

MOST_SERIES: Final = 2000
_OTHER: Final = "other"
_SUCCESS: Final = (0, 1)
_LAST_SUCCESS: Final = "auditor_last_success_timestamp_seconds"
_OF_RUN: Final = ("auditor_run_success", "auditor_run_timestamp_seconds", "auditor_run_exit_code", _LAST_SUCCESS)
"""What a run that ends without a report states."""
_SAMPLE: Final = re.compile(r"(auditor_[a-z_]+)((?:\{[^\n]*\})?) ([0-9.e+-]+)")

METRICS: Final = {
    "auditor_run_success": "1 if the last run read and judged everything (exit code 0 or 1), else 0.",
    "auditor_run_timestamp_seconds": "When the last run started.",
    "auditor_last_success_timestamp_seconds": "When the last successful run started; 0 if none is known.",
    "auditor_run_duration_seconds": "How long the last run took.",
    "auditor_run_exit_code": "Exit code of the last run.",
    "auditor_snapshot_modified_timestamp_seconds": "When the file of a dump was last changed.",
    "auditor_snapshot_age_seconds": "Age of a dump at the start of the run.",
    "auditor_snapshot_revision": "Revision of a dump.",
    "auditor_unread_keys": "Keys whose value could not be read.",
    "auditor_objects": "Objects by kind and status.",
    "auditor_problems": "Problems that are not accepted, by severity and change.",
    "auditor_problems_accepted": "Problems that are accepted.",
    "auditor_causes": "Causes that are not accepted, by severity.",
    "auditor_unread_parts": "Parts of dumps that could not be read, lost shards, missing clusters and stale dumps.",
    "auditor_series_folded": 'Series of kinds that are summed up under kind="other", and of dumps under dump="other".',
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
    put(_LAST_SUCCESS, started if run.exit_code in _SUCCESS else content.last_success or 0)
    put("auditor_run_duration_seconds", run.seconds)
    put("auditor_run_exit_code", run.exit_code)
    put("auditor_unread_parts", len(content.warnings))
    if not content.has_manifests:
        put("auditor_unread_keys", sum(kind.statuses.get("unreadable", 0) for kind in content.kinds))
    left = MOST_SERIES - 100
    shown, folded = _oldest(run.sources, left // 6)
    left -= 3 * len(shown) + 2
    for (cluster, dump), source in shown.items():
        labels = {"cluster": cluster, "dump": dump}
        if source.modified is not None:
            put("auditor_snapshot_modified_timestamp_seconds", source.modified.timestamp(), **labels)
            put("auditor_snapshot_age_seconds", max(0.0, started - source.modified.timestamp()), **labels)
        if source.revision is not None:
            put("auditor_snapshot_revision", source.revision, **labels)
    if modified := [one.modified.timestamp() for one in folded if one.modified is not None]:
        labels = {"cluster": "", "dump": _OTHER}
        put("auditor_snapshot_modified_timestamp_seconds", min(modified), **labels)
        put("auditor_snapshot_age_seconds", max(0.0, started - min(modified)), **labels)
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
    _put_objects(content, series, left, sum(3 if one.revision is not None else 2 for one in folded))
    for name in METRICS:
        _write_metric(out, name, [(_labels(labels), _number(value)) for labels, value in series[name]])


def after_earlier(content: Content, earlier: str) -> Content:
    """Return the content with the last success that earlier metrics state."""
    return replace(content, last_success=_last_success(_samples(earlier)))


def after_no_report(earlier: str, started: float, exit_code: int) -> str:
    """Return the metrics after a run without a report: those of the last report, and that this run failed.

    Args:
        earlier: The metrics before the run; empty means there were none.
        started: When the run began, in seconds since 1970.
        exit_code: Its exit code.
    """
    found = _samples(earlier)
    values = (0, int(started), exit_code, _last_success(found) or 0)
    now = {name: [("", _number(value))] for name, value in zip(_OF_RUN, values, strict=True)}
    found.pop("auditor_run_duration_seconds", None)
    out = io.StringIO()
    for name in METRICS:
        _write_metric(out, name, now.get(name, found.get(name, [])))
    return out.getvalue()


def _write_metric(out: TextIO, name: str, samples: Sequence[tuple[str, str]]) -> None:
    """Write a gauge; each sample is its labels as text, and its value."""
    if samples:
        out.write(f"# HELP {name} {METRICS[name]}\n# TYPE {name} gauge\n")
        out.writelines(f"{name}{labels} {value}\n" for labels, value in samples)


def _samples(text: str) -> dict[str, list[tuple[str, str]]]:
    """Return the samples of a file that this module wrote, by metric: labels as text, and value."""
    out: dict[str, list[tuple[str, str]]] = {}
    for line in text.split("\n"):
        found = _SAMPLE.fullmatch(line)
        if found and found[1] in METRICS:
            out.setdefault(found[1], []).append((found[2], found[3]))
    return out


def _last_success(samples: dict[str, list[tuple[str, str]]]) -> float | None:
    try:
        return float(samples[_LAST_SUCCESS][0][1])
    except (KeyError, ValueError):
        return None


def _oldest(sources: Iterable[Source], most: int) -> tuple[dict[tuple[str, str], Source], list[Source]]:
    """Return the dumps that have metrics of their own, by cluster and name, and the others: the youngest.

    If several have the same cluster and name, the oldest has them, as a series may be there only once.
    """
    known: dict[tuple[str, str], Source] = {}
    others = []
    for source in sorted(sources, key=lambda one: one.modified.timestamp() if one.modified is not None else 0.0):
        place = (source.cluster or "", source.name)
        if place in known or len(known) >= most:
            others.append(source)
        else:
            known[place] = source
    return dict(sorted(known.items())), others


def _put_objects(
    content: Content, series: dict[str, list[tuple[dict[str, str], float]]], left: int, folded_before: int
) -> None:
    """Put the objects by kind and status; the smallest kinds are summed up above the bound."""
    counts: Counter[tuple[str, str, str]] = Counter()
    for kind in content.kinds:
        for status, number in kind.statuses.items():
            counts[(kind.group, kind.kind, status)] += number
    largest = sorted(counts, key=lambda key: (key[2] == "valid", -counts[key], key))
    kept = largest[: max(left - 20, 0)]
    shown = Counter({key: counts[key] for key in kept})
    for key in largest[len(kept) :]:
        shown["", _OTHER, key[2]] += counts[key]
    for key in sorted(shown):
        labels = dict(zip(("group", "kind", "status"), key, strict=True))
        series["auditor_objects"].append((labels, shown[key]))
    series["auditor_series_folded"].append(({}, len(largest) - len(kept) + folded_before))


def _labels(labels: dict[str, str]) -> str:
    given = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels.items())
    return f"{{{given}}}" if given else ""


def _escaped(text: str) -> str:
    clean = text.encode("utf-8", "replace").decode()
    return clean.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else repr(float(value))
