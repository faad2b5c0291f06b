"""Metrics for node_exporter's textfile collector: gauges without timestamps, at most 2,000 series.

All metrics of a report of one named cluster have its name, so that the collector takes the files of many such reports.
A run that fails leaves the time of the last success in the file. One that ends without a report leaves all metrics of
the last report too, so that no alert about its problems is resolved because a run failed. Likewise a cluster that was
not read whole keeps the problems and causes that it had in the file, if these are more than those that were read.

Source: node_exporter collector/textfile.go: a timestamp makes it refuse the file, and HELP must agree between files.
"""

from __future__ import annotations

import io
import re
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from auditor.causes.severity import SEVERITIES, rank

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import TextIO

    from auditor.causes.model import Source
    from auditor.output.formats.problems import Content


MOST_SERIES: Final = 2000
_OTHER: Final = "other"
_MOST_OF_CLUSTERS: Final = 0.4
"""Share of the series that clusters may have."""
_SUCCESS: Final = (0, 1)
_KNOWN: Final = "auditor_cluster_known"
_LAST_SUCCESS: Final = "auditor_last_success_timestamp_seconds"
_OF_RUN: Final = ("auditor_run_success", "auditor_run_timestamp_seconds", "auditor_run_exit_code", _LAST_SUCCESS)
"""What a run that ends without a report states."""
_CHANGE: Final = re.compile(r'[{,]change="([a-z-]+)"[,}]')
_COUNT: Final = re.compile("[0-9]{1,18}")
_SAMPLE: Final = re.compile(r"(auditor_[a-z_]+)((?:\{[^\n]*\})?) ([0-9.e+-]+)")

_Samples = list[tuple[dict[str, str], float]]
"""Samples of a metric: labels and value of each."""
_Series = dict[str, _Samples]
"""Samples by metric."""

METRICS: Final = {
    "auditor_run_success": "1 if the last run read and judged everything (exit code 0 or 1), else 0.",
    "auditor_run_timestamp_seconds": "When the last run started.",
    "auditor_last_success_timestamp_seconds": "When the last successful run started; 0 if none is known.",
    "auditor_run_duration_seconds": "How long the last run took.",
    "auditor_run_exit_code": "Exit code of the last run.",
    "auditor_snapshot_modified_timestamp_seconds": "When the file of a dump was last changed.",
    "auditor_snapshot_age_seconds": "Age of a dump at the start of the run.",
    "auditor_snapshot_revision": "Revision of a dump.",
    "auditor_cluster_known": "1 if the dump of a cluster was read whole tonight, 0 if it is missing, damaged or stale.",
    "auditor_unread_keys": "Keys whose value could not be read.",
    "auditor_objects": "Objects by kind and status, in what was read.",
    "auditor_problems": "Problems that are not accepted, by severity and change; the last known or more of a cluster "
    "that is not known.",
    "auditor_problems_accepted": "Problems that are accepted.",
    "auditor_causes": "Causes that are not accepted, by severity; the last known or more of a cluster "
    "that is not known.",
    "auditor_unread_parts": "Parts of dumps that could not be read, lost shards, missing clusters and stale dumps.",
    "auditor_series_folded": 'Series that are summed up under kind="other", dump="other" and cluster="other".',
}
"""The gauges, each with its HELP text."""


def write_prometheus(content: Content, out: TextIO) -> None:
    """Write the metrics of a report."""
    run = content.run
    started = run.started.timestamp()
    series: _Series = {name: [] for name in METRICS}

    def put(name: str, value: float, **labels: str) -> None:
        series[name].append((labels, value))

    put("auditor_run_success", int(run.exit_code in _SUCCESS))
    put("auditor_run_timestamp_seconds", started)
    put(_LAST_SUCCESS, started if run.exit_code in _SUCCESS else _last_success(content.last_values) or 0)
    put("auditor_run_duration_seconds", run.seconds)
    put("auditor_run_exit_code", run.exit_code)
    put("auditor_unread_parts", len(content.warnings))
    unread_keys = sum(kind.statuses.get("unreadable", 0) for kind in content.kinds)
    if not content.has_manifests and (unread_keys or content.is_whole):
        put("auditor_unread_keys", unread_keys)
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
    if modified := [dump.modified.timestamp() for dump in folded if dump.modified is not None]:
        labels = {"cluster": "", "dump": _OTHER}
        put("auditor_snapshot_modified_timestamp_seconds", min(modified), **labels)
        put("auditor_snapshot_age_seconds", max(0.0, started - min(modified)), **labels)
    counts = _counts_of(content)
    if counts.accepted or content.is_whole:
        put("auditor_problems_accepted", counts.accepted)
    before = sum(len(samples) for samples in series.values())
    folded_clusters = _put_clusters(content, counts, series, int(MOST_SERIES * _MOST_OF_CLUSTERS))
    left -= sum(len(samples) for samples in series.values()) - before
    folded_before = sum(3 if dump.revision is not None else 2 for dump in folded) + folded_clusters
    _put_objects(content, series, left, folded_before)
    names = list(content.clusters)
    alone = {"cluster": names[0]} if len(names) == 1 and names[0] else {}
    for name in METRICS:
        _write_metric(out, name, [(_labels(alone | labels), _number(value)) for labels, value in series[name]])


