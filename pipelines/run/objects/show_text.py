"""The text that `auditor show` prints of an object: all its fields and events in words, then what is known about it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from auditor.base.records import metadata_of, namespace_of
from auditor.base.statuses import KeyClass
from auditor.base.visible import visible
from auditor.base.wording import counted, shortened
from auditor.causes.follows import noted
from auditor.printing.describe import described, section
from auditor.printing.print_rows import yaml_text
from auditor.server.clock import reference_time
from auditor.server.not_read import NotRead
from auditor.server.object_reader import UndecodedObject
from auditor.updates.managed_fields import managers_of, owned_paths

if TYPE_CHECKING:
    from auditor.base.records import JsonObject
    from auditor.printing.discovery import Resource
    from auditor.server.dump import DumpStore
    from auditor.server.dump_rows import StoredRow


_MOST: Final = 10
"""Lines at most that begin with one label."""
_LINE: Final = 66
"""Characters that a line has beside its label."""
_ALL: Final = " (-o yaml has more)"


class Shown(NamedTuple):
    """An object that is shown.

    Attributes:
        resource: The kind, at the requested version; None if the key is of no kind.
        document: What is known about it, by name.
        is_unread: Whether no server can read it, or it is encrypted and no key was given.
    """

    store: DumpStore
    row: StoredRow
    resource: Resource | None
    document: JsonObject
    is_unread: bool


def object_text(shown: Shown, judged: JsonObject | None, *, now: float | None, with_events: bool) -> str:
    """Return the text of an object.

    Args:
        shown: The object.
        judged: What a report has of it.
        now: Seconds since 1970, for the ages of events; None for the newest time of the dump.
        with_events: Whether events are printed, too; kubectl prints them for one object only.
    """
    obj, events, moment = _read(shown), None, 0.0
    if obj is not None and with_events:
        events, moment = _events(shown, obj), reference_time(shown.store, now)
    text = "" if obj is None else described(obj, events, moment, on_terminal=sys.stdout.isatty()) + "\n"
    if obj is None and type(stored := shown.document.get("stored")) is dict:  # of any shape
        text = yaml_text(stored) + "\n"
    deleted = shown.document.get("deleted_at_revision")
    lead = f"Deleted: at revision {deleted}; this is its last value\n" if deleted else ""
    return lead + "\n".join(map(visible, text.split("\n"))) + known_text(shown.document, judged, obj or {})


def known_text(document: JsonObject, judged: JsonObject | None, obj: JsonObject) -> str:
    """Return what a dump and a report know about an object, as a section of its text."""
    known = {label: [visible(text) for text in texts if text] for label, texts in _known(document, judged, obj).items()}
    more = "... and {} more; -o yaml prints all"
    return section(
        "Dump",
        {
            label: texts if len(texts) <= _MOST else [*texts[:_MOST], more.format(len(texts) - _MOST)]
            for label, texts in known.items()
        },
    )


def _read(shown: Shown) -> JsonObject | None:
    """Return the object at the requested version, or as stored if only a webhook could read it."""
    if shown.resource is None or shown.is_unread:
        return None
    store, notes = shown.store, NotRead(shown.resource, shown.store.reader.left_out)
    try:
        obj = store.reader.read_or_stored(shown.resource, shown.row, notes)
    except UndecodedObject:
        return None
    notes.note(store.warn)
    return None if obj is None else store.reader.concealed(shown.resource, obj)


def _events(shown: Shown, obj: JsonObject) -> list[JsonObject]:
    """Return the events about an object; those of nodes and static pods name it by another uid.

    Source: kubectl pkg/describe/describe.go (NodeDescriber, PodDescriber).
    """
    metadata = metadata_of(obj)
    annotations = metadata.get("annotations")
    uids = {metadata.get("uid")}
    uids |= {annotations.get("kubernetes.io/config.mirror")} - {None} if type(annotations) is dict else set()
    kind = shown.resource.kind if shown.resource is not None else ""
    uids |= {metadata.get("name")} if kind == "Node" else set()
    store = shown.store
    about = []
    for event in store.list_objects(store.discovery.resolve("events"), namespace_of(obj), "", ""):
        involved: Any = event.get("involvedObject") or {}
        if (involved.get("kind"), involved.get("name")) == (kind, metadata.get("name")) and involved.get("uid") in uids:
            about.append(event)
    return about


def _known(document: JsonObject, judged: JsonObject | None, obj: JsonObject) -> dict[str, list[str]]:
    """Return the texts by their label."""
    rows = [row for row in (judged or {}).get("objects", ()) if _is_of(row, document, obj)]
    row = rows[0] if rows else document
    places = {name: row.get(name) for name in ("cluster", "namespace")}
    mine = {
        name: [one for one in (judged or document).get(name) or () if {**places, **one}.items() >= places.items()]
        for name in ("findings", "fixed")
    }
    source: Any = document.get("source") or {}
    revisions = [str(revision["revision"]) for revision in document.get("revisions", ())]
    older = "" if len(revisions) < 2 else f"{counted(len(revisions), 'revision')}: {', '.join(revisions[-_MOST:])}"
    revision = metadata_of(obj).get("resourceVersion") if document.get("key") else ""
    owners = metadata_of(obj).get("ownerReferences")
    writers = sorted(managers_of(obj), key=lambda entry: entry.time, reverse=True)
    return {
        "Cluster": [str(row.get("cluster") or "")],
        "Key": [str(document.get("key") or row.get("key") or "")],
        "Place": [f"byte {source['offset']} of {source['name']}" if source and not document.get("key") else ""],
        "Revision": [older or "".join(revisions) or str(row.get("mod_revision") or revision or "")],
        "Status": [str(row.get("status") or "").replace(KeyClass.BUILTIN, "")],
        "Reason": [str(row.get("reason") or "")],
        "Impact": _impacts(row),
        "Findings": [f"{noted(finding)}{_cause(finding)}" for finding in mine["findings"]],
        "Fixed": [noted(finding) for finding in mine["fixed"]],
        "Dropped": list(document.get("pruned") or ()),
        "Defaulted": list(document.get("defaulted") or ()),
        "Owners": [
            f"{owner.get('kind')}/{owner.get('name')}{' (controller)' if owner.get('controller') else ''}"
            for owner in (owners if type(owners) is list else ())
            if type(owner) is dict
        ],
        "Writers": [
            " ".join(filter(None, (entry.time, entry.manager, entry.operation, entry.subresource))) for entry in writers
        ],
        "Stored": [_beginning(document["stored"])] if type(document.get("stored")) is str else [],
    }


def _beginning(stored: str) -> str:
    """Return what fits a line of a value that cannot be decoded; what is said in place of a Secret is whole."""
    text = visible(stored)
    return text if len(text) <= _LINE or text.startswith("*** ") else f"{shortened(text, _LINE - len(_ALL))}{_ALL}"


def _is_of(row: JsonObject, document: JsonObject, obj: JsonObject) -> bool:
    """Return whether a row of a report is of an object; without an object it is one of the key."""
    metadata = metadata_of(obj)
    own = tuple(str(metadata.get(name) or "") for name in ("namespace", "name"))
    is_same = document.get("key") or not obj or own == (row.get("namespace") or "", row.get("name"))
    return bool(is_same) and document.get("cluster") in (None, row.get("cluster"))


def _impacts(row: JsonObject) -> list[str]:
    causes = {cause.get("impact"): _cause(cause) for cause in row.get("causes") or ()}
    return [f"{impact}{causes.get(impact, '')}" for impact in row.get("impacts") or ()]


def _cause(finding: JsonObject) -> str:
    """Return severity and cause of a finding of a report, in brackets."""
    words = [finding.get("severity"), f"cause {finding['cause']}" if finding.get("cause") else ""]
    words += ["accepted" if finding.get("accepted") else "", str(finding.get("change") or "")]
    return f" [{', '.join(filter(None, words))}]" if any(words) else ""


def writer_rows(shown: Shown) -> list[JsonObject]:
    """Return the fields of an object with the manager that wrote each, the newest write first."""
    obj = _read(shown) or {}
    place = {name: metadata_of(obj).get(name) for name in ("namespace", "name")}
    entries = sorted(managers_of(obj), key=lambda entry: entry.time, reverse=True)
    return [
        {
            **place,
            "field": path,
            **{name: getattr(entry, name) for name in ("manager", "operation", "subresource", "time")},
        }
        for entry in entries
        for path in owned_paths(entry.fields)
    ]
