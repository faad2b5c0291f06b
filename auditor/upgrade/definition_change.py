"""What an upgrade does to a definition itself, before any object is looked at."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from auditor.base.errors import AuditorError
from auditor.crdcheck import check_crd, check_crd_update
from auditor.crds.as_v1 import as_v1
from auditor.crds.definition import parse_definition
from auditor.crds.outline import conditions_of, outline, stored_versions
from auditor.upgrade.hidden_fields import hidden_fields
from auditor.upgrade.in_cluster import in_cluster
from auditor.upgrade.schema_change import schema_changes
from auditor.upgrade.unknown_formats import UnknownFormats
from auditor.validation.rules import servable

if TYPE_CHECKING:
    from auditor.base.records import JsonObject
    from auditor.crdcheck import CheckedDefinition
    from auditor.crds.definition import CustomResourceDefinition
    from auditor.upgrade.hidden_fields import HiddenFields
    from auditor.upgrade.schema_change import SchemaChange


NOT_SERVED: Final = (
    'no matches for kind "CustomResourceDefinition" in version "apiextensions.k8s.io/v1beta1" (not served since '
    "Kubernetes 1.22)"
)
"""What a client hears that applies a definition in v1beta1."""
_STORED_VERSIONS: Final = "status.storedVersions["


@dataclass(frozen=True, slots=True)
class DefinitionChange:
    """One definition in an upgrade.

    Attributes:
        name: The name of the definition.
        action: create, update, none (the old and the new one say the same), or delete.
        versions: Names in the new definition, in its order.
        served_after: Names of the versions that are served in the new definition.
        versions_added: Names that only the new one has.
        versions_removed: Names that only the old one has, or that only status.storedVersions has.
        no_longer_served: Versions that remain, but are no longer served.
        storage_before: Name of the storage version; None means there is none.
        storage_after: The same in the new definition.
        stored_versions: status.storedVersions before.
        fields_added: (version, selectable field) that is new at a version that stays.
        fields_removed: (version, selectable field) that selectors can no longer use.
        refusals: The errors of the server, in its words.
        unmigrated: Versions without which the server refuses the definition as long as status.storedVersions has them.
        is_only_unmigrated: Whether that is all the server refuses it for.
        served_removed: Versions that were served and are removed.
        subresources_removed: (version, ``status`` or ``scale``) that a served version had.
        conversion: Strategies before and after where they differ.
        is_new_webhook: Whether a webhook converts objects that did not before: another address counts, too.
        is_moved_by_webhook: Whether the storage version changes, and only a webhook converts what is stored.
        narrowed: Where schemas are narrower.
        hidden: Fields that exports cannot show, and that the new definition drops or restricts.
        not_accepted: Names that the server will not accept, because other definitions have them, in its words.
        warnings: The warnings of the server.
        unreadable: Why a server cannot use the new definition; empty means it can.
        unknown_formats: (field, format) of the storage version where this release does not know the format; empty for
            definitions that do not change.
        is_terminating: Whether the old one is being deleted, with its objects.
        is_unserved: Whether the old one was never established, so that a server answers 404 for its objects.
    """

    name: str
    action: str
    versions: tuple[str, ...] = ()
    served_after: tuple[str, ...] = ()
    versions_added: tuple[str, ...] = ()
    versions_removed: tuple[str, ...] = ()
    no_longer_served: tuple[str, ...] = ()
    storage_before: str | None = None
    storage_after: str | None = None
    stored_versions: tuple[str, ...] = ()
    fields_added: tuple[tuple[str, str], ...] = ()
    fields_removed: tuple[tuple[str, str], ...] = ()
    refusals: tuple[str, ...] = ()
    unmigrated: tuple[str, ...] = ()
    is_only_unmigrated: bool = False
    served_removed: tuple[str, ...] = ()
    subresources_removed: tuple[tuple[str, str], ...] = ()
    conversion: tuple[str, str] | None = None
    is_new_webhook: bool = False
    is_moved_by_webhook: bool = False
    narrowed: tuple[SchemaChange, ...] = ()
    hidden: tuple[HiddenFields, ...] = ()
    not_accepted: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    unreadable: str = ""
    unknown_formats: tuple[tuple[str, str], ...] = ()
    is_terminating: bool = False
    is_unserved: bool = False

    @property
    def is_refused(self) -> bool:
        """Whether the server does not take the definition, also after a migration: that of today stays."""
        return bool(self.refusals) and not self.is_only_unmigrated


def change_of_definition(name: str, old: JsonObject | None, new: JsonObject | None) -> DefinitionChange:
    """Compare an old and a new document of one definition; arguments as for `_change`.

    A definition that the server refuses changes nothing, so that the refusals are all that is returned.
    """
    change = _change(name, old, new)
    return change if old is None else replace(change, is_terminating=_is_terminating(old), is_unserved=is_unserved(old))


def _is_terminating(document: JsonObject) -> bool:
    metadata = document.get("metadata")
    is_marked = type(metadata) is dict and bool(metadata.get("deletionTimestamp"))
    return is_marked or "Terminating" in _true_conditions(document)


def is_unserved(document: JsonObject) -> bool:
    """Return whether a document has the status of a definition that a server has never served."""
    return bool(conditions_of(document)) and _true_conditions(document).isdisjoint(("NamesAccepted", "Established"))


def _true_conditions(document: JsonObject) -> set[str]:
    return {str(condition.get("type")) for condition in conditions_of(document) if condition.get("status") == "True"}


def _change(name: str, old: JsonObject | None, new: JsonObject | None) -> DefinitionChange:
    """Compare an old and a new document of one definition, and run the server's checks of the update.

    Args:
        name: The name of the definition.
        old: As it is stored, with its status, or from a file; None means there is none.
        new: As it is to be applied; None means it is to be deleted.
    """
    if new is None:
        return DefinitionChange(name, "delete", stored_versions=tuple(stored_versions(old or {})))
    if old is not None and _is_same(old, new):
        return _unchanged(name, old)
    if old is not None:
        old = in_cluster(old)
    before = parsed(old)
    checked = check_crd(new) if old is None else check_crd_update(old, as_sent(new, old))
    refusals, unmigrated = _said(checked)
    warnings = (*(f'unknown field "{path}"' for path in checked.unknown_fields), *checked.warnings)
    action = "create" if old is None else "update"
    is_only_unmigrated = bool(unmigrated) and len(unmigrated) == len(refusals)
    if refusals and not is_only_unmigrated:
        stays = {} if old is None else old
        known_versions = tuple(version.name for version in outline(stays))
        return DefinitionChange(
            name,
            action,
            versions=known_versions,
            storage_before=_storage(before),
            storage_after=_storage(before),
            stored_versions=tuple(stored_versions(stays)),
            refusals=refusals,
            unmigrated=unmigrated,
            warnings=warnings,
        )
    try:
        after = servable(parse_definition(new))
    except AuditorError as error:
        return DefinitionChange(name, action, warnings=warnings, unreadable=str(error))
    unreadable = next((version.unserved_reason for version in after.versions.values() if version.unserved_reason), "")
    removed: tuple[str, ...] = ()
    if before is not None:
        known = dict.fromkeys((*before.versions, *before.stored_versions))
        removed = tuple(version for version in known if version not in after.versions)
    narrowed = () if before is None else schema_changes(before, after)
    return DefinitionChange(
        name,
        action,
        versions=tuple(after.versions),
        served_after=tuple(version.name for version in after.served_versions),
        versions_added=tuple(
            version for version in after.versions if before is not None and version not in before.versions
        ),
        versions_removed=removed,
        no_longer_served=_no_longer_served(before, after),
        storage_before=_storage(before),
        storage_after=_storage(after),
        stored_versions=before.stored_versions if before is not None else (),
        fields_added=_fields(before, after),
        fields_removed=_fields(after, before),
        refusals=refusals,
        unmigrated=unmigrated,
        is_only_unmigrated=is_only_unmigrated,
        served_removed=_served_removed(before, after),
        subresources_removed=_subresources_removed(before, after),
        conversion=_conversion(before, after),
        is_new_webhook=before is not None and after.conversion == "Webhook" and webhook_of(old) != webhook_of(new),
        is_moved_by_webhook=after.conversion == "Webhook" and _storage(before) not in (None, _storage(after)),
        narrowed=narrowed,
        hidden=() if before is None else hidden_fields(before, after, narrowed),
        warnings=warnings,
        unreadable=unreadable,
        unknown_formats=_unknown_formats(after),
    )


def after_update(old: JsonObject | None, new: JsonObject) -> JsonObject:
    """Return a new document with the stored versions that it has once a server has taken it over the old one."""
    if old is None:
        return new
    stored = stored_versions(old)
    stored += [version.name for version in outline(new) if version.storage and version.name not in stored][:1]
    return {**new, "status": {"storedVersions": stored}}


def _is_same(old: JsonObject, new: JsonObject) -> bool:
    """Whether there is nothing to apply: what both say is word for word the same."""
    if old.get("apiVersion") != new.get("apiVersion"):
        old = as_v1(old)  # etcd holds in v1beta1 what clients see and send in v1
    return old.get("apiVersion") == new.get("apiVersion") and old.get("spec") == new.get("spec")


def _unchanged(name: str, document: JsonObject) -> DefinitionChange:
    versions = outline(document)
    storage = next((version.name for version in versions if version.storage), None)
    return DefinitionChange(
        name,
        "none",
        versions=tuple(version.name for version in versions),
        storage_before=storage,
        storage_after=storage,
        stored_versions=tuple(stored_versions(document)),
    )


def as_sent(new: JsonObject, old: JsonObject) -> JsonObject:
    """Return a manifest as a client sends it: its metadata completed from what is stored."""
    given, known = new.get("metadata"), old.get("metadata")
    if type(given) is not dict or type(known) is not dict:
        return new
    return {**new, "metadata": {"resourceVersion": "1", **known, **given}}


def _said(checked: CheckedDefinition) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return (refusals, versions that have to be migrated first).

    A document in v1beta1 is refused for that alone: no check of it is made.
    """
    if checked.unreadable is not None:
        return (checked.unreadable.reason,), ()
    if not checked.is_served:
        return (NOT_SERVED,), ()
    unmigrated = tuple(
        finding.bad_value
        for finding in checked.findings
        if finding.field.startswith(_STORED_VERSIONS) and type(finding.bad_value) is str
    )
    return tuple(finding.message for finding in checked.findings), unmigrated


