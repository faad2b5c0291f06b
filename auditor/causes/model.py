"""`FindingsModel`: the causes, objects and findings of a stored report, for terminal output and for file formats.

Causes are few and held; objects and findings are read part by part, each time they are asked for, so memory does not
grow with them. Text in every answer is as the report has it: a caller that prints it makes it visible
first (`auditor.base.visible`).
"""

from __future__ import annotations

import datetime
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from auditor.base.errors import PlanError
from auditor.causes.build import build_causes
from auditor.causes.filters import Filters
from auditor.causes.rows_with_causes import counted_rows, finding_rows, narrowed, object_rows
from auditor.causes.severity import UPGRADE
from auditor.causes.table import read_rows
from auditor.causes.topics import Cause, merged, topics_of
from auditor.causes.upgrade_causes import upgrade_objects
from auditor.causes.verdict import state_of, verdict_of
from auditor.store import allclear
from auditor.store.clusters import is_fleet
from auditor.store.manifest import manifest_bytes, parse_manifest, whole_report

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from auditor.causes.topics import Topic
    from auditor.causes.verdict import Verdict


@dataclass(frozen=True, slots=True)
class Source:
    """A dump of a run.

    Attributes:
        name: As the user named it.
        cluster: Its cluster; None without a name.
        format: Detected format; None if it could not be opened.
        revision: Revision of the store; None if it is not known.
        modified: When its file was last changed, UTC; None if that is not known.
        keys: Number of keys in it; None if it is damaged and none was read.
    """

    name: str
    cluster: str | None
    format: str | None
    revision: int | None
    modified: datetime.datetime | None
    keys: int | None


@dataclass(frozen=True, slots=True)
class Run:
    """The run that made a report.

    Attributes:
        clusters: Names of the clusters that were read; one without a name is not among them.
        sources: The dumps.
        started: When it began, UTC.
        seconds: How long it took.
        keys: Keys that were seen.
        checked: Objects that were judged.
        tool: Version of the auditor.
        kubernetes: Kubernetes release whose behaviour it reproduces.
        exit_code: Exit code of the run.
        compared_with: The earlier report, as the user named it; None without one.
    """

    clusters: tuple[str, ...]
    sources: tuple[Source, ...]
    started: datetime.datetime
    seconds: float
    keys: int
    checked: int
    tool: str
    kubernetes: str
    exit_code: int
    compared_with: str | None


