"""Clusters that change from night to night, and the snapshots of them: whole, damaged, cut short, copied or missing.

What is true of a night is what an audit of whole snapshots finds: a report of a bad night must not say less.
"""

from __future__ import annotations

import datetime
import json
import re
import struct
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from auditor.causes.table import read_rows
from auditor.history.files import run_file_name, write_run
from auditor.store.allclear import clusters_of
from tests.causes.reports import definition, widget
from tests.command import Ended, auditor
from tests.sources.bolt_writer import History, bolt_file, etcd_buckets, snapshot

if TYPE_CHECKING:
    import random
    from collections.abc import Mapping, Sequence
    from pathlib import Path

__all__ = ["DAMAGE", "FORMATS", "Cluster", "Truth", "audit_night", "damaged", "lines_of", "samples_of", "truth_of"]

PAGE = 1024
"""Bytes of a page: small, so that a few objects have many pages, and some of a damaged dump is read."""
CRDS = "/registry/apiextensions.k8s.io/customresourcedefinitions"
FORMATS = {
    "csv": "csv",
    "ndjson": "ndjson",
    "json": "json",
    "html": "html",
    "sarif": "sarif",
    "junit": "xml",
    "codequality": "cq",
    "github": "gh",
    "github-summary": "summary",
    "markdown": "md",
    "openreports": "or",
}
"""Formats that each night is written in, and the end of the name of their file."""
DAMAGE = ("page", "cut", "torn off", "missing", "stale")
"""What can happen to a dump."""
_STATES = ("valid", "valid", "invalid", "torn", "stuck", "loses", "absent")
_DEFINITIONS = ("loose", "loose", "strict", "terminating", "webhook", "absent")


def _pilot(*, has_webhook: bool, is_terminating: bool) -> dict[str, Any]:
    """Return a definition whose storage version is not that of its objects."""
    crd = definition({"size": {"type": "integer"}}, kind="Pilot")
    (version,) = crd["spec"]["versions"]
    crd["spec"]["versions"] = [{**version, "storage": False}, {**version, "name": "v2"}]
    crd["status"]["storedVersions"] = ["v1", "v2"]
    if has_webhook:
        client = {"service": {"namespace": "guild", "name": "hook", "path": "/convert", "port": 443}}
        webhook = {"conversionReviewVersions": ["v1"], "clientConfig": client}
        crd["spec"]["conversion"] = {"strategy": "Webhook", "webhook": webhook}
    if is_terminating:
        finalizers = ["customresourcecleanup.apiextensions.k8s.io"]
        crd["metadata"] |= {"deletionTimestamp": "2026-08-01T00:00:00Z", "finalizers": finalizers}
        crd["status"]["conditions"].append({"type": "Terminating", "status": "True"})
    return crd


@dataclass
class Cluster:
    """A cluster: the values of its keys, and its etcd."""

    name: str
    objects: dict[str, str] = field(default_factory=dict)
    definition: str = "loose"
    pilots: str = "loose"
    sealed: bool = False
    history: History = field(default_factory=lambda: History(100))
    _written: dict[str, bytes] = field(default_factory=dict)

    def change(self, draw: random.Random) -> None:
        """Draw what happens in a day: faults come and go, definitions change, a webhook goes."""
        for number in range(8):
            if draw.random() < 0.4:
                self.objects[f"w{number}"] = draw.choice(_STATES)
        if draw.random() < 0.3:
            self.definition = draw.choice(("loose", "strict", "absent"))
        if draw.random() < 0.3:
            self.pilots = draw.choice(_DEFINITIONS)
        self.sealed = draw.random() < 0.3

    def values(self, night: int) -> dict[str, bytes]:
        """Return the stored values of a night."""
        out: dict[str, Any] = {"/registry/services/specs/guild/other": {
            "apiVersion": "v1", "kind": "Service", "spec": {}, "metadata": {"name": "other", "namespace": "guild"},
        }}  # fmt: skip
        if self.definition != "absent":
            required = ["tier"] if self.definition == "strict" else []
            out[f"{CRDS}/widgets.example.com"] = definition(
                {"size": {"type": "integer"}, "tier": {"type": "string"}}, required=required
            )
        if self.pilots != "absent":
            out[f"{CRDS}/pilots.example.com"] = _pilot(
                has_webhook=self.pilots == "webhook", is_terminating=self.pilots == "terminating"
            )
        out["/registry/example.com/pilots/team/p"] = widget("p", {"size": 1}, kind="Pilot")
        for name, state in self.objects.items():
            value = widget(name, {"size": "many" if state == "invalid" else 1})
            if state == "loses":
                value["spec"]["unknown"] = 1
            if state == "stuck":
                value["spec"]["size"] = "many"
                value["metadata"] |= {"deletionTimestamp": "2026-08-01T00:00:00Z", "deletionGracePeriodSeconds": 0,
                                      "finalizers": ["example.com/wait"], "labels": {"a": "no label value!"}}  # fmt: skip
            if state != "absent":
                out[f"/registry/example.com/widgets/team/{name}"] = value
        out["/registry/example.com/widgets/team/clock"] = widget("clock", {"size": night})
        data = {key: json.dumps(value).encode() for key, value in out.items()}
        for name, state in self.objects.items():
            if state == "torn":
                data[f"/registry/example.com/widgets/team/{name}"] = b'{"apiVersion":'
        if self.sealed:
            data["/registry/secrets/team/s"] = b"k8s:enc:aescbc:v1:key1:0123456789abcdef"
        return data

    def snapshot(self, night: int) -> bytes:
        """Return the snapshot of a night; each night has a revision more, at least."""
        values = self.values(night)
        for key in sorted(self._written.keys() - values.keys()):
            self.history.delete(key.encode())
        for key in sorted(values):
            if self._written.get(key) != values[key]:
                self.history.put(key.encode(), values[key])
        self._written = values
        return snapshot(bolt_file(etcd_buckets(self.history.rows), page_size=PAGE))


