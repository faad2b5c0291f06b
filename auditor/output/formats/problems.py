"""What every file format is made of: the run, its causes, and its problems one by one.

A problem is a finding (one that several requests have counts once), or what an object does to a server, such as that it
cannot be listed.
"""

from __future__ import annotations

import hashlib
import urllib.parse
from collections import Counter
from dataclasses import dataclass, field, replace
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

from auditor.causes.exit_code import exit_text
from auditor.causes.filters import Filters
from auditor.causes.follows import noted, with_notes
from auditor.causes.severity import SEVERITIES, UPGRADE
from auditor.causes.titles import kind_name
from auditor.causes.verdict import change_text, counts_text, state_of
from auditor.output.views.advice import next_step
from auditor.store.allclear import clusters_of, unread_of
from auditor.store.clusters import chosen_clusters

if TYPE_CHECKING:
    import datetime
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from auditor.causes.model import FindingsModel, Run
    from auditor.causes.topics import Cause
    from auditor.history.runs import History
    from auditor.store.allclear import Unread


_FIRST: Final = 100
"""Problems of each severity that a tally keeps."""
_LONGEST: Final = 4000
"""Characters of a message in any format."""
NOT_READ: Final = "not-read"
"""The check, and the cause, of a problem that names what was not read."""
_SEVERITY_OF_STALE: Final = "high"
SECRET_TEXT: Final = "the text of this problem is left out: the object is a Secret"  # noqa: S105 - it is a message


@dataclass(frozen=True, slots=True)
class Problem:
    """A finding of an object, or what the object does to a server.

    Attributes:
        cluster: Its cluster; empty without a name.
        group: API group.
        kind: Kind, or the plural name where the kind is not known.
        version: Audited version; empty if none was.
        namespace: Empty for objects of the cluster.
        name: Name of the object.
        key: Its key in etcd; empty for manifests.
        severity: critical, high, medium or low.
        change: new, same, ... against the earlier report; empty without one.
        cause: Id of its cause.
        check: Name of the check; `impact` for what the object does to a server.
        type: The server's cause, or the impact.
        field: Path of the field; empty for an impact.
        rule: Text of the validation rule; empty if none failed.
        message: The message is in the server's words.
        verdict: What happens at the next update; empty if that is not known.
        owner: Who owns the object; empty if that is not known.
        accepted: Whether a user accepted it.
        uri: Relative path that names the object, the same in every run; for manifests the file.
        line: Line in that file, from 1.
        number: Position among the problems of one cause and object, from 0.
    """

    cluster: str
    group: str
    kind: str
    version: str
    namespace: str
    name: str
    key: str
    severity: str
    change: str
    cause: str
    check: str
    type: str
    field: str
    rule: str
    message: str
    verdict: str
    owner: str
    accepted: bool
    uri: str
    line: int = 1
    number: int = 0

    @property
    def kind_name(self) -> str:
        """The kind with its group."""
        return kind_name(self.group, self.kind)

    @property
    def object_name(self) -> str:
        """The object as a person names it: CLUSTER/NAMESPACE/NAME without what is empty; else its key."""
        return "/".join(part for part in (self.cluster, self.namespace, self.name) if part) or self.key

    @property
    def sentence(self) -> str:
        """The message with what it is about."""
        return self.message if self.check == NOT_READ else f"{self.kind_name} {self.object_name}: {self.message}"

    @property
    def fingerprint(self) -> str:
        """What identifies the problem in every run: its cause, its object, and its position among those of both."""
        return f"{self.cause}{_digest(self.uri, self.key)}:{self.number}"


@dataclass(frozen=True, slots=True)
class KindCount:
    """Objects of a kind by status."""

    group: str
    kind: str
    statuses: dict[str, int]

    @property
    def name(self) -> str:
        """The kind with its group."""
        return kind_name(self.group, self.kind)


