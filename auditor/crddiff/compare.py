"""Compares the definitions of two releases: what each change does to clients and objects."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from auditor.base.errors import AuditorError
from auditor.crddiff import change as effects
from auditor.crddiff.change import BREAKS, CHANGES, DELETED, HARMLESS, MAY_BREAK, NOT_SERVED, REFUSED, Change
from auditor.crddiff.positions import narrower
from auditor.crddiff.trial import MOST_TRIES, Trial, Trials
from auditor.crddiff.versions import NO_BASE, VersionChanges, merged
from auditor.crddiff.witness import Search
from auditor.crds.as_v1 import as_v1
from auditor.crds.definition import document_name, parse_definition
from auditor.upgrade.definition_change import DefinitionChange, change_of_definition
from auditor.upgrade.schema_change import FIELD_REMOVED, NO_NULL, UNKNOWN_PRUNED, schema_changes
from auditor.validation.rules import servable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from auditor.base.records import JsonObject
    from auditor.crds.definition import CrdVersion, CustomResourceDefinition


NOT_FOUND: Final = "the server could not find the requested resource"
"""The server's words for a 404 of a version or a subresource."""
_BY_WEBHOOK: Final = "what a webhook answers is not known here"
ADDED: Final = "definition added"
REMOVED: Final = "definition removed"
_SHAPES: Final = frozenset({"properties", "patternProperties", "definitions"})
_LISTS: Final = frozenset({"allOf", "anyOf", "oneOf"})
_NOTES: Final = frozenset({"description", "title", "example", "externalDocs", "$schema", "id"})


@dataclass(frozen=True, slots=True)
class Comparison:
    """What two releases of definitions differ in.

    Attributes:
        changes: The changes, worst first.
        kinds: Kind of each definition of both releases, by its name.
    """

    changes: tuple[Change, ...]
    kinds: dict[str, str]


def compare(old: Iterable[JsonObject], new: Iterable[JsonObject]) -> Comparison:
    """Compare definitions, which are paired by their names.

    Args:
        old: The documents before.
        new: The documents after.
    """
    before = {document_name(document): document for document in old}
    after = {document_name(document): document for document in new}
    kinds = {name: _kind(document) for name, document in {**before, **after}.items()}
    changed = sum(before.get(name) != after.get(name) for name in kinds)
    most = MOST_TRIES // max(1, changed)
    changes = [change for name in kinds for change in _of_pair(name, before.get(name), after.get(name), most)]
    return Comparison(tuple(sorted(changes, key=lambda one: one.rank)), kinds)


def _of_pair(name: str, old: JsonObject | None, new: JsonObject | None, most: int) -> list[Change]:
    kind = _kind(new or old or {})
    change = change_of_definition(name, old, new)
    if change.refusals or change.unreadable:
        text = "; ".join(change.refusals or (change.unreadable,))
        what = "definition" if old is not None else ADDED
        refused = Change(name, kind, what, BREAKS, REFUSED, message=text)
        if not change.is_only_unmigrated:
            return [refused]
        return [refused, *_of_definitions(name, kind, old, new, change, most)]
    if old is None:
        return [Change(name, kind, ADDED, HARMLESS, HARMLESS, reason="no object of it can be there")]
    if new is None:
        witness = _base(old, old)
        return [Change(name, kind, REMOVED, BREAKS if witness else MAY_BREAK, DELETED, witness=witness)]
    if change.action == "none":
        return _metadata(name, kind, old, new)
    return _of_definitions(name, kind, old, new, change, most)


def _of_definitions(
    name: str, kind: str, old: JsonObject | None, new: JsonObject | None, change: DefinitionChange, most: int
) -> list[Change]:
    assert old is not None
    assert new is not None
    try:
        before, after = servable(parse_definition(old)), servable(parse_definition(new))
    except AuditorError as error:
        return [Change(name, kind, "definition", MAY_BREAK, REFUSED, reason=f"OLD cannot be judged: {error}")]
    trials = Trials(before, after, most)
    changes = [*_of_requests(name, kind, trials, change), *_of_serving(name, kind, old, new, before, after, change)]
    changes += merged(list(_of_schemas(trials)))
    changes += _texts(name, kind, old, new)
    return changes or [Change(name, kind, "definition", HARMLESS, HARMLESS, reason="the server reads both alike")]


def _of_schemas(trials: Trials) -> Iterator[Change]:
    """Yield the changes of all schemas: of each served version, and of versions that objects of others are read at."""
    old, new = trials.old, trials.new
    narrowed = narrower(old, new)
    served = [version.name for version in old.served_versions]
    storage = old.storage_version.name if old.storage_version is not None else ""
    judged: list[VersionChanges] = []
    for name, version in new.versions.items():
        own = narrowed.get(name, [])
        if name in served and version.served:
            judged.append(VersionChanges(trials, name, name, own))
        elif own and served and (version.storage or version.served):
            start = storage if storage in served else served[0]
            judged.append(VersionChanges(trials, start, name, own))
    changes = [change for each in judged for change in each.changes()]
    known = {(change.effect, change.path) for change in changes}
    changes += [change for change in _of_storage(trials) if (change.effect, change.path) not in known]
    yield from changes
    yield from (change for each in judged if each.version == each.read_at for change in each.unexplained(changes))


