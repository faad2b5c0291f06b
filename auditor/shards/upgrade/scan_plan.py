"""The plan of an upgrade scan: the same sources, with the definitions of today and with those to come."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

import orjson

from auditor.crdcheck import check_crd
from auditor.crds.as_v1 import as_manifest
from auditor.crds.definition import document_name
from auditor.crds.definitions_file import definition_entry, write_definitions
from auditor.golang.jsontext import decode, encode
from auditor.plan.definition_paths import definitions_at, no_definition, render_of
from auditor.plan.run_plan import Plan, make_plan
from auditor.releases import Release, find_release
from auditor.shards.upgrade.helm import HelmReleases, HelmUpgrade, helm_upgrades, owners_of
from auditor.upgrade import DefinitionChange, after_update, change_of_definition, in_cluster

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from auditor.base.records import JsonObject
    from auditor.crds.definitions_file import DefinitionEntry
    from auditor.plan.charts import Chart
    from auditor.plan.options import AuditOptions


@dataclass(frozen=True, slots=True)
class UpgradeOptions:
    """Options of an upgrade scan beyond those of an audit.

    Attributes:
        new_crds: Files or folders with the definitions to come; ``-`` is standard input.
        missing: Whether the upgrade keeps or deletes definitions that are not among them: keep or delete.
        assumptions: Format that this release does not know, to one that it does.
        old_sidecars: Files of field-level gates of today, by name of the definition; those of the audit's options are
            the ones to come.
        via: Files or folders with the definitions of a release between; the scan then covers the second hop.
        plan_file: File for the plan; empty if there is none is written.
        to_kubernetes: Release of the API server after the upgrade; empty means that of today. If it is not reproduced,
            objects are judged by that of today, and only uses of removed versions of kinds are found.
        helm_releases: Whether manifests of Helm releases are read, too.
        today: Release of the API server before the upgrade, as the user named it; empty if not named.
        helm_release: Release that Helm upgrades, NAME or NAMESPACE/NAME; empty if it is the one of the chart.
    """

    new_crds: tuple[str, ...]
    missing: str = "keep"
    assumptions: dict[str, str] = field(default_factory=dict)
    old_sidecars: tuple[str, ...] = ()
    via: tuple[str, ...] = ()
    plan_file: str = ""
    to_kubernetes: str = ""
    helm_releases: bool = False
    today: str = ""
    helm_release: str = ""

    @property
    def judged_as(self) -> str:
        """The release by which objects are judged after the upgrade; empty means that of today."""
        return self.to_kubernetes if find_release(self.to_kubernetes, reproduced=False).is_reproduced else ""


class DeprecatedVersion(NamedTuple):
    """A version of a definition that is served and marked as deprecated."""

    name: str
    group: str
    version: str
    kind: str


@dataclass(frozen=True, slots=True)
class UpgradePlan:
    """The plans of the audits under the old and the new definitions: same sources, other definitions.

    Attributes:
        old: Definitions of the dump, replaced by name by those of --old-crds.
        new: The same, replaced by name by those of --new-crds; it includes those to be deleted.
        applied: Names of the definitions of --new-crds.
        deleted: Names of those to be deleted.
        helm: What upgrades by Helm do besides.
        owners: Who else owns the definitions of these releases, by name.
        changes: What each definition of --new-crds changes, by name.
        refused: Those that the server refuses, so that today's stay (`DefinitionChange.is_refused`), by name.
    """

    old: Plan
    new: Plan
    applied: frozenset[str]
    deleted: frozenset[str]
    options: UpgradeOptions
    helm: tuple[HelmUpgrade, ...] = ()
    owners: Mapping[str, list[str]] = field(default_factory=dict)
    changes: Mapping[str, DefinitionChange] = field(default_factory=dict)
    refused: Mapping[str, JsonObject] = field(default_factory=dict)

    @property
    def changes_release(self) -> bool:
        """Whether the release of the API server changes, so that kinds with unchanged definitions are compared, too."""
        return self.old.options.kubernetes != self.new.options.kubernetes

    @property
    def releases(self) -> tuple[Release, Release]:
        """The releases of the API server before and after."""
        return find_release(self.old.options.kubernetes), find_release(self.new.options.kubernetes)

    @property
    def target(self) -> Release:
        """The release of the API server after the upgrade, reproduced or not."""
        return find_release(self.options.to_kubernetes or self.old.options.kubernetes, reproduced=False)

    @property
    def looks_for_apis(self) -> bool:
        """Whether the scan looks for removed versions of kinds: for a newer release, in the whole dump."""
        today, is_asked = self.today, bool(self.options.to_kubernetes)
        return is_asked and self.old.options.scope.is_everything and (today is None or today.minor <= self.target.minor)

    @property
    def today(self) -> Release | None:
        """The release of the API server before the upgrade; None if it is neither named nor the default."""
        release = find_release(self.options.today)
        return release if self.options.today or release.minor < self.target.minor else None

    @property
    def deprecated_versions(self) -> tuple[DeprecatedVersion, ...]:
        """Versions that the definitions serve after the upgrade, and mark as deprecated."""
        versions_found = []
        for entry in self.new.entries:
            text = self.new.definitions_file.text(entry)
            spec = decode(text).get("spec") if b'"deprecated"' in text and entry.name not in self.deleted else None
            versions = spec.get("versions") if type(spec) is dict else None
            versions_found += [
                DeprecatedVersion(entry.name, entry.group, str(version.get("name")), entry.kind)
                for version in (versions if type(versions) is list else ())
                if type(version) is dict and version.get("deprecated") is True and version.get("served") is True
            ]
        return tuple(versions_found)

    @property
    def compared(self) -> frozenset[str]:
        """Names of the definitions whose objects may be affected."""
        every = {entry.name for entry in self.new.entries} if self.changes_release else set()
        return self.applied | self.deleted | every

    def documents(self, name: str) -> tuple[JsonObject | None, JsonObject | None]:
        """Return the old and the new document of a definition, or None if it has none."""
        old, new = (
            next((plan.definitions_file.document(entry) for entry in plan.entries if entry.name == name), None)
            for plan in (self.old, self.new)
        )
        new = self.refused.get(name, new)
        return None if old is None else with_status(self.old, name, old), None if name in self.deleted else new


def with_status(plan: Plan, name: str, document: JsonObject) -> JsonObject:
    """Return a definition of today as the cluster has it: one from a file has the status of the dump's."""
    replaced = plan.replaced.get(name)
    return in_cluster(document, None if replaced is None else decode(replaced).get("status"))


