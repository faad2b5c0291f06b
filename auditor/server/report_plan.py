"""The inputs of a report (its manifest, dumps and definitions) as a plan that needs no scan."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from auditor.base.errors import DamagedDump, PlanError
from auditor.crds.definition import document_name
from auditor.crds.definitions_file import DefinitionEntry, DefinitionsFile, definition_entry
from auditor.crds.outline import is_from_server
from auditor.plan.plan import Plan
from auditor.sources.files.state import states_below
from auditor.sources.files.unpacking import compression_of
from auditor.sources.plan import Damage, SourcePlan
from auditor.store.manifest import MANIFEST, manifest_bytes, parse_manifest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from auditor.plan.options import AuditOptions

__all__ = ["check_dumps", "find_dumps", "read_manifest", "report_plan", "scope_of"]


def read_manifest(report: Path) -> dict[str, Any]:
    """Return the manifest of a report.

    Raises:
        PlanError: The folder is not a report, or its manifest is damaged.
    """
    path = report / MANIFEST
    if not path.exists():
        raise PlanError(str(report), "is not a report (it has no manifest.json)", "the --report folder of an audit")
    content = parse_manifest(manifest_bytes(report))
    if content is None:
        raise PlanError(str(report), f"is not a report (its {MANIFEST} is damaged)", "the --report folder of an audit")
    return content


def _damage_of(source: dict[str, Any]) -> tuple[Damage, ...]:
    """Return from a manifest which parts of a dump could not be read."""
    return tuple(Damage(**one) for one in source["damage"])


def find_dumps(manifest: dict[str, Any], report: Path, given: Sequence[str]) -> list[Path] | None:
    """Return the paths of the dumps of a report, as given or by their names; None if one of them is missing."""
    if given:
        return [Path(one) for one in given]
    found = []
    for source in manifest["inputs"]:
        places = (Path(source["name"]), report.parent / source["name"], report.parent / Path(source["name"]).name)
        place = next((one for one in places if one.exists()), None)
        if place is None or source["name"] == "-":
            return None
        found.append(place)
    return found


def _check_hash(path: str, found: str, manifest: dict[str, Any], at: int) -> None:
    wanted = manifest["inputs"][at]["sha256"]
    if found != wanted:
        made = manifest["started"]
        raise PlanError(
            path,
            f"is not the dump that the report was made from on {made}: its SHA-256 is {found[:12]}..., that of the "
            f"report's {wanted[:12]}...",
            "",
            "give the right one with --dump, or audit this one anew",
        )


def check_dumps(plan: Plan, manifest: dict[str, Any]) -> None:
    """Make sure that the opened dumps are those that the report was made from.

    Raises:
        PlanError: They are others.
    """
    if len(plan.sources) != len(manifest["inputs"]):
        raise PlanError(plan.sources[0].name, "is not what the report was made from", "as many dumps as it names")
    for at, source in enumerate(plan.sources):
        _check_hash(source.name, source.sha256, manifest, at)


def report_plan(report: Path, manifest: dict[str, Any], dumps: list[Path], options: AuditOptions) -> Plan | None:
    """Return a plan from a report, without a scan of its dumps; None if only a scan can make one.

    Raises:
        PlanError: A dump is not that of the report.
    """
    definitions = DefinitionsFile(report)
    inputs = manifest["inputs"]
    if not definitions.exists() or len(dumps) != len(inputs):
        return None
    sources = []
    for at, (path, source) in enumerate(zip(dumps, inputs, strict=True)):
        if source["format"] != "etcd-snapshot" or not path.is_file():
            return None
        states = states_below(str(path))
        with path.open("rb") as stream:
            if compression_of(stream.read(64)):
                return None
            stream.seek(0)
            _check_hash(str(path), hashlib.file_digest(stream, "sha256").hexdigest(), manifest, at)
        sources.append(
            SourcePlan(
                name=source["name"],
                format=source["format"],
                mapped=str(path),
                sha256=source["sha256"],
                revision=source["revision"],
                compacted_revision=source["compacted_revision"],
                is_export=False,
                live="",
                rows=source["keys"],
                damage=_damage_of(source),
                states=states,
            )
        )
    return Plan(
        sources=tuple(sources),
        definitions=str(definitions.path),
        entries=tuple(_entries(definitions, manifest)),
        from_files=frozenset(manifest["definitions"]["from_files"]),
        crds_sha256=manifest["definitions"]["sha256"],
        options=options,
    )


def _entries(definitions: DefinitionsFile, manifest: dict[str, Any]) -> Iterator[DefinitionEntry]:
    from_files = set(manifest["definitions"]["from_files"])
    exported = all(source["is_export"] for source in manifest["inputs"])
    at = 0
    for line in definitions.lines():
        try:
            document = json.loads(line)
        except ValueError as error:
            expected = "the definitions as an audit writes them"
            raise DamagedDump(str(definitions.path), "is damaged", expected, "audit anew") from error
        name = document_name(document)
        stored = name not in from_files and (not exported or is_from_server(document))
        yield definition_entry(name, document, stored, at, len(line) - 1)
        at += len(line)


def scope_of(manifest: dict[str, Any]) -> str:
    """Return the scope to which the index of a report is limited, as text; empty if it has all objects of its kinds."""
    scope = manifest["options"]["scope"]
    names = {"namespace": "namespace", "labels": "label selector", "fields": "field selector"}
    return ", ".join(f"{name} {scope[key]}" for key, name in names.items() if scope[key])