def _of_storage(trials: Trials) -> Iterator[Change]:
    """Yield what versions lose because what is written at them is stored at another version than before."""
    old, new = trials.old, trials.new
    before, after = old.storage_version, new.storage_version
    if before is None or after is None or before.name == after.name or "Webhook" in (old.conversion, new.conversion):
        return
    for version in old.served_versions:
        own = new.versions.get(version.name)
        if own is None or not own.served or own.name == after.name:
            continue
        other = replace(new, versions={version.name: replace(after, name=version.name)})
        lost = [each for each in schema_changes(old, other) if each.change in (FIELD_REMOVED, UNKNOWN_PRUNED, NO_NULL)]
        for change in VersionChanges(trials, version.name, version.name, lost, after).changes_of_storage():
            yield replace(change, change=f"{change.change} in the storage version", new=after.name)


# -- what the definition says beside its schemas -----------------------------------------------------------------------


def _of_requests(name: str, kind: str, trials: Trials, change: DefinitionChange) -> Iterator[Change]:
    """Yield what clients can no longer ask for."""
    for version in (*change.served_removed, *change.no_longer_served):
        what = "version removed" if version in change.served_removed else "version no longer served"
        yield _gone(Change(name, kind, what, BREAKS, NOT_SERVED, (version,), message=NOT_FOUND), trials, version)
    for version, subresource in change.subresources_removed:
        what = f"{subresource} subresource removed"
        yield _gone(Change(name, kind, what, BREAKS, NOT_SERVED, (version,), message=NOT_FOUND), trials, version)
    for version, path in change.fields_removed:
        if (before := trials.old.versions.get(version)) is None or not before.served:
            continue
        words = f"field label not supported: {path}"
        row = Change(name, kind, "selectable field removed", BREAKS, effects.COLUMNS, (version,), path, message=words)
        yield _gone(row, trials, version)
    for version, path in change.fields_added:
        reason = "more selectors work"
        yield Change(name, kind, "selectable field added", HARMLESS, HARMLESS, (version,), path, reason=reason)


def _gone(change: Change, trials: Trials, version: str) -> Change:
    """Return a change with an object that clients can write under the old definition."""
    target = version if version in trials.new.versions else next(iter(trials.new.versions))
    bases = Search(Trial(trials, version, target)).bases()
    if bases:
        return replace(change, witness=bases[0])
    return replace(change, verdict=MAY_BREAK, reason=NO_BASE)


def _of_serving(
    name: str,
    kind: str,
    old: JsonObject,
    new: JsonObject,
    before: CustomResourceDefinition,
    after: CustomResourceDefinition,
    change: DefinitionChange,
) -> Iterator[Change]:
    if change.conversion is not None or change.is_new_webhook:
        was, now = change.conversion or ("Webhook", "another Webhook")
        yield Change(name, kind, "conversion", MAY_BREAK, effects.UNREADABLE, (), "", was, now, reason=_BY_WEBHOOK)
    if change.storage_before != change.storage_after:
        was, now = change.storage_before or "", change.storage_after or ""
        row = Change(name, kind, "storage version", HARMLESS, HARMLESS, (), "", was, now)
        if change.is_moved_by_webhook:
            yield replace(row, verdict=MAY_BREAK, effect=effects.DATA_DROPPED, reason=_BY_WEBHOOK)
        else:
            yield replace(row, reason=f"what is stored at {was} is read at both")
    for version in change.versions_added:
        yield Change(name, kind, "version added", HARMLESS, HARMLESS, (version,), reason="no client asks for it yet")
    yield from _of_names(name, kind, before, after)
    for later in after.served_versions:
        earlier = before.versions.get(later.name)
        if earlier is not None and not earlier.served:
            reason = "more requests work"
            yield Change(name, kind, "version served", HARMLESS, HARMLESS, (later.name,), reason=reason)
        elif earlier is not None:
            yield from _of_traits(name, kind, earlier, later)
    yield from _of_deprecations(name, kind, old, new)


def _of_names(
    name: str, kind: str, before: CustomResourceDefinition, after: CustomResourceDefinition
) -> Iterator[Change]:
    for attribute, what in (("short_names", "short name"), ("categories", "category")):
        was, now = getattr(before, attribute), getattr(after, attribute)
        for each in was:
            if each not in now:
                yield Change(name, kind, f"{what} removed", CHANGES, effects.COLUMNS, (), "", each)
        for each in now:
            if each not in was:
                yield Change(
                    name, kind, f"{what} added", HARMLESS, HARMLESS, (), "", "", each, reason="no client uses it yet"
                )
    for attribute, what in (("singular", "singular name"), ("list_kind", "list kind")):
        was, now = getattr(before, attribute), getattr(after, attribute)
        if was != now:
            yield Change(name, kind, what, CHANGES, effects.COLUMNS, (), "", was, now)


