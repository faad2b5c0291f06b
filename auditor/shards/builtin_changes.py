"""Answers to manifests of built-in kinds that are applied to the state before, replace objects of it, or are new.

Only some values of built-in kinds are validated here: where others change, the answer is not known.
"""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Final

from auditor.base.errors import AuditorError
from auditor.base.statuses import Status
from auditor.builtin.scheme import plural_of, target_of
from auditor.builtin.stored import UndecodableError, stored_object
from auditor.golang import jsontext
from auditor.plan.dumps import cut_values, open_live, open_values
from auditor.plan.run_plan import identity
from auditor.updates.apply import merged, replaced
from auditor.updates.builtin_update import ChangeAnswer, judge_values, refused, resource_name, with_string_data
from auditor.updates.create import CreateJudge
from auditor.updates.immutable_fields import MERGE_KEYS
from auditor.upgrade import as_sent, in_cluster
from auditor.validation.field_errors import invalid

if TYPE_CHECKING:
    from auditor.base.records import JsonObject
    from auditor.plan.run_plan import Plan
    from auditor.shards.previous import Before, OldObjects
    from auditor.updates.create import CreateAnswer, ManifestNames


_ALWAYS: Final = frozenset({"", "default", "kube-system", "kube-public", "kube-node-lease"})
"""Namespaces that a server creates itself; the first is that of objects without one."""
_CREATED_BY_PUT: Final = frozenset(
    {
        *("endpoints", "events", "events.events.k8s.io", "leases.coordination.k8s.io", "limitranges", "services"),
        *(f"{name}.rbac.authorization.k8s.io" for name in ("clusterrolebindings", "clusterroles", "rolebindings")),
        *("roles.rbac.authorization.k8s.io", "runtimeclasses.node.k8s.io"),
    }
)
"""Resources whose objects a PUT creates if they are not there."""
_ACCEPTED: Final = (Status.BUILTIN, Status.DEFINITION)
_OTHER_UID: Final = "Precondition failed: UID in precondition: {}, UID in object meta: {}"
_CONFLICT: Final = "Operation cannot be fulfilled on {}: "
_DEFINITION: Final = ("apiextensions.k8s.io", "CustomResourceDefinition")


def no_match(kind: str, api_version: str) -> ChangeAnswer:
    """Return kubectl's answer to an object of a kind that no server serves at its version."""
    return refused(404, "NotFound", f'no matches for kind "{kind}" in version "{api_version}"')


