"""The same answers as data: JSON, YAML, NDJSON, CSV and Markdown, in one form that `findings.schema.json` describes."""

from __future__ import annotations

import datetime
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from auditor.causes.topics import Cause
from auditor.output.views.cluster_lines import cluster_rows
from auditor.printing.print_rows import print_rows
from auditor.store.allclear import unread_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from auditor.causes.model import FindingsModel, Run
    from auditor.causes.topics import Topic


SCHEMA_VERSION: Final = "auditor/findings/v1"
SCHEMA: Final = Path(__file__).with_name("findings.schema.json")
"""JSON Schema of `document`."""
_CAUSE_KEYS: Final = tuple("cause" if field.name == "id" else field.name for field in fields(Cause))
_COLUMNS: Final = ("cause", "severity", "change", "kind", "objects", "namespaces", "title")
"""Columns of a Markdown table of causes."""
_OF_ROWS: Final = ("severity", "change", "cluster", "key", "namespace", "name", "verdict", "message")
_OF_OBJECTS: Final = ("severity", "change", "cluster", "key", "namespace", "name", "status", "reason")


def cause_data(cause: Cause) -> dict[str, Any]:
    """Return a cause as JSON data."""
    out: dict[str, Any] = {}
    for field in fields(Cause):
        value = getattr(cause, field.name)
        if isinstance(value, datetime.datetime):
            value = _time(value)
        out["cause" if field.name == "id" else field.name] = list(value) if isinstance(value, tuple) else value
    return out


def topic_data(topic: Topic) -> dict[str, Any]:
    """Return a topic as JSON data."""
    return {
        "topic": topic.id,
        "severity": topic.severity,
        "change": topic.change,
        "title": topic.title,
        "group": topic.causes[0].group,
        "kind": topic.causes[0].kind,
        "version": topic.causes[0].version,
        "area": topic.area,
        "objects": topic.objects,
        "causes": [cause.id for cause in topic.causes],
    }


def row_data(row: dict[str, Any]) -> dict[str, Any]:
    """Return a finding or an object as JSON data."""
    return {name: _time(value) if isinstance(value, datetime.datetime) else value for name, value in row.items()}


def _time(value: datetime.datetime) -> str:
    return value.astimezone(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def document(
    model: FindingsModel, causes: Sequence[Cause], rows: Iterable[dict[str, Any]] | None = None
) -> dict[str, Any]:
    """Return an answer as JSON data.

    Args:
        model: The report.
        causes: The causes that are wanted.
        rows: Findings or objects of a cause; None means they are not asked for.
    """
    out = cause_document(
        shown=model.shown,
        state=model.state,
        verdict=model.verdict.word,
        reasons=model.verdict.reasons,
        run=model.run,
        not_judged=model.not_judged,
        causes=causes,
        **details_of(model),
    )
    if rows is not None:
        out["rows"] = [row_data(row) for row in rows]
    return out


def details_of(model: FindingsModel) -> dict[str, Any]:
    """Return the arguments of `cause_document` that only a report has."""
    return {
        "missing": model.missing,
        "stale": model.stale,
        "damage": model.damage,
        "deleting": model.manifest.get("deleting"),
        "namespaces": model.manifest.get("namespaces"),
        "accepted": model.accepted or None,
        "unread": [
            {"what": part.what, "cluster": part.cluster or None, "source": part.source or None, "where": part.where}
            for part in unread_of(model.manifest)
        ],
        "clusters": cluster_rows(model) if model.is_fleet or model.has_clusters else [],
        "topics": model.topics,
        "upgrade": model.manifest.get("upgrade"),
    }


def cause_document(
    *,
    shown: str,
    state: str,
    verdict: str,
    reasons: Sequence[str],
    run: Run,
    not_judged: Sequence[str],
    causes: Sequence[Cause],
    missing: Sequence[str] = (),
    stale: Sequence[str] = (),
    damage: Sequence[str] = (),
    deleting: dict[str, Any] | None = None,
    namespaces: Sequence[dict[str, Any]] | None = None,
    accepted: dict[str, Any] | None = None,
    unread: Sequence[dict[str, Any]] = (),
    clusters: Sequence[dict[str, Any]] = (),
    topics: Sequence[Topic] = (),
    upgrade: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Return causes and the run that found them as JSON data.

    Args:
        shown: The report as the user named it.
        state: broken, at-risk, findings, incomplete or clean.
        verdict: worse, incomplete, same, better or not-compared.
        reasons: Why.
        run: The run.
        not_judged: Reasons against an all-clear.
        causes: The causes.
        missing: Lines about clusters without a dump.
        stale: Lines about dumps that are too old.
        damage: Lines about what could not be read.
        deleting: The section of the manifest about objects that are being deleted; None if there are none.
        namespaces: That about missing and deleted namespaces; None if the dumps do not show which there are.
        accepted: The section of the manifest about accepted findings; None without one.
        unread: What was not read, part by part.
        clusters: A row for each cluster of a fleet.
        topics: The topics of the causes.
        upgrade: The section of the manifest about an upgrade; None for another report.
    """
    out = {
        "schema": SCHEMA_VERSION,
        "report": shown,
        "state": state,
        "verdict": {"word": verdict, "reasons": list(reasons)},
        "run": _run_data(run),
        "missing": list(missing),
        "stale": list(stale),
        "damage": list(damage),
        "deleting": deleting,
        "namespaces": None if namespaces is None else list(namespaces),
        "unread": list(unread),
        "not_judged": list(not_judged),
        "accepted": accepted,
        "clusters": list(clusters),
        "topics": [topic_data(topic) for topic in topics],
        "causes": [cause_data(cause) for cause in causes],
    }
    if upgrade is not None:
        plans = {definition["name"]: definition["plan"] for definition in upgrade["definitions"] if definition["plan"]}
        out["upgrade"] = {"decision": upgrade["decision"], "sentence": upgrade["sentence"], "plans": plans}
    return out


def _run_data(run: Run) -> dict[str, Any]:
    return {
        "clusters": list(run.clusters),
        "sources": [
            {
                "name": source.name,
                "cluster": source.cluster,
                "format": source.format,
                "revision": source.revision,
                "modified": None if source.modified is None else _time(source.modified),
                "keys": source.keys,
            }
            for source in run.sources
        ],
        "started": _time(run.started),
        "seconds": run.seconds,
        "keys": run.keys,
        "checked": run.checked,
        "auditor": run.tool,
        "kubernetes": run.kubernetes,
        "exit_code": run.exit_code,
        "compared_with": run.compared_with,
    }


def written(
    model: FindingsModel, causes: Sequence[Cause], rows: Iterable[dict[str, Any]] | None, output: str
) -> Iterator[str]:
    """Return an answer as text, part by part; of several rows a part each.

    Args:
        model: The report.
        causes: The causes that are wanted.
        rows: Findings or objects of a cause; None: causes are asked for.
        output: One of `auditor.printing.print_rows.FORMS` that is no table.
    """
    items = map(cause_data, causes) if rows is None else map(row_data, rows)
    columns: Sequence[str] = _COLUMNS if rows is None else _OF_OBJECTS if causes[0].impact else _OF_ROWS
    if output == "csv":
        columns = _CAUSE_KEYS if rows is None else ()
    return print_rows(items, columns, output, document=lambda: document(model, causes, rows))
