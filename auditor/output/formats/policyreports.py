"""Reports as custom resources: OpenReports (v1alpha1), as YAML documents.

Each document is one JSON object, so that both YAML and JSON readers take it. There is a report for each cluster and
namespace, in parts below 900 kB. Nothing is written to a cluster.

Source: openreports/reports-api v1alpha1, its definitions.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from auditor.base.visible import visible
from auditor.output.formats.problems import NOT_READ, cut

if TYPE_CHECKING:
    from typing import TextIO

    from auditor.output.formats.problems import Content, Problem


MOST_BYTES: Final = 900_000
_LONGEST: Final = 1000
_SOURCE: Final = "auditor"
_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_HALF: Final = re.compile("[\ud800-\udfff]")
_ESCAPED: Final = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
"""What JSON allows in a text and YAML does not."""
_LABEL: Final = re.compile(r"[^A-Za-z0-9_.-]+")


@dataclass(slots=True)
class _PolicyReport:
    """The results of one report that is being filled."""

    number: int = 0
    size: int = 0
    results: list[str] = field(default_factory=list)
    summary: Counter[str] = field(default_factory=Counter)


def write_openreports(content: Content, out: TextIO) -> None:
    """Write Report and ClusterReport objects."""
    parts: dict[tuple[str, str], _PolicyReport] = {}
    category = "manifests" if content.has_manifests else "stored objects"
    stamp = {"seconds": int(content.run.started.timestamp()), "nanos": 0}
    size = 0
    for problem in content.entries():
        namespace = problem.namespace if _NAME.fullmatch(problem.namespace) else ""
        place = (problem.cluster, namespace)
        part = parts.setdefault(place, _PolicyReport())
        text = _text(_result(problem, stamp, category))
        if part.results and part.size + len(text) > MOST_BYTES - 5000:
            size -= part.size
            _flush(content, out, place, part)
        part.results.append(text)
        part.size += len(text) + 2
        size += len(text) + 2
        part.summary[_outcome(problem)] += 1
        if size > 8 * MOST_BYTES:  # many namespaces that are half full: the largest is written
            largest = max(parts, key=lambda one: parts[one].size)
            size -= parts[largest].size
            _flush(content, out, largest, parts[largest])
    for place in sorted(parts):
        if parts[place].results:
            _flush(content, out, place, parts[place])


def _text(value: Any) -> str:
    """Return a value as JSON that is YAML too, where an escape may name neither half of a pair of surrogates.

    Half of a pair alone becomes U+FFFD.
    """
    text = _HALF.sub("\ufffd", json.dumps(value, ensure_ascii=False))
    return _ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _outcome(problem: Problem) -> str:
    if problem.accepted:
        return "skip"
    if problem.check == NOT_READ or problem.type in ("unreadable", "needs-conversion", "unserved", "sealed"):
        return "error"
    return "warn" if problem.severity == "low" else "fail"


def _result(problem: Problem, stamp: dict[str, int], category: str) -> dict[str, Any]:
    api_version = "/".join(part for part in (problem.group, problem.version or "v1") if part)
    resource = {"apiVersion": api_version, "kind": problem.kind, "name": problem.name or problem.key}
    if problem.namespace:
        resource["namespace"] = problem.namespace
    properties = {
        "resultID": problem.fingerprint,
        "cause": problem.cause,
        "check": problem.check,
        "field": problem.field,
        "change": problem.change,
        "cluster": problem.cluster,
    }
    result: dict[str, Any] = {
        "source": _SOURCE,
        "policy": cut(problem.check, _LONGEST),
        "rule": cut(problem.type, _LONGEST),
        "category": category,
        "severity": problem.severity,
        "timestamp": stamp,
        "result": _outcome(problem),
        "scored": True,
        **({} if problem.check == NOT_READ else {"resources": [resource]}),
        "message": cut(visible(problem.message), _LONGEST),
        "properties": {name: cut(visible(value), _LONGEST) for name, value in properties.items() if value},
    }
    return result


def _flush(content: Content, out: TextIO, place: tuple[str, str], part: _PolicyReport) -> None:
    """Write one report and begin the next part."""
    cluster, namespace = place
    digest = hashlib.sha256(f"{content.title}\0{cluster}\0{namespace}".encode(errors="backslashreplace")).hexdigest()
    name = f"auditor-{digest[:12]}-{part.number}"
    metadata: dict[str, Any] = {"name": name, "labels": {"app.kubernetes.io/managed-by": "auditor"}}
    if label := _LABEL.sub("-", cluster)[:63].strip("-_."):
        metadata["labels"]["auditor/cluster"] = label
    if namespace:
        metadata["namespace"] = namespace
    head: dict[str, Any] = {
        "apiVersion": "openreports.io/v1alpha1",
        "kind": "Report" if namespace else "ClusterReport",
        "metadata": metadata,
        "summary": {result: part.summary[result] for result in ("pass", "fail", "warn", "error", "skip")},
        "source": _SOURCE,
    }
    out.write(f'---\n{_text(head)[:-1]}, "results": [\n')
    out.write(",\n".join(part.results))
    out.write("\n]}\n")
    part.number += 1
    part.size = 0
    part.results = []
    part.summary = Counter()