class ManifestChanges:
    """Answers to manifests; those of custom resources are only asked for what is the same for every kind.

    Args:
        plan: The plan of the audit; it has old sources.
        old: Finds objects of the state before.
    """

    def __init__(self, plan: Plan, old: OldObjects) -> None:
        self._plan = plan
        self._old = old
        self._replaces = plan.options.apply == "replace"
        self._creates = CreateJudge(())
        self._seen: set[str] | None = None
        self._created: dict[str, tuple[int, int]] | None = None
        self.is_whole = all(not source.is_export and not source.damage for source in plan.old)

    def creation(self, resource: str, namespace: str, name: str, place: tuple[int, int]) -> ChangeAnswer | None:
        """Return why an object that the state before does not have is refused, or not known; None if it is neither.

        Args:
            resource: Plural of its kind, with its group.
            namespace: Its namespace; empty if it has none.
            name: Its name.
            place: The number of its dump, and where it begins there.
        """
        if self._replaces and resource not in _CREATED_BY_PUT:
            return refused(404, "NotFound", f'{resource} "{name}" not found')
        if namespace in _ALWAYS:
            return None
        before = self._find("", "Namespace", "", namespace)
        if before is not None:
            found = self._stored("", "Namespace", before)
            if found is not None and (found.get("metadata") or {}).get("deletionTimestamp"):
                because = f"unable to create new content in namespace {namespace} because it is being terminated"
                return refused(403, "Forbidden", f'{resource} "{name}" is forbidden: {because}')
            return None
        if self._created is None:
            self._created = self._namespaces_of_manifests()
        if namespace in self._created and self._created[namespace] < place:
            return None
        if self.is_whole or self._old.has_any(b"\0Namespace\0") or self._old.has_any(b"\0namespaces\0"):
            return refused(404, "NotFound", f'namespaces "{namespace}" not found')
        if self._seen is None:
            self._seen = self._old.namespaces()
        if namespace in self._seen:
            return None
        return ChangeAnswer(None, (), f'whether namespace "{namespace}" exists: the old state shows no namespaces')

    def _namespaces_of_manifests(self) -> dict[str, tuple[int, int]]:
        """Return the first place of each Namespace among the manifests."""
        out: dict[str, tuple[int, int]] = {}
        for number, source in enumerate(self._plan.sources):
            if not source.is_export:
                continue
            table, values = open_live(source), open_values(source)
            for position, data in zip(table["offset"].to_pylist(), cut_values(table, values), strict=True):
                if b"Namespace" not in data:
                    continue
                try:
                    obj = jsontext.decode(data)
                except jsontext.GoJsonError:
                    continue
                if type(obj) is dict and obj.get("kind") == "Namespace" and obj.get("apiVersion") == "v1":
                    out.setdefault((obj.get("metadata") or {}).get("name") or "", (number, position))
        return out

    def _find(self, group: str, kind: str, namespace: str, name: str) -> Before | None:
        """Return an object of the state before: a key has the plural of its kind, an export may lack a namespace."""
        for own in (plural_of(group, kind), kind):
            for place in dict.fromkeys((namespace, "" if namespace == "default" else namespace)):
                before = self._old.find(identity(group, own, place, name))
                if before is not None:
                    return before
        return None

    def _stored(self, group: str, kind: str, before: Before) -> JsonObject | None:
        target = target_of(group, kind)
        if target is None or before.data is None:
            return None
        try:
            return stored_object(target, before.data)
        except UndecodableError:
            return None

    def answer(self, data: bytes, place: tuple[int, int]) -> tuple[ChangeAnswer, bool]:
        """Return the answer to a manifest of a built-in kind, and whether the state before has the object.

        Args:
            data: The manifest as JSON.
            place: The number of its dump, and where it begins there.
        """
        try:
            manifest = jsontext.decode_object(data)
        except jsontext.GoJsonError as error:
            return refused(400, "BadRequest", str(error)), False
        create = self._creates.judge(deepcopy(manifest))
        names = create.names
        before = self._find(names.group, names.kind, names.namespace, names.name)
        if names.group != _DEFINITION[0] or names.kind != _DEFINITION[1] or create.reason:
            early = _refused_create(create)
            if early is not None:
                return early, before is not None
        if before is None:
            return self._new(create, manifest, place), False
        old = self._stored(names.group, names.kind, before)
        if old is None:
            return ChangeAnswer(None, (), "the old object cannot be read"), True
        return self._update(names, manifest, old, before.revision_of(old)), True

    def _new(self, create: CreateAnswer, manifest: JsonObject, place: tuple[int, int]) -> ChangeAnswer:
        names = create.names
        resource = resource_name(names.group, names.kind)
        answer = self.creation(resource, names.namespace, names.name, place)
        if answer is not None:
            return answer
        if create.findings:
            return ChangeAnswer(422, tuple(create.findings))
        if self._replaces and (uid := (manifest.get("metadata") or {}).get("uid")):
            conflict = _CONFLICT.format(f'{resource} "{names.name}"')
            return refused(409, "Conflict", f"{conflict}{_OTHER_UID.format(uid, '')}")
        if (names.group, names.kind) == _DEFINITION:
            return ChangeAnswer(201)
        return judge_values(names.group, names.kind, with_string_data(manifest), None)

    def _update(
        self, names: ManifestNames, manifest: JsonObject, old: JsonObject, revision: int | None
    ) -> ChangeAnswer:
        known, sent = old.get("metadata") or {}, manifest.get("metadata") or {}
        stale = self._precondition(names, sent, known.get("uid"), revision)
        if stale is not None:
            return stale
        fields = [
            invalid("object-meta", f"metadata.{name}", sent[name], "field is immutable")
            for name in ("deletionGracePeriodSeconds", "deletionTimestamp")
            if sent.get(name) and known.get(name) is None
        ]
        if fields:
            return ChangeAnswer(422, tuple(fields))
        if (names.group, names.kind) == _DEFINITION:
            return self._definition(manifest, old)
        if manifest["apiVersion"] != old.get("apiVersion"):
            versions = f"{old.get('apiVersion')}, it is sent as {manifest['apiVersion']}"
            return ChangeAnswer(None, (), f"its fields: the old object is {versions}")
        if known.get("deletionTimestamp"):
            return ChangeAnswer(None, (), "which changes of an object that is being deleted are refused")
        manifest = with_string_data(manifest)
        new = replaced(old, manifest) if self._replaces else merged(old, manifest, MERGE_KEYS)
        return judge_values(names.group, names.kind, new, old)

    def _definition(self, manifest: JsonObject, old: JsonObject) -> ChangeAnswer:
        from auditor.crdcheck import check_crd_update  # noqa: PLC0415 - most runs need none of it

        old = in_cluster(old)
        new = replaced(old, manifest) if self._replaces else merged(old, manifest)
        try:
            got = check_crd_update(old, as_sent(new, old))
        except AuditorError as error:
            return ChangeAnswer(None, (), str(error))
        if got.unreadable is not None:
            return refused(400, "BadRequest", got.unreadable.reason)
        return ChangeAnswer(422, tuple(got.findings)) if got.findings else ChangeAnswer(200)

    def _precondition(
        self, names: ManifestNames, sent: JsonObject, uid: str | None, revision: int | None
    ) -> ChangeAnswer | None:
        """Compare the uid and the resourceVersion of a manifest with those of the old object."""
        resource = f'{resource_name(names.group, names.kind)} "{names.name}"'
        conflict = _CONFLICT.format(resource)
        version, own = sent.get("resourceVersion") or "", sent.get("uid") or ""
        if (own and not uid) or (version and revision is None):
            return ChangeAnswer(
                None, (), "the old object has no uid or resourceVersion to compare with that of the new"
            )
        is_other, stale = bool(own) and own != uid, None
        if version.strip("0") and version != str(revision):
            if not (version.isascii() and version.isdecimal()):
                return ChangeAnswer(None, (), f"resourceVersion {version!r} is not a number")
            text = "the object has been modified; please apply your changes to the latest version and try again"
            stale = refused(409, "Conflict", conflict + text)
        if is_other and self._replaces:
            return refused(409, "Conflict", f"{conflict}{_OTHER_UID.format(own, uid)}")
        if is_other and stale is None:
            return ChangeAnswer(422, (invalid("object-meta", "metadata.uid", own, "field is immutable"),))
        return stale


def _refused_create(create: CreateAnswer) -> ChangeAnswer | None:
    """Return why a manifest is refused whatever is stored; None if it is not."""
    names = create.names
    if create.status in _ACCEPTED:
        return None
    if create.status in (Status.UNSERVED, Status.ORPHANED):
        api = f"{names.group}/{names.version}" if names.group else names.version
        return no_match(names.kind, api)
    if create.findings:
        return ChangeAnswer(422, tuple(create.findings))
    return refused(400, "BadRequest", create.reason or "the manifest does not decode")