@dataclass(slots=True)
class ProblemTally:
    """Numbers of problems that are not accepted, and the first of each severity.

    Attributes:
        by_severity: Numbers of problems that are not accepted.
        accepted: Number of the others.
        total: Number of all.
        first: The first `_FIRST` of each severity that are not accepted, each with its place in the report.
    """

    by_severity: Counter[str] = field(default_factory=Counter)
    accepted: int = 0
    total: int = 0
    first: dict[str, list[tuple[int, Problem]]] = field(
        default_factory=lambda: {severity: [] for severity in SEVERITIES}
    )

    def add(self, one: Problem) -> None:
        """Count a problem."""
        self.total += 1
        if one.accepted:
            self.accepted += 1
            return
        self.by_severity[one.severity] += 1
        first = self.first[one.severity]
        if len(first) < _FIRST:
            first.append((self.total, one))


@dataclass(slots=True)
class Content:
    """What a format writes.

    Attributes:
        title: What was read, for headings: the cluster, or the dumps.
        shown: The report as the user named it; empty if there is none.
        run: The run.
        verdict: worse, incomplete, same, better or not-compared.
        reasons: Why.
        warnings: Lines about what is missing, stale, damaged or lost, worst first.
        not_judged: Reasons against an all-clear; empty if every object was judged.
        deleting: Lines about objects that have been deleting for long.
        all_clear: The sentence that the summary ends with.
        causes: All causes, worst and new ones first.
        kinds: Objects by kind and status.
        problems: Returns an iterator over all problems, each time it is called.
        space: Returns the bytes of the stored values of each kind, the most first; None if sizes are not known.
        nights: For each run of a history, oldest first: when it began, and objects in causes by severity; with
            `history.LAST_KNOWN` if it did not read everything.
        details: Returns what only JSON has of a report: arguments of `views.data.cause_document`; None without one.
        unread: A problem for each cluster, dump or part of one that was not read; they are not among `problems`.
        clusters: The clusters, also those without a dump, and whether each was read whole tonight; one without a name
            is the empty text.
        last_values: The samples of the metrics that are replaced, as texts by metric and labels.
        since: When the run of the earlier report began; empty without one.
        exit_text: The exit code of the run and why it is that one; empty if that is not known.
        table: A row for each cluster of a fleet, as `views.cluster_lines.cluster_rows` returns them.
    """

    title: str
    shown: str
    run: Run
    verdict: str
    reasons: tuple[str, ...]
    warnings: tuple[str, ...]
    not_judged: tuple[str, ...]
    all_clear: str
    causes: list[Cause]
    kinds: list[KindCount]
    problems: Callable[[], Iterator[Problem]]
    space: Callable[[], dict[str, int]] | None = None
    nights: Sequence[tuple[datetime.datetime, dict[str, int]]] = ()
    details: Callable[[], dict[str, Any]] | None = None
    deleting: Sequence[str] = ()
    last_success: float | None = None
    unread: tuple[Problem, ...] = ()
    clusters: Mapping[str, bool] = field(default_factory=dict)
    last_values: Mapping[tuple[str, str], str] = field(default_factory=dict)
    since: str = ""
    exit_text: str = ""
    table: Sequence[dict[str, Any]] = ()
    _tally: ProblemTally | None = None

    @property
    def has_manifests(self) -> bool:
        """Whether manifests were judged, not the keys of dumps."""
        return any(source.format == "manifests" for source in self.run.sources)

    @property
    def is_whole(self) -> bool:
        """Whether everything was read; else all numbers are of what was read, and a zero is unknown."""
        return not self.unread

    def entries(self) -> Iterator[Problem]:
        """Yield what was not read, then all problems: what a format lists that has a line for each problem."""
        yield from self.unread
        yield from self.problems()

    @property
    def state(self) -> str:
        """How bad it is: broken, at-risk, findings, incomplete or clean."""
        return state_of(self.causes, is_whole=self.is_whole, is_judged=not self.not_judged)

    @property
    def headline(self) -> str:
        """The causes by severity, and what is new and gone since the earlier report."""
        counts = counts_text(self.causes, is_whole=self.is_whole)
        return " · ".join(filter(None, (counts, change_text(self.causes, self.since, is_whole=self.is_whole))))

    @property
    def accepted(self) -> int:
        """Objects that are accepted, counted in each of their causes."""
        return sum(cause.accepted_objects for cause in self.causes)

    @property
    def problems_text(self) -> str:
        """The numbers of problems that are not accepted, worst first, as in a sentence."""
        counts = self.tally().by_severity
        text = ", ".join(f"{counts[severity]} {severity}" for severity in SEVERITIES if counts[severity])
        if self.is_whole:
            return text or "none"
        return f"at least {text}; not everything was read" if text else "unknown; not everything was read"

    @property
    def open_causes(self) -> list[Cause]:
        """The causes that have objects which are not accepted."""
        return [cause for cause in self.causes if cause.is_open]

    def tally(self) -> ProblemTally:
        """Return the numbers of problems; they are counted once."""
        if self._tally is None:
            for _ in self.counted_problems():
                pass
        return self._tally or ProblemTally()

    def counted_problems(self) -> Iterator[Problem]:
        """Yield all problems, and count them on the way, so that `tally` need not read them again."""
        tally = ProblemTally()
        for problem in self.problems():
            tally.add(problem)
            yield problem
        self._tally = tally

    def worst(self, most: int) -> Iterator[Problem]:
        """Yield at most so many problems that are not accepted, the worst severities first choice, in report order."""
        room = most
        quota: dict[str, int] = {}
        for severity in SEVERITIES:
            quota[severity] = min(room, self.tally().by_severity[severity])
            room -= quota[severity]
        if most <= _FIRST:
            ranked = [pair for severity in SEVERITIES for pair in self.tally().first[severity][: quota[severity]]]
            yield from (problem for _, problem in sorted(ranked, key=lambda one: one[0]))
            return
        for problem in self.problems():
            if not problem.accepted and quota.get(problem.severity, 0) > 0:
                quota[problem.severity] -= 1
                yield problem


