"""What an upgrade scan tells of itself: the section `upgrade` of the manifest, and the exit code."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from auditor.base.errors import SchemaError
from auditor.base.statuses import Status
from auditor.base.visible import shell_word
from auditor.crds.definition import parse_definition
from auditor.crds.definitions_file import definition_entry
from auditor.gates.change import gate_changes
from auditor.golang.go_text import quote
from auditor.plan.options import FAIL_ON
from auditor.releases.changes import between
from auditor.shards.gates import GatedFields
from auditor.shards.upgrade import ApiTally
from auditor.store.upgrade_apis import REMOVED_VERSIONS, api_decisions, api_section, not_compared
from auditor.store.upgrade_helm import deleted_by_helm, helm_decisions, helm_section, not_of_helm
from auditor.store.upgrade_plan import name_conflicts, plan_of
from auditor.upgrade import (
    UpgradeTally,
    change_of_definition,
    migration_of,
)
from auditor.upgrade.decision import ATTENTION, CREATE, INCOMPLETE, NAMED, NOTE, REASON, decide, decide_all
from auditor.upgrade.definition_change import parsed
from auditor.upgrade.release_change import release_change, with_release_change

if TYPE_CHECKING:
    from collections.abc import Container, Mapping

    from auditor.base.records import JsonObject
    from auditor.crds.definitions_file import DefinitionEntry
    from auditor.gates.paths import GatePath
    from auditor.plan.options import AuditOptions, RunScope
    from auditor.shards.result import ShardResult
    from auditor.shards.upgrade import UpgradePlan
    from auditor.upgrade import Decision, DefinitionChange, Sample
    from auditor.upgrade.release_change import ReleaseChange


_TOP: Final = 50
_SAMPLES: Final = 3
_RECORDS: Final = ("refused", "accepted", "dearer", "cheaper")


def upgrade_section(
    scan: UpgradePlan,
    tallies: Mapping[str, UpgradeTally],
    total: ShardResult,
    report: str,
    seen: ApiTally | None = None,
) -> dict[str, Any]:
    """Return the results of the scan: the decision, then each definition that is applied or deleted, by name."""
    known = not any(source.is_export for source in scan.new.sources)
    is_damaged = any(not damage.is_of_definitions for source in scan.new.sources for damage in source.damage)
    is_complete = not (total.out_of_scope or total.lost or total.given_up or is_damaged)
    refused = [definition_entry(name, document, False) for name, document in scan.refused.items()]
    entries = {entry.name: entry for entry in (*refused, *scan.new.entries, *scan.old.entries)}
    definitions, decisions = [], []
    released: dict[str, ReleaseChange] = {}
    gates = _Gates(scan)
    scope = scan.new.options.scope
    conflicts = name_conflicts(scan)
    for name in sorted(scan.compared):
        if not _is_in_scope(scope, entries[name]):
            continue
        old, new = scan.documents(name)
        change = scan.changes.get(name) or change_of_definition(name, old, new)
        change = replace(change, not_accepted=conflicts.get(name, ()))
        tally = tallies.get(name, UpgradeTally())
        if sealed := total.statuses[((entries[name].group, entries[name].kind), Status.SEALED)]:
            tally.categories["sealed"] = sealed
            tally.objects += sealed
        stored = {version: n for (crd, version), n in sorted(total.stored.items()) if crd == name} if known else None
        migration = migration_of(change, parsed(old), parsed(new), tally, stored, is_complete=is_complete)
        decision = decide(change, tally, stored, unknown="" if is_complete else INCOMPLETE, migration=migration)
        if scan.changes_release and new is not None and name not in scan.applied:
            released[name] = release_change(new, *scan.releases)
            decision = with_release_change(decision, released[name], scan.releases[1])
        by_helm = deleted_by_helm(scan, name, tally)
        decision = by_helm or decision
        if by_helm is None:  # the decision on the release says so
            decisions.append((name, decision))
        definitions.append(
            {"name": name, "group": entries[name].group, "kind": entries[name].kind}
            | _of_definition(change, decision, stored)
            | {"objects_complete": is_complete}
            | _of_objects(tally, report)
            | {"plan": plan_of(change, migration, old, new), "schema_changes": _narrowed(change, tally)}
            | {"formats": _formats(scan, change, tally, report), "gates": gates.of(old, new, tally, report)}
        )
    apis = api_section(scan, seen or ApiTally(), total, report)
    helm = helm_section(scan, tallies)
    of_helm = helm_decisions(helm, is_complete=is_complete)
    decided = decide_all([*of_helm, *api_decisions(apis), *decisions])
    return {
        "decision": decided.word,
        "sentence": decided.sentence + (not_of_helm(helm) if decided.word == "safe" else "") + _extent(scan, apis),
        "named": decided.texts(REASON)[:NAMED],
        "levels": sorted(decided.levels),
        "kubernetes": _releases(scan, tallies, released),
        "new_crds": list(scan.options.new_crds),
        "old_crds": list(scan.old.options.crds),
        "missing": scan.options.missing,
        "assumed_formats": dict(scan.options.assumptions),
        "apis": apis,
        "helm": {"upgrades": helm, "levels": sorted({level for _, decision in of_helm for level in decision.levels})},
        "not_compared": not_compared(scan, apis),
        "definitions": definitions,
        "kept": len(entries) - len(definitions),
    }


def _extent(scan: UpgradePlan, apis: dict[str, Any] | None) -> str:
    """Return what the sentence is about where filters leave objects out."""
    if scan.new.options.scope.is_everything:
        return ""
    is_left_out = scan.options.to_kubernetes and apis is None
    return f" (of the objects in scope{f'; not of {REMOVED_VERSIONS}' if is_left_out else ''})"


def _releases(
    scan: UpgradePlan, tallies: Mapping[str, UpgradeTally], released: Mapping[str, ReleaseChange]
) -> dict[str, Any] | None:
    """Return the releases before and after, with what differs between them; None if objects are judged as by one."""
    if not scan.changes_release:
        return None
    old, new = scan.releases
    return {"from": old.version, "to": new.version, "records": _records(scan, tallies, released)}


def _records(
    scan: UpgradePlan, tallies: Mapping[str, UpgradeTally], definitions: Mapping[str, ReleaseChange]
) -> list[dict[str, Any]]:
    """Return each record between two releases with what it changes; last, without a name, what no record changes alone.

    Args:
        scan: The plan.
        tallies: The counts of each definition, by name.
        definitions: What the releases say to each definition, by name.
    """
    known = [(record.name, str(record.affects), record.what) for record in between(*scan.releases)]
    out = []
    for name, affects, what in (*known, ("", "", "")):
        counts: Counter[str] = Counter()
        samples: list[dict[str, str]] = []
        for definition, tally in tallies.items():
            counts.update({category: n for (own, category), n in tally.records.items() if own == name})
            shown = tally.samples.get(f"record {name}", [])[: _SAMPLES - len(samples)]
            samples += [{"definition": definition, "key": sample.key, "text": sample.text} for sample in shown]
        concerned = {
            how: sorted(own for own, change in definitions.items() if name in change.records_of(how))
            for how in _RECORDS
        }
        if name or counts or any(concerned.values()):
            out.append(
                {"name": name or None, "affects": affects or None, "what": what or None}
                | {"objects": dict(sorted(counts.items())), "samples": samples}
                | {"definitions": {how: names for how, names in concerned.items() if names}}
            )
    return out


def qualified(
    section: dict[str, Any], reasons: list[str], unsure: Container[str], *, scope_only: bool
) -> dict[str, Any]:
    """Return the section for a scan that did not judge everything: it is not safe, nor are definitions concerned.

    Args:
        section: As `upgrade_section` returns it.
        reasons: What was not judged.
        unsure: Names of definitions with objects that were not all judged.
        scope_only: The user left out the rest; the sentence says so already.
    """
    if not reasons or scope_only:
        return {**section, "not_judged": reasons}
    definitions = [
        {**definition, **(_unsure(definition) if definition["name"] in unsure else {})}
        for definition in section["definitions"]
    ]
    whole = _unsure(section)
    whole["sentence"] += f"; not judged: {', '.join(reasons)}"
    return {**section, **whole, "definitions": definitions, "not_judged": reasons}


def _unsure(one: dict[str, Any]) -> dict[str, Any]:
    """Return the decision and the sentence of a scan or a definition without the word safe."""
    if one["decision"] not in ("safe", "safe-after") or one.get("levels"):
        return {"decision": one["decision"], "sentence": one["sentence"]}
    rest = one["sentence"].removeprefix("safe")
    return {"decision": "unknown", "sentence": f"not all was judged: no harm found in the rest{rest}"}


def _is_in_scope(scope: RunScope, entry: DefinitionEntry) -> bool:
    """Whether the kind of a definition counts in this run, as for its objects."""
    names = {part.lower() for name in (entry.kind, entry.plural) for part in (name, f"{name}.{entry.group}")}
    excluded, included = ({name.lower() for name in some} for some in (scope.exclude, scope.include))
    return not (names & excluded) and (not included or bool(names & included))


class _Gates:
    """Compares the field-level gates of old and new definitions."""

    def __init__(self, scan: UpgradePlan) -> None:
        options = (scan.old.options, scan.new.options)
        self._asked = any(option.gate_sidecars or option.field_gates for option in options)
        self._before, self._after = GatedFields(scan.old.options), GatedFields(scan.new.options)

    def of(
        self, old: JsonObject | None, new: JsonObject | None, tally: UpgradeTally, report: str
    ) -> dict[str, Any] | None:
        """Return changed gates and fields that close or open, with the objects that use them; None if none changes."""
        if not self._asked and not any(_has_gates(document) for document in (old, new)):
            return None
        sides = []
        for gated, document in ((self._before, old), (self._after, new)):
            try:
                sides.append(None if document is None else gated.gates(parse_definition(document)))
            except SchemaError:
                sides.append(None)
        made = gate_changes(*sides)
        if not (made.changes or made.closed or made.opened):
            return None

        def used(path: GatePath) -> dict[str, Any]:
            return {"field": str(path), "objects": tally.gates[str(path)]}

        return {
            "changes": [
                {
                    "gate": change.gate,
                    "change": change.change,
                    "before": change.before or None,
                    "after": change.after or None,
                    "fields": [used(path) for path in change.paths],
                }
                for change in made.changes
            ],
            "closed": [
                used(path) | {"samples": _samples(tally.samples.get(f"gate {path}", []), report)}
                for path in made.closed
            ],
            "opened": [used(path) for path in made.opened],
        }


def _has_gates(document: JsonObject | None) -> bool:
    spec = None if document is None else document.get("spec")
    return type(spec) is dict and "customFeatureGates" in spec


def _of_definition(change: DefinitionChange, decision: Decision, stored: dict[str, int] | None) -> dict[str, Any]:
    return {
        "action": change.action,
        "decision": decision.word,
        "sentence": decision.sentence,
        "reasons": decision.texts(REASON),
        "attention": decision.texts(ATTENTION, CREATE),
        "notes": decision.texts(NOTE),
        "effects": [effect.record() for effect in decision.effects],
        "versions": list(change.versions),
        "versions_added": list(change.versions_added),
        "versions_removed": list(change.versions_removed),
        "no_longer_served": list(change.no_longer_served),
        "storage_before": change.storage_before,
        "storage_after": change.storage_after,
        "stored_versions": list(change.stored_versions),
        "objects_stored": stored,
        "selectable_fields_added": [{"version": version, "field": path} for version, path in change.fields_added],
        "selectable_fields_removed": [{"version": version, "field": path} for version, path in change.fields_removed],
        "served_removed": list(change.served_removed),
        "subresources_removed": [
            {"version": version, "subresource": name} for version, name in change.subresources_removed
        ],
        "conversion": list(change.conversion) if change.conversion else None,
        "names_not_accepted": list(change.not_accepted),
        "levels": sorted(decision.levels),
        "refusals": list(change.refusals),
        "is_only_unmigrated": change.is_only_unmigrated,
        "stored_versions_to_migrate": list(change.unmigrated),
        "warnings": list(dict.fromkeys(change.warnings)),
        "warnings_counted": warnings_of(change),
        "unreadable": change.unreadable or None,
    }


def warnings_of(change: DefinitionChange) -> list[dict[str, Any]]:
    """Return each warning of the server once, with the number of times and the fields that it is about."""
    counted = Counter(change.warnings)
    return [
        {
            "text": text,
            "count": count,
            "fields": [path for path, name in change.unknown_formats if f" {quote(name)}" in text],
        }
        for text, count in counted.items()
    ]


def _of_objects(tally: UpgradeTally, report: str) -> dict[str, Any]:
    managed = [
        {"version": version, "objects": count, "samples": _samples(tally.samples.get(f"managed {version}", []), report)}
        for version, count in sorted(tally.managed.items())
    ]
    own = {name: _samples(samples, report) for name, samples in tally.samples.items() if " " not in name}
    ranked = sorted(tally.changes.items(), key=lambda item: (-item[1], item[0]))
    return {
        "objects": tally.objects,
        "categories": dict(sorted(tally.categories.items())),
        "changes": [
            {"change": change, "path": path or None, "old": old or None, "new": new or None, "values": count}
            for (change, path, old, new), count in ranked[:_TOP]
        ],
        "samples": dict(sorted(own.items())),
        "managed_fields": managed,
        "unreadable_before": tally.unreadable_before,
        "users": [
            {"of": what, "manager": manager, "objects": count}
            for (what, manager), count in sorted(tally.users.items(), key=lambda item: (item[0][0], -item[1], item[0]))
        ],
        "migration": {
            "to_migrate": tally.to_migrate,
            "rewrites": {name: tally.rewrites[name] for name in ("passed", "refused", "unknown")},
            "refused_before": tally.migration_refused,
        },
    }


def _samples(found: list[Sample], report: str) -> list[dict[str, Any]]:
    return [
        {
            "key": sample.key,
            "text": sample.text,
            "last_manager": sample.manager,
            "last_write": sample.time,
            "command": f"auditor show {shell_word(str(report))} {shell_word(sample.key)}",
        }
        for sample in found
    ]


def _formats(scan: UpgradePlan, change: DefinitionChange, tally: UpgradeTally, report: str) -> list[dict[str, Any]]:
    """Return each position with a format that this release does not know, also if no object has a value there."""
    places = {*tally.formats, *change.unknown_formats}
    return [
        {
            "field": path,
            "format": name,
            "values": tally.formats[(path, name)],
            "assumed": scan.options.assumptions.get(name),
            "failing": tally.failing[(path, name)] if name in scan.options.assumptions else None,
            "samples": _samples(tally.samples.get(f"format {path} {name}", []), report),
        }
        for path, name in sorted(places)
    ]


def _narrowed(change: DefinitionChange, tally: UpgradeTally) -> list[dict[str, Any]]:
    """Return where schemas are narrower, with the objects concerned today: those with the most first."""
    rows = [
        {
            "versions": list(change_path.versions),
            "field": change_path.path or None,
            "change": change_path.change,
            "old": change_path.old or None,
            "new": change_path.new or None,
            "objects": tally.narrowed[change_path],
        }
        for change_path in change.narrowed
    ]
    return sorted(rows, key=lambda row: -row["objects"])


def reaches(options: AuditOptions, section: Mapping[str, Any]) -> bool:
    """Return whether the changes of the upgrade reach --fail-on; earlier errors do not count."""
    decided = [*section["definitions"], *(section["apis"] or {}).get("decisions", ())]
    reached = {level for part in (*decided, section["helm"]) for level in part["levels"]}
    return not reached.isdisjoint(FAIL_ON[1 : FAIL_ON.index(options.fail_on) + 1])