@dataclass(slots=True)
class FindingsModel:
    """A stored report as people read it. `open` makes one.

    Attributes:
        path: Folder of the report.
        shown: The report as the user named it.
        manifest: Its manifest, for what this class does not have.
        run: The run that made it.
        causes: All causes, worst and new ones first; of a fleet each once.
        verdict: How it compares with the earlier report.
        topics: The causes that are not accepted by definition and part of it, worst first.
        ambiguous: The kinds that have causes in several groups.
        missing: A line for each cluster whose expected dump is missing.
        stale: A line for each dump that is stale, or seems to be of another cluster.
        damage: A line for each part of a dump that could not be read, and for each lost shard.
        not_judged: Reasons against an all-clear, as `auditor.store.allclear` words them; empty if there are none.
        accepted: The section of the manifest about accepted findings; empty without --accept.
    """

    path: Path
    shown: str
    manifest: dict[str, Any]
    run: Run
    causes: list[Cause]
    verdict: Verdict
    topics: list[Topic] = field(default_factory=list)
    ambiguous: frozenset[str] = frozenset()
    missing: list[str] = field(default_factory=list)
    stale: list[str] = field(default_factory=list)
    damage: list[str] = field(default_factory=list)
    not_judged: list[str] = field(default_factory=list)
    accepted: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def open(cls, report: str | Path, *, shown: str = "", clusters: Sequence[str] = ()) -> FindingsModel:
        """Return the model of a stored report.

        Args:
            report: Its folder.
            shown: How the user named it, if the folder is a copy.
            clusters: Only these clusters of a fleet; empty for all.

        Raises:
            PlanError: The folder is not a report, or cannot be used.
            DamagedDump: A table of it is not one that an audit writes.
        """
        path, named = Path(report), shown or str(report)
        try:
            manifest = parse_manifest(manifest_bytes(path))
        except OSError:
            manifest = None
        if manifest is None:
            expected = "a folder with manifest.json, as an audit writes it"
            raise PlanError(named, "is not a report: it has no manifest.json that can be read", expected)
        with whole_report(named):
            rows = read_rows(path)
            rows = build_causes(path, manifest) if rows is None else rows
            if clusters:
                from auditor.store.clusters import chosen_clusters  # noqa: PLC0415

                chosen = {name or None for name in chosen_clusters(manifest, clusters)}
                rows = [row for row in rows if row["cluster"] in chosen]
            return cls.of(path, named, manifest, rows)

    @classmethod
    def of(cls, path: Path, shown: str, manifest: dict[str, Any], rows: list[dict[str, Any]]) -> FindingsModel:
        """Return the model of a report whose manifest and rows of causes.parquet are known."""
        run = _run(manifest)
        causes = merged(rows, run.started)
        return cls(
            path=path,
            shown=shown,
            manifest=manifest,
            run=run,
            causes=causes,
            verdict=verdict_of(manifest, causes),
            topics=topics_of(causes, rows),
            ambiguous=_ambiguous(causes),
            missing=allclear.missing_lines(manifest),
            stale=allclear.stale_lines(allclear.stale_dumps(manifest)),
            damage=_damage(manifest),
            not_judged=manifest["upgrade"]["not_judged"] if "upgrade" in manifest else allclear.not_judged(manifest),
            accepted=manifest.get("accepted") or {},
        )

    @property
    def state(self) -> str:
        """How bad it is: broken, at-risk, findings, incomplete or clean."""
        is_whole = not allclear.unread_of(self.manifest)
        return state_of(self.causes, is_whole=is_whole, is_judged=not self.not_judged)

    @property
    def is_fleet(self) -> bool:
        """Whether the report is of several clusters."""
        return is_fleet(self.manifest)

    @property
    def cluster_names(self) -> list[str]:
        """The names of the clusters, those that were read first."""
        names = [*self.run.clusters, *(source.get("cluster") for source in self.manifest["inputs"])]
        names += [cluster["name"] for cluster in self.manifest.get("missing") or ()]
        return list(filter(None, dict.fromkeys(names)))

    @property
    def has_clusters(self) -> bool:
        """Whether there is something to say of each cluster: there are several, perhaps some without a dump."""
        return len(self.cluster_names) > 1

    def cause(self, beginning: str) -> Cause:
        """Return the cause whose id, or digest, begins with some digits.

        Raises:
            PlanError: There is none, or there are several.
        """
        wanted = beginning.lower()
        matches = [cause for cause in self.causes if wanted and cause.digest.startswith(wanted)]
        exact = [cause for cause in matches if cause.id == wanted]
        if len(exact or matches) == 1:
            return (exact or matches)[0]
        if not matches:
            expected = "the beginning of a cause's id"
            raise PlanError(self.shown, f"has no cause {beginning}", expected, "`auditor findings` lists them")
        some = ", ".join(cause.id for cause in matches[:5])
        raise PlanError(self.shown, f"has {len(matches)} causes that begin with {beginning}: {some}", "more digits")

    def topic(self, beginning: str) -> Topic | None:
        """Return the topic whose id begins with some digits; None unless there is exactly one."""
        matches = [topic for topic in self.topics if beginning and topic.id.startswith(beginning.lower())]
        return matches[0] if len(matches) == 1 else None

    def filtered(self, filters: Filters) -> list[Cause]:
        """Return the causes that are wanted; with a filter of namespaces or owners, counted in these alone.

        Those of an upgrade are not: an upgrade does not count namespaces and owners.
        """
        causes = [cause for cause in self.causes if filters.takes_cause(cause)]
        if not filters.needs_rows:
            return causes
        rows = replace(filters, severities=(), changes=(), causes=tuple(cause.digest for cause in causes))
        counts = counted_rows([self.findings(rows), self.objects(rows)])
        return [
            cause if cause.impact == UPGRADE else narrowed(cause, counts[cause.id])
            for cause in causes
            if cause.id in counts or cause.impact == UPGRADE
        ]

    def findings(self, filters: Filters | None = None, *, distinct: bool = False) -> Iterator[dict[str, Any]]:
        """Yield findings in the order of the report.

        Each is a row of findings/ as a dict, with `cause` (its id), `severity`, `accepted`, `owner` and `change` (None
        without an earlier report).

        Args:
            filters: What is wanted; None: everything.
            distinct: Yield a finding that several requests have once; `requests` then lists them.
        """
        return finding_rows(self.path, self.manifest, self.causes, filters or Filters(), distinct=distinct)

    def objects(self, filters: Filters | None = None) -> Iterator[dict[str, Any]]:
        """Yield the rows of objects/ that have an impact which is a cause.

        Each is a dict with `cause`, `severity` and `accepted`.
        An object with several such impacts is yielded once for each. Objects whose findings are their only fault are
        not among them: `findings` yields these. The examples of the causes of an upgrade come first.

        Args:
            filters: What is wanted; None: everything.
        """
        wanted = filters or Filters()
        yield from upgrade_objects(self.causes, wanted)
        yield from object_rows(self.path, self.manifest, self.causes, wanted)


def _ambiguous(causes: Iterable[Cause]) -> frozenset[str]:
    """Return the kinds that have causes in several groups."""
    groups = Counter(kind for kind, _ in {(cause.kind, cause.group) for cause in causes})
    return frozenset(kind for kind, count in groups.items() if count > 1)


def _run(manifest: dict[str, Any]) -> Run:
    diff = manifest.get("diff") or {}
    own = manifest["options"].get("cluster")
    names = [cluster["name"] for cluster in manifest["clusters"]] if is_fleet(manifest) else [own] if own else []
    return Run(
        clusters=tuple(names),
        sources=tuple(
            Source(
                name=source["name"],
                cluster=source.get("cluster") or own,
                format=source["format"],
                revision=source["revision"],
                modified=_time(source.get("modified")),
                keys=allclear.count_or_none(source["keys"], is_whole=not source["damage"]),
            )
            for source in manifest["inputs"]
        ),
        started=_time(manifest["started"]) or datetime.datetime.fromtimestamp(0, datetime.UTC),
        seconds=manifest["seconds"],
        keys=manifest["counts"]["keys"],
        checked=manifest["counts"]["rows"],
        tool=manifest["tool"]["version"],
        kubernetes=manifest["kubernetes_release"],
        exit_code=manifest["exit_code"],
        compared_with=diff.get("report"),
    )


def _time(text: str | None) -> datetime.datetime | None:
    return None if not text else datetime.datetime.fromisoformat(text)


def _damage(manifest: dict[str, Any]) -> list[str]:
    from auditor.store.damage_lines import lines_of_damage  # noqa: PLC0415

    lines = lines_of_damage(manifest["inputs"])
    return [*lines, *(f"LOST  {text}" for text in manifest["lost"])]