def of_model(model: FindingsModel, clusters: Sequence[str] = (), history: History | None = None) -> Content:
    """Return the content of a stored report.

    Args:
        model: The report.
        clusters: The clusters that the model has; empty for all.
        history: Runs before it.
    """
    from auditor.output.formats.chosen import of_clusters  # noqa: PLC0415 - it needs this package's neighbours
    from auditor.output.formats.series import bytes_of_kinds, nights_of  # noqa: PLC0415 - they read tables
    from auditor.output.views.cluster_lines import cluster_rows  # noqa: PLC0415 - likewise
    from auditor.output.views.data import details_of  # noqa: PLC0415 - only JSON needs it
    from auditor.output.views.state import deleting_lines  # noqa: PLC0415 - likewise

    clusters = tuple(chosen_clusters(model.manifest, clusters)) if clusters else ()
    everything, model = model, of_clusters(model, clusters)
    manifest = model.manifest
    names = model.run.clusters or tuple(source.name for source in model.run.sources)
    title = names[0] if len(names) == 1 else f"{len(names)} clusters" if model.run.clusters else f"{len(names)} dumps"
    return Content(
        title=title,
        shown=model.shown,
        run=model.run,
        verdict=model.verdict.word,
        reasons=model.verdict.reasons,
        warnings=(*model.missing, *model.stale, *model.damage),
        not_judged=tuple(model.not_judged),
        deleting=deleting_lines(manifest),
        all_clear=_last_sentence(model),
        causes=[_without_secrets(cause) for cause in model.causes],
        kinds=[
            KindCount(row["group"] or "", row["kind"] or "", {name: int(n) for name, n in row["statuses"].items()})
            for row in manifest["kinds"]
        ],
        problems=lambda: _problems(everything, Filters(clusters=tuple(clusters))),
        space=lambda: bytes_of_kinds(model.path, clusters),
        details=lambda: details_of(model),
        nights=nights_of(history) if history is not None else (),
        unread=unread_problems(unread_of(manifest)),
        clusters=clusters_of(manifest),
        since=(manifest.get("diff") or {}).get("started") or "",
        exit_text=exit_text(manifest),
        table=cluster_rows(model) if model.has_clusters else (),
    )


