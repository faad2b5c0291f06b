"""UpdateProgram: the answer of a server to an update of one object, from the client's bytes to the code.

`check` runs the strategy alone on two objects as given. `attempt` runs the whole request: its JSON is decoded and
defaulted at the version of the request, compared with the name in the URL, completed from the stored object, checked as
every update is, checked by the strategy, and written at the storage version.

Source: apiserver pkg/endpoints/handlers/{update,patch,rest}.go, pkg/registry/rest/{update,meta}.go;
apiextensions-apiserver pkg/registry/customresource/{strategy,status_strategy}.go; apimachinery
pkg/util/managedfields/internal.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from auditor.base.longtext import bounded_join
from auditor.base.records import Finding, Unreadable
from auditor.crds.conversion import NEEDS_WEBHOOK, ConversionError, convert
from auditor.fastpath.rules.updates import RuleUpdates
from auditor.ratcheting import canonical_text, deep_equal
from auditor.releases import changes
from auditor.schema.objectmeta import CoerceError
from auditor.storage_read.numbers_as_sent import as_sent
from auditor.storage_read.read import ReadError, answer_to_update, coerce
from auditor.updates.body import RefusedRequest, RequestName, check_preconditions, complete_address, decode_sent
from auditor.updates.server_side_apply import apply_fault, manager_fault
from auditor.validation.field_errors import unique
from auditor.validation.update import UpdateValidator

if TYPE_CHECKING:
    from collections.abc import Collection

    from auditor.base.records import JsonObject
    from auditor.program.program import AuditProgram
    from auditor.ratcheting import CorrelatedObject
    from auditor.validation.update import UpdateRules


REQUESTS: Final = ("put", "label", "status", "remove-finalizer", "apply")
"""The supported requests: the object sent back, a patch of one label, a write of its status, a patch that ends
deletion, a server-side apply of one label.
"""

_LABEL: Final = "auditor/update"


@dataclass(frozen=True, slots=True)
class CheckedUpdate:
    """The answer of the strategy to an update.

    Attributes:
        findings: The errors of the server, after ratcheting; sorted by field, type, message.
        unratcheted: The errors without ratcheting.
        create: The errors for a create of the new object.
        unreadable: Why one of the two could not be read (begins with ``old: `` or ``new: ``); if set, the other fields
            are empty.
        unevaluated_rules: Number of validation rules that a server would run and this audit did not.
    """

    findings: tuple[Finding, ...] = ()
    unratcheted: tuple[Finding, ...] = ()
    create: tuple[Finding, ...] = ()
    unreadable: Unreadable | None = None
    unevaluated_rules: int = 0


@dataclass(frozen=True, slots=True)
class TriedUpdate:
    """The answer to a client.

    Attributes:
        code: HTTP status.
        message: The server's message; empty for a success.
        findings: The causes of a 422 as the server lists them: metadata are checked more than once, so that one cause
            may be there more than once. Sorted by field, type, message.
        unevaluated_rules: Number of validation rules that should have run and did not.
    """

    code: int
    message: str = ""
    findings: tuple[Finding, ...] = ()
    unevaluated_rules: int = 0

    @property
    def is_refused(self) -> bool:
        """Whether the update is refused."""
        return self.code >= 300

    @property
    def needs_webhook(self) -> bool:
        """Whether it passed all checks, and the write depends on a conversion webhook."""
        return self.message.startswith(NEEDS_WEBHOOK)


def refused_read(reason: str, revision: int) -> TriedUpdate:
    """Return the answer to any update of a value that cannot be read."""
    return TriedUpdate(500, answer_to_update(reason, revision))


class UpdateProgram:
    """Judges updates of objects at one version of a definition.

    Args:
        program: The program that read the objects; its compiled checks are shared.
        ratcheting: Whether the server has CRDValidationRatcheting on; always on since Kubernetes 1.33.

    Attributes:
        rules: Evaluator of validation rules, called with new object, old object and their correlation. None if there
            are none or the program skips them.
        has_old_self: Whether some rule uses the old object.
        ratchets_alike: Whether a write of /status is ratcheted as others are.
    """

    def __init__(self, program: AuditProgram, *, ratcheting: bool = True) -> None:
        self.program = program
        self.definition = program.definition
        self.version = program.version
        self.ratcheting = ratcheting
        self._status_ratchets = ratcheting and changes.STATUS_RATCHETS.holds
        self.ratchets_alike = self._status_ratchets is ratcheting
        self.rules: UpdateRules | None = None if program.rule_program is None else self._rules
        nodes = () if program.rule_program is None else program.rule_program.root.walk()
        self.has_old_self = any(rule.uses_old_self for node in nodes for rule in node.rules)
        self.validator = UpdateValidator(program.validator)
        self._storage = self.definition.storage_version
        self._updates: RuleUpdates | None = None
        self.api_version = f"{program.definition.group}/{program.version.name}"
        self._api_versions = {f"{program.definition.group}/{name}" for name in program.definition.versions}

    @property
    def unevaluated_rules(self) -> int:
        """Number of validation rules that are skipped or do not compile."""
        return self.program.unevaluated_rules

    def _rules(self, new: JsonObject, old: JsonObject, twin: CorrelatedObject | None) -> list[Finding]:
        """Run the rules of an update; rules that are proven for the new object need no old one."""
        rules = self.program.rule_program
        if rules is None:
            return []
        if self.has_old_self or not self.program.compiled or self.program.is_cold:
            return rules.run_update(new, old, twin)
        if self._updates is None:
            self._updates = RuleUpdates(self.program.prover)
        if self._updates.is_cold and self.program.rules_hold(new):
            return []
        return self._updates.update_findings(new, old, twin)

    # -- the strategy alone -----------------------------------------------------------------------------------------

    def check(self, old: JsonObject, new: JsonObject) -> CheckedUpdate:
        """Judge an update of two objects as the storage read gave them."""
        update, rules = self.validator, self.rules
        if update.crashes(new, old):
            return CheckedUpdate(unreadable=Unreadable("panic: the schema is not structural"))
        return CheckedUpdate(
            _sorted(self._run(new, old)),
            _sorted(update.run(new, old, ratchet=False, rules=rules)),
            _sorted(update.create.run(new, self._as_create if rules is not None else None)),
            unevaluated_rules=self.unevaluated_rules,
        )

    def _as_create(self, obj: JsonObject) -> list[Finding]:
        rules = self.program.rule_program
        return [] if rules is None or self.program.rules_hold(obj) else rules.run(obj)

    def _run(
        self,
        new: JsonObject,
        old: JsonObject,
        rules: UpdateRules | None = None,
        dropped: list[Any] | None = None,
        known: tuple[Finding, ...] | None = None,
    ) -> list[Finding]:
        # List types of the old object count with and without the feature gate.
        rules = rules or self.rules
        ratchet = self.ratcheting
        return self.validator.run(
            new, old, ratchet=ratchet, ratchet_lists=True, rules=rules, dropped=dropped, known=known
        )

    def _run_status(
        self,
        new: JsonObject,
        old: JsonObject,
        rules: UpdateRules | None = None,
        known: tuple[Finding, ...] | None = None,
    ) -> list[Finding]:
        rules, ratchet = rules or self.rules, self._status_ratchets
        return self.validator.run_status(new, old, ratchet=ratchet, rules=rules, known=known)

    # -- requests ---------------------------------------------------------------------------------------------------

    def attempt(
        self, request: str, old: JsonObject, place: RequestName, revision: int, body: JsonObject | None = None
    ) -> TriedUpdate:
        """Try one request.

        Args:
            request: One of `REQUESTS`, or ``patch``: a merge patch that results in `body`.
            old: The stored object as read at this version; not changed.
            place: Namespace and name in the URL.
            revision: The object's modification revision.
            body: The body of the client; None for the object as shown, for patches with their change.
        """
        old = {**old}
        metadata = old.get("metadata")
        if type(metadata) is dict:
            old["metadata"] = {**metadata, "resourceVersion": str(revision)}
        try:
            new, answer = self._attempt(request, old, place, revision, body)
        except RefusedRequest as refusal:
            return TriedUpdate(refusal.code, str(refusal))
        return self._answer(new, place, answer)

    def attempt_same(
        self,
        request: str,
        old: JsonObject,
        place: RequestName,
        rules: UpdateRules | None = None,
        dropped: list[Any] | None = None,
        known: tuple[Finding, ...] | None = None,
    ) -> TriedUpdate:
        """Try to send back the object unchanged, if decoding would not change it; the result is that of `attempt`.

        Args:
            request: ``put`` or ``status``, where the version has it.
            old: The stored object as read at this version, with its resourceVersion; not changed.
            place: Namespace and name in the URL.
            rules: Evaluator in the place of `rules`, if the caller knows the results.
            dropped: Receives the findings that a PUT tolerates in the schema (`UpdateValidator.run`).
            known: The findings of a create.
        """
        new = {**old, "metadata": {**_metadata(old)}}
        try:
            complete_address(self.definition, new["metadata"], place)
        except RefusedRequest as refusal:
            return TriedUpdate(refusal.code, str(refusal))
        answer = self.judge(new, old, is_status=request == "status", rules=rules, dropped=dropped, known=known)
        return self._answer(new, place, answer)

    def _answer(self, new: JsonObject, place: RequestName, found: list[Finding] | None) -> TriedUpdate:
        if found is None:
            return TriedUpdate(500, "panic: the schema is not structural")
        if found:
            return self._invalid(new, place, found)
        reason = self._unwritable(new)
        if reason:
            return TriedUpdate(500, reason, unevaluated_rules=self.unevaluated_rules)
        return TriedUpdate(200, unevaluated_rules=self.unevaluated_rules)

    def _attempt(
        self, request: str, old: JsonObject, place: RequestName, revision: int, body: JsonObject | None
    ) -> tuple[JsonObject, list[Finding] | None]:
        self.check_served(request, place)
        is_patch = request in ("label", "remove-finalizer", "patch", "apply")
        if is_patch and not _metadata(old).get("uid"):
            raise RefusedRequest(404, f'{self.definition.resource} "{place.name}" not found')
        if request == "apply":
            definition, version = self.definition, self.version
            fault = apply_fault(definition, version, old) or manager_fault(definition, version, old)
            if fault:
                raise RefusedRequest(500, fault)
        new = self.read_body(old if body is None else body, place)
        metadata = _metadata(new)
        if body is None:
            metadata["resourceVersion"] = str(revision)
        if request in ("label", "apply"):
            metadata["labels"] = {**(metadata.get("labels") or {}), _LABEL: "yes"}
        elif request == "remove-finalizer":
            metadata.pop("finalizers", None)
        check_preconditions(self.definition, metadata, _metadata(old), place, revision, is_patch=is_patch)
        return new, self.judge(new, old, is_status=request == "status")

    def read_body(self, body: JsonObject, place: RequestName) -> JsonObject:
        """Return the decoded body of a request, as far as it does not depend on the stored object.

        Raises:
            RefusedRequest: The server answers with code 400.
        """
        new = decode_sent(self.definition, self.version, as_sent(body))
        complete_address(self.definition, _metadata(new), place)
        return new

    def check_served(self, request: str, place: RequestName) -> None:
        """Check that the version has the subresource of a request.

        Raises:
            RefusedRequest: It has not; the server answers with code 404, whatever the body.
        """
        if request == "status" and not self.version.has_status:
            raise RefusedRequest(404, f'{self.definition.resource} "{place.name}" not found')

    def judge(
        self,
        new: JsonObject,
        old: JsonObject,
        *,
        is_status: bool = False,
        rules: UpdateRules | None = None,
        dropped: list[Any] | None = None,
        known: tuple[Finding, ...] | None = None,
    ) -> list[Finding] | None:
        """Complete a new object from the old one and check it as the server does: every update, then the strategy.

        Args:
            new: The decoded object, with the name and namespace of the URL; changed in place.
            old: As read, with its resourceVersion.
            is_status: Whether the update is one of /status.
            rules, dropped, known: As in `attempt_same`; with `known`, both differ at most in metadata.

        Returns:
            The causes, in the order of the checks; None if the server fails.
        """
        metadata, before = _metadata(new), _metadata(old)
        _set(metadata, "generation", before.get("generation"))
        if known is None or self.validator.has_faulty_managers(known):
            managed = _managed_fields(metadata if not is_status else before, before, self._api_versions)
        else:  # nothing looks at them
            managed = before.get("managedFields") or []
        _drop_repeated_owners(metadata)
        if is_status:  # the metadata of the body are discarded
            status = new.get("status", _ABSENT)
            new = {**old, "metadata": {**before}}
            new.pop("status", None)
            if status is not _ABSENT:
                new["status"] = status
            metadata = _metadata(new)
        elif self.version.has_status:
            if "status" in old:
                new["status"] = old["status"]
            else:
                new.pop("status", None)
        _set(metadata, "managedFields", managed)
        if not is_status and known is None and not _same_but_metadata(new, old):
            following = before.get("generation", 0) + 1
            _set(metadata, "generation", following if following < _BEYOND else -_BEYOND)
        if not metadata.get("uid"):
            _set(metadata, "uid", before.get("uid"))
        for name in ("creationTimestamp", "deletionTimestamp"):
            if before.get(name) is not None:
                metadata[name] = before[name]
        if before.get("deletionGracePeriodSeconds") is not None and metadata.get("deletionGracePeriodSeconds") is None:
            metadata["deletionGracePeriodSeconds"] = before["deletionGracePeriodSeconds"]
        if self.validator.crashes(new, old):
            return None
        findings = self.validator.check_common(new, old, known)
        if is_status:
            return findings + self._run_status(new, old, rules, known)
        return findings + self._run(new, old, rules, dropped, known)

    def _invalid(self, new: JsonObject, place: RequestName, found: list[Finding]) -> TriedUpdate:
        texts = [finding.words for finding in unique(found)]
        joined = bounded_join(texts, _LONGEST)
        shown = joined if len(texts) == 1 else f"[{joined}]"
        message = f'{new["kind"]}.{self.definition.group} "{place.name}" is invalid: {shown}'
        return TriedUpdate(422, message, _sorted(found), self.unevaluated_rules)

    def _unwritable(self, obj: JsonObject) -> str:
        """Return the reason why the new object cannot be encoded for storage; empty if it can."""
        storage = self._storage
        if storage is None or storage.name == self.version.name:
            return ""
        stored = as_sent(obj)
        try:
            convert(stored, self.definition, storage.name)
            coerce(self.definition, stored, drop=False)
        except (ConversionError, CoerceError, ReadError) as error:
            return str(error)
        return ""


_ABSENT: Final = object()
_LONGEST: Final = 1 << 20
"""Most characters of the text of an answer; beyond, only the number of further messages is printed."""
_BEYOND: Final = 2**63
"""The first number beyond 64 bits; a number that reaches it wraps around to the least one."""


def _metadata(obj: JsonObject) -> JsonObject:
    metadata = obj.get("metadata")
    if type(metadata) is not dict:
        metadata = obj["metadata"] = {}
    return metadata


def _set(metadata: JsonObject, name: str, value: Any) -> None:
    """Set a field as the server's setters do: an empty value removes it."""
    if value:
        metadata[name] = value
    else:
        metadata.pop(name, None)


