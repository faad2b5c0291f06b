"""The state before: objects of the dumps given with --old, found by kind, namespace and name.

The plan writes one small file, sorted by identity; workers map it and look up each object. The change is then judged as
an update: a manifest is applied to the old object, and an object of another dump replaces it.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from auditor.golang import jsontext
from auditor.plan.dumps import cut_value, open_live, open_values, position_not_before
from auditor.plan.run_plan import identity
from auditor.shards.updates import NOT_ASKED, UpdateOutcome, judged_change
from auditor.sources.encryption import resource_of
from auditor.sources.registry_key import classify, split_key
from auditor.updates.apply import merged, replaced
from auditor.updates.body import RequestName
from auditor.updates.noop import NoopUpdates

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from auditor.base.records import AuditedObject, JsonObject
    from auditor.crds.definition import CustomResourceDefinition
    from auditor.plan.run_plan import Plan
    from auditor.program.program import AuditProgram
    from auditor.sources import SourcePlan


class Before(NamedTuple):
    """An object of the state before: its stored bytes (None if it is sealed; then with the reason) and its revision."""

    data: bytes | None
    revision: int | None
    reason: str = ""

    def revision_of(self, obj: JsonObject) -> int | None:
        """Return the revision of the object, in an export its resourceVersion; None for a manifest without one."""
        text = (obj.get("metadata") or {}).get("resourceVersion") or ""
        return self.revision or (int(text) if re.fullmatch("[0-9]{1,19}", text) else None)


class OldObjects:
    """Looks up objects of the state before.

    Args:
        path: The file that `write_identities` wrote.
        sources: Its sources.
        unsealer: Opens encrypted values.
        etcd_prefix: The prefix of all keys.
    """

    def __init__(self, path: str, sources: Sequence[SourcePlan], unsealer: Any, etcd_prefix: str) -> None:
        with pa.memory_map(path) as stream:
            table = pa.ipc.open_file(stream).read_all()
        self._names = table["identity"].combine_chunks()
        self._sources = table["source"]
        self._rows = table["row"]
        self._plans = sources
        self._unsealer = unsealer
        self._prefix = etcd_prefix
        self._open: dict[int, tuple[Any, Any]] = {}

    def find(self, name: bytes) -> Before | None:
        """Return the object with an identity, or None if there was none."""
        position = position_not_before(self._names, name + b"\0") - 1  # the last of this name
        if position < 0 or self._names[position].as_py() != name:
            return None
        source, row = self._sources[position].as_py(), self._rows[position].as_py()
        if source not in self._open:
            self._open[source] = open_live(self._plans[source]), open_values(self._plans[source])
        table, values = self._open[source]
        cut = (table[column][row].as_py() for column in ("offset", "length", "encoding"))
        data, revision = cut_value(values, *cut), table["mod_revision"][row].as_py()
        key = table["key"][row].as_py()
        if key is not None and data[:4] == b"k8s:":
            place = classify(split_key(key, self._prefix), {})
            opened = self._unsealer.open(key, resource_of(place), data)
            return Before(opened.data, revision, opened.reason or "")
        return Before(data, revision)

    def has_any(self, prefix: bytes) -> bool:
        """Return whether there is an object whose identity begins with a prefix."""
        position = position_not_before(self._names, prefix)
        found: bytes = self._names[position].as_py() if position < len(self._names) else b""
        return found.startswith(prefix)

    def namespaces(self) -> set[str]:
        """Return the namespaces that have objects."""
        return {name.split(b"\0")[2].decode("utf-8", "surrogatepass") for name in self._names.to_pylist()}


class Changes:
    """Judges the objects of an audit as changes of the state before.

    Args:
        plan: The plan of the audit; it has old sources.
        unsealer: Opens encrypted values.
        program: Returns the program of a definition at a version.

    Attributes:
        old: Finds objects of the state before.
    """

    def __init__(
        self, plan: Plan, unsealer: Any, program: Callable[[CustomResourceDefinition, str], AuditProgram]
    ) -> None:
        self.old = OldObjects(plan.identities, plan.old, unsealer, plan.options.etcd_prefix)
        self._replace = plan.options.apply == "replace"
        self._ratcheting = plan.options.ratcheting
        self._program = program
        self._noops: dict[int, NoopUpdates] = {}

    def before(
        self, definition: CustomResourceDefinition, namespace: str | None, name: str | None, *, is_manifest: bool
    ) -> Before | None:
        """Return an object of the state before, or None if it is new."""
        if definition.namespaced and not namespace and is_manifest:
            namespace = "default"
        place = namespace or "" if definition.namespaced else ""
        return self.old.find(identity(definition.group, definition.plural, place, name or ""))

    def applied(self, definition: CustomResourceDefinition, before: Before, data: bytes) -> bytes:
        """Return the JSON of a manifest applied to the old object, or unchanged if it cannot be applied."""
        try:
            manifest = jsontext.decode(data)
        except jsontext.GoJsonError:
            return data
        api_version = manifest.get("apiVersion") if type(manifest) is dict else None
        version = api_version.rpartition("/")[2] if type(api_version) is str else ""
        if before.data is None or version not in definition.versions:
            return data
        live = self._program(definition, version).audit(before.data).object
        if live is None:
            return data
        revision = before.revision_of(live)
        if revision is not None:  # a read shows it
            live = {**live, "metadata": {**(live.get("metadata") or {}), "resourceVersion": str(revision)}}
        return jsontext.encode((replaced if self._replace else merged)(live, manifest)).encode("utf-8", "surrogatepass")

    def outcome(
        self,
        program: AuditProgram,
        audited: AuditedObject,
        before: Before,
        key: tuple[str | None, str | None] | None,
    ) -> UpdateOutcome:
        """Judge the change from the old object to the audited one.

        Args:
            program: The program that audited it.
            audited: The new object.
            before: The old object.
            key: Namespace and name of its key; None for a manifest, which has no status.
        """
        if audited.object is None:
            return NOT_ASKED
        if before.data is None:
            return UpdateOutcome((None, None, None))
        old = program.audit(before.data).object
        if old is None:
            return UpdateOutcome((500, None, None))
        metadata, known = audited.object.get("metadata") or {}, old.get("metadata") or {}
        revision = before.revision_of(old)
        if key is not None:
            if metadata.get("uid") and known.get("uid") and metadata["uid"] != known["uid"]:
                return NOT_ASKED  # deleted and created again: no update
        elif revision is None and (metadata.get("resourceVersion") or (metadata.get("uid") and not known.get("uid"))):
            return UpdateOutcome((None, None, None))  # preconditions on what the old manifest does not say
        if before.revision is None and not known.get("uid"):
            old = {**old, "metadata": {**known, "uid": "left out"}}
        if key is not None or revision is None:
            sent = {**audited.object, "metadata": {**metadata, "resourceVersion": str(revision or 1)}}
            audited = replace(audited, object=sent)
        noop = self._noops.get(id(program))
        if noop is None:
            noop = self._noops[id(program)] = NoopUpdates(program, ratcheting=self._ratcheting)
        place = RequestName(*(name or "" for name in key or (known.get("namespace"), known.get("name"))))
        is_patch = key is None and not self._replace
        verdict = noop.judge_change(audited, old, place, revision or 1, with_status=key is not None, is_patch=is_patch)
        return judged_change(program, verdict)