def plan_upgrade(options: AuditOptions, upgrade: UpgradeOptions, workdir: Path) -> UpgradePlan:
    """Open every dump once, and pair the new definitions with the old ones.

    Raises:
        AuditorError: A dump or a file of definitions cannot be read.
    """
    asked = replace(options, field_gates="", gate_sidecars=upgrade.old_sidecars)
    old = make_plan(asked, workdir, go_on=True)
    if upgrade.via:
        between = _given(old, upgrade.via)[0]
        today = _documents_of_today(old, between)
        updated = {name: after_update(today[name], document) for name, document in between.items()}
        old = _applied(old, updated, workdir / "definitions-between.ndjson")
    releases = HelmReleases(old, upgrade.helm_release)
    given: dict[str, JsonObject] = {}
    helm: list[HelmUpgrade] = []
    if upgrade.new_crds or not upgrade.to_kubernetes:
        given, charts = _given(old, upgrade.new_crds, releases)
        helm = helm_upgrades(old, releases, charts, given, wanted=bool(upgrade.helm_release))
        if not given and not helm and not any(upgrade.is_of_definitions for upgrade in old.sources[0].damage):
            raise no_definition(upgrade.new_crds)
    by_helm = frozenset(name for upgrade in helm for name in upgrade.deletes)
    given = {name: document for name, document in given.items() if name not in by_helm}
    before = {entry.name for entry in old.entries}
    later = replace(options, kubernetes=upgrade.judged_as or options.kubernetes)
    today = _documents_of_today(old, given)
    updated = {name: after_update(today[name], document) for name, document in given.items()}
    changes = {name: _change_of(name, today[name], updated[name], document) for name, document in given.items()}
    refused = {name: document for name, document in given.items() if changes[name].is_refused}
    accepted = {name: document for name, document in updated.items() if name not in refused}
    new = replace(_applied(old, accepted, workdir / "definitions-new.ndjson"), options=later)
    gone = before - given.keys() if upgrade.missing == "delete" else ()
    owners: dict[str, list[str]] = {}
    for helm_upgrade in helm:
        concerned = frozenset(
            (
                *helm_upgrade.deletes,
                *helm_upgrade.keeps,
                *helm_upgrade.fails,
                *helm_upgrade.fails_after,
                *helm_upgrade.foreign,
                *helm_upgrade.unknown,
            )
        )
        for name, others in owners_of(old, releases, concerned, helm_upgrade.release).items():
            owners[name] = list(dict.fromkeys((*owners.get(name, ()), *others)))
    return UpgradePlan(
        old, new, frozenset(given), frozenset(gone) | by_helm, upgrade, tuple(helm), owners, changes, refused
    )


