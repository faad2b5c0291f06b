"""NoopUpdates: would the server accept an object that a client sends back unchanged? Every audit checks this, cheaply.

Most objects need no try: an object without a create finding passes the no-op update, except for the reasons that
`is_needed` lists (a test checks that on all test data). The other objects are tried (`UpdateProgram`), and each create
finding gets its verdict:

- ``blocks-every-update``: the no-op update reports it too.
- ``tolerated-globally``: a duplicate in a list type; the server leaves these alone until the last of them is repaired.
- ``tolerated-while-unchanged``: the no-op update ignores it. The guard path is the nearest unchanged node that owns it:
the finding returns when a client changes anything there.

Source: apiextensions-apiserver pkg/apiserver/validation/ratcheting.go, schema/cel/validation.go (KEP-4008).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from auditor.base.statuses import Impact
from auditor.base.trail import dotted
from auditor.ratcheting import CorrelatedObject
from auditor.schema.structural import ABSENT, StructuralSchema, nodes_of
from auditor.storage_read.numbers_as_sent import has_respelled, may_be_respelled
from auditor.updates.managed_fields import locate
from auditor.updates.server_side_apply import ApplyTypes, may_misfit
from auditor.updates.update import TriedUpdate, UpdateProgram
from auditor.validation.node import tolerated_values, validate_value
from auditor.validation.update import status_may_fail

if TYPE_CHECKING:
    from collections.abc import Iterator

    from auditor.base.longtext import LongText
    from auditor.base.records import AuditedObject, Finding, JsonObject
    from auditor.program.program import AuditProgram
    from auditor.updates.body import RequestName
    from auditor.validation.update import UpdateRules


BLOCKS: Final = Impact.BLOCKS_EVERY_UPDATE
TOLERATED: Final = Impact.TOLERATED
TOLERATED_GLOBALLY: Final = "tolerated-globally"

_OLD_SELF: Final = re.compile(r"\boldSelf\b")
_OF_EVERY_WRITE: Final = frozenset({"list-type", "object-meta", "rule"})
"""Checks that a PUT and a write of /status make alike."""


@dataclass(frozen=True, slots=True)
class NoopVerdict:
    """The results of the no-op updates of one object, or of one change.

    Attributes:
        put: The result of sending the object back, or of sending its new state.
        label: The result of a patch that adds a label; None for a change.
        status: The result of sending the object back to /status; None without that subresource or if not tried.
        end_delete: The result of a patch that removes all finalizers; None if it is not being deleted or has none.
        apply: The refusal of each server-side apply, whatever it sends; None if the object fits its types, or for a
            change.
        verdicts: (verdict, guard path or None) of each create finding, in their order.
        impacts: The impacts that follow, worst first.
    """

    put: TriedUpdate
    label: TriedUpdate | None
    status: TriedUpdate | None
    end_delete: TriedUpdate | None
    verdicts: tuple[tuple[str, str | None], ...]
    impacts: tuple[Impact, ...]
    apply: TriedUpdate | None = None

    def requests(self) -> list[tuple[str, TriedUpdate]]:
        """Return the requests that were tried and have rows of their own, with their results."""
        tried = (("put", self.put), ("label", self.label), ("status", self.status))
        return [(name, answer) for name, answer in tried if answer is not None]


class NoopUpdates:
    """The no-op updates of objects at one version.

    Args:
        program: The program that read and judged the objects.
        ratcheting: Whether the server has CRDValidationRatcheting on.
        is_export: Whether the objects come from an export, which may omit uids.
    """

    def __init__(self, program: AuditProgram, *, ratcheting: bool = True, is_export: bool = False) -> None:
        self.update = UpdateProgram(program, ratcheting=ratcheting)
        self.definition = program.definition
        self.version = program.version
        self.is_export = is_export
        nodes = list(nodes_of(self.version.structural, with_junctors=True))
        defaults = [node.default for node in nodes if node.default is not ABSENT]
        self._has_old_self = any(_OLD_SELF.search(rule.rule) for node in nodes for rule in node.rules)
        own = _metadata_nodes(self.version.structural)
        self._compares_metadata = any(_OLD_SELF.search(rule.rule) for node in own for rule in node.rules)
        self._always = (
            self._has_old_self
            or (self.version.schema is not None and self.version.structural is None)
            or self._may_be_unwritable()
            or may_misfit(self.version.structural)
        )
        self._types = ApplyTypes(self.definition, self.version, after_create=True)
        self._defaults = bool(defaults)
        self._has_doubles = self.definition.preserve_unknown_fields or _may_hold_double(self.version.structural)
        self._respelled_default = any(has_respelled(default) for default in defaults)

    def _may_be_unwritable(self) -> bool:
        """Return whether an object may be valid at this version although it cannot be encoded for storage."""
        storage = self.definition.storage_version
        if storage is None or storage.name == self.version.name or self.definition.conversion == "Webhook":
            return False
        return any(node.embedded_resource for node in nodes_of(storage.structural, with_junctors=True))

    @property
    def is_written_by_webhook(self) -> bool:
        """Whether a write at this version needs a conversion webhook, so that its result is unknown."""
        storage = self.definition.storage_version
        return self.definition.conversion == "Webhook" and storage is not None and storage.name != self.version.name

    def is_needed(self, audited: AuditedObject, data: bytes, place: RequestName, *, proven: bool = False) -> bool:
        """Return whether an object's no-op updates must be tried; if False, all of them pass.

        Args:
            audited: The object, readable, as audited at this version.
            data: Its stored bytes.
            place: Namespace and name of its key.
            proven: Whether generated code has proven it valid (`Judgement.proven`), which accepts no double as an
                integer.
        """
        if audited.findings or self._always:
            return True
        obj = audited.object or {}
        metadata = obj.get("metadata")
        if type(metadata) is not dict or metadata.get("name") != place.name:
            return True
        if metadata.get("namespace", "") != place.namespace:
            return True
        if not metadata.get("uid") and not self.is_export:
            return True
        if self._defaults and audited.stored_version != self.version.name:
            return True
        if proven and not self._has_doubles:
            return False
        if not proven and self._apply(obj) is not None:
            return True
        return self._is_respelled(audited, data)

    def _is_respelled(self, audited: AuditedObject, data: bytes) -> bool:
        """Return whether an object holds a number that changes its type when it is sent back."""
        if data[:1] != b"{" or may_be_respelled(data) or (self._respelled_default and audited.defaulted):
            return has_respelled(audited.object)
        return False

    def may_be_needed(
        self, identity: tuple[str | None, str, str | None], data: bytes, place: RequestName, *, defaulted: bool
    ) -> bool:
        """Do as `is_needed` for an object that is proven valid from its bytes, without a decoded object.

        Args:
            identity: Its namespace, name and uid.
            data: Its stored bytes, JSON.
            place: Namespace and name of its key.
            defaulted: Whether the read fills in defaults.
        """
        namespace, name, uid = identity
        if self._always or name != place.name or (namespace or "") != place.namespace:
            return True
        if not uid and not self.is_export:
            return True
        return self._has_doubles and (may_be_respelled(data) or (self._respelled_default and defaulted))

    def judge(self, audited: AuditedObject, place: RequestName, revision: int, data: bytes = b"") -> NoopVerdict:
        """Try the no-op updates of a readable object.

        Args:
            audited: The object, readable, as audited at this version.
            place: Namespace and name of its key.
            revision: Its modification revision.
            data: Its stored bytes; empty if unknown.
        """
        obj = audited.object
        assert obj is not None
        metadata = {**(obj.get("metadata") or {}), "resourceVersion": str(revision)}
        if self.is_export:
            metadata.setdefault("uid", "left out")
        old = {**obj, "metadata": metadata}
        dropped: list[Any] | None = None
        status = None
        if self._is_same_when_sent(audited, data):
            rules, dropped, known = self._rules_once(audited), [], audited.findings
            put = self.update.attempt_same("put", old, place, rules, dropped, known)
            if self.version.has_status:
                is_alike = self._is_answered_alike(put, known, metadata, place)
                status = put if is_alike else self.update.attempt_same("status", old, place, rules, None, known)
        else:
            put = self.update.attempt("put", old, place, revision)
            if self.version.has_status:
                status = self.update.attempt("status", old, place, revision)
        label = self._label(old, place, revision, put)
        end_delete = None
        if metadata.get("deletionTimestamp") and metadata.get("finalizers"):
            end_delete = self.update.attempt("remove-finalizer", old, place, revision)
        apply = self._apply(old)
        verdicts = tuple(self._verdicts(audited.findings, put, old, old, dropped)) if audited.findings else ()
        impacts = _impacts(put, label, status, end_delete, verdicts)
        if apply is not None:
            impacts = tuple(sorted((*impacts, Impact.BLOCKS_APPLY), key=attrgetter("rank")))
        return NoopVerdict(put, label, status, end_delete, verdicts, impacts, apply)

    def judge_change(
        self,
        audited: AuditedObject,
        before: JsonObject,
        place: RequestName,
        revision: int,
        *,
        with_status: bool,
        is_patch: bool = False,
    ) -> NoopVerdict:
        """Try the update from an old object to a new one.

        Args:
            audited: The new object, readable, with the resourceVersion that the client sends.
            before: The old object, as read at the same version.
            place: Namespace and name of its key.
            revision: The revision of the old object.
            with_status: Whether the status is sent too, to /status.
            is_patch: Whether the new object is the result of a patch, not the body of a PUT.
        """
        new = audited.object
        assert new is not None
        metadata = {**(before.get("metadata") or {}), "resourceVersion": str(revision)}
        old = {**before, "metadata": metadata}
        put = self.update.attempt("patch" if is_patch else "put", old, place, revision, new)
        status = None
        if with_status and self.version.has_status:
            status = self.update.attempt("status", old, place, revision, new)
        verdicts = tuple(self._verdicts(audited.findings, put, old, new)) if audited.findings else ()
        return NoopVerdict(put, None, status, None, verdicts, _impacts(put, None, status, None, verdicts))

    def _rules_once(self, audited: AuditedObject) -> UpdateRules | None:
        """Return an evaluator for updates that send back the object unchanged.

        Equal metadata give equal answers, as long as both or none of the updates are ratcheted.

        Rules that hold on a create also hold on such an update, unless one of them uses the old object.
        """
        rules = self.update.rules
        if rules is None:
            return None
        if not self._has_old_self and not any(finding.check == "rule" for finding in audited.findings):
            return _no_findings
        told: list[tuple[Any, bool, list[Finding]]] = []

        def once(new: JsonObject, old: JsonObject, twin: CorrelatedObject | None) -> list[Finding]:
            ratchets = twin is not None
            for metadata, ratcheted, findings in told:
                if ratcheted is ratchets and metadata == new["metadata"]:
                    return findings
            told.append((new["metadata"], ratchets, rules(new, old, twin)))
            return told[-1][2]

        return once

    def _is_same_when_sent(self, audited: AuditedObject, data: bytes) -> bool:
        """Return whether decoding the shown object gives the object as read, so that both can share their values."""
        if audited.stored_version != self.version.name:
            return False
        obj = audited.object or {}
        return obj.get("kind") == self.definition.kind and not self._is_respelled(audited, data)

    def _is_answered_alike(
        self, put: TriedUpdate, known: tuple[Finding, ...], metadata: JsonObject, place: RequestName
    ) -> bool:
        """Return whether an object that is sent to /status gets the same answer as in a PUT of the whole object.

        Both check metadata, list types and rules alike. /status checks the schema and the scale of the status alone,
        so that it finds nothing there where the PUT finds nothing, unless something in the status is wrong, which it
        ratchets in another way. It checks no embedded resources, and ignores repeated owners and a namespace that
        differs from that of the URL.
        """
        namespace = place.namespace if self.definition.namespaced else ""
        return (
            not self._has_old_self
            and self.update.ratchets_alike
            and metadata.get("namespace", "") == namespace
            and all(finding.check in _OF_EVERY_WRITE for finding in put.findings)
            and not status_may_fail(known)
            and len(metadata.get("ownerReferences") or ()) < 2
        )

    def _label(self, old: JsonObject, place: RequestName, revision: int, put: TriedUpdate) -> TriedUpdate:
        """Return the answer to the patch of a label: that to the unchanged PUT, unless there is nothing to patch.

        A rule that compares metadata with the old ones may depend on the label.
        """
        if not old["metadata"].get("uid"):
            return TriedUpdate(404, f'{self.definition.resource} "{place.name}" not found')
        return self.update.attempt("label", old, place, revision) if self._compares_metadata else put

    def _apply(self, obj: JsonObject) -> TriedUpdate | None:
        """Return the refusal of each server-side apply of an object as read; None if it fits its types.

        A version that is not served has no apply, and an object without a uid none that finds it.
        """
        if not self.version.served or not (obj["metadata"].get("uid") or self.is_export):
            return None
        fault = self._types.fault(obj, self.update.validator.create.faults_of(obj))
        return TriedUpdate(500, fault) if fault else None

    def _verdicts(
        self,
        findings: tuple[Finding, ...],
        put: TriedUpdate,
        old: JsonObject,
        new: JsonObject,
        dropped: list[Any] | None = None,
    ) -> Iterator[tuple[str, str | None]]:
        reported = {finding.words for finding in put.findings}
        guards: dict[str | LongText, str] | None = None
        for finding in findings:
            if finding.words in reported:
                yield BLOCKS, None
            elif finding.check == "list-type":
                yield TOLERATED_GLOBALLY, None
            elif finding.check == "schema":
                if guards is None:
                    guards = self._guards(findings, old, new, dropped)
                yield TOLERATED, guards.get(finding.words)
            elif finding.check == "rule":
                yield TOLERATED, self._guard_of_rule(finding, old, new)
            else:
                yield TOLERATED, None

    def _guards(
        self, findings: tuple[Finding, ...], old: JsonObject, new: JsonObject, dropped: list[Any] | None
    ) -> dict[str | LongText, str]:
        """Return the guard path of each schema finding that ratcheting drops, by its message."""
        if dropped is not None and len(dropped) == 1 and len(dropped[0][1]) == 1:
            known = [finding.words for finding in findings if finding.check == "schema"]
            if len(known) == 1:  # then that is it
                return {known[0]: dotted(dropped[0][0])}
        if dropped is None:
            twin = CorrelatedObject(new, old, self.version.structural)
            twin.dropped = dropped = []
            validate_value(self.update.validator.create.root, new, twin)
        return {finding.words: guard for guard, findings in tolerated_values(dropped) for finding in findings}

    def _guard_of_rule(self, finding: Finding, old: JsonObject, new: JsonObject) -> str | None:
        """Return the nearest unchanged node at or above the owner of a rule."""
        twin = CorrelatedObject(new, old, self.version.structural)
        guard: str | None = None
        path = ""
        for step in locate(new, finding.field)[0]:
            below = twin.key(step) if isinstance(step, str) else twin.index(step)
            if below is None or below.schema is None:
                break
            twin = below
            path = f"{path}[{step}]" if isinstance(step, int) else f"{path}.{step}".removeprefix(".")
            if twin.is_equal():
                guard = path
            if finding.rule is not None and any(rule.rule == finding.rule for rule in below.schema.rules):
                break
        return guard


def _may_hold_double(node: StructuralSchema | bool | None) -> bool:
    """Return whether a value proven by a schema may contain a double, or a part that no schema describes."""
    if not isinstance(node, StructuralSchema):
        return node is not False
    if node.preserve_unknown_fields or node.embedded_resource or node.legacy is not None:
        return True
    if node.type == "object":
        extra = node.additional_properties
        return any(map(_may_hold_double, node.properties.values())) or (extra is not None and _may_hold_double(extra))
    if node.type == "array":
        return _may_hold_double(node.items)
    return not node.int_or_string and node.type not in ("string", "integer", "boolean")


def _no_findings(_new: JsonObject, _old: JsonObject, _twin: CorrelatedObject | None) -> list[Finding]:
    return []


def _impacts(
    put: TriedUpdate,
    label: TriedUpdate | None,
    status: TriedUpdate | None,
    end_delete: TriedUpdate | None,
    verdicts: tuple[tuple[str, str | None], ...],
) -> tuple[Impact, ...]:
    """Return the impacts of the answers on a client that writes the object."""
    impacts: list[Impact] = []
    if _is_refused(end_delete):
        impacts.append(Impact.BLOCKS_DELETE)
    is_put_refused = _is_refused(put)
    is_label_refused = is_put_refused if label is put else _is_refused(label)
    if is_put_refused:
        impacts.append(BLOCKS if label is None or is_label_refused else Impact.BLOCKS_SPEC)
    elif is_label_refused:
        impacts.append(Impact.BLOCKS_METADATA)
    if BLOCKS not in impacts and (is_put_refused if status is put else _is_refused(status)):
        impacts.append(Impact.BLOCKS_STATUS)
    if {verdict for verdict, _ in verdicts} - {BLOCKS}:
        impacts.append(TOLERATED)
    return tuple(impacts)


def _is_refused(tried: TriedUpdate | None) -> bool:
    return tried is not None and tried.code >= 300 and not tried.needs_webhook


def _metadata_nodes(schema: StructuralSchema | None) -> list[StructuralSchema]:
    """Return the nodes of a root schema whose rules can access metadata."""
    nodes = [] if schema is None else [schema]
    for node in nodes:
        nodes += node.all_of
        nodes += [below for name, below in node.properties.items() if name == "metadata"]
    return nodes