def after_earlier(content: Content, earlier: str) -> Content:
    """Return the content with what earlier metrics state."""
    return replace(content, last_values=_values(_samples(earlier)))


def after_no_report(earlier: str, started: float, exit_code: int) -> str:
    """Return the metrics after a run without a report: those of the last report, and that this run failed.

    Args:
        earlier: The metrics before the run; empty means there were none.
        started: When the run began, in seconds since 1970.
        exit_code: Its exit code.
    """
    samples = _samples(earlier)
    values = (0, int(started), exit_code, _last_success(_values(samples)) or 0)
    own = next((labels for labels, _ in samples.get(_LAST_SUCCESS, ())), "")
    now = {name: [(own, _number(value))] for name, value in zip(_OF_RUN, values, strict=True)}
    samples.pop("auditor_run_duration_seconds", None)
    samples[_KNOWN] = [(labels, "0") for labels, _ in samples.get(_KNOWN, [])]
    out = io.StringIO()
    for name in METRICS:
        _write_metric(out, name, now.get(name, samples.get(name, [])))
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
        match = _SAMPLE.fullmatch(line)
        if match and match[1] in METRICS:
            out.setdefault(match[1], []).append((match[2], match[3]))
    return out


def _values(samples: dict[str, list[tuple[str, str]]]) -> dict[tuple[str, str], str]:
    """Return the values of samples by metric and labels."""
    return {(name, labels): value for name, every in samples.items() for labels, value in every}


def _last_success(values: Mapping[tuple[str, str], str]) -> float | None:
    try:
        return next((float(value) for (name, _), value in values.items() if name == _LAST_SUCCESS), None)
    except ValueError:
        return None


@dataclass(slots=True)
class _Counts:
    """Numbers of problems, by cluster.

    Attributes:
        problems: Problems that are not accepted, by cluster, severity and change.
        causes: Their causes, each with the worst severity that it has in the cluster, by cluster and severity.
        changes: The changes that there are.
        accepted: The other problems.
    """

    problems: Counter[tuple[str, str, str]]
    causes: Counter[tuple[str, str]]
    changes: list[str]
    accepted: int


def _counts_of(content: Content) -> _Counts:
    problems: Counter[tuple[str, str, str]] = Counter()
    worst: dict[tuple[str, str], str] = {}
    accepted = 0
    for problem in content.problems():
        if problem.accepted:
            accepted += 1
            continue
        problems[problem.cluster, problem.severity, problem.change or "unknown"] += 1
        place = (problem.cluster, problem.cause)
        worst[place] = min(worst.get(place, problem.severity), problem.severity, key=rank)
    causes = Counter((cluster, severity) for (cluster, _), severity in worst.items())
    changes = {change for *_, change in problems} | {"new", "same"}
    if not content.is_whole:
        held = (_CHANGE.search(labels) for metric, labels in content.last_values if metric == "auditor_problems")
        changes |= {change[1] for change in held if change}
    return _Counts(problems, causes, sorted(changes), accepted)


def _put_clusters(content: Content, counts: _Counts, series: _Series, most: int) -> int:
    """Put the problems and causes of each cluster, the last clusters summed up above the bound.

    Returns how many series are summed up.
    """
    whole = dict(content.clusters) or {"": True}
    for cluster in sorted({cluster for cluster, *_ in [*counts.problems, *counts.causes]} - whole.keys()):
        whole[cluster] = True
    size = 1 + len(SEVERITIES) * (1 + len(counts.changes))
    names = sorted(whole)
    shown = names if len(names) * size <= most else names[: max(0, most // size - 1)]
    rows: list[tuple[str, tuple[str, ...], bool]] = [(cluster, (cluster,), whole[cluster]) for cluster in shown]
    if rest := names[len(shown) :]:
        rows.append((_OTHER, tuple(rest), all(whole[cluster] for cluster in rest)))
    for name, clusters, is_whole in rows:
        own = {"cluster": name} if name else {}
        if not content.has_manifests:
            series[_KNOWN].append((own, int(is_whole)))
        for severity in SEVERITIES:
            labels = own | {"severity": severity}
            causes: _Samples = [(labels, sum(counts.causes[cluster, severity] for cluster in clusters))]
            problems: _Samples = [
                (labels | {"change": change}, sum(counts.problems[cluster, severity, change] for cluster in clusters))
                for change in counts.changes
            ]
            series["auditor_causes"] += causes if is_whole else _held(content, "auditor_causes", causes)
            series["auditor_problems"] += problems if is_whole else _held(content, "auditor_problems", problems)
    return (len(rest) - 1) * size if rest else 0


def _held(content: Content, metric: str, samples: _Samples) -> _Samples:
    """Return the counts of a cluster that was not read whole: the last known ones if these are more; no zeros."""
    last: _Samples = []
    for labels, _ in samples:
        value = content.last_values.get((metric, _labels(labels)), "0")
        last.append((labels, float(value) if _COUNT.fullmatch(value) else 0.0))
    larger = max(last, samples, key=lambda each: sum(count for _, count in each))
    return [(labels, count) for labels, count in larger if count]


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


def _put_objects(content: Content, series: _Series, left: int, folded_before: int) -> None:
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