def _change_of(name: str, old: JsonObject | None, updated: JsonObject, given: JsonObject) -> DefinitionChange:
    """Return what a definition of --new-crds changes; the server also refuses one whose own status it cannot decode."""
    change = change_of_definition(name, old, updated)
    if given.get("status") and not change.refusals and (unreadable := check_crd(given).unreadable) is not None:
        return DefinitionChange(name, change.action, refusals=(unreadable.reason,))
    return change


def _given(
    old: Plan, paths: tuple[str, ...], releases: HelmReleases | None = None
) -> tuple[dict[str, JsonObject], tuple[Chart, ...]]:
    """Return the definitions at paths, by name, and the charts; files that may hold more are noted with the first dump.

    Charts are rendered as the release that they upgrade, if it is known. Only with releases may paths hold nothing.
    """
    render = render_of(old.options)
    if render is not None and releases is not None:
        render = render._replace(release=releases.render_as)
    given = definitions_at(paths, render=render)
    may_hold_nothing = bool(releases is not None and (given.charts or releases.is_named))
    if not given.documents and not given.unread and not may_hold_nothing:
        raise no_definition(paths)
    old.sources[0].damage += given.unread
    return {document_name(document): _as_sent(document) for document in given.documents}, given.charts


def _as_sent(document: JsonObject) -> JsonObject:
    """Return a definition as a client sends it: one from another cluster without what its server wrote."""
    metadata = document.get("metadata")
    is_stored = type(metadata) is dict and "uid" in metadata and document.get("apiVersion") == "apiextensions.k8s.io/v1"
    return as_manifest(document) if is_stored else document


def _applied(old: Plan, updated: dict[str, JsonObject], path: Path) -> Plan:
    """Return a plan with definitions applied over those that it has.

    Args:
        old: The plan before.
        updated: The definitions to apply as they are after that (`after_update`), by name.
        path: The file that all go to.
    """
    entries, sha256 = write_definitions(path, _new_definitions(old, updated))
    return replace(
        old,
        definitions=str(path),
        entries=entries,
        from_files=old.from_files | updated.keys(),
        crds_sha256=sha256,
    )


def _new_definitions(old: Plan, updated: dict[str, JsonObject]) -> Iterator[tuple[DefinitionEntry, bytes]]:
    """Yield the definitions after the upgrade, by name: the updated ones, and the others of a plan."""
    before = {entry.name: entry for entry in old.entries}
    for name in sorted(before.keys() | updated.keys()):
        entry = before.get(name)
        if name in updated:
            yield definition_entry(name, updated[name], False), _encoded(updated[name])
        elif entry is not None:
            yield entry, old.definitions_file.text(entry)


def _documents_of_today(old: Plan, names: Iterable[str]) -> dict[str, JsonObject | None]:
    """Return definitions as the cluster has them today, by name; None if it has none of the name."""
    before = {entry.name: entry for entry in old.entries}
    return {
        name: with_status(old, name, old.definitions_file.document(before[name])) if name in before else None
        for name in names
    }


def _encoded(document: JsonObject) -> bytes:
    """Return a document as JSON in which numbers keep their types: 1.0 is no integer."""
    try:
        return orjson.dumps(document, option=orjson.OPT_SORT_KEYS)
    except (TypeError, orjson.JSONEncodeError):  # a number or a string that only Go decodes
        return encode(document).encode("utf-8", "surrogatepass")