def _of_traits(name: str, kind: str, before: CrdVersion, after: CrdVersion) -> Iterator[Change]:
    versions = (after.name,)
    columns = [{column.get("name"): column for column in version.printer_columns} for version in (before, after)]
    for column in {**columns[0], **columns[1]}:
        was, now = (known.get(column) for known in columns)
        if was != now:
            what = "added" if was is None else "removed" if now is None else "changed"
            yield Change(name, kind, f"printer column {what}", CHANGES, effects.COLUMNS, versions, str(column))
    if after.has_status and not before.has_status:
        reason = "writes of an object no longer change its status: only those of /status do"
        yield Change(name, kind, "status subresource added", MAY_BREAK, effects.DATA_DROPPED, versions, reason=reason)
    if before.scale is None and after.scale is not None:
        reason = "more requests work"
        yield Change(name, kind, "scale subresource added", HARMLESS, HARMLESS, versions, reason=reason)
    elif before.scale is not None and after.scale is not None and before.scale != after.scale:
        reason = "autoscalers read and write other fields"
        row = Change(name, kind, "scale subresource", MAY_BREAK, effects.UPDATE_REFUSED, versions)
        yield replace(row, old=before.scale.spec_replicas_path, new=after.scale.spec_replicas_path, reason=reason)


def _of_deprecations(name: str, kind: str, old: JsonObject, new: JsonObject) -> Iterator[Change]:
    before, after = (_versions(document) for document in (old, new))
    for version, content in after.items():
        keys = ("deprecated", "deprecationWarning")
        was, now = (tuple(one.get(key) for key in keys) for one in (before.get(version, {}), content))
        if version in before and was != now:
            what = "version deprecated" if now[0] and not was[0] else "deprecation"
            reason = "clients see a warning"
            yield Change(name, kind, what, HARMLESS, HARMLESS, (version,), reason=reason)


# -- words alone -------------------------------------------------------------------------------------------------------


def _metadata(name: str, kind: str, old: JsonObject, new: JsonObject) -> list[Change]:
    """Return the change of labels and annotations, which no request for an object depends on."""
    was, now = (
        {key: _mapping(_mapping(one, "metadata"), key) for key in ("labels", "annotations")} for one in (old, new)
    )
    if was == now:
        return []
    return [Change(name, kind, "metadata", HARMLESS, HARMLESS, reason="the server serves it alike")]


def _texts(name: str, kind: str, old: JsonObject, new: JsonObject) -> Iterator[Change]:
    """Yield a change for each version whose descriptions differ."""
    before, after = (_versions(document) for document in (old, new))
    for version in after:
        if version not in before:
            continue
        schemas = [_mapping(_mapping(one[version], "schema"), "openAPIV3Schema") for one in (before, after)]
        was, now = (dict(_notes(schema, "")) for schema in schemas)
        count = sum(was[path] != now[path] for path in was.keys() & now.keys())
        if count:
            row = Change(name, kind, "descriptions", HARMLESS, HARMLESS, (version,), "", "", f"{count} changed")
            yield replace(row, reason="no request depends on them")


def _notes(schema: Any, path: str) -> Iterator[tuple[str, str]]:
    """Yield the notes of each node of a schema, by its place."""
    if type(schema) is not dict:
        return
    yield path, repr({key: schema[key] for key in sorted(_NOTES & schema.keys())})
    for key, value in schema.items():
        if key in _SHAPES and type(value) is dict:
            for name, child in value.items():
                yield from _notes(child, f"{path}/{key}/{name}")
        elif key in _LISTS and type(value) is list:
            for number, child in enumerate(value):
                yield from _notes(child, f"{path}/{key}/{number}")
        elif key in ("items", "additionalProperties", "not"):
            yield from _notes(value, f"{path}/{key}")


def _versions(document: JsonObject) -> dict[str, JsonObject]:
    listed = _mapping(as_v1(document), "spec").get("versions")
    versions = [one for one in listed if type(one) is dict] if type(listed) is list else []
    return {str(one.get("name")): one for one in versions}


def _mapping(value: JsonObject, key: str) -> JsonObject:
    inner = value.get(key)
    return inner if type(inner) is dict else {}


def _kind(document: JsonObject) -> str:
    return str(_mapping(_mapping(document, "spec"), "names").get("kind") or "")


def _base(old: JsonObject, new: JsonObject) -> JsonObject | None:
    """Return a small object that a definition accepts; None if none was found."""
    try:
        trials = Trials(servable(parse_definition(old)), servable(parse_definition(new)))
    except AuditorError:
        return None
    for version in trials.old.served_versions:
        if bases := Search(Trial(trials, version.name, version.name)).bases():
            return bases[0]
    return None