def parsed(document: JsonObject | None) -> CustomResourceDefinition | None:
    """Return a definition, or None if there is none or no server could decode it."""
    if document is None:
        return None
    try:
        return servable(parse_definition(document))
    except AuditorError:
        return None


def _unknown_formats(definition: CustomResourceDefinition) -> tuple[tuple[str, str], ...]:
    storage = definition.storage_version
    return () if storage is None else UnknownFormats(storage.schema).places


def _storage(definition: CustomResourceDefinition | None) -> str | None:
    storage = None if definition is None else definition.storage_version
    return None if storage is None else storage.name


def _no_longer_served(before: CustomResourceDefinition | None, after: CustomResourceDefinition) -> tuple[str, ...]:
    if before is None:
        return ()
    served = {version.name for version in before.served_versions}
    return tuple(version.name for version in after.versions.values() if version.name in served and not version.served)


def _served_removed(before: CustomResourceDefinition | None, after: CustomResourceDefinition) -> tuple[str, ...]:
    """Return the versions that clients can ask for today, and that the new definition does not have."""
    served = () if before is None else before.served_versions
    return tuple(version.name for version in served if version.name not in after.versions)


def _subresources_removed(
    before: CustomResourceDefinition | None, after: CustomResourceDefinition
) -> tuple[tuple[str, str], ...]:
    """Return (version, subresource) that a version served before and after no longer has."""
    out = []
    for old in () if before is None else before.served_versions:
        new = after.versions.get(old.name)
        if new is not None and new.served:
            out += [(old.name, "status")] if old.has_status and not new.has_status else []
            out += [(old.name, "scale")] if old.scale is not None and new.scale is None else []
    return tuple(out)


