"""The causes of an upgrade: what `upgrade` of a manifest says it does to definitions, objects, releases of Helm.

They have the impact `UPGRADE`, and come from the manifest alone: no row of objects/ or findings/ is one of them.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from auditor.base.visible import label, shell_word
from auditor.base.wording import are, by_count, counted, objects
from auditor.causes.counting import CauseCount
from auditor.causes.keys import CauseKey, topic_of
from auditor.causes.severity import UPGRADE, severity_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from auditor.causes.filters import Filters
    from auditor.causes.topics import Cause


DEFINITION: Final = "definition"
"""The check of a cause that is about a definition; its one object is that."""
_CRD: Final = ("apiextensions.k8s.io", "CustomResourceDefinition")
_HELM: Final = ("helm.sh", "Release")
_API_STATES: Final = {
    "undecodable": "not decoded{since}: no LIST of the kind works",
    "undecodable-before": "not decoded{since}: no LIST of the kind works, before or after",
    "decoded": "decoded as before; the next write stores another version",
    "exported": "the export shows it at that version, at which it cannot be restored",
    "left-over": "no server keeps objects at these keys",
}
_OF_HELM: Final = (
    ("fails", "helm-fails", " is a pre-upgrade hook and already exists"),
    ("fails_after", "helm-fails", " is a post-upgrade hook and already exists"),
    ("foreign", "helm-fails", " exists, and by its metadata it is not of this release"),
    ("would_delete", "helm-deletes", " is deleted with its objects, once the upgrade no longer fails"),
    ("keeps", "helm-keeps", " is kept only by helm.sh/resource-policy: keep on the live definition"),
    ("unknown", "helm-unknown", ": only rendering the chart shows whether it is kept (--render)"),
    ("left_alone", "helm-leaves", ": helm upgrade does not apply crds/; judged as if applied by kubectl"),
)
"""Fields of an upgrade by Helm with names of definitions: type and text of the cause of each."""
CATEGORIES: Final = {"mended": "repaired"}
"""Categories whose printed name differs from that in the manifest."""
_VALUES: Final = {
    "pruned": "lost",
    "converted": "lost in conversion",
    "shown-again": "shown again",
    "defaulted": "default filled in",
    "default-changed": "reads differently",
    "selector": "selects differently",
}
"""Changes of values in words."""
_OF_RECORDS: Final = {
    "refused": "a create is refused of",
    "accepted": "a create is no longer refused, or in other words, of",
    "dearer": "rules cost more of",
    "cheaper": "rules cost less of",
}


class _UpgradeCause(NamedTuple):
    """A cause: whose kind, its type, its line, what distinguishes it, how many objects, examples, its check."""

    kind: tuple[str, str]
    type: str
    title: str
    about: str = ""
    objects: int = 1
    samples: Iterable[dict[str, Any]] = ()
    check: str = ""


def upgrade_counts(manifest: dict[str, Any]) -> Iterator[tuple[CauseKey, str, str, CauseCount]]:
    """Yield the causes of an upgrade: key, topic, title, and what was counted; each is a topic of its own.

    Args:
        manifest: That of any report; one that is not of an upgrade has none.
    """
    if "upgrade" not in manifest:
        return
    known: Counter[CauseKey] = Counter()
    for cause in _causes_of(manifest["upgrade"]):
        group, kind = cause.kind
        key = CauseKey(group, kind, check=cause.check, type=cause.type, form=cause.about, impact=UPGRADE)
        if equal := known[key]:  # --redact makes texts equal
            key = replace(key, form=f"{cause.about} {equal + 1}")
        known[replace(key, form=cause.about)] += 1
        count = CauseCount(severity_of(impact=UPGRADE, type_=cause.type), objects=cause.objects)
        for number, sample in enumerate(cause.samples):
            count.note_example(number, sample["key"], _message(sample))
        topic = topic_of(replace(key, version=f"{cause.check} {cause.type} {key.form}"))
        yield key, topic, cause.title, count


def _message(sample: dict[str, Any]) -> str:
    """Return what is the matter with an example, and who last wrote the field as far as that is known."""
    text = sample.get("text") or ""
    if manager := sample.get("last_manager"):
        when = f" at {sample['last_write']}" if sample["last_write"] else ""
        text = f"{text} (last written by {manager}{when})".lstrip()
    return text


def upgrade_objects(causes: Iterable[Cause], filters: Filters) -> Iterator[dict[str, Any]]:
    """Yield the examples of the causes of an upgrade as rows of objects/, those of a cause one after another.

    An upgrade does not count namespaces and owners: filters of these leave no cause out.
    """
    wanted = replace(filters, namespaces=(), owners=())
    for cause in causes:
        if cause.impact != UPGRADE or (filters.causes and cause.digest not in filters.causes):
            continue
        for example, message, cluster in zip(cause.examples, cause.messages, cause.example_clusters, strict=True):
            has_key = example.startswith("/")
            namespace, _, name = ("", "", "") if has_key else example.rpartition("/")
            row = {
                "cluster": cluster or None,
                "key": example if has_key else None,
                "group": cause.group,
                "kind": cause.kind,
                "audited_version": None,
                "namespace": namespace or None,
                "name": name or None,
                "status": cause.type,
                "reason": message,
                "cause": cause.id,
                "cause_impact": UPGRADE,
                "severity": cause.severity,
                "accepted": False,
                "owner": None,
                "change": None,
            }
            if wanted.takes_row(row):
                yield row


def has_objects(cause: Cause) -> bool:
    """Return whether the examples of a cause are objects of the report, not a definition or a release of Helm."""
    if cause.impact != UPGRADE:
        return True
    return cause.check != DEFINITION and cause.group != _HELM[0] and all("/" in name for name in cause.examples)


def is_of_definition(cause: Cause, definition: dict[str, Any]) -> bool:
    """Return whether a cause of an upgrade is about a definition (an entry of its manifest), or about its objects."""
    is_own = (cause.group, cause.kind) == (definition["group"], definition["kind"])
    return is_own or definition["name"] in cause.examples


def _causes_of(section: dict[str, Any]) -> Iterator[_UpgradeCause]:
    for definition in section["definitions"]:
        yield from _effects(definition)
        yield from _facts(definition)
    for definition in (section.get("via") or {}).get("definitions", ()):
        if definition["decision"] == "blocks":
            for cause in _effects(definition):
                yield cause._replace(title=f"first hop: {cause.title}", about=f"first hop {cause.about}")
    yield from _of_helm((section.get("helm") or {}).get("upgrades", ()))
    if section.get("apis"):
        yield from _of_apis(section["apis"])
    for record in (section.get("kubernetes") or {}).get("records", ()):
        yield from _of_record(record)


def _of(definition: dict[str, Any], type_: str, text: str, about: str = "", count: int = 0) -> _UpgradeCause:
    """Return a cause that is about objects of a definition if there are any, else about the definition."""
    kind, own = (definition["group"], definition["kind"]), [{"key": definition["name"]}]
    if count:
        return _UpgradeCause(kind, type_, text, about, count, definition["samples"].get(type_) or own)
    return _UpgradeCause(kind, type_, text, about, 1, own, DEFINITION)


def _effects(definition: dict[str, Any]) -> Iterator[_UpgradeCause]:
    for effect in definition.get("effects", ()):  # an earlier auditor wrote none, which the summary says
        yield _of(definition, effect["type"], effect["text"], effect["about"], effect["objects"])


def _facts(definition: dict[str, Any]) -> Iterator[_UpgradeCause]:
    """Yield what is no reason of the decision."""
    if definition["action"] == "delete":
        return
    for version in definition["versions_added"]:
        yield _of(definition, "version-added", f"version {version} is new", version)
    before, after = definition["storage_before"], definition["storage_after"]
    if before != after and definition["action"] == "update":
        text = f"storage version: {before} before, {after} after"
        yield _of(definition, "storage-version", text, f"{before} {after}")
    for added in definition["selectable_fields_added"]:
        version, field = added["version"], added["field"]
        text = f"field selectors at {version} can use {field}"
        yield _of(definition, "selector-added", text, f"{version} {field}")
    for version in definition["versions_removed"]:
        count = (definition["objects_stored"] or {}).get(version, 0)
        yield _of(definition, "stored-at-removed", _stored_at(definition, version), version, count)
    migration = definition["migration"]
    if count := migration["to_migrate"]:
        text = f"{objects(count)} not stored as {after}, the storage version, until written again"
        yield _of(definition, "to-migrate", text, after or "", count)
    if count := migration["rewrites"]["refused"]:
        text = f"storage migration: {objects(count)} would be refused if written back unchanged"
        yield _of(definition, "rewrite-refused", text, "", count)
    for entry in definition["managed_fields"] if definition["decision"] != "safe-after" else ():
        version, count = entry["version"], entry["objects"]
        text = f"managedFields of {objects(count)} name {version}, which is removed: server-side apply to them fails"
        yield _of(definition, "managed-fields", text, version, count)._replace(samples=entry["samples"])
    for warning in definition["warnings_counted"]:
        times = f" ({warning['count']} times)" if warning["count"] > 1 else ""
        where = f": {', '.join(warning['fields'])}" if warning["fields"] else ""
        yield _of(definition, "warning", f"the server warns: {warning['text']}{times}{where}", warning["text"])
    for change in definition["schema_changes"]:
        arrow = " -> ".join(text for text in (change["old"], change["new"]) if text)
        field, what, count = change["field"] or "(root)", change["change"], change["objects"]
        text = f"narrower: {field}: {what}{arrow and f' {arrow}'}, {count} of {objects(definition['objects'])}"
        yield _of(definition, "narrower", text, f"{field} {what} {arrow}", count)
    yield from _values(definition)
    yield from _gates(definition)
    for entry in definition["formats"]:
        text = f"unknown format {entry['format']} at {entry['field']}: {counted(entry['values'], 'value')}"
        if entry["assumed"]:
            text += f", checked as {entry['assumed']}: {entry['failing']} would fail"
        cause = _of(definition, "unknown-format", text, f"{entry['field']} {entry['format']}")
        yield cause._replace(samples=[*cause.samples, *entry["samples"]])


def _values(definition: dict[str, Any]) -> Iterator[_UpgradeCause]:
    """Yield what reads and writes change in values, by path."""
    for change in definition["changes"]:
        if what := _VALUES.get(change["change"]):
            old, new = change["old"], change["new"]
            arrow = f": {old or '...'} -> {new or '...'}" if old or new else ""
            text = f"{counted(change['values'], 'value')} of {change['path'] or '(root)'} {what}{arrow}"
            cause = _of(definition, "values", text, f"{change['change']} {change['path']} {old} {new}")
            samples = definition["samples"].get("selector", ()) if change["change"] == "selector" else ()
            own = [sample for sample in samples if (change["path"] or "") in sample["text"]]
            yield cause._replace(samples=[*cause.samples, *own])


def _gates(definition: dict[str, Any]) -> Iterator[_UpgradeCause]:
    """Yield the changes of gates, and the objects that use fields which are off."""
    gates = definition["gates"] or {"changes": (), "closed": ()}
    for change in gates["changes"]:
        states = " -> ".join(state for state in (change["before"], change["after"]) if state)
        fields = ", ".join(f"{field['field']} in {objects(field['objects'])}" for field in change["fields"])
        gate, what = change["gate"], change["change"]
        text = f"gate {gate} {what.replace('-', ' ')} ({states}): {fields or 'it guards nothing'}"
        yield _of(definition, "gate-changed", text, f"{gate} {what}")
    for closed in gates["closed"]:
        if count := closed["objects"]:
            text = f"{closed['field']} is off now: stored values remain, but can no longer be written"
            cause = _of(definition, "gate-closed", text, closed["field"], count)
            yield cause._replace(samples=closed["samples"])


def _stored_at(definition: dict[str, Any], version: str) -> str:
    """Return how many objects are stored at a version that is removed."""
    stored = definition["objects_stored"]
    if stored is None:
        return f"version {version} is removed; an export does not show how many objects are stored as it"
    count, at_least = stored.get(version, 0), "" if definition.get("objects_complete", True) else "at least "
    if not count and at_least:
        return f"version {version} is removed; not all objects were judged: it is not known how many are stored as it"
    number = f"{at_least}{objects(count)} {are(count)}" if count else "no object is"
    return f"version {version} is removed; {number} stored as it"


def _of_helm(upgrades: Iterable[dict[str, Any]]) -> Iterator[_UpgradeCause]:
    for upgrade in upgrades:
        if upgrade.get("is_unseen"):
            text = f"what helm upgrade of {label(upgrade['release'])} does is not known: definitions of it were given"
            text += (
                f", and not its chart (--helm-release {shell_word(upgrade['release'])}); judged as applied by kubectl"
            )
            yield _UpgradeCause(_HELM, "helm-unseen", text, upgrade["release"], 1, [{"key": upgrade["release"]}])
            continue
        title = f"helm upgrade of {label(upgrade['release'])} (revision {upgrade['revision']}) to {upgrade['chart']}"
        about = upgrade["release"]
        release = [{"key": upgrade["release"]}]
        names = [(type_, name, text) for field, type_, text in _OF_HELM for name in upgrade[field]]
        names += [
            ("helm-deletes", deleted["definition"], f" is deleted with {objects(deleted['objects'])}")
            for deleted in upgrade["deletes"]
        ]
        names += [
            ("helm-owned", name, f" is also owned by {', '.join(map(label, owners))}")
            for name, owners in upgrade["owners"].items()
        ]
        for type_, name, text in names:
            keep = f", unless first: kubectl annotate crd {shell_word(name)} helm.sh/resource-policy=keep"
            whole = f"{label(name)}{text}{keep if type_ == 'helm-deletes' else ''} ({title})"
            yield _UpgradeCause(_HELM, type_, whole, f"{about} {name}", 1, release)
        if upgrade["is_printed"]:
            values = "the values of the release, --is-upgrade, --validate and --dry-run=server"
            text = f"this holds only if the chart was rendered as an upgrade does it: with {values} ({title})"
            yield _UpgradeCause(_HELM, "helm-printed", text, about, 1, release)


# -- of the API server -------------------------------------------------------------------------------------------------


def _of_apis(apis: dict[str, Any]) -> Iterator[_UpgradeCause]:
    for stored in apis["stored"]:
        until = stored["decoded_until"]
        since = f" since 1.{int(until.partition('.')[2]) + 1}" if until else ""
        state = _API_STATES[stored["state"]].format(since=since)
        text = f"{objects(stored['objects'])} at {stored['api_version']}, {_gone(stored)}: {state}"
        api = stored["api_version"]
        yield _UpgradeCause(_kind_of(stored), stored["state"], text, api, stored["objects"], stored["samples"])
    yield from _of_manifests(apis["helm"] or {})
    for service in apis["api_services"]:
        text = f"{service['name']}: its Service {service['service']} is not in the dump: requests for it fail"
        kind = ("apiregistration.k8s.io", "APIService")
        yield _UpgradeCause(kind, "without-service", text, service["name"], 1, [{"key": service["name"]}])
    for webhook in apis["webhooks"]:
        name, service = webhook["definition"], webhook["service"]
        text = f"{name}: the Service {service} of its conversion webhook is not in the dump"
        yield _UpgradeCause(_CRD, "without-service", text, name, 1, [{"key": name}])
    for client in apis["clients"]:
        yield _of_client(client)
    for version in apis["deprecated_versions"]:
        clients = ", ".join(f"{use['manager'] or use['how']} ({objects(use['objects'])})" for use in version["clients"])
        count, name = version["objects_stored"], version["definition"]
        stored_at = f"{objects(count)} {by_count(count, 'is', 'are')}" if count else "no object is"
        text = f"{name} {version['version']}, deprecated, which its definition still serves: {stored_at} stored at it"
        text += f"; written by {clients}" if clients else ""
        yield _UpgradeCause(_CRD, "deprecated", text, f"{name} {version['version']}", 1, [{"key": name}])


def _of_manifests(helm: dict[str, Any]) -> Iterator[_UpgradeCause]:
    """Yield the causes in manifests of releases of Helm."""
    for release in helm.get("releases", ()):
        name = f"{release['namespace']}/{release['release']}"
        api = f"{release['api_version']} {release['kind']}"
        text = f"{name} revision {release['revision']}: its manifest has {api}, {_gone(release)}"
        yield _UpgradeCause(_HELM, "helm-manifest", text, f"{name} {api}", 1, [{"key": name}])
    for unread in helm.get("unread", ()):
        count, reason = unread["count"], unread["reason"]
        yield _UpgradeCause(
            _HELM, "helm-unread", f"{counted(count, 'release')} could not be read: {reason}", reason, count
        )
    if more := helm.get("more"):
        text = f"{more} more versions that are gone, in manifests of deployed releases"
        yield _UpgradeCause(_HELM, "helm-manifest", text, "more", more)
    if older := helm.get("older"):
        text = f"{counted(older, 'older revision')} not read: a rollback to one may need more"
        yield _UpgradeCause(_HELM, "helm-older", text, "", older)


def _of_client(client: dict[str, Any]) -> _UpgradeCause:
    """Return the cause of who once wrote at a version: an object so written says it for good."""
    by = (client["manager"] or "unknown") if client["how"] == "managedFields" else client["how"]
    last = f", last {client['last_write'][:10]}" if client["last_write"] else ""
    state = _gone(client)
    if client["state"] == "deprecated":
        state = f"deprecated in {client['deprecated']}" + (
            f", removed in {client['removed']}" if client["removed"] else ""
        )
    type_ = "client"
    if client["state"] == "removed-by-upgrade" and client["how"] == "managedFields":
        type_ = "client-of-removed"
    text = f"{client['api_version']}, {state}: {by} wrote {objects(client['objects'])} at it once{last}"
    about = f"{client['api_version']} {client['how']} {by}"
    return _UpgradeCause(_kind_of(client), type_, text, about, client["objects"], client["samples"])


def _kind_of(api: dict[str, Any]) -> tuple[str, str]:
    group, slash, _ = api["api_version"].partition("/")
    return (group if slash else "", api["kind"])


def _gone(api: dict[str, Any]) -> str:
    instead = f"; use {api['replacement']}" if api["replacement"] else ""
    if api["removed"]:
        return f"removed in {api['removed']}{instead}"
    return f"deprecated in {api['deprecated']}{instead}" if api["deprecated"] else "no longer there"


def _of_record(record: dict[str, Any]) -> Iterator[_UpgradeCause]:
    """Yield the cause of a change of Kubernetes that changes something here."""
    parts = [f"{objects(count)} {CATEGORIES.get(name, name)}" for name, count in record["objects"].items()]
    parts += [f"{_OF_RECORDS[how]} {', '.join(map(label, names))}" for how, names in record["definitions"].items()]
    if parts:
        name = record["name"] or "several together, or one of the rule language"
        definitions = {name for names in record["definitions"].values() for name in names}
        count = sum(record["objects"].values()) or len(definitions)
        yield _UpgradeCause(("", "Kubernetes"), "record", f"{name}: {', '.join(parts)}", name, count, record["samples"])
