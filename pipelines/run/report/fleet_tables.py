"""The tables of a fleet: one data set a kind over all clusters, with the columns of all their definitions."""

from __future__ import annotations

import shutil
from collections import defaultdict
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from auditor.base.errors import AuditorError
from auditor.columns import KindColumns
from auditor.crds.definition import parse_definition
from auditor.crds.definitions_file import DefinitionsFile, definition_entry
from auditor.golang import jsontext
from auditor.printing.discovery import stored_kinds
from auditor.validation.rules import servable
from pipelines.run.objects.query_options import QueryOptions
from pipelines.run.query import open_store
from pipelines.run.tables import write_kinds

if TYPE_CHECKING:
    from pathlib import Path

    from auditor.plan.options import AuditOptions


def join_kinds(options: AuditOptions, report: Path, kinds: dict[str, dict[str, Any]], folder: Path) -> None:
    """Give the kinds of a fleet the columns of all its clusters.

    Each cluster wrote its own columns. Where those of a kind differ, its rows are read again by the finished report,
    whose values are found by their position.

    Args:
        options: The options of the fleet.
        report: Folder of the report, with its manifest.
        kinds: The entry of each kind, by its folder; changed in place.
        folder: The folder of the tables.
    """
    again: dict[tuple[str, str], str] = {}
    of_kind = _columns_of(report, {(entry["group"], entry["kind"]) for entry in kinds.values()})
    for entry in kinds.values():
        columns = of_kind[entry["group"], entry["kind"]]
        if len({(each.version, tuple(each.fields.items())) for each in columns}) > 1:
            again[entry["group"], entry["kind"]] = entry["folder"]
        elif len(columns) > 1:
            for name in columns[0].origin:
                del entry[name]
            entry.update(KindColumns.merged(columns).origin)
    for old in again.values():
        shutil.rmtree(folder / old)
        del kinds[old]
    if again:
        asked = QueryOptions(
            str(report),
            encryption_config=options.encryption_config,
            kms_decryptor=options.kms_decryptor,
            convert_with=options.convert_with,
        )
        with open_store(asked, lambda _: None) as store:  # the report says what cannot be read
            stored = {(resource.group, resource.kind): resource for resource in stored_kinds(store.discovery)}
            resources = [stored[kind] for kind in again]
            for entry in write_kinds(store, resources, folder, are_named=True):
                kinds[entry["folder"]] = entry


def _columns_of(report: Path, wanted: set[tuple[str, str]]) -> dict[tuple[str, str], list[KindColumns]]:
    """Return the columns of some kinds by each definition of them in a report of several clusters."""
    found: dict[tuple[str, str], list[KindColumns]] = defaultdict(list)
    lines: dict[tuple[str, str], list[Any]] = defaultdict(list)
    for line in DefinitionsFile(report).lines():
        document = jsontext.decode(line)
        entry = definition_entry("", document, stored=True)
        if (entry.group, entry.kind) in wanted:
            lines[entry.group, entry.kind].append(document)
    for kind, documents in lines.items():
        for document in documents if len(documents) > 1 else ():
            with suppress(AuditorError):
                found[kind].append(KindColumns.of(servable(parse_definition(document))))
    return found