def unread_problems(unread: Iterable[Unread], kind_of_input: str = "Dump") -> tuple[Problem, ...]:
    """Return a problem for each thing that was not read; its place is that of its cluster, or of its dump."""
    numbers: Counter[str] = Counter()
    out = []
    for part in unread:
        kind = "Cluster" if part.what == "missing" else kind_of_input
        name = "" if part.what == "missing" else part.source
        problem = Problem(
            cluster=part.cluster,
            group="",
            kind=kind,
            version="",
            namespace="",
            name=name,
            key=part.where,
            severity=_SEVERITY_OF_STALE if part.what == "stale" else "critical",
            change="",
            cause=NOT_READ,
            check=NOT_READ,
            type=part.what,
            field="",
            rule="",
            message=cut(part.line, _LONGEST),
            verdict="",
            owner="",
            accepted=False,
            uri=_uri(part.cluster, kind, name),
        )
        fingerprint = problem.fingerprint
        out.append(replace(problem, number=numbers[fingerprint]))
        numbers[fingerprint] += 1
    return tuple(out)


def _without_secrets(cause: Cause) -> Cause:
    """Return a cause as formats may have it: the server's words about a Secret may quote its value."""
    if not _is_secret(cause.group, cause.kind):
        return cause
    return replace(cause, messages=(SECRET_TEXT,) * len(cause.messages))


def _is_secret(group: str, kind: str) -> bool:
    return group == "" and kind in ("Secret", "secrets")


def _last_sentence(model: FindingsModel) -> str:
    text, command = next_step(model.manifest, model.shown, [cause for cause in model.causes if cause.is_open])
    return f"Next: {text.rstrip('.:')}: {command}" if command else f"Next: {text}"


def _problems(model: FindingsModel, filters: Filters) -> Iterator[Problem]:
    seen: tuple[str, ...] = ()
    numbers: Counter[str] = Counter()
    titles = {cause.id: cause.title for cause in model.causes}
    last = ""
    for row in model.objects(filters):
        if row["cause_impact"] == UPGRADE:  # one problem, whatever number of examples
            if row["cause"] != last:
                yield _problem(row, check=UPGRADE, kind_of=row["status"], message=titles[row["cause"]])
            last = row["cause"]
            continue
        text = row["reason"] or titles.get(row["cause"], row["cause_impact"])
        yield _problem(row, check="impact", kind_of=row["cause_impact"], message=text)
    for _, rows in groupby(model.findings(filters, distinct=True), _whose):
        for row in with_notes(list(rows)):
            problem = _problem(row, check=row["check"], kind_of=row["type"], message=noted(row))
            place = (problem.cluster, problem.key, problem.version)
            if place != seen:
                seen = place
                numbers.clear()
            number = numbers[problem.cause]
            numbers[problem.cause] += 1
            yield problem if number == 0 else replace(problem, number=number)


_whose = itemgetter("cluster", "group", "kind", "key", "audited_version", "namespace", "name")


def _problem(row: dict[str, Any], *, check: str, kind_of: str, message: str) -> Problem:
    cluster, group, namespace = row["cluster"] or "", row["group"] or "", row["namespace"] or ""
    kind = row["kind"] or row.get("plural") or ""
    name, key = row["name"] or "", row["key"] or ""
    if _is_secret(group, kind):
        message = SECRET_TEXT
    return Problem(
        cluster=cluster,
        group=group,
        kind=kind,
        version=row["audited_version"] or "",
        namespace=namespace,
        name=name,
        key=key,
        severity=row["severity"],
        change=row["change"] or "",
        cause=row["cause"],
        check=check,
        type=kind_of,
        field=row.get("field") or "",
        rule=row.get("rule") or "",
        message=cut(message, _LONGEST),
        verdict=row.get("verdict") or "",
        owner=row.get("owner") or "",
        accepted=bool(row.get("accepted")),
        uri=_uri(cluster, group, kind, namespace, name or key),
    )


def _uri(*parts: str) -> str:
    """Return a relative path of the parts, each percent-encoded so that it is one segment."""
    quoted = (urllib.parse.quote(part, safe="", errors="replace") for part in parts if part)
    return "/".join(part if part.strip(".") else part.replace(".", "%2E") for part in quoted)[:_LONGEST] + ".json"


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode(errors="backslashreplace")).hexdigest()[:16]


def cut(text: str, most: int) -> str:
    """Return a text of at most so many characters; one that was cut ends in an ellipsis."""
    return text if len(text) <= most else text[: most - 1] + "…"