def damaged(data: bytes, how: str, draw: random.Random) -> bytes:
    """Return a snapshot with a page overwritten from its head on, or cut short somewhere, or near its beginning."""
    if how == "page":
        heads = [
            number
            for number in range(2, len(data) // PAGE)
            if struct.unpack_from("<Q", data, number * PAGE)[0] == number
        ]
        page = draw.choice(heads)
        return data[: page * PAGE] + b"\xff" * PAGE + data[(page + 1) * PAGE :]
    return data[: draw.randrange(2 * PAGE, len(data) - PAGE)] if how == "cut" else data[: draw.randrange(1, PAGE)]


@dataclass
class Truth:
    """What is true of a cluster: problems by severity, causes by severity, and objects of each cause."""

    problems: Counter[str]
    causes: Counter[str]
    objects: dict[str, int]


def truth_of(folder: Path, night: int, dumps: Mapping[str, bytes]) -> dict[str, Truth]:
    """Return what is true of each cluster: what an audit of whole dumps finds."""
    place = folder / f"whole-{night}"
    place.mkdir()
    for name, data in dumps.items():
        (place / f"{name}.db").write_bytes(data)
    ended = auditor(
        *("audit", str(place / "*.db"), "--cluster-name", "{1}", "--report", place / "report"),
        *("--jobs", "1", "--engine", "inline", "-o", f"ndjson={place / 'rows'}"),
    )
    assert ended.code in (0, 1), ended.output
    out = {name: Truth(Counter(), Counter(), {}) for name in dumps}
    seen: dict[tuple[str, str], tuple[str, set[str]]] = {}
    order = ("critical", "high", "medium", "low")
    for row in map(json.loads, (place / "rows").read_text().splitlines()):
        assert row["check"] != "not-read"
        out[row["cluster"]].problems[row["severity"]] += 1
        worst, keys = seen.get((row["cluster"], row["cause"]), (row["severity"], set()))
        seen[row["cluster"], row["cause"]] = (min(worst, row["severity"], key=order.index), keys | {row["key"]})
    for (cluster, cause), (severity, keys) in seen.items():
        out[cluster].causes[severity] += 1
        out[cluster].objects[cause] = len(keys)
    return out


def audit_night(folder: Path, night: int, dumps: Mapping[str, bytes], *more: str) -> Ended:
    """Audit the dumps of a night as a nightly job does, in every format.

    The report is `report-N`, the files `N.ENDING`; metrics and history are the same each night; `days` is a
    history in which each night has a day of its own. The dumps have the
    same names each night, as copies of a backup have.
    """
    place = folder / "dumps"
    place.mkdir(exist_ok=True)
    for path in place.iterdir():
        path.unlink()
    for name, data in dumps.items():
        (place / f"{name}.db").write_bytes(data)
    outputs = [f"-o{name}={night}.{ending}" for name, ending in FORMATS.items()]
    report = folder / f"report-{night}"
    ended = auditor(
        *("audit", "dumps/*.db", "--cluster-name", "{1}", "--report", report.name, "--history", "history"),
        *("--jobs", "1", "--engine", "inline", "--fail-on", "never", "-oprometheus=metrics.prom", *outputs, *more),
        cwd=folder,
    )
    if report.exists():
        _note_day(folder / "days", report, night)
    return ended


def _note_day(history: Path, report: Path, night: int) -> None:
    """Add a report to a history as if its run had begun on a day of its own."""
    history.mkdir(exist_ok=True)
    manifest = json.loads((report / "manifest.json").read_text())
    started = datetime.datetime(2026, 5, 1 + night, tzinfo=datetime.UTC)
    unread = [name for name, is_whole in clusters_of(manifest).items() if not is_whole]
    write_run(read_rows(report) or [], started, history / run_file_name(manifest, started), unread)


def samples_of(text: str) -> dict[tuple[str, ...], float]:
    """Return the samples of metrics by name and values of their labels."""
    out = {}
    for name, labels, value in re.findall(r"^([a-z_]+)(?:\{(.*)\})? (\S+)$", text, re.MULTILINE):
        place = (name, *re.findall(r'="([^"]*)"', labels))
        assert place not in out
        out[place] = float(value)
    return out


def lines_of(text: str, first: Sequence[str]) -> dict[str, list[str]]:
    """Return the words of the line of each cluster in the summary; they begin with its name."""
    lines = [
        line.split()
        for line in text.replace("at least ", "at-least-").replace("NOT COMPARED", "NOT-COMPARED").splitlines()
    ]
    return {words[0]: words for words in lines if words and words[0] in first and len(words) > 5}