def _conversion(before: CustomResourceDefinition | None, after: CustomResourceDefinition) -> tuple[str, str] | None:
    if before is None or before.conversion == after.conversion:
        return None
    return before.conversion, after.conversion


def webhook_of(document: JsonObject | None) -> JsonObject:
    """Return where a server reaches the conversion webhook of a definition: service or url; empty if it has none.

    Certificates are left out: they are renewed all the time, mostly by another client than the one that applies.
    """
    spec = (document or {}).get("spec")
    conversion = spec.get("conversion") if type(spec) is dict else None
    if type(conversion) is not dict or conversion.get("strategy") != "Webhook":
        return {}
    webhook = conversion.get("webhook")
    places = (webhook.get("clientConfig") if type(webhook) is dict else None, conversion.get("webhookClientConfig"))
    config = next((place for place in places if type(place) is dict), {})
    service = config.get("service")
    if type(service) is dict:
        return {"service": {"port": 443, **service}}
    return {"url": config.get("url")}


def _fields(
    without: CustomResourceDefinition | None, having: CustomResourceDefinition | None
) -> tuple[tuple[str, str], ...]:
    """Return (version, label) of selectable fields that one definition has and another lacks, at versions of both."""
    if without is None or having is None:
        return ()
    return tuple(
        (name, path.removeprefix("."))
        for name, version in having.versions.items()
        if name in without.versions
        for path in version.selectable_fields
        if path not in without.versions[name].selectable_fields
    )