def _same_but_metadata(new: JsonObject, old: JsonObject) -> bool:
    names = (new.keys() | old.keys()) - {"metadata"}
    return all(name in new and name in old and deep_equal(new[name], old[name]) for name in names)


def _drop_repeated_owners(metadata: JsonObject) -> None:
    owners = metadata.get("ownerReferences")
    if owners and len(owners) > 1:
        kept: dict[str, Any] = {}
        for owner in owners:
            kept.setdefault(canonical_text(owner), owner)
        metadata["ownerReferences"] = list(kept.values())


def _managed_fields(sent: JsonObject, live: JsonObject, known: Collection[str]) -> list[Any]:
    """Return managedFields after the field manager: those sent, else the live ones, else none.

    A list with an entry that cannot be decoded is dropped. The last of two entries of one manager counts, and one
    without fields is dropped. If one has an unknown version, the live list is unchanged. The entry of the update itself
    is not added.
    """
    for metadata in (sent, live):
        entries = metadata.get("managedFields") or []
        if entries and all(_is_decodable(entry) for entry in entries):
            by_manager = {_manager(entry): entry for entry in entries}
            if any(entry["apiVersion"] not in known for entry in by_manager.values()):
                return live.get("managedFields") or []
            return sorted((entry for entry in by_manager.values() if entry.get("fieldsV1")), key=_entry_order)
    return []


def _manager(entry: JsonObject) -> tuple[str, ...]:
    """Return the identity of a manager; one that applies is the same at all versions."""
    names = ("operation", "manager", "subresource", *(("apiVersion",) if entry["operation"] == "Update" else ()))
    return tuple(entry.get(name) or "" for name in names)


def _is_decodable(entry: Any) -> bool:
    return (
        type(entry) is dict
        and entry.get("operation") in ("Apply", "Update")
        and bool(entry.get("apiVersion"))
        and entry.get("fieldsType") == "FieldsV1"
        and type(entry.get("fieldsV1", {})) is dict
    )


def _entry_order(entry: JsonObject) -> tuple[str, ...]:
    names = ("operation", "time", "manager", "apiVersion", "subresource")
    return tuple(str(entry.get(name) or "") for name in names)


def _sorted(findings: list[Finding]) -> tuple[Finding, ...]:
    return tuple(sorted(findings, key=Finding.sort_key))
